"""Shorter arithmetic from bytes to bytes changes no bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels import Box
from tests.support.kernel_walks import NATIVE, computing, converted, same

if NATIVE:
    from npu_layout.kernels.description import describe


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("source, target", list(itertools.product(("uint8", "int8"), repeat=2)))
def test_bytes_in_16_bits(source: str, target: str, backend: str) -> None:
    """From pixels to quantised inputs: factors in 16 bits are found for nearly all, and change no bit."""
    rng = np.random.default_rng(7)
    first, zero_point = (0 if source == "uint8" else -128), (-10 if target == "int8" else 118)
    every = np.arange(first, first + 256).astype(source)
    found = 0
    for n in (1, 3, 3, 3, 3, 3, 16):
        mean, std = rng.uniform(90, 140, n) + first, rng.uniform(40, 80, n)
        parameters = (
            np.float32(mean),
            np.float32(1 / std),
            np.full(n, 0.02, np.float32),
            np.full(n, zero_point, float),
        )
        a = computing(source, target, *parameters)
        described = describe(a)
        assert described is not None
        found += described.bits > 0
        x = np.ascontiguousarray(np.broadcast_to(every[:, None], (256, n))).ravel()
        channel = np.tile(np.arange(n), 256)
        expected = converted(x, a, channel)
        for count in (n, 5 * n, 67 * n, 256 * n):
            box = Box(((count // n, n, n, 0), (n, 1, 1, 1)) if n > 1 else ((count, 1, 1, 0),), 0, 0, 0)
            got = np.full(x.size + 1, 99, target)
            kernels.program(x.size, got.size, (), (box,), a, backend).run(x, got)
            assert same(got[:count], expected[:count].astype(target), target) and (got[count:] == 99).all()
    assert found >= 5
