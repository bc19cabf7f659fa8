"""Waiting for a change: who is woken, and that neither an interrupt nor a fork leaves the lock taken."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from typing import Any

import pytest

from npu_layout.streams import Stream
from npu_layout.streams.changes import AGAIN, Changes
from npu_layout.streams.line import Line
from npu_layout.streams.watchdog import Watchdog
from tests.support.interrupts import LIMIT, ends, interrupted
from tests.support.streaming import PREPROCESS, Reader, frames


def test_who_waits_is_woken_by_a_change_and_by_the_clock() -> None:
    one, seen, ready = Changes(), [], False

    def look() -> Any:
        seen.append(time.monotonic())
        return "here" if ready else AGAIN

    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(one.until(look)))
    thread.start()
    while not seen:
        time.sleep(0.001)
    for _ in range(3):
        with one.lock:
            one.notify()
    time.sleep(0.05)
    assert thread.is_alive() and 2 <= len(seen) <= 4
    with one.lock:
        ready = True
        one.notify()
    thread.join(LIMIT)
    assert answers == ["here"]
    until = time.monotonic() + 0.1
    assert one.until(lambda: AGAIN if time.monotonic() < until else 3, 0.01) == 3


def test_a_handler_may_take_the_lock_that_its_thread_has() -> None:
    one = Changes()
    with one.lock, one.lock:
        one.notify()
    assert ends(lambda: one.until(lambda: 1))


def test_an_interrupt_anywhere_leaves_no_lock_taken() -> None:
    def line() -> Line:
        made = Line(1, 2, Watchdog(None, object()), latest=False, skips=False, debug=False)
        made.put(0, 0.0, b"", None)
        return made

    def waits(one: Line) -> None:
        timer = threading.Timer(0.02, one.end)
        timer.start()
        one.clear()
        one.next(lambda: True)
        timer.join()

    places = 0
    for act in (Line.stop, Line.end, Line.clear, Line.watch, lambda one: one.counts, waits):
        n = 1
        while True:
            one = line()
            came = interrupted(lambda one=one, act=act: act(one), n)  # type: ignore[misc]
            assert ends(one.stop), (act, n)
            if not came:
                break
            n, places = n + 1, places + 1
    assert places > 12


def test_an_interrupt_anywhere_in_a_loop_leaves_with() -> None:
    """Once the threads run; while they are started, it may come in threading's own code."""
    n = 1
    while True:
        stream = Stream(frames(3), PREPROCESS, Reader())
        stream.start()
        came: list[bool] = []

        def loop(stream: Stream = stream, came: list[bool] = came, n: int = n) -> None:
            def body() -> None:
                with stream:
                    for _ in stream:
                        pass

            came.append(interrupted(body, n))
            stream.close()

        assert ends(loop), n
        counts = stream.counts
        assert counts.pending == 0 and counts.captured == counts.shown + counts.dropped
        if not came[0]:
            break
        n += 5
    assert n > 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_does_not_wait_for_threads_of_its_parent() -> None:
    one, has, may = Changes(), threading.Event(), threading.Event()

    def hold() -> None:
        with one.lock:
            has.set()
            may.wait(LIMIT)

    thread = threading.Thread(target=hold)
    thread.start()
    has.wait(LIMIT)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(5)
        with one.lock:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    may.set()
    thread.join()
    assert status == 0


def test_nothing_of_python_runs_when_a_stream_that_was_closed_is_collected() -> None:
    """A Ctrl-C that comes in a callback of weakref's is printed, and lost. threading has one for each Thread."""
    with Stream(frames(3), PREPROCESS, Reader()) as stream:
        list(stream)
    one, called = [stream, Changes()], []  # type: list[Any], list[str]
    threads = len(stream._crew._threads)
    del stream
    gc.collect()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name != "gc_callback":  # hypothesis's, of each collection
            called.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        one.clear()
        gc.collect()
    finally:
        sys.setprofile(before)
    assert called == ["_remove"] * threads
