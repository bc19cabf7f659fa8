"""Make a network's input out of a frame in one compiled pass: what the kernels need to know of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import COLOR_ORDERS, Affine, Layout, Storage, affine_copy, plan_move
from .frame_forms import Places, memories_of, places_of
from .frame_parts import AXES, PLANES, Box, Place, axes_of_pixels, axes_of_samples, plane_parts, read_box
from .geometry import Geometry
from .pictures import FramePlanes, byte_rows, in_rows, untiled
from .pixel_formats import PixelFormat, Plane

Run = Callable[..., bool]
Copied = Callable[[int, np.ndarray], np.ndarray]
_KEPT = 64  # fits
_BAND = 1 << 14  # bytes of a band of rows, at most, so that it stays in the first cache


class Reading(NamedTuple):
    """The components that are read, their colours, where R, G and B go, and what they are made of first."""

    components: tuple[kernels.Samples, ...]
    color: kernels.Color | None = None
    places: tuple[int, ...] = ()
    source: kernels.RowSource | None = None
    margin: int = 0  #: pixels around a part that its own pixels are made of


class Wanted(NamedTuple):
    """What a Preprocessor writes: its target, the arithmetic, and the channels and the border of its canvas."""

    target: TensorSpec
    affine: Affine | None
    order: str  #: channels as they are written
    border: bytes
    interpolation: str
    exact: bool  #: pictures of Y, U and V are converted, then resized
    alongside: int = 0  #: bytes of the buffers of a batch's other frames


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
    kept: dict[Any, Any] | None = None,
) -> Pass | None:
    """Return the pass for frames like this one; or None.

    backend: other kernels than the active ones. kept: where the fits of `wanted` are kept: parts at many places of a
    frame have the same.
    """
    reading = _READINGS[frame.format.kind](frame, wanted.order)
    if reading is None or not _within(frame.size_wh, geometry.input_wh):
        return None
    planes, read = _planes_read(reading, frame, geometry)
    place = Place.of(geometry.crop_xyxy, read)
    key = frame.format, frame.color, place, geometry.resized_wh, geometry.pad_ltrb
    made = ... if kept is None else kept.get(key, ...)
    if made is ...:
        by_planes = frame.format.kind == "yuv" and not wanted.exact
        result_wh = geometry.resized_wh
        resize = _resize(reading, frame.format, place, result_wh, wanted.interpolation, wanted.order, by_planes)
        made = None if resize is None else _fit(wanted, resize, geometry, backend)
    if kept is not None:
        if len(kept) >= _KEPT:
            kept.clear()
        kept[key] = made
    return None if made is None else Pass(made, plane_parts(planes, read))


def resized_planes(frame: FramePlanes, geometry: Geometry, order: str, interpolation: str) -> np.ndarray:
    """Return the part of a frame of Y, U and V, resized, then converted: (H, W, channels in `order`)."""
    if not _within(frame.size_wh, geometry.input_wh):
        side = max(*frame.size_wh, *geometry.input_wh)
        raise NpuLayoutError(f"frame: yuv='planes' resizes up to {kernels.SIDE} pixels a side, got {side}")
    frame = untiled(frame)
    reading = _READINGS[frame.format.kind](frame, order)
    if reading is None:
        raise TypeError("expected a format of Y, U and V")
    planes, read = _planes_read(reading, frame, geometry)
    place, result_wh = Place.of(geometry.crop_xyxy, read), geometry.resized_wh
    resize = _resize(reading, frame.format, place, result_wh, interpolation, order, True)
    assert resize is not None, "every interpolation of PLANES has axes"
    out = np.empty((resize.depth, *result_wh[::-1]), np.uint8)
    rows = tuple(byte_rows(plane)[part] for plane, part in zip(frame.planes, plane_parts(planes, read)))
    kernels.picture_rows(resize).write(rows, out)
    return np.moveaxis(out, 0, -1)


def _planes_read(reading: Reading, frame: FramePlanes, geometry: Geometry) -> tuple[Sequence[Plane], Box]:
    """Return the planes that are read, and x0, y0, x1, y1 of what is read of them for the part that is used."""
    planes = frame.format.planes[: max(c.plane for c in reading.components) + 1]
    return planes, read_box(planes, frame.size_wh, geometry.crop_xyxy, reading.margin)


def _resize(
    reading: Reading,
    form: PixelFormat,
    place: Place,
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
    components = tuple(kernels.Samples(0, c, channels) for c in range(channels))
    return kernels.picture_rows(kernels.PictureResize(components, None, size_wh, ((along, down),), True, (), channels))


@lru_cache(maxsize=1)
def _opencv_computes_it() -> bool:
    """Return whether this OpenCV resizes noise by its reference arithmetic."""
    import cv2

    noise, out = np.random.default_rng(1).integers(0, 256, (37, 53, 3), np.uint8), np.empty((23, 71, 3), np.uint8)
    axes = kernels.linear_axis(53, 71), kernels.linear_axis(37, 23, True)
    components = tuple(kernels.Samples(0, c, 3) for c in range(3))
    resize = kernels.PictureResize(components, None, (53, 37), (axes,), True, (), 3)
    kernels.picture_rows(resize, "numpy").write((noise,), out)
    return bool((cv2.resize(noise, (71, 23)) == out).all())


def _yuv(frame: FramePlanes, order: str) -> Reading:
    samples, color = frame.format.samples, kernels.Color(*frame.color)
    if order == "GRAY":
        return Reading(samples[:1], color, (0,))
    return Reading(samples, color, tuple(order.index(c) for c in "RGB"))


def _channels(frame: FramePlanes, order: str) -> Reading | None:
    form = frame.format
    if form.order == order == "GRAY":
        return Reading(form.samples)
    if form.order == "GRAY":
        return Reading(form.samples * len(order)) if order in COLOR_ORDERS else None
    if order == "GRAY":
        blue = form.samples[form.order.index("B")]
        return Reading((blue,), places=(0,), source=kernels.RowSource("gray"))
    return Reading(tuple(form.samples[form.order.index(c)] for c in order)) if set(order) <= set(form.order) else None


def _words(frame: FramePlanes, order: str) -> Reading | None:
    if order == "GRAY":
        return None
    return Reading(frame.format.samples * 3, None, tuple(order.index(c) for c in "RGB"), kernels.RowSource("rgb565"))


def _mosaic(frame: FramePlanes, order: str) -> Reading | None:
    if order == "GRAY" or min(frame.size_wh) < 3:
        return None
    high, (plane,) = frame.format.high_bytes, frame.format.planes
    source = kernels.RowSource("mosaic", frame.format.red_xy, (high, plane.nbytes) if high else (1, 1))
    return Reading(frame.format.samples * 3, None, tuple(order.index(c) for c in "RGB"), source, margin=1)


#: What kernels read of a kind of formats, by the order of channels that is made; None if they cannot.
_READINGS: dict[str, Callable[[FramePlanes, str], Reading | None]] = {
    "yuv": _yuv,
    "channels": _channels,
    "packed": _words,
    "mosaic": _mosaic,
    "coded": lambda frame, order: None,
}


class Written(NamedTuple):
    """How canvases of one kind become the buffer: in bands of rows, by programs."""

    flipped: bool  #: pixels are stored as int8 that are 128 less
    rows: int  #: of a band
    pitch: int  #: elements from one row of the buffer to the next; 0: it is not written in bands
    programs: tuple[Any, Any]  #: of a band, and of the rows behind the last one; None: the canvas is the result


def _fit(wanted: Wanted, resize: kernels.PictureResize, geometry: Geometry, backend: str | None) -> Any:
    """Return the kernels' fit, or None."""
    written = _written(wanted, resize.depth, resize.packed, geometry.input_wh, backend)
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


