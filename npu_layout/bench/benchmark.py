"""The benchmark: these kernels against memcpy and every peer that is installed, equality checked first."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import random
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import kernels, ops
from ..buffers import plan
from ..frames import Preprocessor, gray_views, to_gray
from . import peers
from .cases import REDUCTIONS, TOP, Case, cases
from .peers import Call

OURS = "npu_layout"  # the public function, with the active kernels
WARM_UP = 5  # calls of each before anything is timed
MANY_TURNS = 20  # a call of which so many take longer than there is time is timed alone, after one that is not
LEAST = 3  # turns of each, however long they take
TURN = 3  # calls of one before each time that its turn comes, and at least as many timed


def ours(case: Case) -> tuple[dict[str, Call], list[str]]:
    """This library's ways to do a case: the public function, and every kind of kernels alone on one thread; and the
    fast paths taken."""
    out = np.zeros(case.target.storage_shape, case.target.stored)
    names = kernels.backends()
    if case.kind in REDUCTIONS:
        return reductions(case)
    if case.kind == "gray":
        image = case.flat.reshape(case.source.storage_shape)
        planes = gray_views(image, case.source.layout, out)
        found: dict[str, Call] = {OURS: lambda: to_gray(image, case.source.layout, to=case.target.layout, out=out)}

        def grays(name: str) -> Call:
            def run() -> np.ndarray:
                kernels.gray(*planes, backend=name)
                return out

            return run

        return {**found, **{name: grays(name) for name in names}}, taken("gray", *planes)
    if case.kind in ("normalize", "input"):
        preprocess = Preprocessor(case.target, mean=case.mean, std=case.std)
        move = preprocess.plan
        found = {OURS: lambda: preprocess(case.x, out)[0]}
    else:
        conversion = plan(case.source, case.target)
        move = conversion.move
        found = {OURS: lambda: conversion(case.flat, out)}
    made = {name: move.program(name) for name in names}

    def alone(program: Any) -> Call:
        other = np.zeros(out.size, out.dtype)

        def run() -> np.ndarray:
            program.run(case.flat, other)
            return other

        return run

    found.update((name, alone(program)) for name, program in made.items())
    return found, sorted({path for program in made.values() for path in getattr(program, "paths", list)()})


def taken(kernel: str, *arguments: Any) -> list[str]:
    """The fast paths of one of the core's functions, at every level."""
    if kernels.active() == "numpy":
        return []
    from ..kernels import native

    return sorted({getattr(native, kernel)(*arguments, level=level).name for level in native.LEVELS})


def reductions(case: Case) -> tuple[dict[str, Call], list[str]]:
    """The operator, and the kernels as it calls them: with the channel last, on as many threads as the others; and the
    fast paths taken."""
    x, out = case.logical, np.zeros(case.target.storage_shape, case.target.stored)
    target = case.target.view(out)
    last, result = x.transpose(0, 2, 3, 1), target.transpose(0, 2, 3, 1)

    where, channels, dtype = result[..., 0], x.shape[1], x.dtype.name
    values = np.empty_like(target, x.dtype)

    def top(x: np.ndarray, out: np.ndarray) -> Any:
        return ops.top_k(x, TOP, out=(values, out))

    calls: dict[str, tuple[Any, ...]] = {
        "argmax": (ops.argmax_channels, kernels.argmax, last, where),
        "top_k": (top, kernels.top_k, last, values.transpose(0, 2, 3, 1), result),
        "softmax": (ops.softmax_channels, kernels.softmax, last, result),
        "sigmoid": (ops.sigmoid, kernels.sigmoid, x, target),
        "peaks": (None, kernels.peaks, x, case.threshold),
    }
    operator, kernel, *arguments = calls[case.kind]
    told: dict[str, tuple[Any, ...]] = {
        "argmax": (channels, dtype),
        "top_k": (channels, dtype),
        "softmax": (last.ndim - 1, channels, dtype, 1.0, 0.0),
        "sigmoid": (dtype, 1.0, 0.0),
    }

    def reduction(backend: str | None) -> Call:
        def run() -> np.ndarray:
            found = kernel(*arguments, backend=backend)
            return out if found is None else found

        return run

    mine = reduction(None) if operator is None else lambda: (operator(x, out=target), out)[1]
    paths = taken(case.kind, *arguments, *told[case.kind]) if case.kind in told else [case.kind]  # the only one
    return {OURS: mine, **{name: reduction(name) for name in kernels.backends()}}, paths


