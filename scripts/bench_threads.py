#!/usr/bin/env python3
"""What threads gain.

    scripts/bench_threads.py [THREADS]    4 by default

Of each case of ``npu-layout bench`` whose result has a megabyte or more the public call, on one thread and on so many
by turns, with nothing between them: how many times less it takes, the result's size, and microseconds on one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time

import npu_layout as nl
from npu_layout.bench import cases as bench_cases
from npu_layout.bench import contenders
from npu_layout.bench.frame_cases import frame_cases

LEAST, ROUNDS, WARM_UP, SECONDS = 1_000_000, 7, 5, 0.02


def gain(case: bench_cases.Case, threads: int) -> tuple[float, float]:
    """Times less that the call takes on so many threads; seconds on one."""
    calls, _ = contenders.ours(case)
    call = calls[contenders.OURS]
    taken: dict[int, list[float]] = {1: [], threads: []}
    for count in (1, threads) * ROUNDS:
        nl.set_num_threads(count)
        for _ in range(WARM_UP):
            call()
        end = time.perf_counter() + SECONDS
        while (start := time.perf_counter()) < end:
            call()
            taken[count].append(time.perf_counter() - start)
    one, many = (statistics.median(seconds) for seconds in taken.values())
    return one / many, one


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("threads", type=int, nargs="?", default=4)
    threads = parser.parse_args().threads
    if threads < 2:
        parser.error(f"threads: expected 2 or more, got {threads}")
    every = (*bench_cases.cases(), *frame_cases())
    cases = [case for case in every if case.target.nbytes >= LEAST]
    rows = sorted((*gain(case, threads), case.target.nbytes, case.title) for case in cases)
    for times, one, size, title in rows:
        print(f"{times:5.2f} x  {size / 1e6:5.1f} MB  {one * 1e6:6.0f} us  {title}")
    gains = [row[0] for row in rows]
    print(f"{len(gains)} cases, median {statistics.median(gains):.2f}, {sum(g >= 2 for g in gains)} of them 2 or more")


if __name__ == "__main__":
    main()
