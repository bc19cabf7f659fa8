"""SIGTERM ends a stream as Ctrl-C does, where nobody else has a handler for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

import pytest

from npu_layout.streams.signals import Stopped

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
def test_of_two_streams_the_first_has_it() -> None:
    (first, threads, called), (second, others, _) = stopped(), stopped()
    first.catch()
    second.catch()
    second.restore()  # what it did not catch it does not restore
    os.kill(os.getpid(), signal.SIGTERM)
    assert called.wait(5) and len(threads) == 1 and others == []
    first.restore()


@pytest.mark.usefixtures("handler")
def test_other_threads_leave_it_alone() -> None:
    """Python sets handlers in the main thread only."""
    one, _, _ = stopped()
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
