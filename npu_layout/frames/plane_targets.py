"""Resize planes of Y, U and V, without conversion to colours, for accelerators that read such pictures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..buffers import TensorSpec
from ..layouts import overlap
from .color_matrices import color_of, to_yuv_of
from .fitting import Run
from .frame_forms import arrays_of, form_of, memories_of, places_of
from .frame_parts import PLANES
from .frame_spec import FrameSpec
from .geometry import Geometry, Pair, Quad
from .kept import BoundedDict
from .pictures import FramePlanes, byte_rows, untiled
from .pixel_formats import PIXEL_FORMATS, PixelFormat

_BAND = 1 << 14  # bytes of a band of rows, at most, of which each thread has some


class SamplePlace(NamedTuple):
    """Where a component's samples are: of a part of a frame, and in a plane of the target."""

    samples: kernels.ComponentSamples  #: in the frame
    box: Quad  #: x0, y0, x1, y1 of the part, in the frame's pixels
    resized_wh: Pair  #: the picture in the target, in pixels
    left_top: Pair
    every: Pair  #: pixels of the target across and down that share a sample
    border: int  #: around the picture

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


class Step(NamedTuple):
    """A compiled pass from planes of the frame to one of the target, border included."""

    fit: Any
    offset: int  #: of the target's plane
    parts: tuple[tuple[int, slice, slice], ...]  #: planes of the frame, and the rows and bytes of them that are read

    def of(self, places: Sequence[tuple[int, int, int]]) -> tuple[Any, ...]:
        """Return the step for planes at these places: the array of each, the byte where it begins, and its pitch."""
        found = []
        for plane, rows, columns in self.parts:
            array, begin, pitch = places[plane]
            found.append((array, begin + rows.start * pitch + columns.start, pitch))
        return self.fit, self.offset, tuple(found)


class PlaneResizer:
    """What writes frames of Y, U and V to a target of Y, U and V with the same matrix and range.

    Each component is resized as an image of one channel. A sample of U and V is the picture's if the top left one of
    the pixels that share it is, and is taken in the middle of these pixels. border: Y, U and V around the picture.
    """

    def __init__(self, spec: FrameSpec, interpolation: str, border: tuple[int, ...]) -> None:
        self._spec, self._interpolation, self._border = spec, interpolation, border
        self._form, self._color = PIXEL_FORMATS[spec.format], color_of(spec.matrix, spec.range)
        rows = (plane.row_bytes(spec.size_wh[0]) * plane.rows(spec.size_wh[1]) for plane in self._form.planes)
        self._has_gaps = spec.size != sum(rows)
        self.known: BoundedDict[Any, tuple[Run, Geometry]] = BoundedDict()  # of the forms of whole frames

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "known": BoundedDict()}

    def write(self, frame: FramePlanes, geometry: Geometry, buffer: np.ndarray, whole: Any = None) -> bool:
        """Write the buffer, zeros in its gaps; False if the frame has other colours: then nothing was written.

        whole: the frame as it was given, if all of it is used: others of its form need no reading.
        """
        largest = max(*frame.size_wh, *geometry.input_wh)
        if frame.format.kind != "yuv" or frame.color != self._color or largest > kernels.SIDE:
            return False
        frame = untiled(frame)
        groups = self._groups(frame.format, geometry)
        steps = self._steps(groups, kernels.active())
        if self._has_gaps:
            buffer[...] = 0
        rows = tuple(map(byte_rows, frame.planes))
        places = [(k, 0, plane.strides[0]) for k, plane in enumerate(rows)]
        if steps and kernels.run_fits(tuple([step.of(places) for step in steps]), buffer, rows):
            form = form_of(whole)
            run = None if form is None else self._run_of(whole, frame, steps)
            if run is not None:
                self.known.keep(form, (run, geometry))
            return True
        for plane, group in zip(self._spec.planes(buffer), groups):
            self._write_plane(frame, group, plane.reshape(*plane.shape[:2], -1))
        return True

    def _groups(self, form: PixelFormat, geometry: Geometry) -> tuple[tuple[SamplePlace, ...], ...]:
        """Return where the samples of each plane of the target are, in the order of its bytes."""
        made = []
        for index in range(len(self._form.planes)):
            own = [(k, samples) for k, samples in enumerate(self._form.samples) if samples.plane == index]
            own.sort(key=lambda one: one[1].start)
            places = [
                SamplePlace(
                    form.samples[k],
                    geometry.crop_xyxy,
                    geometry.resized_wh,
                    geometry.pad_ltrb[:2],
                    (samples.every_x, samples.every_y),
                    self._border[k],
                )
                for k, samples in own
            ]
            made.append(tuple(places))
        return tuple(made)

    def _steps(self, groups: tuple[tuple[SamplePlace, ...], ...], backend: str) -> list[Step]:
        """Return the compiled pass of each plane; none if there is one without it."""
        made = []
        (width, height), spec = self._spec.size_wh, self._spec
        for form, places, pitch, offset in zip(self._form.planes, groups, spec.strides, spec.offsets):
            canvas_wh = form.row_bytes(width) // len(places), form.rows(height)
            fit = _fit_of(places, self._interpolation, canvas_wh, pitch, backend)
            if fit is None:
                return []
            made.append(Step(fit, offset, _parts(places)))
        return made

    def compiled(self, given: Any, frame: FramePlanes, geometry: Geometry, backend: str) -> Run | None:
        """Return ``run(buffer, frame)`` by one kind of kernels for such frames; None if it is not compiled."""
        frame = untiled(frame)
        steps = self._steps(self._groups(frame.format, geometry), backend)
        return self._run_of(given, frame, steps) if steps else None

    def _run_of(self, given: Any, frame: FramePlanes, steps: list[Step]) -> Run | None:
        """Return ``run(buffer, frame)`` for frames of the form of `given`; None if a plane is a copy."""
        found = places_of(given, frame.planes)
        if found is None:
            return None
        apart, has_gaps = isinstance(memories_of(given), tuple), self._has_gaps
        places = [(k if apart else 0, *place) for k, place in enumerate(found)]
        calls = tuple([step.of(places) for step in steps])

        def run(buffer: np.ndarray, frame: Any) -> bool:
            if has_gaps:
                buffer[...] = 0
            return kernels.run_fits(calls, buffer, memories_of(frame))

        return run

    def write_known(self, given: Any, buffer: np.ndarray, new: bool) -> Geometry | None:
        """Write a whole frame of a form that was read before, and return its Geometry; None if it was not.

        new: whether nobody else has the buffer.
        """
        known = self.known.get(form_of(given))
        if known is None or not buffer.flags.carray or (not new and any(overlap(buffer, a) for a in arrays_of(given))):
            return None
        run, geometry = known
        return geometry if run(buffer, given) else None

    def _write_plane(self, frame: FramePlanes, places: tuple[SamplePlace, ...], plane: np.ndarray) -> None:
        """Write one plane of the target, (rows, columns, components)."""
        (left, top), (across, down) = places[0].first, places[0].extent
        inner = plane[top : top + down, left : left + across]
        border = np.empty(plane.shape[1:], np.uint8)
        border[...] = [place.border for place in places]
        middle = slice(top, top + down)
        for part in (plane[:top], plane[top + down :], plane[middle, :left], plane[middle, left + across :]):
            part[...] = border[: part.shape[1]]
        if inner.size:
            rows = tuple(byte_rows(frame.planes[k])[part, columns] for k, part, columns in _parts(places))
            _rows_of(places, self._interpolation, kernels.active()).write(rows, inner)


