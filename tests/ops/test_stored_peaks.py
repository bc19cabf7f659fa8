"""Peaks of stored buffers against the scalar search of the tensor that the tag describes; padding is the largest."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops
from npu_layout.ops import bands
from tests.ops.test_peak_finding import peaks_oracle
from tests.support import oracle

SHAPE = (2, 5, 11, 6)


@pytest.mark.parametrize("refine", ["parabola", "quarter", None])
@pytest.mark.parametrize("dtype", ["int8", "float32", "bfloat16", ">i2", "float64"])
@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "NCHW4c", "NCHW2h", "NHCW8c"])
@pytest.mark.parametrize("band", [1, 1 << 18])
def test_peaks_where_they_are_stored(
    tag: str, dtype: str, refine: str | None, band: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(len(tag))
    values = rng.integers(-50, 50, SHAPE)
    stored = oracle.stored_shape(tag, dict(zip("NCHW", SHAPE)))
    spec = nl.TensorSpec(SHAPE, nl.Layout(tag, "NCHW"), dtype)
    buffer = np.full(spec.size, 120, np.float32).astype(np.float32 if dtype == "bfloat16" else dtype)
    for index in oracle.indices(SHAPE):
        buffer[oracle.place(tag, stored, dict(zip("NCHW", index)))] = values[index]
    if dtype == "bfloat16":
        buffer = (buffer.view(np.uint32) >> 16).astype(np.uint16)
    monkeypatch.setattr(bands, "_BAND", band)
    bands._bands_of.cache_clear()
    try:
        for threshold, radius in ((0, 1), (20.5, 2), (-1e9, 3)):
            found = ops.peaks(spec, threshold, radius, buffer, refine=refine)
            np.testing.assert_allclose(found, peaks_oracle(values, threshold, radius, refine), 1e-6, 1e-6)
    finally:
        bands._bands_of.cache_clear()


@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3])
def test_scales_along_any_axis(axis: int | None) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(-90, 90, SHAPE).astype(np.int8)
    count = 1 if axis is None else SHAPE[axis]
    scales, points = rng.uniform(0.1, 2, count).astype(np.float32), rng.integers(-5, 5, count)
    shape = [1] * 4
    if axis is not None:
        shape[axis] = count
    real = (codes.astype(np.float32) - points.reshape(shape).astype(np.float32)) * scales.reshape(shape)
    known = nl.Quantization(float(scales[0]), int(points[0])) if axis is None else nl.Quantization(scales, points, axis)
    for tag in ("NCHW", "NCHW4c"):
        spec = nl.TensorSpec(SHAPE, tag, "int8", quantization=known)
        expected = peaks_oracle(real, 3.0, 1, None)
        np.testing.assert_allclose(ops.peaks(spec, 3.0, 1, spec.pack(codes), refine=None), expected, 1e-6)
