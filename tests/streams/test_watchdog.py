"""The watchdog gives up who does not answer, and nobody who waits for others."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from npu_layout.streams import EnginePool, Stream, StreamError
from npu_layout.streams.stages import Job
from npu_layout.streams.watchdog import Watchdog
from tests.support.streaming import PREPROCESS, Reader, checked, frames

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def job(seconds: float, **more: Any) -> Job:
    """A frame that has been in its stage for so long."""
    made = Job(0, 0.0, None, None)
    made.since = time.monotonic() - seconds
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_who_is_late() -> None:
    watchdog = Watchdog(1.0, Reader())
    assert watchdog.late(job(1.5)) and not watchdog.late(job(0.5)) and not watchdog.late(job(1.5, state="done"))
    assert not Watchdog(None, Reader()).late(job(1e6))


def test_time_in_the_queue_of_a_pool_counts_only_if_no_engine_answers() -> None:
    release = threading.Event()
    with EnginePool([Reader(fault=lambda n: release.wait(30) and None)]) as pool:
        watchdog = Watchdog(0.2, pool)
        assert watchdog.late(job(1.0)) and not watchdog.late(job(1.0, queued=True))
        future = pool.submit(PREPROCESS(next(frames(1)))[0])
        assert not watchdog.late(job(1.0, queued=True))  # it may be answered yet
        time.sleep(0.3)
        assert watchdog.late(job(1.0, queued=True)) and not watchdog.late(job(0.1, queued=True))
        release.set()
        future.result(10)
        assert not watchdog.late(job(1.0, queued=True))


def test_what_is_given_up_may_use_its_memory() -> None:
    waiting = EnginePool([Reader(0.1)])
    with waiting as pool:
        futures = [pool.submit(PREPROCESS(next(frames(1)))[0]) for _ in range(2)]
        late = job(9, stage="infer", queued=True, future=futures[1])
        Watchdog(1.0, pool).give_up(late)
        assert late.hung and futures[1].cancelled() and pool._hung
        other = job(9, stage="function")
        Watchdog(1.0, Reader()).give_up(other)
        assert other.hung


@pytest.mark.alone
def test_streams_that_share_a_healthy_pool_are_left_alone() -> None:
    """Six streams wait for an engine of 50 ms: each frame is in the queue for 250 ms, and the watchdog has 200."""
    with EnginePool([Reader(0.05)]) as pool:
        found: list[Any] = []

        def watch() -> None:
            try:
                found.append([checked(r) for r in Stream(frames(5), PREPROCESS, pool, watchdog=0.2)])
            except StreamError as error:
                found.append(str(error))

        threads = [threading.Thread(target=watch) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [list(range(5))] * 6 and not pool._hung


@pytest.mark.alone
def test_who_waits_for_a_pool_that_hangs_gets_a_warning() -> None:
    """One stream, without a watchdog, is in the only engine; the other one does not wait forever."""
    release = threading.Event()
    pool = EnginePool([Reader(fault=lambda n: release.wait(30) and None)])
    with pool, Stream(frames(1), PREPROCESS, pool) as first:
        first.start()
        time.sleep(0.05)
        with (
            Stream(frames(3), PREPROCESS, pool, watchdog=0.2) as second,
            pytest.raises(StreamError, match=r"frame 0: infer: no answer for 0.2 s \(watchdog\)"),
        ):
            list(second)
        release.set()
        assert [checked(r) for r in first] == [0]


def test_who_leaves_the_loop_does_not_wait_for_an_engine_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npu_layout.streams.crew._PATIENCE", 0.05)
    release, reached = threading.Event(), threading.Event()

    def hangs(number: int) -> None:
        if number == 1:
            reached.set()
            release.wait(30)

    with Stream(frames(9), PREPROCESS, Reader(fault=hangs), watchdog=0.1) as stream:
        assert checked(next(iter(stream))) == 0 and reached.wait(5)
        closing = threading.Thread(target=stream.close)
        closing.start()
        closing.join(0.8)
        left = not closing.is_alive()
        release.set()
        closing.join(5)
    assert left and stream.counts.failed == 1 and stream.counts.pending == 0
