"""Networks compute the same in both memory formats, and torch's threads are as before."""

from __future__ import annotations

import sys

import pytest

from npu_layout.bench import networks as bench_networks


def test_networks_give_the_same_in_both_formats() -> None:
    pytest.importorskip("torch", reason="torch runs the networks: pip install 'npu-layout[bench]'")
    rows = bench_networks.measure_all(1, 0.001)
    assert [(row["network"], row["dtype"]) for row in rows] == [
        (name, dtype) for name in bench_networks.NETWORKS for dtype in bench_networks.DTYPES
    ]
    for row in rows:
        assert row["wrong"] == {} and set(row["ms"]) == {"channels_first", "channels_last"}


def test_there_are_none_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert bench_networks.measure_all(1, 0.001) == []


def test_columns() -> None:
    row = {
        "network": "VGG-like",
        "dtype": "float32",
        "shape": (1, 3, 8, 8),
        "ms": {"channels_first": 4.0, "channels_last": 2.0},
        "gain": 100.0,
        "wrong": {},
    }
    assert bench_networks.columns(row) == ["VGG-like", "float32", "1x3x8x8", "4.00 ms", "2.00 ms", "+100 %"]
    assert bench_networks.columns({**row, "wrong": {"channels_last": "differs by 1"}})[-1] == "WRONG"
    assert len(bench_networks.headings()) == len(bench_networks.columns(row))
