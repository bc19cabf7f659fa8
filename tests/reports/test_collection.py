"""Many reports as one object."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import npu_layout as nl
from tests.support.boards import Board
from tests.support.writing import writes_json_whole


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_counts_and_words(board: Board, tmp_path: Path) -> None:
    good = nl.validate(board.recording(), board.engine)
    wrong = replace(good, outputs={"maps": replace(good.outputs["maps"], verdict="layout")})
    reports = nl.Reports({"a": good, "b": wrong, "c": "it is damaged", "d": good})
    assert list(reports) == ["a", "b", "c", "d"] and len(reports) == 4 and reports["b"] is wrong and not reports
    assert reports.counts == {"match": 2, "layout": 1, "error": 1}
    assert str(reports).splitlines() == [
        "4 recordings: 2 match, 1 layout, 1 error", "a: match", "b: layout (maps layout)", "c: error: it is damaged",
        "d: match",
    ]  # fmt: skip
    assert repr(reports) == "<Reports 4 recordings: 2 match, 1 layout, 1 error>"
    given = json.loads(reports.to_json(tmp_path / "reports.json"))
    assert given["match"] is False and given["recordings"]["c"] == {"error": "it is damaged"}
    assert given == json.loads((tmp_path / "reports.json").read_text()) and given["counts"] == reports.counts


def test_true_if_every_one_matches(board: Board) -> None:
    good = nl.validate(board.recording(), board.engine)
    assert nl.Reports({"a": good}) and not nl.Reports({}) and not nl.Reports({"a": good, "b": "no verdict"})
    assert str(nl.Reports({})) == "0 recordings: none"


def test_json_appears_whole_or_not_at_all(board: Board, tmp_path: Path) -> None:
    good = nl.validate(board.recording(), board.engine)
    writes_json_whole(nl.Reports({"a": good, "b": "it is damaged"}).to_json, tmp_path)


def test_paths_and_names_are_isolated_in_text(board: Board) -> None:
    good = nl.validate(board.recording(), board.engine)
    wrong = replace(good, outputs={"maps": replace(good.outputs["maps"], name="\u202em", verdict="layout")})
    text = str(nl.Reports({"\u202ep": wrong, "q": "\u2067damaged\x07", "r": good}))
    assert text.splitlines()[1:] == [
        "\u2068\u202ep\u2069: layout (\u2068\u202em\u2069 layout)",
        "q: error: \u2068\u2067damaged\\x07\u2069\u2069",
        "r: match",
    ]
