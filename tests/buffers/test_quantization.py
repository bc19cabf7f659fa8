"""Quantise and dequantise bit-equal to onnxruntime, and the vendors' conventions."""

from __future__ import annotations

import json
import pickle
from typing import Any

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


def test_zero_points_of_each_channel() -> None:
    """One for all, or one for each scale; every code of each channel has its own."""
    scales, zeros = [0.5, 0.25, 2.0], [1, -3, 7]
    for axis, shape in ((0, (3, 2)), (1, (2, 3)), (-1, (2, 3)), (-2, (3, 2))):
        q, codes = nl.Quantization(scales, zeros, axis), np.arange(-3, 3, dtype=np.int8).reshape(shape)
        real = q.dequantize(codes)
        assert real.dtype == np.float32
        for index, code in np.ndenumerate(codes):
            c = index[axis]
            assert real[index] == (int(code) - zeros[c]) * scales[c]
        assert q.quantize(real, "int8").tolist() == codes.tolist()
        assert (q.count, q.axis, np.asarray(q.zero_point).tolist(), np.asarray(q.scale).tolist()) == (
            3,
            axis,
            zeros,
            scales,
        )
    one = nl.Quantization(scales, 5, 0)
    assert np.asarray(one.zero_point).tolist() == [5, 5, 5] and one == nl.Quantization(scales, [5], 0)
    assert one == nl.Quantization(scales, [5, 5, 5], 0) and one != nl.Quantization(scales, [5, 5, 4], 0)
    assert nl.Quantization([0.5], 3, 0).dequantize(np.array([[4, 5]], np.int8)).tolist() == [[0.5, 1.0]]
    for zero in ([1, 2], [1, 2, 3, 4]):
        with pytest.raises(nl.LayoutError, match=f"zero_point: expected 1 or 3 values, as scale has, got {len(zero)}"):
            nl.Quantization(scales, zero, 0)
    assert (
        nl.Quantization(scales, [0, 0.5, 0], 0)._fractional and not nl.Quantization(scales, [0, 2.0, 0], 0)._fractional
    )


@pytest.mark.parametrize(
    "q", [nl.Quantization(0.5, 3), nl.Quantization([0.5, 1.0], [3, -4], 1), nl.Quantization([2.0], 0, -1)]
)
def test_copies_are_equal(q: nl.Quantization) -> None:
    for copy in (
        pickle.loads(pickle.dumps(q)),
        nl.Quantization(**q.to_dict()),
        eval(repr(q), {"Quantization": nl.Quantization}),
    ):
        assert copy == q and hash(copy) == hash(q) and copy.to_dict() == q.to_dict()
    others = [nl.Quantization(0.5, 4), nl.Quantization(0.25, 3), nl.Quantization([0.5, 1.0], [3, -4], 0)]
    assert all(q != other for other in others) and q != 0.5
    with pytest.raises(AttributeError, match="frozen; make another one instead of setting axis"):
        q.axis = 0
    with pytest.raises(AttributeError, match="frozen; axis cannot be deleted"):
        del q.axis


def test_vendors_conventions_by_channel() -> None:
    codes = np.array([[-4, 8], [4, -8]], np.int8)
    assert nl.Quantization.from_dfp([2, -1], 1).dequantize(codes).tolist() == [[-1, 16], [1, -16]]
    assert nl.Quantization.from_offset([0.5, 2.0], [1, -3], 0).dequantize(codes).tolist() == [[-1.5, 4.5], [2, -22]]
    assert nl.Quantization.from_multiplier([4, 0.5], 1).dequantize(codes).tolist() == [[-1, 16], [1, -16]]
    assert nl.Quantization.from_dfp(3).to_dict() == {"scale": 0.125, "zero_point": 0, "axis": None}
    assert nl.Quantization.from_offset([1.0], [4], 0).to_dict() == {"scale": [1.0], "zero_point": [-4], "axis": 0}
    for make, bad in ((nl.Quantization.from_multiplier, [1, 0]), (nl.Quantization.from_dfp, [1, 150]),
                      (nl.Quantization.from_dfp, [1, 0.5]), (nl.Quantization.from_dfp, [-128, 1])):  # fmt: skip
        with pytest.raises(nl.LayoutError, match=r"quantization (m|fl): expected"):
            make(bad, 0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0.0,), "scale: expected positive numbers in the range of float32, got 0.0; a tensor without scale"),
        ((-1.0,), "expected positive"),
        ((1e-60,), "expected positive"),  # 0 as float32
        ((1e39,), "expected positive"),
        (([1.0, 0.0], 0, 0), "expected positive"),
        (
            ([1.0, 2.0, 3.0],),
            r"scale: expected one number, got \[1.0, 2.0, 3.0\]; give axis= for one value per channel$",
        ),
        (
            ((0.5, 3),),
            r"got \(0.5, 3\); give axis= for .*, or Quantization\(\*pair\) if these are a scale and a zero point$",
        ),
        ((np.float32([0.5]),), r"scale: expected one number, got array\(\[0.5\], dtype=float32\); give its item$"),
        ((0.5, [3]), r"zero_point: expected one number, got \[3\]; give its item$"),
        (([],), r"scale: expected one number, got \[\]$"),
        (([[1.0]],), r"scale: expected one number, got \[\[1.0\]\]$"),
        (([[1.0]], 0, 0), "scale: expected a number or a 1-D array of numbers"),
        (([], 0, 0), "scale: expected a number or a 1-D array"),
        ((True,), "scale: expected one number, got True"),
        ((1j,), "scale: expected one number"),
        ((np.nan,), "scale: expected finite numbers"),
        ((1.0, np.inf), "zero_point: expected finite numbers, got inf"),
        ((1.0, [1, 2]), "zero_point: expected one number"),
        ((1.0, 0, 1.5), "axis: expected an axis index or None, got 1.5"),
    ],
)
def test_what_is_no_quantization(arguments: Any, says: str) -> None:
    with pytest.raises(nl.LayoutError, match=says):
        nl.Quantization(*arguments)


