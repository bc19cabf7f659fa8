"""Read the frames of other libraries by their attributes: format, size, pitches and colours, in a FrameSpec's terms.

None of these libraries is imported. What is read, and where it is documented:

* PyAV ``VideoFrame``: `format.name` (FFmpeg's pixel format), `width`, `height`, `planes[i].line_size`, `colorspace`
  and `color_range` (FFmpeg's AVColorSpace and AVColorRange): https://pyav.basswood-io.com/docs/stable/api/video.html
  and libavutil/pixfmt.h. Planes are buffers of their own.
* GStreamer ``GstVideo.VideoMeta`` (`format`, `width`, `height`, `n_planes`, `offset`, `stride`) and ``VideoInfo``
  (`finfo`, the same and `size`, `colorimetry`): https://gstreamer.freedesktop.org/documentation/video/gstvideometa.html
  and video-info.html; a ``Gst.Sample`` by its caps, and by its buffer's meta if GstVideo is loaded. Without one, rows
  are rounded up to 4 bytes and heights of 4:2:0 to 2 (video-info.c, fill_planes), and a buffer of another size is
  refused. Colours that are not said are BT.709 above 576 lines and BT.601 below, of limited range (video-info.c,
  set_default_colorimetry). An element that crops by a VideoCropMeta makes the caps smaller than the VideoMeta
  (gstvideocrop.c, gsttheoradec.c); of the interlace modes, FIELDS and ALTERNATE have no whole frames (video-info.h,
  GstVideoInterlaceMode). Tiled formats have the numbers of tiles for a stride (video-tile.h, GST_VIDEO_TILE_X_TILES).
* picamera2: ``request.config``, a camera's configuration, or that of one stream, `format`, `size`, `stride`: The
  Picamera2 Library, appendix A (BGR888 has R first in memory, RGB888 has B first) and section 4.2; of a request or a
  camera's configuration its `colour_space`, which is that of main and of lores (picamera2.py, _make_libcamera_config),
  with `ycbcrEncoding` and `range`: libcamera, src/py/libcamera/py_color_space.cpp.
* DepthAI ``ImgFrame`` (depthai 3): `getType`, `getData`, and of `fb` `width`, `height`, `stride` in bytes and the
  offsets of planes, of which 0 means one behind the other: luxonis/depthai-core, ImgFrameBindings.cpp; its own
  `getCvFrame` takes Y, U and V for limited BT.601, and RAW8 for gray.
* Pillow ``Image``: `mode`, `size` and `tobytes`: https://pillow.readthedocs.io/en/stable/handbook/concepts.html.
* ROS ``sensor_msgs/Image``: `encoding`, `width`, `height`, `step`, `is_bigendian`, `data`: sensor_msgs/msg/Image.msg
  and include/sensor_msgs/image_encodings.hpp; ``CompressedImage``: `format`, `data`.
* V4L2's formats: `v4l2`. RealSense, Orbbec, pylon, jetson_utils, Harvesters: `camera_sdks`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

from ..errors import BufferSizeError, NpuLayoutError
from ..support import shown, text_of
from .camera_formats import DEPTHAI, FFMPEG, GSTREAMER, MEMORY, PICAMERA2, PILLOW, ROS, Described, known
from .camera_sdks import PLAIN, SDKS, FrameCopy, frame_copy, sdk_described
from .color_matrices import MATRICES
from .jpeg import jpeg_size
from .pixel_formats import PIXEL_FORMATS
from .plane_memory import stored_rows, strides_of
from .v4l2 import is_v4l2, v4l2

# AVCOL_SPC_BT709, BT470BG, SMPTE170M, BT2020_NCL; RGB, UNSPECIFIED and RESERVED say none, and swscale takes BT.601
_FFMPEG_MATRICES = {1: "bt709", 5: "bt601", 6: "bt601", 9: "bt2020", 0: "bt601", 2: "bt601", 3: "bt601"}
_GSTREAMER_MATRICES = {3: "bt709", 4: "bt601", 6: "bt2020"}  # GST_VIDEO_COLOR_MATRIX_BT709, BT601, BT2020
_OTHER_MATRICES = (2, 5)  # GST_VIDEO_COLOR_MATRIX_FCC, SMPTE240M; those left belong to no YUV, nor does their range
_LIBCAMERA_MATRICES = {"Rec601": "bt601", "Rec709": "bt709", "Rec2020": "bt2020"}  # ColorSpace.YcbcrEncoding
_GSTREAMER_NAMES = {  # gst-libs/gst/video/video-color.h
    **{"bt601": "bt601", "bt709": "bt709", "bt2020": "bt2020", "bt2020-10": "bt2020"},
    **{"bt2100-pq": "bt2020", "bt2100-hlg": "bt2020"},
}
_FULL_FFMPEG, _FULL_GSTREAMER = 2, 1  # AVCOL_RANGE_JPEG, GST_VIDEO_COLOR_RANGE_0_255
_FIELDS = {"fields": "two fields, one behind the other", "alternate": "one field each, half of the lines"}
_SD_LINES = 576  # up to which GStreamer takes BT.601 for YUV that says no matrix
_STREAMS = ("main", "lores", "raw")  # of a camera of picamera2


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
    config = _camera_configuration(x)
    if config is not None:
        return _picamera2(config, stream)
    if stream != "main":
        raise NpuLayoutError(
            f"stream: expected a picamera2 request, or its configuration, with a stream {stream!r}; x is {shown(x)}"
        )
    stack = _stack_of(x)
    if stack is None:
        raise NpuLayoutError(
            f"x: expected a frame of PyAV, GStreamer, picamera2, DepthAI, ROS, Pillow, RealSense, Orbbec, pylon, "
            f"jetson_utils or Harvesters, or a V4L2 format, got {shown(x)}; describe others with "
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
    """Return a copy of a frame that describes itself; one of PyAV or DepthAI, whose memory is its own; None of others.

    NpuLayoutError if it cannot be copied.
    """
    stack = _stack_of(x)
    return None if stack is None or stack.copy is None else stack.copy(x)


def _stack_of(x: Any) -> Stack | None:
    """Return the row of a frame; None of what is no library's, such as an array."""
    if isinstance(x, PLAIN):
        return None
    for stack in STACKS:  # a frame is looked for in less time than by a generator
        if stack.is_one(x):
            return stack
    return None


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


