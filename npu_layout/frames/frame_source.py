"""Read frames as cameras and libraries hand them out, and refuse what does not fit the source that was declared."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from ..errors import NpuLayoutError
from ..support import foreign_array, naming, plain_array
from .camera_stacks import buffers_of, is_described
from .color_matrices import color_of
from .frame_spec import FrameSpec
from .jpeg import jpeg_end, jpeg_size
from .pictures import FramePlanes
from .pixel_formats import PIXEL_FORMATS, PixelFormat, pixel_format

Shape = tuple[int, ...]


class FrameSource(NamedTuple):
    """What a Preprocessor's frames are: a format of frames of any size, or the spec of frames of one size."""

    name: str
    spec: FrameSpec | None = None

    @classmethod
    def of(cls, given: Any) -> FrameSource:
        """Return the source of a format's name, a FrameSpec or its dict; NpuLayoutError if it is none."""
        if isinstance(given, Mapping):
            with naming("source"):
                given = FrameSpec.from_dict(given)
        if isinstance(given, FrameSpec):
            return cls(given.format, given)
        pixel_format(given, "source")
        return cls(given)

    @property
    def argument(self) -> str | dict[str, Any]:
        """The source, JSON-ready: a name, or the dict of a FrameSpec."""
        return self.name if self.spec is None else self.spec.to_dict()

    @property
    def given(self) -> str | FrameSpec:
        """The source as a user gives it."""
        return self.name if self.spec is None else self.spec

    @property
    def format(self) -> PixelFormat:
        """The row of the table of formats."""
        return PIXEL_FORMATS[self.name]

    def describe(self) -> str:
        """Return what the frames are, as messages name it."""
        return f"source {self.name if self.spec is None else self.spec.describe()}"

    def read(self, which: str, frame: Any) -> FramePlanes:
        """Return the planes of a frame, views of its memory; NpuLayoutError that calls it `which` if it does not fit.

        frame: an array in OpenCV's shape, a tuple or list of planes, memory that the spec describes, or a frame that
        describes itself (PyAV, ROS).
        """
        if type(frame) is np.ndarray and self.spec is None:  # the usual case of a hot loop
            found = usual_frame(self.name, frame.shape, frame.dtype)
            if found is not None:
                form, size_wh = found
                return FramePlanes(form, size_wh, (frame,))
        try:
            return self._read(frame)
        except NpuLayoutError as error:
            raise type(error)(f"{which}: {error}") from None

    def _read(self, frame: Any) -> FramePlanes:
        if self.format.kind == "coded":
            return self._coded(frame)
        if is_described(frame):
            return self._self_described(frame)
        if isinstance(frame, (tuple, list)) and len(frame) == 2 and isinstance(frame[0], (bool, np.bool_)):
            raise self._unfit(f"got ({frame[0]}, ...), as VideoCapture.read returns; give its second item")
        frame = [_in_place(part) for part in frame] if isinstance(frame, (tuple, list)) else _in_place(frame)
        if isinstance(frame, np.ndarray):
            return self._array(frame if type(frame) is np.ndarray else plain_array("frame", frame))
        if isinstance(frame, (tuple, list)) and all(_is_memory(part) for part in frame) and len(frame):
            return self._separate(frame)
        if frame is not None and self.spec is not None and _is_memory(frame):
            return self._of(self.spec, self.spec.planes(frame))
        if frame is None:
            raise self._unfit("got None (did the camera deliver a frame?)")
        raise self._unfit(f"got {type(frame).__name__}{_advice(frame)}")

    def _of(self, spec: FrameSpec, planes: Sequence[np.ndarray]) -> FramePlanes:
        colors = self.spec or spec
        if self.format.kind == "mosaic" and min(spec.size_wh) < 3:
            raise NpuLayoutError(f"OpenCV interpolates mosaics from 3x3 pixels on, got {spec.size_wh}")
        return FramePlanes(self.format, spec.size_wh, tuple(planes), color_of(colors.matrix, colors.range))

    def _unfit(self, reason: str, size_wh: tuple[int, int] | None = None) -> NpuLayoutError:
        return NpuLayoutError(f"expected {self._expected(size_wh)} for {self.describe()}, {reason}")

    def _expected(self, size_wh: tuple[int, int] | None = None) -> str:
        """Return in words the arrays that are accepted."""
        form, size_wh = self.format, size_wh or (self.spec.size_wh if self.spec else None)
        dtype = np.dtype(form.planes[0].dtype).name
        if form.is_tiled:
            return f"memory of tiles: bytes, or {len(form.planes)} planes as FrameSpec.planes returns them,"
        if size_wh is not None:
            shapes = " and ".join(str(plane.view_shape(size_wh)) for plane in form.planes)
            packed = self.packed_shape(size_wh)
            stacked = f"{packed}, or planes " if packed and len(form.planes) > 1 else ""
            return f"a {dtype} array {stacked}{shapes}"
        words = [_words(plane.every_x, plane.every_y, plane.channels) for plane in form.planes]
        if len(words) == 1:
            columns = "bytes of a row" if form.high_bytes else "width"
            channels = f", {form.planes[0].channels}" if form.planes[0].channels else ""
            return f"a {dtype} array (height, {columns}{channels})"
        return f"a {dtype} array (height * {form.stacked}, width), or planes {' and '.join(words)},"

    def packed_shape(self, size_wh: tuple[int, int]) -> Shape | None:
        """Return the shape of the planes in one array; None if an odd size has none."""
        return _packed_shape(self.name, size_wh)

    def _array(self, array: np.ndarray) -> FramePlanes:
        got = f"got {array.dtype} of shape {array.shape}"
        is_row = array.ndim == 2 and len(array) == 1 and array.dtype == np.uint8  # what OpenCV makes of raw bytes
        if self.spec is None:
            if self.format.is_tiled:
                raise self._unfit(f"{got}; tiles need source=FrameSpec(format, size_wh)")
            if is_row or array.ndim == 1:
                got += f"; flat bytes need source=FrameSpec({self.name!r}, (width, height))"
            return self._pixels(array, got)
        if is_row and self.spec.size_wh[1] > 1 and array.size == self.spec.size:
            array = array[0]
        if self._is_memory_with_pitch(array):
            array = array.reshape(-1).view(np.uint8)
        if self.format.is_tiled or array.ndim == 1:
            return self._of(self.spec, self.spec.planes(array))
        return self._pixels(array, got)

    def _pixels(self, array: np.ndarray, got: str) -> FramePlanes:
        """Return the frame of an array with an axis for rows and one for columns; `got` begins what messages say."""
        first, image = self.format.planes[0], self._image(array)
        size_wh = self.spec.size_wh if self.spec else _size_of(self.name, image.shape)
        fits = size_wh is not None and image.shape == self.packed_shape(size_wh)
        if size_wh is None or not fits or image.dtype != np.dtype(first.dtype):
            raise self._unfit(got + self._hint(image))
        spec = self.spec or _dense(self.name, size_wh)
        if self.spec is not None and not spec.is_dense and image.strides[0] != spec.strides[0]:
            raise self._unfit(
                f"{got} whose rows begin every {image.strides[0]} bytes; leave out strides= for arrays, which have "
                f"their own, or give the memory with rows of {spec.strides[0]} bytes"
            )
        return self._of(spec, [image] if len(self.format.planes) == 1 else self._split(spec, image))

    def _image(self, array: np.ndarray) -> np.ndarray:
        """Return an array without an axis of one channel, and OpenCV's two bytes for a pixel as one element."""
        plane = self.format.planes[0]
        if array.ndim != 3 or plane.channels:
            return array
        if self.format.kind == "packed" and array.dtype == np.uint8 and array.shape[2] == 2:
            array = np.ascontiguousarray(array).view(plane.dtype)
        return array[..., 0] if array.shape[2] == 1 else array

    def _is_memory_with_pitch(self, array: np.ndarray) -> bool:
        """Return whether an array is the spec's memory as rows of its first plane's pitch; False if that is no news.

        Such as picamera2's arrays of I420, in whose last rows two of U or V are one, and of YUYV (H, pitch / 2, 2).
        """
        spec = self.spec
        if spec is None or array.ndim < 2 or array.nbytes != spec.size or not array.flags.c_contiguous:
            return False
        plain = _dense(self.name, spec.size_wh)
        if (spec.strides, spec.offsets, spec.size) == (plain.strides, plain.offsets, plain.size):
            return False
        known = array.dtype in (np.uint8, np.dtype(self.format.planes[0].dtype))
        return known and array.nbytes == len(array) * spec.strides[0]

    def _hint(self, image: np.ndarray) -> str:
        """Return what else the array may be: rows with a pitch, or a height that has no such array."""
        form = self.format
        size_wh = self.spec.size_wh if self.spec else None
        if size_wh is None:
            steps = form.steps
            if image.dtype != np.dtype(form.planes[0].dtype):
                return ""
            if len(form.planes) > 1 and image.ndim == 2 and max(steps) > 1:
                return f"; one array needs an even width{' and height' * (steps[1] > 1)}, give others as planes"
            if form.kind == "yuv" and image.ndim == 3 and image.shape[2] == 2:
                return "; two pixels share U and V, so that the width is even"
            return ""
        packed, exchanged = self.packed_shape(size_wh), (size_wh[1], size_wh[0])
        if exchanged != size_wh and image.shape == self.packed_shape(exchanged):
            return f"; size_wh is width and height: is it {exchanged}?"
        if packed and image.ndim == len(packed) and image.shape[0] == packed[0] and image.shape[1] > packed[1]:
            columns, pitch = packed[1], image.shape[1] * image.itemsize * int(np.prod(image.shape[2:]))
            if self.spec is not None and pitch == self.spec.strides[0]:
                own = f"{self.spec.describe()} has {self.spec.size}, in one piece"
                return f": {image.nbytes} bytes in rows of {pitch}; {own}"
            cut = f"frame[:, :{columns}], or the memory and " if _one_row(form) else "the memory and "
            return (
                f": {columns} pixels a row and {image.shape[1]} differ; if {pitch} is the pitch in bytes, give "
                f"{cut}FrameSpec(..., strides={pitch})"
            )
        return ""

    def _split(self, spec: FrameSpec, image: np.ndarray) -> Sequence[np.ndarray]:
        """Return the planes of several that are in one array, views."""
        form = pixel_format(spec.format)
        if _one_row(form):
            planes, at = [], 0
            for plane in form.planes:
                shape = plane.view_shape(spec.size_wh)
                planes.append(image[at : at + shape[0]].reshape(shape))
                at += shape[0]
            return planes
        if not image.flags.c_contiguous:
            raise self._unfit(
                f"got rows that begin every {image.strides[0]} bytes; U and V may have two rows in one of it, or "
                f"rows every {image.strides[0] // 2} bytes: give planes, or the memory and FrameSpec(..., strides=)"
            )
        return FrameSpec(spec.format, spec.size_wh).planes(image)

    def _separate(self, parts: Sequence[Any]) -> FramePlanes:
        form = self.format
        if not all(isinstance(part, np.ndarray) and part.ndim > 1 for part in parts):
            if self.spec is None:
                raise self._unfit("got planes of bytes; they need source=FrameSpec(format, size_wh, strides=)")
            return self._of(self.spec, self.spec.planes(parts))
        planes = [plain_array("frame", part) for part in parts]
        got = f"got planes {' and '.join(f'{p.dtype} {p.shape}' for p in planes)}"
        if len(planes) != len(form.planes):
            raise self._unfit(got)
        if form.is_tiled and self.spec is None:
            raise self._unfit(f"{got}; tiles need source=FrameSpec(format, size_wh)")
        size_wh = self.spec.size_wh if self.spec else (planes[0].shape[1], planes[0].shape[0])
        if not self.spec and form.high_bytes:
            size_wh = _size_of(self.name, planes[0].shape) or size_wh
        spec = self.spec or _dense(self.name, size_wh)
        views = self._fitting(spec, planes)
        if views is None:
            raise self._unfit(got + self._other_order(spec, planes), spec.size_wh)
        if mirrored := _mirrored_apart(spec, planes, views):
            raise self._unfit(f"{got}, mirrored so that {mirrored}")
        return self._of(spec, views)

    def _fitting(self, spec: FrameSpec, planes: Sequence[np.ndarray]) -> list[np.ndarray] | None:
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

    def _other_order(self, spec: FrameSpec, planes: Sequence[np.ndarray]) -> str:
        """Return in words in which order the planes would fit, or that a pitch was given as pixels."""
        names = [plane.name for plane in pixel_format(spec.format).planes]
        for order in permutations(range(len(planes))):
            turned = [planes[i] for i in order]
            guess = self.spec or FrameSpec(self.name, (turned[0].shape[1], turned[0].shape[0]))
            if self._fitting(guess, turned) is not None:
                got = ", ".join(names[order.index(i)] for i in range(len(planes)))
                return f": they are in another order; expected {', '.join(names)}, got {got}"
        for form, plane in zip(pixel_format(spec.format).planes, planes):
            shape = form.view_shape(spec.size_wh)
            if plane.shape[0] == shape[0] and plane.shape[1] > shape[1] and len(plane.shape) == len(shape):
                return (
                    f": plane {form.name} has {plane.shape[1]} columns for {shape[1]}; if {plane.strides[0]} is the "
                    f"pitch in bytes, give plane[:, :{shape[1]}]"
                )
        return ""

    def _self_described(self, frame: Any) -> FramePlanes:
        own = FrameSpec.of(frame)
        size_wh = own.size_wh if self.spec is None else self.spec.size_wh
        if (own.format, own.size_wh) != (self.name, size_wh):
            other = "" if own.format == self.name else f"; give source={own.format!r}"
            raise self._unfit(f"got {own.describe()}, as {type(frame).__name__} describes itself{other}")
        return self._of(own, own.planes(frame))

    def _coded(self, frame: Any) -> FramePlanes:
        buffers = buffers_of(frame)
        if not _is_memory(buffers):
            raise NpuLayoutError(f"expected the bytes of a JPEG for {self.describe()}, got {type(frame).__name__}")
        (data,) = (self.spec or FrameSpec("MJPEG", (1, 1))).planes(buffers)
        content = bytes(data)
        end, wrong = jpeg_end(content)
        if end is None:
            raise NpuLayoutError(
                f"expected the bytes of a JPEG for {self.describe()}, from FF D8 to FF D9; got {data.size} bytes that "
                f"{wrong}"
            )
        size_wh = jpeg_size(content)
        if self.spec is not None and size_wh != self.spec.size_wh:
            raise NpuLayoutError(f"expected a JPEG for {self.describe()}, got one of {size_wh[0]}x{size_wh[1]}")
        return FramePlanes(self.format, size_wh, (data[:end],))


