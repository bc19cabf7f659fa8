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
import math
import multiprocessing
import os
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent import futures
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import verdict_matrix as matrix
from verdicts import cases, faults, judge, models, ports, runtimes
from verdicts.cases import Case
from verdicts.judge import FAILURES, Outcome

NETWORKS = (*models.NAMES, *models.TRAINED)
FLOATS = ("float32", "int8", "float32", "float16")  # how float outputs are recorded, in turn
Alternatives = list[Case]
PROCESSES = multiprocessing.get_context("forkserver" if sys.platform != "win32" else "spawn")


def dtype_of(model: models.Model, fault: faults.Fault, turn: int) -> str:
    """The dtype that a case is recorded in: that of the runtime where it hands out integers."""
    wanted = sorted(set(model.codes.values())) if model.codes else FLOATS
    wanted = [dtype for dtype in wanted if dtype in fault.dtypes] or fault.dtypes
    return wanted[turn % len(wanted)]


def planted(runtime: str, names: Sequence[str], each: int, seed: int) -> Iterator[Alternatives]:
    """`each` cases of each fault, in networks in turn; in the next one where a fault cannot be planted."""
    for f, fault in enumerate(faults.FAULTS):
        options = [name for name in fault.models or names if name in names]
        for k in range(each if options else 0):
            turn = seed + k + f
            at = (3 * f + (k * len(options)) // each + seed) % len(options)
            rotated = [f"{name}@{runtime}" for name in options[at:] + options[:at]]
            yield [Case(fault.name, n, dtype_of(models.load(n), fault, turn), "qdq", seed + k) for n in rotated]


def faultless(runtime: str, names: Sequence[str], count: int, seed: int) -> Iterator[Alternatives]:
    usable = [f"{name}@{runtime}" for name in names]
    for k in range(count if usable else 0):
        kinds = [faults.FAULTLESS, *(h for h in faults.HARD if h.models is None and not h.noises and h.camera is None)]
        fault = kinds[0] if k % 2 else kinds[(k // 2) % len(kinds)]
        name = usable[k % len(usable)]
        yield [Case(fault.name, name, dtype_of(models.load(name), fault, k // len(usable)), "qdq", seed + k)]


def run(alternatives: Alternatives) -> list[Outcome]:
    """The outcomes of the first case whose fault can be planted, those of its inputs among them."""
    import npu_layout as nl

    nl.set_num_threads(1)
    for case in alternatives:
        try:
            one = cases.build(case)
        except ports.NotApplicable:
            continue
        try:
            report = nl.validate(one.recording, models.engine(one.model.path))
            return [*judge.judged(one, report), *inputs(one, report)]
        except Exception as error:  # a case that fails is an outcome, not the end
            return judge.crashed(one, error)
    return []


def save(case: Case, folder: str) -> str:
    """Keep a case's recording, for machines without the runtime; the command that validates it."""
    one = cases.build(case)
    path = Path(folder, str(case).replace("/", "_"))
    one.recording.save(path)
    return f"npu-layout validate {path} {one.model.path}"


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


def available(runtime: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(NAME@RUNTIME, why it is not run or ""), compiled in another process: a converter may crash."""
    glue, pool = runtimes.known()[runtime], None
    if glue.missing:
        yield runtime, f"not installed: pip install {' '.join(glue.missing)}"
        return
    for name in names:
        full = f"{name}@{runtime}"
        if name in glue.without:
            yield full, glue.without[name]
            continue
        pool = pool or futures.ProcessPoolExecutor(1, PROCESSES)
        try:
            yield full, pool.submit(_compile, full).result()
        except futures.process.BrokenProcessPool:
            pool = None
            yield full, "its converter crashed"
    if pool is not None:
        pool.shutdown()


def measured(work: Sequence[Alternatives], workers: int, seconds: float) -> list[Outcome]:
    """The outcomes of one runtime's cases, of as many as `seconds` allow. A runtime that crashes ends with them."""
    outcomes: list[Outcome] = []
    with futures.ProcessPoolExecutor(workers, PROCESSES) as pool:
        tasks = [pool.submit(run, alternatives) for alternatives in work]
        done = futures.as_completed(tasks, None if math.isinf(seconds) else seconds)
        try:
            for result in matrix.progress((task.result() for task in done), len(tasks)):
                outcomes += result
        except futures.TimeoutError:
            pool.shutdown(cancel_futures=True)
        except futures.process.BrokenProcessPool as error:
            print(f"a runtime crashed, and what was left is not run: {error}", file=sys.stderr)
    return outcomes


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


def write(path: str | None, outcomes: Sequence[Outcome], not_run: Sequence[str]) -> None:
    """What is known so far, as JSON."""
    if path:
        summary, rows = matrix.summary(outcomes), [o._asdict() for o in sorted(outcomes)]
        Path(path).write_text(json.dumps({"summary": summary, "not_run": not_run, "outcomes": rows}, indent=1))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--runtime", action="append", choices=sorted(runtimes.known()), help="only this runtime; may be repeated"
    )
    parser.add_argument("--group", choices=("all", "rknn"), help="rknn: RKNN alone; all: all others (noxfile.py)")
    parser.add_argument("--network", action="append", choices=NETWORKS, help="only this network; may be repeated")
    parser.add_argument("--each", type=int, default=1, help="cases of each fault and runtime (default: 1)")
    parser.add_argument("--faultless", type=int, default=60, metavar="N", help="faultless recordings a runtime (60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most so many seconds for each runtime")
    parser.add_argument("--json", metavar="FILE", help="write every outcome and the summary")
    parser.add_argument(
        "--save", metavar="FOLDER", help="keep the recordings of failures, and say how to validate them"
    )
    parser.add_argument("--only", action="append", default=[], metavar="FAULT/MODEL@RUNTIME", help="pattern; repeat")
    parser.add_argument("--most", type=int, default=20, help="how many failures of a kind are printed (20)")
    return parser.parse_args(arguments)


def cases_of(runtime: str, given: argparse.Namespace, not_run: list[str]) -> list[Alternatives]:
    """What is asked for on one runtime; adds to `not_run`."""
    usable = []
    for name, why in available(runtime, given.network or NETWORKS):
        if why:
            not_run.append(f"not run: {name}: {why}")
        else:
            usable.append(name.partition("@")[0])
    work = [*planted(runtime, usable, given.each, given.seed), *faultless(runtime, usable, given.faultless, given.seed)]
    kept = set(matrix.chosen([case for alternatives in work for case in alternatives], given.only))
    work = [found for alternatives in work if (found := [case for case in alternatives if case in kept])]
    random.Random(given.seed).shuffle(work)  # what --seconds cuts off is like the rest
    return work


def show(outcomes: list[Outcome], not_run: Sequence[str], given: argparse.Namespace) -> bool:
    """Print the tables; whether all figures are met."""
    outcomes.sort()
    matrix.show(outcomes, given.most)
    for case in sorted({o.case for o in outcomes if o.outcome in FAILURES}) if given.save else ():
        with futures.ProcessPoolExecutor(1, PROCESSES) as pool:
            print(pool.submit(save, Case.parse(case), given.save).result())
    figures = matrix.summary(outcomes)
    print(f"\n{by_runtime(outcomes)}\n\n{len({o.case for o in outcomes})} recordings, {len(outcomes)} outputs")
    print("\n".join([*not_run, *(f"{key}: {value}" for key, value in figures.items() if key != "failed")]))
    print("\n".join(f"MISSED  {what}" for what in figures["failed"]) or "all figures are met")
    return not figures["failed"]


def main(arguments: Sequence[str] | None = None) -> int:
    given = parsed(arguments)
    wanted = given.runtime or list(runtimes.known())
    if given.group:
        wanted = [name for name in wanted if name.startswith("rknn") == (given.group == "rknn")]
    if sys.platform != "win32":
        PROCESSES.set_forkserver_preload(["__main__"])  # imports once
    not_run: list[str] = []
    outcomes: list[Outcome] = []
    exact = [Case.parse(o) for o in given.only if o.count("/") == 4 and "*" not in o]
    if exact:
        exact = [case for case in exact if case.model.partition("@")[2] in wanted]
        if not exact:
            return 0  # other environments have that runtime
        outcomes += measured([[case] for case in exact], given.workers, given.seconds)
    else:
        for name in given.network or NETWORKS:
            models.load(name)  # once, before the workers would all build it
        for runtime in wanted:
            print(f"{runtime} ...", file=sys.stderr, flush=True)
            outcomes += measured(cases_of(runtime, given, not_run), given.workers, given.seconds)
            print(by_runtime(outcomes), file=sys.stderr, flush=True)
            write(given.json, outcomes, not_run)
    write(given.json, outcomes, not_run)
    return 0 if show(outcomes, not_run, given) else 1


if __name__ == "__main__":
    sys.exit(main())
