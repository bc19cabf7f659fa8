"""Convert elements by numpy, step by step in float32, and bytes to bytes by OpenCV's look-up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..bfloat16 import round_to_bfloat16, widen_bfloat16
from ..box import Arithmetic, Box, limits
from .moving import SHORT, Step, moving

Loops = tuple[tuple[int, int, int, int], ...]

_EXACT = 1 << 22  # integers up to which float32 adds two without rounding
_WHOLE = 2.0**53  # integers up to which float64 adds two without rounding
_DIGIT = 1 << 32
_TABLE = 1 << 13  # bytes from which on a table of all results pays
_CHUNK = 1 << 19  # elements that are converted at a time: with fewer, numpy's calls cost more than caches save
_TILE = 1 << 12  # elements up to which parameters are repeated
_LINE = 64  # bytes


def converting(box: Box, arithmetic: Arithmetic) -> list[Step]:
    """Return the steps that convert a box of elements, in pieces."""
    loops = box.loops or ((1, 1, 1, 0),)
    src_size, dst_size = arithmetic.itemsizes
    narrows = dst_size < src_size  # convert in the order of the source, and move the smaller elements
    if narrows:
        loops = tuple(sorted(loops, key=lambda k: -abs(k[1])))
    if len(loops) > 1 and loops[-1][0] <= SHORT and (loops[-1][3] or (not narrows and loops[-2][2] != loops[-1][0])):
        loops = (loops[-1], *loops[:-1])  # numpy is faster if its innermost loop is long
    # numpy converts float16 so slowly that a move first pays only if cache lines would not be read whole.
    views = narrows or (arithmetic.src_dtype == "float16" and abs(loops[-1][1]) * src_size < _LINE)
    return [
        partial(_convert_part, part, arithmetic, narrows, views) for part in _chunks(loops, box.src, box.dst, box.param)
    ]


def _convert_part(
    part: Box, arithmetic: Arithmetic, narrows: bool, views: bool, src: np.ndarray, dst: np.ndarray
) -> None:
    extents, steps = tuple(k[0] for k in part.loops), _dense(part.loops)
    count = math.prod(extents)
    if all(k[1] == step for k, step in zip(part.loops, steps)):
        x = src[part.src : part.src + count]
    elif views:
        x = _view(src, src.dtype, part.src, extents, tuple(k[1] for k in part.loops))
    else:
        x = np.empty(count, src.dtype)
        walks = ((n, s, step) for (n, s, _, _), step in zip(part.loops, steps))
        moving(_walk(walks, part.src, 0), src.itemsize)(src, x)
    target = _view(dst, dst.dtype, part.dst, extents, tuple(k[2] for k in part.loops))
    reorders = narrows and not target.flags.c_contiguous
    y = np.empty(extents, dst.dtype) if reorders else target
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        _convert(x.reshape(extents), y, part, arithmetic)
    if reorders:
        walks = ((n, step, d) for (n, _, d, _), step in zip(part.loops, steps))
        moving(_walk(walks, 0, part.dst), dst.itemsize)(y.reshape(-1), dst)


def _dense(loops: Loops) -> list[int]:
    """Return the steps of nested loops through an array without gaps."""
    steps = [1]
    for n, *_ in loops[:0:-1]:
        steps.append(steps[-1] * n)
    return steps[::-1]


def _walk(loops: Iterable[tuple[int, int, int]], src: int, dst: int) -> Box:
    """Return the box of loops in any order."""
    return Box(tuple((*k, 0) for k in sorted(loops, key=lambda k: -abs(k[2]))), src, dst, 0)


def _view(flat: np.ndarray, dtype: Any, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    size = flat.itemsize
    return np.ndarray(shape, dtype, flat, start * size, tuple(s * size for s in strides))


def _chunks(loops: Loops, src: int, dst: int, param: int) -> Iterator[Box]:
    """Yield pieces of at most _CHUNK elements, split along the source's largest stride: each reads whole lines."""
    total = math.prod(k[0] for k in loops)
    if total <= _CHUNK:
        yield Box(loops, src, dst, param)
        return
    cut = max(range(len(loops)), key=lambda i: abs(loops[i][1]))
    n, s, d, p = loops[cut]
    step = max(1, _CHUNK * n // total)
    for i in range(0, n, step):
        piece = (*loops[:cut], (min(step, n - i), s, d, p), *loops[cut + 1 :])
        if step == 1:
            piece = loops[:cut] + loops[cut + 1 :]
        yield from _chunks(piece, src + i * s, dst + i * d, param + i * p)


def _convert(x: np.ndarray, dst: np.ndarray, part: Box, a: Arithmetic) -> None:
    """Convert the elements of a part; `x` and `dst` have its extents."""
    strides = tuple(k[3] for k in part.loops)
    if not any(strides) and dst.flags.c_contiguous and x.flags.c_contiguous:
        x, dst = x.reshape(-1), dst.reshape(-1)
    repeat = _repeat(x, dst, strides)
    if repeat > 1:
        extents = (x.size // (repeat * x.shape[-1]), repeat * x.shape[-1])
        x, dst = x.reshape(extents), dst.reshape(extents)
    if not any(strides) and x.itemsize == dst.itemsize == 1 and x.size > _TABLE and dst.flags.c_contiguous:
        _look_up(x, dst, part, a)
        return
    if a.src_dtype == "bfloat16":
        x = widen_bfloat16(x)
    every = ((np.subtract, a.affine.shift), (np.multiply, a.affine.scale), (np.divide, a.affine.divisor))
    present = [(function, values) for function, values in every if values is not None]
    if not present and a.affine.zero_point is None:
        _write(round_to_bfloat16(x.astype(np.float32)) if a.dst_dtype == "bfloat16" else x, dst)
        return
    parameter = partial(_parameter, start=part.param, strides=strides, extents=x.shape, repeat=repeat)
    y = _computed(x, dst, a, [(function, parameter(values)) for function, values in present])
    if a.affine.zero_point is not None:
        _saturate(y, dst, parameter(a.affine.zero_point), a)
    elif y is not dst:
        _write(round_to_bfloat16(y) if a.dst_dtype == "bfloat16" else y, dst)


def _computed(
    x: np.ndarray, dst: np.ndarray, a: Arithmetic, steps: Sequence[tuple[Callable[..., Any], np.ndarray]]
) -> np.ndarray:
    """Return x after these steps, in float32: in `dst` if it is contiguous float32, else a new array."""
    y = dst if a.dst_dtype == "float32" and dst.flags.c_contiguous else np.empty(x.shape, np.float32)
    if x.dtype != np.float32 or not steps:
        y[...] = x
        x = y
    for function, values in steps:
        function(x, values, out=y)
        x = y
    return y


def _parameter(
    values: np.ndarray, start: int, strides: tuple[int, ...], extents: tuple[int, ...], repeat: int
) -> np.ndarray:
    """Return parameters that broadcast with `extents`: their extent is 1 along axes on which they do not change."""
    if repeat > 1:
        return np.tile(values[start:][: extents[-1] // repeat * strides[-1] : strides[-1]], repeat)
    shape = tuple(n if step else 1 for n, step in zip(extents, strides))
    if values.dtype.hasobject:  # numpy makes no array of objects from a buffer
        steps = tuple(s * values.itemsize for s in strides[: len(extents)])
        return np.lib.stride_tricks.as_strided(values[start:], shape, steps, writeable=False)
    return _view(values, values.dtype, start, shape, strides[: len(extents)])


def _repeat(x: np.ndarray, dst: np.ndarray, strides: tuple[int, ...]) -> int:
    """Return how many rows of contiguous channels numpy converts faster as one, with parameters that are repeated."""
    if not x.size or not strides[-1] or any(strides[:-1]) or not (x.flags.c_contiguous and dst.flags.c_contiguous):
        return 1
    rows, most = x.size // x.shape[-1], max(1, _TILE // x.shape[-1])
    return next(k for k in range(most, 0, -1) if rows % k == 0)


def _look_up(x: np.ndarray, dst: np.ndarray, part: Box, a: Arithmetic) -> None:
    """Convert bytes to bytes by a table of all 256 results."""
    import cv2

    table = np.empty(256, dst.dtype)
    _convert(np.arange(256, dtype=np.uint8).view(x.dtype), table, Box(((256, 1, 1, 0),), 0, 0, part.param), a)
    cv2.LUT(x.view(np.uint8).reshape(1, -1), table.view(np.uint8), dst.view(np.uint8).reshape(1, -1))


def _write(y: np.ndarray, dst: np.ndarray) -> None:
    """Write y to dst, plane by plane if there are SHORT or fewer: numpy would make that loop the innermost one."""
    if y.ndim > 1 and len(y) <= SHORT:
        for plane, target in zip(y, dst):
            target[...] = plane
    else:
        dst[...] = y


def _saturate(y: np.ndarray, dst: np.ndarray, zero_point: Any, a: Arithmetic) -> None:
    """Round y, which is overwritten, add the zero point, and write it saturated to an integer `dst`."""
    lowest, highest = limits(a.dst_dtype)
    if a.affine.float_zero_point:
        y += np.asarray(zero_point, np.float32)
    np.rint(y, out=y)
    zero = np.asarray(0 if a.affine.float_zero_point else zero_point, np.float32)
    exact = np.abs(zero).max() < _EXACT
    if exact and lowest < -2 * _EXACT and y.min() > -_EXACT and y.max() < _EXACT:
        y += zero
        _write(y, dst)
        return
    if exact and dst.itemsize <= 2:
        y += zero
        np.clip(y, lowest, highest, out=y)
        if not _stays_finite(a) and np.isnan(y.min()):  # four times as fast as fmax, which would do the same
            y[np.isnan(y)] = lowest
        _write(y, dst)
        return
    if not a.affine.float_zero_point and _may_round(y, dst, zero_point):
        _add_exactly(y, dst, zero_point, lowest, highest)
        return
    wide = y.astype(np.float64)  # numpy 1 would keep float32 beside a float64 scalar
    if not a.affine.float_zero_point:
        wide += zero_point
    wide = np.asarray(np.fmax(wide, float(lowest)))
    top = wide >= float(highest)  # float64 cannot represent 2**63 - 1, so the highest value is written on its own
    wide[top] = 0
    dst[...] = wide
    dst[top] = highest


def _may_round(y: np.ndarray, dst: np.ndarray, zero_point: Any) -> bool:
    """Return whether float64 may round y + zero_point, integers, to another value than `dst` stores."""
    zero = np.asarray(zero_point)
    if dst.itemsize < 8 and not zero.dtype.hasobject:  # a sum that is rounded is beyond such a dtype
        return False
    most = float(np.abs(zero).max())
    return not (float(y.min()) - most > -_WHOLE and float(y.max()) + most < _WHOLE)


def _add_exactly(y: np.ndarray, dst: np.ndarray, zero_point: np.ndarray, lowest: int, highest: int) -> None:
    """Write y + zero_point, integers, saturated, although float64 would round their sum.

    A number is split into digits to the base 2**32: float64 adds those without rounding, or the sum is beyond every
    dtype.
    """
    zeros = [int(z) for z in np.asarray(zero_point).reshape(-1).tolist()]
    zero_high, zero_low = (
        np.array([n[i] for n in map(_digits, zeros)], np.float64).reshape(np.shape(zero_point)) for i in (0, 1)
    )
    wide = y.astype(np.float64)
    high = np.floor(wide / _DIGIT)
    low = wide - high * _DIGIT + zero_low
    carry = low >= _DIGIT
    high, low = high + zero_high + carry, low - carry * float(_DIGIT)
    (least, least_low), (most, most_low) = _digits(lowest), _digits(highest)
    below = (high < least) | ((high == least) & (low < least_low)) | np.isnan(wide)
    above = (high > most) | ((high == most) & (low > most_low))
    high[below | above], low[below | above] = 0, 0
    kind = np.uint64 if lowest >= 0 else np.int64
    dst[...] = (high.astype(kind) << kind(32)) | low.astype(kind)
    dst[below], dst[above] = lowest, highest


def _digits(number: int) -> tuple[int, int]:
    return number >> 32, number & (_DIGIT - 1)


def _stays_finite(a: Arithmetic) -> bool:
    """Return whether no NaN can arise: from integers, by finite parameters that do not divide by zero."""
    parameters = [p for p in a.affine.values if p is not None]
    whole = "int" in a.src_dtype and all(np.isfinite(p).all() for p in parameters)
    return whole and (a.affine.divisor is None or bool(np.all(a.affine.divisor)))