@lru_cache(maxsize=256)
def _packed_shape(name: str, size_wh: tuple[int, int]) -> Shape | None:
    form, (width, height) = PIXEL_FORMATS[name], size_wh
    if len(form.planes) == 1:
        return form.planes[0].view_shape(size_wh)
    if width % form.steps[0] or height % form.steps[1]:
        return None
    return (int(form.stacked * height), form.planes[0].view_shape(size_wh)[1])


@lru_cache(maxsize=256)
def _size_of(name: str, shape: Shape) -> tuple[int, int] | None:
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
def _dense(name: str, size_wh: tuple[int, int]) -> FrameSpec:
    return FrameSpec(name, size_wh)


def _one_row(form: PixelFormat) -> bool:
    """Return whether rows of all planes have the same bytes, so that columns of one array are columns of each plane."""
    return all(plane.bytes_per_pixel == form.planes[0].bytes_per_pixel for plane in form.planes)


def _words(every_x: int, every_y: int, channels: int) -> str:
    parts = [f"{side}{f' / {every}' if every > 1 else ''}" for side, every in (("height", every_y), ("width", every_x))]
    return f"({', '.join([*parts, *([str(channels)] if channels else [])])})"


def _in_place(given: Any) -> Any:
    """Return another library's array, or memory with a shape, as an array of numpy; anything else as it is."""
    if isinstance(given, np.ndarray):
        return given
    if _is_memory(given):
        return _shaped(memoryview(given), given)
    foreign = foreign_array("frame", given)
    return given if foreign is None else foreign


