"""Time the calls that do a case, in turns and in random order, and compute their medians."""

from __future__ import annotations

import datetime
import platform
import random
import time
from pathlib import Path
from typing import Any

import numpy as np

from .. import kernels
from . import peers
from .cases import Case
from .contenders import competitors
from .peers import Call

WARM_UP = 5  # calls of each before the first that is timed
MANY_TURNS = 20  # if so many calls take longer than there is time, a turn is one call that is not timed and one that is
LEAST = 3  # turns of each, however slow they are
TURN = 3  # else a turn is so many calls that are not timed, and at least as many that are


def clock(calls: dict[str, Call], seconds: float, pause: float = 0) -> dict[str, list[float]]:
    """Return the seconds that each call took, by turns in random order, for about `seconds`.

    Before each turn there is a pause of `pause` seconds, in which the threads of the last one go to sleep, and then
    calls for as long, to wake the threads of this one.
    """
    repeat: dict[str, int] = {}
    lead: dict[str, int] = {}
    for name, call in calls.items():
        for _ in range(WARM_UP):
            start = time.perf_counter()
            call()
            took = time.perf_counter() - start
        lead[name] = TURN if took < seconds / MANY_TURNS else 1
        repeat[name] = max(lead[name], min(100, int(5e-5 / max(took, 1e-7))))
    durations: dict[str, list[float]] = {name: [] for name in calls}
    order, end = list(calls), time.perf_counter() + seconds
    shuffled = random.Random(0)
    while time.perf_counter() < end or len(durations[order[0]]) < LEAST:
        shuffled.shuffle(order)
        for name in order:
            call, n = calls[name], repeat[name]
            time.sleep(pause)
            awake = time.perf_counter() + pause
            for _ in range(lead[name]):
                call()  # the caches as this call leaves them, not the one before
            while time.perf_counter() < awake:
                call()
            start = time.perf_counter()
            for _ in range(n):
                call()
            durations[name].append((time.perf_counter() - start) / n)
    return durations


def medians(durations: dict[str, list[float]]) -> dict[str, tuple[float, float]]:
    """Return the median and the interquartile range of each list of seconds that `clock` returns."""
    quartiles = {name: np.percentile(seconds, (25, 50, 75)) for name, seconds in durations.items()}
    return {name: (float(q[1]), float(q[2] - q[0])) for name, q in quartiles.items()}


def measure(case: Case, seconds: float, with_peers: bool = True, rounds: int = 1) -> dict[str, Any]:
    """Return one row: microseconds, spread and ratio to memcpy of every call that does the case correctly.

    Each round has memory of its own, since the time of a call varies by a fifth and more with the pages that its arrays
    happen to get.
    """
    durations: dict[str, list[float]] = {}
    wrong: dict[str, str] = {}
    paths: list[str] = []
    for _ in range(rounds):
        case = case.again()
        calls, paths, mistaken = competitors(case, with_peers)
        wrong.update(mistaken)
        pause = 0.003 if kernels.get_num_threads() > 1 else 0
        for name, every in clock(calls, seconds / rounds, pause).items():
            durations.setdefault(name, []).extend(every)
        del calls
    times = medians({name: durations[name] for name in durations.keys() - wrong.keys()})
    memcpy = times["memcpy"][0]
    rivals = [name for name in times if ": " in name]
    return {
        "key": case.key,
        "title": case.title,
        "bytes": case.nbytes,
        "paths": paths,
        "wrong": wrong,
        "best_peer": min(rivals, key=lambda name: times[name][0]),
        "times": {
            name: {"us": t * 1e6, "spread": q / t, "ratio": t / memcpy, "gb_s": case.nbytes / t / 1e9}
            for name, (t, q) in times.items()
        },
    }


def machine(threads: int) -> dict[str, Any]:
    """Return the date, the processor, and the versions that the figures were measured with."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor,
        "kernels": kernels.active(),
        "threads": threads,
        "python": platform.python_version(),
        "versions": peers.installed(),
    }
