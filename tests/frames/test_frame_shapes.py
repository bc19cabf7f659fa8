"""Shapes of arrays by format: one array and its size are each other's inverse, and planes in any of their shapes."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.frame_shapes import packed_shape, size_of, usual_frame, views_of
from npu_layout.frames.pixel_formats import PIXEL_FORMATS
from tests.support import frame_formats as formats

FLAT = [name for name in formats.FLAT if name not in formats.TILES]
OPENCV = {  # of frames of 24 by 10 pixels
    "BGR": (10, 24, 3),
    "RGBA": (10, 24, 4),
    "GRAY": (10, 24),
    "RGB565": (10, 24),
    "NV12": (15, 24),
    "YV12": (15, 24),
    "NV16": (20, 24),
    "I444": (30, 24),
    "YUYV": (10, 24, 2),
    "P010": (15, 24),
}


@pytest.mark.parametrize("name", OPENCV)
def test_the_shapes_that_opencv_has(name: str) -> None:
    assert packed_shape(name, (24, 10)) == OPENCV[name]


@pytest.mark.parametrize("name", FLAT)
def test_an_array_has_the_size_that_has_its_shape(name: str) -> None:
    for size_wh in ((4, 2), (24, 10), (64, 48)):  # four pixels of 10 bits share a byte
        shape, dtype = packed_shape(name, size_wh), np.dtype(PIXEL_FORMATS[name].planes[0].dtype)
        assert shape is not None and size_of(name, shape) == size_wh
        assert np.prod(shape) * dtype.itemsize == nl.FrameSpec(name, size_wh).size
        usual = usual_frame(name, shape, dtype)
        assert usual == ((PIXEL_FORMATS[name], size_wh) if name in (*formats.CHANNELS, "GRAY", "GRAY16") else None)
        assert size_of(name, (*shape, 1)) is None


@pytest.mark.parametrize("name", ["NV12", "I420", "NV24", "I444"])
def test_odd_sizes_have_one_array_where_no_pixels_share_samples(name: str) -> None:
    assert (packed_shape(name, (7, 5)) is None) == (name in ("NV12", "I420"))


@pytest.mark.parametrize("name", FLAT)
def test_planes_are_views_of_what_is_given(name: str) -> None:
    """In the shape of the view, with the channels in the rows, or with an axis of one; no other."""
    spec = nl.FrameSpec(name, (24, 10))
    planes = spec.planes(formats.noise(spec.size or 0, 3))
    rows = [plane.reshape(len(plane), -1) for plane in planes]
    ones = [plane if plane.ndim == 3 else plane[..., None] for plane in planes]
    for given in (planes, rows, ones):
        views = views_of(spec, given)
        assert views is not None and all(map(np.shares_memory, views, planes))
        assert [view.shape for view in views] == [plane.shape for plane in planes]
    assert views_of(spec, [plane[1:] for plane in planes]) is None
    assert views_of(spec, [plane.astype(np.float32) for plane in planes]) is None
