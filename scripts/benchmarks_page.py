#!/usr/bin/env python3
"""Make BENCHMARKS.md and the chart of the README from docs/benchmarks.json.

    python scripts/benchmarks_page.py                  write both
    python scripts/benchmarks_page.py --from RUN.json  first take over what `npu-layout bench --json RUN.json` wrote

The prose around the tables is in scripts/benchmarks_page.md; whoever takes over a new run reads it again.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from npu_layout.bench.peers import library_of  # noqa: E402
from npu_layout.bench.tables import cold, unequal  # noqa: E402
from npu_layout.support import many  # noqa: E402

DATA, TEMPLATE = ROOT / "docs" / "benchmarks.json", ROOT / "scripts" / "benchmarks_page.md"
PAGE, CHART = ROOT / "BENCHMARKS.md", ROOT / "docs" / "pictures" / "speed.svg"

OURS = "npu_layout"  # the name of our column in a run
_COLD = re.compile(r"us: ([\d.]+), ([\d.]+) ")  # ours and the best peer in a cell of buffers in no cache
# The chart's rows: the case in the data, and its words. The last row is the one that is slowest beside its best peer.
CHARTED = {
    "d int8 NCHW16c -> float32 NCHW 1x255x80x80": "unpack int8 NC1HWC2 to float32 NCHW",
    "d' int8 NHWC -> float32 NCHW 1x255x80x80": "unpack int8 NHWC to float32 NCHW",
    "c int8 NCHW16c -> int8 NCHW 1x256x80x80": "int8 NC1HWC2 to NCHW",
    "b float32 NHWC -> float32 NCHW 1x255x80x80": "float32 NHWC to NCHW",
    "e uint8 HWC -> uint8 CHW 3x640x640": "camera pixels to planes",
    "f uint8 HWC -> float32 CHW 3x640x640": "pixels to normalised planes",
    "r argmax float32 NCHW 1x21x513x513": "argmax of 21 classes",
    "r softmax float32 NCHW 1x21x513x513": "softmax of 21 classes",
}


def table(columns: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def conversions(data: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Return the table of conversions as `npu-layout bench --markdown` writes it."""
    states = data.get("cold", [])
    columns = [
        "case",
        "memcpy",
        "ours",
        " / ".join(data["levels"]),
        "best peer",
        "faster",
        *(f"{s} cold" for s in states),
    ]
    return table(
        columns,
        [
            [
                row["case"],
                f"{row['copy_us']} us, {row['copy_gbs']} GB/s",
                f"{row['ours']} ±{row['spread_percent']} %",
                " / ".join(row["levels"]),
                f"{row['peer']} {row['peer_name']}",
                f"{row['faster']}x",
                *(row[state] for state in states),
            ]
            for row in rows
        ],
    )


def page(data: dict[str, Any]) -> str:
    """Return the text of BENCHMARKS.md."""
    made, formats = data["conversions"], data["formats"]
    lost = [row for row in made["rows"] if float(row["ours"]) >= float(row["peer"])]
    text = TEMPLATE.read_text(encoding="utf-8")
    for mark, what in {
        "@RUN@": made["run"],
        "@LOST@": str(len(lost)),
        "@ROWS@": str(len(made["rows"])),
        "@LOSSES@": conversions(made, lost),
        "@AHEAD@": "; ".join(f"{state} {ahead(made['rows'], state)}" for state in ("warm", *made.get("cold", []))),
        "@CONVERSIONS@": conversions(made, made["rows"]),
        "@FORMATS_RUN@": formats["run"],
        "@OPERATORS@": table(**formats["operators"]),
        "@NETWORKS@": table(**formats["networks"]),
    }.items():
        assert mark in text, f"{TEMPLATE.name} has no {mark}"
        text = text.replace(mark, what)
    return text


