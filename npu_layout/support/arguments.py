"""Read arguments: turn what callers pass as an array or as numbers into plain arrays and numbers."""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

import numpy as np

from ..errors import NpuLayoutError


def array_of(x: Any, what: str) -> np.ndarray:
    """Return `x` as a plain array of the same memory; NpuLayoutError if it is not a numpy array."""
    if not isinstance(x, np.ndarray):
        raise NpuLayoutError(f"{what}: expected a numpy array, got {type(x).__name__}")
    return np.asarray(x)


def counted(what: str, given: Any) -> int:
    """Return a count as an int; NpuLayoutError if it is not a whole number from 1 to 2**31 - 1."""
    try:
        number = operator.index(given)
    except TypeError:
        number = 0
    if not 1 <= number < 2**31:
        raise NpuLayoutError(f"{what}: expected a whole number of 1 or more, got {given!r}")
    return number


def wanted_copy(given: Any) -> bool | None:
    """Return the argument `copy` as None, True or False, given as numpy's bool too; NpuLayoutError if it is no such."""
    if given is None or isinstance(given, (bool, np.bool_)):
        return None if given is None else bool(given)
    raise NpuLayoutError(f"copy: expected None, True or False, got {given!r}")


def whole_numbers(what: str, given: Any, count: int | None, least: int) -> tuple[int, ...]:
    """Return `given` as `count` ints (None: any number of them) of at least `least`.

    NpuLayoutError if it is anything else; bools are refused too.
    """
    try:
        numbers = tuple(operator.index(v) for v in given if not isinstance(v, (bool, np.bool_)))
        fits = len(numbers) == len(given) == (len(numbers) if count is None else count)
        fits = fits and (not numbers or min(numbers) >= least)
    except TypeError:
        fits = False
    if not fits:
        many = "" if count is None else f"{count} "
        raise NpuLayoutError(f"{what}: expected {many}whole numbers of at least {least}, got {given!r}")
    return numbers


def real_numbers(given: Any) -> np.ndarray | None:
    """Return `given` as an array of finite integers or floats, of any shape; None if it is anything else."""
    try:
        array = plain_array(given)
    except NpuLayoutError:
        return None
    if array.dtype.kind not in "iuf" or not all(map(math.isfinite, array.reshape(-1).tolist())):
        return None
    return array


def per_channel(what: str, given: Any, channels: int) -> tuple[float, ...]:
    """Return `given`, one finite number or one for each channel, as a tuple of 1 or of `channels` floats.

    NpuLayoutError if it is anything else.
    """
    array = real_numbers(given)
    if array is None or array.size not in (1, channels):
        raise NpuLayoutError(f"{what}: expected 1 or {channels} finite numbers, got {given!r}")
    return tuple(array.astype(np.float64, copy=False).reshape(-1).tolist())


def finite(x: np.ndarray) -> np.ndarray:
    """Return `x` with 0 in place of NaN and infinity."""
    good = np.isfinite(x)
    return x if good.all() else np.where(good, x, x.dtype.type(0))


def plain_array(x: Any, copy: bool | None = None, expected: str = "expected an array") -> np.ndarray:
    """Return `x` as a plain array, a view of it if it is an array already.

    Anything else is converted by numpy; if that makes a copy, and `copy` is False, it is an NpuLayoutError. So is what
    cannot be converted, with a message that begins with `expected`, and a masked array.
    """
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(x, masked.MaskedArray):
        raise NpuLayoutError(
            "masked array: its mask would be lost; expected x.filled(value), or x.data and x.mask separately"
        )
    try:
        array = np.asarray(x)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise NpuLayoutError(f"{expected}, got {type(x).__name__}: {error}") from None
    if copy is False and not isinstance(x, np.ndarray) and array.flags.owndata:
        raise NpuLayoutError(f"{type(x).__name__} is no array: copy=False, but a copy is needed")
    return array
