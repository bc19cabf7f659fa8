"""npu-layout bench: its options, no echo, and its answer if rich is missing."""

from __future__ import annotations

import sys

import pytest

from npu_layout.bench import benchmark
from npu_layout.cli import bench
from npu_layout.cli.command import parser
from tests.support.command_line import ran


def test_it_is_the_benchmarks_own() -> None:
    options = parser().parse_args(["bench", "b", "e'", "--quick", "--threads", "2", "--json", "f.json"])
    assert options.cases == ["b", "e'"] and options.quick and options.threads == 2 and options.json == "f.json"
    assert not options.no_peers and options.plot is None and options.markdown is None
    assert options.run is bench.run is benchmark.run


def test_without_rich(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    status, out, err = ran(capsys, "bench", "b")
    assert status == 2 and "pip install 'npu-layout[bench]'" in out and err == ""
