"""The report of a tracker: its table, its order, its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.arrays.format_loss import Effect
from npu_layout.arrays.track_report import CallPlace, LayoutReport, add, bring_back, shown
from tests.support.tensors import tensor
from tests.support.tracked import SHAPE, tracked
from tests.support.writing import writes_json_whole


def test_a_report_does_not_change_after_its_block() -> None:
    x = tensor(SHAPE, "NHWC")
    with nl.track_layout():
        with nl.track_layout() as inner:
            kept = np.repeat(x, 2, axis=0)
        nl.Tensor(kept, "NHWC")
        x.tobytes()
    assert [call.fault for call in inner.calls] == ["lost"]


def test_the_report_as_json(tmp_path: Path) -> None:
    report = tracked(lambda x: np.ascontiguousarray(x), tensor(SHAPE, "NHWC"))
    text = report.to_json(tmp_path / "report.json")
    found = json.loads(text)
    assert json.loads((tmp_path / "report.json").read_text()) == found == report.to_dict()
    assert found["calls"][0]["fix"] == "np.ascontiguousarray(x) -> nl.asformat(x, 'NHWC')" and found["kept"] is False


def report_of(*calls: tuple[str, int, int]) -> LayoutReport:
    """A report of calls (fault, bytes, times), one for each line from 1 on."""
    report = LayoutReport()
    for line, (fault, nbytes, times) in enumerate(calls, 1):
        for _ in range(times):
            add(
                report,
                CallPlace("a.py", line, "", "np.f(x)"),
                Effect("NHWC", "plain NCHW", nbytes, fault, "fix" * bool(fault)),
            )
    return report


def test_faults_come_first_the_most_bytes_first() -> None:
    report = report_of(("", 9000, 1), ("copied", 5, 1), ("lost", 10, 1), ("lost", 4, 3), ("", 1, 2), ("copied", 6, 1))
    assert [call.line for call in report.calls] == [4, 3, 6, 2, 1, 5]
    assert [call.line for call in report.faults] == [4, 3, 6, 2] and not report
    assert report.calls[0].times == 3 and report.calls[0].copied_nbytes == 12
    assert report.summary == (
        "6 kinds of calls on Tensors: 2 lost the format, 2 copied without need; 9035 bytes copied in all"
    )
    assert report_of(("copied", 5, 1), ("", 1, 1)) and LayoutReport()
    lines = str(report).splitlines()
    assert lines[0] == report.summary and lines[1].startswith(
        "lost    a.py:4  np.f(x)  NHWC -> plain NCHW  12 bytes, 3"
    )
    assert lines[2] == "        fix: fix" and lines[-1].startswith("kept    a.py:5")


def test_a_result_that_is_brought_back_is_no_fault() -> None:
    report = report_of(("lost", 10, 1), ("lost", 7, 2))
    place, what = CallPlace("a.py", 2, "", "np.f(x)"), Effect("NHWC", "plain NCHW", 7, "lost", "fix")
    bring_back(report, place, what, 100)
    found = {(call.line, call.output): (call.fault, call.times, call.copied_nbytes) for call in report.calls}
    assert found == {
        (1, "plain NCHW"): ("lost", 1, 10),
        (2, "plain NCHW"): ("lost", 1, 7),
        (2, "plain NCHW, then brought back"): ("", 1, 107),
    }


def test_paths_are_shown_as_short_as_they_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert shown(str(inner / "a.py")) == "a.py"
    assert shown(str(tmp_path / "a.py")) == str(tmp_path / "a.py") and shown("<stdin>") == "<stdin>"


def test_json_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    writes_json_whole(report_of(("lost", 10, 1), ("", 1, 2)).to_json, tmp_path)


def test_files_of_any_name_are_listed(tmp_path: Path) -> None:
    report = LayoutReport()
    add(report, CallPlace("\u202ea.py\x1b", 3, "\u05d0.py", "np.f(x)"), Effect("NHWC", "plain NCHW", 1, "lost", "fix"))
    assert "\u2068\u202ea.py\\x1b\u2069:3" in str(report) and "(in \u2068\u05d0.py\u2069)" in str(report)
