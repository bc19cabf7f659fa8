"""Say which shapes the arrays of a pixel format have: one array of all planes, and an array for each plane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .frame_spec import FrameSpec
from .pixel_formats import PIXEL_FORMATS, PixelFormat, pixel_format

Shape = tuple[int, ...]


@lru_cache(maxsize=256)
def packed_shape(name: str, size_wh: tuple[int, int]) -> Shape | None:
    """Return the shape of the planes in one array; None if an odd size has none."""
    form, (width, height) = PIXEL_FORMATS[name], size_wh
    if len(form.planes) == 1:
        return form.planes[0].view_shape(size_wh)
    if width % form.steps[0] or height % form.steps[1]:
        return None
    return (int(form.stacked * height), form.planes[0].view_shape(size_wh)[1])


@lru_cache(maxsize=256)
def size_of(name: str, shape: Shape) -> tuple[int, int] | None:
    """Return the size of a frame from the shape of its one array; None if no frame has it."""
    form = PIXEL_FORMATS[name]
    plane = form.planes[0]
    if len(shape) != 2 + bool(plane.channels) or 0 in shape:
        return None
    height = shape[0] / form.stacked
    width = shape[1] * plane.every_x // plane.nbytes if form.high_bytes else shape[1]
    return (width, int(height)) if height.denominator == 1 else None


@lru_cache(maxsize=256)
def usual_frame(name: str, shape: Shape, dtype: np.dtype[Any]) -> tuple[PixelFormat, tuple[int, int]] | None:
    """Return format and size of an array that has a pixel's channels in its last axis, or none; else None."""
    form = pixel_format(name)
    if form.kind != "channels" or dtype != np.dtype(form.planes[0].dtype) or 0 in shape:
        return None
    channels = form.planes[0].channels
    fits = len(shape) == 3 and shape[2] == channels if channels else len(shape) == 2
    return (form, (shape[1], shape[0])) if fits else None


@lru_cache(maxsize=256)
def dense(name: str, size_wh: tuple[int, int]) -> FrameSpec:
    """Return the spec of a frame whose rows follow each other without a gap."""
    return FrameSpec(name, size_wh)


def has_rows_alike(form: PixelFormat) -> bool:
    """Return whether rows of all planes have the same bytes, so that columns of one array are columns of each plane."""
    return all(plane.bytes_per_pixel == form.planes[0].bytes_per_pixel for plane in form.planes)


def views_of(spec: FrameSpec, planes: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """Return the planes in the shapes of views; None if one of them has another shape or dtype."""
    views = []
    for form, plane in zip(pixel_format(spec.format).planes, planes):
        shape = form.view_shape(spec.size_wh)
        if form.tile is not None:
            shape = form.layout.storage_shape((form.rows(spec.size_wh[1]), form.row_bytes(spec.size_wh[0])))
        flat = (shape[0], shape[1] * shape[2]) if len(shape) == 3 else shape
        single = (*shape, 1) if len(shape) == 2 else shape
        if plane.dtype != np.dtype(form.dtype) or plane.shape not in (shape, flat, single):
            return None
        views.append(plane.reshape(shape) if plane.shape != shape else plane)
    return views
