"""Sine and cosine against arithmetic of more digits: within some units in the last place, and what is not finite."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from npu_layout.decode.arithmetic.sines import MOST, OF_COSINE, OF_SINE, QUARTERS, sine_and_cosine

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534")


def exact(x: float) -> tuple[Fraction, Fraction]:
    """Return sine and cosine of a float, by their series, to 40 digits."""
    rest = Fraction(x) % (2 * PI)
    rest -= 2 * PI if rest > PI else 0
    sums = [Fraction(0), Fraction(0)]
    term = Fraction(1)
    for n in range(1, 60):
        sums[n % 2] += term
        term *= rest / n * (1 if n % 2 else -1)
        term = Fraction(round(term * 10**45), 10**45)
    return sums[0], sums[1]


def test_within_three_units_of_the_exact_value() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-4, 4, 150), rng.uniform(-MOST, MOST, 150), rng.normal(0, 1e-9, 20)])
    x = np.concatenate([x, np.arange(-20, 21) * math.pi / 4, [0.0, -0.0, MOST, -MOST]])
    for value, *got in zip(x.tolist(), *(v.tolist() for v in sine_and_cosine(x))):
        for mine, true in zip(got, exact(value)):
            assert abs(Fraction(mine) - true) <= 3 * Fraction(math.ulp(float(true))) + Fraction(1, 10**38), value


def test_what_is_far_away_or_not_finite() -> None:
    sine, cosine = sine_and_cosine(np.array([np.inf, -np.inf, np.nan]))
    assert np.isnan(sine).all() and np.isnan(cosine).all()
    far = np.array([1e6, -1e6, 1e300, np.nextafter(MOST, np.inf)])
    sine, cosine = sine_and_cosine(far)
    near = np.array([math.fmod(x, 2 * math.pi) for x in far])
    assert np.array_equal(sine, sine_and_cosine(near)[0]) and np.array_equal(cosine, sine_and_cosine(near)[1])
    np.testing.assert_allclose(sine[:2], np.sin(far[:2]), atol=1e-9)
    assert sine_and_cosine(np.zeros(0))[0].shape == (0,)
    with np.errstate(all="raise"):
        assert [v.tolist() for v in sine_and_cosine(np.zeros(1))] == [[0.0], [1.0]]


def test_the_constants() -> None:
    assert abs(sum(map(Fraction, QUARTERS)) - PI / 2) < Fraction(1, 10**36)
    for part in QUARTERS[:2]:  # so that products with whole numbers below 2**20 are exact
        assert Fraction(part).numerator.bit_length() <= 33
    assert pytest.approx(1 / 6) == -OF_SINE[-1] and OF_COSINE[-1] == pytest.approx(1 / 24)
    assert len(OF_SINE) == 8 and len(OF_COSINE) == 7