@lru_cache(maxsize=64)
def _written(
    wanted: Wanted, channels: int, packed: bool, input_wh: tuple[int, int], backend: str | None
) -> Written | None:
    """Return how canvases of so many channels become the buffer, whichever picture is in them; None: they do not."""
    storage = wanted.target.storage
    (width, height), element = input_wh, wanted.target.element.kernel
    pitch = _row_pitch(storage)
    if not pitch and "N" in storage.layout.axes and storage.extent("N") > 1:
        return None
    band = max(1, min(height, _BAND // (width * channels))) if pitch else height
    flipped = _only_flips(wanted.affine, element)
    canvas, affine = ("int8", None) if flipped else ("uint8", wanted.affine)
    fits_a_row = (pitch or 0) >= width * channels  # a single row may have any pitch
    direct = fits_a_row and packed and affine is None and element == canvas and _has_rows_of_pixels(storage)

    def program(rows: int) -> Any:
        if direct or not rows:
            return None
        target = _rows_of(storage, rows) if pitch else storage
        plan = plan_move(_canvas(target, width, rows, channels, packed), target, canvas, element, affine, not pitch)
        return plan.program(backend, wanted.alongside)

    return Written(flipped, band, pitch or 0, (program(band), program(height % band if pitch else 0)))


@lru_cache(maxsize=64)
def _only_flips(affine: Affine | None, element: str) -> bool:
    """Return whether every pixel is stored as int8 that is 128 less, whatever its channel."""
    if affine is None or element != "int8" or any(v is not None and len(set(v)) > 1 for v in affine.values):
        return False
    pixels, stored = np.arange(256, dtype=np.uint8), np.empty(256, np.int8)
    single = affine._replace(**{k: v[:1] for k, v in zip(affine._fields[1:5], affine.values) if v is not None})
    affine_copy(Layout("W"), pixels, stored, "uint8", "int8", single)
    return bool((stored.view(np.uint8) == pixels ^ 0x80).all())


def single(storage: Storage, letter: str) -> int | None:
    """Return the stride of an axis that is one dimension, without padding; None if it is not."""
    chain = storage.chain(letter)
    whole = len(chain) == 1 and chain[0].extent == storage.extent(letter) and chain[0].stride > 0
    return chain[0].stride if whole else None


def _row_pitch(storage: Storage) -> int | None:
    """Return the elements from one row of pixels to the next, if rows can be written band by band; else None."""
    axes = storage.layout.axes
    if not storage.is_dense or ("N" in axes and (storage.extent("N") > 1 or single(storage, "N") is None)):
        return None
    return single(storage, "H")


def _has_rows_of_pixels(storage: Storage) -> bool:
    return single(storage, "C") == 1 and single(storage, "W") == storage.extent("C")


def _rows_of(storage: Storage, rows: int) -> Storage:
    """Return the storage of the first rows of pixels."""
    axis = storage.layout.axes.index("H")
    dim = next(i for i, d in enumerate(storage.layout.dims) if d.axis == axis)
    shape, stored = list(storage.shape), list(storage.storage_shape)
    shape[axis] = stored[dim] = rows
    return Storage.bind(storage.layout, shape, stored, storage.strides, storage.start)


def _canvas(target: Storage, width: int, rows: int, channels: int, packed: bool) -> Storage:
    """Return the canvas of a band: rows of pixels, or planes."""
    layout = Layout("NHWC" if "N" in target.layout.axes else "HWC")
    strides = (rows * width * channels, *((width * channels, channels, 1) if packed else (width, 1, rows * width)))
    extents = {"N": 1, "H": rows, "W": width, "C": channels}
    sizes = [extents[a] for a in layout.axes]
    return Storage.bind(layout, sizes, None, strides[-len(sizes) :], 0, rows * width * channels)
