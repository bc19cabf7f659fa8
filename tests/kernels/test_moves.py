"""Moves, at every instruction set, against indices computed without any kernel: widths, alignments, fences."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.kernels import Arithmetic, Box
from tests.support.arrays import assert_same
from tests.support.kernel_walks import BACKENDS, NATIVE, WIDEST, boxed
from tests.support.memory import Fenced
from tests.support.move_examples import EXAMPLES, PAST, check_move, expected_of, mover


@pytest.mark.parametrize("path", EXAMPLES)
def test_every_width_between_fences(path: str, fences: tuple[Fenced, Fenced]) -> None:
    used: Counter[tuple[str, str]] = Counter()
    for size, loops in EXAMPLES[path]:
        for n in range(1, 2 * max(8, WIDEST // size) + 2):
            backends = BACKENDS if n < 18 else NATIVE
            for first, sentinel in ((True, 0xAB), (False, 0x54)):
                used.update(check_move(fences, backends, path, size, loops(n), first, sentinel))
    assert all(used[backend, path] > len(EXAMPLES[path]) for backend in NATIVE), used


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("path", EXAMPLES if NATIVE else [])
def test_widths_past_the_caches(path: str, fences: tuple[Fenced, Fenced]) -> None:
    for size, loops in EXAMPLES[path]:
        for n in range(1, 2 * max(1, WIDEST // size) + 2, 3):
            for first, sentinel in ((True, 0xAB), (False, 0x54)):
                check_move(fences, NATIVE, path, size, loops(n), first, sentinel)


@pytest.mark.usefixtures("no_cache")
@pytest.mark.parametrize("path", EXAMPLES if NATIVE else [])
def test_every_alignment_past_the_caches(path: str) -> None:
    test_every_alignment(path)


@pytest.mark.parametrize("path", EXAMPLES if NATIVE else [])
def test_every_alignment(path: str) -> None:
    for size, loops in EXAMPLES[path]:
        many = loops(max(2, 2 * WIDEST // size + 1))
        movers = {backend: mover(path, size, many, backend) for backend in NATIVE}
        _, box, src_size, dst_size = movers[NATIVE[0]]
        source = np.random.default_rng(size).integers(0, 256, src_size * size + 64, np.uint8)
        for at in range(64):
            room = np.empty(dst_size * size + 128, np.uint8)
            start = (at - room.ctypes.data) % 64
            mine, target = source[63 - at :][: src_size * size], room[start:][: dst_size * size]
            expected = expected_of(path, many, box, mine.copy(), size, dst_size, 0xEE)
            for backend in NATIVE:
                room[:], target[:] = 0x11, 0xEE
                movers[backend][0].run(mine, target)
                assert_same(target, expected, backend)
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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_one_row_read_again_for_every_channel(backend: str, size: int) -> None:
    """A broadcast source: its rows are no bytes apart."""
    name = f"V{size}"
    for channels, pixels in itertools.product((1, 3, 7, 8, 16, 17, 33, 100), (1, 4, 8, 16, 31, 64, 400)):
        box = Box(((pixels, 1, channels, 0), (channels, 0, 1, 0)), 0, 0, 0)
        program = kernels.program(pixels, pixels * channels, (), (box,), Arithmetic(name, name), backend)
        source = np.random.default_rng(pixels).integers(0, 256, pixels * size, np.uint8).view(name)
        target = np.zeros(pixels * channels, name)
        program.run(source, target)
        assert target.tobytes() == np.repeat(source, channels).tobytes()


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("channels, pixels", [(255, 2200), (512, 1100), (256, 2304), (64, 33000), (2100, 256)])
def test_large_transposes(backend: str, channels: int, pixels: int) -> None:
    source = np.random.default_rng(0).integers(0, 1 << 32, channels * pixels, np.uint32)
    for s in ((channels, pixels), (pixels, channels)):
        box = Box(((s[1], 1, s[0], 0), (s[0], s[1], 1, 0)), 0, 0, 0)
        program = kernels.program(source.size, source.size, (), (box,), Arithmetic("V4", "V4"), backend)
        target = np.full_like(source, 0x5A)
        program.run(source.view("V4"), target.view("V4"))
        assert_same(target.reshape(s[1], s[0]), source.reshape(s).T)


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_rows_that_share_sets_of_the_cache(backend: str, size: int) -> None:
    """Rows whose pitch is, or nearly is, a multiple of 4096, 2048 or 1024 bytes, in the result or the source: maps of
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
            assert_same(
                target, expected_of("strided", loops, box, source, size, dst_size, 0xEE), f"{n} {m} {pitch} {side}"
            )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_source_that_overlaps_is_refused(backend: str) -> None:
    box, pads = Box(((40, 1, 61, 0), (60, 40, 1, 0)), 0, 0, 0), Box(((40, 0, 61, 0), (1, 0, 1, 0)), 0, 60, 0)
    program = kernels.program(60 * 40, 40 * 61, (pads,), (box,), Arithmetic("V1", "V1"), backend)
    memory = np.random.default_rng(3).integers(1, 256, 10000, np.uint8)
    copied = memory.copy()
    for start in (3000 - 40 * 61 + 1, 2999, 3000, 3001, 5399):
        with pytest.raises(ValueError, match="source and destination overlap"):
            program.run(copied[3000:5400], copied[start : start + 40 * 61])
    assert_same(copied, memory)
    for start in (3000 - 40 * 61, 5400):
        program.run(copied[3000:5400], copied[start : start + 40 * 61])


