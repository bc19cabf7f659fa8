"""Read the frames of cameras' own SDKs by their methods: a row for each, of its formats, its size and its memory.

None of these is imported. Where their members are documented:

* RealSense ``video_frame``: `get_profile`, `get_width`, `get_height`, `get_data`: librealsense, wrappers/python/
  pyrs_frame.cpp. What `get_data` returns shows the pitch of its rows as its strides.
* Orbbec ``VideoFrame``: `get_format`, `get_width`, `get_height`, `get_data`, rows without gaps: orbbec/pyorbbecsdk,
  stubs/pyorbbecsdk.pyi and examples/utils.py.
* pylon ``GrabResult``: `GetPixelType` (a number of GenICam's Pixel Format Naming Convention), `GetWidth`, `GetHeight`,
  `GetPaddingX` (bytes behind each row), `GetImageMemoryView`: basler/pypylon, src/pylon/GrabResultPtr.i and
  GrabResultData.i.
* jetson_utils ``cudaImage``: `format`, `width`, `height`, and `__array_interface__`, which is None of memory that is
  the GPU's alone: dusty-nv/jetson-utils, python/bindings/PyCUDA.cpp; the formats' names: its image/imageFormat.inl.
* Harvesters ``Component2DImage``: `data_format` (a name of the same convention), `width`, `height`, `data`, which is
  refused if it has another size than rows without gaps: genicam/harvesters, src/harvesters/core.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple

import numpy as np

from ..errors import NpuLayoutError
from .camera_formats import GENICAM, JETSON, ORBBEC, PFNC, REALSENSE, Described, known
from .pixel_formats import PIXEL_FORMATS
from .plane_memory import strides_of


class Sdk(NamedTuple):
    """How one SDK's frame is read: who names its formats, members that identify it, and functions of the frame."""

    name: str
    members: tuple[str, ...]
    formats: Mapping[str, str]
    format_of: Callable[[Any], Any]
    size_wh: Callable[[Any], tuple[int, int]]
    gap: Callable[[Any], int]  # bytes behind each row
    memory: Callable[[Any], Any]


@dataclass(frozen=True)
class FrameCopy:  # no tuple, which would be a frame of planes
    """A copy of such a frame, whose memory the SDK does not use again."""

    described: Described
    memory: np.ndarray


def _enum(value: Any) -> str:
    return str(getattr(value, "name", value)).rpartition(".")[2]


def _got(x: Any) -> tuple[int, int]:
    return int(x.get_width()), int(x.get_height())


def _pfnc(x: Any) -> str:
    number = int(x.GetPixelType()) & 0xFFFFFFFF
    return PFNC.get(number, hex(number))


def _dense(data: Any) -> np.ndarray:
    """Return the bytes of an array without the gaps behind its rows: a view where there are none."""
    return np.ascontiguousarray(np.asarray(data)).reshape(-1).view(np.uint8)


def _mapped(x: Any) -> np.ndarray:
    if x.__array_interface__ is None:
        raise NpuLayoutError("its memory is the GPU's alone: allocate or copy it with mapped=True (jetson_utils)")
    return _dense(x)


SDKS = (
    Sdk(
        "RealSense",
        ("get_profile", "get_stride_in_bytes", "get_data"),
        REALSENSE,
        lambda x: _enum(x.get_profile().format()),
        _got,
        lambda x: 0,
        lambda x: _dense(x.get_data()),
    ),
    Sdk(
        "Orbbec",
        ("get_format", "get_width", "get_height", "get_data"),
        ORBBEC,
        lambda x: _enum(x.get_format()),
        _got,
        lambda x: 0,
        lambda x: _dense(x.get_data()),
    ),
    Sdk(
        "GenICam",  # pylon
        ("GetPixelType", "GetPaddingX", "GetImageMemoryView"),
        GENICAM,
        _pfnc,
        lambda x: (int(x.GetWidth()), int(x.GetHeight())),
        lambda x: int(x.GetPaddingX()),
        lambda x: x.GetImageMemoryView(),
    ),
    Sdk(
        "Jetson",
        ("format", "channels", "timestamp", "__array_interface__", "__cuda_array_interface__"),
        JETSON,
        lambda x: _enum(x.format),
        lambda x: (int(x.width), int(x.height)),
        lambda x: 0,
        _mapped,
    ),
    Sdk(
        "GenICam",  # Harvesters
        ("data_format", "width", "height", "data"),
        GENICAM,
        lambda x: _enum(x.data_format),
        lambda x: (int(x.width), int(x.height)),
        lambda x: 0,
        lambda x: _dense(x.data),
    ),
)


PLAIN = (np.ndarray, bytes, bytearray, memoryview, tuple, list)  # frames of no library, which is known at once


def sdk_described(sdk: Sdk, x: Any) -> Described:
    """Return the arguments of the FrameSpec of a frame; NpuLayoutError on a format that the table has not."""
    name = known(sdk.name, sdk.formats, sdk.format_of(x))
    size_wh, gap = sdk.size_wh(x), sdk.gap(x)
    found: Described = {"format": name, "size_wh": size_wh}
    if gap and name != "MJPEG":
        found["strides"] = tuple(row + gap for row in strides_of("", PIXEL_FORMATS[name].planes, size_wh[0], None))
        found["size"] = found["strides"][0] * size_wh[1]
    return found


def frame_copy(sdk: Sdk, x: Any) -> FrameCopy:
    """Return a copy of a frame."""
    return FrameCopy(sdk_described(sdk, x), np.array(np.frombuffer(sdk.memory(x), np.uint8)))
