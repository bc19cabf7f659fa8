"""The report as an object, as text and as JSON, and its files."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import npu_layout as nl
from tests.support.boards import CHANNELS, Board
from tests.support.pages import nhwc


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_whole_or_not_at_all(board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = nl.validate(nl.Recording({"maps": board.spec}, []), board.engine)
    assert report.to_html(str(tmp_path / "a.html")) is None  # type: ignore[func-returns-value]
    kept = (tmp_path / "a.html").read_bytes()
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "nowhere" / "a.html", tmp_path / "folder", tmp_path / "a.html" / "b.html", tmp_path / "\0"):
        with pytest.raises(nl.NpuLayoutError, match=r"the report cannot be written to .*: "):
            report.to_html(path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(nl.NpuLayoutError, match="No space left on device"):
        report.to_html(tmp_path / "a.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "folder"]
    assert (tmp_path / "a.html").read_bytes() == kept


def test_one_word_for_all(board: Board) -> None:
    good = nl.validate(board.recording(), board.engine)
    output = good.outputs["maps"]
    assert good.verdict == "match" and good and good.findings[0] is output and str(output) in str(good)
    two = replace(good, outputs={"a": output, "b": replace(output, verdict="layout")})
    assert two.verdict == "layout" and not two and not replace(good, frames=0) and not replace(good, outputs={})


def test_json_holds_what_the_report_does(board: Board, tmp_path: Path) -> None:
    report = nl.validate(nhwc(board), board.engine)
    text = report.to_json(tmp_path / "report.json")
    given = json.loads(text)
    assert json.loads((tmp_path / "report.json").read_text()) == given
    output, found = report.outputs["maps"], given["outputs"]["maps"]
    assert nl.TensorSpec.from_dict(found["fix"]) == output.fix and found["why"] == output.why
    assert found["figures"]["snr_db"] == output.figures.snr_db and len(found["channels"]) == CHANNELS
    assert [c["text"] for c in found["ranking"]] == [c.text for c in output.ranking]
    assert found["ranking"][0].keys() == {"cause", "text", "score", "gain", "fix"}
