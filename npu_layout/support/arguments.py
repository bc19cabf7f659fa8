"""What callers give as an array or a number, as a plain one."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from ..errors import NpuLayoutError


def array_of(x: Any, what: str) -> np.ndarray:
    """`x` as a plain array of the same memory. NpuLayoutError where it is no array."""
    if not isinstance(x, np.ndarray):
        raise NpuLayoutError(f"{what}: expected a numpy array, got {type(x).__name__}")
    return np.asarray(x)


def counted(what: str, given: Any) -> int:
    """How many there are to be of something. NpuLayoutError where that is no whole number from 1 to 2**31 - 1."""
    try:
        number = operator.index(given)
    except TypeError:
        number = 0
    if not 1 <= number < 2**31:
        raise NpuLayoutError(f"{what}: expected a whole number of 1 or more, got {given!r}")
    return number


def finite(x: np.ndarray) -> np.ndarray:
    """With 0 where it is NaN or infinite."""
    good = np.isfinite(x)
    return x if good.all() else np.where(good, x, x.dtype.type(0))


def plain_array(x: Any, copy: bool | None = None, expected: str = "expected an array") -> np.ndarray:
    """`x` as a plain array: as numpy.asarray(x, copy=copy) for what is no array. `expected` begins what is said of what
    cannot be one."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(x, masked.MaskedArray):
        raise NpuLayoutError(
            "masked array: its mask would be lost; expected x.filled(value), or x.data and x.mask alone"
        )
    try:
        array = np.asarray(x)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise NpuLayoutError(f"{expected}, got {type(x).__name__}: {error}") from None
    if copy is False and not isinstance(x, np.ndarray) and array.flags.owndata:
        raise NpuLayoutError(f"{type(x).__name__} is no array: copy=False, but a copy is needed")
    return array
