"""The table of formats against definitions written down elsewhere: each sample's byte, rows, tiles, packed shapes."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.pixel_formats import ELSEWHERE, PIXEL_FORMATS, REFUSED, pixel_format
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


def named(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.partition(" (")[0]) if word in PIXEL_FORMATS]


def test_names_of_other_programs_lead_to_formats_that_exist() -> None:
    assert all(named(text) and re.split("[ ,]", text)[0] in PIXEL_FORMATS for text in ELSEWHERE.values())
    assert not set(ELSEWHERE) & set(PIXEL_FORMATS) and all(name == name.upper() for name in ELSEWHERE)
    for name, same in (("GREY", "GRAY"), ("YU12", "I420"), ("Y16 ", "GRAY16"), ("yuy2", "YUYV"), ("nv12", "NV12")):
        with pytest.raises(nl.NpuLayoutError, match=rf"got '{name}'\. Is it {same}\?$"):
            pixel_format(name)


def test_names_that_are_another_memory_elsewhere_name_both() -> None:
    """OpenCV's own constants say what it means; of the others, what FFmpeg's pixfmt.h and V4L2's videodev2.h say."""
    assert cv2.COLOR_YUV420sp2BGR == cv2.COLOR_YUV2BGR_NV21 and named(ELSEWHERE["YUV420SP"]) == ["NV12", "NV21"]
    assert cv2.COLOR_YUV420p2BGR == cv2.COLOR_YUV2BGR_YV12 and named(ELSEWHERE["YUV420P"]) == ["I420", "YV12"]
    red = cv2.cvtColor(np.uint8([[[0, 0, 255]]]), cv2.COLOR_BGR2BGR565).view("<u2")[0, 0, 0]
    assert red == 0b11111_000000_00000  # the high bits, as the library's RGB565; FFmpeg's BGR565 has blue there
    for name, says in (
        ("YUV420SP", r"Is it NV12, or NV21, as OpenCV and Android's Camera mean it\?$"),
        ("yuv420p", r"Is it I420, or YV12, as OpenCV and Android's Camera mean it\?$"),
        ("yuvj420p", r"Is it I420 with range='full'\?$"),
        ("BGR565", "Is it RGB565, as OpenCV means it .FFmpeg's and DRM's have blue in the high bits"),
        ("RGBP", "Is it RGB565, as V4L2 means it .GStreamer's has three planes"),
        ("Y444", "Is it I444, as GStreamer means it .V4L2's has 16 bits a pixel"),
        ("rgb8", "Is it RGB, as GenICam and ROS mean it .FFmpeg's has 8 bits a pixel"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            pixel_format(name)
    with pytest.raises(nl.NpuLayoutError) as refused:
        pixel_format("BGRA32")  # V4L2's has alpha first
    assert "Is it BGRA, " not in str(refused.value)


def test_the_names_in_the_documentation_are_known() -> None:
    text = (Path(__file__).parents[2] / "docs" / "frames.md").read_text(encoding="utf-8")
    listed = text[text.index("V4L2 and DRM names of the same memory:") :].partition("\n\n")[0]
    pairs = re.findall(r'(?:: |, |\. )"?(\w+) ?"?(?: is)?\s+(\w+)', listed)
    known = [(name, same) for name, same in pairs if same in PIXEL_FORMATS]
    assert len(known) >= 14
    for name, same in known:
        assert named(ELSEWHERE[name.upper()])[0] == same
