"""Make the picture of a frame of any format: uint8 rows of pixels, BGR or gray, with OpenCV and numpy.

What OpenCV's cvtColor converts (BT.601, limited range, even sizes) is its call; every other YUV format, size, matrix
and range has the same arithmetic in numpy, in 20-bit integers. U and V belong to all the pixels that share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..errors import NpuLayoutError
from ..kernels import Color, ComponentSamples
from ..layouts import CHANNEL_ORDERS, repack
from .color_matrices import color_of
from .geometry import Quad
from .jpeg import may_lack_data, with_more_data
from .pixel_formats import PixelFormat

OPENCV_COLOR = color_of("bt601", "limited")


class FramePlanes(NamedTuple):
    """A frame that was read: its format, size, colours, and its planes as `FrameSpec.planes` returns them."""

    format: PixelFormat
    size_wh: tuple[int, int]
    planes: tuple[np.ndarray, ...]
    color: Color = OPENCV_COLOR


def untiled(frame: FramePlanes) -> FramePlanes:
    """Return the frame with its tiles as rows, and with the high bytes of packed mosaics alone; others as they are."""
    width, height = frame.size_wh
    if frame.format.is_tiled:
        planes = []
        for form, plane in zip(frame.format.planes, frame.planes):
            rows = repack(plane, form.layout, "HW", shape=(form.rows(height), form.row_bytes(width)))
            planes.append(rows.reshape(len(rows), -1, form.channels) if form.channels else rows)
        plain = frame.format._replace(planes=tuple(form._replace(tile=None) for form in frame.format.planes))
        return frame._replace(format=plain, planes=tuple(planes))
    if frame.format.high_bytes:
        (form,), (plane,), count = frame.format.planes, frame.planes, frame.format.high_bytes
        groups = plane.reshape(height, -1, form.nbytes) if plane.flags.c_contiguous else _groups(plane, form.nbytes)
        pixels = repack(groups[:, :, :count], f"HW{count}w", "HW", shape=(height, width))
        return frame._replace(format=frame.format._replace(high_bytes=0), planes=(pixels,))
    return frame


def _groups(rows: np.ndarray, nbytes: int) -> np.ndarray:
    """Return rows of bytes with an axis of so many, a view."""
    strides = (rows.strides[0], nbytes * rows.strides[1], rows.strides[1])
    return np.lib.stride_tricks.as_strided(rows, (len(rows), rows.shape[1] // nbytes, nbytes), strides)


def component(frame: FramePlanes, samples: ComponentSamples) -> np.ndarray:
    """Return one component of an untiled frame as a view: uint8, a sample for every_x, every_y pixels."""
    plane = byte_rows(frame.planes[samples.plane])
    columns = -(-frame.size_wh[0] // samples.every_x)
    return plane[:, samples.start :: samples.step][:, :columns]


def in_rows(plane: np.ndarray) -> bool:
    """Return whether each row of a plane is in one piece."""
    step = plane.itemsize
    for extent, stride in zip(plane.shape[:0:-1], plane.strides[:0:-1]):
        if stride != step:
            return False
        step *= extent
    return True


def byte_rows(plane: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return a plane as (rows, bytes of a row), a view if each row is in one piece.

    out: what a copy is written to, a C-contiguous array of the plane's shape and dtype; None: new memory.
    """
    if not in_rows(plane):
        plane = in_one_piece(plane, out)
    return plane.reshape(len(plane), -1).view(np.uint8)


