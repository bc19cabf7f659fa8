"""Where a moved map's values come from."""

from __future__ import annotations

import numpy as np

from npu_layout.diagnosis.computed.moves import MOVES, fills, values_at, values_in, whole

X = np.arange(2 * 5 * 5, dtype=np.float32).reshape(1, 2, 5, 5)
BY_TEXT = {move.text: move for move in MOVES}


def test_moves_are_numpys() -> None:
    for text, expected in (
        ("mirrored from left to right", X[..., ::-1]),
        ("upside down, mirrored", X[:, :, ::-1]),
        ("rotated by 180 degrees", X[..., ::-1, ::-1]),
        ("rotated by 90 degrees clockwise", np.rot90(X, -1, (2, 3))),
        ("rotated by 90 degrees counterclockwise", np.rot90(X, 1, (2, 3))),
        ("shifted by 2 places to the left", np.roll(X, -2, 3)),
        ("shifted by 1 place to the right and 2 places down", np.roll(X, (2, 1), (2, 3))),
    ):
        assert np.array_equal(whole(X, (2, 3), BY_TEXT[text], "wrapped"), expected), text


def test_what_is_outside() -> None:
    move = BY_TEXT["shifted by 1 place to the right"]
    row = X[0, 0, 1]
    given = {fill: whole(X, (2, 3), move, fill)[0, 0, 1] for fill in ("edge", "wrapped", "zero", "next row")}
    assert all(np.array_equal(v[1:], row[:-1]) for v in given.values())
    assert [float(v[0]) for v in given.values()] == [row[0], row[4], 0, X[0, 0, 0, 4]]
    index = tuple(np.indices(X.shape).reshape(4, -1))
    assert len(fills(move, X.shape, (2, 3), index)) == 4
    assert len(fills(BY_TEXT["rotated by 180 degrees"], X.shape, (2, 3), index)) == 1


def test_a_row_without_columns() -> None:
    x = np.arange(6.0).reshape(1, 1, 6)
    index = tuple(np.indices(x.shape).reshape(3, -1))
    moved = values_at(x, index, (None, 2), BY_TEXT["mirrored from left to right"], "edge")
    assert moved.tolist() == [5, 4, 3, 2, 1, 0]


def test_cropped_and_enlarged() -> None:
    """As OpenCV enlarges what is left."""
    import cv2

    for text, part in (
        ("without their first row", X[0, 0, 1:]),
        ("without their last row", X[0, 0, :-1]),
        ("without their first column", X[0, 0, :, 1:]),
        ("without their last column", X[0, 0, :, :-1]),
    ):
        expected = cv2.resize(np.ascontiguousarray(part), (5, 5))
        assert np.allclose(whole(X, (2, 3), BY_TEXT[text], "edge")[0, 0], expected, atol=1e-4), text


def test_several_outputs_are_moved_as_one_is() -> None:
    rng = np.random.default_rng(0)
    outputs = [rng.standard_normal((1, 3, 7, 9)).astype(np.float32) for _ in range(3)]
    index = tuple(rng.integers(0, n, 50) for n in outputs[0].shape)
    for move in MOVES:
        for fill in fills(move, outputs[0].shape, (2, 3), index) if not move.square else ():
            moved = values_in(outputs, index, (2, 3), move, fill)
            expected = [values_at(x, index, (2, 3), move, fill) for x in outputs]
            np.testing.assert_array_equal(moved, expected)
            np.testing.assert_allclose(moved[0], whole(outputs[0], (2, 3), move, fill)[index], rtol=1e-6, atol=1e-6)
