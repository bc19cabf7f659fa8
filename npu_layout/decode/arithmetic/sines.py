"""Sine and cosine in float64, by a sequence of operations that the compiled kernels repeat bit by bit."""

from __future__ import annotations

import math

import numpy as np

#: Parts of pi / 2: of 33 bits, so that their products with whole numbers below 2**20 are exact, and of what is left.
QUARTERS = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
#: Of Taylor's series, the highest power first: x**17 to x**3, and x**16 to x**4.
OF_SINE = tuple((-1) ** (n // 2) / math.factorial(n) for n in range(17, 1, -2))
OF_COSINE = tuple((-1) ** (n // 2) / math.factorial(n) for n in range(16, 2, -2))
MOST = 524288.0  # beyond it angles are reduced by 2 pi as float64 has it
_ROUNDER = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to a whole number, half to even


def sine_and_cosine(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sine and the cosine of float64 radians, new arrays; NaN of what is not finite.

    To within 3 units in the last place for angles up to `MOST`; of others, those of the remainder by 2 pi in float64.
    """
    with np.errstate(invalid="ignore"):
        x = np.where(np.abs(x) <= MOST, x, np.fmod(x, 2 * math.pi))
        shifted = x * (2 / math.pi) + _ROUNDER
        k = shifted - _ROUNDER
        r = ((x - k * QUARTERS[0]) - k * QUARTERS[1]) - k * QUARTERS[2]
        square = r * r
        p, q = np.full_like(r, OF_SINE[0]), np.full_like(r, OF_COSINE[0])
        for c in OF_SINE[1:]:
            p = p * square + c
        for c in OF_COSINE[1:]:
            q = q * square + c
        half = 0.5 * square
        rest = 1.0 - half
        s, c = r + (r * square) * p, rest + (((1.0 - rest) - half) + (square * square) * q)
    quarter = shifted.view(np.int64)
    odd = (quarter & 1) == 1
    one, other = np.where(odd, c, s), np.where(odd, s, c)
    return np.where(quarter & 2, -one, one), np.where((quarter + 1) & 2, -other, other)
