"""Every kernel, at every instruction set, against indices worked out without it: widths, alignments, dtypes, fences.

Examples are made from the core's own table of fast paths; a path that has none fails.
"""

from __future__ import annotations

import itertools
import os
import random
import select
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.kernels import Arithmetic, Box
from npu_layout.kernels.box import limits
from npu_layout.kernels.caches import USUAL, Caches
from npu_layout.layouts import Affine, Plan
from npu_layout.layouts.storage import Storage
from tests.buffers.test_random_conversions import random_tag
from tests.kernels import test_reductions
from tests.support import oracle
from tests.support.memory import LAST_CACHE, Fenced
from tests.support.paths import ROOT, TESTS

BACKENDS = kernels.backends()
NATIVE = [name for name in BACKENDS if name != "numpy"]
if NATIVE:
    from npu_layout.kernels import native
    from npu_layout.kernels.description import describe

    PATHS = {path.name: path for path in native.FAST_PATHS}
    WIDEST = max(max(path.steps.values()) for path in native.FAST_PATHS)
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


@pytest.fixture(scope="module")
def fences() -> tuple[Fenced, Fenced]:
    return Fenced(1 << 18), Fenced(1 << 18)


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


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_every_path_has_examples() -> None:
    assert {(kind, name) for kind, examples in ALL.items() for name in examples} == {
        (path.kind, path.name) for path in native.FAST_PATHS
    }
    assert len(PATHS) == len(native.FAST_PATHS)
    for path in native.FAST_PATHS:
        assert path.applies and path.steps.keys() == set(native.LEVELS)
    without = {path.name for path in native.FAST_PATHS if not path.steps[native.LEVEL]}
    assert without <= SCALAR | (NARROW if WIDEST == 16 else set()), "the best level has a vector step everywhere"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("path", EXAMPLES)
