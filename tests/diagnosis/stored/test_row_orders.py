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


@pytest.mark.parametrize("frames", [1, 6])
@pytest.mark.parametrize("db", [40, 32])
def test_many_rows_of_four_values_that_were_sorted(frames: int, db: float) -> None:
    """Sorted rows are no neighbours of a map: more frames bring more orders, so that they cannot prove more."""
    rng, shape = np.random.default_rng(frames), (1, 192, 4)
    boxes = [rng.uniform(0, 64, shape).astype(np.float32) for _ in range(frames)]
    output = verdict(ending(shape), boxes, lambda x, y: y[:, np.argsort(-y[0, :, 0])], db)
    assert output.verdict == "activation" and "rows are at other places. " in output.why, str(output)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_a_grid_whose_neighbours_err_alike_are_in_their_places(seed: int) -> None:
    """Boxes in the order of the cells, of which many are near a neighbour's."""
    rng, shape = np.random.default_rng(seed), (1, 192, 4)
    cells = np.stack(np.meshgrid(np.arange(16), np.arange(12)), -1).reshape(-1, 2)
    boxes = [
        np.concatenate([4 * cells + rng.normal(0, 1, (192, 2)), rng.uniform(8, 9, (192, 2))], 1)[None].astype(
            np.float32
        )
        for _ in range(6)
    ]

    def moved(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        smooth = np.convolve(rng.normal(0, 4, 192), np.ones(16) / 16, "same")
        return np.asarray(y + smooth[None, :, None] + rng.normal(0, 1.5, shape))

    output = verdict(ending(shape), boxes, moved, 60)
    assert output.verdict != "activation" and "rows" not in output.why.split("Nothing")[0], str(output)


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


def _head(frames: int) -> list[np.ndarray]:
    """Boxes and scores of 96 places along the last axis."""
    rng, made = np.random.default_rng(7), []
    for _ in range(frames):
        made.append(np.concatenate([rng.uniform(0, 64, (4, 96)), 10 * rng.beta(0.3, 2, (6, 96))])[None])
    return [x.astype(np.float32) for x in made]


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_sorted_places_of_a_head_are_named(dtype: str) -> None:
    model = ending((1, 10, 96))
    output = verdict(model, _head(3), lambda x, y: y[:, :, np.argsort(-y[0, 4:].max(0))], 40, dtype)
    assert output.verdict == "activation" and "rows are at other places" in output.why, str(output)
    for db in (40, 25, 15, 10.5):
        faultless = verdict(model, _head(3), lambda x, y: y, db, dtype)
        assert faultless.verdict == "match", str(faultless)


@pytest.mark.parametrize("frames", [1, 3])
def test_a_signal_that_was_moved_in_all_frames_has_no_rows(frames: int) -> None:
    """The same order of the places in every frame, or in the only one, is a move."""
    rng = np.random.default_rng(5)
    signal = [rng.normal(size=(1, 3, 96)).astype(np.float32) for _ in range(frames)]
    for moved in (lambda x, y: y[..., ::-1], lambda x, y: np.roll(y, 1, -1)):
        output = verdict(ending((1, 3, 96)), signal, moved, 40)
        assert output.verdict in ("geometry", "channel_order"), str(output)
        assert not any("rows are at other places" in c.text for c in output.ranking)
