"""Compare this library with memcpy and with every other library that is installed: what `npu-layout bench` does."""

from __future__ import annotations

import argparse
import json
import os

from .. import kernels
from ..errors import NpuLayoutError
from ..support import counted, many, quoted, write_text
from . import peers
from .answer_cases import answer_cases
from .cases import cases
from .contenders import OURS
from .frame_cases import frame_cases
from .measuring import check_targets, machine, measure
from .tables import columns, headings, markdown, plot

CAPTION = (
    "ours, kernels and peers: time relative to memcpy of the output, on arrays that calls use again and again; "
    "source cold, both cold: memcpy, ours and the best peer where the source, or source and output, are in no cache"
)


def add_options(options: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the benchmark's options to a parser, and return it."""
    options.add_argument("cases", nargs="*", help="letters of cases, such as b or e'; default: all")
    options.add_argument("--quick", action="store_true", help="a few minutes for all cases")
    options.add_argument("--threads", type=int, default=1, help="threads of this library and others (default: 1)")
    options.add_argument("--no-peers", action="store_true", help="compare with numpy only")
    options.add_argument("--json", metavar="FILE", help="write every figure to FILE")
    options.add_argument("--plot", metavar="FILE", help="draw bars to FILE (PNG, SVG); needs matplotlib")
    options.add_argument("--markdown", metavar="FILE", help="write the table to FILE")
    return options


def run(options: argparse.Namespace) -> int:
    """Run `npu-layout bench`; return 0, or 1 if a result of this library is wrong.

    NpuLayoutError, before anything is measured, if the number of threads is none, if there is no such case, if a file
    cannot be written, or if rich is missing.
    """
    counted("--threads", options.threads)
    check_targets({"--json": options.json, "--markdown": options.markdown, "--plot": options.plot})
    try:
        from rich.console import Console
        from rich.progress import track
        from rich.table import Table
    except ImportError:
        raise NpuLayoutError("it needs rich: pip install 'npu-layout[bench]' (or rich alone)") from None
    console = Console()
    if not console.is_terminal:  # wide enough for whole rows
        console = Console(width=230)
    everything = [*cases(), *frame_cases(), *answer_cases()]
    todo = [case for case in everything if not options.cases or case.key in options.cases]
    keys = sorted({case.key for case in everything})
    unknown = [key for key in options.cases if key not in keys]
    if unknown:
        raise NpuLayoutError(f"no case {', '.join(map(quoted, unknown))}; there are {', '.join(keys)}")
    restricted = peers.restrict_to(kernels.active()) if os.environ.get("NPU_LAYOUT_DISABLE") else []
    peers.use_threads(options.threads)
    kernels.set_num_threads(options.threads)
    about = {**machine(options.threads), "held": restricted}
    console.print(f"npu_layout, kernels {about['kernels']}, {many(options.threads, 'thread')}; {about['processor']}")
    console.print(", ".join(f"{name} {number}" for name, number in about["versions"].items()))
    if restricted:
        console.print(
            f"restricted to the same instruction set: {', '.join(restricted)}; the others choose by the machine"
        )
    seconds, rounds = (0.05, 1) if options.quick else (3.0, 5)
    rows = [measure(case, seconds, not options.no_peers, rounds) for case in track(todo, "measuring", console=console)]
    table = Table(*headings(), caption=CAPTION)
    for row in rows:
        table.add_row(*columns(row))
        for name, why in row["wrong"].items():
            console.print(f"{row['key']} {row['title']}: {name} {why}", style="red")
    console.print(table)
    if options.json:
        write_text(options.json, json.dumps({**about, "rows": rows}, indent=1))
    if options.markdown:
        write_text(options.markdown, markdown(rows, about) + "\n")
    if options.plot:
        plot(rows, about, options.plot)
    return int(any(OURS in row["wrong"] or set(row["wrong"]) & set(kernels.backends()) for row in rows))
