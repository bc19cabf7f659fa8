"""The exponential in float64, by a sequence of operations that the compiled kernels repeat bit by bit."""

from __future__ import annotations

import math

import numpy as np

LOG2E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # their sum is ln 2; HIGH has 33 bits
COEFFICIENTS = tuple(1 / math.factorial(n) for n in range(13, 1, -1))  # of Taylor's series, the highest power first
LEAST, MOST = -708.0, 709.0
# A fifth of the exponent is the first guess, within 6 %, and each step squares its error.
ROOTED, ROOT_STEPS, ROOT_BITS = 1e-300, 6, 0x3326666666666666  # bits of 2**818.4


def exponential(x: np.ndarray) -> np.ndarray:
    """Return e**x of float64, to within 1 unit in the last place; 0 below -708, infinity above 709. A copy."""
    with np.errstate(invalid="ignore"):  # NaN
        clamped = np.minimum(np.maximum(x, LEAST), MOST)
        k = np.rint(clamped * LOG2E)
        r = (clamped - k * LN2_HIGH) - k * LN2_LOW
        p = np.full_like(r, COEFFICIENTS[0])
        for c in COEFFICIENTS[1:]:
            p = p * r + c
        exponent = (np.where(np.isnan(k), 0.0, k).astype(np.int64) + 1023) << 52
        y = (1.0 + (r + (r * r) * p)) * exponent.view(np.float64)
        y = np.where(x < LEAST, 0.0, y)
        return np.where(x > MOST, np.inf, y)


def fifth_root(x: np.ndarray) -> np.ndarray:
    """Return x**(1/5) of float64, to within some units in the last place; 0 below 1e-300, NaN of NaN. A copy."""
    inside = (x >= ROOTED) & (x < np.inf)
    some = np.where(inside, x, 1.0)
    y = (some.view(np.int64) // 5 + ROOT_BITS).view(np.float64)
    for _ in range(ROOT_STEPS):  # Newton's
        square = y * y
        y = (4.0 * y + some / (square * square)) / 5.0
    return np.where(inside, y, np.where(x < ROOTED, 0.0, x))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + e**-x) of float64."""
    return 1.0 / (1.0 + exponential(-x))