def test_every_width_between_fences(path: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    taken: Counter[str] = Counter()
    for size, loops in EXAMPLES[path]:
        step = 8 if backend == "numpy" else max(1, WIDEST // size)
        for n in range(1, 2 * step + 2):
            for first, sentinel in ((True, 0xAB), (False, 0x54)):
                taken.update(check_move(fences, backend, path, size, loops(n), first, sentinel))
    assert backend == "numpy" or taken[path] > len(EXAMPLES[path]), taken


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("path", EXAMPLES)
def test_widths_past_the_caches(path: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    for size, loops in EXAMPLES[path]:
        for n in range(1, 2 * max(1, WIDEST // size) + 2, 3):
            for first, sentinel in ((True, 0xAB), (False, 0x54)):
                check_move(fences, backend, path, size, loops(n), first, sentinel)


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("path", EXAMPLES)
def test_every_alignment_past_the_caches(path: str, backend: str) -> None:
    test_every_alignment(path, backend)


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("path", EXAMPLES)
def test_every_alignment(path: str, backend: str) -> None:
    for size, loops in EXAMPLES[path]:
        many = loops(max(2, 2 * WIDEST // size + 1))
        program, box, src_size, dst_size = mover(path, size, many, backend)
        source = np.random.default_rng(size).integers(0, 256, src_size * size + 64, np.uint8)
        for at in range(64):
            room = np.full(dst_size * size + 128, 0x11, np.uint8)
            start = (at - room.ctypes.data) % 64
            mine, target = source[63 - at :][: src_size * size], room[start:][: dst_size * size]
            target[:] = 0xEE
            program.run(mine, target)
            expected = expected_of(path, many, box, mine.copy(), size, dst_size, 0xEE)
            np.testing.assert_array_equal(target, expected)
            assert (room[:start] == 0x11).all() and (room[start + target.size :] == 0x11).all()


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_gapless_rows_begin_anywhere_in_a_line(backend: str, size: int) -> None:
    name = f"V{size}"
    sizes = [(64 // size * k, n) for k in (1, 2, 3) for n in (16, 17, 31, 100)] + [(1024, 66), (2048, 40)]
    for channels, pixels in sizes:
        box = Box(((pixels, 1, channels, 0), (channels, pixels, 1, 0)), 0, 0, 0)
        count = channels * pixels
        program = kernels.program(count, count, (), (box,), Arithmetic(name, name), backend)
        for at in range(0, 64, max(4, size)):
            memory = np.random.default_rng(at).integers(0, 256, count * size + 128, np.uint8)
            room = np.full(count * size + 192, 0x5A, np.uint8)
            begin = -memory.ctypes.data % 64 + (3 * at + 2 * size) % 64
            start = -room.ctypes.data % 64 + at
            source, target = memory[begin:][: count * size].view(name), room[start:][: count * size].view(name)
            program.run(source, target)
            assert target.tobytes() == source.reshape(channels, pixels).T.tobytes()
            assert (room[:start] == 0x5A).all() and (room[start + count * size :] == 0x5A).all()


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("channels, pixels", [(255, 2200), (512, 1100), (256, 2304), (64, 33000), (2100, 256)])
def test_large_transposes(backend: str, channels: int, pixels: int) -> None:
    source = np.random.default_rng(0).integers(0, 1 << 32, channels * pixels, np.uint32)
    for s in ((channels, pixels), (pixels, channels)):
        box = Box(((s[1], 1, s[0], 0), (s[0], s[1], 1, 0)), 0, 0, 0)
        program = kernels.program(source.size, source.size, (), (box,), Arithmetic("V4", "V4"), backend)
        target = np.full_like(source, 0x5A)
        program.run(source.view("V4"), target.view("V4"))
        np.testing.assert_array_equal(target.reshape(s[1], s[0]), source.reshape(s).T)


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_rows_that_share_sets_of_the_cache(backend: str, size: int) -> None:
    """Rows a multiple of 4096 bytes apart, or nearly, or of 2048 or 1024, in the result or in the source: maps of
    32 x 32, 64 x 64, 160 x 160, 513 x 513 and 16 x 16."""
    name, line = f"V{size}", 64 // size
    shapes = [
        (line, line),
        (line + 1, 3 * line + 1),
        (257, line + 3),
        (517, 70),
        (70, 517),
        (1025, 2 * line),
        (200, 251),
    ]
    for (n, m), (page, more) in itertools.product(shapes, ((4096, 0), (4096, size), (4096, 2048), (1024, 0))):
        for side in (0, 1):
            pitch = (-(-max(n, m) * size // page) * page + more) // size
            loops = [(m, 1, pitch), (n, m + 1, 1)] if side else [(m, 1, n + 1), (n, pitch, 1)]
            box, src_size, dst_size = boxed(loops)
            program = kernels.program(src_size, dst_size, (), (box,), Arithmetic(name, name), backend)
            source = np.random.default_rng(n).integers(0, 256, src_size * size, np.uint8)
            target = np.full(dst_size * size, 0xEE, np.uint8)
            program.run(source, target)
            np.testing.assert_array_equal(
                target, expected_of("strided", loops, box, source, size, dst_size, 0xEE), f"{n} {m} {pitch} {side}"
            )


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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("tags", list(itertools.permutations(("CHW", "HWC", "CHW4c", "CHW16c"), 2)))
def test_conversions_of_three_channels(tags: tuple[str, str], backend: str) -> None:
    """Rows of three elements are too short to be converted one by one; more pixels than a strip holds."""
    check_conversions(tags, (3, 37, 61), ("uint8", "uint16", "float16", "float32"), backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("pixels", [(16, 32), (19, 27), (28, 28), (32, 32), (25, 41)])
def test_parameters_of_planes_about_a_strip(pixels: tuple[int, int], backend: str) -> None:
    for channels, tags in itertools.product(
        (2, 8, 21), (("CHW", "HWC"), ("HWC", "CHW"), ("CHW", "CHW4c"), ("CHW", "CHW"))
    ):
        check_conversions(tags, (channels, *pixels), ("int8", "float32"), backend)


@pytest.mark.parametrize("backend", NATIVE)
def test_parts_are_the_whole(backend: str) -> None:
    for path, examples in EXAMPLES.items():
        for size, loops in examples:
            for n in (2, 9, 65, 300):
                box, src_size, dst_size = boxed(loops(n))
                name = f"V{size}"
                program = kernels.program(src_size, dst_size, (), (box,), Arithmetic(name, name), backend)
                source = np.random.default_rng(n).integers(0, 256, src_size * size, np.uint8)
                expected = expected_of("strided", loops(n), box, source, size, dst_size, 0x33)
                for parts in (2, 3, 4, 7, 100):
                    target = np.full(dst_size * size, 0x33, np.uint8)
                    for part in range(parts):
                        program.run(source, target, part, parts)
                    np.testing.assert_array_equal(target, expected, err_msg=f"{path} {size} {n} {parts}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_source_that_overlaps_is_refused(backend: str) -> None:
    box, pads = Box(((40, 1, 61, 0), (60, 40, 1, 0)), 0, 0, 0), Box(((40, 0, 61, 0), (1, 0, 1, 0)), 0, 60, 0)
    program = kernels.program(60 * 40, 40 * 61, (pads,), (box,), Arithmetic("V1", "V1"), backend)
    memory = np.random.default_rng(3).integers(1, 256, 10000, np.uint8)
    held = memory.copy()
    for start in (3000 - 40 * 61 + 1, 2999, 3000, 3001, 5399):
        with pytest.raises(ValueError, match="source and destination overlap"):
            program.run(held[3000:5400], held[start : start + 40 * 61])
    np.testing.assert_array_equal(held, memory)
    for start in (3000 - 40 * 61, 5400):
        program.run(held[3000:5400], held[start : start + 40 * 61])


PAST = LAST_CACHE // 2 + 4096  # bytes read and written, from which on the core stores past the caches (core.c)


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("path", EXAMPLES)
def test_what_goes_past_the_caches(path: str, backend: str) -> None:
    def touched(n: int) -> int:
        _, src_size, dst_size = boxed(loops(n))
        return (min(src_size, dst_size) + dst_size) * size

    fence = Fenced(PAST)
    for size, loops in EXAMPLES[path]:
        n = PAST * 1000 // (touched(1001) - touched(1)) + 8
        rng = np.random.default_rng(size)
        for ragged in (0, 3):
            many = loops(n + ragged)
            program, box, src_size, dst_size = mover(path, size, many, backend)
            source = rng.integers(0, 256, src_size * size, np.uint8)
            expected = expected_of(path, many, box, source, size, dst_size, 0xC3)
            for target in (fence.first(dst_size * size), fence.last(dst_size * size)):
                target[:] = 0xC3
                program.run(source, target)
                assert np.array_equal(target, expected), f"{backend} {size} {n} {ragged}"


@pytest.mark.parametrize("backend", NATIVE)
def test_short_rows_past_the_caches(backend: str) -> None:
    """Planes to neighbours: whole rows, rows with gaps, rows that do not begin at a cache line."""
    fence = Fenced(PAST)
    for c, gap in ((16, 0), (48, 0), (48, 16), (17, 0), (32, 1)):
        n = PAST // 4 // (c + c + gap) + 21
        x = np.random.default_rng(c).integers(0, 1 << 31, (c, n), np.int32)
        moves = Arithmetic("V4", "V4")
        program = kernels.program(
            x.size, n * (c + gap), (), (Box(((n, 1, c + gap, 0), (c, n, 1, 0)), 0, 0, 0),), moves, backend
        )
        assert program.paths() == ["transpose"]
        for skip in (0, 4, 16, None):
            size = 4 * n * (c + gap)
            got = fence.last(size) if skip is None else fence.first(size + skip)[skip:]
            got[:] = 0x99
            program.run(x.ravel(), got.view("V4"))
            rows = got.view(np.int32).reshape(n, c + gap)
            assert np.array_equal(rows[:, :c], x.T) and (got.reshape(n, -1)[:, 4 * c :] == 0x99).all()


@pytest.mark.parametrize("backend", NATIVE)
def test_conversions_past_the_caches(backend: str) -> None:
    rng = np.random.default_rng(2)
    fence = Fenced(PAST)
    for c, more, source in ((64, 8, "int8"), (5, 7, "uint8"), (7, 1, "float16")):
        hw = PAST // (c * (np.dtype(source).itemsize + 4)) // 16 * 16 + 16 + more
        x = numbers(rng, source, c * hw)
        scale = tuple(rng.uniform(0.1, 2, c).tolist())
        arithmetic = Arithmetic.make(source, "float32", ((3.0,), scale, None, None, False), c)
        for loops, order in (
            (((c, hw, hw, 1), (hw, 1, 1, 0)), x.reshape(c, hw)),
            (((c, 1, hw, 1), (hw, c, 1, 0)), x.reshape(hw, c).T),
        ):
            program = kernels.program(x.size, x.size, (), (Box(loops, 0, 0, 0),), arithmetic, backend)
            channel = np.repeat(np.arange(c), hw)
            expected = converted(np.ascontiguousarray(order).ravel(), arithmetic, channel)
            for got in (fence.first(4 * x.size), fence.last(4 * x.size)):
                got[:] = 0x99
                program.run(x, got.view(np.float32))
                assert same(got.view(np.float32), expected, "float32")


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = kernels.get_num_threads()
    nl.set_num_threads(4)
    yield
    nl.set_num_threads(before)


@pytest.mark.parametrize(("rows", "between"), [(60, [True, False]), (100, [False, True]), (150, [False, False])])
def test_threads_that_share_a_large_result(rows: int, between: list[bool], four_threads: None) -> None:
    """Of float32, and from int8: past the caches of one thread, not of four (`between`), and past these."""
    x = np.random.default_rng(rows).integers(-100, 100, (1, rows, 235, 64)).astype(np.float32)
    expected = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    touched = (2 * expected.nbytes, expected.nbytes + expected.size)
    assert [LAST_CACHE // 2 <= both < LAST_CACHE * 3 // 4 for both in touched] == between
    assert touched[0] > PAST and (rows < 150 or touched[1] >= LAST_CACHE * 3 // 4)
    out = np.full_like(expected, 77)
    for _ in range(3):
        out[...] = 77
        assert np.array_equal(nl.repack(x, "NHWC", "NCHW", out=out), expected)
    quantised = nl.TensorSpec(expected.shape, "NHWC", "int8", quantization=nl.Quantization(0.5, 3))
    flat = x.astype(np.int8).ravel()
    dequantised = nl.plan(quantised, nl.TensorSpec(expected.shape))(flat).reshape(expected.shape)
    assert np.array_equal(dequantised, (expected - 3) * np.float32(0.5))


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_the_last_cache_is_what_the_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(native._native, "set_last_cache", told.append)
    for sizes, known in (
        ({1: 48 << 10, 2: 1 << 20, 3: 16 << 20}, True),
        ({1: 32 << 10, 2: 256 << 10, 3: 3 << 20}, True),
        ({1: 32 << 10, 2: 1 << 20, 3: 1 << 80}, True),
        ({1: 32 << 10, 2: 1 << 20}, True),  # a small board, or a level that the system does not name
        (USUAL, False),
    ):
        monkeypatch.setattr(native, "caches", partial(Caches, sizes, 64, known))
        native.ask_for_the_last_cache()
    assert told == [16 << 20, 4 << 20, 64 << 20]


def test_threads_share_plans_and_the_pool(four_threads: None) -> None:
    head = nl.TensorSpec((1, 96, 80, 80), "NCHW16c", "int8", quantization=nl.Quantization(0.1, 3))
    picture = nl.TensorSpec((3, 500, 600), "HWC", "uint8", axes="CHW")
    work = []
    for spec, target in ((head, nl.TensorSpec(head.shape)), (picture, nl.TensorSpec(picture.shape, "CHW", "uint8"))):
        flat = np.random.default_rng(0).integers(-100, 100, spec.size).astype(spec.stored)
        convert = nl.plan(spec, target)
        nl.set_num_threads(1)
        work.append((convert, flat, convert(flat)))
        nl.set_num_threads(4)
    wrong: list[str] = []

    def many() -> None:
        for k in range(60):
            convert, flat, expected = work[k % 2]
            out = np.zeros_like(expected)
            convert(flat, out)
            if not np.array_equal(out, expected):
                wrong.append(repr(convert))

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_fork_has_threads_of_its_own(four_threads: None) -> None:
    x = np.arange(1 << 21, dtype=np.float32).reshape(1, 128, 128, 128)
    expected = nl.repack(x, "NCHW", "NHWC")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        good = all(np.array_equal(nl.repack(x, "NCHW", "NHWC"), expected) for _ in range(5))
        os.write(writer, b"y" if good else b"n")
        os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], 30)
    assert ready and os.read(reader, 1) == b"y"
    assert os.waitpid(child, 0)[1] == 0
    os.close(reader)
    np.testing.assert_array_equal(nl.repack(x, "NCHW", "NHWC"), expected)


def test_the_number_of_threads() -> None:
    before = kernels.get_num_threads()
    assert before == (min(4, len(os.sched_getaffinity(0))) if NATIVE else 1)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="1 or more"):
            nl.set_num_threads(wrong)
    with pytest.raises(TypeError):
        nl.set_num_threads(1.5)  # type: ignore[arg-type]
    nl.set_num_threads(10**9)
    assert kernels.get_num_threads() == (64 if NATIVE else 1)
    nl.set_num_threads(before)


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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("source", DTYPES)
def test_every_pair_of_dtypes(source: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    rng = np.random.default_rng(7)
    for target in DTYPES:
        widths = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 127, 131, 1025)
        for channels, n in itertools.product((1, 5), widths):
            for arithmetic in arithmetics(source, target, channels):
                dst_item = arithmetic.itemsizes[1]
                x = numbers(rng, source, n * channels)
                for loops, channel in (
                    (((channels, n, n, 1), (n, 1, 1, 0)), np.repeat(np.arange(channels), n)),
                    (((n, channels, channels, 0), (channels, 1, 1, 1)), np.tile(np.arange(channels), n)),
                ):
                    if all(p is None for p in arithmetic[2:6]):
                        loops = tuple((*loop[:3], 0) for loop in loops)  # there are no parameters to walk
                    box = Box(tuple(loop for loop in loops if loop[0] > 1), 0, 0, 0)
                    given, got = fences[0].last(x.nbytes), fences[1].last(x.size * dst_item)
                    given[:], got[:] = x.view(np.uint8), 0x77
                    program = kernels.program(x.size, x.size, (), (box,), arithmetic, backend)
                    stored = "uint16" if target == "bfloat16" else target
                    program.run(given.view(x.dtype), got.view(stored))
                    expected = converted(x, arithmetic, channel)
                    message = f"{backend} {arithmetic} {n}"
                    assert same(got.view(stored), expected.astype(stored), target), message


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("source, target", list(itertools.product(("uint8", "int8"), repeat=2)))
def test_bytes_in_16_bits(source: str, target: str, backend: str) -> None:
    """Pixels and how an input is quantised: factors in 16 bits are found for nearly all, and change no bit."""
    rng = np.random.default_rng(7)
    first, zero_point = (0 if source == "uint8" else -128), (-10 if target == "int8" else 118)
    every = np.arange(first, first + 256).astype(source)
    found = 0
    for n in (1, 3, 3, 3, 3, 3, 16):
        mean, std = rng.uniform(90, 140, n) + first, rng.uniform(40, 80, n)
        parameters = (
            np.float32(mean),
            np.float32(1 / std),
            np.full(n, 0.02, np.float32),
            np.full(n, zero_point, float),
        )
        a = Arithmetic(source, target, *parameters)
        described = describe(a)
        assert described is not None
        found += described.bits > 0
        x = np.ascontiguousarray(np.broadcast_to(every[:, None], (256, n))).ravel()
        channel = np.tile(np.arange(n), 256)
        expected = converted(x, a, channel)
        for count in (n, 5 * n, 67 * n, 256 * n):
            box = Box(((count // n, n, n, 0), (n, 1, 1, 1)) if n > 1 else ((count, 1, 1, 0),), 0, 0, 0)
            got = np.full(x.size + 1, 99, target)
            kernels.program(x.size, got.size, (), (box,), a, backend).run(x, got)
            assert same(got[:count], expected[:count].astype(target), target) and (got[count:] == 99).all()
    assert found >= 5


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("path", CONVERSIONS)
def test_every_width_converted_between_fences(path: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    check_conversions_between_fences(path, backend, fences, 1)


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("path", CONVERSIONS)
def test_widths_converted_past_the_caches(path: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    check_conversions_between_fences(path, backend, fences, 3)


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


@pytest.mark.parametrize("count", [13, 14, 15, 16, 17])
def test_pads_behind_as_many_axes_as_the_core_walks(count: int) -> None:
    letters = "ABDEFGHIJKLMNOPQR"[:count]
    source, target = nl.Layout(letters + "C"), nl.Layout(letters[::-1] + "C4c", letters + "C")
    x = np.random.default_rng(count).integers(1, 100, (2,) * count + (1,), np.uint8)
    got = nl.repack(x, source, target)
    np.testing.assert_array_equal(got[..., 0], x.transpose(*range(count - 1, -1, -1), count))
    assert not got[..., 1:].any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("channels", [1, 3])
def test_parameters_keep_the_sign_of_a_zero(channels: int, backend: str) -> None:
    scale = np.full(channels, -0.0, np.float32)
    a = Arithmetic("uint8", "float32", None, scale, None, None)
    box = Box(((40, 3, 3, 0), (3, 1, 1, int(channels > 1))), 0, 0, 0)
    out = np.ones(120, np.float32)
    kernels.program(120, 120, (), (box,), a, backend).run(np.arange(120, dtype=np.uint8), out)
    assert (out == 0).all() and np.signbit(out).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("source", ["uint8", "int8"])
def test_bytes_to_planes_by_parameters_of_any_size(source: str, backend: str) -> None:
    """Some loops shift and scale bytes where they lie in 32 bits, where that gives the same: at its limits."""
    shifts = (0, -0.0, 3, -128, 127.5, 0.1, -1e-30, 65536, 65537.5, 1e9, 3e38, np.inf, np.nan)
    scales = (1, 0.05, -0.0, 2**-70, 2**-81, -(2**-126), 2**-149, 3e38, np.inf, np.nan)
    x = np.random.default_rng(4).integers(0, 256, 19 * 300, np.uint8).view(source)
    for channels, (shift, scale) in itertools.product((3, 4, 8, 19), itertools.product(shifts, scales)):
        a = Arithmetic(source, "float32", *(np.full(1, v, np.float32) for v in (shift, scale)))
        box = Box(((channels, 1, 300, 0), (300, channels, 1, 0)), 0, 0, 0)
        got = np.empty(300 * channels, np.float32)
        kernels.program(got.size, got.size, (), (box,), a, backend).run(x[: got.size], got)
        expected = converted(x[: got.size], a, np.zeros(got.size, int)).reshape(300, channels).T.ravel()
        assert same(got, expected, "float32"), f"{backend} {channels} {a}"


# Some of the few (1 in 10,000) for which x / d comes so near to the middle of two floats that no products are taken.
UNSURE = (float.fromhex("0x1.e7fffep0"), float.fromhex("0x1.fbfff6p0"))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target, zero", [("int8", 0), ("int8", -3), ("uint8", 128), ("uint8", 0)])
def test_quotients_are_rounded_as_by_a_division(target: str, zero: int, backend: str) -> None:
    """Rows and planes of float32 to bytes, divided: about each middle between two of the results, where one unit in the
    last place of the quotient tells, and at the ends of what float32 holds."""
    rng = np.random.default_rng(9)
    ends = np.array([0, -0.0, 1e-45, -1e-38, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan, 1e9, -1e9], np.float32)
    middles = np.arange(limits(target)[0] - zero - 1.5, limits(target)[1] - zero + 2)
    limits_of_d = (2**-24, 2**-25, 3e-18, 1e-36, 1e18, 2e18, 1e36)
    for n, d in enumerate((*UNSURE, 1, 0.1, 1 / 255, *limits_of_d, *(2 ** rng.uniform(-9, 3, 60)))):
        near = np.float32(middles * float(np.float32(d)))
        x = np.concatenate([ends.view(np.int32), *(near.view(np.int32) + k for k in range(-8, 9))]).view(np.float32)
        x = np.concatenate([x, x[: -x.size % 16]])
        shift, scale = (np.full(1, v, np.float32) for v in ((0, 1), (0.5, 2), (-3, 0.1))[n % 3])
        a = Arithmetic("float32", target, shift, scale, np.full(1, d, np.float32), np.full(1, float(zero)))
        expected = converted(x, a, np.zeros(x.size, int))
        for box, order in (
            (Box(((x.size, 1, 1, 0),), 0, 0, 0), np.arange(x.size)),
            (
                Box(((x.size // 16, 1, 16, 0), (16, x.size // 16, 1, 0)), 0, 0, 0),
                np.arange(x.size).reshape(16, -1).T.ravel(),
            ),
        ):
            got = np.zeros(x.size, target)
            kernels.program(x.size, x.size, (), (box,), a, backend).run(x, got)
            np.testing.assert_array_equal(got, expected[order], f"{backend} {a}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_quotients_of_a_divisor_for_each_channel(backend: str) -> None:
    """As per-channel quantisation has them: one zero point, another scale for each plane."""
    divisors = np.float32([0.5, 0.5, 0.1, UNSURE[0], 0.1, 1e-9, 3, 1e20, 0.7, 0.7])
    x = np.outer(divisors, np.arange(-200, 200, 0.5, np.float32)).astype(np.float32)
    a = Arithmetic("float32", "int8", None, None, divisors, np.full(len(divisors), 5.0))
    expected = converted(x.ravel(), a, np.repeat(np.arange(len(divisors)), x.shape[1]))
    channels, n = x.shape
    for box, transposed in (
        (Box(((channels, n, n, 1), (n, 1, 1, 0)), 0, 0, 0), False),
        (Box(((n, 1, channels, 0), (channels, n, 1, 1)), 0, 0, 0), True),
    ):
        got = np.zeros(x.size, "int8")
        kernels.program(x.size, x.size, (), (box,), a, backend).run(x.ravel(), got)
        got = got.reshape(n, channels).T.ravel() if transposed else got
        np.testing.assert_array_equal(got, expected, f"{backend} {box}")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("source, target", [("float16", "float32"), ("float32", "float16"), ("float32", "bfloat16")])
def test_a_shift_keeps_its_sign_where_it_is_zero(source: str, target: str, backend: str) -> None:
    x = np.full(8 * 300, -0.0, source)
    a = Arithmetic(source, target, np.full(1, -0.0, np.float32), None, None, None)
    for box in (Box(((8, 1, 300, 0), (300, 8, 1, 0)), 0, 0, 0), Box(((300, 1, 8, 0), (8, 300, 1, 0)), 0, 0, 0)):
        got = np.ones(x.size, "uint16" if target == "bfloat16" else target)
        kernels.program(x.size, x.size, (), (box,), a, backend).run(x, got)
        assert not got.view(f"u{got.itemsize}").any()  # -0.0 - -0.0 is 0.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "source, target",
    [("uint8", "int8"), ("int8", "float32"), ("float32", "int8"), ("float32", "float16"), ("int16", "uint8")],
)
def test_every_tile_between_fences(source: str, target: str, backend: str) -> None:
    rng, fences = np.random.default_rng(6), (Fenced(1 << 22), Fenced(1 << 22))
    channels = 25
    scale = np.float32(rng.uniform(0.01, 0.1, channels))
    zero = None if "float" in target else rng.integers(-9, 9, channels).astype(float)
    for (loops, pads), each in itertools.product(TILES, (True, False)):
        a = Arithmetic(
            source, target, None, scale if each else scale[:1], None, zero if each or zero is None else zero[:1]
        )
        for n, at_end in itertools.product((*range(1, 24), 66, 131, 700, 1400, 5500), (False, True)):
            many = [(*k[:3], k[3] if each else 0) for k in loops(n)]
            if sum(k[3] * (k[0] - 1) for k in many) >= channels:
                continue
            box, src_size, dst_size = boxed(many)
            dst_size += pads
            x, stored = numbers(rng, source, src_size), np.dtype(target)
            sizes = (x.nbytes, dst_size * stored.itemsize)
            given, got = ((fence.last if at_end else fence.first)(size) for fence, size in zip(fences, sizes))
            given[:], got[:] = x.view(np.uint8), 0x77
            expected = got.copy().view(stored)
            places, to, channel = (walked(many, *at) for at in ((0, box.src), (1, box.dst), (2, 0)))
            expected[to] = converted(x[places], a, channel).astype(stored)
            for k in range(pads):
                expected[walked(many[:-1], 1, box.dst) + many[-1][0] + k] = 0
            program = kernels.program(src_size, dst_size, filling(many, pads), (box,), a, backend)
            program.run(given.view(x.dtype), got.view(stored))
            assert same(got.view(stored), expected, target), f"{backend} {a} {many} {pads}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("path, dtype", [(path, dtype) for path, dtypes in GRAYS.items() for dtype in dtypes])
def test_gray_of_every_width_between_fences(path: str, dtype: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    rng, level = np.random.default_rng(3), kernels._BACKENDS[backend]
    size = np.dtype(dtype).itemsize
    for n, pixel in itertools.product((*range(1, 140), 1025, 2051), (1, 3, 4, 5, 16)):
        for places in ([fence.first for fence in fences], [fence.last for fence in fences]):
            image = places[0](3 * n * pixel * size if pixel == 1 else ((n - 1) * pixel + 3) * size).view(dtype)
            image[:] = rng.integers(0, 256, image.size) if dtype != "float32" else rng.random(image.size)
            step = image.itemsize * pixel
            planes = [
                np.lib.stride_tricks.as_strided(image[c * (n if pixel == 1 else 1) :], (n,), (step,)) for c in range(3)
            ]
            out = places[1](n * size).view(dtype)
            out[:] = 77
            if level is None:
                kernels.gray(*planes, out, backend=backend)
            else:
                assert native.gray(*planes, out, level).name == path
            if dtype == "float32":
                b, g, r = planes
                expected = b * np.float32(0.114) + g * np.float32(0.587) + r * np.float32(0.299)
                np.testing.assert_allclose(out, expected, rtol=1e-6)
            else:
                b, g, r = (p.astype(np.uint64) for p in planes)
                np.testing.assert_array_equal(out, (3735 * b + 19235 * g + 9798 * r + (1 << 14)) >> 15)


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


@pytest.mark.parametrize("seed", range(17))
def test_generated_conversions(seed: int) -> None:
    """17 x 1000: more than oneDNN's 16,761 reorders."""
    taken = run_cases(seed, 1000)
    if NATIVE:
        rare = {"detour", "pixels", "short pixels", "load transposed", "store transposed"}
        assert {"fill"} | (EXAMPLES.keys() | CONVERSIONS.keys()) - rare <= taken.keys(), taken


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_a_hundred_thousand_generated_conversions(seed: int) -> None:
    run_cases(seed, 5000)


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_a_program_refuses_what_leaves_its_buffers() -> None:
    def made(loops: object, src: int = 0, dst: int = 0, sizes: tuple[int, int] = (100, 100)) -> object:
        return native._native.Program("base", sizes[0], 1, sizes[1], 1, (), ((loops, src, dst, 0),), None)

    made(((100, 1, 1, 0),))
    big = 1 << 62
    for loops, src, dst in (
        (((101, 1, 1, 0),), 0, 0),
        (((100, 1, 1, 0),), 1, 0),
        (((100, -1, 1, 0),), 98, 0),
        (((2, 1, big, 0),), 0, 0),
        (((big, big, big, 0),), 0, 0),
        (((0, 1, 1, 0),), 0, 0),
        (((1, 1, 1, 0),), -1, 0),
    ):
        with pytest.raises(ValueError, match=r"leaves its buffer|64 bits"):
            made(loops, src, dst)
    with pytest.raises(OverflowError):
        made(((2, 1, 1, 0),) * 17)
    program = made(((100, 1, 1, 0),))
    one, two = np.zeros(100, np.uint8), np.zeros(100, np.uint8)
    for source, target in ((one[:99], two), (one, two[:99]), (one[::2], two), (one, bytes(100))):
        with pytest.raises((ValueError, BufferError)):
            program.run(source, target)  # type: ignore[attr-defined]
    for part, parts in ((-1, 2), (2, 2), (0, 0), (0, 1 << 40)):
        with pytest.raises(ValueError, match="part"):
            program.run(one, two, part, parts)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="overlap"):
        program.run(one, one, 0, 2)  # type: ignore[attr-defined]


MACHINES = {"this machine": (["cc"], []), "aarch64": (["aarch64-linux-gnu-gcc", "-static"], ["qemu-aarch64"])}
NATIVE_TESTS = {
    ("this machine", "check"): ["200000"],
    ("this machine", "threads"): ["10", "5"],
    ("aarch64", "check"): ["50000"],
    ("aarch64", "threads"): ["10", "0"],  # no forks: qemu-user does not survive those of a process with threads
}


@pytest.mark.slow
@pytest.mark.parametrize("machine, name", NATIVE_TESTS)
def test_the_core_without_python(machine: str, name: str, tmp_path: Path) -> None:
    """tests/native: the loops and the pool alone, also where they run on an emulated machine."""
    compiler, runner = MACHINES[machine]
    if not all(shutil.which(tool) for tool in (compiler[0], *runner[:1])):
        pytest.skip(f"{machine}: needs {' and '.join((compiler[0], *runner))} (apt: gcc-aarch64-linux-gnu qemu-user)")
    csrc = ROOT / "npu_layout" / "kernels" / "csrc"
    sources = [TESTS / "native" / f"{name}.c", *csrc.glob("simd/level_*.c")]
    sources += csrc.glob("*.c")
    flags = ["-std=c11", "-O3", "-Wno-psabi", "-ffp-contract=off", "-pthread", f"-I{csrc}"]
    program = str(tmp_path / name)
    subprocess.run([*compiler, *flags, *map(str, sources), "-lm", "-o", program], check=True)
    ran = subprocess.run([*runner, program, *NATIVE_TESTS[machine, name]], capture_output=True, text=True)
    assert ran.returncode == 0 and ("equal" in ran.stdout or " 0 wrong" in ran.stdout), ran.stdout + ran.stderr


@pytest.mark.slow
def test_the_table_of_instructions_is_true() -> None:
    """docs/instructions.md: within a tenth (compilers differ), and no loop beyond its rule without a reason."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import instructions
    finally:
        del sys.path[0]
    if instructions.missing():
        pytest.skip(instructions.missing())
    found = instructions.measured()
    assert not instructions.unexplained(found)
    written = [line.split("|") for line in instructions.TABLE.read_text().splitlines() if line.startswith("| ")][1:]
    assert [row[1].strip() for row in written] == list(found)
    for _, case, *numbers, ratio, _ in written:
        of = found[case.strip()]
        expected = [*of["x86_64"], *of["aarch64"]]
        np.testing.assert_allclose([float(x) for x in numbers], expected, rtol=0.1, atol=0.02, err_msg=case)
        assert abs(float(ratio) - instructions.ratio(of)) < 0.15, case


def chosen(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import npu_layout as nl; print(nl.kernels.active())"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_the_kernels_are_chosen_by_the_environment() -> None:
    assert chosen(NPU_LAYOUT_KERNELS="numpy").stdout == "numpy\n"
    wrong = chosen(NPU_LAYOUT_KERNELS="fast")
    assert wrong.returncode and "expected auto, native or numpy" in wrong.stderr
    if not NATIVE:
        return
    off: list[str] = []
    for name in NATIVE:
        assert chosen(NPU_LAYOUT_KERNELS="native", NPU_LAYOUT_DISABLE=",".join(off)).stdout == f"{name}\n"
        off.append(name[len("native (") : -1])
    assert chosen(NPU_LAYOUT_KERNELS="native", NPU_LAYOUT_DISABLE="base").returncode == 0
