"""The report as an object, as text and as JSON, and its files."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import npu_layout as nl
from npu_layout.support import isolated
from tests.support.boards import CHANNELS, Board
from tests.support.directions import outside_of_isolates
from tests.support.pages import nhwc
from tests.support.writing import writes_json_whole


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
    words = ("match", "ambiguous", "quantization", "layout", "mismatch")
    several = {word: replace(output, verdict=word) for word in words}
    assert replace(good, outputs=several).verdict == "quantization"  # the first cause
    assert replace(good, outputs={w: several[w] for w in ("match", "mismatch", "ambiguous")}).verdict == "mismatch"


def test_failures_have_what_matches_in_one_line(board: Board) -> None:
    good = nl.validate(board.recording(), board.engine)
    output = good.outputs["maps"]
    wrong = replace(output, name="b", verdict="layout")
    mixed = replace(good, outputs={"a": replace(output, name="a"), "b": wrong, "c": replace(output, name="c")})
    text = mixed.failures()
    assert str(wrong) in text and "\nmatch: a, c" in text and len(text.splitlines()) < len(str(mixed).splitlines())
    assert good.failures() == str(good) and "match: " not in replace(good, outputs={"b": wrong}, inputs={}).failures()


def test_a_fix_that_several_outputs_have_stands_once(board: Board) -> None:
    good = nl.validate(board.recording(), board.engine)
    how = {"color": "BGR", "std": [255.0] * 3}
    output = replace(good.outputs["maps"], verdict="preprocessing", fix=how)
    others = {"a": how, "b": dict(how), "c": {**how, "color": "RGB"}, "d": dict(how)}
    outputs = {name: replace(output, name=name, fix=fix) for name, fix in others.items()}
    outputs["e"] = replace(output, name="e", verdict="layout", fix=good.outputs["maps"].spec)
    outputs["f"] = replace(outputs["e"], name="f")
    report = replace(good, outputs=outputs)
    for text in (str(report), report.failures()):
        fixes = [line for line in text.splitlines() if line.startswith("  fix: ")]
        assert [fix == "  fix: that of a" for fix in fixes] == [False, True, False, True, False, False]
        assert "'BGR'" in fixes[0] and "'RGB'" in fixes[2] and fixes[4] == fixes[5]
    assert "'BGR'" in str(outputs["d"]) and report.to_dict()["outputs"]["d"]["fix"] == how
    exchanged = replace(outputs["b"], verdict="output_order", fix={"a": "b"})
    assert "that of" not in str(replace(good, outputs={"a": outputs["a"], "b": exchanged}))


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


def test_json_appears_whole_or_not_at_all(board: Board, tmp_path: Path) -> None:
    writes_json_whole(nl.validate(board.recording(), board.engine).to_json, tmp_path)


def test_a_page_is_written_to_a_path_and_to_nothing_else(board: Board, tmp_path: Path) -> None:
    report = nl.validate(nl.Recording({"maps": board.spec}, []), board.engine)
    with (
        (tmp_path / "open").open("w") as file,
        pytest.raises(nl.NpuLayoutError, match=r"cannot be written to '.*path: "),
    ):
        report.to_html(file.fileno())  # type: ignore[arg-type]
    assert not (tmp_path / "open").read_bytes()


def test_names_are_isolated_in_text(board: Board) -> None:
    """A name with marks of direction, or of Hebrew letters, moves nothing that stands beside it."""
    good = nl.validate(board.recording(), board.engine)
    hostile = "\u202eheat\u2069\u2067\x1b[2J\n"
    output = replace(good.outputs["maps"], name=hostile, verdict="output_order", fix={hostile: "\u05d0", "a": "b"})
    given = nl.validate(nhwc(board), board.engine).inputs["image"]
    text = str(replace(good, outputs={hostile: output}, inputs={hostile: replace(given, name=hostile)}, model=hostile))
    name = isolated(hostile)
    assert name in text.splitlines()[0] and f"\n{name}: output_order\n" in text and f"\ninput {name}: " in text
    assert r"rename {'\u202eheat\u2069\u2067\x1b[2J\n': " + "\u2068'\u05d0'\u2069, 'a': 'b'}" in text
    assert "\x1b" not in text and not outside_of_isolates(text)
