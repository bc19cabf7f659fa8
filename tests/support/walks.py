"""Walks and conversions that reach every path of the core, and what they must give, computed without it."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import npu_layout as nl
from npu_layout import kernels
from npu_layout.kernels import Arithmetic, Box
from npu_layout.kernels.box import limits
from npu_layout.layouts import Affine, Plan
from npu_layout.layouts.storage import Storage
from tests.buffers.test_random_conversions import random_tag
from tests.kernels import test_reductions
from tests.support import oracle
from tests.support.memory import LAST_CACHE, Fenced

BACKENDS = kernels.backends()


NATIVE = [name for name in BACKENDS if name != "numpy"]


if NATIVE:
    from npu_layout.kernels import native

    PATHS = {path.name: path for path in native.FAST_PATHS}
    WIDEST = max(max(path.steps.values()) for path in native.FAST_PATHS)
else:
    native, PATHS, WIDEST = None, {}, 0  # type: ignore[assignment]


DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "float16", "bfloat16", "float32")


BYTES = ("int8", "uint8")


Loops = list[tuple[int, ...]]


# Path: (bytes of an element, loops with n in them). What is padded has zeros behind the last loop, up to the next step
# of the one before.
# Loops are (extent, source step, destination step[, parameter step]), innermost last.
EXAMPLES = {
    "copy": [(size, lambda n: [(3, n + 5, n + 2), (n, 1, 1)]) for size in (1, 2, 3, 4, 8, 12)],
    "rows": [
        *(
            (
                size,
                lambda n, k=k, a=a, b=b, way=way: [
                    (b, k * n, a * k * n + 2),
                    (a, way * (b + 2) * k * n, k * n),
                    (k * n, 1, 1),
                ],
            )
            for size, k in ((1, 1), (2, 3), (3, 1), (4, 1), (8, 1), (12, 3))
            for a, b, way in ((5, 19, 1), (19, 5, 1), (2, 2, -1))
        ),
        (4, lambda n: [(3, n, -(-5 * n // 1024) * 1024), (5, 3 * n + 2, n), (n, 1, 1)]),  # pages apart
        (1, lambda n: [(n, 40, 120), (3, 40 * n, 40), (40, 1, 1)]),
        (1, lambda n: [(3, 40, 40 * n), (n, 120, 40), (40, 1, 1)]),
        (40, lambda n: [(3, 1, n), (n, 3, 1)]),  # as a part of rows is planned again
    ],
    "transpose": [
        *((size, lambda n, m=m: [(m, 1, n + 1), (n, m + 2, 1)]) for size in (1, 2, 4, 8, 16) for m in (5, 17, 33, 67)),
        *((size, lambda n, m=m: [(m, 1, n), (n, m, 1)]) for size in (1, 2, 4) for m in (5, 7, 9, 15, 17, 21)),
        *((size, lambda n, m=m: [(n, 1, m), (m, n, 1)]) for size in (1, 2, 4) for m in (5, 7, 9, 15, 17, 21)),
    ],
    "detour": [
        (size, loops)
        for size, k in ((1, 2), (1, 7), (2, 3), (4, 2), (4, 3))
        for loops in (
            lambda n, k=k: [(n, 1, 83 * k + 1), (83, n, k), (k, 84 * n + 3, 1)],
            lambda n, k=k: [(83, 1, n * k), (n, -83, k), (k, 84 * n, 1)],
            lambda n, k=k: [(k, 1, 84 * n + 3), (83, k, n), (n, 83 * k + 1, 1)],
            lambda n, k=k: [(k, 1, 84 * n), (n, -k, 83), (83, n * k, 1)],
            lambda n, k=k: [(4, 1, n * k), (n, 4, k), (k, 4 * n + 3, 1)],
            lambda n, k=k: [(k, 1, 4 * n + 3), (n, k, 4), (4, n * k, 1)],
        )
    ]
    + [  # few on both sides, next to each other on either one
        (size, loops)
        for size, k in ((1, 2), (1, 4), (2, 2), (2, 4), (1, 3))
        for loops in (
            lambda n, k=k: [(n, 4, 4 * k + 1), (4, 1, k), (k, 4 * n + 3, 1)],
            lambda n, k=k: [(n, -4, 4 * k + 1), (4, 1, k), (k, 4 * n + 3, 1)],
            lambda n, k=k: [(k, 1, 4 * n + 3), (n, 4 * k + 1, 4), (4, k, 1)],
        )
    ]
    + [
        (size, loops)
        for size, k, c in ((4, 4, 4), (2, 8, 8), (4, 3, 8))
        for loops in (
            lambda n, k=k, c=c: [(c, 1, n * k), (n, c, k), (k, c * n + 3, 1)],
            lambda n, k=k, c=c: [(k, 1, c * n + 3), (n, k, c), (c, n * k, 1)],
        )
    ],
    "split": [
        (size, lambda n, c=c, of=of, way=way: [(c, 1, n + 3), (n, way * of, 1)])
        for size in (1, 2, 4)
        for c, of in ((2, 2), (3, 3), (4, 4), (8, 8), (2, 3), (3, 4), (5, 8))
        for way in (1, -1)
    ],
    "merge": [
        (size, lambda n, c=c, way=way: [(n, way, c), (c, n + 3, 1)])
        for size in (1, 2, 4)
        for c in (2, 3, 4, 8)
        for way in (1, -1)
    ],
    "pixels": [
        (1, lambda n, s=s, d=d, step=step: [(n, s, d), (d, step, 1)])
        for s, d, step in (
            *((3, 3, -1), (4, 3, 1), (4, 3, -1), (8, 3, -1), (5, 3, 1)),
            *((-3, 3, -1), (-4, 3, 1), (-4, 3, -1), (-8, 3, -1), (-5, 3, 1), (-8, 2, -1), (-4, 4, -1)),
        )
    ],
    "reverse": [
        *((size, lambda n: [(3, n + 2, n + 5), (n, -1, 1)]) for size in (1, 2, 4, 8, 16)),
        *((1, lambda n, k=k: [(2, k * n + 1, k * n + 3), (n, -k, k), (k, 1, 1)]) for k in (3, 5, 6, 7, 9, 12, 15)),
        (4, lambda n: [(2, 3 * n + 1, 3 * n), (n, -3, 3), (3, 1, 1)]),
    ],
    "padded": [
        (
            size,
            lambda n, a=a, b=b, s=s, far=far: [
                (2, n * abs(s) + 1, n * b),
                (n, s, b),
                (a, (2 * n + 1) * s if far > 0 else far or 1, 1),
            ],
        )
        for size, blocks in (
            (1, (4, 5, 8, 16, 32, 48, 64)),
            (2, (4, 8, 16, 32, 64)),
            (3, (4,)),
            (4, (4, 8, 16, 32)),
            (8, (4,)),
            (12, (2,)),
        )
        for b in blocks
        for a, s, far in (
            (1, 1, 0),
            (3, 3, 0),
            (3, 1, 1),
            (1, 3, 0),
            (3, 5, 0),
            (3, 9, 0),
            (3, 4, 1),
            (2, -3, 0),
            (7, 7, 0),
            (3, 3, -1),
            (8, 8, 0),
            (12, 1, 1),
            (16, 17, 0),
            (20, 20, 0),
            *((a, 8, -1) for a in (5, 6, 7)),
        )
        if a < b and a * size <= (32 if s == far == 1 else 64)
    ],
    "strided": [
        (size, loops)
        for size in (1, 2, 3, 4, 8, 16)
        for loops in (lambda n: [(2, 7 * n, 5 * n), (n, 2, 3)], lambda n: [(5, 2, 3 * n + 1), (n, 11, 3)])
    ],
}


PIXELS = [(3, 3, -1), (3, 3, 1), (4, 3, 1), (4, 3, -1), (8, 3, -1), (4, 4, -1), (8, 2, 1), (2, 2, -1), (5, 3, 1)]


def pixel(source: str, target: str, channels: int, sign: int = 1) -> Arithmetic:
    """Mean, standard deviation and quantisation of a network's input, others for each channel."""
    mean = np.array([123.675, 116.28, 103.53, 110.1, 99.9])[:channels] - (128 if source == "int8" else 0)
    std = np.array([58.395, 57.12, 57.375, 58.1, 60.2])[:channels] * sign
    zero = None if "float" in target else np.full(channels, 118.0 if target == "uint8" else -10.0)
    return Arithmetic(source, target, np.float32(mean), np.float32(1 / std), np.full(channels, 0.02, np.float32), zero)


