"""Read the frames of other libraries by their attributes: format, size, pitches and colours, in a FrameSpec's terms.

None of these libraries is imported. What is read, and where it is documented:

* PyAV ``VideoFrame``: `format.name` (FFmpeg's pixel format), `width`, `height`, `planes[i].line_size`, `colorspace`
  and `color_range` (FFmpeg's AVColorSpace and AVColorRange): https://pyav.basswood-io.com/docs/stable/api/video.html
  and libavutil/pixfmt.h. Planes are buffers of their own.
* DepthAI ``ImgFrame`` (depthai 3): `getType`, `getData`, and of `fb` `width`, `height`, `stride` in bytes and the
  offsets of planes, of which 0 means one behind the other: luxonis/depthai-core, ImgFrameBindings.cpp; its own
  `getCvFrame` takes Y, U and V for limited BT.601, and RAW8 for gray.
* Pillow ``Image``: `mode`, `size` and `tobytes`: https://pillow.readthedocs.io/en/stable/handbook/concepts.html.
* ROS ``sensor_msgs/Image``: `encoding`, `width`, `height`, `step`, `is_bigendian`, `data`: sensor_msgs/msg/Image.msg
  and include/sensor_msgs/image_encodings.hpp; ``CompressedImage``: `format`, `data`.
* Rooms of their own: `gstreamer`, `picamera2`, `v4l2`; RealSense, Orbbec, pylon, jetson_utils and Harvesters:
  `camera_sdks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import NpuLayoutError
from ..support import shown, text_of
from .camera_formats import DEPTHAI, FFMPEG, MEMORY, PILLOW, ROS, Described, known
from .camera_sdks import PLAIN, SDKS, FrameCopy, frame_copy, sdk_described
from .color_matrices import MATRICES
from .gstreamer import gst_sample, gst_video
from .jpeg import jpeg_size
from .picamera2 import camera_configuration, picamera2, picamera2_stream
from .pixel_formats import PIXEL_FORMATS
from .plane_memory import strides_of
from .v4l2 import is_linuxpy_frame, is_v4l2, linuxpy_format, v4l2

# AVCOL_SPC_BT709, BT470BG, SMPTE170M, BT2020_NCL; RGB, UNSPECIFIED and RESERVED say none, and swscale takes BT.601
_FFMPEG_MATRICES = {1: "bt709", 5: "bt601", 6: "bt601", 9: "bt2020", 0: "bt601", 2: "bt601", 3: "bt601"}
_FULL_FFMPEG = 2  # AVCOL_RANGE_JPEG


class Stack(NamedTuple):
    """How the frames of one library are read: which objects are its frames, and functions of such a frame.

    memory: returns its bytes, or those of each plane; None: it does not have them with it. copy: returns a copy.
    """

    is_one: Callable[[Any], bool]
    described: Callable[[Any], Described]
    memory: Callable[[Any], Any] | None = None
    copy: Callable[[Any], Any] | None = None


def described(x: Any, stream: str = "main") -> Described:
    """Return the arguments of the FrameSpec of a foreign frame; NpuLayoutError if it is none that is known.

    stream: which one of a picamera2 camera.
    """
    text_of("stream", stream)
    try:
        return _described(x, stream)
    except NpuLayoutError:
        raise
    except Exception as error:  # of an attribute of another library's object
        raise _unreadable(x, error) from error


def _described(x: Any, stream: str) -> Described:
    config = camera_configuration(x)
    if config is not None:
        return picamera2(config, stream)
    if stream != "main":
        raise NpuLayoutError(
            f"stream: expected a picamera2 request, or its configuration, with a stream {stream!r}; x is {shown(x)}"
        )
    if isinstance(x, Mapping) and "size_wh" in x:
        raise NpuLayoutError("x: expected a frame, got the dict of a FrameSpec; give FrameSpec.from_dict(x)")
    stack = _stack_of(x)
    if stack is None:
        raise NpuLayoutError(
            f"x: expected a frame of PyAV, GStreamer, picamera2, DepthAI, ROS, Pillow, RealSense, Orbbec, pylon, "
            f"jetson_utils, Harvesters or linuxpy, or a V4L2 format, got {shown(x)}; describe others with "
            f"FrameSpec(format, size_wh, strides=, offsets=)"
        )
    return stack.described(x)


def is_described(x: Any) -> bool:
    """Return whether a frame describes itself and has its memory with it; of picamera2 and GStreamer none does."""
    stack = _stack_of(x)
    return stack is not None and stack.memory is not None


def buffers_of(x: Any) -> Any:
    """Return the memory of a frame that has it (of PyAV a buffer for each plane, of Pillow a copy); or x itself."""
    stack = _stack_of(x)
    return x if stack is None or stack.memory is None else stack.memory(x)


def memory_advice(x: Any) -> str:
    """Return what to give of an object that has a frame's memory and does not show it; "" of others."""
    return next((words for name, words in MEMORY.items() if hasattr(x, name)), "")


