"""Times come from enough calls, in turns, and a row is made of their medians."""

from __future__ import annotations

import time

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.bench import contenders, measuring, peers
from npu_layout.bench.cases import Case, cases
from npu_layout.kernels.caches import Caches


@pytest.mark.alone
def test_clock_calls_everything_by_turns() -> None:
    counts = {"quick": 0, "slow": 0}

    def quick() -> None:
        counts["quick"] += 1

    def slow() -> None:
        counts["slow"] += 1
        time.sleep(0.01)

    durations = measuring.clock({"quick": quick, "slow": slow}, 0.02)
    assert len(durations["quick"]) == len(durations["slow"]) >= measuring.LEAST
    assert min(durations["slow"]) >= 0.01 > np.median(durations["quick"])
    # A slow call is timed once a turn, after one call that is not; a quick one as often as 50 us need.
    assert counts["slow"] == measuring.WARM_UP + 2 * len(durations["slow"])
    assert counts["quick"] >= measuring.WARM_UP + 2 * measuring.TURN * len(durations["quick"])


def test_a_pause_comes_before_each_turn() -> None:
    start = time.perf_counter()
    durations = measuring.clock({"call": lambda: None}, 0, pause=0.005)
    assert len(durations["call"]) == measuring.LEAST
    assert time.perf_counter() - start >= 2 * 0.005 * measuring.LEAST


def test_other_memory_is_read_and_written_before_the_calls_on_cold_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "caches", lambda: Caches({3: 1 << 20}, 64, True))
    swept: list[int] = []
    monkeypatch.setattr(measuring, "sweep", lambda memory: swept.append(memory.nbytes))
    called: list[str] = []
    calls = {name: [lambda i=i, name=name: called.append(f"{name}{i}") for i in range(4)] for name in "ab"}
    durations = measuring.clock_cold(calls, 0)
    turns = measuring.COLD_TURNS
    assert {name: len(every) for name, every in durations.items()} == dict.fromkeys("ab", 3 * turns)
    assert swept == [3 << 20] * 2 * turns
    assert all(called.count(f"{name}{i}") == 1 + turns for name in "ab" for i in range(4))


def test_the_sweep_touches_everything() -> None:
    memory = np.zeros(1000, np.int64)
    measuring.sweep(memory)
    assert (memory == 1).all()


def test_medians() -> None:
    assert measuring.medians({"a": [5.0, 1.0, 2.0, 4.0, 3.0], "b": [7.0]}) == {"a": (3.0, 2.0), "b": (7.0, 0.0)}


@pytest.mark.usefixtures("small_caches")
def test_a_row_without_peers() -> None:
    case = next(case for case in cases() if case.key == "a'")
    row = measuring.measure(case, 0.01, with_peers=False, rounds=2)
    assert (row["key"], row["title"], row["bytes"], row["wrong"]) == ("a'", case.title, case.nbytes, {})
    assert set(row["times"]) == {"memcpy", contenders.OURS, *kernels.backends(), row["best_peer"]}
    assert row["best_peer"].startswith("numpy: ")
    memcpy = row["times"]["memcpy"]["us"]
    for figures in row["times"].values():
        assert figures["us"] > 0 and figures["spread"] >= 0
        assert figures["ratio"] == pytest.approx(figures["us"] / memcpy)
        assert figures["gb_s"] == pytest.approx(case.nbytes / figures["us"] / 1000)
    assert set(row["cold"]) == {"source", "both"}
    for state in row["cold"].values():
        assert set(state["times"]) == set(row["times"]) and state["best_peer"].startswith("numpy: ")
        assert state["times"]["memcpy"]["ratio"] == 1


@pytest.mark.usefixtures("small_caches")
def test_what_is_wrong_in_one_round_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Case] = []

    def wrong_once(case: Case) -> peers.Call:
        made.append(case)
        right = peers.PEERS["move"][0][2](case)
        assert right is not None
        return right if len(made) > 1 else case.out

    monkeypatch.setitem(peers.PEERS, "move", [*peers.PEERS["move"], ("cv2", "wrong once", wrong_once)])
    case = next(case for case in cases() if case.key == "a'")
    row = measuring.measure(case, 0.01, rounds=2)
    assert list(row["wrong"]) == ["cv2: wrong once"] and "cv2: wrong once" not in row["times"]
    assert not np.shares_memory(made[0].flat, made[-1].flat)
    assert all("cv2: wrong once" not in state["times"] for state in row["cold"].values())


def test_the_machine() -> None:
    about = measuring.machine(3)
    assert about["threads"] == 3 and about["kernels"] == kernels.active() and about["processor"]
    assert about["versions"] == peers.installed()


def test_a_hopeless_peer_is_not_timed_on_cold_buffers() -> None:
    warm = {
        "memcpy": 1.0,
        "npu_layout": 90.0,
        "native (base)": 99.0,
        "numpy: a": 50.0,
        "cv2: b": 5.0,
        "torch: c": 50.1,
    }
    assert measuring.worth_cold(warm) == ["memcpy", "npu_layout", "native (base)", "numpy: a", "cv2: b"]
    assert measuring.worth_cold({"memcpy": 1.0, "npu_layout": 2.0}) == ["memcpy", "npu_layout"]
