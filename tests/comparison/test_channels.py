"""Which axis of an output are its channels."""

from __future__ import annotations

import numpy as np

from npu_layout.comparison.channels import channel_axis, listed


def test_where_channels_lie() -> None:
    rng = np.random.default_rng(0)
    boxes = rng.random((1, 300, 85)) * np.where(np.arange(85) < 4, 640, 1)
    scores = rng.normal(size=(1, 24, 97)) + 8 * (np.arange(97) == 96)  # of text, letter by letter
    heat = np.zeros((1, 17, 96))
    for joint, at in enumerate(rng.integers(40, 56, 17)):  # all near the middle
        heat[0, joint] = np.exp(-(((np.arange(96) - at) / 2) ** 2))
    for x, axis in (
        (np.zeros(()), None),
        (np.zeros(7), None),
        (rng.random((2, 7)), 1),
        (boxes, 2),
        (boxes.transpose(0, 2, 1), 1),
        (scores, 2),
        (heat, 1),
        (rng.random((1, 300, 85)), 1),
        (np.zeros((1, 300, 85)), 1),
        (np.full((1, 300, 85), np.nan), 1),
        (np.zeros((1, 0, 85)), 1),
        (np.zeros((1, 300, 0)), 1),
        (rng.integers(0, 9, (1, 1, 85)), 1),
        (rng.integers(0, 9, (1, 48, 64)), None),  # labels
        (rng.integers(0, 9, (1, 48, 64)).astype(np.int32), None),
        (rng.integers(0, 9, (1, 48, 64)).astype(np.uint8), 1),  # what a quantised layer returns
        (rng.integers(0, 9, (1, 1, 48, 64)), 1),
        (rng.integers(0, 9, (1, 48, 64, 1)), None),  # labels of a model whose channels are last
        (rng.integers(0, 9, (1, 48, 48, 1)), None),
        (rng.integers(0, 9, (0, 48, 64)), None),
        (rng.integers(0, 9, (1, 17, 2)) + np.array([0, 90]), 2),  # x and y of keypoints, as whole numbers
        (rng.integers(0, 9, (1, 90, 4)).astype(np.int32) + np.int32([0, 0, 90, 90]), 2),  # boxes
        (rng.integers(-9000, 9000, (1, 48, 64)).astype(np.int32), 1),  # sums of 8-bit products
        (rng.integers(0, 9, (2, 30)), 1),
        (np.zeros((1, 20, 20, 255)), 3),
        (np.zeros((1, 255, 20, 20)), 1),
        (np.zeros((1, 255, 20, 30)), 1),
        (np.zeros((1, 20, 20, 20)), 1),
        (np.zeros((1, 3, 20, 20, 85)), 4),
        (np.zeros((1, 1, 20, 20, 85)), 4),
        (np.zeros((1, 3, 8, 20, 20)), 1),
        (rng.normal(size=(1, 12, 12, 16)) + rng.normal(size=(12, 1, 1)), 1),
        (rng.normal(size=(1, 12, 12, 16)) + rng.normal(size=16), 3),
    ):
        assert channel_axis(np.asarray(x)) == axis, x.shape


def test_listed() -> None:
    assert listed([]) == "" and listed([3]) == "3" and listed(iter("abcdef")) == "a, b, c, d, e, f"
    assert listed(range(7)) == "0, 1, 2, 3, 4, 5, ..." and listed(range(10**12)) == "0, 1, 2, 3, 4, 5, ..."
    assert listed(range(3), 2) == "0, 1, ..." and listed(range(2), 2) == "0, 1"


def test_how_different_the_last_axis_has_to_be() -> None:
    """Means of 85 indices with a variance of `share` of the whole: 0.3 is asked, and twice what axis 1 has."""
    rng = np.random.default_rng(1)

    def output(last: float, first: float, rows: int = 400) -> np.ndarray:
        def means(n: int) -> np.ndarray:
            x = rng.normal(size=n)
            return (x - x.mean()) / x.std(ddof=1)

        noise = rng.normal(size=(1, rows, 85))
        rest = np.sqrt(max(1 - last - first, 0))
        return noise * rest + np.sqrt(last) * means(85) + np.sqrt(first) * means(rows)[:, None]

    for last, first, axis in (
        (0.4, 0.0, 2),
        (0.2, 0.0, 1),
        (0.6, 0.2, 2),
        (0.5, 0.4, 1),
        (0.4, 0.3, 1),
        (0.05, 0.0, 1),
    ):
        assert channel_axis(output(last, first)) == axis, (last, first)


def test_axes_too_short_to_compare() -> None:
    assert channel_axis(np.array([[[0.0, 1.0]]])) == 1  # one value of each index
    assert channel_axis(np.array([[[0.0], [5.0]]])) == 1  # one index
    two = np.array([[[0.0, 9.0], [0.1, 9.1]]])  # just enough of both
    assert channel_axis(two) == 2
