"""Records that JSON can store: frozen dataclasses of words, numbers and other records, which check their fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from ...errors import NpuLayoutError
from ...support import instance, items_of, iterates, naming, one_of, real_number, shown, whole_numbers

R = TypeVar("R", bound="Record")


class Record:
    """A frozen dataclass of words, numbers and other records, which JSON can store."""

    _words: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __post_init__(self) -> None:
        for name, known in self._words.items():
            with naming(type(self).__name__):
                one_of(name, getattr(self, name), known)
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            if "record" in f.metadata:
                self._set(**{f.name: self._contained(f)})
        self._check()

    def _contained(self, f: dataclasses.Field[Any]) -> Any:
        """Return the record, or the tuple of records, in a field; NpuLayoutError if it is none."""
        what, value, kind = f"{type(self).__name__}: {f.name}", getattr(self, f.name), f.metadata["record"]
        if f.metadata.get("many"):
            return tuple(items_of(what, value, kind))
        return None if value is None and f.default is None else instance(what, value, kind)

    def _check(self) -> None:
        """Raise NpuLayoutError where fields do not fit each other, and store them in their own types."""

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that differ from their default as lists, numbers, strings and dicts."""
        return {
            f.name: _plain(getattr(self, f.name))
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
            if f.default is dataclasses.MISSING or getattr(self, f.name) != f.default
        }

    @classmethod
    def from_dict(cls: type[R], d: Any) -> R:
        """Return the record that `d`, a result of to_dict, describes; NpuLayoutError if it lacks or adds a field."""
        known = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
        if not isinstance(d, Mapping) or not set(d) <= set(known):
            got = (
                ", ".join(k if k.isprintable() else ascii(k) for k in sorted(map(str, d)))
                if isinstance(d, Mapping)
                else shown(d)
            )
            raise NpuLayoutError(f"{cls.__name__}: expected a dict with any of {', '.join(known)}; got {got}")
        needed = [f.name for f in known.values() if f.default is dataclasses.MISSING]
        missing = [name for name in needed if name not in d]
        if missing:
            raise NpuLayoutError(
                f"{cls.__name__}: {', '.join(missing)} missing; got {', '.join(map(str, d)) or 'none'}"
            )
        with naming(cls.__name__):
            fields = {name: _read(known[name].metadata, value) for name, value in d.items()}
        return cls(**fields)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def _read(kinds: Mapping[str, Any], value: Any) -> Any:
    """Return a field's value with the records that its dicts stand for."""
    record: type[Record] | None = kinds.get("record")
    if record is None or value is None or isinstance(value, record):
        return value
    if kinds.get("many"):
        return tuple(_read({"record": record}, v) for v in items(f"a sequence of {record.__name__}", value))
    return record.from_dict(value)


_MOST = 2**31 - 1  #: of a count: no axis is as long, and floats and the kernels hold its products


def count_of(what: str, given: Any, least: int = 1) -> int:
    """Return a whole number of at least `least`; NpuLayoutError if it is anything else, or beyond 2**31 - 1."""
    (number,) = counts_of(what, [given], 1, least)
    return number


def counts_of(what: str, given: Any, count: int | None = None, least: int = 1) -> tuple[int, ...]:
    """Return `count` whole numbers (None: any number of them); NpuLayoutError as of count_of."""
    numbers = whole_numbers(what, given, count, least)
    if max(numbers, default=0) > _MOST:
        got = shown(given[0] if count == 1 and isinstance(given, list) else given)
        raise NpuLayoutError(f"{what}: expected no more than {_MOST}, got {got}")
    return numbers


def percent_words(number: float) -> str:
    """Return the end of a message on a share above 1 that was given in percent; empty if it cannot be one."""
    return f"; {number:g} percent are {number / 100:g}" if 1 < number <= 100 else ""


def share_of(what: str, given: Any, why: str = "") -> float:
    """Return a threshold as a float; NpuLayoutError, which says `why` it is a share, if it is not 0 .. 1."""
    try:
        share = real_number(what, given)
    except NpuLayoutError:
        share = np.nan
    if not 0 <= share <= 1:
        raise NpuLayoutError(f"{what}: expected 0 .. 1{why}, got {shown(given)}{percent_words(share)}")
    return share


def height_and_width(given: Any) -> tuple[int, int]:
    """Return an `input_shape` as two ints; NpuLayoutError, which says what to give, if it is anything else."""
    try:
        height, width = counts_of("input_shape: height and width", given, 2)
    except NpuLayoutError as error:
        sides = _sides(given)
        raise NpuLayoutError(f"{error}{f'; give {sides}' if sides else ''}") from None
    return height, width


def _sides(given: Any) -> tuple[int, ...]:
    """Return height and width if `given` is the side of a square, or the shape of a picture or of an input."""
    several = isinstance(given, (tuple, list)) or (isinstance(given, np.ndarray) and given.ndim > 0)
    if several and len(given) not in (3, 4):
        return ()
    try:
        picture = whole_numbers("input_shape", given[-3:] if several else [given] * 2, None, 1)  # without N
    except NpuLayoutError:
        return ()
    if not several:
        return picture
    channels = (3, 4) if len(given) == 3 else (1, 3, 4)
    first = picture[0] in channels and picture[2] not in channels
    return picture[1:] if first else picture[:2] if picture[2] in channels else ()


def items(what: str, given: Any, count: int | None = None) -> tuple[Any, ...]:
    """Return a sequence as a tuple; NpuLayoutError if it is none, or has not `count` items."""
    if isinstance(given, (str, bytes, Mapping)) or not iterates(given):
        raise NpuLayoutError(f"{what}: expected a sequence, got {shown(given)}")
    items = tuple(given)
    if count is not None and len(items) != count:
        raise NpuLayoutError(f"{what}: expected {count} items, got {shown(given)}")
    return items