def _message_copy(x: Any) -> Any:
    data = x.data
    try:
        return deepcopy(x, {id(data): data.tobytes()} if isinstance(data, memoryview) else {})
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


def _gst_name(given: Any) -> str:
    """Return the name of a GstVideo.VideoFormat, whose nick is in small letters, or of a text."""
    nick = getattr(given, "value_nick", None)
    if nick is None:
        return str(getattr(given, "name", given))
    by_nick = {name.lower().replace("_", "-"): name for name in GSTREAMER}
    return by_nick.get(nick, str(nick))


def _gst_video(info: Any) -> Described:
    """Return what a VideoMeta or a VideoInfo describes."""
    finfo = getattr(info, "finfo", None)
    mode = getattr(info, "interlace_mode", None)
    _check_whole(str(getattr(mode, "value_nick", mode)))
    name = known("GStreamer", GSTREAMER, _gst_name(info.format if finfo is None else finfo.name))
    planes = PIXEL_FORMATS[name].planes
    given = [int(stride) for stride in info.stride[: len(planes)]]
    strides = [(s & 0xFFFF) * plane.tile[0] if plane.tile else s for s, plane in zip(given, planes)]
    found: Described = {"format": name, "size_wh": (info.width, info.height), "strides": strides}
    found["offsets"] = [int(offset) for offset in info.offset[: len(planes)]]
    if getattr(info, "size", 0):
        found["size"] = int(info.size)
    said = getattr(info, "colorimetry", None)
    numbers = None if said is None else f"{int(said.range)}:{int(said.matrix)}:0:0"
    return {**found, **_colorimetry(numbers, name, int(info.height))}


