"""Tables of figures, candidates and channels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import npu_layout as nl
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
