"""Compute argmax, top_k, softmax, sigmoid and peaks by numpy, by the rules that all kernels follow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..bfloat16 import widen_bfloat16

_NEIGHBOURS = 64  # channels up to which numpy's reductions are faster over planes
_MANY = 256  # positions from which on the largest values, if they are not many, are found one by one
_SUMMED = 1024  # channels that are added up in float32
_CHUNK = 1 << 19  # elements computed at a time: fewer cost more in numpy's calls, more leave the caches


def argmax(x: np.ndarray, out: np.ndarray, channels: int, dtype: str) -> None:
    """Write the first largest channel of `x` (*positions, *digits of the channel) to `out` (*positions), int64.

    As numpy.argmax: -0 equals 0, and the first NaN is the largest of all.
    """
    for part, result in _parts(x, out.ndim, channels, out):  # numpy copies what is not contiguous
        if x.ndim == out.ndim + 1 and dtype != "bfloat16":
            result[...] = part[..., :channels].argmax(-1)
        else:
            rows = np.stack(list(_planes(part, out.ndim, channels)), -1)
            result[...] = _floats(rows, dtype).argmax(-1)


def top_k(x: np.ndarray, values: np.ndarray, numbers: np.ndarray, channels: int, dtype: str) -> None:
    """Write the k largest channels of each position of `x` (*positions, *digits of the channel), the largest first.

    Their values go to `values`, their channels to `numbers`, both (*positions, k).

    Of equal ones the lower channel comes first; -0 equals 0, and every NaN is the largest of all.
    """
    positions, k = numbers.ndim - 1, numbers.shape[-1]
    both = (_parts(x, positions, channels, out) for out in (numbers, values))
    for (part, which), (_, largest) in zip(*both):
        one = part.ndim == positions + 1
        rows = part[..., :channels] if one else np.stack(list(_planes(part, positions, channels)), -1)
        real = _floats(rows, dtype)
        most = 8 if real.itemsize == 4 else 2  # numpy sorts shorter dtypes faster, by their digits
        if k <= most and which.size >= k * _MANY:
            keys = _ascending(real)
            for j in range(k):
                best = keys.argmax(-1)
                which[..., j] = best
                np.put_along_axis(keys, best[..., None], np.iinfo(keys.dtype).min, -1)
        else:
            which[...] = _descending(real).argsort(-1, kind="stable")[..., :k]
        largest[...] = np.take_along_axis(rows, which, -1)


def _ascending(x: np.ndarray) -> np.ndarray:
    """Return integers in the order of int8 .. int32 or float32, NaN the largest; none is the lowest of its dtype."""
    if x.dtype.kind != "f":
        return x.astype({1: np.int16, 2: np.int32, 4: np.int64}[x.itemsize])
    keys = (x + np.float32(0)).view(np.int32)
    keys ^= (keys >> 31) & np.int32(2**31 - 1)
    keys[np.isnan(x)] = 2**31 - 1
    return keys


def _descending(x: np.ndarray) -> np.ndarray:
    """Return numbers in the opposite order of int8 .. int32 or float32; NaN, the largest, comes first."""
    if x.dtype.kind != "f":
        return ~x
    return ~_ascending(x) if np.isnan(x).any() else -x


def softmax(
    x: np.ndarray, out: np.ndarray, positions: int, channels: int, dtype: str, scale: float, zero_point: float
) -> None:
    """Write e**(v - max v) / their sum over the channels to float32 `out`, of v = (x - zero_point) * scale.

    A result of the compiled kernels is within 16 units in the last place of exact arithmetic on v in float32 (or
    1.22e-38), one of numpy's within 144, because v - max v is rounded, as is each of the sums. All results of a
    position are NaN if it has a NaN, or if its largest value is infinite. The compiled levels agree to the last bit;
    the exponentials here are numpy's. On either backend the strides of `x` and `out` make no difference.
    """
    for part, result in _parts(x, positions, channels, out):
        with np.errstate(all="ignore"):
            v = _floats(_first(part, positions, channels), dtype).astype(np.float32, copy=False)
            if dtype != "float32":
                v = (v - np.float32(zero_point)) * np.float32(scale)
            if v.strides[0] == 4 and channels < _NEIGHBOURS:
                v = np.ascontiguousarray(v)
            alike = result.ndim == positions + 1 and (v.strides[0] == 4) == (result.strides[-1] == 4)
            e = _first(result, positions, channels) if alike else np.empty_like(v)
            np.exp(np.subtract(v, v.max(0), out=e), out=e)
            e /= _summed(e)
        if not alike:
            for plane, target in zip(e, _planes(result, positions, channels)):
                target[...] = plane


def _summed(e: np.ndarray) -> np.ndarray:
    """Return the sums over the channels, in an order that depends on their number alone.

    Eight partial sums, each of every eighth channel, are added in pairs, then what is left of eight channels: numpy's
    own sum has one order for planes and another for neighbours. Blocks of _SUMMED channels are added in float64.
    """
    total = np.zeros(e.shape[1:], np.float32 if len(e) <= _SUMMED else np.float64)
    for first in range(0, len(e), _SUMMED):
        block = e[first : first + _SUMMED]
        whole = len(block) // 8 * 8
        found: Any = np.float32(0)
        if whole:
            s = np.einsum("kj...->j...", block[:whole].reshape(-1, 8, *e.shape[1:]))  # add.reduce: up to 8 times slower
            found = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
        for plane in block[whole:]:
            found = found + plane
        total += found
    return total.astype(np.float32, copy=False)


def sigmoid(
    x: np.ndarray, out: np.ndarray, dtype: str, scale: float, zero_point: float, positions: int | None, channels: int
) -> None:
    """Write 1 / (1 + e**-v) to float32 `out`, which may be `x`, of v = (x - zero_point) * scale in float32.

    `positions`: the axes of `x` and `out` before the digits of the channel, or before the channel; None: all.

    Within 4 units in the last place of exact arithmetic on v, or 2**-126; NaN stays NaN. The bits are numpy's, not
    the compiled kernels', whose steps would need 5 to 10 times as long in numpy as its own exponential.
    """
    pairs = iter([(x, out)]) if positions is None else _whole_blocks(x, out, positions, channels)
    for part, result in (pair for blocks, target in pairs for pair in _parts(blocks, blocks.ndim, 1, target)):
        v = _floats(part, dtype)
        with np.errstate(all="ignore"):
            if dtype != "float32":
                v = np.subtract(v, np.float32(zero_point), out=result, dtype=np.float32, casting="unsafe")
            np.multiply(v, np.float32(-scale), out=result)  # np.negative in place is wrong at steps of 16 bytes (2.4.6)
            np.exp(result, out=result)
            result += np.float32(1)
            np.divide(np.float32(1), result, out=result)  # twice as fast as numpy's reciprocal


def _whole_blocks(
    x: np.ndarray, out: np.ndarray, positions: int, channels: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield views of whole blocks of channels, then of what is left of one, and of the same elements of `out`."""
    every: list[Any] = [slice(None)] * positions
    done = 0
    while done < channels:
        inner = x.shape[positions + 1 :]
        whole = (channels - done) // math.prod(inner)
        end = done + whole * math.prod(inner)
        if whole:
            yield x[(*every, slice(whole))], out[..., done:end].reshape(*out.shape[:positions], whole, *inner)
        if end < channels:
            x = x[(*every, whole)]
        done = end


