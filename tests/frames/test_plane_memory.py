"""Which pitch and height a number of bytes is of: every usual reading is found, and the one that explains more wins."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import npu_layout as nl
from npu_layout.frames.pixel_formats import pixel_format
from npu_layout.frames.plane_memory import (
    PitchReading,
    coded_offsets,
    other_reading,
    readings,
    readings_apart,
    side_by_side,
    strides_of,
)
from tests.support import frame_formats as formats

NV12 = pixel_format("NV12").planes


def up(number: int, step: int) -> int:
    while number % step:
        number += 1
    return number


@pytest.mark.parametrize("name", ["NV12", "I420", "NV24", "P010", "YUYV", "BGR", "GRAY", "RGGB10P", "I422"])
@pytest.mark.parametrize("size", [(1920, 1080), (634, 358), (37, 21)])
def test_drivers_roundings_are_found(name: str, size: Any) -> None:
    """Of rows to 16 to 512 bytes, of heights to 8 to 64, and of the whole to pages."""
    planes = pixel_format(name).planes
    for pitch, lines, page in itertools.product((1, 16, 64, 512), (1, 8, 16, 64), (1, 4096, 16384)):
        width, height = size[0], up(size[1], lines)
        rows = formats.planes_of(name, width, height)
        strides = [up(rows[0][0], pitch) * row // rows[0][0] for row, _ in rows] if size[0] % 8 == 0 else None
        if strides is None:  # rows that no ratio divides: the library's own, which test_frame_spec checks
            strides = list(strides_of("", planes, width, up(rows[0][0], pitch)))
        total = sum(stride * count for stride, (_, count) in zip(strides, rows))
        found = readings(planes, size, up(total, page), strides_of("", planes, width, None))
        same = [r for r in found if r.size == total and r.strides == tuple(strides)]
        assert same and same[0].offsets[0] == 0 and bool(same[0].page) == (up(total, page) != total)
        assert [bool(r.page) for r in found] == sorted(bool(r.page) for r in found)  # exact ones first


def test_equal_rows_are_a_reading() -> None:
    """Of a whole frame if they are a multiple of 4 bytes, of a plane apart whatever they are."""
    (y, _), dense = NV12, (1920, 1920)
    assert [r.strides for r in readings(NV12, (1920, 1080), 1984 * 1620, dense)] == [(1984, 1984)]
    assert readings(NV12, (1920, 1080), 1922 * 1620, dense) == []
    assert [r.strides for r in readings((y,), (1920, 1080), 1922 * 1080, (1920,), apart=True)] == [(1922,)]
    assert readings(NV12, (1920, 1080), 1984 * 1620, dense, fixed=True) == []


def test_the_reading_that_explains_more() -> None:
    own, exact = ((8, 8), (0, 64)), PitchReading(8, (16, 16), (0, 128), 192)
    paged = exact._replace(page=4096)
    own_exact, own_paged, own_large = (PitchReading(8, *own, 96, page) for page in (0, 4096, 16384))
    for found, unsaid, stated in (
        ([], None, None),
        ([exact], exact, exact),
        ([paged], paged, paged),
        ([own_exact], None, None),
        ([own_exact, exact], exact, None),
        ([exact, own_exact], exact, None),
        ([own_exact, paged], paged, None),
        ([exact, own_paged], exact, exact),
        ([own_paged, paged], paged, None),
        ([own_large, paged], paged, paged),
        ([own_large, paged._replace(page=16384)], paged._replace(page=16384), None),
    ):
        assert other_reading(found, *own) == unsaid
        assert other_reading(found, *own, stated=True) == stated
    elsewhere = PitchReading(16, (8, 8), (0, 128), 192)  # a rounded height: U and V begin later
    assert other_reading([elsewhere], *own) == elsewhere


def test_a_rounded_height_in_smaller_pages() -> None:
    """608 rows of 896 bytes in pages of 4096 have as many bytes as 600 of them in pages of 16384."""
    assert -(-896 * 608 * 3 // 2 // 4096) * 4096 == -(-896 * 600 * 3 // 2 // 16384) * 16384 == 819200
    with pytest.raises(nl.NpuLayoutError, match=r"819200 is that of 608 rows of 896 bytes.*offsets=\(0, 544768\)"):
        nl.FrameSpec("NV12", (800, 600), strides=896, size=819200)
    for offsets in ((0, 544768), (0, 537600)):
        assert nl.FrameSpec("NV12", (800, 600), strides=896, offsets=offsets, size=819200).offsets == offsets
    assert nl.FrameSpec("NV12", (800, 600), strides=896, size=806912).size == 806912  # 600 rows in pages of 4096


def test_rows_that_alternate() -> None:
    assert side_by_side(4, 16, 4, 4) and not side_by_side(3, 16, 4, 4) and not side_by_side(13, 16, 4, 4)


def test_separate_planes_have_their_readings_in_common() -> None:
    """One height, one pitch and one rounding to pages explain all of their sizes."""
    i420 = pixel_format("I420").planes
    size, strides, sizes = (848, 480), (896, 448, 448), (430080, 110592, 110592)
    found = readings_apart(i420, size, sizes, strides)
    assert [(r.lines, r.strides, r.page) for r in found] == [(480, strides, 4096)]
    assert readings_apart(i420, size, (430080, 110592, 448 * 240), strides) == []  # one of them is in no pages
    whole = readings_apart(i420, size, (896 * 480 - 48, 448 * 240, 448 * 240 - 24), strides)  # without the last gaps
    assert [(r.lines, r.strides, r.page) for r in whole] == [(480, strides, 0)]
    taller = (896 * 512, 448 * 256, 448 * 256)
    assert [r.lines for r in readings_apart(i420, size, taller, (848, 424, 424))] == [512]
    assert readings_apart(i420, size, taller, (848, 424, 424), both=False) == []


def test_what_is_unusual_is_tried_last() -> None:
    dense, size = (1920, 1920), (1920, 1080)
    decoder = readings(NV12, size, 1920 * 1632 + 128 * 120 * 68, dense)  # also 1088 rows of 2560
    assert [(r.lines, r.strides, r.behind) for r in decoder] == [(1088, dense, 128 * 120 * 68)]
    assert decoder[0].rounded == ", with 1044480 bytes of a decoder behind them"
    assert [(r.lines, r.strides[0]) for r in readings(NV12, size, 1988 * 1632, dense)] == [(1088, 1988)]
    assert readings(NV12, size, 1988 * 1632, dense, fixed=True) == readings(NV12, size, 1990 * 1632, dense) == []
    assert [r.lines for r in readings_apart(NV12, size, (1990 * 1088, 1990 * 544), dense)] == [1088]
    assert readings_apart(NV12, size, (1990 * 1088, 1992 * 544), dense) == []


def test_where_a_decoder_would_place_the_planes() -> None:
    assert coded_offsets(NV12, (1920, 1080), 1920 * 1632, (1920, 1920)) == (0, 1920 * 1088)
    assert coded_offsets(NV12, (1920, 1080), 1920 * 1632 - 1, (1920, 1920)) is None
    assert coded_offsets(NV12, (1280, 720), 1280 * 1104, (1280, 1280)) == (0, 1280 * 736)
    assert coded_offsets(NV12, (640, 480), 1 << 20, (640, 640)) is None  # whole blocks of 32 rows
