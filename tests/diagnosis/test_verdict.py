"""What cannot be told is not named."""

from __future__ import annotations

import pytest

import npu_layout as nl
from tests.support.boards import Board, spec_as


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_what_cannot_be_told(board: Board) -> None:
    flat = board.verdict(board.recording(None, board.changed(lambda y: 0 * y)))
    assert flat.verdict == "mismatch" and "gave 0 everywhere and for every frame" in flat.why
    frozen = board.verdict(board.recording(None, board.packed(board.spec)[:1] * 8))
    assert frozen.verdict == "mismatch" and "the same values for every frame" in frozen.why
    repeated = nl.Recording({"maps": board.spec}, [({"image": board.inputs[0]}, board.packed(board.spec)[0])] * 3)
    assert board.verdict(repeated).verdict == "match"
    other = Board(seed=7)
    unrelated = board.verdict(board.recording(None, other.packed(board.spec)))
    assert unrelated.verdict in ("mismatch", "ambiguous"), str(unrelated)
    one = Board(frames=1)
    assert one.verdict(one.recording()).verdict == "match"
    nhwc = one.verdict(one.recording(spec_as(one, "NCHW"), one.packed(spec_as(one, "NHWC"))))
    assert nhwc.verdict == "ambiguous" and "record more frames" in nhwc.why and "NHWC" in nhwc.why