@pytest.mark.parametrize("path", EXAMPLES if NATIVE else [])
def test_what_goes_past_the_caches(path: str) -> None:
    def touched(n: int) -> int:
        _, src_size, dst_size = boxed(loops(n))
        return (min(src_size, dst_size) + dst_size) * size

    fence = Fenced(PAST)
    for size, loops in EXAMPLES[path]:
        n = PAST * 1000 // (touched(1001) - touched(1)) + 8
        rng = np.random.default_rng(size)
        for ragged in (0, 3):
            many = loops(n + ragged)
            movers = {backend: mover(path, size, many, backend) for backend in NATIVE}
            _, box, src_size, dst_size = movers[NATIVE[0]]
            source = rng.integers(0, 256, src_size * size, np.uint8)
            expected = expected_of(path, many, box, source, size, dst_size, 0xC3)
            for backend in NATIVE:
                for target in (fence.first(dst_size * size), fence.last(dst_size * size)):
                    target[:] = 0xC3
                    movers[backend][0].run(source, target)
                    assert np.array_equal(target, expected), f"{backend} {size} {n} {ragged}"


@pytest.mark.parametrize("backend", NATIVE)
def test_short_rows_past_the_caches(backend: str) -> None:
    """Planes to contiguous channels: whole rows, rows with gaps, rows that do not begin at a cache line."""
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


@pytest.mark.parametrize("count", [13, 14, 15, 16, 17])
def test_pads_behind_as_many_axes_as_the_core_walks(count: int) -> None:
    letters = "ABDEFGHIJKLMNOPQR"[:count]
    source, target = nl.Layout(letters + "C"), nl.Layout(letters[::-1] + "C4c", letters + "C")
    x = np.random.default_rng(count).integers(1, 100, (2,) * count + (1,), np.uint8)
    got = nl.repack(x, source, target)
    assert_same(got[..., 0], x.transpose(*range(count - 1, -1, -1), count))
    assert not got[..., 1:].any()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("rows, columns", [(57, 2116), (2116, 57), (1000, 255), (255, 1024), (40, 4096), (70, 5000)])
def test_matrices_that_are_prefetched(rows: int, columns: int, size: int, backend: str) -> None:
    name = f"V{size}"
    source = np.random.default_rng(rows).integers(0, 256, rows * columns * size, np.uint8).view(name)
    for mirrored in (False, True):
        first, step = ((rows - 1) * columns, -columns) if mirrored else (0, columns)
        box = Box(((columns, 1, rows, 0), (rows, step, 1, 0)), first, 0, 0)
        program = kernels.program(source.size, source.size, (), (box,), Arithmetic(name, name), backend)
        out = np.zeros_like(source)
        program.run(source, out)
        matrix = source.reshape(rows, columns)
        expected = (matrix[::-1] if mirrored else matrix).T
        assert out.tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.fixture(params=[1, 0], ids=["in caches", "in none"])
def answered(request: pytest.FixtureRequest) -> Iterator[None]:
    """Say where sources and results are, in place of the clock."""
    _native = pytest.importorskip("npu_layout.kernels._native")
    _native.set_cached(request.param)
    yield
    _native.set_cached(-1)


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("size", [16, 32, 64, 80, 128, 240, 300])
@pytest.mark.parametrize(
    "first, second", [(2, 300), (300, 2), (7, 133), (133, 7), (17, 64), (64, 33), (5, 512), (512, 9)]
)
def test_rows_and_blocks_change_places(backend: str, size: int, first: int, second: int) -> None:
    """Blocks to pixels, pixels to blocks and rows of any length, also such as share sets of L1."""
    source = np.random.default_rng(first).integers(0, 256, (first, second, size), np.uint8)
    box = Box(((second, size, first * size, 0), (first, second * size, size, 0), (size, 1, 1, 0)), 0, 0, 0)
    program = kernels.program(source.size, source.size, (), (box,), Arithmetic("V1", "V1"), backend)
    target = np.zeros(source.size, np.uint8)
    program.run(source.reshape(-1).view("V1"), target.view("V1"))
    assert_same(target.reshape(second, first, size), source.transpose(1, 0, 2))


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("pixels", [4096, 4097, 5001, 16384])
@pytest.mark.parametrize("way", [1, -1])
def test_many_pixels_of_eight_planes(backend: str, pixels: int, way: int) -> None:
    source = np.random.default_rng(pixels).integers(0, 1 << 32, (8, pixels), np.uint32)
    box = Box(((pixels, way, 8, 0), (8, pixels, 1, 0)), 0 if way > 0 else pixels - 1, 0, 0)
    program = kernels.program(source.size, source.size, (), (box,), Arithmetic("V4", "V4"), backend)
    target = np.zeros(source.size, np.uint32)
    program.run(source.reshape(-1).view("V4"), target.view("V4"))
    assert_same(target.reshape(pixels, 8), source[:, ::way].T)


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("rows", [2, 3, 4])
@pytest.mark.parametrize("columns", [2, 3, 16, 257, 6912])
@pytest.mark.parametrize("gap", [0, 1])
def test_few_rows_of_eight_bytes(backend: str, rows: int, columns: int, gap: int) -> None:
    """Blocks of eight bytes to pixels; behind each pixel of a result with gaps is what was there."""
    source = np.random.default_rng(columns).integers(0, 1 << 63, (rows, columns), np.uint64)
    pitch = rows + gap
    box = Box(((columns, 1, pitch, 0), (rows, columns, 1, 0)), 0, 0, 0)
    program = kernels.program(source.size, columns * pitch, (), (box,), Arithmetic("V8", "V8"), backend)
    target = np.full(columns * pitch, 7, np.uint64)
    program.run(source.reshape(-1).view("V8"), target.view("V8"))
    expected = np.full((columns, pitch), 7, np.uint64)
    expected[:, :rows] = source.T
    assert_same(target.reshape(columns, pitch), expected)
