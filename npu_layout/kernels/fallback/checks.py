"""Check the arrays of argmax, top_k, softmax, sigmoid, peaks and tops: a ValueError explains what does not fit.

The compiled core refuses the same arrays on its own; only its peaks rely on these checks.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

import numpy as np


class WrongType(TypeError, ValueError):
    """An argument of another type than the kernels read: a ValueError, as every refusal of theirs, and a TypeError."""


_LARGEST = float(np.finfo(np.float32).max)
_FARTHEST = int(np.finfo(np.float64).max)  # an int beyond it is no float
_FAR = 64  # radius from which on it is compared with the plane
_NAMES = {np.dtype(name): name for name in ("float16", "float32", "int16", "int32", "int8", "uint16", "uint8")}


def whole(name: str, given: Any) -> int:
    """Return an integer as an int; WrongType that names the argument if it is anything else."""
    try:
        return operator.index(given)
    except TypeError:
        raise WrongType(f"{name}: expected a whole number, got {given!r}") from None


def real(name: str, given: Any, most: float = _LARGEST) -> float:
    """Return a real number from -most to most as a float; a ValueError that names the argument if it is anything else.

    numpy would compute with the real part of a complex number, with NaN for None, and with a number read from text.
    """
    if type(given) is float and -most <= given <= most:
        return given
    value = given[()] if isinstance(given, np.ndarray) and given.ndim == 0 else given
    if not isinstance(value, (int, float, np.integer, np.floating)):
        raise WrongType(f"{name}: expected a real number, got {given!r}")
    number = float(min(max(value, -_FARTHEST), _FARTHEST) if isinstance(value, int) else value)
    if not -most <= number <= most:
        expected = "a finite number in the range of float32" if math.isfinite(most) else "a number"
        raise ValueError(f"{name}: expected {expected}, got {given!r}")
    return number


def check_types(
    backends: Collection[str],
    backend: Any,
    arrays: Mapping[str, Any],
    counts: Mapping[str, Any] | None = None,
    dtype: Any = None,
) -> None:
    """Raise WrongType that names the first argument of a wrong type; `counts` may be None, and so may dtype.

    For calls that failed: no time is lost in those that succeed.
    """
    if backend is not None and not (isinstance(backend, str) and backend in backends):
        raise WrongType(f"backend: expected one of {', '.join(backends)}, got {backend!r}")
    for name, given in arrays.items():
        if not isinstance(given, np.ndarray):
            raise WrongType(f"{name}: expected a numpy array, got {type(given).__name__}")
    for name, given in (counts or {}).items():
        whole(name, 0 if given is None else given)
    if not isinstance(dtype, (str, type(None))):
        raise WrongType(f"dtype: expected a name or None, got {dtype!r}")


def _stored(x: np.ndarray, dtype: str | None) -> str:
    """Return the name of the dtype of x; bfloat16 is stored as uint16."""
    name = _NAMES.get(x.dtype)
    if dtype == "bfloat16" and name == "uint16":
        return dtype
    if name is None and not x.dtype.isnative:
        raise ValueError(f"x: elements of the other byte order: {x.dtype.str}")
    if name is None or dtype not in (None, name):
        known = ", ".join(_NAMES.values())
        raise ValueError(f"x, dtype: expected elements of {known}, or bfloat16 in uint16; got {x.dtype}, {dtype!r}")
    return name


def _count(digits: tuple[int, ...], channels: int | None, what: str) -> int:
    """Return the number of channels, which must not exceed the product of the axes `digits`."""
    capacity = math.prod(digits)
    count = capacity if channels is None else operator.index(channels)
    if not digits or not 1 <= count <= capacity:
        raise ValueError(f"{what}: {channels} channels in axes of {digits}")
    return count


def _result(x: np.ndarray, out: np.ndarray, dtype: Any, positions: int, in_place: bool = False) -> None:
    """Check that `out` can be written and has the positions of x, and that they do not overlap."""
    if out.dtype != dtype or not out.dtype.isnative or not out.flags.writeable:
        raise ValueError(f"out: expected {np.dtype(dtype)} that can be written, got {out.dtype.str}")
    if out.shape[:positions] != x.shape[:positions]:
        raise ValueError(f"out: expected positions {x.shape[:positions]}, got {out.shape[:positions]}")
    if np.may_share_memory(x, out) and not (in_place and _alike(x, out)):
        raise ValueError("out overlaps x")


def _alike(x: np.ndarray, out: np.ndarray) -> bool:
    """Return whether both are the same elements, each once: every stride exceeds what the shorter ones reach."""
    steps = [(abs(s), n, s == t) for s, t, n in zip(x.strides, out.strides, x.shape) if n > 1]
    reach, alike = x.itemsize, x.ctypes.data == out.ctypes.data and x.shape == out.shape and x.dtype == out.dtype
    for step, n, same in sorted(steps):
        alike &= same and step >= reach
        reach += step * (n - 1)
    return alike


def checked_argmax(x: np.ndarray, out: np.ndarray, channels: int | None, dtype: str | None) -> tuple[int, str]:
    """Return the number of channels and the dtype's name."""
    name = _stored(x, dtype)
    _result(x, out, np.int64, out.ndim)
    return _count(x.shape[out.ndim :], channels, "x"), name


