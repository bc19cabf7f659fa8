"""Which samples of each pixel format are read, for channels in which order, and who is left to OpenCV."""

from __future__ import annotations

import pytest

from npu_layout.frames.color_matrices import color_of
from npu_layout.frames.pictures import FramePlanes
from npu_layout.frames.pixel_formats import PIXEL_FORMATS
from npu_layout.frames.sample_reading import read_samples


def frame(name: str, size_wh: tuple[int, int] = (8, 6)) -> FramePlanes:
    return FramePlanes(PIXEL_FORMATS[name], size_wh, (), color_of("bt601", "limited"))


@pytest.mark.parametrize("order", ["RGB", "BGR"])
def test_each_channel_is_read_where_the_format_has_it(order: str) -> None:
    pixel = {"BGR": "BGR", "RGB": "RGB", "BGRA": "BGRA", "RGBX": "RGBX"}
    for name, stored in pixel.items():
        read = read_samples(frame(name), order)
        assert read is not None and read.color is read.source is None
        assert "".join(stored[sample.start] for sample in read.components) == order
        assert {sample.step for sample in read.components} == {len(stored)}


@pytest.mark.parametrize("name", ["NV12", "I420", "YUYV", "RGB565", "RGGB", "GRBG12P"])
def test_colours_go_to_the_places_of_the_order(name: str) -> None:
    for order, places in (("RGB", (0, 1, 2)), ("BGR", (2, 1, 0))):
        read = read_samples(frame(name), order)
        assert read is not None and read.places == places and len(read.components) == 3


def test_gray_is_read_of_one_sample_or_left_to_opencv() -> None:
    for name, components in (("NV12", 1), ("GRAY", 1), ("BGR", 1)):
        read = read_samples(frame(name), "GRAY")
        assert read is not None and len(read.components) == components
    assert [read_samples(frame(name), "GRAY") for name in ("RGB565", "RGGB", "MJPEG")] == [None] * 3


def test_mosaics_need_three_pixels_and_their_neighbours() -> None:
    read = read_samples(frame("RGGB"), "RGB")
    assert read is not None and read.margin == 1
    assert read_samples(frame("RGGB", (2, 6)), "RGB") is None and read_samples(frame("MJPEG"), "RGB") is None
    others = [read_samples(frame(name), "RGB") for name in ("NV12", "BGR", "RGB565")]
    assert [other.margin for other in others if other is not None] == [0, 0, 0]