def _parts(places: tuple[SamplePlace, ...]) -> tuple[tuple[int, slice, slice], ...]:
    """Return the planes of the frame that have the samples, and which rows and bytes of them are read."""
    found = {}
    for place in places:
        (x0, y0, x1, y1), samples = place.read, place.samples
        found[samples.plane] = slice(y0, y1), slice(x0 * samples.step, x1 * samples.step)
    return tuple((plane, *part) for plane, part in found.items())


@lru_cache(maxsize=64)
def _resize_of(places: tuple[SamplePlace, ...], interpolation: str) -> kernels.PictureResize:
    """Return the resize of samples that are neighbours in the result, as packed pixels are, of one plane or of two."""
    x0, y0, x1, y1 = places[0].read
    planes = [plane for plane, _, _ in _parts(places)]
    components = tuple(
        kernels.ComponentSamples(planes.index(samples.plane), samples.start, samples.step)
        for samples in (place.samples for place in places)
    )
    axes = places[0].axes(interpolation)
    return kernels.PictureResize(components, None, (x1 - x0, y1 - y0), (axes,), True, (), len(places))


@lru_cache(maxsize=64)
def _rows_of(places: tuple[SamplePlace, ...], interpolation: str, backend: str) -> Any:
    """Return what writes such pictures."""
    return kernels.picture_rows(_resize_of(places, interpolation), backend)


@lru_cache(maxsize=64)
def _fit_of(places: tuple[SamplePlace, ...], interpolation: str, canvas_wh: Pair, pitch: int, backend: str) -> Any:
    """Return the pass to a plane of so many samples, whose rows are so many bytes apart; None if it is not compiled."""
    if 0 in places[0].extent:
        return None
    row, height = canvas_wh[0] * len(places), canvas_wh[1]
    border = bytes(place.border for place in places)
    band = max(1, min(height, _BAND // row))
    size = (height - 1) * pitch + row
    resize = _resize_of(places, interpolation)
    fit = kernels.Fit(resize, canvas_wh, places[0].first, border, False, size, band, pitch)
    return kernels.fit(fit, None, None, "uint8", backend)


def plane_resizer(target: TensorSpec | FrameSpec, interpolation: str, border: bytes) -> PlaneResizer | None:
    """Return what resizes planes for a target of Y, U and V; None of another one. border: a pixel's B, G and R."""
    if not isinstance(target, FrameSpec) or PIXEL_FORMATS[target.format].kind != "yuv":
        return None
    made = []
    for weights, offset in to_yuv_of(target.matrix, target.range).components:
        total = sum(weight * value for weight, value in zip(weights, border)) + (offset << 20) + (1 << 19)
        made.append(min(max(total >> 20, 0), 255))
    return PlaneResizer(target, interpolation, tuple(made))
