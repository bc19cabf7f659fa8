#!/usr/bin/env python3
"""How often is `npu_layout.validate` right about real runtimes' outputs? Planted faults, one at a time.

    scripts/runtime_matrix.py                                   # all runtimes that are installed
    scripts/runtime_matrix.py --runtime qnn-htp --each 4        # one of them, four cases of each fault
    scripts/runtime_matrix.py --only 'bgr/yolo8@qnn-htp/int8/qdq/0'  # one case again

Networks of the zoo (verdicts/models.py) are compiled by each runtime, and fed with pictures; verdicts/faults.py's
faults are planted in what comes out. Where a runtime hands out integers, these are recorded, with its scales. A runtime
that is not installed, and a network that a runtime does not compile, are named as not run. Prints the table of
verdict_matrix.py for all, and a line for each runtime. Exit status 1 as there, or where nothing ran.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent import futures
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import verdict_matrix as matrix
from verdicts import cases, faults, judge, models, runtimes
from verdicts.cases import Case
from verdicts.judge import Outcome

FLOATS = ("float32", "int8", "float32", "float16")  # how float outputs are recorded, in turn
Alternatives = list[Case]


def dtype_of(model: models.Model, fault: faults.Fault, turn: int) -> str:
    """The dtype that a case is recorded in: that of the runtime where it hands out integers."""
    wanted = sorted(set(model.codes.values())) if model.codes else FLOATS
    wanted = [dtype for dtype in wanted if dtype in fault.dtypes] or fault.dtypes
    return wanted[turn % len(wanted)]


def planted(runtime: str, names: Sequence[str], each: int, seed: int) -> Iterator[Alternatives]:
    """`each` cases of each fault, in networks in turn; in the next one where a fault cannot be planted."""
    for f, fault in enumerate(faults.FAULTS):
        options = [name for name in fault.models or names if f"{name}@{runtime}" in AVAILABLE]
        for k in range(each if options else 0):
            turn = seed + k + f
            at = (3 * f + (k * len(options)) // each + seed) % len(options)
            rotated = [f"{name}@{runtime}" for name in options[at:] + options[:at]]
            yield [Case(fault.name, n, dtype_of(models.load(n), fault, turn), "qdq", seed + k) for n in rotated]


def faultless(runtime: str, names: Sequence[str], count: int, seed: int) -> Iterator[Alternatives]:
    usable = [f"{name}@{runtime}" for name in names if f"{name}@{runtime}" in AVAILABLE]
    for k in range(count if usable else 0):
        kinds = [faults.FAULTLESS, *(h for h in faults.HARD if h.models is None and not h.noises)]
        fault = kinds[0] if k % 2 else kinds[(k // 2) % len(kinds)]
        name = usable[k % len(usable)]
        yield [Case(fault.name, name, dtype_of(models.load(name), fault, k // len(usable)), "qdq", seed + k)]


AVAILABLE: set[str] = set()


def run(alternatives: Alternatives) -> tuple[list[Outcome], float]:
    """The outcomes of the first case whose fault can be planted, those of its inputs among them."""
    import npu_layout as nl

    nl.set_num_threads(1)
    began = time.monotonic()
    for case in alternatives:
        try:
            one = cases.build(case)
        except faults.NotApplicable:
            continue
        try:
            report = nl.validate(one.recording, models.engine(one.model.path))
            return [*judge.judged(one, report), *inputs(one, report)], time.monotonic() - began
        except Exception as error:  # a case that fails is an outcome, not the end
            return judge.crashed(one, error), time.monotonic() - began
    return [], time.monotonic() - began


def inputs(one: cases.Planted, report: object) -> Iterator[Outcome]:
    """Outcomes of recorded inputs, which are as declared in every case: each verdict but match is an accusation."""
    for name, found in report.inputs.items():  # type: ignore[attr-defined]
        outcome = "right" if found.verdict == "match" else "accused"
        says = "" if found.verdict == "match" else f"fix {found.fix!r}"
        yield Outcome(str(one.case), f"input {name}", "match", found.verdict, outcome, says, found.why, 99.0, 99.0)


def _compile(name: str) -> str:
    """Why a network is not run on a runtime; "" if it is."""
    try:
        models.load(name)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return f"{type(error).__name__}: {lines[0][:200]}"
    return ""


def available(wanted: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(NAME@RUNTIME, why it is not run or ""), each compiled in a process of its own: a converter may crash."""
    for runtime in wanted:
        glue = runtimes.known()[runtime]
        if glue.missing:
            yield runtime, f"not installed: pip install {' '.join(glue.missing)}"
            continue
        for name in names:
            full = f"{name}@{runtime}"
            if name in glue.without:
                yield full, glue.without[name]
                continue
            with futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                try:
                    yield full, pool.submit(_compile, full).result()
                except futures.process.BrokenProcessPool:
                    yield full, "its converter crashed"


