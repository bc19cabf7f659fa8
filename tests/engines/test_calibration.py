"""Scales and zero points from a range of values."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import NpuLayoutError, Quantization
from npu_layout.engines import calibrate


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int4", "uint4"])
def test_calibration_covers_the_range_and_keeps_zero(dtype):
    values = [np.array([-0.7, 0.1], np.float32), np.array([[2.9]])]
    quantization = calibrate(values, dtype)
    assert quantization is not None
    bits = int("".join(filter(str.isdigit, dtype)))
    assert quantization.scale == pytest.approx(3.6 / (2**bits - 1), rel=1e-6)
    stored = quantization.quantize(np.array([-0.7, 0.0, 2.9]), dtype)
    assert quantization.dequantize(stored)[1] == 0
    np.testing.assert_allclose(quantization.dequantize(stored), [-0.7, 0, 2.9], atol=quantization.scale)


def test_calibration_of_nothing_and_of_what_is_not_finite():
    assert calibrate(np.zeros(3), "int8") == Quantization(1.0, -128)
    assert calibrate([], "float32") is None
    for bad in (np.nan, np.inf):
        with pytest.raises(NpuLayoutError, match="finite"):
            calibrate(np.array([0.0, bad, 1.0]), "int8")


@pytest.mark.parametrize(
    ("values", "dtype", "scale", "zero_point"),
    [
        ([0.0, 255.0], "uint8", 1.0, 0),
        ([-128.0, 127.0], "int8", 1.0, 0),
        ([-255.0, -1.0], "uint8", 1.0, 255),  # zero is part of every range
        ([3.0, 7.5], "uint4", 0.5, 0),
        ([-4.0, 3.5], "int4", 0.5, 0),
        ([np.zeros((0, 3)), [-1.0, 0.0], np.full((2, 2), 1.55)], "uint8", 0.01, 100),
    ],
)
def test_scales_and_zero_points_computed_by_hand(values, dtype, scale, zero_point):
    quantization = calibrate(values, dtype)
    assert quantization is not None
    assert float(quantization.scale) == pytest.approx(scale, rel=1e-6) and int(quantization.zero_point) == zero_point
