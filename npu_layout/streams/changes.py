"""Threads that wait for a change of what they share, under a lock that no interrupt leaves taken."""

from __future__ import annotations

import queue
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from ..support import ProcessLock

_T = TypeVar("_T")


class Again:
    """What `until` is answered when there is nothing yet: to call again after a change, or so many seconds."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds


AGAIN = Again()


class Changes:
    """A lock, and those who wait until what it guards has changed.

    threading.Condition takes its lock, and waits, in code of Python, in which the exception of a signal's handler
    (KeyboardInterrupt) may come while the main thread has the lock and no `with` that returns it. Here the lock
    is a `safe_lock`, and the wait a call of C. The lock may be taken again by its owner, such as a handler that stops a
    stream.
    """

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._asleep: set[queue.SimpleQueue[None]] = set()

    @property
    def lock(self) -> Any:
        """The lock, that of this process."""
        return self._lock.own

    def notify(self) -> None:
        """Wake all who wait; the caller has the lock."""
        for bell in tuple(self._asleep):
            bell.put(None)  # they are forgotten afterwards: an exception between leaves them to the next call
        self._asleep.clear()

    def until(self, act: Callable[[], _T | Again], tick: float | None = None) -> _T:
        """Call `act` with the lock until it returns something other than an Again, and return that.

        It is called again after each change, and after the Again's seconds, or `tick` where that has none.
        """
        bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        while True:
            with self.lock:
                answer = act()
                if not isinstance(answer, Again):
                    return answer
                self._asleep.add(bell)
            with suppress(queue.Empty):
                bell.get(timeout=tick if answer.seconds is None else answer.seconds)
