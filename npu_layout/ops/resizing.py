"""Resize images without changing their memory format: interpolated by cv2, nearest pixels by numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import AxisOrder, axis_order, empty
from ..errors import NpuLayoutError
from ..support import checked_call, one_of, whole_numbers
from .applying import apply, checked_inputs
from .moving import move, rounded
from .registry import Kernel, OperatorKernels

_CV2 = {"linear": "INTER_LINEAR", "cubic": "INTER_CUBIC"}
_KNOWN = ("nearest", *_CV2)
_CV2_DTYPES = frozenset(("uint8", "uint16", "int16", "float32", "float64"))
# The other dtypes are resized in a wider one: float64 for integers that are not in this table.
_WIDER = {"bool": "float32", "int8": "int16", "float16": "float32"}
_CHANNELS = 128  # that cv2 accepts at once
_LONGEST = 2**31 - 1  # width or height that it can return
_SMALL = 2048  # pixels, before and after, up to which planes are resized as channels of one image
_CHANNELS_INNERMOST, _C_ORDER = axis_order("HWNC"), axis_order("NCHW")


@checked_call
def resize(
    x: Any, size_wh: Sequence[int], interpolation: str = "linear", *, out: np.ndarray | None = None
) -> np.ndarray:
    """Resize every plane: (N,C,H,W) -> (N, C, height, width), the dtype of x, always a copy.

    Parameters
    ----------
    x
        Numbers or bools: images, heatmaps, masks.
    size_wh
        Width and height of the result, in pixels.
    interpolation
        "linear" or "cubic": as by cv2.resize, with half-pixel centres and the outermost pixels repeated; nothing is
        smoothed when the image shrinks. Integers are rounded, bools are True from 0.5. Two formats may differ in the
        last place, or by 1 for integers, because cv2 has several implementations.
        "nearest": the pixel that contains the new pixel's centre, found in whole numbers (on an edge, the later one).
    out
        Array of the result's shape and dtype, in any format, to write to; it is returned.

    Raises
    ------
    NpuLayoutError
        On an image without pixels, and on what does not fit.

    Examples
    --------
    >>> resize(np.array([[[[1, 2]]]], np.uint8), (4, 1), "nearest").tolist()
    [[[[1, 1, 2, 2]]]]
    """
    if not isinstance(interpolation, str) or interpolation not in _KNOWN:
        one_of("resize: interpolation", interpolation, _KNOWN)
    nearest = interpolation == "nearest"
    inputs = checked_inputs(NEAREST if nearest else RESIZE, x, values=not nearest, windows=True)
    width, height = whole_numbers("resize: size_wh", size_wh, 2, 1)
    if not nearest and max(width, height) > _LONGEST:
        raise NpuLayoutError(f"resize: size_wh: expected at most {_LONGEST} for {interpolation}, got {size_wh!r}")
    n, c, h, w = inputs.x.shape
    if not h or not w:
        raise NpuLayoutError(f"resize: expected an image with pixels, got shape {inputs.x.shape}")
    how = {} if nearest else {"how": _CV2[interpolation]}
    dtype = inputs.sources[0].dtype
    if dtype.kind == "b":
        inputs = inputs._replace(arrays=inputs.sources)
    return apply(inputs, (n, c, height, width), dtype if nearest else dtype.newbyteorder("="), out, **how)


def _nearest(x: np.ndarray, out: np.ndarray, order: AxisOrder) -> None:
    stored, target = x.transpose(order.stored), out.transpose(order.stored)
    first, last = sorted((2, 3), key=lambda axis: out.shape[axis] / x.shape[axis])  # the smaller result in between
    stored = np.take(stored, _centres(x.shape[first], out.shape[first]), order.back[first])
    places = _centres(x.shape[last], out.shape[last])
    if target.flags.c_contiguous:
        np.take(stored, places, order.back[last], out=target, mode="clip")
    else:
        move(np.take(stored, places, order.back[last]).transpose(order.back), out)


def _centres(old: int, new: int) -> np.ndarray:
    return (2 * np.arange(new) + 1) * old // (2 * new)


def _images(x: np.ndarray, out: np.ndarray, order: AxisOrder, how: str) -> None:
    """Resize images (H, W, axes inside of W) one by one.

    H is stored right before W, or nothing inside of W.
    """
    places = list(order.stored)
    inside = places[places.index(3) + 1 :]
    around = [axis for axis in places if axis not in (2, 3, *inside)]
    turn = (*around, 2, 3, *inside)
    pixels = x.shape[2] * x.shape[3] + out.shape[2] * out.shape[3]
    if not inside and pixels <= _SMALL and x.shape[0] * x.shape[1] > 4:
        _turned(x, out, _CHANNELS_INNERMOST, how)
        return
    target = out.transpose(turn)
    if not _is_image(target[(0,) * len(around)]):
        _turned(x, out, order, how, source=False)
        return
    source = x.transpose(turn)
    for index in np.ndindex(source.shape[: len(around)]):
        _image(source[index], target[index], how)


def _turned(x: np.ndarray, out: np.ndarray, order: AxisOrder, how: str, source: bool = True) -> None:
    """Resize by way of temporary arrays in another order: of both, or only of the result."""
    result = empty(out.shape, out.dtype, order.layout)
    if source:
        turned = empty(x.shape, x.dtype, order.layout)
        move(x, turned)
        x = turned
    _images(x, result, order, how)
    move(result, out)


def _is_image(x: np.ndarray) -> bool:
    """Return whether cv2 accepts (H, W, ...) without a copy.

    Rows have to be contiguous, follow each other, and start at whole elements. It also reads the strides of axes of
    extent 1.
    """
    row = x.itemsize
    for extent, stride in zip(x.shape[:0:-1], x.strides[:0:-1]):
        if stride != row:
            return False
        row *= extent
    return x.shape[0] == 1 or (x.strides[0] >= row and not x.strides[0] % x.itemsize)


def _image(x: np.ndarray, out: np.ndarray, how: str) -> None:
    import cv2

    flag = getattr(cv2, how)
    h, w = out.shape[:2]
    x = x if _is_image(x) else np.ascontiguousarray(x)
    channels = math.prod(x.shape[2:])
    pixels, target = x.reshape(*x.shape[:2], channels), out.reshape(h, w, channels)
    for c in range(0, channels, _CHANNELS):
        part, result = (a if channels <= _CHANNELS else a[..., c : c + _CHANNELS] for a in (pixels, target))
        if part.shape[2] == 1:
            part, result = part[..., 0], result[..., 0]
        if channels > _CHANNELS:
            result[...] = cv2.resize(np.ascontiguousarray(part), (w, h), interpolation=flag)
            continue
        written = cv2.resize(part, (w, h), dst=result, interpolation=flag)
        if written.ctypes.data != result.ctypes.data:
            result[...] = written


def _any_resize(x: np.ndarray, out: np.ndarray, order: AxisOrder, how: str) -> None:
    own = x.dtype.name
    work = np.dtype(own if own in _CV2_DTYPES else _WIDER.get(own, "float64"))
    source, result = (empty(x.shape, work, _C_ORDER.layout), empty(out.shape, work, _C_ORDER.layout))
    source[...] = x
    _images(source, result, _C_ORDER, how)
    if out.dtype == bool:
        out[...] = result >= 0.5
    elif out.dtype == work:
        move(result, out)
    elif out.dtype.kind == "f":
        out[...] = result
    else:
        rounded(result, out)


RESIZE = OperatorKernels(
    "resize",
    Kernel(_images, "cv2, plane by plane", "*HW", _CV2_DTYPES),
    Kernel(_images, "cv2, image by image", "*HW*", _CV2_DTYPES),
    Kernel(_images, "cv2, row by row", "*W", _CV2_DTYPES),
    Kernel(_any_resize),
)
NEAREST = OperatorKernels("resize, nearest", Kernel(_nearest, "numpy.take"))
OPERATORS = (RESIZE, NEAREST)
