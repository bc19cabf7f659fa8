"""The line of a stream, without threads: order, what is dropped and counted, what fails, memory, and the counts."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import Stream, StreamError
from npu_layout.streams.leases import Result
from npu_layout.streams.line import Line
from npu_layout.streams.stages import Job
from npu_layout.streams.watchdog import Watchdog
from tests.support.streaming import PREPROCESS, Reader, checked, frames


def line(workers: int = 1, depth: int = 2, seconds: float | None = None, **how: bool) -> Line:
    chosen = {**dict(latest=False, skips=False, debug=False), **how}
    return Line(workers, depth, Watchdog(seconds, object()), **chosen)


def put(one: Line, *numbers: int) -> None:
    for number in numbers:
        assert one.put(number, 0.0, np.full((2, 2), number, np.uint8), None)


def finish(one: Line, job: Job | None, error: BaseException | None = None) -> bool:
    assert job is not None and job.slot is not None
    return one.finish(job, error or Result(job.number, 0.0, job.slot, job.frame, None, job.dropped))


def asked(one: Line) -> tuple[int, int]:
    """The number of the next result, and what was dropped before it."""
    result = one.next(lambda: True)
    assert result is not None and (result.frame == result.number).all()
    return result.number, result.dropped


def test_results_come_in_the_order_of_the_frames() -> None:
    one = line(workers=3)
    put(one, 0, 1, 2)
    jobs = [one.take() for _ in range(3)]
    for job in reversed(jobs):
        assert finish(one, job)
    assert [asked(one) for _ in range(3)] == [(0, 0), (1, 0), (2, 0)]
    one.end()
    assert one.take() is None and one.next(lambda: True) is None and one.counts == (3, 3, 0, 0, 0)


def test_of_frames_that_wait_the_newest_one_stays() -> None:
    one = line(latest=True)
    put(one, 0, 1, 2)
    assert one.counts.dropped == 2
    finish(one, one.take())
    assert asked(one) == (2, 2)


@pytest.mark.parametrize("latest", [True, False])
def test_no_frame_is_begun_while_a_result_waits(latest: bool) -> None:
    """Whoever iterates is slower than the engines then, and what is begun now would be old when it is asked for."""
    one, taken = line(workers=2, latest=latest), []
    put(one, 0)
    first = one.take()
    put(one, 1)
    second = one.take()  # the first one has no result yet
    put(one, 2)
    finish(one, first)
    thread = threading.Thread(target=lambda: taken.append(one.take()))
    thread.start()
    thread.join(0.2)
    assert thread.is_alive() == latest
    put(one, 3)
    assert asked(one) == (0, 0)
    thread.join(5)
    assert not thread.is_alive() and taken[0].number == (3 if latest else 2)
    finish(one, second)
    assert asked(one) == (1, 0)
    finish(one, taken[0])
    assert asked(one) == ((3, 1) if latest else (2, 0))


def test_a_frame_is_begun_while_somebody_waits_for_a_result() -> None:
    one, found = line(latest=True), []
    thread = threading.Thread(target=lambda: found.extend(asked(one) for _ in range(2)))
    thread.start()
    for number in range(2):
        put(one, number)
        finish(one, one.take())
    thread.join(5)
    assert found == [(0, 0), (1, 0)]


def test_what_was_dropped_before_a_frame_that_fails_is_counted_with_the_next_result() -> None:
    one, begun = line(depth=9, latest=True, skips=True), []
    for numbers, error in (((0, 1), None), ((2, 3, 4), ValueError("x")), ((5, 6), OSError("y")), ((7, 8), None)):
        put(one, *numbers)
        begun.append((one.take(), error))
    for job, error in begun:
        finish(one, job, error)
    assert [asked(one) for _ in range(2)] == [(1, 1), (8, 4)]
    assert one.counts == (9, 2, 5, 2, 0)
    put(one, 9)
    finish(one, one.take())
    assert asked(one) == (9, 0)


def test_what_fails_ends_it_or_is_skipped() -> None:
    for skips in (False, True):
        one = line(skips=skips)
        assert one.put(0, 0.0, None, ValueError("gone")) is skips
        put(one, 1)
        finish(one, one.take())
        if skips:
            assert asked(one) == (1, 0)
        else:
            with pytest.raises(StreamError, match="frame 0: capture: ValueError: gone"):
                one.next(lambda: True)
        assert one.counts.failed == 1
    one = line(skips=True)
    masked = np.ma.array(np.zeros((2, 2), np.uint8), mask=True)
    assert one.put(0, 0.0, masked, None) and one.put(1, 0.0, None, KeyboardInterrupt()) is False
    one.end()
    assert one.take() is None
    with pytest.raises(StreamError, match="frame 1: capture: KeyboardInterrupt"):
        one.next(lambda: True)
    assert one.counts == (2, 0, 0, 2, 0)


def test_a_frame_that_is_given_up_keeps_its_memory() -> None:
    one = line(workers=2, seconds=0.01, skips=True, debug=True)
    put(one, 0, 1)
    hung, other = one.take(), one.take()
    assert hung is not None and hung.slot is not None
    finish(one, other)
    assert asked(one) == (1, 0) and one.hung and hung.hung
    assert not finish(one, hung) and (hung.frame == 0).all()
    one.clear()
    assert (hung.frame == 0).all() and one.counts == (2, 1, 0, 1, 0)


def test_whoever_puts_waits_for_room_until_it_stops() -> None:
    one = line(workers=1, depth=1)
    put(one, 0, 1)
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(one.put(2, 0.0, b"", None)))
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    one.stop()
    thread.join(10)
    assert answers == [False] and one.take() is None and one.next(lambda: True) is None
    one.clear()
    assert one.counts == (3, 0, 3, 0, 0)


@pytest.mark.parametrize("debug", [False, True])
def test_a_lease_ends_with_the_next_result_or_at_the_end(debug: bool) -> None:
    one = line(debug=debug)
    put(one, 0, 1)
    for _ in range(2):
        finish(one, one.take())
    held: list[Any] = []
    for _ in range(2):
        result = one.next(lambda: True)
        assert result is not None and result.frame.all() == result.number
        held.append((result, result.frame))
    one.clear()
    for result, frame in held:
        with pytest.raises(nl.NpuLayoutError, match="was returned"):
            result.frame  # noqa: B018
        assert set(frame.flat) == {0xA5 if debug else result.number}


def test_nobody_waits_for_threads_that_are_dead() -> None:
    one = line()
    put(one, 0)
    one.take()
    one.stop()
    assert one.next(lambda: False) is None


def test_any_depth_is_as_fast() -> None:
    """Before, memory for so many frames was made first: 2**31 never ended."""
    with Stream(frames(5), PREPROCESS, Reader(), checked, depth=2**31 - 1) as stream:
        assert [checked(result) for result in stream] == list(range(5))