def peaks(x: np.ndarray, channels: int, dtype: str, least: int | None, threshold: float, radius: int) -> np.ndarray:
    """Return indices (n, c, y, x) of the local maxima of `x` (N, *digits of the channel, H, W), in ascending order.

    A point is a local maximum if it is above the threshold, greater than every neighbour of its window before it in
    raster order, and no less than every one behind it; windows end at the borders. Of a rectangle of equal values it is
    the first point. NaN is no peak, nor is any point beside it. An integer is above the threshold at `least` or more.
    """
    digits = x.shape[1:-2]
    if digits != (channels,):  # lanes beyond the channels are not read
        x = np.stack([x[(slice(None), *index)] for index in itertools.islice(np.ndindex(*digits), channels)], 1)
    x = _floats(x, dtype)
    lowest: Any = -np.inf if least is None else np.iinfo(x.dtype).min
    if least == lowest:  # values beyond the borders have to be below every point
        x, lowest = x.astype(np.int64), np.iinfo(np.int64).min
    points, pitch = _bordered(x, lowest)
    body = points[pitch + 1 :]
    good = body > np.float32(threshold) if least is None else body >= x.dtype.type(least)
    other = np.empty_like(good)
    for step in (1, pitch - 1, pitch, pitch + 1):
        good &= np.greater(body, points[pitch + 1 - step : -step], out=other)
        good[:-step] &= np.greater_equal(body[:-step], body[step:], out=other[:-step])
    shape = (*x.shape[:2], x.shape[2] + 1, pitch)
    found = np.stack(np.unravel_index(np.flatnonzero(good), shape), 1).astype(np.int64, copy=False)
    for dy, dx in itertools.product(range(-radius, radius + 1), repeat=2):
        if max(abs(dy), abs(dx)) <= 1:
            continue
        row, column = found[:, 2] + dy, found[:, 3] + dx
        inside = (row >= 0) & (row < x.shape[2]) & (column >= 0) & (column < x.shape[3])
        other = x[found[:, 0], found[:, 1], np.where(inside, row, 0), np.where(inside, column, 0)]
        value = x[tuple(found.T)]
        found = found[~inside | (value > other if (dy, dx) < (0, 0) else value >= other)]
    return np.ascontiguousarray(found)