def in_one_piece(plane: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return a C-contiguous array: the plane itself if it is one, else a copy, in `out` if that is given.

    numpy copies an array of pixels that is mirrored or turned byte by byte.
    """
    if plane.flags.c_contiguous:
        return plane
    if out is None:
        out = np.empty(plane.shape, plane.dtype)
    axes = {2: "HW", 3: "HWC"}.get(plane.ndim)
    if axes is None:
        out[...] = plane
    elif _is_turned_pixels(plane):
        _turn(plane, out)
    else:
        repack(plane, axes, axes, out=out)
    return out


def _turn(plane: np.ndarray, out: np.ndarray) -> None:
    import cv2

    mirrored = tuple(axis for axis in (0, 1) if plane.strides[axis] < 0)
    forwards = np.flip(plane, mirrored)
    made = cv2.transpose(forwards.transpose(1, 0, 2), dst=out)
    if mirrored:
        made = cv2.flip(made, -1 if len(mirrored) == 2 else mirrored[0], dst=out)
    if made.ctypes.data != out.ctypes.data:
        out[...] = made


def _is_turned_pixels(plane: np.ndarray) -> bool:
    """Return whether columns of pixels of three bytes, which no move of the kernels takes whole, are rows."""
    if plane.ndim != 3 or plane.itemsize != 1 or plane.shape[2] != 3:
        return False
    down, along, channel = plane.strides
    return channel == 1 and abs(down) == 3 and abs(along) >= 3 * plane.shape[0]


def picture(frame: FramePlanes, box: Quad | None = None, *, gray: bool = False) -> np.ndarray:
    """Return the pixels of a part of a frame: uint8 (H, W, channels of the format's order), or (H, W, 1) in gray.

    box: x0, y0, x1, y1; the whole frame if it is None. The part has the pixels that the whole picture has there. A view
    of the frame if nothing is to be converted. Gray: of Y, U and V it is Y, brought from limited range to 0..255; of a
    mosaic, packed and coded formats OpenCV's conversion to gray; of BGR and its kind it is not made here.
    """
    x0, y0, x1, y1 = box or (0, 0, *frame.size_wh)
    made: np.ndarray = _MAKERS[frame.format.kind](frame, (x0, y0, x1, y1), gray)
    return made if made.ndim == 3 else made[..., None]


def _channels(frame: FramePlanes, box: Quad, gray: bool) -> np.ndarray:
    x0, y0, x1, y1 = box
    (plane,) = frame.planes
    part = plane[y0:y1, x0:x1]
    if plane.itemsize == 1:
        return part
    high = frame.format.samples[0].start
    return part.view(np.dtype([("low", "u1"), ("high", "u1")]))[("low", "high")[high]]


def _yuv(frame: FramePlanes, box: Quad, gray: bool) -> np.ndarray:
    x0, y0, x1, y1 = box
    frame = untiled(frame)
    y, u, v = (component(frame, samples) for samples in frame.format.samples)
    if gray:
        luma = y[y0:y1, x0:x1]
        return luma if frame.color.black == 0 else gray_table(frame.color)[luma]
    across, down = frame.format.steps
    left, top = x0 // across * across, y0 // down * down
    right, bottom = -(-x1 // across) * across, -(-y1 // down) * down
    inside = right <= frame.size_wh[0] and bottom <= frame.size_wh[1]
    if frame.format.conversion and frame.color == OPENCV_COLOR and inside:
        whole = _by_opencv(frame, (left, top, right, bottom))
    else:
        blocks = left, top, min(right, frame.size_wh[0]), min(bottom, frame.size_wh[1])
        compiled = kernels.active() != "numpy" and max(frame.size_wh) <= kernels.SIDE
        whole = _by_kernels(frame, blocks) if compiled else _by_numpy(frame, (y, u, v), blocks)
    return whole[y0 - top : y1 - top, x0 - left : x1 - left]


def _by_opencv(frame: FramePlanes, box: Quad) -> np.ndarray:
    """Return the BGR of whole blocks of pixels that share U and V."""
    import cv2

    x0, y0, x1, y1 = box
    code = getattr(cv2, "COLOR_" + frame.format.conversion.format("BGR"))
    parts = []
    for form, plane in zip(frame.format.planes, frame.planes):
        wide = form.every_x if form.channels != 2 or form.nbytes == 2 else 1  # YUYV's view has a column for each pixel
        part = plane[y0 // form.every_y : y1 // form.every_y, x0 // wide : x1 // wide]
        parts.append(part if part[:1].flags.c_contiguous and part.strides[0] > 0 else in_one_piece(part))
    if len(parts) == 1:
        return np.asarray(cv2.cvtColor(parts[0], code))
    if len(parts) == 2:
        return np.asarray(cv2.cvtColorTwoPlane(parts[0], parts[1], code))
    rows = np.concatenate([part.reshape(-1) for part in parts])
    return np.asarray(cv2.cvtColor(rows.reshape(-1, x1 - x0), code))


def _by_kernels(frame: FramePlanes, box: Quad) -> np.ndarray:
    """Return what `_by_numpy` returns, by a resize to the same size; the box begins at whole blocks."""
    x0, y0, x1, y1 = box
    width, height = x1 - x0, y1 - y0
    axes = kernels.nearest_axis(width, width, False), kernels.nearest_axis(height, height, True)
    bgr = CHANNEL_ORDERS["BGR"].rgb
    resize = kernels.PictureResize(frame.format.samples, frame.color, (width, height), (axes,), True, bgr, 3)
    parts = []
    for form, plane in zip(frame.format.planes, frame.planes):
        rows = byte_rows(plane)[y0 // form.every_y : -(-y1 // form.every_y)]
        parts.append(rows[:, x0 // form.every_x * form.nbytes : form.row_bytes(x1)])
    out = np.empty((3, height, width), np.uint8)
    kernels.picture_rows(resize).write(tuple(parts), out)
    return repack(out, "CHW", "HWC")


def _by_numpy(frame: FramePlanes, components: Sequence[np.ndarray], box: Quad) -> np.ndarray:
    """Return BGR by the coefficients; the box begins at whole blocks."""
    x0, y0, x1, y1 = box
    full = []
    for samples, values in zip(frame.format.samples, components):
        part = values[
            y0 // samples.every_y : -(-y1 // samples.every_y), x0 // samples.every_x : -(-x1 // samples.every_x)
        ]
        spread = part.repeat(samples.every_y, 0).repeat(samples.every_x, 1) if samples.every_x > 1 else part
        full.append(spread[: y1 - y0, : x1 - x0].astype(np.int32))
    return colored(full[0], full[1], full[2], frame.color)


def colored(y: np.ndarray, u: np.ndarray, v: np.ndarray, color: Color) -> np.ndarray:
    """Return uint8 BGR (..., 3) of int32 Y, U and V from 0 to 255."""
    light = np.maximum(y - color.black, 0) * color.luma + (1 << 19)
    u, v = u - 128, v - 128
    result = np.empty((*y.shape, 3), np.uint8)
    for channel, value in enumerate((color.blue_u * u, color.green_u * u + color.green_v * v, color.red_v * v)):
        np.clip((light + value) >> 20, 0, 255, out=result[..., channel], casting="unsafe")
    return result


@lru_cache(maxsize=16)
def gray_table(color: Color) -> np.ndarray:
    """Return the gray of each Y: what `colored` makes of it without color."""
    y = np.arange(256, dtype=np.int64)
    light = np.maximum(y - color.black, 0) * color.luma + (1 << 19)
    return np.asarray(np.clip(light >> 20, 0, 255).astype(np.uint8))


def _mosaic(frame: FramePlanes, box: Quad, gray: bool) -> np.ndarray:
    """Return OpenCV's bilinear interpolation of the whole mosaic, of 3x3 pixels at least, and of it the part."""
    import cv2

    x0, y0, x1, y1 = box
    (plane,) = untiled(frame).planes
    code = getattr(cv2, "COLOR_" + frame.format.conversion.format("GRAY" if gray else "BGR"))
    return np.asarray(cv2.cvtColor(in_one_piece(plane), code))[y0:y1, x0:x1]


def _packed(frame: FramePlanes, box: Quad, gray: bool) -> np.ndarray:
    import cv2

    x0, y0, x1, y1 = box
    (plane,) = frame.planes
    pixels = in_one_piece(plane[y0:y1, x0:x1]).view(np.uint8).reshape(y1 - y0, x1 - x0, 2)
    return np.asarray(
        cv2.cvtColor(pixels, getattr(cv2, "COLOR_" + frame.format.conversion.format("GRAY" if gray else "BGR")))
    )


def _coded(frame: FramePlanes, box: Quad, gray: bool) -> np.ndarray:
    x0, y0, x1, y1 = box
    (data,) = frame.planes
    decoded, width, height = _decoded(data, gray), *frame.size_wh
    if decoded is None or decoded.shape[1::-1] != frame.size_wh:
        got = "nothing" if decoded is None else f"{decoded.shape[1]}x{decoded.shape[0]}"
        raise NpuLayoutError(f"MJPEG: expected a JPEG of {width}x{height}, OpenCV decoded {got}")
    if may_lack_data(decoded):
        other = _decoded(np.frombuffer(with_more_data(bytes(data)), np.uint8), gray)
        if other is not None and not np.array_equal(decoded, other):
            raise NpuLayoutError(
                f"MJPEG: expected a JPEG with data for all of its {width}x{height} pixels, got {len(data)} bytes that "
                "end before (they were cut; FF D9 was added, or is an older frame's)"
            )
    return decoded[y0:y1, x0:x1]


def _decoded(data: np.ndarray, gray: bool) -> np.ndarray | None:
    import cv2

    how = (cv2.IMREAD_GRAYSCALE if gray else cv2.IMREAD_COLOR) | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        decoded = cv2.imdecode(data, how)
    except cv2.error:  # a size that it does not allocate
        return None
    return None if decoded is None else np.asarray(decoded)


_MAKERS: dict[str, Any] = {
    "channels": _channels,
    "yuv": _yuv,
    "mosaic": _mosaic,
    "packed": _packed,
    "coded": _coded,
}
