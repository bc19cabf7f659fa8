"""What pixel formats are called elsewhere: names of the same memory, and of memory that no format here has.

Sources: Linux's videodev2.h and drm_fourcc.h, FFmpeg's pixfmt.h, GStreamer's video-format.h, OpenCV's and Android's
constants, libcamera's formats.yaml, GenICam's Pixel Format Naming Convention (PFNC), and GigE Vision's older names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_PATTERNS = {"RG": "RGGB", "BG": "BGGR", "GR": "GRBG", "GB": "GBRG"}  # GenICam's first two pixels

#: Names in capitals, of the same memory. Where a name is another memory elsewhere, both are named.
ELSEWHERE = {
    **{"NM12": "NV12", "NV12M": "NV12", "NM21": "NV21", "NV21M": "NV21", "YVU420SP": "NV21", "YCRCB_420_SP": "NV21"},
    **{"YU12": "I420", "IYUV": "I420", "YUV420": "I420", "YM12": "I420", "YUV420M": "I420"},
    **{"YVU420": "YV12", "YUV422P": "I422", "422P": "I422", "Y42B": "I422", "YUV444P": "I444"},
    **{"YUY2": "YUYV", "YUYV422": "YUYV", "UYVY422": "UYVY", "YVYU422": "YVYU"},
    **{"YUV422_YUY2": "YUYV", "YUV422_8": "YUYV", "YCBCR422_8": "YUYV", "YUV422_YUYV_PACKED": "YUYV"},
    **{"YUV422_8_UYVY": "UYVY", "YUV422PACKED": "UYVY"},
    **dict.fromkeys(("P010LE", "P010_10LE", "P012", "P012LE", "P012_LE", "P016", "P016LE", "P016_LE"), "P010"),
    **{"GREY": "GRAY", "Y8": "GRAY", "Y800": "GRAY", "R8": "GRAY", "GRAY8": "GRAY", "MONO8": "GRAY", "8UC1": "GRAY"},
    **{"Y16": "GRAY16", "GRAY16LE": "GRAY16", "GRAY16_LE": "GRAY16", "MONO16": "GRAY16"},
    **{"BGR3": "BGR", "BGR24": "BGR", "8UC3": "BGR", "BGR8PACKED": "BGR", "RG24": "BGR", "RGB3": "RGB", "BG24": "RGB"},
    **{"RGB8PACKED": "RGB", "8UC4": "BGRA", "BGRA8": "BGRA", "RGBA8": "RGBA"},
    **{"XR24": "BGRX", "BGR0": "BGRX", "XRGB8888": "BGRX", "RGB0": "RGBX", "XB24": "RGBX", "XBGR8888": "RGBX"},
    **{"AR24": "BGRA", "ARGB8888": "BGRA", "AB24": "RGBA", "ABGR8888": "RGBA"},
    **{f"BAYER{start}8": pattern for start, pattern in _PATTERNS.items()},
    **{f"{letter}{pattern}8": pattern for pattern in _PATTERNS.values() for letter in ("S", "BAYER_")},
    **{f"S{pattern}{n}_CSI2P": f"{pattern}{n}P" for pattern in _PATTERNS.values() for n in (10, 12)},
    "BA81": "BGGR",
    **{"PRAA": "RGGB10P", "PRCC": "RGGB12P", "PBAA": "BGGR10P", "PBCC": "BGGR12P"},
    **{"VT12": "NV12_4L4", "ST12": "NV12_32L32", "MM21": "NV12_16L32S", "AT12": "NV12_8L128"},
    **{"JPEG": "MJPEG", "JPG": "MJPEG", "MJPG": "MJPEG"},
    "YUV422": "I422, as libcamera means it, or UYVY, as ROS means it",
    "YUV444": "I444, as libcamera means it",
    "RGBA8888": "RGBA, as Android and DepthAI mean it (libcamera's and DRM's have A first, which is none of these)",
    "YUV420SP": "NV12, or NV21, as OpenCV and Android's Camera mean it",
    "YUV420P": "I420, or YV12, as OpenCV and Android's Camera mean it",
    "YUVJ420P": "I420 with range='full'",
    "YUVJ422P": "I422 with range='full'",
    "YUVJ444P": "I444 with range='full'",
    "Y444": "I444, as GStreamer means it (V4L2's has 16 bits a pixel, which is none of these)",
    "RGB24": "RGB, or BGR, as Windows means it",
    "RGB888": "RGB, as its letters say, or BGR, as libcamera, picamera2 and DRM mean it",
    "BGR888": "BGR, as its letters say, or RGB, as libcamera, picamera2 and DRM mean it",
    "RGB8": "RGB, as GenICam and ROS mean it (FFmpeg's has 8 bits a pixel, which is none of these)",
    "BGR8": "BGR, as GenICam and ROS mean it (FFmpeg's has 8 bits a pixel, which is none of these)",
    "RGBP": "RGB565, as V4L2 means it (GStreamer's has three planes, which is none of these)",
    "BGR565": "RGB565, as OpenCV means it (FFmpeg's and DRM's have blue in the high bits, which is none of these)",
}
#: V4L2's names that differ by case alone.
_CASED = {"pGAA": "GBRG10P", "pgAA": "GRBG10P", "pGCC": "GBRG12P", "pgCC": "GRBG12P"}
#: Words that hardly ever use all their bits: ROS's REP 118 has depths in millimetres or metres in the first three.
_DEPTHS = (
    "16UC1|32FC1|64FC1|16SC1|Z16|DEPTH16|DEPTH_?U16",
    "it has depths, or other numbers than brightness: scale them to bytes, as "
    "np.clip(depth // 16, 0, 255).astype(np.uint8) does for up to 4 m in mm, and give these as GRAY; if they are "
    "brightness in all 16 bits, give them as an array, as GRAY16",
)
#: What looks like one of the formats, and is none: patterns of names in capitals, and what they are.
_ABSENT = (
    ("NV61", "it has V before U: give (y, uv[..., ::-1]) as NV16"),
    ("NV42", "it has V before U: give (y, uv[..., ::-1]) as NV24"),
    ("VYUY", "it has V before U: frame[..., ::-1] of the array (H, W, 2) is YVYU"),
    ("YV16", "it has V before U: give (y, u, v) as I422"),
    ("YV24", "it has V before U: give (y, u, v) as I444"),
    ("I010|I420_10LE|YUV4[0-9]{2}P1[0-9](LE)?", "its planes have samples of 16 bits, low bits used"),
    ("GBRP|GBR|(RGB|BGR)888P|(RGB|BGR)8_?PLANAR", "it has three planes of colours: give np.dstack((b, g, r)) as BGR"),
    ("[X0]RGB|ARGB", "its first byte is no colour: frame[..., 1:] is RGB"),
    ("[X0]BGR|ABGR", "its first byte is no colour: frame[..., 1:] is BGR"),
    (
        "Y10|Y12|Y14|MONO1[024]|GRAY1[024](LE)?|R1[02]",
        "its words have their bits at the low end: frame << 6 of 10 bits, << 4 of 12, << 2 of 14, is GRAY16",
    ),
    ("Y10P|R10_CSI2P", "it is gray in CSI-2's packing: the first 4 bytes of each 5 are GRAY"),
    ("Y12P|R12_CSI2P", "it is gray in CSI-2's packing: the first 2 bytes of each 3 are GRAY"),
    (
        "S?(RGGB|BGGR|GRBG|GBRG)1[0246]|BAYER_(RGGB|BGGR|GRBG|GBRG)16(LE)?|(BAYER)?(RG|BG|GR|GB)1[0246]|BA10|BYR2",
        "its mosaic has words of 16 bits: (frame >> 2).astype(np.uint8) of 10 bits, >> 4 of 12, >> 6 of 14, >> 8 of "
        "16, is one of bytes",
    ),
    ("NV15|NV20|NV12_10LE(32|40)|NV16_10LE32", "its samples have 10 bits, packed: ask the decoder for NV12 or P010"),
    ("H26[45]|X26[45]|HEVC|AVC1?|AV01|AV1|VP[89]", "it is compressed video: a decoder makes NV12, I420 or BGR of it"),
    _DEPTHS,
    (
        "(MONO|BAYER(RG|BG|GR|GB))1[02](P|PACKED)",
        "its packing is another than CSI-2's, with low bits first or in the middle: ask the camera for 8 bits",
    ),
)


def hint_of(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: which of the `known` formats an unknown name is, what it is else, or nothing.

    A name that is nearly one of them is another format as often as a slip, so that case and signs alone may differ.
    """
    plain = name.strip().upper()
    same = _CASED.get(name.strip()) or ELSEWHERE.get(plain)
    if same is None:
        what = next((words for pattern, words in _ABSENT if re.fullmatch(pattern, plain)), None)
        if what is not None:
            return f". {name.strip()} is none of these: {what}"
        same = {_letters(one): one for one in known}.get(_letters(name))
    return f". Is it {same}?" if same else ""


def depth_words(name: str) -> str:
    """Return what to do with a frame of depths, by its format's name; "" of other names."""
    pattern, words = _DEPTHS
    return words if re.fullmatch(pattern, name.strip().upper()) else ""


def _letters(name: str) -> str:
    return re.sub("[^A-Z0-9]", "", name.upper())
