"""The exponential against exact arithmetic: within one unit in the last place, and its ends."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from npu_layout.decode.arithmetic.exponential import (
    COEFFICIENTS,
    LEAST,
    LN2_HIGH,
    LN2_LOW,
    MOST,
    exponential,
    fifth_root,
    sigmoid,
)


def exact(x: float) -> float:
    """Return e**x to 40 digits, rounded once."""
    with localcontext() as context:
        context.prec = 40
        return float(Decimal(x).exp())


def test_within_one_unit_of_the_exact_value() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-700, 700, 150), rng.normal(0, 3, 150), rng.normal(0, 1e-9, 20), [0.0, -0.0, 1.0]])
    got = exponential(x)
    for value, result in zip(x.tolist(), got.tolist()):
        assert abs(result - exact(value)) <= math.ulp(exact(value)), value


def test_the_ends() -> None:
    x = np.array([-np.inf, LEAST - 1e-9, LEAST, MOST, MOST + 1e-9, np.inf, np.nan, 0.0])
    got = exponential(x)
    assert got[0] == got[1] == 0 and got[2] > 0 and np.isfinite(got[3]) and got[4] == got[5] == np.inf
    assert np.isnan(got[6]) and got[7] == 1
    assert exponential(np.zeros((0,))).shape == (0,)


def test_the_constants() -> None:
    assert Fraction(LN2_HIGH).denominator.bit_length() - 1 <= 33  # so that k times it is exact
    assert math.log(2) == LN2_HIGH + LN2_LOW and COEFFICIENTS[-1] == 0.5 and len(COEFFICIENTS) == 12


def test_sigmoid() -> None:
    x = np.linspace(-40, 40, 1001)
    assert np.abs(sigmoid(x) - 1 / (1 + np.exp(-x))).max() < 3e-16
    assert sigmoid(np.array([-800.0, 800.0])).tolist() == [0.0, 1.0]
    with np.errstate(all="raise"):
        assert sigmoid(np.zeros(2)) == pytest.approx(0.5)


def test_fifth_root() -> None:
    """Within two units in the last place of the exact root, from 1e-300 on; 0 below, and of NaN itself."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.random(100), 10 ** rng.uniform(-300, 300, 100), 2.0 ** np.arange(-20, 20), [1e-300, 1e308]])
    for value, root in zip(x.tolist(), fifth_root(x).tolist()):
        with localcontext() as context:
            context.prec = 60
            exact_root = float(Decimal(value) ** (Decimal(1) / 5))
        assert abs(root - exact_root) <= 2 * math.ulp(exact_root), value
    with np.errstate(all="raise"):
        ends = fifth_root(np.array([0.0, -0.0, -1.0, 9e-301, -np.inf, np.inf, np.nan, 1.0, 32.0]))
    assert ends[:6].tolist() == [0, 0, 0, 0, 0, np.inf] and np.isnan(ends[6]) and ends[7:].tolist() == [1, 2]
