"""Limbs between joints, by every backend, against loops over the samples of each line."""

from __future__ import annotations

import math

import numpy as np
import pytest

from npu_layout import kernels


@pytest.mark.parametrize("backend", kernels.backends())
def test_limbs_of_every_backend_are_equal(backend):
    rng = np.random.default_rng(1)
    for n, m in ((0, 3), (1, 1), (5, 8), (20, 20)):
        fields = rng.normal(0.3, 0.5, (4, 9, 13)).astype(np.float32)
        first, second = rng.uniform(-2, 14, (n, 3)), rng.uniform(-2, 14, (m, 3))
        first[:, 2], second[:, 2] = rng.uniform(0.3, 1, n), rng.uniform(0.3, 1, m)
        first[:1, :2] = second[:1, :2] = 3
        found = kernels.limbs(fields, 1, first, second, 10, 7, 0.05, backend)
        expected = kernels.limbs(fields, 1, first, second, 10, 7, 0.05, "numpy")
        assert np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])
        for (i, j), score in zip(*found):
            dx, dy = second[j, :2] - first[i, :2]
            length = math.hypot(dx, dy)
            along = []
            for k in range(10):
                x = min(max(round(first[i, 0] + dx * k / 9), 0), 12)
                y = min(max(round(first[i, 1] + dy * k / 9), 0), 8)
                along.append((fields[1, y, x] * dx + fields[2, y, x] * dy) / length)
            assert score == pytest.approx(sum(along) / 10 * math.sqrt(first[i, 2] * second[j, 2]), rel=1e-9)
            assert sum(v > 0.05 for v in along) >= 7


def scored(
    fields: np.ndarray, first: np.ndarray, second: np.ndarray, samples: int, enough: int, least: float
) -> dict[tuple[int, int], float]:
    """The score of each pair that passes, in plain numbers."""
    found = {}
    _, high, wide = fields.shape
    for i, j in np.ndindex(len(first), len(second)):
        dx, dy = (float(v) for v in second[j, :2] - first[i, :2])
        length = math.sqrt(dx * dx + dy * dy)
        if not length:
            continue
        along = []
        for k in range(samples):
            x = min(max(round(float(first[i, 0]) + dx * (k / (samples - 1))), 0), wide - 1)
            y = min(max(round(float(first[i, 1]) + dy * (k / (samples - 1))), 0), high - 1)
            along.append(float(fields[1, y, x]) * dx / length + float(fields[2, y, x]) * dy / length)
        score = sum(along) / samples * math.sqrt(first[i, 2] * second[j, 2])
        if sum(v > least for v in along) >= enough and score > 0:
            found[i, j] = score
    return found


@pytest.mark.parametrize("backend", kernels.backends())
def test_the_best_pairs_are_taken_first(backend: str) -> None:
    """Greedily: the best pair of all, then the best of the joints that are left, until none passes."""
    rng = np.random.default_rng(2)
    total = 0
    for n, m in ((3, 4), (7, 7), (12, 9)):
        fields = rng.normal(0.2, 0.5, (4, 9, 13)).astype(np.float32)
        first, second = rng.uniform(0, 9, (n, 3)), rng.uniform(0, 9, (m, 3))
        first[:, 2], second[:, 2] = rng.uniform(0.3, 1, n), rng.uniform(0.3, 1, m)
        left = scored(fields, first, second, 8, 5, 0.05)
        pairs, scores = kernels.limbs(fields, 1, first, second, 8, 5, 0.05, backend)
        assert pairs.dtype == np.int64 and scores.dtype == np.float64
        for pair, score in zip(pairs.tolist(), scores):
            best = max(left, key=lambda key: left[key])
            assert tuple(pair) == best and score == pytest.approx(left[best], rel=1e-9)
            left = {(i, j): v for (i, j), v in left.items() if i != best[0] and j != best[1]}
            total += 1
        assert not left
    assert total > 6


@pytest.mark.parametrize("backend", kernels.backends())
def test_joints_in_one_place_are_no_limb(backend: str) -> None:
    fields = np.ones((4, 5, 5), np.float32)
    joint = np.array([[2.0, 2.0, 0.9]])
    pairs, scores = kernels.limbs(fields, 1, joint, joint.copy(), 10, 1, 0.0, backend)
    assert pairs.shape == (0, 2) and scores.shape == (0,)
