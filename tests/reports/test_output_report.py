"""The report of one output: text and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import npu_layout as nl
from npu_layout.comparison import Clamped
from npu_layout.reports.words import clamped
from tests.support.boards import Board
from tests.support.pages import read


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_what_is_clamped(board: Board, tmp_path: Path) -> None:
    report = nl.validate(board.recording(), board.engine)
    output = report.outputs["maps"]
    assert output.figures is not None
    values = output.figures.values
    for found, ends in ((Clamped(2, 3, 0.5, 6.25), "-128 or 127"), (Clamped(5, 0, 0.5, 6.25), "-128")):
        changed = replace(output, clamped=found)
        words = clamped(found, values, output.spec)
        assert f"clamped: 5 of {values} values" in words and f"stored as {ends}, an end of int8" in words
        assert "by up to 0.5 (6.2 steps)" in words and words in str(changed) and "clamped" not in str(output)
        assert json.loads(json.dumps(changed.to_dict()))["clamped"] == found._asdict()
        page = read(replace(report, outputs={"maps": changed}), tmp_path)
        assert words[1:] in page.text
