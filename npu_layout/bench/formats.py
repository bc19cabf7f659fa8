"""Measure what a memory format costs: the same operators in each format, at sizes that fit each cache."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..buffers import Quantization, TensorSpec, plan
from ..frames import to_gray
from ..kernels.caches import Caches, caches, human
from ..support import counted, many, track, write_text
from . import networks
from .cases import MEAN, STD
from .measuring import check_targets, clock, machine, medians

Call = Callable[[], np.ndarray]
_MEAN, _STD = np.array(MEAN, np.float32), np.array(STD, np.float32)
_NORMALIZE = Quantization(1 / _STD, _MEAN, axis=1)


class Operator(NamedTuple):
    """One thing to measure.

    `make(source, target, flat, out)` returns the call that reads `flat`, stored as `source` describes, and writes
    `out`; `reference` computes the result from the logical tensor in double precision. Window sums are numpy's, in the
    array's own order, since there is no kernel for them.
    """

    title: str
    channels: int
    dtypes: tuple[str, str]
    block: str
    result: Callable[[tuple[int, ...]], tuple[int, ...]]
    blocked_result: bool
    make: Callable[[TensorSpec, TensorSpec, np.ndarray, np.ndarray], Call]
    reference: Callable[[np.ndarray], np.ndarray]


def _gray(source: TensorSpec, target: TensorSpec, flat: np.ndarray, out: np.ndarray) -> Call:
    image = flat.reshape(source.storage_shape)
    result = out.reshape(target.storage_shape)
    return lambda: to_gray(image, source.layout, out=result)


def _normalize(source: TensorSpec, target: TensorSpec, flat: np.ndarray, out: np.ndarray) -> Call:
    pixels = TensorSpec(source.shape, source.layout, source.dtype, quantization=_NORMALIZE)
    convert = plan(pixels, target)
    return lambda: convert(flat, out)


def _dims(spec: TensorSpec, letter: str) -> list[int]:
    return [i for i, dim in enumerate(spec.layout.dims) if spec.axes[dim.axis] == letter]


def _argmax(source: TensorSpec, target: TensorSpec, flat: np.ndarray, out: np.ndarray) -> Call:
    digits = _dims(source, "C")
    places = [i for i in range(len(source.storage_shape)) if i not in digits]
    array = flat.reshape(source.storage_shape).transpose(*places, *digits)
    result = out.reshape([source.storage_shape[i] for i in places])

    def run() -> np.ndarray:
        kernels.argmax(array, result, source.shape[1])
        return out

    return run


def _window(source: TensorSpec, target: TensorSpec, flat: np.ndarray, out: np.ndarray) -> Call:
    array, result = flat.reshape(source.storage_shape), out.reshape(target.storage_shape)
    (rows,), (columns,) = _dims(source, "H"), _dims(source, "W")
    shifted = []
    for i in range(3):
        for j in range(3):
            index = [slice(None)] * array.ndim
            index[rows] = slice(i, i + result.shape[rows])
            index[columns] = slice(j, j + result.shape[columns])
            shifted.append(array[tuple(index)])

    def run() -> np.ndarray:
        np.add(shifted[0], shifted[1], out=result)
        for view in shifted[2:]:
            np.add(result, view, out=result)
        return out

    return run


def _gray_reference(x: np.ndarray) -> np.ndarray:
    blue, green, red = (x[:, i : i + 1].astype(np.int64) for i in range(3))
    return np.asarray((3735 * blue + 19235 * green + 9798 * red + 2**14) >> 15)


def _normalize_reference(x: np.ndarray) -> np.ndarray:
    mean, std = (np.array(v).reshape(1, 3, 1, 1) for v in (MEAN, STD))
    return np.asarray((x.astype(np.float64) - mean) / std)


def _argmax_reference(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.argmax(x, axis=1))[:, None]


def _window_reference(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    height, width = x.shape[2] - 2, x.shape[3] - 2
    return np.asarray(np.sum([wide[:, :, i : i + height, j : j + width] for i in range(3) for j in range(3)], axis=0))


def _one_channel(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], 1, *shape[2:])


OPERATORS = {
    "gray": Operator("gray", 3, ("uint8", "uint8"), "4c", _one_channel, False, _gray, _gray_reference),
    "normalize": Operator(
        "normalise", 3, ("uint8", "float32"), "4c", lambda s: s, True, _normalize, _normalize_reference
    ),
    "argmax": Operator(
        "argmax of 32 channels", 32, ("float32", "int64"), "16c", _one_channel, False, _argmax, _argmax_reference
    ),
    "window": Operator(
        "3x3 window sums of 32 channels",
        32,
        ("float32", "float32"),
        "16c",
        lambda s: (*s[:2], s[2] - 2, s[3] - 2),
        True,
        _window,
        _window_reference,
    ),
}
_SHOWN = ("numpy", "cv2", "torch")  # whose versions matter here
PLAIN = ("NCHW", "NHWC", "NHCW")
FORMATS = (*PLAIN, "blocked")  # the columns; NCHW with the operator's block


def sizes(cache: Caches) -> dict[str, int]:
    """Return the bytes read and written for each level: half of a cache, and more than all caches."""
    return {"L1": cache.sizes[1] // 2, "L2": cache.sizes[2] // 2, "memory": min(2 * cache.last, 256 << 20)}


def shape_of(operator: Operator, budget: int) -> tuple[int, int, int, int]:
    """Return the shape of a square picture whose input and output have about `budget` bytes together.

    Sides are multiples of 4.
    """
    outputs = operator.result((1, operator.channels, 9, 9))[1]
    read, written = (np.dtype(name).itemsize for name in operator.dtypes)
    side = int((budget / (operator.channels * read + outputs * written)) ** 0.5)
    side = max(8, side - side % 4)
    return 1, operator.channels, side, side


def case(operator: Operator, name: str, shape: tuple[int, ...]) -> tuple[TensorSpec, TensorSpec]:
    """Return the specs of what the operator reads and writes in a format."""
    tag = name if name in PLAIN else PLAIN[0] + operator.block
    source = TensorSpec(shape, tag, operator.dtypes[0])
    out = tag if operator.blocked_result else source.layout.letters
    return source, TensorSpec(operator.result(shape), out, operator.dtypes[1])


def measure(operator: Operator, level: str, budget: int, seconds: float) -> dict[str, Any]:
    """Return one row: microseconds of each format, and the formats whose result is wrong."""
    shape = shape_of(operator, budget)
    rng = np.random.default_rng(0)
    logical: np.ndarray
    if operator.dtypes[0] == "uint8":
        logical = rng.integers(0, 256, shape, np.uint8)
    else:
        logical = rng.standard_normal(shape, np.float32)
    expected = operator.reference(logical)
    calls: dict[str, Call] = {}
    wrong: dict[str, str] = {}
    for name in FORMATS:
        source, target = case(operator, name, shape)
        out = np.zeros(target.size, target.stored)
        call = operator.make(source, target, source.pack(logical), out)
        call()
        got = target.unpack(out)
        if np.allclose(got, expected, rtol=1e-4, atol=1e-4):
            calls[name] = call
        else:
            wrong[name] = f"{got.reshape(-1)[:4]} ..., expected {expected.reshape(-1)[:4]} ..."
    times = medians(clock(calls, seconds) if calls else {})
    return {
        "operator": operator.title,
        "size": level,
        "shape": shape,
        "bytes": int(budget),
        "block": operator.block,
        "us": {name: 1e6 * median for name, (median, _) in times.items()},
        "spread": {name: quartiles / median for name, (median, quartiles) in times.items()},
        "wrong": wrong,
    }


def headings() -> list[str]:
    """Return the titles of what `columns` returns."""
    return ["operator", "fits", "shape", *PLAIN, "NCHW4c, 16c", "fastest"]


def columns(row: dict[str, Any]) -> list[str]:
    """Format a row: microseconds, and in brackets relative to the first format."""
    times = row["us"]
    first = times.get(FORMATS[0])
    cells = [
        "WRONG" if name not in times else _time(times[name]) + (f" ({times[name] / first:.3g})" if first else "")
        for name in FORMATS
    ]
    best = min(times, key=lambda name: times[name]) if times else ""
    best = best if best in PLAIN or not best else PLAIN[0] + row["block"]
    return [row["operator"], row["size"], "x".join(map(str, row["shape"])), *cells, best]


def _time(us: float) -> str:
    return f"{us:.3g} us" if us < 999.5 else f"{us / 1000:.3g} ms"


def _rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    table = [head, *body]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |" for row in table]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def markdown(result: dict[str, Any]) -> str:
    """Format the tables for a terminal and for the README."""
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items() if name in _SHOWN)
    lines = [
        f"{result['date']}, {result['processor']}, {result['caches']}, {many(result['threads'], 'thread')}, kernels "
        f"{result['kernels']}; Python {result['python']}, {versions}.",
        "",
        *_rows(headings(), map(columns, result["rows"])),
    ]
    if result["networks"]:
        lines += ["", *_rows(networks.headings(), map(networks.columns, result["networks"]))]
    return "\n".join(lines)


def plot(result: dict[str, Any], path: str) -> None:
    """Draw bars: time relative to NCHW for each operator and size, and the gain of each network."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = dict(zip(FORMATS, ("#0072B2", "#D55E00", "#009E73", "#CC79A7")))
    panels = 2 if result["networks"] else 1
    figure, every = plt.subplots(1, panels, figsize=(7.5 * panels, 0.45 * len(result["rows"]) + 2), squeeze=False)
    rows = result["rows"]
    axes = every[0][0]
    for i, name in enumerate(FORMATS[1:]):
        ratios = [row["us"].get(name, np.nan) / row["us"].get(FORMATS[0], np.nan) for row in rows]
        label = name if name in PLAIN else "NCHW4c, NCHW16c"
        places = np.arange(len(rows)) + 0.25 * (i - 1)
        axes.barh(places, np.subtract(ratios, 1), 0.25, left=1, color=colours[name], label=label)
    axes.set_yticks(range(len(rows)), [f"{row['operator']}, {row['size']}" for row in rows], fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("time relative to NCHW, less is better")
    axes.set_title(f"operators; {result['caches']}", fontsize=9)
    if panels == 2:
        networks = result["networks"]
        axes2 = every[0][1]
        gains = [row["gain"] for row in networks]
        axes2.barh(range(len(gains)), gains, 0.5, color=["#D55E00" if gain > 0 else "#0072B2" for gain in gains])
        axes2.set_yticks(range(len(gains)), [f"{row['network']}, {row['dtype']}" for row in networks], fontsize=8)
        axes2.axvline(0, color="black", linewidth=1)
        axes2.invert_yaxis()
        axes2.set_xlabel("more images per second in channels_last than in channels_first, %")
        axes2.set_title(f"networks; torch {result['versions'].get('torch', '')}", fontsize=9)
    axes.axvline(1, color="black", linewidth=1, label=FORMATS[0])
    axes.invert_yaxis()
    axes.legend(fontsize=8)
    figure.suptitle(f"{result['processor']}, {result['date']}, {many(result['threads'], 'thread')}", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def add_options(options: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options of `npu-layout bench-layouts` to a parser, and return it."""
    options.add_argument("--operators", nargs="+", choices=OPERATORS, default=list(OPERATORS), metavar="NAME")
    options.add_argument("--sizes", nargs="+", choices=("L1", "L2", "memory"), default=["L1", "L2", "memory"])
    options.add_argument("--quick", action="store_true", help="a fifth of the time")
    options.add_argument("--threads", type=int, default=1, help="of the kernels and of torch (default: 1)")
    options.add_argument("--no-torch", action="store_true", help="no networks")
    options.add_argument("--json", metavar="FILE", help="write every figure to FILE")
    options.add_argument("--markdown", metavar="FILE", help="write the tables to FILE")
    options.add_argument("--plot", metavar="FILE", help="draw bars to FILE (PNG, SVG); needs matplotlib")
    return options


def run(options: argparse.Namespace) -> int:
    """Run `npu-layout bench-layouts`; return 0, or 1 if a result is wrong; NpuLayoutError for a wrong option."""
    counted("--threads", options.threads)
    check_targets({"--json": options.json, "--markdown": options.markdown, "--plot": options.plot})
    kernels.set_num_threads(options.threads)
    cache = caches()
    seconds = 0.1 if options.quick else 0.5
    wanted = sizes(cache)
    todo = [(OPERATORS[name], size, wanted[size]) for name in options.operators for size in options.sizes]
    result: dict[str, Any] = {**machine(options.threads), "caches": str(cache), "networks": []}
    result["sizes"] = {size: human(wanted[size]) for size in options.sizes}
    result["rows"] = [measure(*each, seconds) for each in track(todo, len(todo), "operators")]
    if not options.no_torch:
        result["networks"] = networks.measure_all(options.threads, 2 * seconds)
    text = markdown(result)
    print(text)
    for row in result["rows"]:
        for name, why in row["wrong"].items():
            print(f"{row['operator']}, {row['size']}, {name}: {why}", file=sys.stderr)
    if options.json:
        write_text(options.json, json.dumps(result, indent=1) + "\n")
    if options.markdown:
        write_text(options.markdown, text + "\n")
    if options.plot:
        plot(result, options.plot)
    return int(any(row["wrong"] for row in [*result["rows"], *result["networks"]]))
