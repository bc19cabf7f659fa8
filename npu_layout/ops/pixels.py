"""Operators that move pixels and compute nothing: concat_channels, split_channels, crop, pad, flip."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Order
from ..errors import LayoutError, NpuLayoutError
from ..layouts import Shape, near, overlap
from ..support import plain_array
from .registry import Given, apply, checked_out, given, kernel, move


def whole(what: str, values: Any, count: int | None, least: int) -> Shape:
    """`values` as whole numbers. NpuLayoutError where they are others, or fewer or more than `count`."""
    try:
        numbers = tuple(operator.index(v) for v in values if not isinstance(v, (bool, np.bool_)))
        fits = len(numbers) == len(values) == (len(values) if count is None else count)
    except TypeError:
        numbers, fits = (), False
    if not fits or any(n < least for n in numbers):
        many = "" if count is None else f"{count} "
        raise NpuLayoutError(f"{what}: expected {many}whole numbers of at least {least}, got {values!r}")
    return numbers


def _view(taken: Given, part: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    """A part of the input as a view, or moved to `out`."""
    if out is None:
        return taken.result(part)
    return apply(taken._replace(arrays=(part,)), part.shape, part.dtype, out)


def crop(x: Any, xywh: Sequence[int], *, out: np.ndarray | None = None) -> np.ndarray:
    """The rectangle of w x h pixels from column x and row y on: a view, or a copy in `out`.

    x: (N,C,H,W), bool, integers or floats; xywh: whole numbers of pixels, within the image. LayoutError where the
    rectangle is not, NpuLayoutError on what else does not fit.

    >>> crop(np.arange(12).reshape(1, 1, 3, 4), (1, 2, 2, 1)).tolist()
    [[[[9, 10]]]]
    """
    taken = given("crop", x, values=False)
    left, top, w, h = whole("crop: xywh", xywh, 4, 0)
    height, width = taken.x.shape[2:]
    if left + w > width or top + h > height:
        raise LayoutError(f"crop: xywh {(left, top, w, h)} reaches beyond the {width} x {height} pixels of the image")
    return _view(taken, taken.x[:, :, top : top + h, left : left + w], out)


def flip(x: Any, *, out: np.ndarray | None = None) -> np.ndarray:
    """Left-right: the columns in reverse, a view, or a copy in `out` (x itself too).

    x: (N,C,H,W), bool, integers or floats. NpuLayoutError on what does not fit.

    >>> flip(np.arange(3).reshape(1, 1, 1, 3)).tolist()
    [[[[2, 1, 0]]]]
    """
    taken = given("flip", x, values=False)
    return _view(taken, taken.x[..., ::-1], out)


def split_channels(x: Any, sizes: Sequence[int], *, out: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, ...]:
    """Runs of `sizes` channels: views, or copies in the arrays of `out`, one for each.

    x: (N,C,H,W), bool, integers or floats; sizes: whole numbers, C in all. LayoutError where they are not,
    NpuLayoutError on what else does not fit; then nothing has been written.

    >>> heat, fields = split_channels(np.zeros((1, 57, 46, 46)), (19, 38))
    >>> heat.shape, fields.shape
    ((1, 19, 46, 46), (1, 38, 46, 46))
    """
    taken = given("split_channels", x, values=False)
    counts = whole("split_channels: sizes", sizes, None, 0)
    channels = taken.x.shape[1]
    if sum(counts) != channels:
        raise LayoutError(f"split_channels: expected sizes of {channels} channels in all, got {counts}")
    ends = np.cumsum((0, *counts)).tolist()
    parts = [taken.x[:, a:b] for a, b in zip(ends, ends[1:])]
    if out is None:
        return tuple(taken.result(part) for part in parts)
    if not isinstance(out, (tuple, list)) or len(out) != len(parts):
        got = len(out) if isinstance(out, (tuple, list)) else type(out).__name__
        raise NpuLayoutError(f"out for split_channels: expected {len(parts)} arrays, one for each size, got {got}")
    targets = [checked_out(taken, o, part.shape, part.dtype) for o, part in zip(out, parts)]
    if any(overlap(a, b) for i, a in enumerate(targets) for b in targets[:i]):
        raise NpuLayoutError("out for split_channels: expected arrays that share no memory")
    if any(near(target, taken.sources) for target in targets):
        parts = [part.copy(order="K") for part in parts]
    for part, target in zip(parts, targets):
        move(part, target)
    return tuple(out)


@kernel("crop", name="view, affine_copy")
@kernel("flip", name="view, affine_copy")
@kernel("split_channels", name="view, affine_copy")
def _move(x: np.ndarray, out: np.ndarray, order: Order) -> None:
    move(x, out)


def concat_channels(xs: Sequence[Any], *, out: np.ndarray | None = None) -> np.ndarray:
    """Arrays (N,Ci,H,W) one behind the other along the channels: (N, sum of Ci, H, W), always a copy.

    xs: one or more, of one dtype and the same N, H and W. The result has their format; where they differ that of the
    first Tensor, else C order. NpuLayoutError on what does not fit.

    >>> concat_channels([np.zeros((1, 19, 46, 46)), np.zeros((1, 38, 46, 46))]).shape
    (1, 57, 46, 46)
    """
    if not isinstance(xs, (tuple, list)) or not xs:
        raise NpuLayoutError(f"concat_channels: expected a sequence of one or more arrays, got {type(xs).__name__}")
    taken = given("concat_channels", *xs, values=False)
    n, _, h, w = taken.x.shape
    for a in taken.arrays:
        if (a.shape[0], *a.shape[2:]) != (n, h, w) or a.dtype != taken.x.dtype:
            raise NpuLayoutError(
                f"concat_channels: expected {taken.x.dtype} and shape ({n}, any, {h}, {w}) as the first array has, "
                f"got {a.dtype} and {a.shape}"
            )
    return apply(taken, (n, sum(a.shape[1] for a in taken.arrays), h, w), taken.x.dtype, out)


@kernel("concat_channels", name="affine_copy")
def _concatenate(x: Any, out: np.ndarray, order: Order) -> None:
    at = 0
    for part in x if isinstance(x, tuple) else (x,):
        move(part, out[:, at : at + part.shape[1]])
        at += part.shape[1]


def pad(x: Any, pad_ltrb: Sequence[int], value: Any = 0, *, out: np.ndarray | None = None) -> np.ndarray:
    """A border of so many pixels on the left, top, right and bottom, filled with `value`: always a copy.

    x: (N,C,H,W); pad_ltrb: whole numbers, 0 or more; value: a number that the dtype of x can hold, or one for each
    channel. NpuLayoutError on what does not fit.

    >>> pad(np.ones((1, 1, 1, 1), int), (1, 0, 2, 0), 7).tolist()
    [[[[7, 1, 7, 7]]]]
    """
    taken = given("pad", x, values=False, windows=True)
    left, top, right, bottom = whole("pad: pad_ltrb", pad_ltrb, 4, 0)
    n, c, h, w = taken.x.shape
    values = _values(value, c, taken.x.dtype)
    shape = (n, c, top + h + bottom, left + w + right)
    return apply(taken, shape, taken.x.dtype, out, corner=(left, top), values=values)


def _values(value: Any, channels: int, dtype: np.dtype[Any]) -> np.ndarray:
    given = plain_array(value)
    if given.dtype.kind in "biuf" and given.ndim <= 1 and given.size in (1, channels):
        with np.errstate(all="ignore"):
            held = given.astype(dtype)
        kept = np.isinf(held) == np.isinf(given) if dtype.kind == "f" else held == given
        if kept.all():
            return held.reshape(1, -1, 1, 1)
    raise NpuLayoutError(f"pad: value: expected 1 or {channels} numbers that {dtype} can hold, got {value!r}")


@kernel("pad", name="affine_copy")
def _bordered(x: np.ndarray, out: np.ndarray, order: Order, corner: Shape, values: np.ndarray) -> None:
    left, top = corner
    h, w = x.shape[2:]
    for border in (out[:, :, :top], out[:, :, top + h :], out[:, :, top : top + h, :left], out[:, :, top:, left + w :]):
        border[...] = values
    move(x, out[:, :, top : top + h, left : left + w])
