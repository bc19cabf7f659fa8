"""Read arguments: turn what callers pass into paths, choices, numbers and plain arrays, or raise what names them."""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ..errors import NpuLayoutError
from .foreign_arrays import foreign_array

_T = TypeVar("_T")
_NO_SEQUENCES = (bytes, bytearray, set, frozenset, Mapping)  # they yield integers, but not numbers in an order


def shown(given: Any) -> str:
    """Return `given` as a message shows it: its repr if that is short, else its type, and the shape of an array."""
    try:
        text = repr(given)
    except Exception:  # of another library, or half made
        text = ""
    if 0 < len(text) <= 100 and text.isprintable():
        return text
    kind = f"{type(given).__module__}.{type(given).__name__}"
    return f"{kind} of shape {given.shape} and dtype {given.dtype}" if isinstance(given, np.ndarray) else kind


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Put `what` in front of the message of an NpuLayoutError that is raised in the block.

    For arguments whose checks do not know what the caller calls them.
    """
    try:
        yield
    except NpuLayoutError as error:
        raise type(error)(f"{what}: {error}") from None


def path_of(what: str, given: Any) -> str:
    """Return a path as a str; NpuLayoutError if it is none: a number would be the descriptor of an open file."""
    text = given if isinstance(given, str) else given.__fspath__() if isinstance(given, os.PathLike) else None
    if not isinstance(text, str):
        raise NpuLayoutError(f"{what}: expected a str or an os.PathLike of one, got {shown(given)}")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise NpuLayoutError(f"{what}: no file can have the name {text!r} ({error.reason})") from None
    if b"\0" in encoded:
        raise NpuLayoutError(f"{what}: no file can have the name {text!r} (null characters)")
    return text


def nearest(given: Any, known: Iterable[str]) -> str:
    """Return the end of a message: the known word that differs from `given` by its case or by little, or nothing."""
    import difflib

    if not isinstance(given, str):
        return ""
    words = {word.upper(): word for word in known}
    close = difflib.get_close_matches(given.upper(), words, 1, 0.75)
    return f". Is it {words[close[0]]}?" if close else ""


def one_of(what: str, given: Any, known: Sequence[str | None]) -> Any:
    """Return `given`; NpuLayoutError if it is not one of the words in `known`, among which None may be."""
    if not isinstance(given, (str, type(None))) or given not in known:
        first, last = ", ".join(map(str, known[:-1])), known[-1]
        words = f"{first} or {last}" if last is None or len(known) == 2 else f"one of {first}, {last}"
        raise NpuLayoutError(f"{what}: expected {words}, got {shown(given)}{nearest(given, filter(None, known))}")
    return given


def flag(what: str, given: Any) -> bool:
    """Return True or False (numpy's too, and 1 and 0); NpuLayoutError if it is anything else."""
    if isinstance(given, (bool, np.bool_)) or (isinstance(given, (int, np.integer)) and given in (0, 1)):
        return bool(given)
    raise NpuLayoutError(f"{what}: expected True or False, got {shown(given)}")


def text_of(what: str, given: Any) -> str:
    """Return `given`; NpuLayoutError if it is no str."""
    return instance(what, given, str, "text")


def instance(what: str, given: Any, kind: type[_T], expected: str = "") -> _T:
    """Return `given`; NpuLayoutError if it is no `kind`, which messages call `expected`."""
    if not isinstance(given, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise NpuLayoutError(f"{what}: expected {expected or f'{article} {kind.__name__}'}, got {shown(given)}")
    return given


def check_fields(record: Any, **kinds: Any) -> None:
    """Raise NpuLayoutError that names the first field of a record that is not of its kind, a class or some of them."""
    for name, kind in kinds.items():
        given = getattr(record, name)
        if not isinstance(given, kind):
            known = kind if isinstance(kind, tuple) else (kind,)
            words = " or ".join("None" if k is type(None) else str(k.__name__) for k in known)
            raise NpuLayoutError(f"{name}: expected {words}, got {shown(given)}")


def items_of(what: str, given: Any, kind: type[_T], plural: str = "") -> list[_T]:
    """Return a list of what an iterable contains; NpuLayoutError if it is none, or if an item is no `kind`."""
    expected = f"a sequence of {plural or f'{kind.__name__}s'}"
    if isinstance(given, (str, bytes, Mapping)):
        raise NpuLayoutError(f"{what}: expected {expected}, got {shown(given)}")
    try:
        items = list(given)
    except TypeError:
        raise NpuLayoutError(f"{what}: expected {expected}, got {shown(given)}") from None
    for i, item in enumerate(items):
        if not isinstance(item, kind):
            raise NpuLayoutError(f"{what}: expected {expected}, got {shown(item)} as item {i}")
    return items


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

    Runtimes start what they are told to: 4096 threads take a minute, and 100000 never end (onnxruntime 1.32).
    """
    return counted("threads", given, 1024, "a whole number from 1 to 1024")


def text_keys(what: str, given: Mapping[Any, Any], error: type[NpuLayoutError] = NpuLayoutError) -> dict[str, Any]:
    """Return a mapping with its keys as text; an `error`, which calls it `what`, if two of them are the same text."""
    keys: dict[str, Any] = {}
    for key in given:
        other = keys.setdefault(str(key), key)
        if other is not key:
            raise error(f"{what}: expected names that differ as text, got {shown(other)} and {shown(key)}")
    return {text: given[key] for text, key in keys.items()}


def whole_number(
    what: str, given: Any, expected: str = "a whole number", error: type[NpuLayoutError] = NpuLayoutError
) -> int:
    """Return an integer as an int; an `error`, which says what is `expected`, if it is anything else."""
    number = integer(given)
    if number is None:
        raise error(f"{what}: expected {expected}, got {shown(given)}")
    return number


def iterates(given: Any) -> bool:
    """Whether something can be iterated over; an array of no axes cannot, though it is called iterable.

    >>> iterates([1]), iterates(np.zeros(2)), iterates(np.array(1))
    (True, True, False)
    """
    return isinstance(given, Iterable) and getattr(given, "ndim", 1) != 0


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
        return tuple(map(int, map(operator.index, given)))  # int: a bool is an index, but no stride
    except TypeError:
        raise error(f"{what}: expected {expected}, got {shown(given)}") from None


def wanted_copy(given: Any) -> bool | None:
    """Return the argument `copy` as None, True or False, given as numpy's bool too; NpuLayoutError if it is no such."""
    if given is None or isinstance(given, (bool, np.bool_)):
        return None if given is None else bool(given)
    raise NpuLayoutError(f"copy: expected None, True or False, got {shown(given)}")


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
        numbers = tuple(operator.index(v) for v in given if not isinstance(v, (bool, np.bool_)))
        fits = len(numbers) == len(given) == (len(numbers) if count is None else count)
        fits = fits and (least is None or not numbers or min(numbers) >= least)
    except TypeError:
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