def own_copy(x: Any) -> Any:
    """Return a copy of a frame that describes itself, or the frame if its memory is its own (PyAV, DepthAI); else None.

    NpuLayoutError if it cannot be copied.
    """
    stack = _stack_of(x)
    return None if stack is None or stack.copy is None else stack.copy(x)


def _stack_of(x: Any) -> Stack | None:
    """Return the row of a frame; None of what is no library's, such as an array."""
    if isinstance(x, PLAIN):
        return None
    try:
        for stack in STACKS:  # a frame is looked for in less time than by a generator
            if stack.is_one(x):
                return stack
    except Exception as error:  # of an attribute, such as that of a frame that was closed
        raise _unreadable(x, error) from error
    return None


def _unreadable(x: Any, error: Exception) -> NpuLayoutError:
    """Return what is raised if the attributes of an object cannot be read."""
    return NpuLayoutError(
        f"x: expected a frame whose attributes can be read; those of {type(x).__module__}.{type(x).__qualname__} raise "
        f"{type(error).__name__}: {error}; give its memory, and FrameSpec(format, size_wh, strides=, offsets=)"
    )


def _has(first: str, *others: str) -> Callable[[Any], bool]:
    """Return whether an object has all of these members; most objects lack the first."""
    return lambda x: hasattr(x, first) and all([hasattr(x, member) for member in others])


def _itself(x: Any) -> Any:
    return x


def _is_pyav(x: Any) -> bool:
    return getattr(x, "planes", None) is not None and hasattr(getattr(x, "format", None), "name")


def _is_compressed(x: Any) -> bool:
    """Return whether it is a message of ROS that has a JPEG."""
    return hasattr(x, "data") and "jpeg" in str(getattr(x, "format", "")).lower()


def _message_bytes(x: Any) -> Any:
    """Return the data of a message of ROS, whose bindings deliver bytes, an array, or a list of whole numbers."""
    data = x.data
    if not isinstance(data, (list, tuple)):
        return data
    try:
        return bytes(data)
    except (TypeError, ValueError) as error:
        raise NpuLayoutError(
            f"data of {type(x).__qualname__}: expected bytes, or a list of whole numbers 0 .. 255, one for each byte, "
            f"got {shown(data)} ({error})"
        ) from None


def _message_copy(x: Any) -> Any:
    data = x.data
    plain = data.tobytes() if isinstance(data, memoryview) else data[:] if isinstance(data, list) else None
    try:  # deepcopy would copy a list item by item
        return deepcopy(x, {} if plain is None else {id(data): plain})
    except Exception as error:  # each library has exceptions of its own
        raise NpuLayoutError(
            f"frame: this {type(x).__module__}.{type(x).__qualname__} cannot be copied ({error}); its data may change, "
            f"so give a copy of it, or an array"
        ) from None


