"""SIGTERM ends a stream as Ctrl-C does, where nobody else has a handler for it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

import pytest

import npu_layout as nl
from npu_layout.streams import Result, Source, Stream, signals
from npu_layout.streams.signals import Stopped
from tests.support.streaming import PREPROCESS, Reader, frames

SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests in the background ignores it
from npu_layout.streams import Stream
from tests.support.streaming import PREPROCESS, Reader, frames
with Stream(frames(10**9), PREPROCESS, Reader(0.005)) as stream:
    for result in stream:
        if result.number == 3:
            print("running", flush=True)
c = stream.counts
print(c.captured == c.shown + c.dropped + c.failed, c.pending, flush=True)
"""


@pytest.mark.alone
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it(how: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "running\n"
    start = time.monotonic()
    os.kill(process.pid, how)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - start < 3
    if how == signal.SIGTERM:
        assert out == "True 0\n" and process.returncode == 0, err
    else:
        assert err.rstrip().endswith("KeyboardInterrupt") and process.returncode in (1, -2, 130)


@pytest.fixture
def handler() -> Iterator[None]:
    """The handler of SIGTERM is the system's, and is again afterwards."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def stopped() -> tuple[Stopped, list[str], threading.Event]:
    threads: list[str] = []
    called = threading.Event()

    def stop() -> None:
        threads.append(threading.current_thread().name)
        called.set()

    return Stopped(stop), threads, called


@pytest.mark.usefixtures("handler")
def test_the_signal_is_caught_until_it_is_restored() -> None:
    one, threads, called = stopped()
    one.catch()
    os.kill(os.getpid(), signal.SIGTERM)
    assert called.wait(5) and threads == ["npu_layout stream stop"]  # not in the main thread, which may have a lock
    one.restore()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    one.restore()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.usefixtures("handler")
def test_a_handler_of_yours_stays() -> None:
    seen = []

    def own(number: int, frame: FrameType | None) -> None:
        seen.append(number)

    signal.signal(signal.SIGTERM, own)
    one, threads, _ = stopped()
    one.catch()
    os.kill(os.getpid(), signal.SIGTERM)
    one.restore()
    assert seen == [signal.SIGTERM] and threads == [] and signal.getsignal(signal.SIGTERM) is own


@pytest.mark.usefixtures("handler")
def test_all_of_several_are_stopped_and_the_last_one_restores() -> None:
    several = [stopped() for _ in range(3)]
    for one, _, _ in several:
        one.catch()
    several[0][0].restore()  # in any order
    os.kill(os.getpid(), signal.SIGTERM)
    for one, threads, called in several[1:]:
        assert called.wait(5) and threads == ["npu_layout stream stop"]
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        one.restore()
    assert several[0][1] == [] and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.usefixtures("handler")
def test_a_handler_that_came_later_stays() -> None:
    def own(number: int, frame: FrameType | None) -> None:
        pass

    one, _, _ = stopped()
    one.catch()
    signal.signal(signal.SIGTERM, own)
    one.restore()
    assert signal.getsignal(signal.SIGTERM) is own


ENDED = """
import asyncio, os, signal, sys, threading, time
signal.signal(signal.SIGTERM, signal.SIG_DFL)
from npu_layout.streams import Stream
from tests.support.streaming import PREPROCESS, Reader, frames

def stream(function=None):
    return Stream(frames(5), PREPROCESS, Reader(), function)

async def in_a_loop(one):
    async for result in one:
        pass

def by_loop():
    with stream() as one:
        asyncio.run(in_a_loop(one))

def by_thread():
    with stream() as one:
        thread = threading.Thread(target=lambda: list(one))
        thread.start()
        thread.join()

def by_function():
    with stream(lambda result: one.close()) as one:
        list(one)

def within():
    with stream() as one:
        asyncio.run(in_a_loop(one))
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

def in_a_child():
    with stream():
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            assert os.WTERMSIG(status) == signal.SIGTERM, status
        else:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
            os._exit(0)

globals()[sys.argv[1]]()
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
print("over", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(5)
"""


@pytest.mark.parametrize("how", ["by_loop", "by_thread", "by_function", "within", "in_a_child"])
def test_after_a_stream_the_signal_ends_the_process(how: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", ENDED, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert done.stdout == ("" if how == "within" else "over\n")


TWO = """
import signal
from npu_layout.streams import Stream
from tests.support.streaming import PREPROCESS, Reader, frames
with Stream(frames(10**9), PREPROCESS, Reader()) as one, Stream(frames(10**9), PREPROCESS, Reader()) as other:
    both = iter(one), iter(other)
    for n, _ in enumerate(zip(*both)):
        if n == 3:
            print("running", flush=True)
    print(len(list(both[0])) < 99, len(list(both[1])) < 99, flush=True)
"""


def test_the_signal_ends_both_of_two_streams() -> None:
    process = subprocess.Popen([sys.executable, "-c", TWO], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "running\n"
    os.kill(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert out == "True True\n" and process.returncode == 0, err


@pytest.mark.usefixtures("handler")
@pytest.mark.parametrize("begins", ["for", "async for", "start"])
def test_a_signal_before_the_first_result_ends_it_without_any(begins: str) -> None:
    closed: list[bool] = []

    async def results() -> list[Result]:
        return [result async for result in stream]

    with Stream(Source(frames(9), close=lambda: closed.append(True)), PREPROCESS, Reader()) as stream:
        os.kill(os.getpid(), signal.SIGTERM)
        until = time.monotonic() + 10
        while not stream._crew.line.stopping and time.monotonic() < until:
            time.sleep(0.001)
        if begins == "start":
            stream.start()
        assert (asyncio.run(results()) if begins == "async for" else list(stream)) == []
    assert closed == [True] and stream.counts == (0, 0, 0, 0, 0)
    with pytest.raises(nl.NpuLayoutError, match="it was stopped; make a new one"):
        list(stream)
    with Stream(frames(9), PREPROCESS, Reader()) as stream:
        stream.stop()  # no signal
        with pytest.raises(nl.NpuLayoutError, match="it was stopped; make a new one"):
            list(stream)


@pytest.mark.usefixtures("handler")
def test_other_threads_leave_it_alone() -> None:
    """Python sets handlers in the main thread only; what was restored in another one stops nothing any more."""
    one, threads, _ = stopped()
    thread = threading.Thread(target=one.catch)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    one.catch()
    thread = threading.Thread(target=one.restore)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    one.restore()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and threads == []


def test_what_is_restored_while_the_signal_is_handled_loses_nothing() -> None:
    """Each one restores itself when it is asked for its function, as another thread may at that moment."""
    called = [threading.Event() for _ in range(3)]

    class Restoring(Stopped):
        def __getattribute__(self, name: str) -> object:
            if name == "stop":
                signals._CAUGHT.discard(self)
            return super().__getattribute__(name)

    caught = [Restoring(event.set) for event in called]
    signals._CAUGHT.update(caught)
    try:
        signals._called(signal.SIGTERM, None)
    finally:
        signals._CAUGHT.difference_update(caught)
    assert all(event.wait(5) for event in called)
