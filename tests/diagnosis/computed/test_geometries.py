"""Outputs that are the same picture in another place."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from tests.support.boards import Board
from tests.support.endings import ending, smooth, verdict

WIDE, SQUARE = (1, 5, 18, 24), (1, 5, 20, 20)
Change = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def _down(y: np.ndarray) -> np.ndarray:
    return np.concatenate([0 * y[:, :, :1], y[:, :, :-1]], 2)


def _cropped(y: np.ndarray) -> np.ndarray:
    return np.stack([cv2.resize(c, y.shape[:1:-1]) for c in y[0, :, 1:]])[None]


MOVED: dict[str, Change] = {
    "mirrored from left to right": lambda y: y[..., ::-1],
    "upside down, mirrored": lambda y: y[:, :, ::-1],
    "rotated by 180 degrees": lambda y: y[:, :, ::-1, ::-1],
    "shifted by 1 place to the right": lambda y: np.roll(y, 1, 3),
    "shifted by 2 places to the left": lambda y: np.roll(y, -2, 3),
    "shifted by 1 place down": _down,
    "shifted by 1 place to the left and 2 places up": lambda y: np.roll(y, (-2, -1), (2, 3)),
    "without their first row": _cropped,
}


@pytest.mark.parametrize("text", MOVED)
@pytest.mark.parametrize("dtype, db", [("float32", 40), ("int8", 15)])
def test_moved_maps_are_named(text: str, dtype: str, db: float) -> None:
    output = verdict(ending(WIDE), smooth(WIDE), lambda x, y: MOVED[text](y), db, dtype)
    assert output.verdict == "geometry" and output.fix is None, str(output)
    assert output.why.startswith(f"The picture was moved or resized: the maps are {text}. "), output.why


@pytest.mark.parametrize("shape", [WIDE, SQUARE])
@pytest.mark.parametrize("turns, text", [(-1, "90 degrees clockwise"), (1, "90 degrees counterclockwise")])
def test_rotated_maps_are_named(shape: tuple[int, ...], turns: int, text: str) -> None:
    """The device's shape is declared, or the model's."""
    output = verdict(ending(shape), smooth(shape), lambda x, y: np.rot90(y, turns, (2, 3)), 20, "int8")
    assert output.verdict == "geometry" and f"rotated by {text}" in output.why, str(output)
    if shape == WIDE:
        output = verdict(ending(shape), smooth(shape), lambda x, y: np.rot90(y, turns, (2, 3)).reshape(shape), 20)
        assert output.verdict == "geometry" and f"rotated by {text}" in output.why, str(output)
    exchanged = verdict(ending(shape), smooth(shape), lambda x, y: y.swapaxes(2, 3).reshape(shape), 20)
    assert exchanged.verdict == "layout", str(exchanged)


def test_a_picture_without_channels() -> None:
    shape = (1, 24, 24)
    output = verdict(ending(shape), smooth(shape), lambda x, y: y[:, ::-1, ::-1], 30)
    assert output.verdict == "geometry" and "rotated by 180 degrees" in output.why, str(output)


@pytest.mark.parametrize("shape", [(1, 24, 24), (1, 24, 24, 1), (1, 1, 24, 24)])
def test_maps_of_labels_are_moved_along_both_axes(shape: tuple[int, ...]) -> None:
    """A model whose channels are last has an axis of extent 1 behind the columns."""
    axis = shape[1:].index(1) + 1 if 1 in shape[1:] else 1
    wide = [*shape[:axis], 5, *shape[axis + (len(shape) == 4) :]]
    model = ending(tuple(wide), "ArgMax", shape, axis=axis, keepdims=len(shape) - 3)
    inputs = [np.moveaxis(x, 1, axis) for x in smooth((1, 5, 24, 24))]
    rows = 2 if axis == 1 and len(shape) == 4 else 1
    for text, axes in (("upside down, mirrored", rows), ("from left to right", rows + 1)):
        output = verdict(model, inputs, lambda x, y, axis=axes: np.flip(y, axis), 30, "int64")
        assert output.verdict == "geometry" and text in output.why, str(output)


def test_a_shift_within_the_tolerance_is_named(board: Board) -> None:
    """What is left of it is far above the 10 dB that are asked for; the truth explains more."""
    inputs = [cv2.GaussianBlur(x[0].transpose(1, 2, 0), (0, 0), 4).transpose(2, 0, 1)[None] for x in smooth(WIDE)]
    output = verdict(ending(WIDE), inputs, lambda x, y: y[..., [0, *range(23)]], 40)
    assert output.figures is not None and output.figures.snr_db > 10, str(output)
    assert output.verdict == "geometry", str(output)


@pytest.mark.parametrize("db", [40, 20, 12])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_maps_in_their_place(dtype: str, db: float) -> None:
    for seed in range(3):
        for shape in (WIDE, SQUARE):
            output = verdict(ending(shape), smooth(shape, seed=seed), lambda x, y: y, db, dtype, seed=seed)
            assert output.verdict == "match", str(output)


def test_the_page_shows_the_moved_maps(board: Board) -> None:
    output = board.verdict(board.recording(None, board.changed(lambda y: y[..., ::-1])))
    assert output.verdict == "geometry" and output.exhibit is not None
    best = output.ranking[0]
    shown = output.exhibit.answers[best.trial]
    assert np.array_equal(shown, output.exhibit.reference[..., ::-1])


@pytest.mark.parametrize("shape", [(1, 12, 3), (1, 36, 3), (1, 4, 20)])
@pytest.mark.parametrize("db", [30, 20])
@pytest.mark.parametrize("wide", [1, 50])
def test_a_row_along_the_channels_is_an_order_of_these(shape: tuple[int, ...], db: float, wide: float) -> None:
    """In reverse it may be mirrored, too: the order has a fix, which is right for both."""
    rng = np.random.default_rng(0)
    inputs = [(rng.standard_normal(shape) * np.linspace(1, wide, shape[2])).astype(np.float32) for _ in range(16)]
    output = verdict(ending(shape), inputs, lambda x, y: y[:, ::-1], db)
    assert output.verdict == "channel_order" and output.fix == tuple(range(shape[1]))[::-1], str(output)
    assert verdict(ending(shape), inputs, lambda x, y: y, db).verdict == "match"
