"""The table of formats against definitions written down elsewhere: each sample's byte, rows, tiles, packed shapes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import npu_layout as nl
from npu_layout.frames.pixel_formats import PIXEL_FORMATS, REFUSED, pixel_format
from tests.support import frame_formats as formats


@pytest.mark.parametrize("name", formats.YUV)
def test_each_sample_is_at_its_byte(name: str) -> None:
    for x, y in ((0, 0), (1, 0), (0, 1), (1, 1), (6, 3), (9, 8)):
        for component, samples in zip("YUV", PIXEL_FORMATS[name].samples):
            column = samples.start + x // samples.every_x * samples.step
            assert (samples.plane, column, y // samples.every_y) == formats.place(name, component, x, y)


@pytest.mark.parametrize("name", formats.FLAT)
def test_rows_and_their_bytes(name: str) -> None:
    for width, height in ((8, 6), (7, 5), (1, 1), (37, 131)):
        for plane, (row, rows) in zip(PIXEL_FORMATS[name].planes, formats.planes_of(name, width, height)):
            tile_w, tile_h = plane.tile or (1, 1)
            assert formats.up(plane.row_bytes(width), tile_w) == row and formats.up(plane.rows(height), tile_h) == rows


def test_channels_are_in_the_order_of_the_name() -> None:
    for name in formats.CHANNELS:
        form = PIXEL_FORMATS[name]
        assert form.order == name and [samples.start for samples in form.samples] == list(range(len(name)))
        assert {samples.step for samples in form.samples} == {len(name)}


@pytest.mark.parametrize(
    ("name", "stacked", "steps"),
    [
        ("NV12", Fraction(3, 2), (2, 2)),
        ("I420", Fraction(3, 2), (2, 2)),
        ("P010", Fraction(3, 2), (2, 2)),
        ("NV16", 2, (2, 1)),
        ("I422", 2, (2, 1)),
        ("NV24", 3, (1, 1)),
        ("I444", 3, (1, 1)),
        ("YUYV", 1, (2, 1)),
        ("BGR", 1, (1, 1)),
        ("RGGB10P", 1, (1, 1)),
    ],
)
def test_rows_of_the_packed_array_and_pixels_that_share_a_sample(name: str, stacked: Any, steps: Any) -> None:
    assert PIXEL_FORMATS[name].stacked == stacked and PIXEL_FORMATS[name].steps == steps


def test_tiles_are_layouts_of_the_library() -> None:
    """Tag and storage shape; the place of a byte is the library's own offset."""
    for name, tiles in formats.TILES.items():
        for plane, (tile_w, tile_h) in zip(PIXEL_FORMATS[name].planes, tiles):
            assert plane.layout == nl.Layout(f"HW{tile_h}h{tile_w}w")
            shape = (tile_h * 2 + 1, tile_w * 3)
            index = PIXEL_FORMATS[name].planes.index(plane)
            for y, x in ((0, 0), (1, 2), (tile_h, tile_w), (2 * tile_h, 3 * tile_w - 1)):
                assert plane.layout.offset(shape, y, x) == formats.in_plane(name, index, 3 * tile_w, x, y)


def test_unknown_and_refused_names() -> None:
    assert set(REFUSED) == {"NV12_64Z32"}
    with pytest.raises(
        nl.NpuLayoutError, match=r"^source: NV12_64Z32 is refused: .* Z-order, .* ask the driver for NV12"
    ):
        pixel_format("NV12_64Z32", "source")
    for name in ("nv12", "", None, 3, ["NV12"]):
        with pytest.raises(nl.NpuLayoutError, match=r"^format: expected one of BGR, RGB, .*, NV12_8L128, MJPEG, got "):
            pixel_format(name)
