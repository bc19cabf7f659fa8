"""Keep what a stream's function returned, when the memory of its frame is used again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

_DEEPEST = 8  # levels of containers: one that contains itself ends
_PLAIN = frozenset((int, float, bool, str, bytes, type(None), np.float32, np.float64, np.int64, np.bool_))


def lasting(value: Any, memory: Sequence[np.ndarray]) -> Any:
    """Return `value`, in which arrays that share one of `memory` are copies.

    So are those in tuples, lists, deques, values of dicts, fields of dataclasses and arrays of objects, eight levels
    deep. A container without such an array is returned itself, any other as a new one of its kind, in which everything
    else is the same object. Each container is looked into once.
    """
    return _Kept(memory).of(value, _DEEPEST)


class _Kept:
    """What was kept of each container so far; of one that is being looked into, itself."""

    def __init__(self, memory: Sequence[np.ndarray]) -> None:
        self.memory = memory
        self.known: dict[int, Any] = {}

    def of(self, value: Any, depth: int) -> Any:
        if type(value) in _PLAIN:
            return value
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return np.array(value, copy=True, order="K", subok=True) if self._shares(value) else value
        kind = _kind(value)
        if kind is None or not depth:
            return value
        if id(value) not in self.known:
            self.known[id(value)] = value
            read, made = kind
            items = read(value)
            kept = [self.of(item, depth - 1) for item in items]
            if any([one is not other for one, other in zip(kept, items)]):
                self.known[id(value)] = made(value, kept)
        return self.known[id(value)]

    def _shares(self, array: np.ndarray) -> bool:
        """Return whether it may share memory; an array that owns its memory does so with its views alone."""
        if array.base is None:
            return any([array is other or other.base is array for other in self.memory])
        return any([np.may_share_memory(array, other) for other in self.memory])


def _tuple(value: tuple[Any, ...], kept: list[Any]) -> Any:
    return getattr(type(value), "_make", tuple)(kept)  # a named tuple stays one


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


def _fields(value: Any) -> list[Any]:
    return [getattr(value, field.name, None) for field in fields(value)]


def _dataclass(value: Any, kept: list[Any]) -> Any:
    own = copy(value)
    for field, item in zip(fields(value), kept):
        if getattr(value, field.name, None) is not item:
            object.__setattr__(own, field.name, item)  # of a frozen one too
    return own


# What a container contains, and how one of the same kind is made of what is kept of that.
_KINDS: tuple[tuple[type, Callable[[Any], list[Any]], Callable[[Any, list[Any]], Any]], ...] = (
    (tuple, list, _tuple),
    (list, list, lambda value, kept: kept),
    (dict, lambda value: list(value.values()), _dict),
    (deque, list, _deque),
    (np.ndarray, lambda value: list(value.reshape(-1)) if value.dtype == object else [], _objects),
)


def _kind(value: Any) -> tuple[Callable[[Any], list[Any]], Callable[[Any, list[Any]], Any]] | None:
    """Return how a container is read and made; None of anything else."""
    for kind, read, made in _KINDS:
        if isinstance(value, kind):
            return read, made
    return (_fields, _dataclass) if is_dataclass(value) and not isinstance(value, type) else None
