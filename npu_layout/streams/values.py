"""Keep what a stream's function returned, when the memory of its frame is used again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import is_dataclass
from functools import cached_property
from types import MemberDescriptorType
from typing import Any

import numpy as np

_DEEPEST = 8  # levels of containers: one that contains itself ends
_MADE_IN_PYTHON = 1 << 9  # of a type's flags: Py_TPFLAGS_HEAPTYPE
_UNSET = object()
_PLAIN = frozenset((int, float, bool, str, bytes, type(None), np.float32, np.float64, np.int64, np.bool_))


def lasting(value: Any, memory: Callable[[], Sequence[np.ndarray]]) -> Any:
    """Return `value`, in which arrays that share one of `memory()` are copies; without an array that is not called.

    So are those in tuples, lists, deques, values of dicts, attributes of dataclasses and arrays of objects, eight
    levels deep. A container without such an array is returned itself, any other as a new one of its kind, in which
    everything else is the same object. A container is looked into again only if it is found less deep.
    """
    return _Kept(memory).of(value, _DEEPEST)


class _Kept:
    """What was kept of each container so far; of one that is being looked into, itself.

    `known`: by its identity, (levels that were left, the container, which has to stay alive, and what was kept of it).
    """

    def __init__(self, memory: Callable[[], Sequence[np.ndarray]]) -> None:
        self._asked = memory
        self.known: dict[int, tuple[int, Any, Any]] = {}

    def of(self, value: Any, depth: int) -> Any:
        if type(value) in _PLAIN:
            return value
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return np.array(value, copy=True, order="K", subok=True) if self._shares(value) else value
        kind = _kind(value)
        if kind is None or not depth:
            return value
        known = self.known.get(id(value))
        if known is not None and known[0] >= depth:
            return known[2]
        self.known[id(value)] = (depth, value, value)
        read, made = kind
        items = read(value)
        kept = [self.of(item, depth - 1) for item in items]
        own = made(value, kept) if any([one is not other for one, other in zip(kept, items)]) else value
        self.known[id(value)] = (depth, value, own)
        return own

    @cached_property
    def memory(self) -> Sequence[np.ndarray]:
        """What is used again."""
        return self._asked()

    def _shares(self, array: np.ndarray) -> bool:
        """Return whether it may share memory; an array that owns its memory does so with its views alone."""
        if array.base is None:
            return any([array is other or other.base is array for other in self.memory])
        return any([np.may_share_memory(array, other) for other in self.memory])


def _tuple(value: tuple[Any, ...], kept: list[Any]) -> Any:
    return getattr(type(value), "_make", tuple)(kept)  # a named tuple stays one


def _list(value: list[Any], kept: list[Any]) -> Any:
    if type(value) is list:
        return kept
    own = copy(value)
    own[:] = kept
    return own


def _deque(value: deque[Any], kept: list[Any]) -> Any:
    own = copy(value)
    own.clear()
    own.extend(kept)
    return own


def _dict(value: dict[Any, Any], kept: list[Any]) -> Any:
    own = copy(value)  # of its kind: a defaultdict has its default
    for key, item in zip(value, kept):
        own[key] = item
    return own


def _objects(value: np.ndarray, kept: list[Any]) -> Any:
    own = np.empty(value.shape, object)
    line = own.reshape(-1)
    for i, item in enumerate(kept):
        line[i] = item
    return own


def _slots(value: Any) -> dict[MemberDescriptorType, Any]:
    slots = [slot for kind in type(value).__mro__ if "__slots__" in vars(kind) for slot in vars(kind).values()]
    found = ((slot, _in_slot(slot, value)) for slot in slots if isinstance(slot, MemberDescriptorType))
    return {slot: item for slot, item in found if item is not _UNSET}


def _in_slot(slot: MemberDescriptorType, value: Any) -> Any:
    try:
        return slot.__get__(value)
    except AttributeError:
        return _UNSET


def _attributes(value: Any) -> list[Any]:
    """Return what is stored in an object: properties may be computed, or fail."""
    return [*getattr(value, "__dict__", {}).values(), *_slots(value).values()]


def _dataclass(value: Any, kept: list[Any]) -> Any:
    """Return another object of the class, also of a frozen one, or one that refuses to be copied."""
    own, names = object.__new__(type(value)), list(getattr(value, "__dict__", {}))
    for name, item in zip(names, kept):
        own.__dict__[name] = item
    for slot, item in zip(_slots(value), kept[len(names) :]):
        slot.__set__(own, item)
    return own


# What a container contains, and how one of the same kind is made of what is kept of that.
_KINDS: tuple[tuple[type, Callable[[Any], list[Any]], Callable[[Any, list[Any]], Any]], ...] = (
    (tuple, list, _tuple),
    (list, list, _list),
    (dict, lambda value: list(value.values()), _dict),
    (deque, list, _deque),
    (np.ndarray, lambda value: list(value.reshape(-1)) if value.dtype == object else [], _objects),
)


def _kind(value: Any) -> tuple[Callable[[Any], list[Any]], Callable[[Any, list[Any]], Any]] | None:
    """Return how a container is read and made; None of anything else."""
    for kind, read, made in _KINDS:
        if isinstance(value, kind):
            return read, made
    return (_attributes, _dataclass) if is_dataclass(value) and _is_plain(type(value)) else None


def _is_plain(kind: type) -> bool:
    """Whether an object is nothing but its attributes: no class, and no exception or other object of C."""
    return all(base is object or base.__flags__ & _MADE_IN_PYTHON for base in kind.__mro__)
