"""Show the benchmark's rows as table columns, as markdown and as a chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..support import many
from .contenders import OURS
from .measuring import COLD
from .peers import library_of


def columns(row: dict[str, Any]) -> list[str]:
    """Format a row: case, memcpy, ours, each kind of kernels, the best peer, how much faster ours is.

    Then the same of buffers in no cache, in two columns: memcpy, ours, the best peer, how much faster ours is.
    """
    times = row["times"]
    best = row["best_peer"]
    mine = times.get(OURS)
    if mine is None:
        return [f"{row['key']} {row['title']}", "", "WRONG: " + row["wrong"][OURS], *[""] * 5]
    others = " / ".join(f"{times[name]['ratio']:.2f}" for name in kernels.backends() if name in times)
    return [
        f"{row['key']} {row['title']}",
        f"{times['memcpy']['us']:.0f} us, {times['memcpy']['gb_s']:.0f} GB/s",
        f"{mine['ratio']:.2f} ±{50 * mine['spread']:.0f} %",
        others,
        f"{times[best]['ratio']:.2f} {library_of(best)}{unequal(row)}",
        f"{times[best]['us'] / mine['us']:.1f}x",
        *(cold(row["cold"][state]) for state in COLD),
    ]


def unequal(row: dict[str, Any]) -> str:
    """Name the peers that are not compared since their result is another."""
    names = sorted({library_of(name) for name in row["wrong"]} - {""})
    return f" (not equal: {', '.join(names)})" if names else ""


def cold(figures: dict[str, Any]) -> str:
    """Format the figures of buffers in no cache as one cell."""
    times, best = figures["times"], figures["best_peer"]
    mine, peer = times[OURS], times[best]
    return (
        f"{times['memcpy']['us']:.0f} us: {mine['ratio']:.2f}, {peer['ratio']:.2f} {library_of(best)}, "
        f"{peer['us'] / mine['us']:.1f}x"
    )


def headings() -> list[str]:
    """Return the titles of what `columns` returns; the fourth names the kinds of kernels."""
    backends = " / ".join(name.replace("native (", "").rstrip(")") for name in kernels.backends())
    return ["case", "memcpy", "ours", backends, "best peer", "faster", *(f"{state} cold" for state in COLD)]


def markdown(rows: Iterable[dict[str, Any]], about: dict[str, Any]) -> str:
    """Format all rows as a markdown table, below a line on the machine and the versions."""
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    restricted = f" Restricted to the same instruction set: {', '.join(about['held'])}." if about["held"] else ""
    machine = f"{about['date']}, {about['processor']}, {many(about['threads'], 'thread')}, kernels {about['kernels']}"
    lines = [
        f"{machine}; {versions}.{restricted}",
        "",
        "| " + " | ".join(headings()) + " |",
        "|" + "---|" * len(headings()),
    ]
    return "\n".join([*lines, *("| " + " | ".join(columns(row)) + " |" for row in rows)])


def plot(rows: Sequence[dict[str, Any]], about: dict[str, Any], path: str) -> None:
    """Draw bars for each case to a file; memcpy is a line at 1."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(11, 0.32 * len(rows) + 2))
    series = [(OURS, "tab:blue"), ("numpy", "tab:gray"), ("best peer", "tab:orange")]
    for offset, (name, colour) in zip((-0.27, 0, 0.27), series):
        picked = [row["best_peer"] if name == "best peer" else name for row in rows]
        if name == "numpy":
            picked = [next(k for k in row["times"] if library_of(k) == "numpy") for row in rows]
        values = [row["times"].get(k, {"ratio": 0})["ratio"] for row, k in zip(rows, picked)]
        label = {"numpy": "numpy's usual spelling"}.get(name, name)
        axes.barh(np.arange(len(rows)) + offset, values, 0.27, color=colour, label=label)
    axes.axvline(1, color="black", linewidth=1, label="memcpy of the output")
    axes.set_yticks(range(len(rows)), [f"{row['key']}  {row['title']}" for row in rows], fontsize=7)
    axes.set_xscale("log")
    axes.invert_yaxis()
    threads = many(about["threads"], "thread")
    axes.set_xlabel(f"time relative to memcpy; {about['processor']}, {about['date']}, {threads}")
    axes.legend(loc="upper right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
