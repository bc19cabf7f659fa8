"""Conversions, at every instruction set, against numpy: dtypes, widths, fences, tiles."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.kernels import Arithmetic, Box
from npu_layout.layouts import Affine, Plan
from npu_layout.layouts.storage import Storage
from tests.support import oracle
from tests.support.conversion_examples import CONVERSIONS, TILES
from tests.support.kernel_walks import (
    BACKENDS,
    DTYPES,
    NATIVE,
    WIDEST,
    arithmetics,
    boxed,
    computing,
    converted,
    filling,
    numbers,
    pad_places,
    same,
    walked,
)
from tests.support.memory import Fenced
from tests.support.move_examples import PAST


def check_conversions(tags: tuple[str, str], shape: tuple[int, ...], targets: tuple[str, ...], backend: str) -> None:
    """Bytes and floats to `targets`, with every arithmetic whose parameters differ between channels."""
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
            fields = [None if p is None else tuple(p.tolist()) for p in made.affine.values]
            plan = Plan(src, dst, source, target, Affine("C", *fields, made.affine.float_zero_point), True)
            got = np.full(dst.size, 77, target)
            plan.program(backend).run(raw, got)
            expected = np.zeros(dst.size, target)
            expected[places[1]] = converted(raw[places[0]], plan.arithmetic, channel)
            assert same(got, expected, target), f"{source} {target} {made}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("tags", list(itertools.permutations(("CHW", "HWC", "CHW4c", "CHW16c"), 2)))
def test_conversions_of_three_channels(tags: tuple[str, str], backend: str) -> None:
    """Rows of three elements, too short to be converted one by one, and more pixels than fit in a strip."""
    check_conversions(tags, (3, 37, 61), ("uint8", "uint16", "float16", "float32"), backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("pixels", [(16, 32), (19, 27), (28, 28), (32, 32), (25, 41)])
def test_parameters_of_planes_about_a_strip(pixels: tuple[int, int], backend: str) -> None:
    for channels, tags in itertools.product(
        (2, 8, 21), (("CHW", "HWC"), ("HWC", "CHW"), ("CHW", "CHW4c"), ("CHW", "CHW"))
    ):
        check_conversions(tags, (channels, *pixels), ("int8", "float32"), backend)


@pytest.mark.parametrize("backend", NATIVE)
def test_conversions_past_the_caches(backend: str) -> None:
    rng = np.random.default_rng(2)
    fence = Fenced(PAST)
    for c, more, source in ((64, 8, "int8"), (5, 7, "uint8"), (7, 1, "float16")):
        hw = PAST // (c * (np.dtype(source).itemsize + 4)) // 16 * 16 + 16 + more
        x = numbers(rng, source, c * hw)
        scale = tuple(rng.uniform(0.1, 2, c).tolist())
        arithmetic = computing(source, "float32", (3.0,), scale, channels=c)
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


@lru_cache(maxsize=1)  # the same for each backend
def pairs_of_dtypes(source: str) -> list[tuple[str, int, Arithmetic, Box, np.ndarray, np.ndarray]]:
    """Cases: (target, width, arithmetic, box, elements, the results that numpy computes)."""
    rng, cases = np.random.default_rng(7), []
    for target in DTYPES:
        stored = "uint16" if target == "bfloat16" else target
        widths = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 127, 131, 1025)
        for channels, n in itertools.product((1, 5), widths):
            for arithmetic in arithmetics(source, target, channels):
                x = numbers(rng, source, n * channels)
                for loops, channel in (
                    (((channels, n, n, 1), (n, 1, 1, 0)), np.repeat(np.arange(channels), n)),
                    (((n, channels, channels, 0), (channels, 1, 1, 1)), np.tile(np.arange(channels), n)),
                ):
                    if all(p is None for p in arithmetic.affine.values):
                        loops = tuple((*loop[:3], 0) for loop in loops)  # there are no parameters to walk
                    box = Box(tuple(loop for loop in loops if loop[0] > 1), 0, 0, 0)
                    expected = converted(x, arithmetic, channel).astype(stored)
                    cases.append((target, n, arithmetic, box, x, expected))
    return cases


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("source", DTYPES)
def test_every_pair_of_dtypes(source: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    for target, n, arithmetic, box, x, expected in pairs_of_dtypes(source):
        given, got = fences[0].last(x.nbytes), fences[1].last(expected.nbytes)
        given[:], got[:] = x.view(np.uint8), 0x77
        program = kernels.program(x.size, x.size, (), (box,), arithmetic, backend)
        program.run(given.view(x.dtype), got.view(expected.dtype))
        assert same(got.view(expected.dtype), expected, target), f"{backend} {arithmetic} {n}"


@pytest.mark.parametrize("path", CONVERSIONS)
def test_every_width_converted_between_fences(path: str, fences: tuple[Fenced, Fenced]) -> None:
    check_conversions_between_fences(path, BACKENDS, fences, 1)


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("path", CONVERSIONS if NATIVE else [])
def test_widths_converted_past_the_caches(path: str, fences: tuple[Fenced, Fenced]) -> None:
    check_conversions_between_fences(path, NATIVE, fences, 3)


def check_conversions_between_fences(path: str, backends: list[str], fences: tuple[Fenced, Fenced], every: int) -> None:
    rng, used = np.random.default_rng(5), Counter[tuple[str, str]]()
    for a, loops in CONVERSIONS[path]:
        step = max(8, WIDEST // min(a.itemsizes))
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
            for backend in backends:
                got[:] = 0x77
                program = kernels.program(src_size, dst_size, (), (box,), a, backend)
                program.run(given.view(x.dtype), got.view(stored))
                assert same(got.view(stored), expected, a.dst_dtype), f"{backend} {a} {loops(n)}"
                used.update((backend, name) for name in getattr(program, "paths", list)())
    assert all(used[backend, path] > 9 // every * len(CONVERSIONS[path]) for backend in NATIVE), used


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
        a = computing(
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
            expected[pad_places(many, box.dst, pads)] = 0
            program = kernels.program(src_size, dst_size, filling(many, pads), (box,), a, backend)
            program.run(given.view(x.dtype), got.view(stored))
            assert same(got.view(stored), expected, target), f"{backend} {a} {many} {pads}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("channels", [1, 3])
def test_parameters_keep_the_sign_of_a_zero(channels: int, backend: str) -> None:
    scale = np.full(channels, -0.0, np.float32)
    a = computing("uint8", "float32", None, scale)
    box = Box(((40, 3, 3, 0), (3, 1, 1, int(channels > 1))), 0, 0, 0)
    out = np.ones(120, np.float32)
    kernels.program(120, 120, (), (box,), a, backend).run(np.arange(120, dtype=np.uint8), out)
    assert (out == 0).all() and np.signbit(out).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("source", ["uint8", "int8"])
def test_bytes_to_planes_by_parameters_of_any_size(source: str, backend: str) -> None:
    """Some loops shift and scale bytes in place within 32 bits, if the results are the same: at the limits of that."""
    shifts = (0, -0.0, 3, -128, 127.5, 0.1, -1e-30, 65536, 65537.5, 1e9, 3e38, np.inf, np.nan)
    scales = (1, 0.05, -0.0, 2**-70, 2**-81, -(2**-126), 2**-149, 3e38, np.inf, np.nan)
    x = np.random.default_rng(4).integers(0, 256, 19 * 300, np.uint8).view(source)
    for channels, (shift, scale) in itertools.product((3, 4, 8, 19), itertools.product(shifts, scales)):
        a = computing(source, "float32", *(np.full(1, v, np.float32) for v in (shift, scale)))
        box = Box(((channels, 1, 300, 0), (300, channels, 1, 0)), 0, 0, 0)
        got = np.empty(300 * channels, np.float32)
        kernels.program(got.size, got.size, (), (box,), a, backend).run(x[: got.size], got)
        expected = converted(x[: got.size], a, np.zeros(got.size, int)).reshape(300, channels).T.ravel()
        assert same(got, expected, "float32"), f"{backend} {channels} {a}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("source, target", [("float16", "float32"), ("float32", "float16"), ("float32", "bfloat16")])
def test_a_shift_keeps_its_sign_where_it_is_zero(source: str, target: str, backend: str) -> None:
    x = np.full(8 * 300, -0.0, source)
    a = computing(source, target, np.full(1, -0.0, np.float32), None, None, None)
    for box in (Box(((8, 1, 300, 0), (300, 8, 1, 0)), 0, 0, 0), Box(((300, 1, 8, 0), (8, 300, 1, 0)), 0, 0, 0)):
        got = np.ones(x.size, "uint16" if target == "bfloat16" else target)
        kernels.program(x.size, x.size, (), (box,), a, backend).run(x, got)
        assert not got.view(f"u{got.itemsize}").any()  # -0.0 - -0.0 is 0.0
