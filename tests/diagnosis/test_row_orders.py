"""Rows in another order in each frame, as after sorting."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tests.support.endings import ending, verdict

BOXES = (1, 60, 6)


def _boxes(frames: int = 6, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(frames):
        x = rng.uniform(0, 1, BOXES) * [640, 480, 640, 480, 1, 0] + [0, 0, 0, 0, 0, 0]
        x[..., 5] = rng.integers(0, 80, BOXES[:2])
        made.append(x.astype(np.float32))
    return made


def _sorted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.take_along_axis(y, np.argsort(-y[..., 4:5], axis=1), 1)


def test_sorted_rows_are_named() -> None:
    output = verdict(ending(BOXES), _boxes(), _sorted, 200)
    assert output.verdict == "activation" and output.fix is None, str(output)
    assert "rows are at other places: the device sorts them by value 4, the largest first" in output.why, output.why
    ordered = [_sorted(x, x) for x in _boxes()]
    rng = np.random.default_rng(3)
    output = verdict(ending(BOXES), ordered, lambda x, y: y[:, rng.permutation(60)], 200)
    assert output.verdict == "activation" and "the model sorts them by value 4" in output.why, str(output)


@pytest.mark.parametrize("db", [40, 20, 12])
def test_rows_in_their_places(db: float) -> None:
    for seed in range(3):
        output = verdict(ending(BOXES), _boxes(seed=seed), lambda x, y: y, db)
        assert output.verdict == "match", str(output)


def test_sorted_noise_is_no_order() -> None:
    """Two values a row fit any others, if they may be sorted."""
    shape, rng = (1, 40, 2), np.random.default_rng(0)
    inputs = [rng.normal(size=shape).astype(np.float32) for _ in range(6)]
    output = verdict(ending(shape), inputs, lambda x, y: rng.normal(size=shape), 200)
    assert output.verdict in ("mismatch", "ambiguous"), str(output)


@pytest.mark.parametrize("seed", range(4))
def test_one_order_of_all_frames_is_one_of_channels(seed: int) -> None:
    """Half of them are constant, some alike: in each frame another order fits these a little better."""
    rng, shape = np.random.default_rng(seed), (1, 36, 48)
    level = rng.standard_normal((1, 36, 1)).round(1)
    model = [(level + (np.arange(36) >= 18)[:, None] * rng.standard_normal(shape)).astype(np.float32) for _ in range(5)]
    for order in (np.arange(36)[::-1], rng.permutation(36)):
        output = verdict(ending(shape), model, partial(_in_order, order, rng), 60)
        assert output.verdict == "channel_order" and output.channel_axis == 1, str(output)
        moved = np.argsort(order)[18:]
        assert [output.fix[k] for k in range(18, 36)] == moved.tolist(), output.fix
    output = verdict(ending(shape), model, lambda x, y: y * (1 + 0.05 * rng.standard_normal(shape)), 60)
    assert output.verdict == "match", str(output)


def _in_order(order: np.ndarray, rng: np.random.Generator, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(y[:, order] * (1 + 0.05 * rng.standard_normal(y.shape)))
