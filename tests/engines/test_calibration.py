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
