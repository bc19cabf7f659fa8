"""Keep what a stream's function returned, when the memory of its frame is used again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

_DEEPEST = 8  # levels of tuples, lists and dicts: one that contains itself ends


def lasting(value: Any, memory: Iterable[np.ndarray], depth: int = _DEEPEST) -> Any:
    """Return `value`, in which arrays that share one of `memory` are copies.

    Those in tuples, lists and dicts too; a container without such an array is returned itself.
    """
    if isinstance(value, np.ndarray):
        shares = any([np.may_share_memory(value, other) for other in memory])
        return np.array(value, copy=True, order="K", subok=True) if shares else value
    if not depth or not isinstance(value, (tuple, list, dict)):
        return value
    items = list(value.values() if isinstance(value, dict) else value)
    kept = [lasting(item, memory, depth - 1) for item in items]
    if all([one is other for one, other in zip(kept, items)]):
        return value
    if isinstance(value, dict):
        return dict(zip(value, kept))
    return kept if isinstance(value, list) else getattr(type(value), "_make", tuple)(kept)  # a named tuple stays one
