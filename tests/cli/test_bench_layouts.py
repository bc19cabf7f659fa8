"""npu-layout bench-layouts: its options and defaults, and a wrong number of threads."""

from __future__ import annotations

import pytest

from npu_layout.bench import formats
from npu_layout.cli import bench_layouts
from npu_layout.cli.command import parser
from tests.support.command_line import ran


def test_it_is_the_benchmarks_own() -> None:
    options = parser().parse_args(["bench-layouts"])
    assert options.operators == [*formats.OPERATORS] and options.sizes == ["L1", "L2", "memory"]
    options = parser().parse_args(["bench-layouts", "--operators", "gray", "argmax", "--sizes", "L1", "--no-torch"])
    assert options.operators == ["gray", "argmax"] and options.sizes == ["L1"] and options.no_torch
    assert options.run is bench_layouts.run is formats.run


def test_no_thread_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = ran(capsys, "bench-layouts", "--threads", "0")
    assert (
        status == 2
        and out == ""
        and err == "npu-layout bench-layouts: --threads: expected a whole number of 1 or more, got 0\n"
    )