def plain(target: str) -> Arithmetic:
    return Arithmetic("float32", target, zero_point=None if "float" in target else np.array([3.0]))


def one(n: int) -> Loops:
    return [(n, 1, 1, 0)]


def five(n: int) -> Loops:
    return [(n, 5, 5, 0), (5, 1, 1, 1)]


def turned(n: int) -> Loops:
    return [(5, 1, n + 1, 1), (n, 5, 1, 0)]


def exchanged(n: int, p: int = 0) -> Loops:
    """Rows of 60 elements and more in another order: the parameters change from row to row of the source, or never."""
    return [(3, n + 60, 5 * (n + 60) + 1, p), (5, 3 * (n + 60), n + 60, 0), (n + 60, 1, 1, 0)]


def exchanged_channels(n: int) -> Loops:
    return exchanged(n, 1)


def channelwise(source: str, channels: int, steps: int, target: str = "float32") -> Arithmetic:
    """Shift, scale and divisor, or the first of these, others for each channel."""
    return Arithmetic(
        source, target, *np.linspace((90.5, 0.01, 0.5), (130, 0.03, 2), channels, dtype="f4").T.copy()[:steps]
    )


def planes(n: int, channels: int, s: int, step: int, p: int) -> Loops:
    """Some 240 and more pixels, to planes a line or an odd number of elements apart."""
    return [(channels, step, n + 240 if n % 2 else (n + 255) // 16 * 16, p), (n + 240, s, 1, 0)]


def from_planes(*arguments: int) -> Loops:
    """The same the other way round."""
    return [(n, d, s, p) for n, s, d, p in reversed(planes(*arguments))]


# Path: (arithmetic, loops with n in them).
CONVERSIONS = {
    "load": [
        (pixel(source, target, channels), loops)
        for source, target in (*((source, "float32") for source in DTYPES), ("int16", "float16"), ("uint8", "uint16"))
        for channels, loops in ((1, one), (5, five), (5, turned), (1, exchanged), (3, exchanged_channels))
    ],
    "load transposed": [
        (channelwise(source, c if p else 1, steps), lambda n, c=c, s=s, step=step, p=p: planes(n, c, s, step, p))
        for sources, shapes in (
            (
                BYTES,
                (
                    (16, 16, 1),
                    (19, 19, 1),
                    (9, 12, 1),
                    (8, 8, 1),
                    (4, 4, 1),
                    (3, 3, 1),
                    (3, 4, 1),
                    (3, 3, -1),
                    (8, 3, 1),
                ),
            ),
            (("int16", "uint16", "float16", "bfloat16"), ((8, 8, 1), (19, 21, 1))),
        )
        for source, (c, s, step) in itertools.product(sources, shapes)
        for p, steps in ((0, 2), (1, 2 if c > 4 else 3))
    ],
    "store": [
        *(
            (plain(target), loops)
            for target in ("int16", "uint16", "float16", "bfloat16")
            for loops in (one, exchanged)
        ),
        *((pixel("float32", target, 5), five) for target in DTYPES if target not in ("int32", "float32")),
    ],
    "store int32": [(plain("int32"), one), (pixel("float32", "int32", 1), one), (pixel("float32", "int32", 5), five)],
    "store transposed": [
        (made, lambda n, c=c, s=s, p=p: from_planes(n, c, s, 1, p))
        for targets, shapes in ((BYTES, ((16, 16), (27, 29))), (("float16", "bfloat16"), ((8, 8), (19, 21))))
        for target, (c, s) in itertools.product(targets, shapes)
        for made, p in (
            (plain(target), 0),
            (pixel("float32", target, 1), 0) if target in BYTES else (channelwise("float32", c, 2, target), 1),
        )
    ],
    "quantize": [
        (made, loops)
        for target in (*BYTES, "int32")
        for made in (plain(target), pixel("float32", target, 1))
        for loops in (one, exchanged)
    ],
    "brief": [
        (pixel(source, target, channels, -1), loops)
        for source, target in itertools.product(BYTES, BYTES)
        for channels, loops in ((1, one), (5, five), (1, exchanged))
    ],
    "short": [
        (pixel(source, target, channels), loops)
        for source, target in itertools.product(BYTES, BYTES)
        for channels, loops in ((1, one), (5, five), (1, exchanged))
    ],
    "short pixels": [
        (pixel(source, target, d), lambda n, s=s, d=d, step=step: [(n, s, d, 0), (d, step, 1, 1)])
        for source, target in itertools.permutations(BYTES)
        for s, d, step in PIXELS
    ],
}


GRAYS = {"gray": ("uint8",), "gray wide": ("uint16", "float32")}


ALL = {"move": EXAMPLES, "convert": CONVERSIONS, "gray": GRAYS, "reduce": test_reductions.EXAMPLES}


SCALAR = {"strided"}


NARROW = {"gray", "argmax across"}  # not with 16 bytes on every machine


def boxed(loops: Loops) -> tuple[Box, int, int]:
    """The box of loops whose lowest index on each side is element 0, and the elements of both sides."""
    lowest = [sum((n - 1) * steps[side] for n, *steps in loops if steps[side] < 0) for side in (0, 1)]
    highest = [sum((n - 1) * steps[side] for n, *steps in loops if steps[side] > 0) for side in (0, 1)]
    box = Box(tuple((n, s, d, sum(p)) for n, s, d, *p in loops if n > 1), -lowest[0], -lowest[1], 0)
    return box, highest[0] - lowest[0] + 1, highest[1] - lowest[1] + 1


def walked(loops: Loops, side: int, start: int) -> np.ndarray:
    """The elements that nested loops visit, in order."""
    visited = np.array([start])
    for n, *steps in loops:
        visited = (visited[:, None] + np.arange(n) * steps[side]).ravel()
    return visited


def pads_of(path: str, loops: Loops) -> int:
    return loops[-2][2] - loops[-1][0] if path == "padded" else 0


def filling(loops: Loops, pads: int) -> list[Box]:
    """The box of `pads` elements behind each run of the last loop."""
    around = [(n, 0, d, 0) for n, _, d, *_ in loops[:-1]]
    return [Box(tuple(k for k in (*around, (pads, 0, 1, 0)) if k[0] > 1), 0, loops[-1][0], 0)] if pads else []


def mover(path: str, size: int, loops: Loops, backend: str) -> tuple[Any, Box, int, int]:
    """The program of a move, its box, and the elements of both sides."""
    box, src_size, dst_size = boxed(loops)
    pads, name = pads_of(path, loops), Arithmetic(f"V{size}", f"V{size}")
    dst_size += pads
    program = kernels.program(src_size, dst_size, filling(loops, pads), (box,), name, backend)
    return program, box, src_size, dst_size


def expected_of(
    path: str, loops: Loops, box: Box, source: np.ndarray, size: int, dst_size: int, sentinel: int
) -> np.ndarray:
    result = np.full(dst_size * size, sentinel, np.uint8)
    elements = result.view(f"V{size}")
    elements[walked(loops, 1, box.dst)] = source.view(f"V{size}")[walked(loops, 0, box.src)]
    for k in range(pads_of(path, loops)):
        elements[walked(loops[:-1], 1, box.dst) + loops[-1][0] + k] = b"\0" * size
    return result


def check_move(
    fences: tuple[Fenced, Fenced], backend: str, path: str, size: int, loops: Loops, first: bool, sentinel: int
) -> list[str]:
    program, box, src_size, dst_size = mover(path, size, loops, backend)
    rng = np.random.default_rng(src_size)
    places = [fence.first if first else fence.last for fence in fences]
    source, target = places[0](src_size * size), places[1](dst_size * size)
    source[:] = rng.integers(0, 256, source.size, np.uint8)
    target[:] = sentinel
    program.run(source.view(f"V{size}"), target.view(f"V{size}"))
    expected = expected_of(path, loops, box, source, size, dst_size, sentinel)
    np.testing.assert_array_equal(target, expected, err_msg=f"{backend} {size} {loops}")
    return program.paths() if hasattr(program, "paths") else []


def check_conversions(tags: tuple[str, str], shape: tuple[int, ...], targets: tuple[str, ...], backend: str) -> None:
    """Bytes and floats to `targets`, each with every arithmetic that has parameters for each channel."""
    values = np.random.default_rng(0)
    src, dst = (Storage.bind(nl.Layout(tag, "CHW"), shape) for tag in tags)
    index = dict(zip("CHW", np.indices(shape)))
    places = [np.asarray(oracle.place(s.layout.tag, list(s.storage_shape), index)).ravel() for s in (src, dst)]
    channel = index["C"].ravel()
    for source, target in itertools.product(("uint8", "int16", "float32"), targets):
        raw = numbers(values, source, src.size)
        if source == "int16":
            raw //= 300
        for made in arithmetics(source, target, shape[0]):
            fields = [None if p is None else tuple(p.tolist()) for p in made[2:6]]
            plan = Plan(src, dst, source, target, Affine("C", *fields, made.float_zero_point), True)
            got = np.full(dst.size, 77, target)
            plan.program(backend).run(raw, got)
            expected = np.zeros(dst.size, target)
            expected[places[1]] = converted(raw[places[0]], plan.arithmetic, channel)
            assert same(got, expected, target), f"{source} {target} {made}"


PAST = LAST_CACHE // 2 + 4096  # bytes read and written, from which on the core stores past the caches (core.c)


def numbers(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """Stored values of a dtype, the ends of its range and the odd ones among them."""
    if dtype == "bfloat16":
        return (numbers(rng, "float32", n).view(np.uint32) >> 16).astype(np.uint16)
    if "float" not in dtype:
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, n, dtype, endpoint=True)
        values[: n // 8] = rng.choice([info.min, info.max, 0], n // 8)
        return values
    with np.errstate(over="ignore"):
        values = (rng.standard_normal(n) * rng.choice([1e-7, 1, 100, 1e5], n)).astype(dtype)
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 6e-8, -6e-5, 65504, -65520])
    with np.errstate(over="ignore"):
        values[: n // 4] = rng.choice(odd, n // 4).astype(dtype)
    return values


def converted(x: np.ndarray, arithmetic: Arithmetic, channel: np.ndarray) -> np.ndarray:
    """What the kernels' rule says, in numpy's own float32: one operation after the other, promoted before."""
    if arithmetic.src_dtype == "bfloat16":
        x = (x.astype(np.uint32) << 16).view(np.float32)

    def of(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[channel]

    shift, scale, divisor, zero = (of(p) for p in arithmetic[2:6])
    to = arithmetic.dst_dtype
    with np.errstate(all="ignore"):
        y = x.astype(np.float32)
        y = y if shift is None else y - shift
        y = y if scale is None else y * scale
        y = y if divisor is None else y / divisor
        if to == "bfloat16":
            bits = y.view(np.uint32)
            rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
            return np.where(np.isnan(y), (bits >> 16).astype(np.uint16) | 0x40, rounded)
        if "float" in to:
            return y.astype(to)
        lowest, highest = limits(to)
        exact = y + zero.astype(np.float32) if arithmetic.float_zero_point else y
        total = np.rint(exact).astype(np.float64) + (0 if arithmetic.float_zero_point else zero)
        return np.where(np.isnan(total), lowest, np.clip(total, lowest, highest)).astype(to)


def same(a: np.ndarray, b: np.ndarray, dtype: str) -> bool:
    """Equal to the last bit; any NaN is as good as another."""
    if "float" not in dtype:
        return np.array_equal(a, b)
    if dtype == "bfloat16":
        a, b = ((v.astype(np.uint32) << 16).view(np.float32) for v in (a, b))
    bits = f"u{a.itemsize}"
    return bool((np.isnan(a) == np.isnan(b)).all()) and np.array_equal(
        np.where(np.isnan(a), 0, a).astype(a.dtype).view(bits), np.where(np.isnan(b), 0, b).astype(b.dtype).view(bits)
    )


def arithmetics(source: str, target: str, channels: int) -> Iterator[Arithmetic]:
    rng = np.random.default_rng(channels)

    def some(low: float, high: float) -> tuple[float, ...]:
        return tuple(rng.uniform(low, high, channels).astype(np.float32).tolist())

    whole = tuple(float(z) for z in rng.integers(-100, 100, channels))
    for shift, scale, divisor in (
        (None, None, None),
        (some(-50, 50), some(-2, 2), None),
        (None, None, some(0.01, 3)),
        (some(0, 255), some(0.01, 0.02), some(0.01, 0.1)),
    ):
        zeros = [(whole, False), (some(-9, 9), True)] if "float" not in target else [(None, False)]
        for zero, fractional in zeros:
            yield Arithmetic.make(source, target, (shift, scale, divisor, zero, fractional), channels)


def check_conversions_between_fences(path: str, backend: str, fences: tuple[Fenced, Fenced], every: int) -> None:
    rng, taken = np.random.default_rng(5), Counter[str]()
    for a, loops in CONVERSIONS[path]:
        step = 8 if backend == "numpy" else WIDEST // min(a.itemsizes)
        for n, at_end in itertools.product((*range(1, 2 * step + 22, every), 1023, 1026, 2051), (False, True)):
            box, src_size, dst_size = boxed(loops(n))
            stored = np.dtype("uint16" if a.dst_dtype == "bfloat16" else a.dst_dtype)
            x = numbers(rng, a.src_dtype, src_size)
            given, got = (
                (fence.last if at_end else fence.first)(size)
                for fence, size in zip(fences, (x.nbytes, dst_size * stored.itemsize))
            )
            given[:], got[:] = x.view(np.uint8), 0x77
            expected = got.copy().view(stored)
            source, target, channel = (walked(loops(n), *at) for at in ((0, box.src), (1, box.dst), (2, 0)))
            expected[target] = converted(x[source], a, channel).astype(stored)
            program = kernels.program(src_size, dst_size, (), (box,), a, backend)
            program.run(given.view(x.dtype), got.view(stored))
            assert same(got.view(stored), expected, a.dst_dtype), f"{backend} {a} {loops(n)}"
            taken.update(getattr(program, "paths", list)())
    assert backend == "numpy" or taken[path] > 9 // every * len(CONVERSIONS[path]), taken


# What a tile is made of: loops with n in them, and the zeros behind each run of the last one. Blocks of other sizes,
# few channels in blocks with gaps or pads on both sides, rows of rows, planes of several images, rows that are cut.
TILES: tuple[tuple[Callable[[int], Loops], int], ...] = (
    (lambda n: [(n, 4, 8, 0), (2, 4 * n, 4, 4), (4, 1, 1, 1)], 0),
    (lambda n: [(2, 8, 8 * n, 8), (n, 16, 8, 0), (8, 1, 1, 1)], 0),
    (lambda n: [(n, 5, 8, 0), (5, 1, 1, 1)], 3),
    (lambda n: [(n, 9, 16, 0), (5, 1, 1, 1)], 11),
    (lambda n: [(2, 3 * n, 4 * n, 0), (n, 1, 4, 0), (3, n, 1, 1)], 1),
    (lambda n: [(n, 3, 16, 0), (3, -1, 1, 1)], 13),
    (lambda n: [(2, 3 * n + 1, 4 * n, 0), (n, 3, 4, 0), (3, -1, 1, 1)], 1),
    (lambda n: [(n, -4, 4, 0), (3, 1, 1, 1)], 1),
    (lambda n: [(n, 1, 4, 0), (1, 1, 1, 0)], 3),
    (lambda n: [(3, 21 * n, 32 * n, 0), (n, 1, 32, 0), (21, n, 1, 1)], 11),
    (lambda n: [(2, n, 21 * n + 1, 0), (21, 2 * n, n, 1), (n, 1, 1, 0)], 0),
    (lambda n: [(n, 25, 25, 0), (5, 5, 1, 1), (5, 1, 5, 5)], 0),
)


# Some of the few (1 in 10,000) for which x / d comes so near to the middle of two floats that no products are taken.
UNSURE = (float.fromhex("0x1.e7fffep0"), float.fromhex("0x1.fbfff6p0"))


def random_case(rng: random.Random, values: np.random.Generator) -> Counter[str]:
    """One conversion between two random storages: all kinds of kernels against offsets read a second time."""
    letters = rng.choice(["NCHW", "NCDHW", "NM", "HWC", "CHW", "NC"])
    layouts = [nl.Layout(random_tag(rng, letters, (2, 3, 4, 8, 16)))]
    layouts.append(nl.Layout(random_tag(rng, layouts[0].axes, (2, 3, 4, 8, 16)), layouts[0].axes))
    most = rng.choice((3, 9, 24 if len(letters) < 5 else 12))
    extents = [rng.randint(1, most) for _ in letters]
    if most <= 12 and rng.random() < 0.2:
        extents[rng.randrange(len(extents))] = rng.randint(25, 1100 // most)
    shape = tuple(extents)
    storages, places = [], []
    for layout in layouts:
        stored = list(layout.storage_shape(shape))
        strides, start = None, 0
        if rng.random() < 0.3:
            strides, pitch = [0] * len(stored), 1
            for i in reversed(range(len(stored))):
                pitch += rng.randint(0, 2)
                strides[i], pitch = pitch, pitch * stored[i]
            start = rng.randint(0, 3)
            for i in range(len(stored)):
                if rng.random() < 0.3:  # from the end
                    start += (stored[i] - 1) * strides[i]
                    strides[i] = -strides[i]
        storages.append(Storage.bind(layout, shape, stored, strides, start))
        index = dict(zip(layout.axes, np.indices(shape)))
        places.append((start + np.asarray(oracle.place(layout.tag, stored, index, strides))).ravel())
    src, dst = storages
    if rng.random() < 0.6:
        source = target = f"V{rng.choice((1, 2, 3, 4, 8, 12, 16))}"
        affine, raw = None, values.integers(0, 256, src.size * int(source[1:]), np.uint8).view(source)
    else:
        source, target = rng.choice(DTYPES), rng.choice(DTYPES)
        raw, affine = numbers(values, source, src.size), None
        axis = rng.choice(src.layout.axes)
        n = src.extent(axis) if rng.random() < 0.6 else 1
        made = list(arithmetics(source, target, n))
        chosen = rng.choice(made)
        fields = [None if p is None else tuple(p.tolist()) for p in chosen[2:6]]
        affine = Affine(axis, *fields, chosen.float_zero_point)
    plan = Plan(src, dst, source, target, affine, True)
    stored_dtype = "uint16" if target == "bfloat16" else target
    expected = np.zeros(dst.size, stored_dtype)
    if affine is None:
        expected[places[1]] = raw[places[0]]
    else:
        channel = np.indices(shape)[src.layout.axes.index(affine.axis)].ravel() % n
        expected[places[1]] = converted(raw[places[0]], plan.arithmetic, channel)
    taken: Counter[str] = Counter()
    for backend in BACKENDS:
        program = plan.program(backend)
        got = np.full(expected.nbytes, 0xAB, np.uint8).view(stored_dtype)
        program.run(raw, got)
        good = same(got, expected, target) if affine else got.tobytes() == expected.tobytes()
        assert good, f"{backend} {src} -> {dst} {source} -> {target} {affine}"
        taken.update(getattr(program, "paths", list)())
    return taken


def run_cases(seed: int, count: int) -> Counter[str]:
    rng, values, taken = random.Random(seed), np.random.default_rng(seed), Counter[str]()
    for _ in range(count):
        taken.update(random_case(rng, values))
    return taken


MACHINES = {"this machine": (["cc"], []), "aarch64": (["aarch64-linux-gnu-gcc", "-static"], ["qemu-aarch64"])}


NATIVE_TESTS = {
    ("this machine", "check"): ["200000"],
    ("this machine", "threads"): ["10", "5"],
    ("aarch64", "check"): ["50000"],
    ("aarch64", "threads"): ["10", "0"],  # no forks: qemu-user does not survive those of a process with threads
}


def chosen(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import npu_layout as nl; print(nl.kernels.active())"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
