"""above: against loops over real values."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "NCHW16c", "NHWC8h4w", "NCHW4n"])
@pytest.mark.parametrize("threshold", [-1e9, -0.5, 0.0, 0.3, 0.7, 1.3, 1e9, -3.0e38, 3.4e38, 1e39, -1e39])
def test_loops_find_the_same(dtype: str, tag: str, threshold: float) -> None:
    rng = np.random.default_rng(7)
    q = nl.Quantization(0.1, 5) if "int" in dtype else None
    spec = nl.TensorSpec((2, 5, 4, 7), nl.Layout(tag, "NCHW"), dtype, quantization=q)
    buffer = spec.pack(np.round(rng.normal(0, 1, spec.shape), 1).astype(np.float32))
    values = spec.unpack(buffer)
    wanted = [index for index in np.ndindex(values.shape) if float(values[index]) >= threshold]
    where, found = ops.above(spec, threshold, buffer)
    assert [tuple(row) for row in where.tolist()] == wanted
    assert where.dtype == np.int64 and where.shape == (len(wanted), 4) and found.dtype == np.float32
    assert found.tolist() == [float(values[index]) for index in wanted]


def test_every_code_of_bytes_at_thresholds_between_and_on_values() -> None:
    """As many as a float64 comparison of the dequantised values finds."""
    stored = np.arange(256).astype(np.uint8)
    for scale in (0.7, 0.1, 1 / 255, 3.0):
        spec = nl.TensorSpec((1, 1, 16, 16), "NCHW", "uint8", quantization=nl.Quantization(scale, 3))
        values = spec.unpack(stored).astype(np.float64)
        for threshold in (np.arange(0, 250, 7) * scale).tolist():
            assert len(ops.above(spec, threshold, stored)[1]) == (values >= threshold).sum()


def test_nan_is_not_above_and_infinity_is() -> None:
    for dtype in ("float16", "bfloat16", "float32"):
        spec = nl.TensorSpec((1, 1, 1, 4), "NCHW", dtype)
        buffer = spec.pack(np.array([np.nan, np.inf, -np.inf, -0.0], np.float32).reshape(spec.shape))
        where, found = ops.above(spec, 0, buffer)
        assert where[:, 3].tolist() == [1, 3] and found.tolist() == [np.inf, 0.0] and np.signbit(found[1])


@pytest.mark.parametrize(
    ("dtype", "values", "threshold"),
    [("float64", [0.7, np.nextafter(0.7, 0), 0.1], 0.7), ("int32", [2**24 + 1, 2**24, 0], 2**24 + 1)],
)
def test_a_value_that_float32_lacks_reaches_a_threshold_that_equals_it(
    dtype: str, values: list[float], threshold: float
) -> None:
    x = np.array(values, dtype).reshape(1, 3, 1, 1)
    for given in ((x, threshold), (nl.TensorSpec(x.shape, "NCHW4c", dtype), threshold, np.append(x, x[:, :1]))):
        assert ops.above(*given)[0].tolist() == [[0, 0, 0, 0]]


def test_scales_of_channels_and_rows() -> None:
    rng = np.random.default_rng(1)
    for axis, count in ((1, 3), (2, 40), (0, 2)):
        q = nl.Quantization(rng.uniform(0.01, 1, count), 0, axis=axis)
        spec = nl.TensorSpec((2, 3, 40, 5), "NCHW4c", "int8", quantization=q)
        buffer = rng.integers(-128, 128, spec.size, np.int8)
        values = spec.unpack(buffer)
        where, found = ops.above(spec, 1.5, buffer)
        assert (where == np.argwhere(values >= np.float32(1.5))).all()
        assert (found == values[values >= np.float32(1.5)]).all()
        assert (ops.argmax_channels(spec, buffer)[:, 0] == values.argmax(1)).all()
        np.testing.assert_allclose(
            ops.sigmoid(spec, buffer), 1 / (1 + np.exp(-values.astype(float))), rtol=1e-5, atol=2.0**-125
        )
