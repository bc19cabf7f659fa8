"""What other libraries call the pixel formats: a table for each, and how each makes another format or gives its memory.

Where the names are documented: `camera_stacks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import NpuLayoutError
from .format_names import depth_words
from .pixel_formats import PIXEL_FORMATS

Described = dict[str, Any]  # the arguments of a FrameSpec

FFMPEG = {
    **{"bgr24": "BGR", "rgb24": "RGB", "bgra": "BGRA", "rgba": "RGBA", "bgr0": "BGRX", "rgb0": "RGBX"},
    **{"gray": "GRAY", "gray8": "GRAY", "gray16le": "GRAY16", "rgb565le": "RGB565"},
    **{"nv12": "NV12", "nv21": "NV21", "nv16": "NV16", "nv24": "NV24"},
    **{"p010le": "P010", "p012le": "P010", "p016le": "P010"},  # of all three the high 8 bits are used
    **{"yuv420p": "I420", "yuv422p": "I422", "yuv444p": "I444"},
    **{"yuvj420p": "I420", "yuvj422p": "I422", "yuvj444p": "I444"},
    **{"yuyv422": "YUYV", "uyvy422": "UYVY", "yvyu422": "YVYU"},
    **{f"bayer_{pattern.lower()}8": pattern for pattern in ("RGGB", "BGGR", "GRBG", "GBRG")},
}
GSTREAMER = {
    **{name: name for name in PIXEL_FORMATS if name[:2] in ("NV", "UY", "YV", "I4")},
    **{"BGR": "BGR", "RGB": "RGB", "BGRA": "BGRA", "RGBA": "RGBA", "BGRx": "BGRX", "RGBx": "RGBX"},
    **{"GRAY8": "GRAY", "GRAY16_LE": "GRAY16", "RGB16": "RGB565"},
    **{"P010_10LE": "P010", "P012_LE": "P010", "P016_LE": "P010"},
    **{"Y42B": "I422", "Y444": "I444", "YUY2": "YUYV"},
    **{pattern.lower(): pattern for pattern in ("RGGB", "BGGR", "GRBG", "GBRG")},  # video/x-bayer
}
PICAMERA2 = {
    **{"BGR888": "RGB", "RGB888": "BGR", "XBGR8888": "RGBX", "XRGB8888": "BGRX"},
    **{"YUV420": "I420", "YVU420": "YV12", "NV12": "NV12", "NV21": "NV21"},
    **{"YUYV": "YUYV", "UYVY": "UYVY", "YVYU": "YVYU", "MJPEG": "MJPEG"},
    "R8": "GRAY",
    **{f"S{pattern}8": pattern for pattern in ("RGGB", "BGGR", "GRBG", "GBRG")},
    **{
        f"S{pattern}{bits}_CSI2P": f"{pattern}{bits}P"
        for pattern in ("RGGB", "BGGR", "GRBG", "GBRG")
        for bits in (10, 12)
    },
}
ROS = {
    **{"bgr8": "BGR", "rgb8": "RGB", "bgra8": "BGRA", "rgba8": "RGBA", "mono8": "GRAY", "mono16": "GRAY16"},
    **{"8UC1": "GRAY", "8UC3": "BGR", "8UC4": "BGRA"},
    **{"yuv422": "UYVY", "uyvy": "UYVY", "yuv422_yuy2": "YUYV", "yuyv": "YUYV", "nv21": "NV21", "nv24": "NV24"},
    **{f"bayer_{pattern.lower()}8": pattern for pattern in ("RGGB", "BGGR", "GRBG", "GBRG")},
}
DEPTHAI = {
    **{"NV12": "NV12", "NV21": "NV21", "YUV420p": "I420"},
    **{"BGR888i": "BGR", "RGB888i": "RGB", "RGBA8888": "RGBA"},
    **{"GRAY8": "GRAY", "YUV400p": "GRAY", "RAW8": "GRAY"},
}
#: Codes of four characters; a code of planes in memory of their own, as NM12, is the format of a tuple of planes.
V4L2 = {
    **{"BGR3": "BGR", "RGB3": "RGB", "AR24": "BGRA", "XR24": "BGRX", "BGR4": "BGRX", "AB24": "RGBA", "XB24": "RGBX"},
    **{"GREY": "GRAY", "Y16 ": "GRAY16", "RGBP": "RGB565"},
    **{"NV12": "NV12", "NV21": "NV21", "NV16": "NV16", "NV24": "NV24", "P010": "P010"},
    **{"NM12": "NV12", "NM21": "NV21", "NM16": "NV16"},
    **{"YU12": "I420", "YV12": "YV12", "422P": "I422", "YM12": "I420", "YM21": "YV12", "YM16": "I422", "YM24": "I444"},
    **{"YUYV": "YUYV", "UYVY": "UYVY", "YVYU": "YVYU"},
    **{"RGGB": "RGGB", "BA81": "BGGR", "GRBG": "GRBG", "GBRG": "GBRG"},
    **{"pRAA": "RGGB10P", "pBAA": "BGGR10P", "pgAA": "GRBG10P", "pGAA": "GBRG10P"},
    **{"pRCC": "RGGB12P", "pBCC": "BGGR12P", "pgCC": "GRBG12P", "pGCC": "GBRG12P"},
    **{"VT12": "NV12_4L4", "ST12": "NV12_32L32", "MM21": "NV12_16L32S", "AT12": "NV12_8L128"},
    **{"MJPG": "MJPEG", "JPEG": "MJPEG"},
}
_MOSAICS = {"RG": "RGGB", "BG": "BGGR", "GR": "GRBG", "GB": "GBRG"}  # GenICam's first two pixels
REALSENSE = {
    **{"bgr8": "BGR", "rgb8": "RGB", "bgra8": "BGRA", "rgba8": "RGBA"},
    **{"yuyv": "YUYV", "uyvy": "UYVY", "y8": "GRAY"},
}
ORBBEC = {
    **{"BGR": "BGR", "RGB": "RGB", "BGRA": "BGRA", "RGBA": "RGBA", "Y8": "GRAY", "GRAY": "GRAY"},
    **{"YUYV": "YUYV", "YUY2": "YUYV", "UYVY": "UYVY", "NV12": "NV12", "NV21": "NV21", "I420": "I420", "YV12": "YV12"},
    "MJPG": "MJPEG",
}
JETSON = {"bgr8": "BGR", "rgb8": "RGB", "bgra8": "BGRA", "rgba8": "RGBA", "gray8": "GRAY"}
GENICAM = {
    **{"Mono8": "GRAY", "Mono16": "GRAY16", "RGB8": "RGB", "BGR8": "BGR", "RGBa8": "RGBA", "BGRa8": "BGRA"},
    **{"RGB8Packed": "RGB", "BGR8Packed": "BGR", "RGBA8Packed": "RGBA", "BGRA8Packed": "BGRA"},
    **{"YUV422_8": "YUYV", "YCbCr422_8": "YUYV", "YUV422_YUYV_Packed": "YUYV"},
    **{"YUV422_8_UYVY": "UYVY", "YUV422Packed": "UYVY"},
    **{f"Bayer{first}8": name for first, name in _MOSAICS.items()},
}
#: GenICam's numbers of these, which pylon's PixelType has: PFNC's PFNC.h.
PFNC = {
    **{0x01080001: "Mono8", 0x01100007: "Mono16", 0x02180014: "RGB8", 0x02180015: "BGR8"},
    **{0x02200016: "RGBa8", 0x02200017: "BGRa8"},
    **{0x02100032: "YUV422_8", 0x0210003B: "YCbCr422_8", 0x0210001F: "YUV422_8_UYVY"},
    **{0x01080008: "BayerGR8", 0x01080009: "BayerRG8", 0x0108000A: "BayerGB8", 0x0108000B: "BayerBG8"},
}
PILLOW = {"RGB": "RGB", "RGBA": "RGBA", "RGBX": "RGBX", "L": "GRAY", "I;16": "GRAY16"}
#: How each library makes a format of the table of one that is not there.
ADVICE = {
    "FFmpeg": "convert it, frame.reformat(format='bgr24'), or 'nv12' of Y, U and V",
    "GStreamer": "put videoconvert ! video/x-raw,format=NV12 before the sink",
    "picamera2": "configure the stream with one of these",
    "DepthAI": "give frame.getCvFrame(), which is BGR of pictures",
    "ROS": "convert it, CvBridge().imgmsg_to_cv2(message, 'bgr8')",
    "V4L2": "ask the driver for one of these with VIDIOC_S_FMT",
    "Pillow": "convert it, image.convert('RGB')",
    "RealSense": "ask for one of these in config.enable_stream(rs.stream.color, ...); depth is no picture",
    "Orbbec": "ask for one of these in the profile of the stream; depth is no picture",
    "Jetson": "capture it as one of these, source.Capture(format='rgb8')",
    "GenICam": "set the camera's PixelFormat to one of these, or convert it, as pylon.ImageFormatConverter does",
}
#: What to give of other libraries' objects, by a member that they have: their memory, which they do not show.
MEMORY = {
    "make_buffer": "give frame.make_buffer('main') and source=FrameSpec.of(frame)",  # picamera2's request
    "get_caps": "give get_buffer().map(Gst.MapFlags.READ)[1].data and source=FrameSpec.of(sample)",  # Gst.Sample
    "get_data": "give np.asanyarray(frame.get_data())",  # pyrealsense2's video_frame
    "GetArray": "give frame.GetArray()",  # pypylon's GrabResult
    "payload": "give the data of payload.components[0], reshaped to its height and width",  # Harvesters' buffer
    "isSubmatrix": "give frame.get()",  # cv2.UMat
    "download": "give frame.download()",  # cv2.cuda.GpuMat
}


def known(stack: str, table: Mapping[str, str], name: Any) -> str:
    """Return the format that a library calls by this name; NpuLayoutError, with its next step, if there is none."""
    if str(name) not in table:
        depths, formats = depth_words(str(name)), f"expected one of {', '.join(table)}: {ADVICE[stack]}"
        raise NpuLayoutError(
            f"x: {stack}'s format {str(name)!r} is not in the table; {formats}"
            if not depths
            else f"x: {stack}'s format {str(name)!r} is no picture: {depths}. Of a picture, {formats}"
        )
    return table[str(name)]
