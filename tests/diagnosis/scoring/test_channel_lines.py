"""The lines of all channels are those that each channel has by itself."""

from __future__ import annotations

import numpy as np

from npu_layout.diagnosis.scoring.channel_lines import lines, through
from npu_layout.diagnosis.scoring.channel_moments import channel_moments


def test_each_channel_has_the_line_of_its_own_values() -> None:
    """Against numpy's least squares, with as many values left out as there may be."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 64))
    slope, offset = rng.uniform(5, 20, 30), rng.uniform(-9, 9, 30)
    y = np.rint(slope[:, None] * x + offset[:, None])
    inner = rng.random(x.shape) < np.linspace(0.3, 1.2, 30)[:, None]
    moments = channel_moments(x, y, inner)
    found = lines(moments)
    ratio, rises = through(moments, channel_moments(x, y), 3.0)
    assert found.clear.all() and rises.all() and len({int(n) for n in inner.sum(1)}) > 10
    for c, w in enumerate(inner):
        expected = np.polyfit(x[c, w], y[c, w], 1)
        np.testing.assert_allclose([found.slope[c], found.offset[c]], expected, rtol=1e-9)
        np.testing.assert_allclose(ratio[c], (x[c, w] @ x[c, w]) / (x[c, w] @ (y[c, w] - 3.0)), rtol=1e-9)


def test_what_has_no_slope_is_not_clear() -> None:
    """Falling, constant, too few values, two stored steps, hardly more than rounding; and nothing at all."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((7, 40))
    y = np.rint(10 * x)
    y[1], x[2], y[4], y[5] = -y[1], 1.0, (x[4] > 0) * 2, np.rint(0.3 * x[5])
    inner = np.ones(x.shape, bool)
    inner[3, 7:] = inner[6] = False
    found = lines(channel_moments(x, y, inner))
    assert found.clear.tolist() == [True, False, False, False, False, False, False]
    assert found.slope[2] == found.slope[6] == 0 and found.slope[1] < 0


def test_a_line_through_zero_needs_several_values_far_from_it() -> None:
    """Ones among zeros have one; a single one, a constant, values that fall, hardly more than rounding have none."""
    x = np.zeros((6, 40))
    x[:, :6] = 1
    x[1, 1:] = 0
    x[2] = 1
    y = np.rint(100 * x)
    y[3], y[4], y[5] = -y[3], np.rint(0.6 * x[4]), np.rint(5 * x[5])
    inner = x > 0
    every = channel_moments(x, y)
    ratio, clear = through(channel_moments(x, y, inner), every, 0.0)
    assert clear.tolist() == [True, False, False, False, False, True]
    np.testing.assert_allclose(ratio[[0, 5]], [0.01, 0.2])
    inner[0, 1:] = False
    assert not through(channel_moments(x, y, inner), every, 0.0)[1][0]
