"""Locks that a forked child has anew: a thread that held one at the fork is not in the child to return it."""

from __future__ import annotations

import os
from typing import Any

from .safe_locks import safe_lock


class ProcessLock:
    """A lock of threads that its owner may take again; a forked child process has a lock of its own.

    ``with lock.own:`` takes it. No WeakSet of locks is renewed at a fork: the code that Python calls when an object of
    a WeakSet is collected swallows the exception of a signal's handler, and a Ctrl-C was lost. Nor is this class a
    context manager itself: such an exception could come in its code while the lock is taken.
    `own` is a `safe_lock`.
    """

    __slots__ = ("_locks",)

    def __init__(self) -> None:
        self._locks: dict[int, Any] = {os.getpid(): safe_lock(reentrant=True)}

    @property
    def own(self) -> Any:
        """The lock of this process."""
        number = os.getpid()
        return self._locks.get(number) or self._locks.setdefault(number, safe_lock(reentrant=True))  # of all threads
