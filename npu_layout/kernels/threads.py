"""Large conversions in parts, on a pool of threads: the compiled kernels release the interpreter's lock."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

PART = 1 << 19  # bytes of source and destination that are worth a thread of their own
_pool: ThreadPoolExecutor | None = None
_threads = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def get_num_threads() -> int:
    """Threads that one call may use."""
    return _threads


def set_num_threads(n: int) -> None:
    """Let one call use up to `n` threads; default: the cores this process may use, at most 4. 1: no threads.

    Raises ValueError below 1. Calls that are running keep what they have.
    """
    global _threads, _pool
    count = operator.index(n)
    if count < 1:
        raise ValueError(f"threads: expected 1 or more, got {n}")
    _threads, _pool = count, None


def in_parts(run: Callable[..., None], nbytes: int) -> Callable[[Any, Any], None]:
    """`run` itself where `nbytes` are too few, else what calls it from several threads."""
    most = nbytes // PART
    if most < 2:
        return run

    def threaded(src: Any, dst: Any) -> None:
        parts = min(_threads, most)
        if parts < 2:
            run(src, dst)
            return
        try:
            waiting = [_executor().submit(run, src, dst, i, parts) for i in range(1, parts)]
        except RuntimeError:  # the interpreter is shutting down
            run(src, dst)
            return
        run(src, dst, 0, parts)
        for part in waiting:
            part.result()

    return threaded


def _executor() -> ThreadPoolExecutor:
    global _pool
    pool = _pool
    if pool is None:
        from concurrent.futures import ThreadPoolExecutor  # 8 ms that most scripts never need

        pool = _pool = ThreadPoolExecutor(max(1, _threads - 1), thread_name_prefix="npu_layout")
    return pool


def _after_fork() -> None:
    global _pool
    _pool = None  # its threads stayed with the parent


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
