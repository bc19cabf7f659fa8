"""Read the frames of GStreamer by their attributes.

What is read, and where it is documented:

* ``GstVideo.VideoMeta`` (`format`, `width`, `height`, `n_planes`, `offset`, `stride`) and ``VideoInfo`` (`finfo`, the
  same and `size`, `colorimetry`): https://gstreamer.freedesktop.org/documentation/video/gstvideometa.html and
  video-info.html. Tiled formats have the numbers of tiles for a stride (video-tile.h, GST_VIDEO_TILE_X_TILES).
* A ``Gst.Sample`` by its caps, and by its buffer's VideoMeta if GstVideo is loaded. Without one, rows are rounded up to
  4 bytes and heights of 4:2:0 to 2 (video-info.c, fill_planes), and a buffer of another size is refused.
* Colours that are not said are BT.709 above 576 lines and BT.601 below, of limited range (video-info.c,
  set_default_colorimetry).
* An element that crops by a VideoCropMeta makes the caps smaller than the VideoMeta (gstvideocrop.c, gsttheoradec.c).
* Of the interlace modes, FIELDS and ALTERNATE have no whole frames (video-info.h, GstVideoInterlaceMode).
"""

from __future__ import annotations

import sys
from typing import Any

from ..errors import BufferSizeError, NpuLayoutError
from .camera_formats import GSTREAMER, Described, known
from .pixel_formats import PIXEL_FORMATS
from .plane_memory import stored_rows, strides_of

_MATRICES = {3: "bt709", 4: "bt601", 6: "bt2020"}  # GST_VIDEO_COLOR_MATRIX_BT709, BT601, BT2020
_UNSUPPORTED_MATRICES = (
    2,
    5,
)  # GST_VIDEO_COLOR_MATRIX_FCC, SMPTE240M; those left belong to no YUV, nor does their range
_NAMES = {  # gst-libs/gst/video/video-color.h
    **{"bt601": "bt601", "bt709": "bt709", "bt2020": "bt2020", "bt2020-10": "bt2020"},
    **{"bt2100-pq": "bt2020", "bt2100-hlg": "bt2020"},
}
_FULL = 1  # GST_VIDEO_COLOR_RANGE_0_255
_FIELDS = {"fields": "two fields, one behind the other", "alternate": "one field each, half of the lines"}
_SD_LINES = 576  # up to which BT.601 is the default of YUV, from video-info.c
_IMPORT = "import GstVideo (from gi.repository import GstVideo), so that the buffer's VideoMeta is read"
_HAS_NO_META = "it has no VideoMeta; describe it with FrameSpec(format, size_wh, strides=, offsets=, size=)"


def _gst_name(given: Any) -> str:
    """Return the name of a GstVideo.VideoFormat, whose nick is in small letters, or of a text."""
    nick = getattr(given, "value_nick", None)
    if nick is None:
        return str(getattr(given, "name", given))
    by_nick = {name.lower().replace("_", "-"): name for name in GSTREAMER}
    return by_nick.get(nick, str(nick))


def gst_video(info: Any) -> Described:
    """Return what a VideoMeta or a VideoInfo describes."""
    finfo = getattr(info, "finfo", None)
    mode = getattr(info, "interlace_mode", None)
    _check_whole_frames(str(getattr(mode, "value_nick", mode)))
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


def gst_sample(sample: Any) -> Described:
    """Return what a Gst.Sample describes: by its buffer's VideoMeta, or else by its caps."""
    fields, buffer = sample.get_caps().get_structure(0), sample.get_buffer()
    size_wh = tuple(fields.get_value(side) for side in ("width", "height"))
    if fields.get_name() == "image/jpeg":
        return {"format": "MJPEG", "size_wh": size_wh}
    _check_whole_frames(str(fields.get_value("interlace-mode")) if fields.has_field("interlace-mode") else "")
    said = fields.get_value("colorimetry") if fields.has_field("colorimetry") else None
    video = sys.modules.get("gi.repository.GstVideo")
    meta = video.buffer_get_video_meta(buffer) if video is not None else None
    if meta is not None:
        found = gst_video(meta)
        if tuple(found["size_wh"]) != size_wh:
            caps, whole = ("x".join(map(str, size)) for size in (size_wh, found["size_wh"]))
            raise NpuLayoutError(
                f"x: its caps say {caps}, and its VideoMeta {whole}: a VideoCropMeta cuts out a part of the frame; put "
                f"videoconvert before the sink, or give FrameSpec.of(GstVideo.buffer_get_video_meta(buffer)), and the "
                f"part as roi_xywh"
            )
        return {**found, "size": buffer.get_size(), **_colorimetry(said, found["format"], int(meta.height))}
    name = known("GStreamer", GSTREAMER, fields.get_value("format"))
    missing = _HAS_NO_META if video else _IMPORT
    return {**_usual_memory(name, size_wh, buffer.get_size(), missing), **_colorimetry(said, name, size_wh[1])}


def _usual_memory(name: str, size_wh: Any, nbytes: int, missing: str) -> Described:
    """Return where the planes are by GStreamer's own strides; BufferSizeError if the buffer has another size.

    missing: why there is no VideoMeta, which would say where they are.
    """
    form, (width, height) = PIXEL_FORMATS[name], size_wh
    strides = strides_of("", form.planes, width, None)
    if not form.is_tiled:
        strides = tuple(-(-stride // 4) * 4 for stride in strides)
    even = -(-height // form.steps[1]) * form.steps[1]
    ends = [0]
    for plane, stride in zip(form.planes, strides):
        ends.append(ends[-1] + stride * stored_rows(plane, even))
    if nbytes != ends[-1]:
        raise BufferSizeError(
            f"x: its buffer has {nbytes} bytes; {name} of {width}x{height}, as its caps say, has {ends[-1]} "
            f"with GStreamer's own strides {strides}: {missing}"
        )
    return {"format": name, "size_wh": size_wh, "strides": strides, "offsets": ends[:-1], "size": ends[-1]}


def _check_whole_frames(interlace: str) -> None:
    """Raise NpuLayoutError if a buffer has no whole frame, line after line: a GstVideoInterlaceMode, by its nick."""
    if interlace in _FIELDS:
        raise NpuLayoutError(
            f"x: interlace-mode={interlace}: its buffers have {_FIELDS[interlace]}; expected whole frames: put "
            f"deinterlace before the sink"
        )


def _colorimetry(text: Any, name: str, height: int) -> Described:
    """Return matrix and range of a caps field: "bt709", or the numbers of range, matrix, transfer and primaries.

    Of what it does not say, and of a matrix that the table has not, GStreamer's default for the height; of a format
    that has no Y, U and V, nothing.
    """
    if PIXEL_FORMATS[name].kind != "yuv":
        return {}
    parts = str(text or "").split(":")
    numbers = [int(part) for part in parts[:2]] if len(parts) == 4 and all(p.isdecimal() for p in parts[:2]) else [0, 0]
    matrix = _NAMES.get(parts[0]) or _MATRICES.get(numbers[1])
    is_known = matrix is not None or numbers[1] in _UNSUPPORTED_MATRICES
    return {
        "matrix": matrix or ("bt709" if height > _SD_LINES else "bt601"),
        "range": "full" if is_known and numbers[0] == _FULL else "limited",
    }
