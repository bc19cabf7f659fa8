"""What every backend of argmax, softmax, sigmoid and peaks may count on: the same checks in front of all."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

Shape = tuple[int, ...]

_remembered = lru_cache(maxsize=512, typed=True)  # 3 channels, not 3.0
_NAMES = {np.dtype(name): name for name in ("float16", "float32", "int16", "int32", "int8", "uint16", "uint8")}


def _stored(held: np.dtype[Any], dtype: str | None) -> str:
    """The name of what an array holds; bfloat16 lies in uint16."""
    name = _NAMES.get(held)
    if dtype == "bfloat16" and name == "uint16":
        return dtype
    if name is None and not held.isnative:
        raise ValueError(f"elements of the other byte order: {held.str}")
    if name is None or dtype not in (None, name):
        known = ", ".join(_NAMES.values())
        raise ValueError(f"elements: expected {known}, or bfloat16 in uint16; got {held}, {dtype}")
    return name


def _count(digits: Shape, channels: int | None, what: str) -> int:
    room = math.prod(digits)
    count = room if channels is None else channels
    if not digits or not 1 <= count <= room:
        raise ValueError(f"{what}: {channels} channels in axes of {digits}")
    return count


def _result(dtype: np.dtype[Any], wanted: Any, shape: Shape, positions: Shape) -> None:
    if dtype != wanted or not dtype.isnative:
        raise ValueError(f"out: expected {np.dtype(wanted)}, got {dtype.str}")
    if shape != positions:
        raise ValueError(f"out: expected positions {positions}, got {shape}")


def _apart(x: np.ndarray, out: np.ndarray, in_place: bool = False) -> None:
    if not out.flags.writeable:
        raise ValueError("out: expected an array that can be written")
    if np.may_share_memory(x, out) and not (in_place and _alike(x, out)):
        raise ValueError("out overlaps x")


def _alike(x: np.ndarray, out: np.ndarray) -> bool:
    """Whether both are the same elements, each for itself: every step leads beyond all shorter ones."""
    steps = [(abs(s), n, s == t) for s, t, n in zip(x.strides, out.strides, x.shape) if n > 1]
    reach, alike = x.itemsize, x.ctypes.data == out.ctypes.data and x.shape == out.shape and x.dtype == out.dtype
    for step, n, same in sorted(steps):
        alike &= same and step >= reach
        reach += step * (n - 1)
    return alike


def checked_argmax(x: np.ndarray, out: np.ndarray, channels: int | None, dtype: str | None) -> tuple[int, str]:
    """The number of channels and the dtype's name."""
    _apart(x, out)
    return _argmax(x.shape, x.dtype, out.shape, out.dtype, channels, dtype)


@_remembered
def _argmax(
    x: Shape, held: np.dtype[Any], out: Shape, result: np.dtype[Any], channels: int | None, dtype: str | None
) -> tuple[int, str]:
    name = _stored(held, dtype)
    _result(result, np.int64, out, x[: len(out)])
    return _count(x[len(out) :], channels, "x"), name


def checked_sigmoid(x: np.ndarray, out: np.ndarray, dtype: str | None, scale: float, zero_point: float) -> str:
    """The dtype's name."""
    _apart(x, out, in_place=True)
    return _sigmoid(x.shape, x.dtype, out.shape, out.dtype, dtype, scale, zero_point)


@_remembered
def _sigmoid(
    x: Shape, held: np.dtype[Any], out: Shape, result: np.dtype[Any], dtype: str | None, scale: float, zero_point: float
) -> str:
    name = _stored(held, dtype)
    _unscaled(name, scale, zero_point)
    _result(result, np.float32, out, x)
    return name


def _unscaled(name: str, scale: float, zero_point: float) -> None:
    if name == "float32" and (scale != 1 or zero_point != 0):
        raise ValueError(f"float32 is not quantised: scale {scale}, zero point {zero_point}")


def checked_softmax(
    x: np.ndarray,
    out: np.ndarray,
    positions: int | None,
    channels: int | None,
    dtype: str | None,
    scale: float,
    zero_point: float,
) -> tuple[int, int, str]:
    """The number of axes that are positions, that of channels, and the dtype's name."""
    _apart(x, out)
    return _softmax(x.shape, x.dtype, out.shape, out.dtype, positions, channels, dtype, scale, zero_point)


@_remembered
def _softmax(
    x: Shape,
    held: np.dtype[Any],
    out: Shape,
    result: np.dtype[Any],
    positions: int | None,
    channels: int | None,
    dtype: str | None,
    scale: float,
    zero_point: float,
) -> tuple[int, int, str]:
    name = _stored(held, dtype)
    _unscaled(name, scale, zero_point)
    axes = len(x) - 1 if positions is None else positions
    if not 0 <= axes < min(len(x), len(out)):
        raise ValueError(f"{axes} axes of positions: x has {len(x)} axes, out {len(out)}")
    _result(result, np.float32, out[:axes], x[:axes])
    count = _count(x[axes:], channels, "x")
    if channels is None and out[axes:] != x[axes:]:
        raise ValueError(f"out: expected channels {x[axes:]} as x has, or their number; got {out[axes:]}")
    _count(out[axes:], count, "out")
    return axes, count, name


@lru_cache(maxsize=256)
def _float32_below(threshold: float) -> float:
    """The largest float32 that is not above it."""
    with np.errstate(over="ignore"):
        nearest = np.float32(threshold)
    return float(nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf)))


def checked_peaks(
    x: np.ndarray, threshold: float, radius: int, channels: int | None, dtype: str | None
) -> tuple[int, str, int | None, float, int]:
    """The number of channels, the dtype's name, and what has to be reached: an integer, None for floats, which have to
    be above the float32 that follows; and the radius. No channels where no element can be above."""
    name = _stored(x.dtype, dtype)
    if x.ndim < 4:
        raise ValueError(f"x: expected axes N, C, H and W, got shape {x.shape}")
    if radius < 1:
        raise ValueError(f"radius: expected 1 or more, got {radius}")
    count = _count(x.shape[1:-2], channels, "x")
    if math.isnan(threshold):
        return 0, name, None, threshold, radius
    if "float" in name:
        return count, name, None, _float32_below(threshold), radius
    info = np.iinfo(x.dtype)
    least = math.floor(min(max(threshold, info.min - 1), info.max)) + 1
    return (count if least <= info.max else 0), name, least, 0.0, radius


def checked_tops(x: np.ndarray, rows: np.ndarray, out: np.ndarray, refine: str | None) -> None:
    """What tops takes."""
    if x.ndim != 4 or x.dtype.kind not in "iuf" or not x.dtype.isnative:
        raise ValueError(f"x: expected numbers with the axes N, C, H and W, got {x.dtype.str} of shape {x.shape}")
    if rows.dtype != np.int64 or rows.shape != (len(rows), 4) or not rows.flags.c_contiguous:
        raise ValueError(f"rows: expected contiguous int64 (count, 4), got {rows.dtype} of shape {rows.shape}")
    if out.dtype != np.float64 or out.shape != (len(rows), 5) or not out.flags.writeable:
        raise ValueError(f"out: expected float64 {(len(rows), 5)}, got {out.dtype} of shape {out.shape}")
    if refine not in (None, "parabola", "quarter"):
        raise ValueError(f"refine: expected None, parabola or quarter, got {refine!r}")
