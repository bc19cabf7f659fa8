"""Operators on stored integers return what they return on the real values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops
from npu_layout.ops.applying import checked_inputs
from npu_layout.ops.peak_search import PEAKS
from npu_layout.ops.quantized import along, as_quantization, comparable
from tests.support.operators import PLAIN, SHAPE, filled, ordered


def quantizations() -> list[Any]:
    return [
        (0.05, 3),
        nl.Quantization(0.1, -7),
        nl.Quantization(0.0075, 41.3),
        nl.Quantization([0.1, 0.2, 0.05, 0.3, 0.07], [1, -2, 3, 0, 5], axis=1),
        nl.Quantization([0.1, 0.2], axis=0),
        nl.Quantization([0.1, 0.2, 0.3, 0.1], 4, axis=-2),
    ]


@pytest.mark.parametrize("q", quantizations(), ids=repr)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_quantised(dtype: str, q: Any) -> None:
    """As of the real values, which are computed one by one."""
    x = filled(dtype).astype(np.int64).clip(-(2**14), 2**14).astype(dtype)
    known = q if isinstance(q, nl.Quantization) else nl.Quantization(*q)

    def of(values: Any, index: tuple[int, ...]) -> np.float32:
        return np.float32(values if known.axis is None else values[index[known.axis]])

    real = np.empty(SHAPE, np.float32)
    for i in np.ndindex(*SHAPE):
        real[i] = (np.float32(x[i]) - of(known.zero_point, i)) * of(known.scale, i)
    for tag in PLAIN:
        y = ordered(x, tag)
        for result in (ops.dequantize(y, q), ops.softmax_channels(y, quantization=q), ops.sigmoid(y, quantization=q)):
            assert nl.memory_format(result) == nl.Layout(tag)
        np.testing.assert_array_equal(ops.dequantize(y, q), real)
        np.testing.assert_array_equal(ops.argmax_channels(y, quantization=q), ops.argmax_channels(real))
        np.testing.assert_array_equal(ops.softmax_channels(y, quantization=q), ops.softmax_channels(real))
        np.testing.assert_array_equal(ops.sigmoid(y, quantization=q), ops.sigmoid(real))
        for got, expected in zip(ops.top_k(y, 3, quantization=q), ops.top_k(real, 3)):
            np.testing.assert_array_equal(got, expected)
        for limit in (-1.0, 0.0, 0.35, 1e9, -1e9):
            np.testing.assert_allclose(
                ops.peaks(y, limit, quantization=q), ops.peaks(real, limit), rtol=1e-5, atol=1e-4
            )
        np.testing.assert_array_equal(ops.quantize(ops.dequantize(y, q), q, dtype), x)


def test_a_pair_is_a_quantization_and_is_made_once() -> None:
    assert as_quantization((0.5, 3), "quantize") is as_quantization((0.5, 3), "quantize")
    assert as_quantization((0.5, 3), "quantize") == nl.Quantization(0.5, 3)
    known = nl.Quantization(0.5, 3)
    assert as_quantization(known, "quantize") is known


def test_an_axis_counted_from_the_end() -> None:
    q = nl.Quantization([0.1] * 4, axis=-2)
    assert along(q, SHAPE, "quantize").axis == 2
    assert along(along(q, SHAPE, "quantize"), SHAPE, "quantize").axis == 2
    for axis, shape in ((-2, (2, 5, 3, 6)), (4, SHAPE), (-5, SHAPE)):
        with pytest.raises(nl.NpuLayoutError, match=rf"^quantize: quantization has 4 scales along axis {axis}; got"):
            along(nl.Quantization([0.1] * 4, axis=axis), shape, "quantize")


def test_values_are_made_real_only_if_their_scales_differ_where_they_are_compared() -> None:
    inputs = checked_inputs(PEAKS, filled("int8"))
    for axis, real in ((None, False), (0, False), (1, False), (2, True), (3, True)):
        q = nl.Quantization(0.5) if axis is None else nl.Quantization([0.5] * SHAPE[axis], axis=axis)
        found, known = comparable(inputs, q, 2, 3)
        assert (found is not inputs) == (known is None) == real
        assert found.x.dtype == ("float32" if real else "int8")
