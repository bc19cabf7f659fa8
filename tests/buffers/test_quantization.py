"""Quantise and dequantise bit-equal to onnxruntime, and the vendors' conventions."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl

TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8}
RNG = np.random.default_rng(11)


def onnxruntime_says(op: str, x: np.ndarray, scale: object, zero_point: np.ndarray, axis: int | None) -> np.ndarray:
    attributes = {} if axis is None else {"axis": axis}
    node = helper.make_node(op, ["x", "s", "z"], ["y"], **attributes)
    stored = TYPES[zero_point.dtype.name]
    kinds = (TensorProto.FLOAT, stored) if op == "QuantizeLinear" else (stored, TensorProto.FLOAT)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", kinds[0], x.shape)],
        [helper.make_tensor_value_info("y", kinds[1], x.shape)],
        [numpy_helper.from_array(np.asarray(scale, np.float32), "s"), numpy_helper.from_array(zero_point, "z")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(None, {"x": x})[0]
    return result


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_bit_equal_to_onnxruntime(dtype: str, axis: int | None) -> None:
    shape = (3, 5, 77)
    x = (RNG.standard_normal(shape) * 30).astype(np.float32)
    x[0, 0, :4] = np.inf, -np.inf, 3e38, -3e38
    count = 1 if axis is None else shape[axis]
    scale = RNG.random(count).astype(np.float32) + np.float32(0.01)
    zero = RNG.integers(0, 100, count).astype(dtype)
    x[0, 1] = (np.arange(77) - 30.5) * (scale[0] if axis is None else 1)  # ties
    if axis is None:
        q, scale_, zero_ = nl.Quantization(scale[0], zero[0]), scale[0], zero.reshape(())
    else:
        q, scale_, zero_ = nl.Quantization(scale, zero, axis), scale, zero
    stored = q.quantize(x, dtype)
    assert stored.dtype == dtype
    np.testing.assert_array_equal(stored, onnxruntime_says("QuantizeLinear", x, scale_, zero_, axis))
    np.testing.assert_array_equal(
        q.dequantize(stored), onnxruntime_says("DequantizeLinear", stored, scale_, zero_, axis)
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64", "int4", "uint4"])
def test_ties_and_saturation(dtype: str) -> None:
    low, high = {"int4": (-8, 7), "uint4": (0, 15)}.get(dtype) or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    got = nl.Quantization(2.0, 1).quantize([1.0, 3.0, 5.0, -1.0, 1e30, -1e30, np.nan], dtype)
    assert got.tolist() == [1, 3, 3, max(1, low), high, low, low]


def test_a_float_zero_point_is_added_before_rounding() -> None:
    q = nl.Quantization(1.0, 0.5)
    assert q.quantize([0.0, 1.0, 2.0], "uint8").tolist() == [0, 2, 2]
    assert q.dequantize(np.array([0, 1, 2], np.uint8)).tolist() == [-0.5, 0.5, 1.5]


def test_conventions() -> None:
    codes = np.array([-4, 0, 5], np.int8)
    assert nl.Quantization.from_dfp(2).dequantize(codes).tolist() == [-1, 0, 1.25]
    assert nl.Quantization.from_dfp(-1).dequantize(codes).tolist() == [-8, 0, 10]
    assert nl.Quantization.from_offset(0.5, -2).dequantize(codes).tolist() == [-3, -1, 1.5]
    assert nl.Quantization.from_offset(0.5, np.uint8(2)).dequantize(codes).tolist() == [-1, 1, 3.5]
    assert nl.Quantization.from_offset(0.5, np.iinfo(np.int64).min).zero_point == 2**63
    assert nl.Quantization.from_multiplier(4).dequantize(codes).tolist() == [-1, 0, 1.25]
    assert nl.Quantization.from_dfp([1, 2, 3], 0).dequantize(codes).tolist() == [-2, 0, 0.625]
    for bad in (0, -1, np.inf, "x", None):
        with pytest.raises(nl.LayoutError):
            nl.Quantization.from_multiplier(bad)
    for bad in (1.5, 2000, -2000, 150, -128, "x", None, [1, 2]):
        with pytest.raises(nl.LayoutError):
            nl.Quantization.from_dfp(bad)
    assert [nl.Quantization.from_dfp(fl).scale for fl in (149, -127)] == [2.0**-149, 2.0**127]
    for scale in (1e300, np.ma.masked_equal([1.0, 2.0], 2.0)):
        with pytest.raises(nl.LayoutError):
            nl.Quantization(scale, 0, None if np.ndim(scale) == 0 else 0)
    for bad in (np.nan, "x", None, [1, 2]):
        with pytest.raises(nl.LayoutError):
            nl.Quantization.from_offset(1, bad)
    with pytest.raises(nl.NpuLayoutError, match="3 scales along axis 0"):
        nl.Quantization([1, 2, 3], 0, 0).dequantize(np.zeros(4, np.int8))
    with pytest.raises(nl.NpuLayoutError, match="integers"):
        nl.Quantization(1).dequantize(np.zeros(4))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "CHWN", "NHCW8w"])
@pytest.mark.parametrize("axis", [None, 1, 3])
def test_specs_quantise_as_quantization_does(layout: str, axis: int | None) -> None:
    shape = (2, 17, 3, 5)
    count = 1 if axis is None else shape[axis]
    scale = RNG.random(count) + 0.01
    q = nl.Quantization(scale[0], 3) if axis is None else nl.Quantization(scale, np.arange(count), axis)
    spec = nl.TensorSpec(shape, layout, "int8", quantization=q)
    real = RNG.standard_normal(shape) * 20
    packed = spec.pack(real)
    np.testing.assert_array_equal(spec.unpack(packed, dtype=np.int8), q.quantize(real, "int8"))
    np.testing.assert_array_equal(spec.unpack(packed), q.dequantize(q.quantize(real, "int8")))


def exactly(x: np.ndarray, q: nl.Quantization, dtype: str) -> np.ndarray:
    """saturate(rint(float32(x) / scale) + zero_point) with Python's integers, element by element."""
    low, high = (int(n) for n in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    scales, zeros = np.atleast_1d(np.asarray(q.scale, np.float32)), np.atleast_1d(np.asarray(q.zero_point, object))
    result = np.empty(x.shape, dtype)
    for index, value in np.ndenumerate(x):
        i = 0 if q.axis is None else index[q.axis]
        with np.errstate(over="ignore"):
            y = np.rint(value / scales[i])
        if np.isfinite(y):
            result[index] = min(max(int(y) + int(zeros[i]), low), high)
        else:
            result[index] = high if y > 0 else low
    return result


BEYOND = (
    1,
    -3,
    2**24 + 1,
    2**31 - 3,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**62 + 1,
    2**63 - 1,
    -(2**63),
    2**63 + 5,
    2**64 - 1,
)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint32", "int8", "uint8"])
@pytest.mark.parametrize("zero_point", BEYOND)
@pytest.mark.parametrize("scale", [1.0, 0.5, 3.0])
def test_whole_zero_points_are_added_exactly(dtype: str, zero_point: int, scale: float) -> None:
    """float64 has no odd integers beyond 2**53."""
    x = np.concatenate([RNG.standard_normal(20) * 10.0**k for k in range(22)]).astype(np.float32)
    x[:6] = np.nan, np.inf, -np.inf, -zero_point * scale, (5 - zero_point) * scale, 3e38
    q = nl.Quantization(scale, zero_point)
    assert q.zero_point == zero_point and not q._fractional
    np.testing.assert_array_equal(q.quantize(x, dtype), exactly(x, q, dtype))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW8c", "CHWN"])
@pytest.mark.parametrize("dtype", ["int64", "uint64", "int16"])
def test_whole_zero_points_of_channels_are_added_exactly(layout: str, dtype: str) -> None:
    x = np.stack([RNG.standard_normal((2, 3, 4)) * 10.0**k for k in range(21)], 3).astype(np.float32)
    x[0, :, 0, 0] = np.nan, np.inf, -np.inf
    q = nl.Quantization([1.0, 0.5, 3.0], [2**62 + 1, -(2**53) - 1, 7], 1)
    expected = exactly(x, q, dtype)
    spec = nl.TensorSpec(x.shape, layout, dtype, quantization=q)
    packed = spec.pack(x)
    np.testing.assert_array_equal(spec.unpack(packed, dtype=dtype), expected)
    np.testing.assert_array_equal(nl.plan(nl.TensorSpec(x.shape), spec)(x.reshape(-1)), packed)
    np.testing.assert_array_equal(nl.ops.quantize(nl.asformat(x, "NHWC"), q, dtype), expected)
