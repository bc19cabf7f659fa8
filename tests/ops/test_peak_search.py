"""Which stored integers are above a threshold, and arguments that are none; the search itself: test_peak_finding.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout import ops
from npu_layout.ops.peak_search import checked, limits, real_scores, stored_limit


@given(st.floats(0.001, 10), st.integers(-300, 300), st.floats(-400, 400), st.integers(0, 99))
def test_thresholds_in_stored_integers(scale: float, zero_point: int, threshold: float, seed: int) -> None:
    """The same pixels as of the dequantised tensor, at every threshold: also at one that a stored integer hits."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 127, (1, 2, 9, 9), np.int8, endpoint=True)
    q = nl.Quantization(scale, zero_point)
    real = ops.dequantize(x, q)
    for limit in (threshold, float(rng.choice(real.ravel())), np.float64(scale) * int(rng.integers(-128, 127))):
        got, expected = ops.peaks(x, limit, refine=None, quantization=q), ops.peaks(real, limit, refine=None)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("threshold", [-np.inf, -7.3, -0.5, 0.0, 0.5, 3.0, 1e9, np.inf])
@pytest.mark.parametrize(("scale", "zero_point"), [(0.5, 0), (0.1, 3), (2.0, -7), (0.013, 41.5)])
def test_the_limit_is_below_exactly_the_integers_above_it(
    dtype: str, threshold: float, scale: float, zero_point: float
) -> None:
    info = np.iinfo(dtype)
    every = np.arange(info.min, info.max + 1)
    above = (every.astype(np.float32) - np.float32(zero_point)) * np.float32(scale) > threshold
    limit = stored_limit(scale, zero_point, threshold, dtype)
    assert ((every > limit) == above).all()


def test_limits_and_scores_of_several_scales() -> None:
    known = nl.Quantization([0.5, 2.0], [1, -3], axis=1)
    assert limits(known, 4.0, "int8").tolist() == [9, -1]
    assert real_scores(np.array([9.0, 11.0]), known, np.array([0, 1])).tolist() == [4.0, 28.0]
    assert real_scores(np.array([9.0]), nl.Quantization(0.5, 1), None).tolist() == [4.0]


def test_arguments() -> None:
    assert checked(np.float32(0.5), np.int64(3), None) == checked(np.array(0.5), 3, None) == (0.5, 3)
    assert checked(-np.inf, 1, None)[0] == -np.inf
    for bad in (
        ("0.5", 1, None),
        (np.complex64(1), 1, None),
        (10**400, 1, None),
        (None, 1, None),
        (0, 1.5, None),
        (0, 0, None),
        (np.nan, 1, None),
        (0, 1, "cubic"),
        (0, 1, 7),
    ):
        arguments: Any = bad
        with pytest.raises(nl.NpuLayoutError, match="peaks"):
            checked(*arguments)
