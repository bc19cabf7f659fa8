"""Run worker processes, each a pool of its own: one that dies loses only its current job."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, Callable

from ..errors import NpuLayoutError
from ..support import safe_lock


class ProcessDied(Exception):
    """The process died during a call; the text is how it ended."""


class Processes:
    """A process beside each thread that calls it: call after call goes to the same one, or to a new one if it died.

    Parameters
    ----------
    function
        The function that the processes call, with one argument. It must not raise, and all of these are pickled.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._context = multiprocessing.get_context("spawn")  # a fork copies locks of threads, but not the threads
        self._own = threading.local()
        self._lock = safe_lock()
        self._all: list[Any] = []
        self._closed = False

    def __call__(self, argument: Any) -> Any:
        """Return the function's result. Raises ProcessDied."""
        if not hasattr(self._own, "worker"):
            self._own.worker = self._start()
        process, pipe = self._own.worker
        try:
            pipe.send((self._function, argument))
            return pipe.recv()
        except (EOFError, OSError):
            process.join()
            del self._own.worker
            raise ProcessDied(_death(process.exitcode)) from None

    def check(self) -> None:
        """Raise NpuLayoutError if no process can be started."""
        process, pipe = self._start()
        try:
            pipe.send((bool, 0))
            pipe.recv()
        except (EOFError, OSError):
            raise NpuLayoutError(
                "worker processes cannot be started; does the script call this under `if __name__ == '__main__':`?"
            ) from None
        finally:
            pipe.close()
            process.join()

    def kill(self) -> None:
        """End all of them, and every one that is being started."""
        with self._lock:
            self._closed = True
            for process in self._all:
                process.kill()

    def _start(self) -> tuple[Any, Any]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        with self._lock, _deaf_to_ctrl_c():
            process.start()
            self._all = [p for p in self._all if p.is_alive()] + [process]
            if self._closed:
                process.kill()
        theirs.close()
        return process, ours


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let a process that is started in the block not be interrupted while it imports: it would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # which would end the block's mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _death(exitcode: int | None) -> str:
    if exitcode is None or exitcode >= 0:
        return f"exit status {exitcode}"
    return f"signal {-exitcode}: {signal.strsignal(-exitcode)}"


def _serve(pipe: Any) -> None:
    """Work until the other end is closed, or its owner has died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the owner, which ends this process
    while True:
        try:
            function, argument = pipe.recv()
        except (EOFError, ConnectionError):
            return
        answer = function(argument)
        try:
            pipe.send(answer)
        except ConnectionError:
            return
