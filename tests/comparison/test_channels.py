"""Which axis of an output are its channels."""

from __future__ import annotations

import numpy as np

from npu_layout.comparison.channels import channel_axis


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
        (np.zeros((1, 20, 20, 255)), 3),
        (np.zeros((1, 255, 20, 20)), 1),
        (np.zeros((1, 255, 20, 30)), 1),
        (np.zeros((1, 20, 20, 20)), 1),
        (np.zeros((1, 3, 20, 20, 85)), 4),
        (np.zeros((1, 3, 8, 20, 20)), 1),
        (rng.normal(size=(1, 12, 12, 16)) + rng.normal(size=(12, 1, 1)), 1),
        (rng.normal(size=(1, 12, 12, 16)) + rng.normal(size=16), 3),
    ):
        assert channel_axis(np.asarray(x)) == axis, x.shape