def test_arrays_that_do_not_fit() -> None:
    q = nl.Quantization([0.5, 1.0, 2.0], 0, 1)
    for shape, axis in (((2, 4), 1), ((3,), 1), ((), 1), ((3, 2), -3), ((2, 2), -1)):
        other = nl.Quantization([0.5, 1.0, 2.0], 0, axis)
        with pytest.raises(nl.NpuLayoutError, match=f"has 3 scales along axis {axis}; got an array of shape"):
            other.dequantize(np.zeros(shape, np.int8))
    assert q.dequantize(np.zeros((0, 3), np.int8)).shape == (0, 3)
    assert nl.Quantization(0.5).dequantize(np.int8(4)).shape == () and nl.Quantization(0.5).dequantize(np.int8(4)) == 2
    assert nl.Quantization(0.5, 1).dequantize(np.ones((1,) * 26, np.int8)).shape == (1,) * 26
    with pytest.raises(nl.NpuLayoutError, match="expected at most 26 axes, got 27"):
        nl.Quantization(0.5).dequantize(np.ones((1,) * 27, np.int8))
    with pytest.raises(nl.NpuLayoutError, match="quantize: dtype: expected an integer dtype, got 'float32'"):
        nl.Quantization(0.5).quantize([1.0], "float32")
    with pytest.raises(nl.NpuLayoutError, match="quantize: x: expected real numbers, got dtype complex128"):
        nl.Quantization(0.5).quantize([1j], "int8")
    with pytest.raises(nl.NpuLayoutError, match="dequantize: q: expected stored integers, got dtype float64"):
        nl.Quantization(0.5).dequantize([1.0])
    with pytest.raises(nl.NpuLayoutError, match="axis: expected a letter, got 1"):
        q.affine(1, to_stored=True)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match="to_stored"):
        q.affine("C", to_stored="yes")  # type: ignore[arg-type]
    assert q.affine("C", to_stored=np.True_) == q.affine("C", to_stored=True) != q.affine("C", to_stored=False)  # type: ignore[arg-type]


def test_long_doubles_become_numbers_of_json() -> None:
    for q in (nl.Quantization(np.longdouble(0.5)), nl.Quantization(np.array([0.5, 0.25], np.longdouble), 0, 0)):
        assert nl.Quantization(**json.loads(json.dumps(q.to_dict()))) == q


@pytest.mark.parametrize("wide", [2**63 + 1, np.uint64(2**63 + 1), 2**64 - 1])
@pytest.mark.parametrize("small", [5, np.int64(5), np.uint8(5)])
@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_zero_points_that_only_uint64_has_stay_exact_beside_small_ones(kind: Any, wide: Any, small: Any) -> None:
    """numpy makes float64 of such lists."""
    given = np.array([int(small), int(wide)], np.uint64) if kind is np.array else kind([small, wide])
    q = nl.Quantization([1.0, 0.5], given, 1)
    assert q.to_dict()["zero_point"] == [5, int(wide)]
    assert q.zero_point.tolist() == [5, int(wide)]  # type: ignore[union-attr]
    again = nl.Quantization(q.scale, q.zero_point, 1), pickle.loads(pickle.dumps(q)), eval(repr(q), vars(nl))
    assert all(one == q for one in again)
    stored = q.quantize([[0.0, 0.0], [3.0, -1.0]], "uint64")
    assert stored.tolist() == [[5, int(wide)], [8, int(wide) - 2]]


def test_zero_points_that_no_dtype_has_are_refused() -> None:
    with pytest.raises(nl.LayoutError, match=r"zero_point: expected values of one dtype, got -1 .* and 92233"):
        nl.Quantization([1.0, 1.0], [-1, 2**63 + 1], 0)
    with pytest.raises(nl.LayoutError, match=r"zero_point: expected whole numbers, or floats of less than 2\*\*53"):
        nl.Quantization([1.0, 1.0], [2**60 + 1, 5.5], 0)
    assert nl.Quantization([1.0, 1.0], [2**60, 5.5], 0).to_dict()["zero_point"] == [2.0**60, 5.5]
    assert nl.Quantization([1.0, 1.0], [2**60 + 1, 5.0], 0).to_dict()["zero_point"] == [2**60 + 1, 5]
