"""The quantization that a buffer has, from its elements and a reference."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.stored.buffer_scales import quantization
from tests.support.readings import blobs, same_reading

SHAPE = (1, 17, 9, 7)


@pytest.mark.parametrize("layout", ["NCHW16c", "NHWC"])
def test_a_scale_for_each_channel(layout: str) -> None:
    reference = blobs((1, 17, 20, 24))
    scales = np.linspace(0.004, 0.03, 17)
    quantization = nl.Quantization(scales, np.arange(17) - 30, axis=1)
    spec = nl.TensorSpec(reference.shape, layout, "int8", quantization=quantization)
    flat = spec.pack(reference)
    found = nl.identify(flat, reference)
    assert found.spec is not None and same_reading(found.spec, spec), found.why
    assert found.spec.quantization is not None and found.spec.quantization.axis == 1
    np.testing.assert_allclose(found.spec.quantization.scale, scales, rtol=0.03)
    assert np.abs(found.spec.unpack(flat) - spec.unpack(flat)).max() < 0.1
    assert "scale of its own" in found.why


@pytest.mark.parametrize(
    ("scale", "zero_point", "dtype"), [(0.0371, -20, "int8"), (0.5, 7, "uint8"), (1e-3, 0, "int16")]
)
def test_one_scale(scale: float, zero_point: int, dtype: str) -> None:
    """Also from values that are mostly saturated; a power of two is found exactly."""
    real = np.random.default_rng(0).standard_normal(4096) * 60 * scale
    info = np.iinfo(dtype)
    stored = np.clip(np.rint(real / scale) + zero_point, info.min, info.max)
    found = quantization(stored, real, dtype)
    assert found is not None and found.zero_point == zero_point
    assert found.scale == scale if scale == 0.5 else found.scale == pytest.approx(scale, rel=2e-3)
    assert quantization(stored, stored, dtype) is None and quantization(real, real, "float32") is None