def chart(data: dict[str, Any]) -> str:
    """Return an SVG with two bars for each charted case: our time and the best peer's, in copies of the result."""
    rows = {row["case"]: row for row in data["conversions"]["rows"]}
    worst = max(rows, key=lambda case: float(rows[case]["ours"]) / float(rows[case]["peer"]))
    without_shape = re.sub(r" \d+(x\d+)+", "", worst.partition(" ")[2])  # it would begin left of the picture
    charted = {**CHARTED, worst: f"worst: {without_shape}"}
    left, width, step, top = 290, 890, 34, 58
    scale, height = 84.0, top + step * len(charted) + 30
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        '<text x="12" y="20" font-size="14" font-weight="bold" fill="#222222">Time in copies of the result '
        "(np.copyto = 1), shorter is better</text>",
        '<rect x="12" y="31" width="12" height="10" fill="#1f6fb2"/>'
        '<text x="29" y="40" fill="#222222">npu_layout</text>',
        '<rect x="112" y="31" width="12" height="10" fill="#b9c2cc"/>'
        '<text x="129" y="40" fill="#222222">the fastest other library</text>',
    ]
    room, one = (width - left - 210) / scale, left + scale
    bottom = top + step * len(charted)
    out.append(f'<line x1="{one}" x2="{one}" y1="{top}" y2="{bottom}" stroke="#222222" stroke-dasharray="3 3"/>')
    for i, (case, words) in enumerate(charted.items()):
        row, y = rows[case], top + step * i
        out.append(f'<text x="{left - 8}" y="{y + 17}" text-anchor="end" fill="#222222">{html.escape(words)}</text>')
        bars = ((row["ours"], "#1f6fb2", ""), (row["peer"], "#b9c2cc", " " + row["peer_name"]))
        for j, (text, colour, name) in enumerate(bars):
            value, at = float(text), y + 3 + 13 * j
            long = min(value, room)
            out.append(f'<rect x="{left}" y="{at}" width="{long * scale:.1f}" height="11" fill="{colour}"/>')
            beyond = " (bar shortened)" if value > room else ""
            out.append(
                f'<text x="{left + long * scale + 5:.1f}" y="{at + 10}" font-size="11" fill="#222222" '
                f'paint-order="stroke" stroke="#ffffff" stroke-width="3">'
                f"{text}{html.escape(name)}{beyond}</text>"
            )
    run = data["conversions"]["run"].split(";")[0]
    out.append(f'<text x="12" y="{height - 10}" font-size="11" fill="#555555">{html.escape(run)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def take_over(data: dict[str, Any], run: dict[str, Any]) -> None:
    """Replace the conversions by those of a run that `npu-layout bench --json` wrote."""
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    levels = [n for n in run["rows"][0]["times"] if n.startswith("native (") or n == "numpy"]
    rows = []
    for row in run["rows"]:
        times, best = row["times"], row["best_peer"]
        rows.append(
            {
                "case": f"{row['key']} {row['title']}",
                "copy_us": round(times["memcpy"]["us"]),
                "copy_gbs": round(times["memcpy"]["gb_s"]),
                "ours": f"{times[OURS]['ratio']:.2f}",
                "spread_percent": round(50 * times[OURS]["spread"]),
                "levels": [f"{times[name]['ratio']:.2f}" for name in levels if name in times],
                "peer": f"{times[best]['ratio']:.2f}",
                "peer_name": library_of(best) + unequal(row),
                "faster": f"{times[best]['us'] / times[OURS]['us']:.1f}",
                **{state: cold(figures) for state, figures in row["cold"].items()},
            }
        )
    threads = many(run["threads"], "thread")
    data["conversions"] = {
        "run": f"{run['date']}, {run['processor']}, {threads}, kernels {run['kernels']}; {versions}.",
        "levels": [name.replace("native (", "").rstrip(")") for name in levels],
        "cold": list(run["rows"][0]["cold"]),
        "rows": rows,
    }


def ahead(rows: list[dict[str, Any]], state: str) -> str:
    """Return in how many rows ours is ahead of the best peer, and the geometric mean of the ratios of both times.

    Both are computed from the digits that the page prints, so that whoever counts its rows finds the same number.
    """
    pairs = [(row["ours"], row["peer"]) if state == "warm" else _COLD.findall(row[state])[0] for row in rows]
    ratios = [float(ours) / float(peer) for ours, peer in pairs]
    return f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)}, {statistics.geometric_mean(ratios):.2f}"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--from", dest="run", metavar="RUN.json", help="what `npu-layout bench --json` wrote")
    data = json.loads(DATA.read_text(encoding="utf-8"))
    run = options.parse_args().run
    if run:
        take_over(data, json.loads(Path(run).read_text(encoding="utf-8")))
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(data), encoding="utf-8")
    CHART.parent.mkdir(exist_ok=True)
    CHART.write_text(chart(data), encoding="utf-8")


if __name__ == "__main__":
    main()
