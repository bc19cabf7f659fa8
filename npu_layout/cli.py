"""The command line: npu-layout <verb>. No logic of its own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import npu_layout

from . import bench, bench_layouts, explanation, kernels


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Exit status 0, 1 or 2: match, mismatch, usage or bad input."""
    parser = argparse.ArgumentParser(prog="npu-layout", description="Buffers of neural network accelerators.")
    parser.add_argument(
        "--version", action="version", version=f"npu_layout {npu_layout.__version__}, kernels {kernels.active()}"
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="verb")
    verb = verbs.add_parser("bench", help=bench.__doc__, description=bench.__doc__)
    bench.add_options(verb).set_defaults(run=bench.run)
    verb = verbs.add_parser("bench-layouts", help=bench_layouts.__doc__, description=bench_layouts.__doc__)
    bench_layouts.add_options(verb).set_defaults(run=bench_layouts.run)
    verb = verbs.add_parser("explain", help=explanation.__doc__, description=explanation.__doc__)
    explanation.add_options(verb).set_defaults(run=explanation.run)
    options = parser.parse_args(arguments)
    return int(options.run(options))
