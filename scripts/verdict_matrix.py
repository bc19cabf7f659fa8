#!/usr/bin/env python3
"""How often is `npu_layout.validate` right? One fault at a time is planted in simulated recordings.

    scripts/verdict_matrix.py                                   # all faults and models, 1,000 faultless recordings
    scripts/verdict_matrix.py --quick                           # seven minutes on one core
    scripts/verdict_matrix.py --trained                         # the networks of scripts/train_zoo.py
    scripts/verdict_matrix.py --only bgr/segmentation           # shell patterns: FAULT/MODEL/DTYPE/NOISE/SEED
    scripts/verdict_matrix.py --only 'bgr/segmentation/int8/qdq/3'  # one case again

Prints planted class against verdict, and every failure by the name of its case. Exit status 1 where fewer than 99 % get
the right cause and fix, more than 1 % are refused, anything is accused wrongly, or a faultless recording has a fault.
Cases that the data do not decide (one frame; the truth itself explains little, or hardly more than what was declared)
count as allowed when they are refused, and as nothing else.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from verdicts import cases, judge, models, ports
from verdicts.cases import Case
from verdicts.judge import FAILURES, VERDICTS, Outcome

RIGHT, REFUSED = 99.0, 1.0  # per cent: at least, at most
QUICK = ("maps", "yolo", "segmentation", "classifier", "twins", "sparse", "gray", "folded")


def run(case: Case) -> list[Outcome]:
    """The outcomes of one case; none where its fault cannot be planted."""
    import npu_layout as nl

    nl.set_num_threads(1)
    try:
        planted = cases.build(case)
    except ports.NotApplicable:
        return []
    return answered(planted)


def answered(planted: cases.Planted) -> list[Outcome]:
    """The outcomes of a case that is built."""
    import npu_layout as nl

    try:
        report = nl.validate(planted.recording, models.engine(planted.model.path))
        return [*judge.judged(planted, report), *judge.judged_input(planted, report)]
    except Exception as error:  # a case that fails is an outcome, not the end
        return judge.crashed(planted, error)


def chosen(everything: Iterable[Case], only: Sequence[str]) -> list[Case]:
    """Those whose name any pattern matches; a full name is a case of its own."""
    if not only:
        return list(everything)
    found = [case for case in everything if any(fnmatch.fnmatch(str(case), f"{o}*") for o in only)]
    exact = [Case.parse(o) for o in only if o.count("/") == 4 and "*" not in o]
    return list(dict.fromkeys([*found, *exact]))


def progress(results: Iterator[list[Outcome]], total: int) -> Iterator[list[Outcome]]:
    try:
        from rich.progress import track
    except ImportError:
        track = None
    if track is not None and sys.stderr.isatty():
        from rich.console import Console

        yield from track(results, "Cases", total, console=Console(stderr=True))
        return
    step = max(total // 20, 1)
    for i, result in enumerate(results, 1):
        if i % step == 0:
            print(f"{i} of {total}", file=sys.stderr)
        yield result


def table(outcomes: Sequence[Outcome]) -> str:
    """Planted class against verdict, in outputs."""
    counts = collections.Counter((o.planted, o.verdict) for o in outcomes)
    columns = [v for v in (*VERDICTS, "crashed") if any(o.verdict == v for o in outcomes)]
    rows = [r for r in (*VERDICTS, "untellable") if any(o.planted == r for o in outcomes)]
    lines = [f"{'planted':14}" + "".join(f"{c:>15}" for c in columns)]
    lines += [f"{row:14}" + "".join(f"{counts[row, c] or '.':>15}" for c in columns) for row in rows]
    return "\n".join(lines)


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Counts of outputs, and the figures that are asked for; `failed` names those that are missed."""
    clean = [o for o in outcomes if o.case.startswith("faultless")]
    faulty = [o for o in outcomes if not o.case.startswith("faultless")]
    kinds = collections.Counter(o.outcome for o in faulty)
    told = sum(kinds[k] for k in ("right", *FAILURES))
    right, refused = (100 * kinds[k] / max(told, 1) for k in ("right", "refused"))
    found = [o for o in clean if o.outcome in ("accused", "wrong fix", "crashed")]
    failed = [
        what
        for what, missed in (
            (f"right cause and fix: {right:.2f} % of {told}, asked {RIGHT}", told and right < RIGHT),
            (f"refused: {refused:.2f} %, asked {REFUSED} at most", refused > REFUSED),
            (f"wrong accusations: {kinds['accused']}, asked none", kinds["accused"]),
            (f"faultless outputs with a fault found: {len(found)}, asked none", found),
            ("nothing was compared", not outcomes),
        )
        if missed
    ]
    return {
        "outputs": len(faulty),
        "told": told,
        "right_percent": right,
        "refused_percent": refused,
        **{kind.replace(" ", "_"): kinds[kind] for kind in ("right", "allowed", *FAILURES)},
        "faultless_outputs": len(clean),
        "faultless_recordings": len({o.case for o in clean}),
        "faultless": dict(collections.Counter(o.verdict for o in clean)),
        "failed": failed,
    }


