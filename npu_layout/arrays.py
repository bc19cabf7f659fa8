"""What callers give as an array, as a plain one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .errors import NpuLayoutError


def array_of(x: Any, what: str) -> np.ndarray:
    """`x` as a plain array of the same memory. NpuLayoutError where it is no array."""
    if not isinstance(x, np.ndarray):
        raise NpuLayoutError(f"{what}: expected a numpy array, got {type(x).__name__}")
    return np.asarray(x)


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
