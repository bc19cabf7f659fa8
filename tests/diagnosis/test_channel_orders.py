"""Channels in another order."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.diagnosis.channel_orders import channel_orders
from npu_layout.diagnosis.evidence import Evidence
from tests.support.boards import CHANNELS, Board


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_channel_order(board: Board) -> None:
    rng = np.random.default_rng(0)
    swapped = np.arange(CHANNELS)
    swapped[[3, 11]] = 11, 3
    for order in (np.roll(np.arange(CHANNELS), 1), np.arange(CHANNELS)[::-1], rng.permutation(CHANNELS), swapped):
        output = board.verdict(board.recording(None, board.changed(lambda y, order=order: y[:, order])))
        assert output.verdict == "channel_order", str(output)
        read = board.spec.unpack(board.changed(lambda y, order=order: y[:, order])[0]["maps"])[:, output.fix]
        assert np.abs(read - board.answers[0]["maps"]).max() < 0.02 * np.ptp(board.answers[0]["maps"])


def test_where_no_channel_moved_there_is_no_trial(board: Board) -> None:
    for outputs, moved in ((None, 0), (board.changed(lambda y: y[:, ::-1]), 1)):
        given = outputs or board.packed(board.spec)
        references = [a["maps"] for a in board.answers]
        evidence = Evidence(board.spec, [o["maps"] for o in given], references, (), 1)
        assert len(list(channel_orders(evidence))) == moved
