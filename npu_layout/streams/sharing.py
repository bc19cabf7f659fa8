"""Find engines whose outputs are memory that another engine, or their own next run, writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import isolated, safe_lock

_RUNS = 8  # of each engine that are looked at: what they returned is kept meanwhile


class Sharing:
    """What the engines of a pool returned in their first runs, and the values that it had.

    Memory that is returned twice is no fault by itself: an output may be a constant. It is one if its values changed
    while it belonged to somebody else: to the run of another engine, or to who called one that says that its outputs
    are the caller's.
    """

    def __init__(self, engines: int) -> None:
        self._lock = safe_lock()
        self._left = [_RUNS] * engines
        self._last: list[dict[str, tuple[np.ndarray, np.ndarray]]] = [{} for _ in range(engines)]

    def check(self, i: int, owns: bool, found: Mapping[str, np.ndarray], given: Iterable[Any]) -> None:
        """Raise NpuLayoutError if what engine `i` returned is memory of an earlier result that has other values now.

        owns: whether its outputs are its own until its next run. given: its inputs and `out`, which the caller may use
        again and again.
        """
        if not self._left[i]:
            return
        arrays = [one for one in given if isinstance(one, np.ndarray)]
        own = {name: now for name, now in found.items() if not any(np.may_share_memory(now, one) for one in arrays)}
        with self._lock:
            for j, last in enumerate(self._last):
                for name in () if j == i and owns else sorted(last.keys() & own.keys()):
                    before, values = last[name]
                    if np.may_share_memory(before, own[name]) and before.tobytes() != values.tobytes():
                        raise NpuLayoutError(_words(i, j, name))
            self._left[i] -= 1
            kept = own if self._left[i] else {}
            self._last[i] = {name: (now, now.copy()) for name, now in kept.items()}


def _words(i: int, j: int, name: str) -> str:
    if i == j:
        return (
            f"EnginePool: engine {i} says owns_outputs = False, and returns memory of its result before, with other "
            f"values: output {isolated(name)}; return a copy, or say owns_outputs = True"
        )
    return (
        f"EnginePool: engines {j} and {i} return the same memory, with other values: output {isolated(name)}; give "
        f"each engine output buffers of its own, or give the pool one engine"
    )
