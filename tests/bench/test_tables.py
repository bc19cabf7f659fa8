"""A row becomes columns, a markdown table and bars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import pytest

from npu_layout import kernels
from npu_layout.bench import tables
from npu_layout.bench.contenders import OURS
from npu_layout.bench.measuring import COLD

ABOUT = dict(date="2024-05-06", processor="CPU", threads=2, kernels="native", versions={"numpy": "2.0"}, held=[])


def figures(us: float) -> dict[str, float]:
    return {"us": us, "spread": 0.04, "ratio": us / 100, "gb_s": 12.4}


@pytest.fixture
def row() -> dict[str, Any]:
    times = {"memcpy": 100, OURS: 150, "numpy: copyto": 900, "cv2: transpose": 300}
    times.update((name, 200) for name in kernels.backends())
    cold = {"best_peer": "numpy: copyto", "times": {name: figures(us / 2) for name, us in times.items()}}
    return {
        "key": "b",
        "cold": dict.fromkeys(COLD, cold),
        "title": "float32 NCHW -> float32 NHWC",
        "best_peer": "cv2: transpose",
        "wrong": {},
        "times": {name: figures(us) for name, us in times.items()},
    }


def test_columns(row: dict[str, Any]) -> None:
    each = " / ".join(["2.00"] * len(kernels.backends()))
    assert tables.columns(row) == [
        "b float32 NCHW -> float32 NHWC",
        "100 us, 12 GB/s",
        "1.50 ±2 %",
        each,
        "3.00 cv2",
        "2.0x",
        "50 us: 0.75, 4.50 numpy, 6.0x",
        "50 us: 0.75, 4.50 numpy, 6.0x",
    ]
    assert len(tables.headings()) == len(tables.columns(row))


def test_columns_of_a_wrong_result(row: dict[str, Any]) -> None:
    del row["times"][OURS]
    row["wrong"] = {OURS: "differs: 1, expected 2"}
    shown = tables.columns(row)
    assert shown[2] == "WRONG: differs: 1, expected 2" and len(shown) == len(tables.headings())


def test_peers_with_another_result_are_named(row: dict[str, Any]) -> None:
    row["wrong"] = {"PIL: resize": "not equal: 3 of 4", "PIL: other": "not equal: 4 of 4", "numpy": "not equal: 1 of 4"}
    assert tables.columns(row)[4] == "3.00 cv2 (not equal: PIL)"


def test_markdown(row: dict[str, Any]) -> None:
    lines = tables.markdown([row, row], ABOUT).splitlines()
    assert lines[0] == "2024-05-06, CPU, 2 threads, kernels native; numpy 2.0."
    assert tables.markdown([row], {**ABOUT, "threads": 1}).startswith("2024-05-06, CPU, 1 thread, kernels")
    assert lines[2] == "| " + " | ".join(tables.headings()) + " |" and lines[3] == "|---|---|---|---|---|---|---|---|"
    assert lines[4] == lines[5] == "| " + " | ".join(tables.columns(row)) + " |"
    restricted = tables.markdown([row], {**ABOUT, "held": ["cv2", "torch"]}).splitlines()[0]
    assert restricted.endswith(" Restricted to the same instruction set: cv2, torch.")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # matplotlib's own, on old Pythons
def test_plot(row: dict[str, Any], tmp_path: Path) -> None:
    wrong = {**row, "times": {name: one for name, one in row["times"].items() if name != OURS}}
    for count in (2, 12):
        tables.plot([row, wrong] * (count // 2), ABOUT, str(tmp_path / f"{count}.png"))
    short, tall = (cv2.imread(str(tmp_path / f"{count}.png")) for count in (2, 12))
    assert short.shape[1] > 600 and tall.shape[0] > short.shape[0]
