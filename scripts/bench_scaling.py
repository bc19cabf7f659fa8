#!/usr/bin/env python3
"""Cost against size: three conversions from 1 KB to 256 MB on 1 to 4 threads, against memcpy on one thread.

    scripts/bench_scaling.py [--json FILE] [--plot FILE] [--most MB]

Beyond the caches the time per byte is to be level: a kernel that is not linear there shows as a rising line.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import npu_layout as nl
from npu_layout.bench.measuring import machine

QUANTIZATION = nl.Quantization(0.05, 3)
THREADS = (1, 2, 4)


def conversions(nbytes: int) -> dict[str, tuple[nl.TensorSpec, nl.TensorSpec]]:
    """(source, target) by name; targets of about `nbytes`."""
    side = max(1, math.isqrt(nbytes // (64 * 4)))
    pixels = max(1, math.isqrt(nbytes // 3))
    heads = (1, 64, side, side)
    picture = (3, pixels, pixels)
    return {
        "float32 NCHW->NHWC": (nl.TensorSpec(heads), nl.TensorSpec(heads, "NHWC")),
        "uint8 HWC->CHW": (
            nl.TensorSpec(picture, "HWC", "uint8", axes="CHW"),
            nl.TensorSpec(picture, "CHW", "uint8"),
        ),
        "int8 NCHW16c->float32": (
            nl.TensorSpec(heads, "NCHW16c", "int8", quantization=QUANTIZATION),
            nl.TensorSpec(heads),
        ),
    }


def median(call: Callable[..., object], *arguments: object) -> float:
    times, end = [], time.perf_counter() + 0.15
    for _ in range(3):
        call(*arguments)
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        call(*arguments)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def measure(nbytes: int) -> list[dict[str, object]]:
    rows = []
    for name, (source, target) in conversions(nbytes).items():
        flat, out = np.ones(source.size, source.stored), np.zeros(target.size, target.stored)
        spare, convert = np.ones_like(out), nl.plan(source, target)
        row = {"case": name, "bytes": target.nbytes, "memcpy": median(np.copyto, spare, out)}
        for threads in THREADS:
            nl.set_num_threads(threads)
            row[f"threads {threads}"] = median(convert, flat, out)
        rows.append(row)
    return rows


def plot(rows: list[dict[str, object]], about: dict[str, object], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["case"] for row in rows))
    figure, panels = plt.subplots(1, len(names), figsize=(5 * len(names), 4.2), sharey=True)
    for panel, name in zip(panels, names):
        mine = [row for row in rows if row["case"] == name]
        sizes = [row["bytes"] for row in mine]
        for series in ("memcpy", *(f"threads {n}" for n in THREADS)):
            costs = [row[series] * 1e9 / row["bytes"] for row in mine]
            panel.plot(sizes, costs, "k--" if series == "memcpy" else "o-", label=series, markersize=3)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_title(name, fontsize=10)
        panel.set_xlabel("bytes of the result")
        panel.set_xticks(
            [2**k for k in range(10, 29, 3)], ["1 KB", "8 KB", "64 KB", "512 KB", "4 MB", "32 MB", "256 MB"]
        )
        panel.tick_params(labelsize=7)
    panels[0].set_ylabel("ns per byte of the result")
    panels[0].legend(fontsize=8)
    figure.suptitle(f"{about['processor']}, kernels {about['kernels']}, {about['date']}", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", metavar="FILE", help="write every figure to FILE")
    options.add_argument("--plot", metavar="FILE", help="draw the figures to FILE; needs matplotlib")
    options.add_argument(
        "--most", type=int, default=256, metavar="MB", help="megabytes of the largest result (default: 256)"
    )
    given = options.parse_args()
    about = {**machine(max(THREADS)), "unit": "seconds"}
    rows = []
    for power in range(10, 20 + given.most.bit_length()):
        rows += measure(1 << power)
        for row in rows[-3:]:
            times = ", ".join(f"{n}: {row[f'threads {n}'] / row['memcpy']:.2f}" for n in THREADS)
            print(f"{row['bytes'] / 1024:10.0f} KB  {row['case']:24s} x memcpy on threads {times}", flush=True)
    if given.json:
        Path(given.json).write_text(json.dumps({**about, "rows": rows}, indent=1))
    if given.plot:
        plot(rows, about, given.plot)


if __name__ == "__main__":
    main()
