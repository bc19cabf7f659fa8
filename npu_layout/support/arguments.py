"""Read arguments: turn what callers pass into paths, choices, text and items, or raise what names them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ..errors import NpuLayoutError

_T = TypeVar("_T")
_SHORT = 35  # characters, of up to 4 bytes each: no file system has a lower limit than 143 bytes (eCryptfs)


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


def check_used(what: str, given: Any, usual: Any, why: str) -> None:
    """NpuLayoutError if an argument that has no effect, and `why`, is not what it is by default."""
    if given != usual:
        raise NpuLayoutError(f"{what}: no effect {why}; expected {usual!r}, got {shown(given)}")


def path_text(what: str, given: Any) -> str:
    """Return a path, or what may be one, as a str; NpuLayoutError if it is none.

    A number would be the descriptor of an open file.
    """
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


def path_of(what: str, given: Any) -> str:
    """Return a path as a str; NpuLayoutError if it is none, or if it is too long for the file system."""
    text = path_text(what, given)
    if len(text) > _SHORT:
        _check_length(what, text)
    return text


def _check_length(what: str, text: str) -> None:
    """NpuLayoutError if the file system has no names as long as a path, or as the longest part of it.

    The part is looked for by itself, because the folders above it need not exist.
    """
    from pathlib import PurePath

    longest = max(PurePath(text).parts, key=lambda part: len(os.fsencode(part)), default=text)
    for kind, name in (("name", longest), ("path", text)):
        try:
            os.lstat(name)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                size, start = len(os.fsencode(name)), f"{name[:_SHORT]}..."
                raise NpuLayoutError(
                    f"{what}: the {kind} {start!r} has {size} bytes, which is too long for the file system; expected a "
                    f"shorter {kind}: most file systems have names of up to 255 bytes, in paths of up to 4095"
                ) from None


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
    """Raise NpuLayoutError, naming the first field of a record that is not of its kind: a class or a tuple of them."""
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


def text_keys(what: str, given: Mapping[Any, Any], error: type[NpuLayoutError] = NpuLayoutError) -> dict[str, Any]:
    """Return a mapping with its keys as text; an `error`, which calls it `what`, if two of them are the same text.

    So is anything that is no mapping.
    """
    if not isinstance(given, Mapping):
        raise error(f"{what}: expected a mapping of names, got {shown(given)}")
    keys: dict[str, Any] = {}
    for key in given:
        other = keys.setdefault(str(key), key)
        if other is not key:
            raise error(f"{what}: expected names that differ as text, got {shown(other)} and {shown(key)}")
    return {text: given[key] for text, key in keys.items()}


def iterates(given: Any) -> bool:
    """Whether something can be iterated over; an array of no axes cannot, though it is called iterable.

    >>> iterates([1]), iterates(np.zeros(2)), iterates(np.array(1))
    (True, True, False)
    """
    return isinstance(given, Iterable) and getattr(given, "ndim", 1) != 0


def wanted_copy(given: Any) -> bool | None:
    """Return the argument `copy` as None, True or False; numpy's bools count, NpuLayoutError on anything else."""
    if given is None or isinstance(given, (bool, np.bool_)):
        return None if given is None else bool(given)
    raise NpuLayoutError(f"copy: expected None, True or False, got {shown(given)}")
