"""Read a V4L2 format, the struct that VIDIOC_G_FMT fills, in a FrameSpec's terms.

Read by attributes, of any binding: ``v4l2_format`` (`type`, `fmt.pix`, `fmt.pix_mp`), ``v4l2_pix_format``
(`pixelformat`, `width`, `height`, `field`, `bytesperline`, `sizeimage`, `colorspace`, `priv`, `ycbcr_enc`,
`quantization`) and ``v4l2_pix_format_mplane`` (`num_planes`, `plane_fmt`): Linux's include/uapi/linux/videodev2.h and
https://docs.kernel.org/userspace-api/media/v4l/pixfmt.html. linuxpy's ``Frame`` has `data`, and as `format` `width`,
`height`, `pixel_format`, `size` and `bytes_per_line`, without colours: linuxpy 0.25, linuxpy/video/device.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import NpuLayoutError
from ..support import shown
from .camera_formats import V4L2, Described, known
from .color_matrices import MATRICES
from .pixel_formats import PIXEL_FORMATS

_UNIONS = {1: "pix", 9: "pix_mp"}  # V4L2_BUF_TYPE_VIDEO_CAPTURE, _VIDEO_CAPTURE_MPLANE
_EXTENDED = 0xFEEDCAFE  # V4L2_PIX_FMT_PRIV_MAGIC: without it, what is behind `priv` is not set
_BIG_ENDIAN = 1 << 31  # v4l2_fourcc_be
_FIELDS = {  # enum v4l2_field, of those that have no whole frames
    **dict.fromkeys((2, 3, 7), "one field each, half of the lines"),
    **dict.fromkeys((5, 6), "two fields, one behind the other"),
}
_MATRICES = {1: "bt601", 2: "bt709", 3: "bt601", 4: "bt709", 5: "bt601", 6: "bt2020"}  # enum v4l2_ycbcr_encoding
_OTHER_MATRICES = {7: "BT.2020 of constant luminance", 8: "SMPTE 240M"}
_ENCODINGS = {2: 8, 3: 2, 10: 6, 12: 2}  # V4L2_MAP_YCBCR_ENC_DEFAULT: of a colorspace; 1, BT.601, of others
_JPEG = 7  # V4L2_COLORSPACE_JPEG, whose Y, U and V are of full range: V4L2_MAP_QUANTIZATION_DEFAULT
_RANGES = {1: "full", 2: "limited"}  # enum v4l2_quantization


def is_v4l2(x: Any) -> bool:
    """Return whether it is a v4l2_format, a v4l2_pix_format or a v4l2_pix_format_mplane of any binding."""
    return hasattr(getattr(x, "fmt", None), "pix") or (
        hasattr(x, "pixelformat") and (hasattr(x, "bytesperline") or hasattr(x, "plane_fmt"))
    )


def v4l2(x: Any) -> Described:
    """Return the arguments of the FrameSpec of a V4L2 format.

    Where each plane has memory of its own, a frame is a tuple of them, so that there are no offsets.
    """
    pix = _pix(x)
    name = known("V4L2", V4L2, _code(int(pix.pixelformat)))
    field = int(getattr(pix, "field", 1))  # V4L2_FIELD_NONE
    if field in _FIELDS:
        raise NpuLayoutError(
            f"x: V4L2's field is {field}: its buffers have {_FIELDS[field]}; expected whole frames: "
            f"set field to V4L2_FIELD_NONE or V4L2_FIELD_INTERLACED"
        )
    found: Described = {"format": name, "size_wh": (int(pix.width), int(pix.height))}
    if name == "MJPEG":
        return found
    return {**found, **_memory(pix, name), **_colors(pix, name)}


class _Pix(NamedTuple):
    width: int
    height: int
    pixelformat: int
    bytesperline: int
    sizeimage: int


def is_linuxpy_frame(x: Any) -> bool:
    """Return whether it is linuxpy's Frame, which a capture yields."""
    form = getattr(x, "format", None)
    return hasattr(form, "bytes_per_line") and hasattr(form, "pixel_format") and hasattr(x, "data")


def linuxpy_format(x: Any) -> Described:
    """Return the arguments of the FrameSpec of linuxpy's Format."""
    return v4l2(_Pix(*map(int, (x.width, x.height, x.pixel_format, x.bytes_per_line, x.size))))


def _pix(x: Any) -> Any:
    """Return the struct of pixels: x, or the one of the union that `type` says."""
    if not hasattr(x, "fmt"):
        return x
    kind = int(x.type)
    if kind not in _UNIONS:
        raise NpuLayoutError(
            f"x: a V4L2 format of buffers of type {kind}; expected 1, V4L2_BUF_TYPE_VIDEO_CAPTURE, or 9, its _MPLANE"
        )
    return getattr(x.fmt, _UNIONS[kind])


def _code(number: int) -> str:
    """Return a code's four characters, and "-BE" behind them if it is of big endian, as the kernel prints it."""
    code = (number & ~_BIG_ENDIAN).to_bytes(4, "little").decode("latin-1")
    return code + "-BE" if number & _BIG_ENDIAN else code


def _memory(pix: Any, name: str) -> Described:
    """Return strides in bytes, and the size where one buffer has all planes."""
    planes = len(PIXEL_FORMATS[name].planes)
    count = int(getattr(pix, "num_planes", 1))
    if count not in (1, planes):
        raise NpuLayoutError(
            f"x: V4L2's num_planes is {count}; expected {planes} of {name}, or 1 for all in one buffer"
        )
    if count > 1:
        rows = [int(plane.bytesperline) for plane in pix.plane_fmt[:count]]
        return {"strides": tuple(rows)} if all(rows) else {}
    one = pix.plane_fmt[0] if hasattr(pix, "plane_fmt") else pix
    given = {"strides": int(one.bytesperline), "size": int(one.sizeimage)}
    return {key: value for key, value in given.items() if value}  # 0 is not said


def _colors(pix: Any, name: str) -> Described:
    """Return matrix and range of Y, U and V; what is 0 has the default of the colorspace."""
    if PIXEL_FORMATS[name].kind != "yuv":
        return {}
    extended = hasattr(pix, "plane_fmt") or int(getattr(pix, "priv", _EXTENDED)) & 0xFFFFFFFF == _EXTENDED
    said = {key: int(getattr(pix, key, 0)) if extended else 0 for key in ("ycbcr_enc", "quantization")}
    space = int(getattr(pix, "colorspace", 0))
    encoding = said["ycbcr_enc"] or _ENCODINGS.get(space, 1)
    if encoding not in _MATRICES:
        what = _OTHER_MATRICES.get(encoding, shown(encoding))
        raise NpuLayoutError(
            f"x: its ycbcr_enc, or that of its colorspace {space}, is {what}; expected {', '.join(MATRICES)}: give "
            f"FrameSpec({name!r}, size_wh, strides=, size=, matrix=) with the nearest"
        )
    full = "full" if space == _JPEG else "limited"
    return {"matrix": _MATRICES[encoding], "range": _RANGES.get(said["quantization"], full)}
