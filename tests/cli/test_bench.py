"""npu-layout bench: its options, no echo, and its answer if rich is missing."""

from __future__ import annotations

import sys
from pathlib import Path

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
    assert status == 2 and "pip install 'npu-layout[bench]'" in err and out == ""


@pytest.mark.parametrize("verb", ["bench", "bench-layouts"])
def test_a_file_that_cannot_be_written_is_refused_before_minutes_of_measuring(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--json", "--plot", "--markdown"):
        for path, got in ((tmp_path, "a folder"), (tmp_path / "none" / "x", "one in a folder that is not there")):
            status, out, err = ran(capsys, verb, option, str(path))
            assert (status, out) == (2, "") and err.endswith(f"expected a file that can be written, got {got}\n"), err
