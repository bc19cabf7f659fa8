"""Read the configuration of a camera of picamera2, and that of one of its streams.

What is read, and where it is documented: ``request.config``, a camera's configuration, or that of one stream, `format`,
`size`, `stride`: The Picamera2 Library, appendix A (BGR888 has R first in memory, RGB888 has B first) and section 4.2;
of a request or a camera's configuration its `colour_space`, which is that of main and of lores (picamera2.py,
_make_libcamera_config), with `ycbcrEncoding` and `range`: libcamera, src/py/libcamera/py_color_space.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import NpuLayoutError
from .camera_formats import PICAMERA2, Described, known
from .pixel_formats import PIXEL_FORMATS

_MATRICES = {"Rec601": "bt601", "Rec709": "bt709", "Rec2020": "bt2020"}  # ColorSpace.YcbcrEncoding
_STREAMS = ("main", "lores", "raw")


def camera_configuration(x: Any) -> Mapping[str, Any] | None:
    """Return the configuration of a picamera2 request, or x if it is one; None if it is not."""
    config = getattr(x, "config", x)
    streams = isinstance(config, Mapping) and "format" not in config and any(name in config for name in _STREAMS)
    return config if streams else None


def picamera2(config: Mapping[str, Any], stream: str) -> Described:
    """Return what the configuration of a camera says of one of its streams."""
    found = config.get(stream)
    if not isinstance(found, Mapping) or not {"format", "size"} <= set(found):
        streams = ", ".join(name for name in _STREAMS if config.get(name) is not None) or "none"
        raise NpuLayoutError(
            f"stream: picamera2: expected a stream {stream!r} with format and size, got {streams}; give stream="
        )
    return picamera2_stream(found, config.get("colour_space"))


def picamera2_stream(stream: Mapping[str, Any], space: Any = None) -> Described:
    """Return what the configuration of one stream says. space: the colour space of the camera, None if unknown."""
    name = known("picamera2", PICAMERA2, stream["format"])
    size = stream["size"]
    found: Described = {"format": name, "size_wh": tuple(size) if isinstance(size, Iterable) else size}
    if stream.get("stride") and name != "MJPEG":
        found["strides"] = int(stream["stride"])
    if stream.get("framesize") and name != "MJPEG":
        found["size"] = int(stream["framesize"])
    matrix = _MATRICES.get(getattr(getattr(space, "ycbcrEncoding", None), "name", ""))
    if matrix is not None and PIXEL_FORMATS[name].kind == "yuv":
        found["matrix"] = matrix
        found["range"] = "full" if getattr(getattr(space, "range", None), "name", "") == "Full" else "limited"
    return found
