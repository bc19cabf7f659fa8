"""Make a network's input out of a frame in one compiled pass: what the kernels need to know of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..errors import NpuLayoutError
from .buffer_writing import Wanted, written_by
from .frame_forms import Places, memories_of, places_of
from .frame_parts import AXES, PLANES, PartPlace, axes_of_pixels, axes_of_samples, plane_parts, read_box
from .geometry import Geometry, Quad
from .kept import BoundedDict
from .pictures import FramePlanes, byte_rows, in_rows, untiled
from .pixel_formats import PixelFormat, Plane
from .sample_reading import ReadSamples, read_samples

Run = Callable[..., bool]
Copied = Callable[[int, np.ndarray], np.ndarray]


class Pass(NamedTuple):
    """A compiled pass for frames of one form and one geometry."""

    fit: Any
    parts: tuple[tuple[slice, slice], ...]  #: rows and bytes of each plane that are read

    def planes(self, planes: tuple[np.ndarray, ...], copied: Copied | None = None) -> list[np.ndarray]:
        """Return the parts of the planes that are read, as rows of bytes.

        copied: returns the memory for a copy of the i-th plane, whose rows are not in one piece.
        """
        parts = []
        for i, (plane, (rows, columns)) in enumerate(zip(planes, self.parts)):
            read = plane[rows]
            parts.append(byte_rows(read, None if copied is None or in_rows(read) else copied(i, read))[:, columns])
        return parts

    def run(self, buffer: np.ndarray, planes: tuple[np.ndarray, ...], copied: Copied | None = None) -> bool:
        """Write the buffer; False if the planes do not fit: then nothing was written."""
        return bool(self.fit.run(buffer, 0, *self.planes(planes, copied)))

    def run_in(self, buffer: np.ndarray, frame: Any, places: Places, offset: int = 0) -> bool:
        """Write the buffer from a byte on, of a frame whose planes are at `places` in its memory; as `run` else."""
        return bool(self.fit.run_in(buffer, offset, memories_of(frame), self._at(places)))

    def _at(self, places: Places) -> Places:
        """Return where the parts that are read begin, of planes at these places."""
        return tuple(
            (begin + rows.start * pitch + columns.start, pitch)
            for (begin, pitch), (rows, columns) in zip(places, self.parts)
        )

    def within(self, given: Any, planes: tuple[np.ndarray, ...]) -> Run | None:
        """Return ``run(buffer, frame, offset=0)`` for frames of the form of `given`; None if a plane is a copy.

        offset: the byte of the buffer at which the pass begins.
        """
        places = places_of(given, planes)
        if places is None:
            return None
        at, run_in = self._at(places), self.fit.run_in
        if isinstance(memories_of(given), tuple):
            return lambda buffer, frame, offset=0: run_in(buffer, offset, memories_of(frame), at)
        return lambda buffer, frame, offset=0: run_in(buffer, offset, frame, at)


def pass_of(
    wanted: Wanted,
    frame: FramePlanes,
    geometry: Geometry,
    backend: str | None = None,
    kept: BoundedDict[Any, Any] | None = None,
) -> Pass | None:
    """Return the pass for frames like this one; or None.

    backend: other kernels than the active ones. kept: where the fits of `wanted` are kept: parts at many places of a
    frame have the same.
    """
    reading = read_samples(frame, wanted.order)
    if reading is None or not _within(frame.size_wh, geometry.input_wh):
        return None
    planes, read = _planes_read(reading, frame, geometry)
    place = PartPlace.of(geometry.crop_xyxy, read)
    key = frame.format, frame.color, place, geometry.resized_wh, geometry.pad_ltrb
    made = ... if kept is None else kept.get(key, ...)
    if made is ...:
        by_planes = frame.format.kind == "yuv" and not wanted.exact
        result_wh = geometry.resized_wh
        resize = _resize(reading, frame.format, place, result_wh, wanted.interpolation, wanted.order, by_planes)
        made = None if resize is None else _fit(wanted, resize, geometry, backend)
        if kept is not None:
            kept.keep(key, made)
    return None if made is None else Pass(made, plane_parts(planes, read))


def resized_planes(frame: FramePlanes, geometry: Geometry, order: str, interpolation: str) -> np.ndarray:
    """Return the part of a frame of Y, U and V, resized, then converted: (H, W, channels in `order`)."""
    if not _within(frame.size_wh, geometry.input_wh):
        side = max(*frame.size_wh, *geometry.input_wh)
        raise NpuLayoutError(f"frame: yuv='planes' resizes up to {kernels.SIDE} pixels a side, got {side}")
    frame = untiled(frame)
    reading = read_samples(frame, order)
    if reading is None:
        raise TypeError("expected a format of Y, U and V")
    planes, read = _planes_read(reading, frame, geometry)
    place, result_wh = PartPlace.of(geometry.crop_xyxy, read), geometry.resized_wh
    resize = _resize(reading, frame.format, place, result_wh, interpolation, order, True)
    assert resize is not None, "every interpolation of PLANES has axes"
    out = np.empty((resize.depth, *result_wh[::-1]), np.uint8)
    rows = tuple(byte_rows(plane)[part] for plane, part in zip(frame.planes, plane_parts(planes, read)))
    kernels.picture_rows(resize).write(rows, out)
    return np.moveaxis(out, 0, -1)


def _planes_read(reading: ReadSamples, frame: FramePlanes, geometry: Geometry) -> tuple[Sequence[Plane], Quad]:
    """Return the planes that are read, and x0, y0, x1, y1 of what is read of them for the part that is used."""
    planes = frame.format.planes[: max(c.plane for c in reading.components) + 1]
    return planes, read_box(planes, frame.size_wh, geometry.crop_xyxy, reading.margin)


def _resize(
    reading: ReadSamples,
    form: PixelFormat,
    place: PartPlace,
    result_wh: tuple[int, int],
    interpolation: str,
    order: str,
    by_planes: bool,
) -> kernels.PictureResize | None:
    """Return the resize of a part, None if the kernels have none. by_planes: Y, U and V are resized, each by itself."""
    axes: list[tuple[kernels.Axis, kernels.Axis]] = []
    if by_planes:
        axes += [axes_of_samples(PLANES[interpolation], place, result_wh, c) for c in reading.components]
    else:
        same = (place.box[2] - place.box[0], place.box[3] - place.box[1]) == result_wh
        axes_of = kernels.linear_axis if same else AXES.get(interpolation)
        pair = None if axes_of is None else axes_of_pixels(axes_of, place, result_wh)
        converts = reading.color is not None or reading.source is not None
        if pair is None or (converts and pair[0].box and not (pair[0].mean and pair[1].mean)):
            return None
        axes.append(pair)
    return kernels.PictureResize(
        reading.components,
        reading.color,
        place.size_wh,
        tuple(axes),
        not by_planes,
        reading.places,
        1 if order == "GRAY" else len(order),
        reading.source,
        tuple(plane.tile for plane in form.planes) if form.is_tiled else (),
    )


def _within(*sizes: tuple[int, int]) -> bool:
    """Return whether the compiled kernels have sizes like these; OpenCV resizes larger ones."""
    return max(map(max, sizes)) <= kernels.SIDE


@lru_cache(maxsize=64)
def rows_of(interpolation: str, channels: int, size_wh: tuple[int, int], result_wh: tuple[int, int]) -> Any:
    """Return what resizes pixels: ``write((pixels,), out)``, both of so many channels; None if OpenCV should.

    Without compiled kernels that is where it computes the same, as its wheels for x86 do and those for Arm do not.
    """
    axes_of = AXES.get(interpolation) if _within(size_wh, result_wh) else None
    along, down = (axes_of(n, m, i == 1) if axes_of else None for i, (n, m) in enumerate(zip(size_wh, result_wh)))
    if along is None or down is None:
        return None
    if kernels.active() == "numpy" and (
        interpolation == "area" or (interpolation == "linear" and _opencv_computes_it())
    ):
        return None
    components = tuple(kernels.ComponentSamples(0, c, channels) for c in range(channels))
    return kernels.picture_rows(kernels.PictureResize(components, None, size_wh, ((along, down),), True, (), channels))


@lru_cache(maxsize=1)
def _opencv_computes_it() -> bool:
    """Return whether this OpenCV resizes noise by its reference arithmetic."""
    import cv2

    noise, out = np.random.default_rng(1).integers(0, 256, (37, 53, 3), np.uint8), np.empty((23, 71, 3), np.uint8)
    axes = kernels.linear_axis(53, 71), kernels.linear_axis(37, 23, True)
    components = tuple(kernels.ComponentSamples(0, c, 3) for c in range(3))
    resize = kernels.PictureResize(components, None, (53, 37), (axes,), True, (), 3)
    kernels.picture_rows(resize, "numpy").write((noise,), out)
    return bool((cv2.resize(noise, (71, 23)) == out).all())


def _fit(wanted: Wanted, resize: kernels.PictureResize, geometry: Geometry, backend: str | None) -> Any:
    """Return the kernels' fit, or None."""
    written = written_by(wanted, resize.depth, resize.packed, geometry.input_wh, backend)
    if written is None:
        return None
    target = wanted.target
    description = kernels.Fit(
        resize,
        geometry.input_wh,
        geometry.pad_ltrb[:2],
        wanted.border,
        written.flipped,
        target.storage.size,
        written.rows,
        written.pitch,
    )
    return kernels.fit(description, *written.programs, target.element.kernel, backend)
