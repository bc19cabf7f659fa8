"""Use buffers that a caller's code makes, and copy them if it writes to the same memory each time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..support import safe_lock
from .copies import array_of
from .leases import Slot
from .stages import Job

_TICK = 0.05  # seconds between looks at who makes


class Borrowed:
    """What a function that preprocesses returns, or an iterable of inputs yields: several at a time are in use.

    Who writes to the same memory again would change what others still use. The first ones are copied; `first` is more
    than are ever in use. If memory came twice among them, or later while it was in use, all are copied from then on,
    else none. Where threads make them, one at a time does while they are copied: with the same memory they would write
    to each other's.
    """

    def __init__(self, first: int) -> None:
        self._left, self._again = first, False
        self._lock = safe_lock()
        self._known: list[tuple[Slot, int, list[np.ndarray]]] = []  # with the lease
        self._turn, self._maker = threading.Lock(), None  # type: tuple[threading.Lock, Job | None]

    @contextmanager
    def turn(self, job: Job) -> Iterator[None]:
        """Let one thread at a time make what is copied; the time that a frame waits is none of its stage."""
        if self._left <= 0 and not self._again:
            yield
            return
        job.queued = True
        while not (turn := self._turn).acquire(timeout=_TICK):
            with self._lock:
                if turn is self._turn and self._maker is not None and self._maker.hung:
                    self._turn = threading.Lock()  # without the one that was given up
        self._maker = job
        job.begun()
        try:
            yield
        finally:
            turn.release()

    def taken(self, slot: Slot, given: Any) -> Any:
        """Return what is used during a slot's lease: a buffer or {name: buffer}, or a copy in memory of the slot."""
        named = given if isinstance(given, Mapping) else {"": given}
        arrays = [array for array in map(_array, named.values()) if array is not None]
        with self._lock:
            copies = self._left > 0 or self._again
            if self._left <= 0:
                self._known = [one for one in self._known if one[1] == one[0].lease]
            known = [other for _, _, others in self._known for other in others]
            if not self._again and any([np.may_share_memory(one, other) for one in arrays for other in known]):
                self._again = copies = True
            self._left -= 1
            self._known = [] if self._again else [*self._known, (slot, slot.lease, arrays)]
        slot.borrowed = not copies
        if not copies:
            return given
        kept = dict(zip(named, slot.keep_inputs(tuple(named.values()))))
        return kept if isinstance(given, Mapping) else kept[""]


def _array(part: Any) -> np.ndarray | None:
    """Return the memory of a buffer as an array; None if it has none, or if nobody changes it."""
    if isinstance(part, np.ndarray):
        return part
    return None if isinstance(part, (bytes, str, np.generic)) else array_of(part)[0]