def _bordered(x: np.ndarray, beyond: Any) -> tuple[np.ndarray, int]:
    """Return the points of `x` (N, C, H, W) in one row, each with its eight neighbours, and the distance of rows.

    There is one `beyond` behind each row of a plane, a row of them behind each plane, and a row and one more before the
    first point.
    """
    n, c, height, width = x.shape
    pitch = width + 1
    points = np.full(pitch + 1 + n * c * (height + 1) * pitch, beyond, x.dtype)
    points[pitch + 1 :].reshape(n, c, height + 1, pitch)[:, :, :height, :width] = x
    return points, pitch


def tops(x: np.ndarray, rows: np.ndarray, out: np.ndarray, refine: str | None) -> None:
    """Write n, c, x, y and value of the pixels (n, c, y, x) of `x` (N, C, H, W) to float64 `out`, in float64.

    x and y move to the top of the parabola through the pixel and its neighbours l and r on that axis, by
    0.5 (l - r) / (l - 2 v + r), or by a quarter towards the greater one. They stay if that is not finite or a
    neighbour is missing.
    """
    n, c, row, column = rows.T
    values = x[n, c, row, column].astype(np.float64)
    out[:, 0], out[:, 1], out[:, 2], out[:, 3], out[:, 4] = n, c, column, row, values
    for axis, to in ((3, 2), (2, 3)) if refine else ():
        here = rows[:, axis]
        inner = (here > 0) & (here < x.shape[axis] - 1)
        index = [n, c, row, column]
        index[axis] = here - inner
        before = x[tuple(index)].astype(np.float64)
        index[axis] = here + inner
        behind = x[tuple(index)].astype(np.float64)
        with np.errstate(all="ignore"):
            if refine == "quarter":
                moved = 0.25 * np.sign(behind - before)
            else:
                moved = 0.5 * (before - behind) / (before - 2 * values + behind)
        out[:, to] += np.where(inner & np.isfinite(moved), moved, 0)


def _floats(x: np.ndarray, dtype: str) -> np.ndarray:
    """Return float16 and bfloat16 (uint16) as float32, everything else unchanged."""
    if dtype == "bfloat16":
        return widen_bfloat16(x)
    return x.astype(np.float32) if dtype == "float16" else x


def _first(x: np.ndarray, positions: int, channels: int) -> np.ndarray:
    """Return x as (channels, *positions): a view if the channel is one axis."""
    if x.ndim == positions + 1:
        return x.transpose(positions, *range(positions))[:channels]
    return np.stack(list(_planes(x, positions, channels)))


def _planes(x: np.ndarray, positions: int, channels: int) -> Iterator[np.ndarray]:
    """Yield the positions of each channel."""
    for index in itertools.islice(np.ndindex(*x.shape[positions:]), channels):
        yield x[(..., *index)]


def _parts(x: np.ndarray, positions: int, channels: int, out: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
    """Yield pieces of x and out of at most _CHUNK elements, split along x's largest stride of a position."""
    size = math.prod(x.shape[:positions]) * channels
    wide = [axis for axis in range(positions) if x.shape[axis] > 1]
    if size <= _CHUNK or not wide:
        if size:
            yield x, out
        return
    axis = max(wide, key=lambda i: abs(x.strides[i]))
    step = max(1, _CHUNK * x.shape[axis] // size)
    for i in range(0, x.shape[axis], step):
        index = (*(slice(None),) * axis, slice(i, i + step))
        yield from _parts(x[index], positions, channels, out[index])