def checked_top_k(
    x: np.ndarray, values: np.ndarray, numbers: np.ndarray, channels: int | None, dtype: str | None
) -> tuple[int, str]:
    """Return the number of channels and the dtype's name."""
    name = _stored(x, dtype)
    axes = numbers.ndim - 1
    if axes < 0 or values.shape != numbers.shape:
        raise ValueError(f"values and numbers: expected one shape (*positions, k), got {values.shape}, {numbers.shape}")
    _result(x, numbers, np.int64, axes)
    _result(x, values, x.dtype, axes)
    if np.may_share_memory(values, numbers):
        raise ValueError("values overlap numbers")
    count = _count(x.shape[axes:], channels, "x")
    if not 1 <= numbers.shape[-1] <= count:
        raise ValueError(f"k: expected 1 to {count}, the number of channels, got {numbers.shape[-1]}")
    return count, name


def _unscaled(name: str, scale: float, zero_point: float) -> None:
    if name == "float32" and (scale != 1 or zero_point != 0):
        raise ValueError(f"float32 is not quantised: scale {scale}, zero point {zero_point}")


def checked_sigmoid(
    x: np.ndarray,
    out: np.ndarray,
    dtype: str | None,
    scale: float,
    zero_point: float,
    positions: int | None = None,
    channels: int | None = None,
) -> tuple[int | None, int, str]:
    """Return the number of axes that are positions, or None, the number of channels, and the dtype's name."""
    name = _stored(x, dtype)
    _unscaled(name, scale, zero_point)
    if positions is None:
        _result(x, out, np.float32, max(x.ndim, out.ndim), in_place=True)
        return None, 1, name
    if not 0 <= positions < x.ndim or out.ndim != positions + 1:
        raise ValueError(
            f"{positions} axes of positions: x has {x.ndim} axes, out {out.ndim}, expected {positions + 1}"
        )
    _result(x, out, np.float32, positions)
    count = _count(x.shape[positions:], channels, "x")
    if out.shape[positions] != count:
        raise ValueError(f"out: expected {count} channels, got {out.shape[positions]}")
    return positions, count, name


def checked_softmax(
    x: np.ndarray,
    out: np.ndarray,
    positions: int | None,
    channels: int | None,
    dtype: str | None,
    scale: float,
    zero_point: float,
) -> tuple[int, int, str]:
    """Return the number of axes that are positions, the number of channels, and the dtype's name."""
    name = _stored(x, dtype)
    _unscaled(name, scale, zero_point)
    axes = x.ndim - 1 if positions is None else positions
    if not 0 <= axes < min(x.ndim, out.ndim):
        raise ValueError(f"{axes} axes of positions: x has {x.ndim} axes, out {out.ndim}")
    _result(x, out, np.float32, axes)
    count = _count(x.shape[axes:], channels, "x")
    if channels is None and out.shape[axes:] != x.shape[axes:]:
        raise ValueError(f"out: expected channels {x.shape[axes:]} as x has, or their number; got {out.shape[axes:]}")
    _count(out.shape[axes:], count, "out")
    return axes, count, name


@lru_cache(maxsize=256)
def _float32_below(threshold: float) -> float:
    """Return the largest float32 that is not above `threshold`."""
    with np.errstate(over="ignore"):
        nearest = np.float32(threshold)
    return float(nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf)))


def checked_peaks(
    x: np.ndarray, threshold: float, radius: int, channels: int | None, dtype: str | None
) -> tuple[int, str, int | None, float, int]:
    """Return the number of channels, the dtype's name, `least`, `above` and the radius.

    A peak is an integer of `least` or more; for floats `least` is None, and a peak is greater than `above`, a float32.
    The number of channels is 0 if no element can be above the threshold.
    """
    name = _stored(x, dtype)
    if x.ndim < 4:
        raise ValueError(f"x: expected axes N, C, H and W, got shape {x.shape}")
    if type(radius) is not int:
        radius = whole("radius", radius)
    if radius < 1:
        raise ValueError(f"radius: expected 1 or more, got {radius}")
    count = _count(x.shape[1:-2], channels, "x")
    threshold = real("threshold", threshold, math.inf)
    if radius > _FAR:
        radius = min(radius, max(1, *x.shape[-2:]))  # no window is larger than the plane
    if "float" in name:
        return count, name, None, _float32_below(threshold), radius
    info = np.iinfo(x.dtype)
    least = math.floor(min(max(threshold, info.min - 1), info.max)) + 1
    return (count if least <= info.max else 0), name, least, 0.0, radius


def checked_tops(x: np.ndarray, rows: np.ndarray, out: np.ndarray, refine: str | None) -> None:
    """Check the arrays and the refinement of tops."""
    if x.ndim != 4 or x.dtype.kind not in "iuf" or not x.dtype.isnative:
        raise ValueError(f"x: expected numbers with the axes N, C, H and W, got {x.dtype.str} of shape {x.shape}")
    if rows.dtype != np.int64 or rows.shape != (len(rows), 4) or not rows.flags.c_contiguous:
        raise ValueError(f"rows: expected contiguous int64 (count, 4), got {rows.dtype} of shape {rows.shape}")
    if ((rows < 0) | (rows >= x.shape)).any():
        raise ValueError(f"rows: pixels that an array of shape {x.shape} does not have")
    if out.dtype != np.float64 or out.shape != (len(rows), 5) or not out.flags.writeable:
        raise ValueError(f"out: expected float64 {(len(rows), 5)}, got {out.dtype} of shape {out.shape}")
    if not isinstance(refine, (str, type(None))) or refine not in (None, "parabola", "quarter"):
        raise ValueError(f"refine: expected None, parabola or quarter, got {refine!r}")
