"""Lines by their moments, against numpy's least squares on the values that count."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.diagnosis.scoring.moments import Moments, line, moments_of, smaller_half, that_err


@pytest.mark.parametrize("slope", [-3.0, 0.01, 250.0])
def test_the_line_is_that_of_least_squares(slope: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((6, 50)) + 2
    y = slope * x - 7 + rng.standard_normal(x.shape)
    assert np.allclose(line(x, y), np.polyfit(x.ravel(), y.ravel(), 1), rtol=1e-9, atol=1e-9)
    assert np.allclose(moments_of(x, y)[:3], [x.mean(), y.mean(), x.var()], rtol=1e-9)


def test_the_scale_through_a_zero_point() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4, 40))
    y = x / 0.05 + 11 + rng.standard_normal(x.shape)
    slope = np.linalg.lstsq(x.reshape(-1, 1), y.ravel() - 11, rcond=None)[0][0]
    assert np.isclose(moments_of(x, y).through(11.0) or 0.0, 1 / slope, rtol=1e-9)
    assert moments_of(x, -y).through(-11.0) is None  # no scale is negative


def test_fewer_than_two_values_have_no_line() -> None:
    x = np.ones((1, 1))
    assert moments_of(x, x) == moments_of(x[:0], x[:0]) == Moments(0.0, 0.0, 0.0, 0.0)
    assert line(x, x) == (0.0, 0.0)
    assert line(np.zeros((2, 3)), np.arange(6.0).reshape(2, 3))[0] == 0.0  # x does not vary


def by_adding(sizes: list[float]) -> list[bool]:
    """The smallest sizes, added one by one until the next one makes at least half of the squares."""
    half, power, smaller = sum(x * x for x in sizes) / 2, 0.0, [False] * len(sizes)
    for k in sorted(range(len(sizes)), key=lambda k: (sizes[k], k)):
        power += sizes[k] ** 2
        if power >= half:
            break
        smaller[k] = True
    return smaller


@pytest.mark.parametrize("size", [1, 2, 7, 1024, 1025, 5000])
@pytest.mark.parametrize("largest", [0, 1, 3, 100, 10**6])
def test_the_smaller_half(size: int, largest: int) -> None:
    """Of whole numbers, many of them equal, whose sums are exact."""
    sizes = np.random.default_rng(size).integers(0, largest, size, endpoint=True).astype(float)
    assert smaller_half(sizes).tolist() == by_adding(sizes.tolist())
    folded = smaller_half(np.stack([sizes, sizes + 1]))
    assert folded.ravel().tolist() == by_adding([*sizes.tolist(), *(sizes + 1).tolist()])
    assert smaller_half(sizes[:0]).shape == (0,)


def test_how_many_values_err() -> None:
    rng = np.random.default_rng(3)
    assert that_err(np.zeros((3, 4))) == 0
    assert that_err(np.array([[0.0, -2.0], [0.0, 0.0]])) == 1
    assert that_err(np.full((5, 8), -0.25)) == 40
    left = rng.standard_normal((200, 500))
    kept = left.copy()
    assert np.isclose(that_err(left), left.size / 3, rtol=0.05) and np.array_equal(left, kept)
