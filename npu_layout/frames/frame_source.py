"""Read frames as cameras and libraries hand them out, and refuse what does not fit the source that was declared."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import NpuLayoutError
from ..support import foreign_array, naming, plain_array
from .byte_views import RELEASED, is_released
from .camera_stacks import buffers_of, is_described, memory_advice
from .color_matrices import color_of
from .frame_misfits import TURN_PICTURE, TURN_PLANES, expected, hint, mirrored_apart, other_order, turned
from .frame_shapes import dense, has_rows_alike, packed_shape, size_of, usual_frame, views_of
from .frame_spec import FrameSpec
from .jpeg import jpeg_end, jpeg_size
from .pictures import FramePlanes
from .pixel_formats import PIXEL_FORMATS, PixelFormat, pixel_format

_JPEG, _IS_JPEG = b"\xff\xd8", 'it is a JPEG: give source="MJPEG"'


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
            raise type(error)(f"{which}: {str(error).removeprefix('frame: ')}") from None

    def _read(self, frame: Any) -> FramePlanes:
        if self.format.kind == "coded":
            return self._coded(frame)
        if is_described(frame):
            return self._self_described(frame)
        if isinstance(frame, (tuple, list)) and len(frame) == 2 and isinstance(frame[0], (bool, np.bool_)):
            if not frame[0]:
                raise self._unfit("got (False, ...): VideoCapture.read had no frame (the file has ended?)")
            raise self._unfit("got (True, ...), as VideoCapture.read returns; give its second item")
        frame = [_in_place(part) for part in frame] if isinstance(frame, (tuple, list)) else _in_place(frame)
        if isinstance(frame, np.ndarray):
            return self._array(frame if type(frame) is np.ndarray else plain_array("frame", frame))
        if isinstance(frame, (tuple, list)) and all(_is_memory(part) for part in frame) and len(frame):
            return self._separate(frame)
        if frame is not None and self.spec is not None and _is_memory(frame):
            return self._of(self.spec, self.spec.planes(frame))
        if frame is None:
            raise self._unfit("got None (did the camera deliver a frame?)")
        if is_released(frame):
            raise self._unfit(f"got {RELEASED}")
        raise self._unfit(f"got {type(frame).__name__}{_advice(frame)}")

    def _of(self, spec: FrameSpec, planes: Sequence[np.ndarray]) -> FramePlanes:
        colors = self.spec or spec
        if self.format.kind == "mosaic" and min(spec.size_wh) < 3:
            raise NpuLayoutError(f"OpenCV interpolates mosaics from 3x3 pixels on, got {spec.size_wh}")
        return FramePlanes(self.format, spec.size_wh, tuple(planes), color_of(colors.matrix, colors.range))

    def _unfit(self, reason: str, size_wh: tuple[int, int] | None = None) -> NpuLayoutError:
        known = size_wh or (self.spec.size_wh if self.spec else None)
        return NpuLayoutError(f"expected {expected(self.name, known)} for {self.describe()}, {reason}")

    def _array(self, array: np.ndarray) -> FramePlanes:
        got = f"got {array.dtype} of shape {array.shape}"
        is_row = array.ndim == 2 and len(array) == 1 and array.dtype == np.uint8  # what OpenCV makes of raw bytes
        if self.spec is None:
            if self.format.is_tiled:
                raise self._unfit(f"{got}; tiles need source=FrameSpec(format, size_wh)")
            if is_row or array.ndim == 1:
                raw = f"flat bytes need source=FrameSpec({self.name!r}, (width, height))"
                is_jpeg = array.reshape(-1)[:2].tobytes() == _JPEG
                got += f"; {_IS_JPEG if is_jpeg else raw}"
            return self._pixels(array, got)
        several = self.spec.size_wh[1] > 1 or len(self.format.planes) > 1  # rows of a frame: one row is no frame of it
        if is_row and several and array.size == self.spec.size:
            array = array[0]
        if self._is_memory_with_pitch(array):
            array = array.reshape(-1).view(np.uint8)
        if self.format.is_tiled or array.ndim == 1:
            return self._of(self.spec, self.spec.planes(array))
        return self._pixels(array, got)

    def _pixels(self, array: np.ndarray, got: str) -> FramePlanes:
        """Return the frame of an array with an axis for rows and one for columns; `got` begins what messages say."""
        first, image = self.format.planes[0], self._image(array)
        size_wh = self.spec.size_wh if self.spec else size_of(self.name, image.shape)
        fits = size_wh is not None and image.shape == packed_shape(self.name, size_wh)
        if size_wh is None or not fits or image.dtype != np.dtype(first.dtype):
            raise self._unfit(got + hint(self.name, self.spec, image))
        if wrong := turned(self.format, image):
            advice = TURN_PLANES if len(self.format.planes) > 1 else TURN_PICTURE
            raise self._unfit(f"{got}, {wrong}; {advice}")
        spec = self.spec or dense(self.name, size_wh)
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
        """Return whether an array is the spec's memory in rows of its first plane's pitch, and not just its pixels.

        Such as picamera2's arrays of I420, in whose last rows two of U or V are one, and of YUYV (H, pitch / 2, 2).
        """
        spec = self.spec
        if spec is None or array.ndim < 2 or array.nbytes != spec.size or not array.flags.c_contiguous:
            return False
        plain = dense(self.name, spec.size_wh)
        if (spec.strides, spec.offsets, spec.size) == (plain.strides, plain.offsets, plain.size) and (
            array.ndim > 2 or array.dtype != np.uint8 or array.shape == packed_shape(self.name, spec.size_wh)
        ):
            return False
        known = array.dtype in (np.uint8, np.dtype(self.format.planes[0].dtype))
        return known and array.nbytes == len(array) * spec.strides[0]

    def _split(self, spec: FrameSpec, image: np.ndarray) -> Sequence[np.ndarray]:
        """Return the planes of several that are in one array, views."""
        form = pixel_format(spec.format)
        if has_rows_alike(form):
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
            size_wh = size_of(self.name, planes[0].shape) or size_wh
        spec = self.spec or dense(self.name, size_wh)
        views = views_of(spec, planes)
        if views is None:
            raise self._unfit(got + other_order(self.spec, spec, planes), spec.size_wh)
        if mirrored := mirrored_apart(spec, planes, views):
            raise self._unfit(f"{got}, {mirrored}")
        return self._of(spec, views)

    def _self_described(self, frame: Any) -> FramePlanes:
        own = FrameSpec.of(frame)
        size_wh = own.size_wh if self.spec is None else self.spec.size_wh
        if (own.format, own.size_wh) != (self.name, size_wh):
            other = f"; give source={own.format!r}"
            if own.format == self.name:
                other = f"; give source={own.format!r}, without a size, for frames of any size"
            raise self._unfit(f"got {own.describe()}, as {type(frame).__name__} describes itself{other}")
        return self._of(own, own.planes(frame))

    def _coded(self, frame: Any) -> FramePlanes:
        buffers = buffers_of(frame)
        if is_released(buffers):
            raise NpuLayoutError(f"expected the bytes of a JPEG for {self.describe()}, got {RELEASED}")
        if not _is_memory(buffers):
            said = getattr(frame, "format", None)  # of a ROS CompressedImage
            hint = f" of format {said!r}: decode it first, by cv2.imdecode" if isinstance(said, str) else ""
            raise NpuLayoutError(
                f"expected the bytes of a JPEG for {self.describe()}, got {type(frame).__name__}{hint}"
            )
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
    if hasattr(frame, "__cuda_array_interface__"):
        return "; its memory is a GPU's: copy it to the CPU's first"
    if not _is_memory(frame):
        if isinstance(getattr(frame, "format", None), str) and hasattr(frame, "data"):  # ROS's CompressedImage
            return f" of format {frame.format!r}: decode it first, by cv2.imdecode"
        advice = memory_advice(frame)
        return advice and f"; {advice}"
    memory = memoryview(frame)
    is_jpeg = memory.ndim == 1 and memory[:2].tobytes()[:2] == _JPEG
    return f"; {_IS_JPEG}" if is_jpeg else "; bytes need source=FrameSpec(format, size_wh)"


def _is_memory(given: Any) -> bool:
    """Return whether it is an array, or has the memory of one."""
    if isinstance(given, np.ndarray):
        return True
    try:
        memoryview(given)
    except (TypeError, ValueError):  # or it was released
        return False
    return True