def check(case: Case, calls: dict[str, Call]) -> dict[str, str]:
    """Remove the calls whose result is not numpy's, and say why. Ours must be equal to the last bit among each other,
    but for sigmoid and softmax, whose twins have numpy's exponential; a peer may differ by rounding, gray by one."""
    wrong: dict[str, str] = {}
    expected = case.cropped(np.asarray(calls["numpy: " + peers.PEERS[case.kind][0][1]]()))
    ours = kernels.backends()[:-1] if case.kind in ("sigmoid", "softmax") else kernels.backends()
    names = [name for name in calls if name == OURS or name in ours]
    first = np.array(calls[OURS]()).reshape(-1)
    exact = case.kind in ("move", "pad")
    tolerance = 1 if expected.dtype.kind in "iu" else 1e-4

    def right(got: np.ndarray) -> bool:
        if exact or got.shape != expected.shape:
            return np.array_equal(got, expected)
        return np.allclose(got.astype(np.float64), expected, rtol=1e-3, atol=tolerance)

    ours_are_right = right(case.cropped(first))
    for name, call in list(calls.items()):
        got = case.cropped(np.asarray(call()))
        good = ours_are_right and np.array_equal(got, case.cropped(first)) if name in names else right(got)
        if not good:
            wrong[name] = f"differs: {got[:4]} ..., expected {expected[:4]} ..."
            del calls[name]
    return wrong


def clock(calls: dict[str, Call], seconds: float, pause: float = 0) -> dict[str, list[float]]:
    """Seconds that each call took, interleaved in random order, for about `seconds`; with a pause before each turn, in
    which the threads of the one before go to sleep, and as long to wake those of this."""
    repeat: dict[str, int] = {}
    lead: dict[str, int] = {}
    for name, call in calls.items():
        for _ in range(WARM_UP):
            start = time.perf_counter()
            call()
            took = time.perf_counter() - start
        lead[name] = TURN if took < seconds / MANY_TURNS else 1
        repeat[name] = max(lead[name], min(100, int(5e-5 / max(took, 1e-7))))
    taken: dict[str, list[float]] = {name: [] for name in calls}
    order, end = list(calls), time.perf_counter() + seconds
    shuffled = random.Random(0)
    while time.perf_counter() < end or len(taken[order[0]]) < LEAST:
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
            taken[name].append((time.perf_counter() - start) / n)
    return taken


def medians(taken: dict[str, list[float]]) -> dict[str, tuple[float, float]]:
    """Median and interquartile range of what `clock` gives."""
    quartiles = {name: np.percentile(seconds, (25, 50, 75)) for name, seconds in taken.items()}
    return {name: (float(q[1]), float(q[2] - q[0])) for name, q in quartiles.items()}


def competitors(case: Case, with_peers: bool) -> tuple[dict[str, Call], list[str], dict[str, str]]:
    """Everything that does this case and is right, memcpy first; the fast paths taken; what is wrong, and why."""
    calls, paths = ours(case)
    libraries = peers.installed()
    for library, spelling, make in peers.PEERS[case.kind]:
        if library == "numpy" or (with_peers and library in libraries):
            try:
                call = make(case)
            except Exception as error:
                print(f"{library} cannot do {case.title}: {error}")
                continue
            if call is not None:
                calls[f"{library}: {spelling}"] = call
    wrong = check(case, calls)
    copied = np.zeros(case.nbytes, np.uint8)
    # Above the caches what a copy costs depends on the pages that it writes to: those of our own result.
    result = np.asarray(calls[OURS]()) if OURS in calls else copied
    own = result.reshape(-1).view(np.uint8) if result.nbytes == case.nbytes else np.zeros_like(copied)
    return {"memcpy": lambda: np.copyto(own, copied), **calls}, paths, wrong


def measure(case: Case, seconds: float, with_peers: bool = True, rounds: int = 1) -> dict[str, Any]:
    """One row: microseconds, spread and ratio to memcpy of everything that does this case, equality checked first.

    In so many rounds, each with memory of its own: what a call takes depends by a fifth and more on the pages that its
    arrays happen to get."""
    taken: dict[str, list[float]] = {}
    wrong: dict[str, str] = {}
    paths: list[str] = []
    for _ in range(rounds):
        case = case.again()
        calls, paths, mistaken = competitors(case, with_peers)
        wrong.update(mistaken)
        pause = 0.003 if kernels.get_num_threads() > 1 else 0
        for name, seconds_of in clock(calls, seconds / rounds, pause).items():
            taken.setdefault(name, []).extend(seconds_of)
        del calls
    times = medians({name: taken[name] for name in taken.keys() - wrong.keys()})
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
    """What the figures were measured on and with."""
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


def columns(row: dict[str, Any]) -> list[str]:
    """A row in words: case, memcpy, ours, the other kernels, the best peer, ours against it."""
    times = row["times"]
    best = row["best_peer"]
    mine = times.get(OURS)
    if mine is None:
        return [f"{row['key']} {row['title']}", "", "WRONG: " + row["wrong"][OURS], "", "", ""]
    others = " / ".join(f"{times[name]['ratio']:.2f}" for name in kernels.backends() if name in times)
    return [
        f"{row['key']} {row['title']}",
        f"{times['memcpy']['us']:.0f} us, {times['memcpy']['gb_s']:.0f} GB/s",
        f"{mine['ratio']:.2f} ±{50 * mine['spread']:.0f} %",
        others,
        f"{times[best]['ratio']:.2f} {best.split(':')[0]}",
        f"{times[best]['us'] / mine['us']:.1f}x",
    ]


