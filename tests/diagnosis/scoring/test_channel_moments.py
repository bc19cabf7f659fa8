"""The moments of channels are those that numpy finds of each channel by itself."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.diagnosis.scoring.channel_moments import ChannelMoments, channel_moments, is_of_several


def values(channels: int = 12, places: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((channels, places)) * np.linspace(0.1, 9, channels)[:, None] + 3
    return x, np.rint(7 * x + rng.standard_normal(x.shape))


@pytest.mark.parametrize("share", [None, 0.5, 0.05])
def test_moments_are_those_of_the_values_that_count(share: float | None) -> None:
    x, y = values()
    inner = None if share is None else np.random.default_rng(2).random(x.shape) < share
    found = channel_moments(x, y, inner)
    counts = []
    for c, row in enumerate(zip(*found)):
        use = np.ones(x.shape[1], bool) if inner is None else inner[c]
        counts.append(int(use.sum()))
        assert row[0] == counts[-1]
        if not use.any():
            np.testing.assert_allclose(row[1:], [x[c].mean(), y[c].mean(), 0, 0, 0, 0, 0], rtol=1e-12)
            continue
        a, b = x[c, use], y[c, use]
        covariance = ((a - a.mean()) * (b - b.mean())).mean()
        expected = [a.mean(), b.mean(), a.var(), covariance, a.min() - a.mean(), a.max() - a.mean(), np.ptp(b)]
        np.testing.assert_allclose(row[1:], expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.squares[c], (a * a).mean(), rtol=1e-9)
        np.testing.assert_allclose(found.largest[c], abs(a).max(), rtol=1e-9)
        np.testing.assert_allclose(found.products(5.0)[c], (a * (b - 5.0)).mean(), rtol=1e-9)
    assert share != 0.05 or min(counts) == 0 < max(counts)


def test_all_channels_as_one_are_those_of_all_values() -> None:
    x, y = values()
    inner = np.random.default_rng(3).random(x.shape) < np.linspace(0.0, 1.0, len(x))[:, None]
    found = channel_moments(x, y, inner).together()
    a, b = x[inner], y[inner]
    expected = [a.mean(), b.mean(), a.var(), ((a - a.mean()) * (b - b.mean())).mean()]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert channel_moments(x, y, inner & (np.cumsum(inner, None).reshape(x.shape) == 1)).together() == (0, 0, 0, 0)


def test_channels_are_exchanged_for_others() -> None:
    x, y = values()
    inner, rows = np.ones(x.shape, bool), np.array([2, 7])
    inner[2, 5:] = inner[7, ::3] = False
    every = channel_moments(x, y)
    before = ChannelMoments(*(column.copy() for column in every))
    found = every.with_rows(rows, channel_moments(x[rows], y[rows], inner[rows]))
    for a, b, kept, expected in zip(found, channel_moments(x, y, inner), every, before):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(kept, expected)


def test_one_or_two_values_are_not_several() -> None:
    """Two equal ones are the limit, whatever rounding makes of their squares; so are values of which none differs."""
    x = np.zeros((5, 30))
    x[0, 0], x[1, :2], x[2, :3], x[3, :2] = 0.1, 0.1, 0.1, [0.1, 0.09]
    squares = np.square(x).sum(1) * np.array([1, 1 - 1e-12, 1, 1, 1])
    assert is_of_several(squares, abs(x).max(1)).tolist() == [False, True, True, False, True]
    assert channel_moments(x, x).several.tolist() == [False, True, True, False, True]
