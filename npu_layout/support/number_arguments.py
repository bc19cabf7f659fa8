"""Read numbers and arrays that callers pass, or raise what names the argument."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from .arguments import shown
from .foreign_arrays import foreign_array

_NO_SEQUENCES = (bytes, bytearray, set, frozenset, Mapping)  # they yield integers, but not numbers in an order


def real_number(what: str, given: Any, above: float | None = None, *, least: float | None = None) -> float:
    """Return a finite number as a float; NpuLayoutError if it is anything else, not above `above`, or below `least`.

    An array of no axes is the number in it, as it is where integers are asked for.
    """
    number = math.nan
    value = given[()] if isinstance(given, np.ndarray) and given.ndim == 0 else given
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.timedelta64)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    small = (above is not None and not number > above) or (least is not None and number < least)
    if not math.isfinite(number) or small:
        expected = "a finite number" if above is None else f"a number above {above:g}"
        expected = expected if least is None else f"a number of at least {least:g}"
        raise NpuLayoutError(f"{what}: expected {expected}, got {shown(given)}")
    return number


def array_of(x: Any, what: str) -> np.ndarray:
    """Return `x` as a plain array of the same memory; NpuLayoutError if it is not a numpy array."""
    if not isinstance(x, np.ndarray):
        raise NpuLayoutError(f"{what}: expected a numpy array, got {type(x).__name__}")
    return np.asarray(x)


def integer(given: Any) -> int | None:
    """Return a Python or numpy integer as an int; None if it is anything else."""
    try:
        return int(operator.index(given))
    except TypeError:
        return None


def counted(what: str, given: Any, most: int = 2**31 - 1, expected: str = "a whole number of 1 or more") -> int:
    """Return a count as an int; NpuLayoutError, which says what is `expected`, if it is no integer from 1 to `most`.

    Bools are refused too.
    """
    number = None if isinstance(given, (bool, np.bool_)) else integer(given)
    if number is None or not 1 <= number <= most:
        raise NpuLayoutError(f"{what}: expected {expected}, got {shown(given)}")
    return number


def thread_count(given: Any) -> int:
    """Return the argument `threads` of an engine; NpuLayoutError if it is no integer from 1 to 1024.

    Runtimes start as many as they are given: 4096 threads take a minute, and 100000 never end (onnxruntime 1.32).
    """
    return counted("threads", given, 1024, "a whole number from 1 to 1024")


def whole_number(
    what: str, given: Any, expected: str = "a whole number", error: type[NpuLayoutError] = NpuLayoutError
) -> int:
    """Return an integer as an int; an `error`, which says what is `expected`, if it is anything else."""
    number = integer(given)
    if number is None:
        raise error(f"{what}: expected {expected}, got {shown(given)}")
    return number


def integers(
    what: str,
    given: Any,
    expected: str = "a sequence of integers",
    error: type[NpuLayoutError] = NpuLayoutError,
) -> tuple[int, ...]:
    """Return what an iterable contains as ints; an `error`, which says what is `expected`, if it is anything else.

    Sets, mappings and bytes are refused too: their integers are no extents in an order.
    """
    try:
        if isinstance(given, _NO_SEQUENCES):
            raise TypeError
        return tuple([int(operator.index(number)) for number in given])  # int: a bool is an index, but no stride
    except (TypeError, ValueError):  # ValueError: of a memoryview that was released
        raise error(f"{what}: expected {expected}, got {shown(given)}") from None


def whole_numbers(what: str, given: Any, count: int | None, least: int | None) -> tuple[int, ...]:
    """Return `given` as `count` ints (None: any number of them) of at least `least` (None: any).

    NpuLayoutError if it is anything else; bools, sets, mappings and bytes are refused too.
    """
    usual = type(given) is tuple and len(given) == count and {int}.issuperset(map(type, given))
    if usual and least is not None and min(given, default=least) >= least:
        return given  # type: ignore[no-any-return]
    try:
        if isinstance(given, _NO_SEQUENCES):
            raise TypeError
        size = len(given)  # before it is iterated: Python 3.9 and 3.10 raise a SystemError for memory that was released
        numbers = tuple(operator.index(v) for v in given if not isinstance(v, (bool, np.bool_)))
        fits = len(numbers) == size == (len(numbers) if count is None else count)
        fits = fits and (least is None or not numbers or min(numbers) >= least)
    except (TypeError, ValueError):  # ValueError: of a memoryview that was released
        fits = False
    if not fits:
        many = "whole numbers" if count is None else "a whole number" if count == 1 else f"{count} whole numbers"
        bound = "" if least is None else f" of at least {least}"
        got = given[0] if count == 1 and isinstance(given, list) and len(given) == 1 else given
        raise NpuLayoutError(f"{what}: expected {many}{bound}, got {shown(got)}")
    return numbers


def real_numbers(given: Any) -> np.ndarray | None:
    """Return `given` as an array of finite integers or floats, of any shape; None if it is anything else."""
    try:
        array = plain_array("numbers", given)
    except NpuLayoutError:
        return None
    if array.dtype.kind not in "iuf" or not all(map(math.isfinite, array.reshape(-1).tolist())):
        return None
    return array


def numbers_of(what: str, given: Any) -> np.ndarray:
    """Return `given` as a plain array of bools, integers or floats; NpuLayoutError if it is anything else."""
    array = plain_array(what, given)
    if array.dtype.kind not in "biuf":
        raise NpuLayoutError(f"{what}: expected an array of numbers, got {shown(given)}")
    return array


def per_channel(what: str, given: Any, channels: int) -> tuple[float, ...]:
    """Return `given`, one finite number or one for each channel, as a tuple of 1 or of `channels` floats.

    NpuLayoutError if it is anything else.
    """
    numbers = _usual_numbers(given)
    if numbers is None:
        array = real_numbers(given)
        numbers = [math.nan] if array is None else array.astype(np.float64, copy=False).reshape(-1).tolist()
    if len(numbers) not in (1, channels) or not all(map(math.isfinite, numbers)):
        raise NpuLayoutError(f"{what}: expected 1 or {channels} finite numbers, got {shown(given)}")
    return tuple(numbers)


def _usual_numbers(given: Any) -> list[float] | None:
    """Return an array of numbers, or Python's own ones, as floats; None if it is anything else.

    For hot loops: what is usual need not become an array first.
    """
    if type(given) is np.ndarray and given.dtype.kind in "iuf":
        numbers: list[float] = given.astype(np.float64, copy=False).reshape(-1).tolist()
        return numbers
    several = given if type(given) in (list, tuple) else (given,)
    if all(type(n) is float or (type(n) is int and abs(n) < 2**53) for n in several):
        return [float(n) for n in several]
    return None


def finite(x: np.ndarray) -> np.ndarray:
    """Return `x` with 0 in place of NaN and infinity."""
    if x.dtype.kind in "biu":
        return x
    good = np.isfinite(x)
    return x if good.all() else np.where(good, x, x.dtype.type(0))


def widened(x: np.ndarray) -> np.ndarray:
    """Return a copy in float64; numpy would warn where it makes a quiet NaN of a signalling one, as bytes may be."""
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64)


def plain_array(what: str, x: Any, copy: bool | None = None, expected: str = "an array") -> np.ndarray:
    """Return `x`, which messages call `what`, as a plain array, a view of it if it is an array already.

    Anything else is converted by numpy; if that makes a copy, and `copy` is False, it is an NpuLayoutError. So is what
    cannot be converted, because something `expected` is needed, and a masked array.
    """
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(x, getattr(masked, "MaskedArray", ())):  # another thread may be importing it
        raise NpuLayoutError(
            f"{what}: masked array: its mask would be lost; expected x.filled(value), or x.data and x.mask separately"
        )
    try:
        array = np.asarray(x if not hasattr(x, "__dlpack__") else foreign_array(what, x))
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        if isinstance(error, NpuLayoutError):
            raise
        raise NpuLayoutError(f"{what}: expected {expected}, got {type(x).__name__}: {error}") from None
    if copy is False and not isinstance(x, np.ndarray) and array.flags.owndata:
        raise NpuLayoutError(f"{what}: {type(x).__name__} is no array: copy=False, but a copy is needed")
    return array
