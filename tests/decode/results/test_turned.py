"""Corners and bounds of turned boxes, and their suppression, against OpenCV and normal distributions in matrices."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.decode.results import turned
from npu_layout.decode.results.turned import bounds_of, corners_of, polygon_iou, suppressed
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


def shared_area(a: list[float], b: list[float]) -> float:
    """By OpenCV, in float32."""
    kind, points = cv2.rotatedRectangleIntersection(*[((x[0], x[1]), (x[2], x[3]), math.degrees(x[4])) for x in (a, b)])
    return 0.0 if kind == 0 or points is None else float(cv2.contourArea(cv2.convexHull(points)))


def test_polygons_share_what_opencv_says() -> None:
    boxes = drawn(np.random.default_rng(3), 60)
    boxes[:10, 4] = np.arange(10) * math.pi / 4  # upright and diagonal
    boxes[10:20, :2], boxes[10:20, 2:4] = 30, [20, 10]  # of one centre and size
    overlapping = 0
    for one in boxes:
        found = polygon_iou(one, boxes)
        for other, iou in zip(boxes.tolist(), found.tolist()):
            shared = shared_area(one.tolist(), other)
            assert iou == pytest.approx(shared / (one[2] * one[3] + other[2] * other[3] - shared), abs=2e-3)
            overlapping += iou > 0.05
    assert overlapping > 500
    np.testing.assert_allclose([polygon_iou(b, b[None])[0] for b in boxes], 1, rtol=1e-12)
    assert polygon_iou(np.zeros(5), np.zeros((2, 5))).tolist() == [0, 0]
    assert polygon_iou(boxes[0], np.zeros((0, 5))).shape == (0,)


def test_suppression_by_polygons() -> None:
    """The second goes by the first alone; turned by a quarter, the third shares less than half with it."""
    boxes = np.array([[20, 20, 30, 10, 0.4], [21, 20, 30, 10, 0.45], [20, 20, 30, 10, 0.4 + math.pi / 2]])
    assert suppressed(boxes, None, 0.5, False, 9, "polygons").tolist() == [0, 2]
    assert suppressed(boxes, None, 0.19, False, 9, "polygons").tolist() == [0]  # 100 of 500
    assert suppressed(boxes, np.array([0, 1, 0]), 0.19, False, 9, "polygons").tolist() == [0, 1]


def awkward(rng: np.random.Generator, n: int) -> np.ndarray:
    """Boxes of one place, without area, thin, far away, and of no number, among others."""
    boxes = drawn(rng, n)
    boxes[: n // 4, :2] = [30, 20]
    boxes[::7, 2] = 0
    boxes[1::11, 2:4] = [1000, 1e-3]
    boxes[2::11, 2:4] = [1e6, 1e-9]
    boxes[3::13] = boxes[3]
    boxes[5], boxes[6, 0], boxes[8, 2], boxes[9, 4] = 0, np.nan, np.inf, np.inf
    boxes[10, :2], boxes[12, 2:4] = 1e200, 1e160
    return boxes


@pytest.mark.parametrize("seed", range(4))
def test_kernels_keep_what_numpy_keeps(seed: int) -> None:
    """Thresholds that overlaps of pairs have too, and those beside them."""
    rng = np.random.default_rng(seed)
    boxes, labels = awkward(rng, 60), rng.integers(0, 2, 60)
    with np.errstate(all="ignore"):
        shapes = turned._gaussians(boxes)
        exact = rng.choice(turned.probiou(shapes, shapes).ravel(), 60)
        beside = [np.nextafter(exact, 2), np.nextafter(exact, -1)]
        for iou in (-0.1, 0.0, 1e-9, 0.3, 0.999999, 1.0, 1.5, *exact, *np.concatenate(beside)):
            for classes, inclusive in ((None, True), (None, False), (labels, True), (labels, False)):
                wanted = suppressed(boxes, classes, iou, inclusive, 60, backend="numpy").tolist()
                for backend in kernels.backends()[:-1]:
                    found = suppressed(boxes, classes, iou, inclusive, 60, backend=backend)
                    assert found.dtype == np.int64 and found.tolist() == wanted


@pytest.mark.parametrize("kind", ["probiou", "polygons"])
def test_blocks_of_any_size_keep_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = drawn(np.random.default_rng(7), 150)
    labels = np.random.default_rng(8).integers(0, 3, 150)
    for classes in (None, labels):
        wanted = suppressed(boxes, classes, 0.3, False, 150, kind).tolist()
        for block, pairs in ((1, 1 << 18), (7, 1 << 18), (64, 1), (1000, 1 << 18)):
            monkeypatch.setattr(turned, "_BLOCK", block)
            monkeypatch.setattr(turned, "_PAIRS", pairs)
            for limit in (1, 5, 150):
                assert suppressed(boxes, classes, 0.3, False, limit, kind, "numpy").tolist() == wanted[:limit]
        assert 10 < len(wanted) < 150
    assert suppressed(np.zeros((0, 5)), None, 0.3, False, 5, kind).shape == (0,)


def test_angles_that_are_not_finite_warn_of_nothing() -> None:
    boxes = np.array([[20, 20, 44, 10, np.inf], [20, 20, 44, 10, np.nan], [20, 20, 44, 10, 0.5]])
    for kind in ("probiou", "polygons"):
        assert 2 in turned.suppressed(boxes, None, 0.5, True, 10, kind)
    assert np.isnan(turned.corners_of(boxes)[:2]).all() and np.isfinite(turned.bounds_of(boxes)[2]).all()