def _shaped(memory: memoryview, given: Any) -> Any:
    if memory.ndim < 2:
        return given
    try:
        return np.asarray(memory)
    except (TypeError, ValueError, NotImplementedError) as error:  # elements that numpy has not
        raise NpuLayoutError(f"memory of {memory.format!r} of shape {memory.shape} is no array ({error})") from None


def _advice(frame: Any) -> str:
    """Return what to do with what is no frame."""
    if isinstance(frame, (str, os.PathLike)):
        return "; read the file first, by cv2.imread"
    if isinstance(frame, (tuple, list)) and not frame:
        return " without planes"
    if not _is_memory(frame):
        return ""
    memory = memoryview(frame)
    is_jpeg = memory.ndim == 1 and memory[:2].tobytes()[:2] == b"\xff\xd8"
    return '; it is a JPEG: give source="MJPEG"' if is_jpeg else "; bytes need source=FrameSpec(format, size_wh)"


def _is_memory(given: Any) -> bool:
    """Return whether it is an array, or has the memory of one."""
    if isinstance(given, np.ndarray):
        return True
    try:
        memoryview(given)
    except (TypeError, ValueError):  # or it was released
        return False
    return True


def _mirrored_apart(spec: FrameSpec, planes: Sequence[np.ndarray], views: Sequence[np.ndarray]) -> str:
    """Return in words what mirrored planes mix up: U and V, or which pixels share them; "" if nothing."""
    for axis, pixels, step in zip((1, 0), spec.size_wh, pixel_format(spec.format).steps):
        if pixels > 1 and pixels % step and any(view.strides[axis] < 0 for view in views):
            return f"other ones of {pixels} pixels share U and V; give an even part of them"
    for plane, view in zip(planes, views):
        if plane.ndim < view.ndim and plane.strides[1] < 0:
            return f"U and V are exchanged; mirror the planes in the shape {view.shape}"
    return ""
