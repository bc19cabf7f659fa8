"""Divisions that are computed as multiplications return the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels import Box
from npu_layout.kernels.box import limits
from tests.support.kernel_walks import BACKENDS, computing, converted

# Divisors (1 in 10,000) for which some x / d is so near to halfway between two floats that products are not used.
UNSURE = (float.fromhex("0x1.e7fffep0"), float.fromhex("0x1.fbfff6p0"))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target, zero", [("int8", 0), ("int8", -3), ("uint8", 128), ("uint8", 0)])
def test_quotients_are_rounded_as_by_a_division(target: str, zero: int, backend: str) -> None:
    """Rows and planes of float32 to bytes, divided: around the halfway points between results, at which one unit in
    the last place of the quotient decides, and at the limits of float32."""
    rng = np.random.default_rng(9)
    ends = np.array([0, -0.0, 1e-45, -1e-38, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan, 1e9, -1e9], np.float32)
    middles = np.arange(limits(target)[0] - zero - 1.5, limits(target)[1] - zero + 2)
    limits_of_d = (2**-24, 2**-25, 3e-18, 1e-36, 1e18, 2e18, 1e36)
    for n, d in enumerate((*UNSURE, 1, 0.1, 1 / 255, *limits_of_d, *(2 ** rng.uniform(-9, 3, 60)))):
        near = np.float32(middles * float(np.float32(d)))
        x = np.concatenate([ends.view(np.int32), *(near.view(np.int32) + k for k in range(-8, 9))]).view(np.float32)
        x = np.concatenate([x, x[: -x.size % 16]])
        shift, scale = (np.full(1, v, np.float32) for v in ((0, 1), (0.5, 2), (-3, 0.1))[n % 3])
        a = computing("float32", target, shift, scale, np.full(1, d, np.float32), np.full(1, float(zero)))
        expected = converted(x, a, np.zeros(x.size, int))
        for box, order in (
            (Box(((x.size, 1, 1, 0),), 0, 0, 0), np.arange(x.size)),
            (
                Box(((x.size // 16, 1, 16, 0), (16, x.size // 16, 1, 0)), 0, 0, 0),
                np.arange(x.size).reshape(16, -1).T.ravel(),
            ),
        ):
            got = np.zeros(x.size, target)
            kernels.program(x.size, x.size, (), (box,), a, backend).run(x, got)
            np.testing.assert_array_equal(got, expected[order], f"{backend} {a}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_quotients_of_a_divisor_for_each_channel(backend: str) -> None:
    """As in per-channel quantisation: one zero point, and a scale for each plane."""
    divisors = np.float32([0.5, 0.5, 0.1, UNSURE[0], 0.1, 1e-9, 3, 1e20, 0.7, 0.7])
    x = np.outer(divisors, np.arange(-200, 200, 0.5, np.float32)).astype(np.float32)
    a = computing("float32", "int8", None, None, divisors, np.full(len(divisors), 5.0))
    expected = converted(x.ravel(), a, np.repeat(np.arange(len(divisors)), x.shape[1]))
    channels, n = x.shape
    for box, transposed in (
        (Box(((channels, n, n, 1), (n, 1, 1, 0)), 0, 0, 0), False),
        (Box(((n, 1, channels, 0), (channels, n, 1, 1)), 0, 0, 0), True),
    ):
        got = np.zeros(x.size, "int8")
        kernels.program(x.size, x.size, (), (box,), a, backend).run(x.ravel(), got)
        got = got.reshape(n, channels).T.ravel() if transposed else got
        np.testing.assert_array_equal(got, expected, f"{backend} {box}")
