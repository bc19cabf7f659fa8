"""Corners and bounds of turned boxes, and their suppression, against OpenCV and normal distributions in matrices."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from npu_layout.decode.turned import bounds_of, corners_of, suppressed
from tests.support import scenes


def drawn(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.column_stack([rng.uniform(0, 60, (n, 2)), rng.uniform(1, 30, (n, 2)), rng.uniform(-3, 3, n)])


def test_corners_and_bounds_are_opencvs() -> None:
    boxes = drawn(np.random.default_rng(0), 40)
    for box, corners, edges in zip(boxes.tolist(), corners_of(boxes), bounds_of(boxes)):
        wanted = cv2.boxPoints((box[:2], box[2:4], math.degrees(box[4])))
        apart = np.abs(corners[:, None] - wanted[None]).max(-1)
        assert (apart.min(1) < 1e-4).all() and (apart.min(0) < 1e-4).all()
        np.testing.assert_allclose(edges, [*wanted.min(0), *wanted.max(0)], atol=1e-4)
    assert corners_of(np.zeros((0, 5))).shape == (0, 4, 2) and bounds_of(np.zeros((0, 5))).shape == (0, 4)


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("classes", [None, 3])
def test_suppression_is_greedy_by_the_gaussians(inclusive: bool, classes: int | None) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        boxes = drawn(rng, 40)
        boxes[5] = boxes[2]  # of one place
        labels = None if classes is None else rng.integers(0, classes, 40)
        for iou in (0.1, 0.4, 0.7):
            wanted = scenes.kept_turned(boxes.tolist(), None if labels is None else labels.tolist(), iou)
            found = suppressed(boxes, labels, iou, inclusive, 40)
            assert found.dtype == np.int64 and found.tolist() == wanted
            assert suppressed(boxes, labels, iou, inclusive, 3).tolist() == wanted[:3]
    same = np.array([[5, 5, 8, 4, 0.3]] * 2)
    assert suppressed(same, None, 1.0, True, 9).tolist() == [0]
    assert suppressed(same, None, 1.0, False, 9).tolist() == [0, 1]
