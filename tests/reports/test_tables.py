"""Tables of figures, candidates and channels, and the numbers in them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.comparison import Clamped
from npu_layout.reports.tables import clamped, decibels, exact, spoken
from tests.support.boards import Board
from tests.support.pages import read


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_dead_and_constant_channels(board: Board, tmp_path: Path) -> None:
    report = nl.validate(board.recording(), board.engine)
    channels = list(report.outputs["maps"].channels)
    channels[5] = channels[5]._replace(low=0.0, high=0.0, snr_db=-200.0)
    output = replace(report.outputs["maps"], dead=(3, 7), channels=channels)
    page = read(replace(report, outputs={"maps": output}), tmp_path)
    assert "Dead channels (2): 3, 7." in page.text and "3, dead" in page.text and "5, constant" in page.text
    assert "no signal" in page.text


def test_what_is_clamped(board: Board, tmp_path: Path) -> None:
    report = nl.validate(board.recording(), board.engine)
    output = report.outputs["maps"]
    assert output.figures is not None
    values = output.figures.values
    for found, ends in ((Clamped(2, 3, 0.5, 6.25), "-128 or 127"), (Clamped(5, 0, 0.5, 6.25), "-128")):
        changed = replace(output, clamped=found)
        words = clamped(changed)
        assert f"clamped: 5 of {values} values" in words and f"stored as {ends}, an end of int8" in words
        assert "by up to 0.5 (6.2 steps)" in words and words in str(changed) and "clamped" not in str(output)
        assert json.loads(json.dumps(changed.to_dict()))["clamped"] == found._asdict()
        page = read(replace(report, outputs={"maps": changed}), tmp_path)
        assert words[1:] in page.text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_itself(value: float) -> None:
    assert float(exact(value)) == value
    short = float(f"{value:.6g}")
    assert not math.isfinite(short) or exact(short) == f"{value:.6g}"


def test_words() -> None:
    assert [decibels(x) for x in (200.0, -200.0, -0.04, 12.345)] == ["equal", "no signal", "0.0 dB", "12.3 dB"]
    assert spoken("output_order") == "output order"
