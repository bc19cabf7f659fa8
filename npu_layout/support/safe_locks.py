"""Make locks of threads that no interrupt leaves taken."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from itertools import compress, starmap
from typing import Any

_ONCE = ((),)  # the arguments of one call


class SafeLock:
    """A lock for ``with``, also where an interrupt may come between its `__enter__` and the block.

    There CPython 3.14 runs the handlers of signals, as after every other call: a KeyboardInterrupt leaves a lock of
    threading taken, and who asks for it next waits forever. Here `__enter__` releases a lock that was taken before it
    lets an exception pass. Each is one call of C: to take the lock and note that, and to release what is noted. The
    lock's own `__exit__`, in C too, ends the block.

    Parameters
    ----------
    lock
        A new Lock or RLock of threading, which nobody else uses.

    Raises nothing.
    """

    __slots__ = ("__exit__", "_acquire", "_release")
    __exit__: Callable[..., Any]

    def __init__(self, lock: Any) -> None:
        self.__exit__, self._acquire, self._release = lock.__exit__, lock.acquire, lock.release

    def __enter__(self) -> None:
        taken: list[tuple[()]] = []
        returns = starmap(self._release, taken)
        try:
            taken.extend(compress(_ONCE, starmap(self._acquire, _ONCE)))
        except BaseException:
            any(returns)
            raise


def safe_lock(reentrant: bool = False) -> Any:
    """Return a new lock for ``with`` that no interrupt leaves taken. reentrant: its owner may take it again.

    CPython 3.9 alone runs handlers after a block's end and before `__exit__`, one instruction that no code can guard.
    """
    lock = threading.RLock() if reentrant else threading.Lock()
    return lock if sys.version_info < (3, 14) else SafeLock(lock)