def _pyav(frame: Any) -> Described:
    name = known("FFmpeg", FFMPEG, frame.format.name)
    strides = tuple(plane.line_size for plane in frame.planes)
    if min(strides) < 0:  # as of the filter vflip: the memory of a PyAV plane begins at its last row then
        raise NpuLayoutError(
            f"x: its rows are stored from the bottom up, line_size {strides[0]}: give frame.to_ndarray(format='bgr24') "
            f"as source='BGR', or convert it, frame.reformat(format=...), to another format"
        )
    said = getattr(frame, "colorspace", None)
    space = 2 if said is None else int(said)
    if space not in _FFMPEG_MATRICES and PIXEL_FORMATS[name].kind == "yuv":
        raise NpuLayoutError(
            f"x: its colorspace is FFmpeg's number {space}; expected that of {', '.join(MATRICES)}, or none: give "
            f"[memoryview(plane) for plane in frame.planes] and a FrameSpec with strides and the nearest matrix"
        )
    full = int(getattr(frame, "color_range", 0) or 0) == _FULL_FFMPEG or str(frame.format.name).startswith("yuvj")
    return {
        "format": name,
        "size_wh": (frame.width, frame.height),
        "strides": strides,
        "matrix": _FFMPEG_MATRICES.get(space, "bt601"),
        "range": "full" if full else "limited",
    }


def _ros_image(message: Any) -> Described:
    name = known("ROS", ROS, message.encoding)
    if int(getattr(message, "is_bigendian", 0)) and PIXEL_FORMATS[name].planes[0].dtype != "<u1":
        raise NpuLayoutError(f"x: {message.encoding} in big endian; expected little endian: byteswap its data")
    return {"format": name, "size_wh": (message.width, message.height), "strides": int(message.step)}


def _depthai(frame: Any) -> Described:
    fb = frame.fb
    name = known("DepthAI", DEPTHAI, getattr(frame.getType(), "name", frame.getType()))
    planes, width, height = PIXEL_FORMATS[name].planes, int(fb.width), int(fb.height)
    what = f"x: DepthAI's {name} of {width}x{height}"
    strides = strides_of(what, planes, width, int(fb.stride) or None)
    if len(planes) > 2 and strides != strides_of("", planes, width, None):
        raise NpuLayoutError(
            f"{what} has rows of {fb.stride} bytes, and does not say those of U and V: give frame.getData() and "
            f"FrameSpec({name!r}, {(width, height)}, strides=, offsets=)"
        )
    found: Described = {"format": name, "size_wh": (width, height), "strides": strides, "size": frame.getData().nbytes}
    offsets = tuple(int(offset) for offset in (fb.p1Offset, fb.p2Offset, fb.p3Offset))[: len(planes)]
    if len(planes) > 1 and all(offsets[1:]):
        found["offsets"] = offsets
    return found


#: The first row that an object is of counts.
STACKS = (
    Stack(  # Pillow
        _has("getbands", "tobytes", "mode"),
        lambda x: {"format": known("Pillow", PILLOW, x.mode), "size_wh": tuple(x.size)},
        lambda x: x.tobytes(),
        lambda x: x.copy(),
    ),
    Stack(_has("get_caps", "get_buffer"), gst_sample),
    Stack(is_v4l2, v4l2),
    Stack(
        is_linuxpy_frame,
        lambda x: linuxpy_format(x.format),
        lambda x: x.data,
        lambda x: FrameCopy(linuxpy_format(x.format), np.array(np.frombuffer(x.data, np.uint8))),
    ),
    Stack(lambda x: isinstance(x, FrameCopy), lambda x: x.described, lambda x: x.memory, _itself),
    *(Stack(_has(*sdk.members), partial(sdk_described, sdk), sdk.memory, partial(frame_copy, sdk)) for sdk in SDKS),
    Stack(_is_pyav, _pyav, lambda x: [memoryview(plane) for plane in x.planes], _itself),
    Stack(_has("getType", "getData", "fb"), _depthai, lambda x: x.getData(), _itself),
    Stack(_has("stride", "offset"), gst_video),
    Stack(_has("encoding", "step", "data"), _ros_image, _message_bytes, _message_copy),
    Stack(_has("encoding", "step"), _ros_image),
    Stack(
        _is_compressed,
        lambda x: {"format": "MJPEG", "size_wh": jpeg_size(bytes(_message_bytes(x)))},
        _message_bytes,
        _message_copy,
    ),
    Stack(lambda x: isinstance(x, Mapping) and {"format", "size"} <= set(x), picamera2_stream),
)