def _gst_sample(sample: Any) -> Described:
    fields, buffer = sample.get_caps().get_structure(0), sample.get_buffer()
    size_wh = tuple(fields.get_value(side) for side in ("width", "height"))
    if fields.get_name() == "image/jpeg":
        return {"format": "MJPEG", "size_wh": size_wh}
    _check_whole(str(fields.get_value("interlace-mode")) if fields.has_field("interlace-mode") else "")
    said = fields.get_value("colorimetry") if fields.has_field("colorimetry") else None
    video = sys.modules.get("gi.repository.GstVideo")
    meta = video.buffer_get_video_meta(buffer) if video is not None else None
    if meta is not None:
        found = _gst_video(meta)
        if tuple(found["size_wh"]) != size_wh:
            caps, whole = ("x".join(map(str, size)) for size in (size_wh, found["size_wh"]))
            raise NpuLayoutError(
                f"x: its caps say {caps}, and its VideoMeta {whole}: a VideoCropMeta cuts out a part of the frame; put "
                f"videoconvert before the sink, or give FrameSpec.of(GstVideo.buffer_get_video_meta(buffer)), and the "
                f"part as roi_xywh"
            )
        return {**found, "size": buffer.get_size(), **_colorimetry(said, found["format"], int(meta.height))}
    name = known("GStreamer", GSTREAMER, fields.get_value("format"))
    form, (width, height) = PIXEL_FORMATS[name], size_wh
    strides = strides_of("", form.planes, width, None)
    if not form.is_tiled:
        strides = tuple(-(-stride // 4) * 4 for stride in strides)
    even = -(-height // form.steps[1]) * form.steps[1]
    ends = [0]
    for plane, stride in zip(form.planes, strides):
        ends.append(ends[-1] + stride * stored_rows(plane, even))
    if buffer.get_size() != ends[-1]:
        raise BufferSizeError(
            f"x: its buffer has {buffer.get_size()} bytes; {name} of {width}x{height}, as its caps say, has {ends[-1]} "
            f"with GStreamer's own strides {strides}: {_HAS_NO_META if video else _IMPORT}"
        )
    return {
        **{"format": name, "size_wh": size_wh, "strides": strides, "offsets": ends[:-1], "size": ends[-1]},
        **_colorimetry(said, name, height),
    }


def _check_whole(interlace: str) -> None:
    """Raise NpuLayoutError if a buffer has no whole frame, line after line: a GstVideoInterlaceMode, by its nick."""
    if interlace in _FIELDS:
        raise NpuLayoutError(
            f"x: interlace-mode={interlace}: its buffers have {_FIELDS[interlace]}; expected whole frames: put "
            f"deinterlace before the sink"
        )


_IMPORT = "import GstVideo (from gi.repository import GstVideo), so that the buffer's VideoMeta is read"
_HAS_NO_META = "it has no VideoMeta; describe it with FrameSpec(format, size_wh, strides=, offsets=, size=)"


def _colorimetry(text: Any, name: str, height: int) -> Described:
    """Return matrix and range of a caps field: "bt709", or the numbers of range, matrix, transfer and primaries.

    Of what it does not say, and of a matrix that the table has not, GStreamer's default for the height; of a format
    that has no Y, U and V, nothing.
    """
    if PIXEL_FORMATS[name].kind != "yuv":
        return {}
    parts = str(text or "").split(":")
    numbers = [int(part) for part in parts[:2]] if len(parts) == 4 and all(p.isdecimal() for p in parts[:2]) else [0, 0]
    matrix = _GSTREAMER_NAMES.get(parts[0]) or _GSTREAMER_MATRICES.get(numbers[1])
    is_known = matrix is not None or numbers[1] in _OTHER_MATRICES
    return {
        "matrix": matrix or ("bt709" if height > _SD_LINES else "bt601"),
        "range": "full" if is_known and numbers[0] == _FULL_GSTREAMER else "limited",
    }


def _camera_configuration(x: Any) -> Mapping[str, Any] | None:
    """Return the configuration of a picamera2 request, or x if it is one; None if it is not."""
    config = getattr(x, "config", x)
    streams = isinstance(config, Mapping) and "format" not in config and any(name in config for name in _STREAMS)
    return config if streams else None


def _picamera2(config: Mapping[str, Any], stream: str) -> Described:
    """Return what the configuration of a camera says of one of its streams."""
    found = config.get(stream)
    if not isinstance(found, Mapping) or not {"format", "size"} <= set(found):
        streams = ", ".join(name for name in _STREAMS if config.get(name) is not None) or "none"
        raise NpuLayoutError(
            f"stream: picamera2: expected a stream {stream!r} with format and size, got {streams}; give stream="
        )
    return _picamera2_stream(found, config.get("colour_space"))


def _picamera2_stream(stream: Mapping[str, Any], space: Any = None) -> Described:
    name = known("picamera2", PICAMERA2, stream["format"])
    found: Described = {"format": name, "size_wh": tuple(stream["size"])}
    if stream.get("stride") and name != "MJPEG":
        found["strides"] = int(stream["stride"])
    if stream.get("framesize") and name != "MJPEG":
        found["size"] = int(stream["framesize"])
    matrix = _LIBCAMERA_MATRICES.get(getattr(getattr(space, "ycbcrEncoding", None), "name", ""))
    if matrix is not None and PIXEL_FORMATS[name].kind == "yuv":
        found["matrix"] = matrix
        found["range"] = "full" if getattr(getattr(space, "range", None), "name", "") == "Full" else "limited"
    return found


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
    Stack(_has("get_caps", "get_buffer"), _gst_sample),
    Stack(is_v4l2, v4l2),
    Stack(lambda x: isinstance(x, FrameCopy), lambda x: x.described, lambda x: x.memory, _itself),
    *(Stack(_has(*sdk.members), partial(sdk_described, sdk), sdk.memory, partial(frame_copy, sdk)) for sdk in SDKS),
    Stack(_is_pyav, _pyav, lambda x: [memoryview(plane) for plane in x.planes], _itself),
    Stack(_has("getType", "getData", "fb"), _depthai, lambda x: x.getData(), _itself),
    Stack(_has("stride", "offset"), _gst_video),
    Stack(_has("encoding", "step", "data"), _ros_image, lambda x: x.data, _message_copy),
    Stack(_has("encoding", "step"), _ros_image),
    Stack(
        _is_compressed,
        lambda x: {"format": "MJPEG", "size_wh": jpeg_size(bytes(x.data))},
        lambda x: x.data,
        _message_copy,
    ),
    Stack(lambda x: isinstance(x, Mapping) and {"format", "size"} <= set(x), _picamera2_stream),
)
