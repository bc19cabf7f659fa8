"""Operators that only move pixels: concat_channels, split_channels, crop, pad, flip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import AxisOrder
from ..errors import LayoutError, NpuLayoutError
from ..layouts import Shape, near, overlap
from ..support import checked_call, plain_array, shown, whole_numbers
from .applying import Inputs, apply, checked_inputs, checked_out
from .moving import move
from .registry import Kernel, OperatorKernels


def _view(inputs: Inputs, part: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """Return a part of the input as a view, or copied to `out`."""
    if out is None:
        return inputs.result(part)
    return apply(inputs._replace(arrays=(part,)), part.shape, part.dtype, out)


@checked_call
def crop(x: Any, xywh: Sequence[int], *, out: np.ndarray | None = None) -> np.ndarray:
    """Return the rectangle of w x h pixels that begins at column x and row y: a view, or a copy in `out`.

    x: (N,C,H,W), bool, integers or floats; xywh: whole numbers of pixels. LayoutError if the rectangle is not within
    the image, NpuLayoutError on what else does not fit.

    >>> crop(np.arange(12).reshape(1, 1, 3, 4), (1, 2, 2, 1)).tolist()
    [[[[9, 10]]]]
    """
    inputs = checked_inputs(CROP, x, values=False)
    left, top, w, h = whole_numbers("crop: xywh", xywh, 4, 0)
    height, width = inputs.x.shape[2:]
    if left + w > width or top + h > height:
        raise LayoutError(f"crop: xywh: expected a rectangle within {width} x {height} pixels, got {(left, top, w, h)}")
    return _view(inputs, inputs.x[:, :, top : top + h, left : left + w], out)


@checked_call
def flip(x: Any, *, out: np.ndarray | None = None) -> np.ndarray:
    """Return the image mirrored, its columns in reverse order: a view, or a copy in `out`, which may be x itself.

    x: (N,C,H,W), bool, integers or floats. NpuLayoutError on what does not fit.

    >>> flip(np.arange(3).reshape(1, 1, 1, 3)).tolist()
    [[[[2, 1, 0]]]]
    """
    inputs = checked_inputs(FLIP, x, values=False)
    return _view(inputs, inputs.x[..., ::-1], out)


@checked_call
def split_channels(x: Any, sizes: Sequence[int], *, out: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, ...]:
    """Split the channels into groups of `sizes` channels: a tuple of views, or of copies in the arrays of `out`.

    x: (N,C,H,W), bool, integers or floats; sizes: whole numbers whose sum is C; out: an array for each group.
    LayoutError if the sum is not C, NpuLayoutError on what else does not fit; nothing was written then.

    >>> heat, fields = split_channels(np.zeros((1, 57, 46, 46)), (19, 38))
    >>> heat.shape, fields.shape
    ((1, 19, 46, 46), (1, 38, 46, 46))
    """
    inputs = checked_inputs(SPLIT, x, values=False)
    counts = whole_numbers("split_channels: sizes", sizes, None, 0)
    channels = inputs.x.shape[1]
    if sum(counts) != channels:
        raise LayoutError(f"split_channels: sizes: expected a sum of {channels}, the channels of x, got {counts}")
    ends = np.cumsum((0, *counts)).tolist()
    parts = [inputs.x[:, a:b] for a, b in zip(ends, ends[1:])]
    if out is None:
        return tuple(inputs.result(part) for part in parts)
    if not isinstance(out, (tuple, list)) or len(out) != len(parts):
        got = len(out) if isinstance(out, (tuple, list)) else type(out).__name__
        raise NpuLayoutError(f"out for split_channels: expected {len(parts)} arrays, one for each size, got {got}")
    targets = [checked_out(inputs, o, part.shape, part.dtype) for o, part in zip(out, parts)]
    if any(overlap(a, b) for i, a in enumerate(targets) for b in targets[:i]):
        raise NpuLayoutError("out for split_channels: expected arrays that share no memory")
    if any(near(target, inputs.sources) for target in targets):
        parts = [part.copy(order="K") for part in parts]
    for part, target in zip(parts, targets):
        move(part, target)
    return tuple(out)


def _move(x: np.ndarray, out: np.ndarray, order: AxisOrder) -> None:
    move(x, out)


_VIEW = Kernel(_move, "view, affine_copy")
CROP = OperatorKernels("crop", _VIEW)
FLIP = OperatorKernels("flip", _VIEW)
SPLIT = OperatorKernels("split_channels", _VIEW)


@checked_call
def concat_channels(xs: Sequence[Any], *, out: np.ndarray | None = None) -> np.ndarray:
    """Concatenate arrays (N,Ci,H,W) along the channels: (N, sum of Ci, H, W), always a copy.

    xs: one or more, of one dtype and the same N, H and W. The result has their format; if their formats differ, that of
    the first Tensor, else C order. out: an array of the result's shape and dtype, in any format, to write to; it is
    returned. NpuLayoutError on what does not fit.

    >>> concat_channels([np.zeros((1, 19, 46, 46)), np.zeros((1, 38, 46, 46))]).shape
    (1, 57, 46, 46)
    """
    if not isinstance(xs, (tuple, list)) or not xs:
        raise NpuLayoutError(f"concat_channels: xs: expected a sequence of one or more arrays, got {type(xs).__name__}")
    inputs = checked_inputs(CONCAT, *xs, values=False)
    n, _, h, w = inputs.x.shape
    for a in inputs.arrays:
        if (a.shape[0], *a.shape[2:]) != (n, h, w) or a.dtype != inputs.x.dtype:
            raise NpuLayoutError(
                f"concat_channels: xs: expected {inputs.x.dtype} and shape ({n}, any, {h}, {w}) as the first array "
                f"has, got {a.dtype} and {a.shape}"
            )
    return apply(inputs, (n, sum(a.shape[1] for a in inputs.arrays), h, w), inputs.x.dtype, out)


def _concatenate(x: Any, out: np.ndarray, order: AxisOrder) -> None:
    at = 0
    for part in x if isinstance(x, tuple) else (x,):
        move(part, out[:, at : at + part.shape[1]])
        at += part.shape[1]


CONCAT = OperatorKernels("concat_channels", Kernel(_concatenate, "affine_copy"), argument="xs")


@checked_call
def pad(x: Any, pad_ltrb: Sequence[int], value: Any = 0, *, out: np.ndarray | None = None) -> np.ndarray:
    """Add pixels of `value` at the left, top, right and bottom: always a copy.

    x: (N,C,H,W); pad_ltrb: how many pixels at each side, whole numbers of 0 or more; value: a number that the dtype of
    x can represent, or one for each channel. out: an array of the result's shape and dtype, in any format, to write to;
    it is returned. NpuLayoutError on what does not fit.

    >>> pad(np.ones((1, 1, 1, 1), int), (1, 0, 2, 0), 7).tolist()
    [[[[7, 1, 7, 7]]]]
    """
    inputs = checked_inputs(PAD, x, values=False, windows=True)
    left, top, right, bottom = whole_numbers("pad: pad_ltrb", pad_ltrb, 4, 0)
    n, c, h, w = inputs.x.shape
    values = _values(value, c, inputs.x.dtype)
    shape = (n, c, top + h + bottom, left + w + right)
    return apply(inputs, shape, inputs.x.dtype, out, corner=(left, top), values=values)


def _values(value: Any, channels: int, dtype: np.dtype[Any]) -> np.ndarray:
    given = plain_array("pad: value", value, expected="numbers")
    if given.dtype.kind in "biuf" and given.ndim <= 1 and given.size in (1, channels):
        with np.errstate(all="ignore"):
            cast = given.astype(dtype)
        kept = np.isinf(cast) == np.isinf(given) if dtype.kind == "f" else cast == given
        if kept.all():
            return cast.reshape(1, -1, 1, 1)
    raise NpuLayoutError(f"pad: value: expected 1 or {channels} numbers that {dtype} can represent, got {shown(value)}")


def _bordered(x: np.ndarray, out: np.ndarray, order: AxisOrder, corner: Shape, values: np.ndarray) -> None:
    left, top = corner
    h, w = x.shape[2:]
    for border in (out[:, :, :top], out[:, :, top + h :], out[:, :, top : top + h, :left], out[:, :, top:, left + w :]):
        border[...] = values
    move(x, out[:, :, top : top + h, left : left + w])


PAD = OperatorKernels("pad", Kernel(_bordered, "affine_copy"))
OPERATORS = (CROP, FLIP, SPLIT, CONCAT, PAD)
