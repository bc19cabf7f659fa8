"""The sentences of verdicts."""

from __future__ import annotations

import pytest

import npu_layout as nl
from tests.support.boards import Board, spec_as


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_saturation_is_named(board: Board) -> None:
    q = board.spec.quantization
    assert q is not None
    narrow = spec_as(board, "NCHW", quantization=nl.Quantization(float(q.scale) / 4, q.zero_point))
    output = board.verdict(board.recording(narrow, board.packed(narrow)))
    assert "% of the model's values are cut off by the range of the dtype" in output.why, output.why
    assert "cut off" not in board.verdict(board.recording()).why
