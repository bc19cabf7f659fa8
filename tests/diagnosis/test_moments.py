"""Lines by their moments, against numpy's least squares on the values that count."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.diagnosis.moments import Moments, line, moments_of, that_err


@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("slope", [-3.0, 0.01, 250.0])
def test_the_line_is_that_of_least_squares(slope: float, share: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((6, 50)) + 2
    y = slope * x - 7 + rng.standard_normal(x.shape)
    inner = rng.random(x.shape) < share
    expected = np.polyfit(x[inner], y[inner], 1)
    assert np.allclose(line(x, y, inner), expected, rtol=1e-9, atol=1e-9)
    found = moments_of(x, y, inner)
    assert np.allclose(found[:3], [x[inner].mean(), y[inner].mean(), x[inner].var()], rtol=1e-9)


def test_the_scale_through_a_zero_point() -> None:
    rng = np.random.default_rng(2)
    x, inner = rng.standard_normal((4, 40)), rng.random((4, 40)) < 0.7
    y = x / 0.05 + 11 + rng.standard_normal(x.shape)
    slope = np.linalg.lstsq(x[inner][:, None], y[inner] - 11, rcond=None)[0][0]
    assert np.isclose(moments_of(x, y, inner).through(11.0) or 0.0, 1 / slope, rtol=1e-9)
    assert moments_of(x, -y, inner).through(-11.0) is None  # no scale is negative


def test_fewer_than_two_values_have_no_line() -> None:
    x, inner = np.arange(6.0).reshape(2, 3), np.zeros((2, 3), bool)
    inner[1, 1] = True
    assert moments_of(x, x, inner) == Moments(0.0, 0.0, 0.0, 0.0)
    assert line(x, x, inner) == (0.0, 0.0)
    assert line(0 * x, x, ~inner)[0] == 0.0  # x does not vary


def test_how_many_values_err() -> None:
    rng = np.random.default_rng(3)
    assert that_err(np.zeros((3, 4))) == 0
    assert that_err(np.array([[0.0, -2.0], [0.0, 0.0]])) == 1
    assert that_err(np.full((5, 8), -0.25)) == 40
    left = rng.standard_normal((200, 500))
    kept = left.copy()
    assert np.isclose(that_err(left), left.size / 3, rtol=0.05) and np.array_equal(left, kept)