def headings() -> list[str]:
    backends = " / ".join(name.replace("native (", "").rstrip(")") for name in kernels.backends())
    return ["case", "memcpy", "ours", backends, "best peer", "faster"]


def markdown(rows: Iterable[dict[str, Any]], about: dict[str, Any]) -> str:
    """The table for the README."""
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    held = f" Held to the same instruction set: {', '.join(about['held'])}." if about["held"] else ""
    machine = f"{about['date']}, {about['processor']}, {about['threads']} thread(s), kernels {about['kernels']}"
    lines = [
        f"{machine}; {versions}.{held}",
        "",
        "| " + " | ".join(headings()) + " |",
        "|" + "---|" * len(headings()),
    ]
    return "\n".join([*lines, *("| " + " | ".join(columns(row)) + " |" for row in rows)])


def plot(rows: Sequence[dict[str, Any]], about: dict[str, Any], path: str) -> None:
    """Bars for each case, memcpy as a line at 1."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(11, 0.32 * len(rows) + 2))
    series = [(OURS, "tab:blue"), ("numpy", "tab:gray"), ("best peer", "tab:orange")]
    for offset, (name, colour) in zip((-0.27, 0, 0.27), series):
        picked = [row["best_peer"] if name == "best peer" else name for row in rows]
        if name == "numpy":
            picked = [next(k for k in row["times"] if k.startswith("numpy: ")) for row in rows]
        values = [row["times"].get(k, {"ratio": 0})["ratio"] for row, k in zip(rows, picked)]
        label = {"numpy": "numpy's usual spelling"}.get(name, name)
        axes.barh(np.arange(len(rows)) + offset, values, 0.27, color=colour, label=label)
    axes.axvline(1, color="black", linewidth=1, label="memcpy of the output")
    axes.set_yticks(range(len(rows)), [f"{row['key']}  {row['title']}" for row in rows], fontsize=7)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_xlabel(f"time relative to memcpy; {about['processor']}, {about['date']}, {about['threads']} thread(s)")
    axes.legend(loc="upper right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def add_options(options: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The benchmark's options, on a parser of its own or on a command's."""
    options.add_argument("cases", nargs="*", help="letters of cases, such as b or e'; default: all")
    options.add_argument("--quick", action="store_true", help="half a minute for all cases")
    options.add_argument("--threads", type=int, default=1, help="of ours and of every peer (default: 1)")
    options.add_argument("--no-peers", action="store_true", help="numpy alone beside ours")
    options.add_argument("--json", metavar="FILE", help="write every figure to FILE")
    options.add_argument("--plot", metavar="FILE", help="draw bars to FILE (PNG, SVG); needs matplotlib")
    options.add_argument("--markdown", metavar="FILE", help="write the table to FILE")
    return options


def run(options: argparse.Namespace) -> int:
    """What `npu-layout bench` does; 0, or 1 where one of ours was wrong, 2 where no case is meant."""
    try:
        from rich.console import Console
        from rich.progress import track
        from rich.table import Table
    except ImportError:
        print("npu-layout bench needs rich: pip install 'npu-layout[bench]' (or rich alone, for ours and numpy)")
        return 2
    console = Console()
    if not console.is_terminal:  # a file has room for whole rows
        console = Console(width=170)
    todo = [case for case in cases() if not options.cases or case.key in options.cases]
    if not todo:
        console.print(f"no case {options.cases}; there are {', '.join(sorted({case.key for case in cases()}))}")
        return 2
    held = peers.restrict_to(kernels.active()) if os.environ.get("NPU_LAYOUT_DISABLE") else []
    peers.use_threads(options.threads)
    kernels.set_num_threads(options.threads)
    about = {**machine(options.threads), "held": held}
    console.print(f"npu_layout, kernels {about['kernels']}, {options.threads} thread(s); {about['processor']}")
    console.print(", ".join(f"{name} {number}" for name, number in about["versions"].items()))
    if held:
        console.print(f"held to the same instruction set: {', '.join(held)}; the others choose by the machine")
    seconds, rounds = (0.05, 1) if options.quick else (3.0, 5)
    rows = [measure(case, seconds, not options.no_peers, rounds) for case in track(todo, "measuring", console=console)]
    table = Table(*headings(), caption="ours, kernels and peers: time relative to memcpy of the output")
    for row in rows:
        table.add_row(*columns(row))
        for name, why in row["wrong"].items():
            console.print(f"{row['key']} {row['title']}: {name} {why}", style="red")
    console.print(table)
    if options.json:
        Path(options.json).write_text(json.dumps({**about, "rows": rows}, indent=1))
    if options.markdown:
        Path(options.markdown).write_text(markdown(rows, about) + "\n")
    if options.plot:
        plot(rows, about, options.plot)
    return int(any(OURS in row["wrong"] or set(row["wrong"]) & set(kernels.backends()) for row in rows))
