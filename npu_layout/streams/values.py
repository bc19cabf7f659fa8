"""Keep what a stream's function returned, when the memory of its frame is used again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

CHANGING = (np.ndarray, tuple, list, dict)  #: what can be, or have in it, memory that is used again
_DEEPEST = 8  # levels of tuples, lists and dicts: one that contains itself ends


def lasting(value: Any, memory: Sequence[np.ndarray], depth: int = _DEEPEST) -> Any:
    """Return `value`, in which arrays that share one of `memory` are copies.

    Those in tuples, lists and dicts too; a container without such an array is returned itself.
    """
    if isinstance(value, np.ndarray):
        return np.array(value, copy=True, order="K", subok=True) if _shares(value, memory) else value
    if not depth or not isinstance(value, (tuple, list, dict)):
        return value
    items = list(value.values() if isinstance(value, dict) else value)
    kept = [lasting(item, memory, depth - 1) for item in items]
    if all([one is other for one, other in zip(kept, items)]):
        return value
    if isinstance(value, dict):
        own = copy(value)  # of its kind: a defaultdict has its default
        for key, item in zip(value, kept):
            own[key] = item
        return own
    return kept if isinstance(value, list) else getattr(type(value), "_make", tuple)(kept)  # a named tuple stays one


def _shares(array: np.ndarray, memory: Sequence[np.ndarray]) -> bool:
    """Return whether it may share memory; an array that owns its memory does so with its views alone."""
    if array.base is None:
        return any([array is other or other.base is array for other in memory])
    return any([np.may_share_memory(array, other) for other in memory])
