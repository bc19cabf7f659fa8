"""Planes of Y, U and V resized as they are, for accelerators that read such pictures: nothing becomes colours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..buffers import TensorSpec
from .color_matrices import color_of, to_yuv_of
from .frame_parts import PLANES, Pair
from .frame_spec import FrameSpec
from .geometry import Geometry, Quad
from .pictures import FramePlanes, byte_rows, untiled
from .pixel_formats import PIXEL_FORMATS


class Place(NamedTuple):
    """Where a component's samples are: of a part of a frame, and in a plane of the target."""

    samples: kernels.Samples  #: in the frame
    box: Quad  #: x0, y0, x1, y1 of the part, in the frame's pixels
    resized_wh: Pair  #: the picture in the target, in pixels
    left_top: Pair
    every: Pair  #: pixels of the target across and down that share a sample

    @property
    def first(self) -> Pair:
        """The column and row of the first sample that is the picture's."""
        return -(-self.left_top[0] // self.every[0]), -(-self.left_top[1] // self.every[1])

    @property
    def extent(self) -> Pair:
        """The picture's samples in a row, and its rows of them."""
        ends = (-(-(n + size) // every) for n, size, every in zip(self.left_top, self.resized_wh, self.every))
        across, down = (max(0, end - first) for end, first in zip(ends, self.first))
        return across, down

    @property
    def read(self) -> Quad:
        """The samples that are read: x0, y0, x1, y1."""
        (x0, y0, x1, y1), c = self.box, self.samples
        return x0 // c.every_x, y0 // c.every_y, -(-x1 // c.every_x), -(-y1 // c.every_y)

    def axes(self, interpolation: str) -> tuple[kernels.Axis, kernels.Axis]:
        """Return the axes of the resize of what is read."""
        along, down = (
            kernels.block_axis(
                PLANES[interpolation],
                self.box[i + 2] - self.box[i],
                self.resized_wh[i],
                (every, self.box[i] % every),
                (self.every[i], -self.left_top[i] % self.every[i]),
                i == 1,
            )
            for i, every in enumerate((self.samples.every_x, self.samples.every_y))
        )
        return along, down


class PlaneResizer:
    """What writes frames of Y, U and V to a target of Y, U and V with the same matrix and range.

    Each component is resized as an image of one channel. A sample of U and V is the picture's if the top left one of
    the pixels that share it is, and is taken in the middle of these pixels. border: Y, U and V around the picture.
    """

    def __init__(self, spec: FrameSpec, interpolation: str, border: tuple[int, ...]) -> None:
        self._spec, self._interpolation, self._border = spec, interpolation, border
        self._form, self._color = PIXEL_FORMATS[spec.format], color_of(spec.matrix, spec.range)

    def write(self, frame: FramePlanes, geometry: Geometry, buffer: np.ndarray) -> bool:
        """Write the buffer, zeros in its gaps; False if the frame has other colours: then nothing was written."""
        largest = max(*frame.size_wh, *geometry.input_wh)
        if frame.format.kind != "yuv" or frame.color != self._color or largest > kernels.SIDE:
            return False
        frame = untiled(frame)
        planes = self._spec.planes(buffer)
        if self._spec.size != sum(plane.size for plane in planes):
            buffer[...] = 0
        for index, plane in enumerate(planes):
            members = [k for k, samples in enumerate(self._form.samples) if samples.plane == index]
            members.sort(key=lambda k: self._form.samples[k].start)
            self._write_plane(frame, geometry, members, plane.reshape(*plane.shape[:2], -1))
        return True

    def _write_plane(self, frame: FramePlanes, geometry: Geometry, members: list[int], plane: np.ndarray) -> None:
        """Write one plane of the target, (rows, columns, components), whose components are `members`."""
        places = [self._place(frame, geometry, k) for k in members]
        (left, top), (across, down) = places[0].first, places[0].extent
        inner = plane[top : top + down, left : left + across]
        border = _border_row(tuple(self._border[k] for k in members), plane.shape[1])
        middle = slice(top, top + down)
        for part in (plane[:top], plane[top + down :], plane[middle, :left], plane[middle, left + across :]):
            part[...] = border[: part.shape[1]]
        if not inner.size:
            return
        sources = {place.samples[0] for place in places}
        steps = {place.samples.step for place in places}
        if len(sources) == 1 and len(steps) == 1:
            self._resize(frame, places, inner)
            return
        for channel, place in enumerate(places):
            made = np.empty((down, across, 1), np.uint8)
            self._resize(frame, [place], made)
            inner[..., channel] = made[..., 0]

    def _place(self, frame: FramePlanes, geometry: Geometry, k: int) -> Place:
        own = self._form.samples[k]
        return Place(
            frame.format.samples[k],
            geometry.crop_xyxy,
            geometry.resized_wh,
            geometry.pad_ltrb[:2],
            (own.every_x, own.every_y),
        )

    def _resize(self, frame: FramePlanes, places: list[Place], out: np.ndarray) -> None:
        x0, y0, x1, y1 = places[0].read
        samples = places[0].samples
        rows = byte_rows(frame.planes[samples.plane])[y0:y1, x0 * samples.step : x1 * samples.step]
        _rows_of(tuple(places), self._interpolation, kernels.active()).write((rows,), out)


@lru_cache(maxsize=64)
def _border_row(values: tuple[int, ...], columns: int) -> np.ndarray:
    """Return a row of the border: numpy writes rows faster than pixels."""
    row = np.empty((columns, len(values)), np.uint8)
    row[...] = values
    return row


@lru_cache(maxsize=64)
def _rows_of(places: tuple[Place, ...], interpolation: str, backend: str) -> Any:
    """Return what resizes samples: ``write((rows,), out)``, both of neighbours as packed pixels have them."""
    x0, y0, x1, y1 = places[0].read
    components = tuple(kernels.Samples(0, place.samples.start, place.samples.step) for place in places)
    axes = places[0].axes(interpolation)
    resize = kernels.PictureResize(components, None, (x1 - x0, y1 - y0), (axes,), True, (), len(places))
    return kernels.picture_rows(resize, backend)


def plane_resizer(target: TensorSpec | FrameSpec, interpolation: str, border: bytes) -> PlaneResizer | None:
    """Return what resizes planes for a target of Y, U and V; None of another one. border: a pixel's B, G and R."""
    if not isinstance(target, FrameSpec) or PIXEL_FORMATS[target.format].kind != "yuv":
        return None
    made = []
    for weights, offset in to_yuv_of(target.matrix, target.range).components:
        total = sum(weight * value for weight, value in zip(weights, border)) + (offset << 20) + (1 << 19)
        made.append(min(max(total >> 20, 0), 255))
    return PlaneResizer(target, interpolation, tuple(made))
