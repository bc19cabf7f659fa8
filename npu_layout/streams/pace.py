"""Decide when a stream begins a frame, so that its result is there when it is asked for, and not long before."""

from __future__ import annotations

import math
import time
from collections import deque

RECENT = 8  # turns and frames that are remembered
EARLIER = 1.25  # a frame is begun as if it took so many times the longest of the recent ones


class Pace:
    """The recent turns of whoever iterates, and the recent times of frames in their stages, in seconds.

    A turn is the time from one result to the next call. The caller has the lock of the stream.
    """

    def __init__(self) -> None:
        self._turns: deque[float] = deque(maxlen=RECENT)
        self._stages: deque[float] = deque(maxlen=RECENT)
        self._asking = 0  # who wait for a result
        self._handed: float | None = None  # when the last result was, if nobody has asked since

    def asked(self) -> None:
        """Note that somebody waits for a result."""
        if self._handed is not None:
            self._turns.append(time.monotonic() - self._handed)
            self._handed = None
        self._asking += 1

    def handed(self) -> None:
        """Note that one of those who wait has a result."""
        self.left()
        self._handed = time.monotonic()

    def left(self) -> None:
        """Note that one of those who wait gets no result."""
        self._asking = max(0, self._asking - 1)

    def finished(self, seconds: float) -> None:
        """Note how long a frame was in its stages."""
        self._stages.append(seconds)

    def wait(self, ahead: int, done: bool) -> float:
        """Return how long to wait before a frame is begun: 0 or less for not at all, infinity for a result to go.

        ahead: the results that are asked for before its own; done: whether the first of them is there. The shortest
        recent turn and the longest recent time in the stages count: a result that comes too early is older than need
        be, one that comes too late leaves whoever iterates without.
        """
        now = time.monotonic()
        asked = now
        if not self._asking:
            late = self._handed is None or not self._turns or now - self._handed > 2 * max(self._turns)
            if late:
                return math.inf if done else 0.0
            assert self._handed is not None
            asked = max(now, self._handed + min(self._turns))
        if not self._stages:
            return 0.0
        return asked + ahead * min(self._turns, default=0.0) - EARLIER * max(self._stages) - now
