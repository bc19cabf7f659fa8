"""Buffers that are in no cache: the same results of what is fetched and stored then, and when a program looks."""

from __future__ import annotations

import itertools
import platform
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.kernels import Arithmetic
from tests.conftest import LAST_CACHE
from tests.support.kernel_walks import NATIVE, Loops, boxed
from tests.support.memory import Fenced
from tests.support.move_examples import EXAMPLES, expected_of, mover

if NATIVE:
    from npu_layout.kernels import _native, native

pytestmark = pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
looking = pytest.mark.skipif(  # elsewhere nothing is stored past the caches
    platform.machine() not in ("x86_64", "AMD64"), reason="only programs of x86-64 look"
)
forbidding = pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="only Linux on x86-64 has these calls"
)
LEAST = 1 << 18  # bytes of a result that may be stored past the caches (cold.c)
EVERY = 9  # of the examples of padded pixels, which are many


@pytest.fixture(params=((False, 0), (True, 1)), ids=("any", "whole lines"))
def stores(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Of processors for which parts of lines are as fast past the caches as whole ones, and of those for which they are
    not, and which store past the caches, at any size, what gains by it."""
    _native.set_stores(*request.param)
    yield request.param[0]
    _native.set_stores(False, 0)


def many(loops: Callable[[int], Loops], path: str, size: int) -> tuple[Loops, tuple[Any, ...]]:
    """Loops so long that the result has LEAST bytes."""
    n = 40
    while (made := mover(path, size, loops(n), NATIVE[0]))[3] * size < LEAST:
        n = n * 3 // 2 + 1
    return loops(n), made


@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("path", EXAMPLES)
def test_moves_from_no_cache_to_no_cache(path: str, cached: Callable[[int], int]) -> None:
    cached(0)
    examples = EXAMPLES[path]
    for size, loops in examples[::EVERY] if len(examples) > 50 else examples:
        walk, (_, box, src_size, dst_size) = many(loops, path, size)
        source = np.random.default_rng(size).integers(0, 256, src_size * size, np.uint8)
        expected = expected_of(path, walk, box, source, size, dst_size, 0x37)
        for backend in NATIVE:
            program = mover(path, size, walk, backend)[0]
            for at in (0, 4, 32):
                room = np.full(dst_size * size + 96, 0x37, np.uint8)
                target = room[at:][: dst_size * size]
                for call in range(3):
                    target[:] = 0x37
                    assert program.attempt(source, target)
                    np.testing.assert_array_equal(target, expected, err_msg=f"{path} {size} {walk} {backend} {call}")
                assert (room[:at] == 0x37).all() and (room[at + target.size :] == 0x37).all()


@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("backend", NATIVE)
def test_conversions_from_no_cache_to_no_cache(backend: str, cached: Callable[[int], int]) -> None:
    eighth = nl.Quantization(0.125, 3)
    channels = nl.Quantization(np.linspace(0.1, 2, 30), 3, axis=1)
    halves = nl.TensorSpec((1, 24, 65, 67), "NCHW", "float16")
    for source, target in (
        (nl.TensorSpec((1, 24, 65, 67), "NCHW", "int8", quantization=eighth), "NCHW"),
        (nl.TensorSpec((1, 24, 65, 67), "NHWC", "int8", quantization=eighth), "NCHW"),
        (nl.TensorSpec((1, 24, 65, 67), "NCHW16c", "int8", quantization=eighth), "NHWC"),
        (nl.TensorSpec((1, 24, 65, 67), "NHWC", "float16"), "NCHW"),
        (nl.TensorSpec((1, 24, 65, 67), "NHCW", "int8", quantization=eighth), "NCHW"),
        (nl.TensorSpec((1, 25, 65, 67), "NHCW", "uint8", quantization=eighth), "NCHW"),
        (nl.TensorSpec((2, 11, 48, 99), "NHCW", "float16"), "NCHW"),
        (nl.TensorSpec((1, 30, 48, 80), "NHCW", "int8", quantization=channels), "NCHW"),
        (nl.TensorSpec((1, 24, 65, 67), "NCHW", "float32"), halves),
        (nl.TensorSpec((1, 40, 65, 67), "NCHW", "float32"), nl.TensorSpec((1, 40, 65, 67), "NHWC", "float16")),
        (nl.TensorSpec((1, 3, 65, 67), "NCHW", "int8", quantization=eighth), "NCHW16c"),
        (nl.TensorSpec((1, 11, 65, 67), "NHWC", "uint8", quantization=eighth), "NCHW8c"),
        (nl.TensorSpec((1, 3, 97, 99), "NHWC", "float32"), nl.TensorSpec((1, 3, 97, 99), "NCHW16c", "float16")),
    ):
        wanted = nl.TensorSpec(source.shape, target) if isinstance(target, str) else target
        program = nl.plan(source, wanted).move.program(backend)
        flat = np.random.default_rng(7).integers(-128, 128, source.size).astype(source.stored)
        out = np.full(wanted.size, 77, wanted.stored)
        cached(1)
        assert program.attempt(flat, out)
        expected, _ = out.copy(), cached(0)
        for _ in range(3):
            out[:] = 77
            assert program.attempt(flat, out)
            np.testing.assert_array_equal(out, expected, err_msg=f"{source} {wanted}")
        np.testing.assert_array_equal(wanted.unpack(out), source.unpack(flat).astype(wanted.dtype))


LINES = (  # of a result, some or all of them whole: dtype, layouts, shape, and what numpy says that the result is
    ("float32", "NCHW", "NHWC", (1, 16, 65, 67), lambda x: x.transpose(0, 2, 3, 1)),
    ("float32", "NCHW", "NHWC", (2, 64, 40, 40), lambda x: x.transpose(0, 2, 3, 1)),
    ("float32", "NCHW", "NHWC", (1, 64, 32, 37), lambda x: x.transpose(0, 2, 3, 1)),
    ("float32", "NCHW", "NHWC", (1, 57, 46, 46), lambda x: x.transpose(0, 2, 3, 1)),
    ("float32", "NCHW", "NHWC", (1, 128, 33, 31), lambda x: x.transpose(0, 2, 3, 1)),
    ("float32", "NHCW", "NCHW", (1, 20, 60, 80), lambda x: x.transpose(0, 2, 1, 3)),
    ("float32", "NCHW", "NHCW", (1, 20, 60, 77), lambda x: x.transpose(0, 2, 1, 3)),
    ("float16", "NCHW16c", "NHWC", (1, 64, 47, 50), lambda x: x.transpose(0, 2, 3, 1, 4)),
    *(
        (dtype, f"NCHW{n}c", "NHWC", shape, lambda x: x.transpose(0, 2, 3, 1, 4))
        for dtype, n in (("uint8", 16), ("float32", 8), ("float64", 8))
        for shape in ((1, 7 * n, 50, 49), (2, 2 * n, 64, 67), (1, 256 * n, 5, 13), (1, 257 * n, 5, 13))
    ),
    *(
        (dtype, "NHWC", "NCHW", shape, lambda x: x.transpose(0, 3, 1, 2))
        for dtype in ("uint16", "float32")
        for shape in ((1, 70, 45, 47), (1, 128, 40, 48), (1, 16, 64, 256), (1, 33, 64, 128), (1, 64, 64, 64))
    ),
    ("uint16", "NCHW", "NHWC", (1, 64, 48, 50), lambda x: x.transpose(0, 2, 3, 1)),
    ("uint16", "NCHW", "NHWC", (2, 96, 37, 41), lambda x: x.transpose(0, 2, 3, 1)),
    *(
        (dtype, given, wanted, shape, lambda x, order=order: x.transpose(order))
        for dtype in ("uint8", "uint16", "float32")
        for given, wanted, order in (("NCHW", "NHWC", (0, 2, 3, 1)), ("NHWC", "NCHW", (0, 3, 1, 2)))
        for shape in ((1, 85, 29, 37), (2, 131, 24, 41), (1, 80, 32, 64), (1, 17, 50, 83))
    ),
    ("float32", "NHWC", "NCHW8c", (1, 40, 47, 50), lambda x: x.reshape(1, 47, 50, 5, 8).transpose(0, 3, 1, 2, 4)),
    ("float32", "NCHW", "NHCW", (1, 30, 40, 64), lambda x: x.transpose(0, 2, 1, 3)),
    ("float32", "NCHW", "NHCW", (1, 30, 40, 300), lambda x: x.transpose(0, 2, 1, 3)),
    ("float32", "NCHW", "NHCW", (1, 64, 20, 80), lambda x: x.transpose(0, 2, 1, 3)),  # runs that begin with pages
    ("uint8", "NCHW", "NHCW", (1, 64, 9, 960), lambda x: x.transpose(0, 2, 1, 3)),
    ("uint8", "NHCW", "NCHW", (1, 5, 60, 1001), lambda x: x.transpose(0, 2, 1, 3)),
    ("uint8", "NHCW", "NCHW", (1, 3, 32, 4000), lambda x: x.transpose(0, 2, 1, 3)),
    *(
        (dtype, "NHWC", f"NCHW{n}c", shape, lambda x, n=n: x.reshape(*x.shape[:3], -1, n).transpose(0, 3, 1, 2, 4))
        for dtype, n in (("uint8", 16), ("uint16", 16), ("uint8", 48), ("float32", 4), ("float32", 16), ("float32", 20))
        for shape in ((1, 4 * n, 40, 44), (2, 3 * n, 32, 62), (1, 4 * n, 41, 51))
    ),
)


@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("answer", (0, 1))
@pytest.mark.parametrize("dtype", ("uint8", "uint16", "float32"))
@pytest.mark.parametrize("pixels", (1044, 1100, 2048))
def test_planes_with_pitches_become_pixels_and_back(
    dtype: str, pixels: int, answer: int, cached: Callable[[int], int]
) -> None:
    cached(answer)
    channels, lanes, shape = 67, 80, (1, 67, 29, 36)
    planes = nl.TensorSpec(shape, "NCHW", dtype, storage_strides=(channels * pixels, pixels, 36, 1))
    pixel = nl.TensorSpec(shape, "NHWC", dtype, storage_strides=(29 * 36 * lanes, 36 * lanes, lanes, 1))
    values = np.random.default_rng(9).integers(0, 256, shape).astype(dtype)
    for source, target in ((planes, pixel), (pixel, planes)):
        given = np.full(source.size, 99, dtype)
        source.view(given)[...] = values
        for backend in NATIVE:
            out = np.full(target.size, 77, dtype)
            for _ in range(2):
                assert nl.plan(source, target).move.program(backend).attempt(given, out)
            np.testing.assert_array_equal(target.view(out), values, err_msg=backend)
            assert (target.pack(values) == out).all(), backend


@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("dtype, given, wanted, shape, order", LINES)
def test_lines_of_results_in_no_cache(
    dtype: str, given: str, wanted: str, shape: tuple[int, ...], order: Any, cached: Callable[[int], int]
) -> None:
    cached(0)
    source, target = nl.TensorSpec(shape, given, dtype), nl.TensorSpec(shape, wanted, dtype)
    flat = Fenced(source.size * np.dtype(dtype).itemsize).last(source.size * np.dtype(dtype).itemsize).view(dtype)
    flat[:] = np.random.default_rng(3).integers(0, 256, source.size).astype(dtype)
    expected = np.ascontiguousarray(order(flat.reshape(source.storage_shape))).reshape(-1)
    size = flat.itemsize
    for backend in NATIVE:
        program = nl.plan(source, target).move.program(backend)
        for at in (0, size, 16, 32):
            room = np.full(expected.nbytes + 96, 0x37, np.uint8)
            out = room[at:][: expected.nbytes].view(dtype)
            for call in range(3):
                out[:] = 77
                assert program.attempt(flat, out)
                np.testing.assert_array_equal(out, expected, err_msg=f"{backend} {at} {call}")
            assert (room[:at] == 0x37).all() and (room[at + out.nbytes :] == 0x37).all()


@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("size", (1, 2, 4))
@pytest.mark.parametrize(
    "pitch, channels", ((4096, (7, 8, 17, 32, 67)), (8192, (9, 24, 64)), (1024 * 5, (16, 32, 48, 64)))
)
def test_planes_whose_lines_share_sets(
    size: int, pitch: int, channels: tuple[int, ...], cached: Callable[[int], int]
) -> None:
    """Planes a multiple of 4 KB apart are read from end to end; those of 1 KB as suits their pixels."""
    cached(0)
    for count, unlike, (left, gap) in itertools.product(channels, (0, 16), ((0, 0), (13, 3))):
        pages = -(-(1 << 16) // (count * pitch))  # a smaller source is not looked at
        step = pages * pitch + unlike
        pixels, place = step // size - left, count + gap
        loops: Loops = [(pixels, 1, place), (count, step // size, 1)]
        box, src_size, dst_size = boxed(loops)
        source = Fenced(src_size * size).last(src_size * size)
        source[:] = np.random.default_rng(count).integers(0, 256, source.size)
        wide = np.lib.stride_tricks.as_strided(source, (pixels, count, size), (size, step, 1))
        for backend in NATIVE:
            program = kernels.program(src_size, dst_size, (), (box,), Arithmetic(f"V{size}", f"V{size}"), backend)
            fence = Fenced(dst_size * size)
            for out in (fence.last(dst_size * size), fence.first(dst_size * size)):
                out[:] = 77
                assert program.attempt(source, out)
                rows = np.append(out, np.full(gap * size, 77, np.uint8)).reshape(pixels, place, size)
                np.testing.assert_array_equal(rows[:, :count], wide, err_msg=f"{backend} {count} {step} {gap}")
                assert (rows[:, count:] == 77).all()


SMALL = (
    ("uint8", "NHWC", "NCHW", (1, 57, 46, 46)),
    ("uint8", "NCHW", "NHWC", (1, 57, 46, 46)),
    ("uint8", "NHWC", "NCHW", (1, 80, 37, 41)),
    ("uint16", "NHWC", "NCHW", (1, 70, 29, 31)),
    ("float32", "NHWC", "NCHW", (1, 40, 27, 29)),
    ("float64", "NHWC", "NCHW", (1, 20, 27, 29)),
)


@pytest.mark.parametrize("dtype, given, wanted, shape", SMALL)
def test_small_results_in_no_cache(
    dtype: str, given: str, wanted: str, shape: tuple[int, ...], cached: Callable[[int], int], stores: bool
) -> None:
    """Their lines are fetched before they are written; those of bands by shorter vectors without a look."""
    source, target = nl.TensorSpec(shape, given, dtype), nl.TensorSpec(shape, wanted, dtype)
    nbytes = source.size * np.dtype(dtype).itemsize
    flat = Fenced(nbytes).last(nbytes).view(dtype)
    flat[:] = np.random.default_rng(3).integers(0, 256, source.size).astype(dtype)
    order = (0, 3, 1, 2) if given == "NHWC" else (0, 2, 3, 1)
    expected = np.ascontiguousarray(flat.reshape(source.storage_shape).transpose(order)).reshape(-1)
    fence = Fenced(nbytes + 64)
    for backend in NATIVE:
        program = nl.plan(source, target).move.program(backend)
        looks = not (stores and backend.endswith("(avx512)") and given == "NCHW")
        for behind in (0, 8, 16, 48):
            room = fence.last(nbytes + behind)
            out = room[:nbytes].view(dtype)
            room[:] = 77
            cached(0)
            assert program.attempt(flat, out)
            np.testing.assert_array_equal(out, expected, err_msg=f"{backend} {behind}")
            assert (room[nbytes:] == 77).all()
            if platform.machine() in ("x86_64", "AMD64"):
                assert cached(1) == 2 * looks  # the source was looked for, and the result
                assert program.attempt(flat, out) and cached(0) == looks
                program.run(flat, out)
                assert cached(0) == looks


@pytest.mark.parametrize("given", ("NCHW", "NHWC"))
@pytest.mark.parametrize(
    "dtype, channels, block", (("float32", 8, 16), ("float32", 3, 16), ("uint16", 14, 32), ("float64", 4, 8))
)
def test_blocks_with_zeros_in_no_cache(
    dtype: str, channels: int, block: int, given: str, cached: Callable[[int], int], stores: bool
) -> None:
    """Whole lines of a result that begins anywhere in a line; where these are fast, a new result is looked for, too."""
    source = nl.TensorSpec((1, channels, 97, 111), given, dtype)
    target = nl.TensorSpec(source.shape, f"NCHW{block}c", dtype)
    flat = np.random.default_rng(3).integers(0, 256, source.size).astype(dtype)
    pixels = source.unpack(flat).transpose(0, 2, 3, 1).reshape(-1, channels)
    expected = np.zeros((97 * 111, block), dtype)
    expected[:, :channels] = pixels
    size = flat.itemsize
    fence = Fenced(expected.nbytes + 128)
    for backend in NATIVE:
        for behind in (0, size, 16, 32, 64 - size):
            program = nl.plan(source, target).move.program(backend)
            room = fence.last(expected.nbytes + behind)
            out = room[: expected.nbytes].view(dtype)
            for call in range(3):
                room[:] = 0x37
                cached(0)
                assert program.attempt(flat, out)
                np.testing.assert_array_equal(out, expected.reshape(-1), err_msg=f"{backend} {behind} {call}")
                assert (room[expected.nbytes :] == 0x37).all()
                if platform.machine() in ("x86_64", "AMD64") and not call:
                    assert cached(1) == 1 + stores
                    again = nl.plan(source, target).move.program(backend)
                    assert again.attempt(flat, out) and cached(0) == 1 + stores
            room[:] = 0x37
            assert program.attempt(flat, room[behind:].view(dtype))
            np.testing.assert_array_equal(
                room[behind:].view(dtype), expected.reshape(-1), err_msg=f"{backend} {behind}"
            )
            assert (room[:behind] == 0x37).all()


@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("width", (127, 128, 129, 191, 200, 640, 1000, 1921))
def test_rows_with_a_pitch_follow_each_other_in_no_cache(width: int, cached: Callable[[int], int]) -> None:
    """A line that two rows share is written once, wherever the result begins, and nothing before and behind it."""
    cached(0)
    pitch, rows = width + 37, -(-LEAST // width) + 1
    source = nl.TensorSpec((rows, width), "HW", "uint8", storage_strides=(pitch, 1), axes="HW")
    target = nl.TensorSpec((rows, width), "HW", "uint8", axes="HW")
    flat = Fenced(source.size).last(source.size)
    flat[:] = np.random.default_rng(width).integers(0, 256, source.size)
    expected = np.append(flat, np.zeros(37, np.uint8)).reshape(rows, pitch)[:, :width].reshape(-1)
    fence = Fenced(expected.size + 64)
    for backend in NATIVE:
        program = nl.plan(source, target).move.program(backend)
        for behind in (0, 1, 15, 16, 40, 63):
            room = fence.last(expected.size + behind)
            for out, rest in ((room[: expected.size], room[expected.size :]), (room[behind:], room[:behind])):
                for _ in range(2):
                    room[:] = 77
                    assert program.attempt(flat, out)
                    np.testing.assert_array_equal(out, expected, err_msg=f"{backend} {behind}")
                    assert (rest == 77).all()


@pytest.mark.usefixtures("stores")
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_gray_of_planes_in_no_cache(dtype: str, cached: Callable[[int], int]) -> None:
    """At distances of planes and result, modulo a page, at which vectors of 64 bytes are not used, and others."""
    n = 90_001
    memory = (np.random.default_rng(5).random(3 * n) * 255).astype(dtype)
    planes = memory.reshape(3, n)
    expected = np.empty(n, dtype)
    nl.kernels.gray(*planes, expected, backend="numpy")
    room = np.empty(expected.nbytes + 3 * 4096, np.uint8)
    start = (planes.ctypes.data - room.ctypes.data) % 4096
    for backend in NATIVE:
        for behind in (0, 16, 48, 64, 700, 772, 2048, 4080):
            out = room[start + behind :][: expected.nbytes].view(dtype)
            cached(0)
            out[:] = 77
            nl.kernels.gray(*planes, out, backend=backend)
            np.testing.assert_array_equal(out, expected, err_msg=f"{backend} {behind}")


def looks(
    cached: Callable[[int], int], answer: int, results: int, calls: int, rows: int = 256, run: str = "attempt"
) -> int:
    """How often a program looked whether its result is in a cache, in so many calls with so many results in turn.

    It looks for its source in each call.
    """
    shape = (3, rows, 400)
    source, target = (nl.TensorSpec(shape, layout, "uint8", axes="CHW") for layout in ("HWC", "CHW"))
    x = np.random.default_rng(1).integers(0, 256, (rows, 400, 3), np.uint8)
    outs = [np.zeros(shape, np.uint8) for _ in range(results)]
    program = nl.plan(source, target).move.program()
    cached(answer)
    for call in range(calls):
        out = outs[call % results]
        out[...] = 0
        getattr(program, run)(x.reshape(-1), out.reshape(-1))
        assert np.array_equal(out, x.transpose(2, 0, 1))
    return cached(answer) - calls


@looking
def test_when_a_program_looks_whether_its_result_is_in_a_cache(cached: Callable[[int], int]) -> None:
    assert looks(cached, 0, 1, 1) == 0  # the first time a result is stored through the caches
    assert looks(cached, 0, 1, 2) == 1  # the second time it is looked for there
    assert looks(cached, 0, 1, 34) == 33  # it was not there: so many times it is stored past them, if it is not there
    assert looks(cached, 0, 1, 36) == 34  # then through them again, and looked for again
    assert looks(cached, 1, 1, 36) == 35  # it was there
    assert looks(cached, 0, 32, 3 * 32) == 64
    assert looks(cached, 0, 33, 3 * 33) == 0  # more results than are remembered
    assert looks(cached, 0, 1, 9, rows=200) == 0  # a small result
    assert looks(cached, 0, 1, 9, run="run") == 0  # new memory


@looking
def test_a_loop_on_the_same_result_looks_for_nothing(
    cached: Callable[[int], int], last_cache: Callable[[int], None]
) -> None:
    """With the clock of this machine, and a cache that takes years to fill, and then no time."""
    source, target = (nl.TensorSpec((3, 256, 400), layout, "uint8", axes="CHW") for layout in ("HWC", "CHW"))
    x = np.random.default_rng(1).integers(0, 256, source.size, np.uint8)
    expected = np.ascontiguousarray(x.reshape(256, 400, 3).transpose(2, 0, 1)).reshape(-1)
    outs = [np.zeros_like(x) for _ in range(3)]
    program = nl.plan(source, target).move.program()

    def asked(calls: int) -> int:
        cached(-1)
        for call in range(calls):
            out = outs[call % 3]
            out[:] = 0
            program.attempt(x, out)
            assert np.array_equal(out, expected)
        return cached(-1) - calls  # less those for the source

    try:
        last_cache(1 << 50)
        assert asked(99) == 0
        last_cache(1)
        assert asked(3) == 0  # those results came again at once: through the caches
        assert asked(90) in (90, 0, -90)  # then they are looked for, if there is a clock: 30 times each, less than 33
        last_cache(1 << 50)
        assert asked(9) == 0
    finally:
        last_cache(LAST_CACHE)


@looking
def test_when_a_program_looks_whether_its_source_is_in_a_cache(cached: Callable[[int], int]) -> None:
    for channels, found in ((64, 1), (4, 0)):  # 64 * 80 * 80 bytes, and less than 64 KB
        source, target = (nl.TensorSpec((1, channels, 80, 80), layout, "uint8") for layout in ("NCHW", "NHWC"))
        program = nl.plan(source, target).move.program()
        x = np.random.default_rng(1).integers(0, 256, source.size, np.uint8)
        out = np.zeros_like(x)
        cached(0)
        program.run(x, out)
        assert cached(0) == found
        assert np.array_equal(target.view(out), source.view(x))


@looking
@pytest.mark.alone
@pytest.mark.parametrize("size", (1 << 20, 6_220_800))
def test_what_a_look_finds(size: int, cached: Callable[[int], int]) -> None:
    """Buffers that calls use again and again, of which many pages are in no TLB, and buffers after all caches were
    filled with other memory; other programs may fill the last cache at any time, so that most of the looks count."""
    cached(-1)
    source, result = np.ones(size, np.uint8), np.ones(size, np.uint8)
    other = np.zeros(3 * kernels.caches.caches().last, np.uint8)

    def found(fill: bool, looks: int) -> float:
        cold = []
        for _ in range(looks):
            np.copyto(result, source)
            if fill:
                other[:] += 1
            cold += [_native.in_no_cache(source), _native.in_no_cache(result)]
        return np.mean(cold)

    away = found(True, 4)
    if away:  # a clock that does not tell, or is forbidden, finds everything in a cache
        assert away >= 0.7
    assert found(False, 60) <= 0.3


@looking
@pytest.mark.alone
@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize(
    "dtype, given, wanted, shape",
    (
        ("uint8", "NHWC", "NCHW", (1, 255, 80, 80)),
        ("uint8", "NCHW16c", "NCHW", (1, 256, 80, 80)),
        ("uint8", "NCHW8c", "NCHW", (1, 256, 80, 80)),
        ("float32", "CHWN", "NCHW", (8, 64, 40, 40)),
        ("uint16", "NHWC", "NCHW", (1, 8, 400, 400)),
    ),
)
def test_large_results_are_not_stored_in_parts_of_lines(
    dtype: str, given: str, wanted: str, shape: tuple[int, ...], backend: str, last_cache: Callable[[int], None]
) -> None:
    """On Intel they took 10 to 60 times as long so, with vectors of 32 bytes."""
    source, target = nl.TensorSpec(shape, given, dtype), nl.TensorSpec(shape, wanted, dtype)
    x, out = np.ones(source.size, dtype), np.ones(target.size, dtype)

    def least(size: int) -> float:
        last_cache(size)
        native.ask_how_to_store()
        program, took = nl.plan(source, target).move.program(backend), []
        for _ in range(7):
            began = time.perf_counter()
            assert program.attempt(x, out)
            took.append(time.perf_counter() - began)
        return min(took)

    try:
        assert least(0) < 6 * least(1 << 40)
    finally:
        last_cache(LAST_CACHE)
        _native.set_stores(False, 0)


def ran(script: str) -> str:
    """Return what a process prints; one that a signal ends, or that does not end, fails."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


@forbidding
def test_where_the_clock_is_forbidden() -> None:
    """A process that would be killed for reading it."""
    assert "the same" in ran(
        """
        import ctypes, os
        import numpy as np
        import npu_layout as nl

        source, target = (nl.TensorSpec((1, 64, 80, 80), layout, "uint8") for layout in ("NHWC", "NCHW"))
        image = [nl.TensorSpec((3, 256, 400), layout, "uint8", axes="CHW") for layout in ("HWC", "CHW")]
        there, back, split = (nl.plan(*two).move.program() for two in ((source, target), (target, source), image))
        x = np.arange(source.size, dtype=np.uint64).astype(np.uint8)
        y, z = np.zeros_like(x), np.zeros_like(x)
        pixels, planes = x[: 3 * 256 * 400], np.zeros(3 * 256 * 400, np.uint8)
        nl.set_num_threads(1)  # what shares work among threads reads the clock, and so does an interpreter with some
        clock = ctypes.CDLL(None).prctl
        assert clock(26, 2, 0, 0, 0) == 0  # PR_SET_TSC, PR_TSC_SIGSEGV
        for _ in range(3):
            there.attempt(x, y), back.run(y, z), split.attempt(pixels, planes)
        clock(26, 1, 0, 0, 0)  # PR_TSC_ENABLE: numpy needs it
        assert (x == z).all()
        assert (planes.reshape(3, 256, 400) == pixels.reshape(256, 400, 3).transpose(2, 0, 1)).all()
        print("the same")
        """
    )


@forbidding
def test_other_threads_run_while_a_look_waits_for_a_page() -> None:
    """A thread of Python brings the pages of a source and a result: it could not, if the look kept it from running."""
    said = ran(
        """
        import ctypes, fcntl, mmap, os, struct, sys, threading
        import numpy as np
        import npu_layout as nl
        from npu_layout.kernels import _native

        libc = ctypes.CDLL(None, use_errno=True)
        faults = libc.syscall(323, os.O_CLOEXEC | 1)  # userfaultfd, of user mode
        if faults < 0:
            print("no userfaultfd"), sys.exit()
        fcntl.ioctl(faults, 0xC018AA3F, bytearray(struct.pack("QQQ", 0xAA, 0, 0)))
        served = []

        def serve():
            while True:
                page = struct.unpack("<16xQ8x", os.read(faults, 32))[0] // 4096 * 4096
                served.append(page)
                fcntl.ioctl(faults, 0xC020AA04, bytearray(struct.pack("QQQq", page, 4096, 0, 0)))

        def room(size):
            memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            array = np.frombuffer(memory, np.uint8)
            array[:] = 0
            page = (size // 3 + array.ctypes.data) // 4096 * 4096  # the first that is looked at
            memory.madvise(mmap.MADV_DONTNEED, page - array.ctypes.data, 4096)
            fcntl.ioctl(faults, 0xC020AA00, bytearray(struct.pack("QQQQ", page, 4096, 1, 0)))
            return memory, array, page

        threading.Thread(target=serve, daemon=True).start()
        _native.set_threads(1)
        source, target = (nl.TensorSpec((3, 256, 400), layout, "uint8", axes="CHW") for layout in ("HWC", "CHW"))
        program = nl.plan(source, target).move.program()
        (_, x, of_source), (memory, out, of_result) = room(source.size), room(target.size)
        _native.set_last_cache(1)  # no time is short
        program.attempt(x, out)
        memory.madvise(mmap.MADV_DONTNEED, of_result - out.ctypes.data, 4096)
        program.attempt(x, out)
        assert served == [of_source, of_result, of_result], served
        print("served")
        sys.stdout.flush()
        os._exit(0)
        """
    )
    if "no userfaultfd" in said:
        pytest.skip("this kernel has no userfaultfd for this user")
    assert "served" in said