def by_fault(outcomes: Sequence[Outcome]) -> str:
    """One line for each fault that was not always right."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for o in outcomes:
        counts[o.case.split("/")[0]][o.outcome] += 1
    return "\n".join(
        f"{fault:26}" + "".join(f"  {kind} {n}" for kind, n in kinds.most_common())
        for fault, kinds in counts.items()
        if any(kinds[k] for k in FAILURES)
    )


def show(outcomes: Sequence[Outcome], most: int) -> None:
    print(table(outcomes))
    for kind in FAILURES:
        found = [o for o in outcomes if o.outcome == kind]
        if found:
            print(f"\n{kind}: {len(found)}")
        for o in found[:most]:
            print(f"  {o.case} {o.output}: {o.planted} -> {o.verdict} (declared {o.declared_db:.1f}, ", end="")
            print(f"true {o.true_db:.1f} dB) {o.says}\n    why: {o.why}")
        if len(found) > most:
            print(f"  ... and {len(found) - most} more; --most, --json")
    lines = by_fault(outcomes)
    print(f"\nBy fault, where not always right:\n{lines}" if lines else "")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer models, one case of each, 75 faultless")
    parser.add_argument("--trained", action="store_true", help="use the networks that scripts/train_zoo.py trained")
    parser.add_argument("--each", type=int, help="cases of each fault and model (default: 2)")
    parser.add_argument(
        "--faultless", type=int, metavar="N", help="easy faultless recordings (1000), and half as many hard ones"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--json", metavar="FILE", help="write every outcome and the summary")
    parser.add_argument("--only", action="append", default=[], metavar="FAULT/MODEL", help="pattern of cases; repeat")
    parser.add_argument("--most", type=int, default=20, help="how many failures of a kind are printed (20)")
    given = parser.parse_args(arguments)
    each = given.each if given.each is not None else 1 if given.quick else 2
    count = given.faultless if given.faultless is not None else 50 if given.quick else 1000
    names = models.TRAINED if given.trained else QUICK if given.quick else models.NAMES
    everything = [
        *cases.planted_cases(each, given.seed, names),
        *cases.faultless_cases(count, given.seed, names),
    ]
    wanted = chosen(everything, given.only)
    for name in {case.model for case in wanted}:
        models.load(name)  # once, before the workers would all build it
    start = time.monotonic()
    outcomes: list[Outcome] = []
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for result in progress(pool.imap_unordered(run, wanted, chunksize=4), len(wanted)):
            outcomes += result
    outcomes.sort()
    show(outcomes, given.most)
    figures = summary(outcomes)
    if given.json:
        content = {"summary": figures, "outcomes": [o._asdict() for o in outcomes]}
        Path(given.json).write_text(json.dumps(content, indent=1))
    recordings = len({o.case for o in outcomes})
    print(f"\n{recordings} recordings, {len(outcomes)} outputs, {time.monotonic() - start:.0f} s")
    print("\n".join(f"{key}: {value}" for key, value in figures.items() if key != "failed"))
    print("\n".join(f"MISSED  {what}" for what in figures["failed"]) or "all figures are met")
    return 1 if figures["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
