"""Skeletons of peaks and fields, by every backend, against plain loops over the samples of each line."""

from __future__ import annotations

import math

import numpy as np
import pytest

from npu_layout import kernels

ALL = -math.inf  # of sums of limbs


def joined(
    fields: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    line: tuple[int, int, float],
    backend: str,
) -> tuple[list[tuple[int, ...]], list[float]]:
    """The pairs of two joints by one limb, in the order in which they were made, and their scores."""
    peaks = np.concatenate([first, second])
    ends = np.array([0, len(first), len(peaks)])
    found, sums = kernels.skeletons(fields, np.array([[0, 1]]), peaks, ends, line, ALL, backend)
    assert found.dtype == np.int64 and sums.dtype == np.float64 and found.shape == (len(sums), 2)
    return [(i, j - len(first)) for i, j in found.tolist()], sums.tolist()


def plain_score(
    fields: np.ndarray, first: np.ndarray, second: np.ndarray, line: tuple[int, int, float]
) -> float | None:
    """The score of one pair, in plain numbers; None if it does not pass."""
    samples, enough, least = line
    _, high, wide = fields.shape
    dx, dy = (float(v) for v in second[:2] - first[:2])
    length = math.sqrt(dx * dx + dy * dy)
    if not length:
        return None
    along = []
    for k in range(samples):
        x = min(max(round(float(first[0]) + dx * (k / (samples - 1))), 0), wide - 1)
        y = min(max(round(float(first[1]) + dy * (k / (samples - 1))), 0), high - 1)
        values = [float(v) if math.isfinite(v) else 0.0 for v in fields[:, y, x]]
        along.append(values[0] * dx / length + values[1] * dy / length)
    score = sum(along) / samples * math.sqrt(first[2] * second[2])
    return score if sum(v > least for v in along) >= enough and score > 0 else None


def drawn(rng: np.random.Generator, n: int, high: float) -> np.ndarray:
    """Peaks at random, some of them outside a map of 9x13."""
    return np.concatenate([rng.uniform(-2, high, (n, 2)), rng.uniform(0.3, 1, (n, 1))], 1)


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("spoilt", [0, 6])
def test_the_best_pairs_are_taken_first(backend: str, spoilt: int) -> None:
    """Greedily: the best pair of all, then the best of the joints that are left, until none passes."""
    rng = np.random.default_rng(2)
    total = 0
    for n, m in ((0, 3), (1, 1), (3, 4), (7, 7), (12, 9), (20, 20)):
        fields = rng.normal(0.25, 0.5, (2, 9, 13)).astype(np.float32)
        fields.reshape(-1)[rng.integers(0, fields.size, spoilt)] = rng.choice([np.nan, np.inf, -np.inf], spoilt)
        first, second = drawn(rng, n, 14), drawn(rng, m, 14)
        first[:1, :2] = second[:1, :2] = 3
        for line in ((10, 7, 0.05), (8, 5, 0.05), (70, 30, -0.1)):
            left = {(i, j): plain_score(fields, first[i], second[j], line) for i, j in np.ndindex(n, m)}
            scored = {pair: score for pair, score in left.items() if score is not None}
            for pair, score in zip(*joined(fields, first, second, line, backend)):
                best = max(scored, key=lambda key: scored[key])
                assert pair == best and score == pytest.approx(scored[best], rel=1e-9)
                scored = {(i, j): v for (i, j), v in scored.items() if i != best[0] and j != best[1]}
                total += 1
            assert not scored
    assert total > 30


@pytest.mark.parametrize("backend", kernels.backends())
def test_of_equal_scores_the_first_pair(backend: str) -> None:
    fields = np.stack([np.ones((5, 9), np.float32), np.zeros((5, 9), np.float32)])
    first = np.array([[1.0, 1, 1], [1, 2, 1], [1, 3, 1]])
    second = first + np.array([4.0, 0, 0])
    along = joined(fields, first, second[[2, 1, 0]], (5, 5, 0.5), backend)
    assert along == ([(0, 2), (1, 1), (2, 0)], [1.0, 1.0, 1.0])
    same = np.array([[5.0, 2, 1]] * 2)
    assert joined(fields, first[[1, 1]], same, (5, 5, 0.5), backend) == ([(0, 0), (1, 1)], [1.0, 1.0])


@pytest.mark.parametrize("backend", kernels.backends())
def test_joints_in_one_place_are_no_limb(backend: str) -> None:
    fields = np.ones((2, 5, 5), np.float32)
    joint = np.array([[2.0, 2.0, 0.9]])
    assert joined(fields, joint, joint.copy(), (10, 1, 0.0), backend) == ([], [])


@pytest.mark.parametrize("backend", kernels.backends())
def test_limbs_start_extend_and_join_skeletons(backend: str) -> None:
    """Four joints in a row, two people; the middle limb comes last, and joins two, or not."""
    peaks = np.array([[x, y, 1.0] for x in (0, 3, 6, 9) for y in (1, 4)])
    ends = np.array([0, 2, 4, 6, 8])
    limbs = np.array([[0, 1], [2, 3], [1, 2]])
    fields = np.zeros((6, 6, 10), np.float32)
    fields[::2] = 1
    whole = kernels.skeletons(fields, limbs, peaks, ends, (4, 4, 0.5), 3.0, backend)
    assert whole[0].tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]] and whole[1].tolist() == [3.0, 3.0]
    fields[4, 4] = 0  # the middle limb of the lower one
    apart = kernels.skeletons(fields, limbs, peaks, ends, (4, 4, 0.5), 1.0, backend)
    assert apart[0].tolist() == [[0, 2, 4, 6], [1, 3, -1, -1], [-1, -1, 5, 7]] and apart[1].tolist() == [3.0, 1.0, 1.0]
    assert kernels.skeletons(fields, limbs, peaks, ends, (4, 4, 0.5), 1.5, backend)[0].tolist() == [[0, 2, 4, 6]]


@pytest.mark.parametrize("backend", kernels.backends())
def test_a_joint_that_another_skeleton_has_joins_nothing(backend: str) -> None:
    """The limb between two skeletons with a joint in common is left out; its score is nobody's."""
    peaks = np.array([[0.0, 1, 1], [0, 4, 1], [5, 1, 1], [5, 4, 1]])
    fields = np.zeros((4, 6, 6), np.float32)
    fields[0], fields[3] = 1, 1
    found = kernels.skeletons(fields, np.array([[0, 1], [1, 1]]), peaks, np.array([0, 2, 4]), (4, 4, 0.5), 0.0, backend)
    assert found[0].tolist() == [[0, 2], [1, 3]] and found[1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("backend", kernels.backends())
def test_no_peaks_and_no_limbs(backend: str) -> None:
    none = np.empty((0, 3))
    fields = np.zeros((2, 3, 3), np.float32)
    for limbs in (np.empty((0, 2), np.int64), np.array([[0, 1]])):
        found, sums = kernels.skeletons(fields, limbs, none, np.zeros(3, np.int64), (2, 1, 0.0), ALL, backend)
        assert found.shape == (0, 2) and sums.shape == (0,)
