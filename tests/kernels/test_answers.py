"""Suppression, candidates and masks of the compiled kernels, against loops; None or False where only numpy runs."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.kernel_walks import BACKENDS, NATIVE


def overlap(a: np.ndarray, b: np.ndarray) -> np.float32:
    """The IoU of two boxes in float32; torchvision compares it with a threshold in float64."""
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), np.float32(0))
    both = sides[0] * sides[1]
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("classes", [None, 3])
def test_boxes_that_stay(backend: str, classes: int | None) -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 17, 90):
        corner = rng.integers(0, 30, (n, 2)).astype(np.float32)
        boxes = np.concatenate([corner, corner + rng.integers(1, 20, (n, 2)).astype(np.float32)], 1)
        scores = rng.integers(0, 9, n).astype(np.float32)  # most are equal to another one
        class_id = None if classes is None else rng.integers(0, classes, n)
        expected: list[int] = []
        for i in np.argsort(-scores, kind="stable"):
            rivals = [k for k in expected if class_id is None or class_id[k] == class_id[i]]
            if all(float(overlap(boxes[k], boxes[i])) <= 0.4 for k in rivals):
                expected.append(int(i))
        for limit in (1, 5, 100):
            kept = kernels.nms(boxes, scores, class_id, classes or 1, (0.4, False, 0.0, 0.0), limit, backend)
            assert kept is not None and kept.tolist() == expected[:limit]


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_masks_are_signs_of_enlarged_sums(backend: str, dtype: str) -> None:
    """Not enlarged, a pixel is 1 if the sum over its channels, of codes without their zero point, is above 0."""
    rng = np.random.default_rng(2)
    least = int(np.iinfo(dtype).min)
    for channels, h, w in ((1, 1, 1), (6, 9, 11), (32, 5, 70)):
        stored = rng.integers(least, least + 256, (h, w, channels)).astype(dtype)
        places = np.arange(channels), np.arange(h) * w * channels, np.arange(w) * channels
        coefficients = rng.integers(-255, 256, (3, channels)).astype(np.int16)
        windows = np.int32([[0, 0, w, h], [w // 2, h // 2, w, h], [0, h // 3, w // 2 + 1, h // 3 + 1]])
        sums = (stored.astype(int) - (least + 100)) @ coefficients.T.astype(int)
        expected = [sums[y0:y1, x0:x1, i].ravel() > 0 for i, (x0, y0, x1, y1) in enumerate(windows)]
        out = np.full(sum(map(len, expected)) + 64, 7, np.uint8)
        made = kernels.FeatureMap(dtype, *places)
        flat = stored.ravel()
        assert kernels.masks(made, flat, least + 100, coefficients, windows, 1, out[32:-32], backend)
        np.testing.assert_array_equal(out[32:-32], np.concatenate(expected))
        assert (out[:32] == 7).all() and (out[-32:] == 7).all()


@pytest.mark.parametrize("backend", NATIVE)
def test_gaussians_that_stay(backend: str) -> None:
    """Equal ones overlap by 1, distant ones by nearly 0; other classes do not compete."""
    near, far = [5.0, 5.0, 2.0, 1.0, 0.3], [500.0, 5.0, 2.0, 1.0, 0.0]
    shapes = np.array([near, far, near, near])
    for class_id, kept in ((None, [0, 1]), (np.int64([0, 0, 1, 0]), [0, 1, 2])):
        for limit in (1, 2, 9):
            found = kernels.turned_nms(shapes, class_id, 0.5, False, limit, backend)
            assert found is not None and found.tolist() == kept[:limit]


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name not in NATIVE])
def test_numpy_has_its_own_elsewhere(backend: str) -> None:
    boxes = np.float32([[0, 0, 1, 1]])
    assert kernels.nms(boxes, boxes[:, 0], None, 1, (0.5, False, 0.0, 0.0), 1, backend) is None
    assert kernels.turned_nms(np.ones((1, 5)), None, 0.5, False, 1, backend) is None
    places = kernels.FeatureMap("int8", *np.zeros((3, 1), np.int64))
    out = np.full(1, 7, np.uint8)
    one = np.ones((1, 1), np.int16), np.int32([[0, 0, 1, 1]])
    assert kernels.scan(places, np.zeros(1, np.int8), 0, backend) is None
    assert not kernels.masks(places, np.zeros(1, np.int8), 0, *one, 1, out, backend) and out[0] == 7