def by_runtime(outcomes: Sequence[Outcome]) -> str:
    """A line for each runtime: its faults' outcomes, and its faultless recordings."""
    kinds = ("right", "allowed", "refused", "accused", "wrong fix", "missed", "crashed")
    lines = [f"{'runtime':16}" + "".join(f"{k:>11}" for k in kinds) + f"{'faultless':>12}{'with a fault':>14}"]
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for o in outcomes:
        name = o.case.split("/")[1].partition("@")[2]
        clean = o.case.startswith("faultless")
        bad = o.outcome in ("accused", "wrong fix", "crashed")
        rows[name][("clean bad" if bad else "clean") if clean else o.outcome] += 1
    for name, n in sorted(rows.items()):
        clean = n["clean"] + n["clean bad"]
        lines.append(f"{name:16}" + "".join(f"{n[k] or '.':>11}" for k in kinds) + f"{clean:12}{n['clean bad']:14}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", action="append", choices=sorted(runtimes.known()), help="one of them; repeat")
    parser.add_argument("--network", action="append", choices=models.NAMES, help="one of them; repeat")
    parser.add_argument("--each", type=int, default=1, help="cases of each fault and runtime (1)")
    parser.add_argument("--faultless", type=int, default=60, metavar="N", help="faultless recordings a runtime (60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--json", metavar="FILE", help="write every outcome and the summary")
    parser.add_argument("--only", action="append", default=[], metavar="FAULT/MODEL@RUNTIME", help="pattern; repeat")
    parser.add_argument("--most", type=int, default=20, help="failures of a kind that are printed")
    given = parser.parse_args(arguments)
    names, wanted = given.network or models.NAMES, given.runtime or list(runtimes.known())
    exact = [Case.parse(o) for o in given.only if o.count("/") == 4 and "*" not in o]
    not_run = []
    if exact:
        work = [[case] for case in exact]
    else:
        for name in names:
            models.load(name)
        for name, why in available(wanted, names):
            if why:
                not_run.append(f"not run: {name}: {why}")
                print(not_run[-1], flush=True)
            elif "@" in name:
                AVAILABLE.add(name)
        work = [
            alternatives
            for runtime in wanted
            for alternatives in (
                *planted(runtime, names, given.each, given.seed),
                *faultless(runtime, names, given.faultless, given.seed),
            )
        ]
        kept = {case for case in matrix.chosen([c for a in work for c in a], given.only)}
        work = [found for a in work if (found := [case for case in a if case in kept])]
    start, outcomes = time.monotonic(), []
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for result, _ in matrix.progress(pool.imap_unordered(run, work, chunksize=2), len(work)):
            outcomes += result
    outcomes.sort()
    matrix.show(outcomes, given.most)
    figures = matrix.summary(outcomes)
    print(f"\n{by_runtime(outcomes)}\n")
    if given.json:
        content = {"summary": figures, "not_run": not_run, "outcomes": [o._asdict() for o in outcomes]}
        Path(given.json).write_text(json.dumps(content, indent=1))
    print(f"{len({o.case for o in outcomes})} recordings, {len(outcomes)} outputs, {time.monotonic() - start:.0f} s")
    print("\n".join([*not_run, *(f"{key}: {value}" for key, value in figures.items() if key != "failed")]))
    print("\n".join(f"MISSED  {what}" for what in figures["failed"]) or "all figures are met")
    return 1 if figures["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
