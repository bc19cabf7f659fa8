"""When a frame is begun, by a clock that stands still unless the test moves it."""

from __future__ import annotations

import heapq
import math
import statistics

import pytest

from npu_layout.streams import pace
from npu_layout.streams.pace import EARLIER, Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pace, "time", made)
    return made


def known(clock: Clock, turns: list[float], stages: list[float]) -> Pace:
    """Of somebody who took so long for each result, and has a new one now."""
    one = Pace()
    for seconds in stages:
        one.finished(seconds)
    for seconds in turns:
        one.asked()
        one.handed()
        clock.now += seconds
    one.asked()
    one.handed()
    return one


def test_before_anything_is_known_a_frame_is_begun_unless_a_result_waits(clock: Clock) -> None:
    one = Pace()
    assert one.wait(0, False) == 0 and one.wait(2, False) == 0
    assert one.wait(1, True) == math.inf
    one.asked()
    assert one.wait(0, False) <= 0 and one.wait(3, True) <= 0


def test_a_frame_is_begun_when_its_result_will_be_asked_for(clock: Clock) -> None:
    one = known(clock, [0.5, 0.7, 0.6], [0.1, 0.2, 0.15])
    stage = EARLIER * 0.2
    assert one.wait(0, False) == pytest.approx(0.5 - stage)
    assert one.wait(2, False) == pytest.approx(3 * 0.5 - stage)
    clock.now += 0.5 - stage + 1e-6
    assert one.wait(0, False) <= 0 < one.wait(1, False)
    clock.now += 1.0  # later than any turn was so far, by less than twice
    assert one.wait(0, True) == pytest.approx(-stage) and one.wait(1, True) == pytest.approx(0.5 - stage)


def test_who_waits_for_a_result_needs_the_next_one_now(clock: Clock) -> None:
    one = known(clock, [0.5], [0.2])
    clock.now += 0.5
    one.asked()
    assert one.wait(0, False) < 0 < one.wait(1, False)


def test_whoever_stopped_asking_is_begun_nothing_for(clock: Clock) -> None:
    one = known(clock, [0.001, 0.002], [0.2])
    assert one.wait(5, True) < 0
    clock.now += 10
    assert one.wait(1, True) == math.inf and one.wait(0, False) == 0


def test_old_turns_are_forgotten(clock: Clock) -> None:
    one = known(clock, [0.001, *[0.5] * pace.RECENT], [*[9.0], *[0.1] * pace.RECENT])
    assert one.wait(0, False) == pytest.approx(0.5 - EARLIER * 0.1)


def test_two_who_iterate_share_the_turns(clock: Clock) -> None:
    one = Pace()
    one.finished(0.01)
    for _ in range(2):
        one.asked()
    for _ in range(5):  # each takes 0.4 for a result, so that one is asked for every 0.2
        one.handed()
        clock.now += 0.2
        one.asked()
    one.handed()
    one.handed()
    assert one.wait(1, False) == pytest.approx(2 * 0.2 - EARLIER * 0.01)


def test_who_got_no_result_does_not_wait_any_more(clock: Clock) -> None:
    one = Pace()
    one.asked()
    one.left()
    assert one.wait(1, True) == math.inf and one.wait(1, False) == 0
    one.left()
    one.asked()
    assert one.wait(1, True) == 0


def simulated(clock: Clock, engines: int, stage: float, turn: float, results: int = 200) -> tuple[float, float]:
    """Results in a second, and the median age of a frame when its result is handed out; there is always a new frame."""
    one, order, events, ages = Pace(), [], [], []  # order: [begun, done]
    busy, asking, began = 0, True, clock.now
    one.asked()
    heapq.heappush(events, (clock.now, 0, "look"))
    serial = 0
    while len(ages) < results:
        clock.now, _, what = heapq.heappop(events)
        serial += 1
        if what == "ask":
            one.asked()
            asking = True
        elif what != "look":
            begun = order[[frame for frame, _ in order].index(float(what))]
            begun[1] = True
            busy -= 1
            one.finished(clock.now - begun[0])
        if asking and order and order[0][1]:
            ages.append(clock.now - order.pop(0)[0])
            one.handed()
            asking = False
            heapq.heappush(events, (clock.now + turn, serial, "ask"))
        while busy < engines:
            wait = one.wait(len(order), bool(order) and order[0][1])
            if wait > 0:
                if wait < math.inf:
                    heapq.heappush(events, (clock.now + wait + 1e-9, serial, "look"))
                break
            clock.now += 1e-6
            order.append([clock.now, False])
            busy += 1
            heapq.heappush(events, (clock.now + stage, serial, repr(clock.now)))
    return results / (clock.now - began), statistics.median(ages)


@pytest.mark.parametrize("engines", [1, 2, 3, 8])
@pytest.mark.parametrize("turn", [0.0, 0.001, 0.004, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.3])
def test_no_result_is_missed_and_none_is_old(clock: Clock, engines: int, turn: float) -> None:
    stage = 0.02
    rate, age = simulated(clock, engines, stage, turn)
    most = min(engines / stage, 1 / turn if turn else math.inf)
    assert rate >= 0.95 * most
    assert 0.999 * stage <= age <= 1.6 * stage + turn * (turn < stage)
