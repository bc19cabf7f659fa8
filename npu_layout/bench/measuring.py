"""Time the calls that do a case, on buffers in the caches and in none, by turns in random order: their medians."""

from __future__ import annotations

import datetime
import platform
import random
import time
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .. import kernels
from ..errors import NpuLayoutError
from ..kernels.caches import caches
from . import peers
from .cases import Case
from .contenders import competitors, rotating
from .peers import Call, library_of

WARM_UP = 5  # calls of each before the first that is timed
MANY_TURNS = 20  # if so many calls take longer than there is time, a turn is one call that is not timed and one that is
LEAST = 3  # turns of each, however slow they are
TURN = 3  # else a turn is so many calls that are not timed, and at least as many that are
COLD = {"source": True, "both": False}  # what is in no cache before a call -> whether results share memory
CACHES = 3  # so many times the bytes of the last cache are read and written before a turn on cold buffers
BUFFERS = (4, 17)  # sources of a turn, at least and at most; the first call is not timed
TURN_BYTES = 16 << 20  # that the calls of such a turn read and write, about
COLD_TURNS = 2  # of each call, at least
HOPELESS = 10  # a peer that takes so many times as long as the fastest one is not timed on cold buffers


def check_targets(files: Mapping[str, str | None]) -> None:
    """Raise NpuLayoutError, before minutes of measuring, if one of the files {option: path} cannot be written."""
    for option, path in files.items():
        if path is not None and (Path(path).is_dir() or not Path(path).absolute().parent.is_dir()):
            got = "a folder" if Path(path).is_dir() else "one in a folder that is not there"
            raise NpuLayoutError(f"{option}: {path}: expected a file that can be written, got {got}")
    if files.get("--plot") is not None and find_spec("matplotlib") is None:
        raise NpuLayoutError("--plot needs matplotlib: pip install matplotlib")


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


def sweep(memory: np.ndarray) -> None:
    """Read and write memory, so that the caches contain nothing else."""
    np.add(memory, 1, out=memory)


def clock_cold(calls: dict[str, list[Call]], seconds: float) -> dict[str, list[float]]:
    """Return the seconds that each call took on buffers in no cache, by turns in random order, for about `seconds`.

    Before each turn other memory is read and written. The first call of a turn is not timed, so that code is in the
    caches; then each call, which has a source of its own.
    """
    memory = np.zeros(CACHES * caches().last // 8, np.int64)
    for every in calls.values():
        for call in every:
            call()
    durations: dict[str, list[float]] = {name: [] for name in calls}
    order, end, turns = list(calls), time.perf_counter() + seconds, 0
    shuffled = random.Random(0)
    while time.perf_counter() < end or turns < COLD_TURNS:
        turns += 1
        shuffled.shuffle(order)
        for name in order:
            first, *rest = calls[name]
            sweep(memory)
            first()
            for call in rest:
                start = time.perf_counter()
                call()
                durations[name].append(time.perf_counter() - start)
    return durations


def medians(durations: dict[str, list[float]]) -> dict[str, tuple[float, float]]:
    """Return the median and the interquartile range of each list of seconds that `clock` returns."""
    quartiles = {name: np.percentile(seconds, (25, 50, 75)) for name, seconds in durations.items()}
    return {name: (float(q[1]), float(q[2] - q[0])) for name, q in quartiles.items()}


def measure(case: Case, seconds: float, with_peers: bool = True, rounds: int = 1) -> dict[str, Any]:
    """Return one row: microseconds, spread and ratio to memcpy of every call that does the case correctly.

    "times" are those of calls that repeat with the same arrays, which are then in the caches as far as they fit;
    "cold" has the same of sources in no cache, and of sources and results in none ("source", "both").

    Each round has memory of its own, since the time of a call varies by a fifth and more with the pages that its arrays
    happen to get.
    """
    durations: dict[str, dict[str, list[float]]] = {state: {} for state in ("warm", *COLD)}
    wrong: dict[str, str] = {}
    paths: list[str] = []
    for _ in range(rounds):
        case = case.elsewhere()
        calls, paths, mistaken = competitors(case, with_peers)
        wrong.update(mistaken)
        pause = 0.003 if kernels.get_num_threads() > 1 else 0
        taken = clock(calls, seconds / rounds, pause)
        for name, every in taken.items():
            durations["warm"].setdefault(name, []).extend(every)
        del calls
        names = worth_cold({name: min(every) for name, every in taken.items()})
        touched = case.flat.nbytes + case.target.nbytes
        count = min(max(TURN_BYTES // touched, BUFFERS[0]), BUFFERS[1])
        for state, shared in COLD.items():
            for name, every in clock_cold(rotating(case, names, count, shared), seconds / rounds).items():
                durations[state].setdefault(name, []).extend(every)
    found = {state: compared(case, every, wrong) for state, every in durations.items()}
    return {
        "key": case.key,
        "title": case.title,
        "bytes": case.nbytes,
        "paths": paths,
        "wrong": wrong,
        **found.pop("warm"),
        "cold": found,
    }


def worth_cold(warm: dict[str, float]) -> list[str]:
    """Return the names of calls that may be the fastest on cold buffers, by their seconds on warm ones."""
    fastest = min((seconds for name, seconds in warm.items() if library_of(name)), default=0.0)
    return [name for name, seconds in warm.items() if not library_of(name) or seconds <= HOPELESS * fastest]


def compared(case: Case, durations: dict[str, list[float]], wrong: Collection[str]) -> dict[str, Any]:
    """Return the figures of one state of the caches, and which peer was the fastest in it."""
    times = medians({name: every for name, every in durations.items() if name not in wrong})
    memcpy = times["memcpy"][0]
    return {
        "best_peer": min((name for name in times if library_of(name)), key=lambda name: times[name][0]),
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
