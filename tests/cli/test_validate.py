"""npu-layout validate: the exit status, tables, JSON, JUnit's XML and the page."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

import npu_layout as nl
from npu_layout.cli import main
from tests.support.boards import Board
from tests.support.command_line import ran


def test_validate(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = ran(capsys, "validate", "good", "model.onnx", "--min-cosine", "maps:0.999", "--max-steps", "0.6")
    assert status == 0 and out.startswith("match: 1 output, 5 frames") and "min_cosine: at least 0.999" in out
    assert err == "npu-layout validate good model.onnx --min-cosine maps:0.999 --max-steps 0.6\n"
    assert main(shlex.split(err)[1:]) == 0  # it can be run again
    status, out, _ = ran(capsys, "validate", "good", "model.onnx", "--min-cosine", "0.9999999")
    assert status == 1 and "NOT met" in out
    status, out, _ = ran(capsys, "validate", "tree/wrong", "model.onnx")
    assert status == 1 and "maps: layout" in out and "fix: TensorSpec((1, 19, 12, 12), 'NHWC', 'int8'" in out


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_validate_many(here: Path, capsys: pytest.CaptureFixture[str], workers: list[str]) -> None:
    status, out, _ = ran(capsys, "validate", "good", "tree", "model.onnx", *workers)
    lines = out.splitlines()
    assert status == 1 and lines[0].split() == ["recording", "verdict", "outputs", "why"]
    assert re.match(r"tree/wrong +layout +maps +The buffer is stored .* layout NHWC", lines[1]) and lines[2:] == [
        "3 recordings: 2 match, 1 layout"
    ]
    status, out, _ = ran(capsys, "validate", "good", "damaged", "model.onnx", *workers)
    assert status == 2 and "error" in out and "frame-000002.npz" in out
    assert ran(capsys, "validate", "good", "tree/right", "model.onnx", *workers)[:2] == (0, "2 recordings: 2 match\n")


@pytest.mark.parametrize(
    "more", [["--junit", "no/report.xml"], ["--html", "no/page.html"], ["--junit", "good"], ["--junit", ""]]
)
def test_a_report_that_cannot_be_written_costs_no_verdict(
    here: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    status, out, err = ran(capsys, "validate", "good", "model.onnx", *more)
    assert status == 2 and out.startswith("match: 1 output, 5 frames") and more[1] in err.splitlines()[-1]
    status, out, _ = ran(capsys, "validate", "good", "model.onnx", "--json", "--html", "page.html", *more)
    assert status == 2 and json.loads(out)["match"] is True
    assert (here / "page.html").exists() == ("--html" not in more)


def test_for_machines(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["validate", "good", "tree", "damaged", "model.onnx", "--json", "--junit", "report.xml"]
    status, out, err = ran(capsys, *arguments)
    printed = json.loads(out)
    assert status == 2 and printed["command"] == err.strip() == shlex.join(["npu-layout", *arguments])
    assert {path: r.get("verdict") for path, r in printed["recordings"].items()} == {
        "good": "match", "tree/right": "match", "tree/wrong": "layout", "damaged": None,
    }  # fmt: skip
    suite = ElementTree.parse("report.xml").getroot()
    assert suite.tag == "testsuite" and [suite.get(k) for k in ("tests", "failures", "errors")] == ["7", "1", "1"]
    failed = suite.find("testcase[@classname='tree/wrong'][@name='maps']/failure")
    assert failed is not None and str(failed.get("message")).startswith("layout: ") and "fix:" in str(failed.text)
    error = suite.find("testcase[@classname='damaged']/error")
    assert error is not None and "frame-000002" in str(error.text)
    value = suite.find("properties/property[@name='command']")
    assert value is not None and value.get("value") == printed["command"]


def test_junit_holds_what_xml_cannot(tmp_path: Path) -> None:
    from npu_layout.reports.junit import write_junit

    write_junit(nl.Reports({"a\x00<&>\x1b": "b\ud800\x07 \u2265"}), tmp_path / "r.xml", "c\x00")
    case = ElementTree.parse(tmp_path / "r.xml").getroot().find("testcase")
    assert case is not None and case.get("classname") == "a\ufffd<&>\ufffd" and case[0].text == "b\ufffd\ufffd \u2265"


def test_nothing_compared_is_no_match(here: Path, board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    nl.Recording({"maps": board.spec}, []).save("none")
    status, out, _ = ran(capsys, "validate", "none", "model.onnx", "--junit", "r.xml")
    assert status == 1 and "nothing was compared" in out
    assert ElementTree.parse("r.xml").getroot().get("errors") == "1"


def test_html(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = ran(capsys, "validate", "tree", "model.onnx", "--html", "page.html")
    assert status == 2 and "expected one recording, got 2" in err
    assert ran(capsys, "validate", "tree/wrong", "model.onnx", "--html", "page.html")[0] == 1
    assert "<html" in Path("page.html").read_text()


def test_a_head_that_does_not_fit_is_answered_with_a_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = ("model.onnx", "--head", "yolov8(3)")
    for recordings in (["good"], ["good", "tree"]):
        status, out, err = ran(capsys, "validate", *recordings, *head)
        words = re.findall(r"or `npu-layout decode RECORDING --input \d+x\d+` without --head, names the", out + err)
        assert status == 2 and len(words) == len(nl.find_recordings(recordings)), out + err
