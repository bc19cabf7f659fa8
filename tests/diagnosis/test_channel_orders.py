"""Channels in another order."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.diagnosis.channel_orders import _in_their_places, channel_orders
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


def test_what_some_places_prove_holds_at_all() -> None:
    """Noise of any size, channels that are alike, and exchanged ones: what is proven is what all places say."""
    rng, proven = np.random.default_rng(4), 0
    for _ in range(300):
        channels = int(rng.integers(2, 12))
        wanted = rng.standard_normal((channels, 320)) * rng.uniform(0.01, 3, (channels, 1))
        if rng.random() < 0.3:
            wanted[0] = wanted[1] * (1 + 0.1 * rng.random())
        real = wanted + rng.choice([0.0, 0.01, 0.3, 1.0]) * rng.standard_normal(wanted.shape)
        moved = rng.random() < 0.4
        real = real[rng.permutation(channels)] if moved else real
        if _in_their_places(real, wanted):
            proven += 1
            cost = np.square(real[:, None] - wanted[None]).sum(-1)
            own = np.diagonal(cost)
            np.fill_diagonal(others := cost.copy(), np.inf)
            assert (others.min(1) >= 0.25 * own).all()  # so the cost of no cycle is below
    assert 60 < proven < 240
