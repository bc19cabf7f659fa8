"""Rockchip's attributes as the runtime hands them out: structs, enums, numpy scalars, what is missing or wrong."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

HEAT = {
    "name": "heat",
    "dims": [1, 57, 46, 46],
    "fmt": "NCHW",
    "type": "INT8",
    "qnt_type": "AFFINE_ASYMMETRIC",
    "zp": -14,
    "scale": 0.0125,
}


class Attr(ctypes.Structure):
    """The fields of rknn_api.h's rknn_tensor_attr that matter here, with its enums as numbers."""

    _fields_ = (
        ("n_dims", ctypes.c_uint32),
        ("dims", ctypes.c_uint32 * 16),
        ("name", ctypes.c_char * 256),
        ("fmt", ctypes.c_int),
        ("type", ctypes.c_int),
        ("qnt_type", ctypes.c_int),
        ("fl", ctypes.c_int8),
        ("zp", ctypes.c_int32),
        ("scale", ctypes.c_float),
        ("w_stride", ctypes.c_uint32),
        ("size_with_stride", ctypes.c_uint32),
    )


def struct(dims: list[int], **fields: Any) -> Attr:
    return Attr(n_dims=len(dims), dims=(ctypes.c_uint32 * 16)(*dims), **fields)


def test_rknn_struct_with_numbers_for_enums() -> None:
    attr = struct([1, 57, 46, 46], name=b"heat", fmt=0, type=2, qnt_type=2, zp=-14, scale=0.5, size_with_stride=120612)
    native = struct(
        [1, 4, 46, 46, 16], name=b"heat", fmt=2, type=2, qnt_type=2, zp=-14, scale=0.5, size_with_stride=135424
    )
    plain = nl.specs.from_rknn(attr)
    assert (plain.shape, str(plain.layout), plain.dtype, plain.name) == ((1, 57, 46, 46), "NCHW", "int8", "heat")
    assert plain.quantization == nl.Quantization(0.5, -14)
    spec = nl.specs.from_rknn(attr, native)
    assert (str(spec.layout), spec.storage_shape, spec.nbytes) == ("NCHW16c", (1, 4, 46, 46, 16), 135424)
    assert spec.offset(0, 56, 45, 45) == ((3 * 46 + 45) * 46 + 45) * 16 + 8
    assert spec == nl.specs.from_rknn({**HEAT, "scale": 0.5}, native)


def test_rknn_objects_and_every_spelling_of_the_enums() -> None:
    expected = nl.specs.from_rknn(HEAT)
    for change in (
        {"fmt": "RKNN_TENSOR_NCHW", "type": "RKNN_TENSOR_INT8", "qnt_type": "RKNN_TENSOR_QNT_AFFINE_ASYMMETRIC"},
        {"fmt": 0, "type": 2, "qnt_type": 2},
        {"fmt": np.int32(0), "type": SimpleNamespace(name="INT8"), "qnt_type": "AFFINE"},
        {"name": b"heat\0\0\0"},
        {"dims": np.array([1, 57, 46, 46, 0, 0]), "n_dims": 4},
    ):
        assert nl.specs.from_rknn({**HEAT, **change}) == expected, change
        assert nl.specs.from_rknn(SimpleNamespace(**{**HEAT, **change})) == expected, change


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0, "float32"), (1, "float16"), (2, "int8"), (3, "uint8"), (4, "int16"), (5, "uint16"), (6, "int32"),
     (7, "uint32"), (8, "int64"), (9, "bool"), (10, "int4"), (11, "bfloat16")],
)  # fmt: skip
def test_rknn_types_by_number(number: int, dtype: str) -> None:
    assert nl.specs.from_rknn({"dims": [1, 6], "fmt": 3, "type": number}).dtype == dtype


def test_rknn_of_the_first_api_lists_dims_fastest_first() -> None:
    """The demos of rockchip-linux/rknpu read H, W, C of an NHWC from dims[2], [1], [0] (issue 57 there)."""
    heat = {**HEAT, "dims": [46, 46, 57, 1], "n_dims": 4, "type": 3, "zp": 114}
    spec = nl.specs.from_rknn(heat, target="RK1808")
    assert (spec.shape, spec.axes, spec.nbytes) == ((1, 57, 46, 46), "NCHW", 57 * 46 * 46)
    image = nl.specs.from_rknn({**heat, "dims": [3, 90, 100, 1], "fmt": 1}, target="rv1126")
    assert (image.shape, image.axes, image.storage_shape) == ((1, 100, 90, 3), "NHWC", (1, 100, 90, 3))
    assert nl.specs.from_rknn({**heat, "dims": [7, 400, 3], "n_dims": 3}, target="rv1109").shape == (3, 400, 7)
    with pytest.raises(nl.NpuLayoutError, match="'rk3399pro' has no native attributes"):
        nl.specs.from_rknn(heat, heat, target="rk3399pro")


def test_rknn_dynamic_fixed_point() -> None:
    spec = nl.specs.from_rknn({**HEAT, "qnt_type": "DFP", "fl": 7})
    assert spec.quantization == nl.Quantization.from_dfp(7) and spec.quantization.scale == 1 / 128
    assert nl.specs.from_rknn({**HEAT, "qnt_type": 1, "fl": -3}).quantization == nl.Quantization(8.0)


def test_rknn_floats_carry_no_quantization() -> None:
    assert nl.specs.from_rknn({**HEAT, "type": "FP16"}).quantization is None
    assert nl.specs.from_rknn({**HEAT, "qnt_type": "NONE"}).quantization is None


def test_rknn_input_rows_with_a_stride() -> None:
    attr = {"name": "images", "dims": [1, 100, 90, 3], "fmt": "NHWC", "type": "UINT8", "w_stride": 96}
    spec = nl.specs.from_rknn(attr)
    assert (spec.axes, spec.storage_shape, spec.nbytes) == ("NHWC", (1, 100, 96, 3), 100 * 96 * 3)
    assert spec.offset(0, 7, 8, 2) == (7 * 96 + 8) * 3 + 2
    by_size = {**attr, "w_stride": 0, "size_with_stride": 100 * 96 * 3}
    assert nl.specs.from_rknn(attr, by_size) == nl.specs.from_rknn(attr, {**by_size, "dims": [1, 100, 96, 3]}) == spec
    assert nl.specs.from_rknn({**attr, "w_stride": 0}).storage_shape == (1, 100, 90, 3)
    assert nl.specs.from_rknn({**attr, "w_stride": 0}, target="RK3588").storage_shape == (1, 100, 96, 3)
    for c in (1, 4):
        of_c = {**attr, "dims": [1, 100, 90, c], "w_stride": 0}
        assert nl.specs.from_rknn(of_c, target="rk3568").storage_shape == (1, 100, 96, c)
    native = {**attr, "w_stride": 96, "size_with_stride": 100 * 96 * 3}
    assert nl.specs.from_rknn({**attr, "w_stride": 0}, native) == spec


def test_rknn_logical_attributes_describe_what_outputs_get_gives() -> None:
    """On an RK3588, 1000 fp16 values have size=2000, size_with_stride=16000; rknn_outputs_get returns 2000 bytes."""
    prob = {"dims": [1, 1000, 1, 1], "fmt": "NCHW", "type": "FP16", "size": 2000, "size_with_stride": 16000}
    assert nl.specs.from_rknn(prob).nbytes == 2000
    last = {"dims": [1, 20, 20, 17], "fmt": "NHWC", "type": "INT8", "w_stride": 0, "size_with_stride": 12800}
    assert nl.specs.from_rknn(last).storage_strides == (6800, 340, 17, 1)


@pytest.mark.parametrize(
    ("attr", "native", "target", "says"),
    [
        ({"dims": [1, 2], "fmt": "NCHW"}, None, None, "'type'"),
        ({**HEAT, "type": "FP8"}, None, None, "FP8"),
        ({**HEAT, "type": 77}, None, None, "expected 0..11"),
        ({**HEAT, "fmt": 9}, None, None, "NCHW, NHWC, NC1HWC2"),
        ({**HEAT, "fmt": "NC1HWC2"}, None, None, "native_attr"),
        ({**HEAT, "qnt_type": "MAGIC"}, None, None, "MAGIC"),
        ({**HEAT, "scale": None}, None, None, "'scale'"),
        ({**HEAT, "scale": 0.0}, None, None, "positive"),
        ({**HEAT, "dims": [1] * 7}, None, None, "1 to 5"),
        ({**HEAT, "dims": [1, 0, 4, 4]}, None, None, "1 or more"),
        ({**HEAT, "n_dims": -1}, None, None, "n_dims -1: expected 0 to 4"),
        ({**HEAT, "n_dims": 5}, None, None, "as many as there are dims"),
        ({**HEAT, "qnt_type": "DFP", "fl": 5000}, None, None, "fl: expected -127 to 149.*got 5000"),
        (HEAT, {**HEAT, "fmt": 2, "dims": [1, 4, 46, 46]}, None, "N, C1, H, W, C2"),
        (HEAT, {**HEAT, "fmt": 2, "dims": [1, 4, 46, 46, 16], "size_with_stride": 1000}, None, "size_with_stride"),
        (HEAT, None, "rk9999", "rk3588"),
        (HEAT, {**HEAT, "fmt": 2, "dims": [1, 3, 46, 46, 16]}, None, "'heat': native dims .1, 3, 46, 46, 16. .* small"),
        (
            HEAT,
            {**HEAT, "fmt": 2, "dims": [1, 4, 46, 45, 16]},
            None,
            "native dims .* are too small for .1, 57, 46, 46.",
        ),
        (HEAT, {**HEAT, "fmt": 1, "dims": [1, 46, 46, 56]}, None, "native dims .* .NHWC. are too small for"),
        (HEAT, {**HEAT, "fmt": 0, "dims": [1, 46, 46, 57]}, None, "native dims .* are not those of .1, 57, 46, 46."),
        (
            {**HEAT, "dims": [1, 57, 5, 5]},
            {**HEAT, "fmt": 2, "dims": [1, 4, 5, 5, 16]},
            None,
            "no size_with_stride, which determines whether planes of 25 pixels are stored as 28",
        ),
        ({"fmt": "NCHW", "type": 2}, HEAT, None, "^RKNN attr has no field 'dims'; it has fmt, type$"),
        (HEAT, {"fmt": "NCHW", "type": 2}, None, "^RKNN native_attr has no field 'dims'; it has fmt, type$"),
        (HEAT, {**HEAT, "dims": 5}, None, "^RKNN native_attr field 'dims': got 5"),
        ([HEAT, HEAT], None, None, "^RKNN attr has no field 'dims'; got a list of 2: give one of its items$"),
        (
            {**HEAT, "type": "UINT8", "zp": -20},
            None,
            None,
            "'heat': zero point -20 is outside uint8 .0 to 255., .* int8 and",
        ),
        ({**HEAT, "zp": 128}, None, None, "zero point 128 is outside int8 .-128 to 127."),
        (HEAT, {**HEAT, "zp": 200}, "rk3588", "zero point 200 is outside int8"),
        ({**HEAT, "type": "INT4", "zp": 8}, None, None, "zero point 8 is outside int4 .-8 to 7., .* int4 and uint4"),
        ({**HEAT, "type": "FP32"}, None, "rk3588", "4 bytes"),
        ({**HEAT, "fmt": "NHWC", "dims": [1, 46, 46, 57], "w_stride": 40}, None, None, "40 pixels"),
    ],
)
def test_rknn_refusals(attr: Any, native: Any, target: str | None, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_rknn(attr, native, target=target)


def test_enums_out_of_range_and_bools() -> None:
    for number in (-1, 12):
        with pytest.raises(nl.NpuLayoutError, match=f"RKNN type {number}: expected 0..11"):
            nl.specs.from_rknn({**HEAT, "type": number})
    with pytest.raises(nl.NpuLayoutError, match="RKNN type 'TRUE'"):
        nl.specs.from_rknn({**HEAT, "type": True})
    assert nl.specs.from_rknn({**HEAT, "type": "bool", "qnt_type": 2}).quantization is None
    assert nl.specs.from_rknn({**HEAT, "type": "INT64", "qnt_type": 2}).quantization is None
    assert nl.specs.from_rknn({"dims": [1, 6], "type": "int4", "qnt_type": 2, "scale": 0.5}).quantization is not None
    for rank, axes in enumerate(("N", "NC", "NCW", "NCHW", "NCDHW"), start=1):
        assert nl.specs.from_rknn({"dims": [2] * rank, "type": 2}).axes == axes
    with pytest.raises(nl.NpuLayoutError, match="expected 1 to 5 of them"):
        nl.specs.from_rknn({"dims": [2] * 6, "type": 2})
    assert nl.specs.from_rknn({"dims": [3, 4, 5, 6], "n_dims": 2, "type": 2}).shape == (3, 4)


def test_the_lines_that_demos_print() -> None:
    """dump_tensor_attr of rknn_model_zoo and of the SDK's demos, an output of a detector."""
    line = (
        "  index=1, name=output1, n_dims=4, dims=[1, 255, 40, 40], n_elems=408000, size=408000, fmt=NCHW, type=INT8, "
        "qnt_type=AFFINE, zp=-128, scale=0.003922"
    )
    spec = nl.specs.from_rknn(line)
    assert (spec.name, spec.shape, spec.axes, spec.dtype) == ("output1", (1, 255, 40, 40), "NCHW", "int8")
    assert spec.quantization == nl.Quantization(0.003922, -128)
    native = (
        "index=1, name=output1, n_dims=5, dims=[1, 16, 40, 40, 16], n_elems=409600, size=409600, w_stride = 0, "
        "size_with_stride=409600, fmt=NC1HWC2, type=INT8, qnt_type=AFFINE, zp=-128, scale=0.003922"
    )
    spec = nl.specs.from_rknn(line, native)
    assert spec.storage_shape == (1, 16, 40, 40, 16) and spec.offset(0, 17, 2, 3) == 16 * 1600 + (2 * 40 + 3) * 16 + 1
    four = native.replace("[1, 16, 40, 40, 16]", "[1, 16, 40, 40]")  # older demos print four of them
    with pytest.raises(nl.NpuLayoutError, match="n_dims 5: expected 0 to 4"):
        nl.specs.from_rknn(line, four)
    with pytest.raises(nl.NpuLayoutError, match="no field 'dims'"):
        nl.specs.from_rknn("index=1, name=output1")


def test_sizes_in_bytes_of_a_native_buffer() -> None:
    attr = dict(name="x", dims=[1, 16, 8, 8], fmt="NCHW", type="INT4", qnt_type="NONE")
    spec = nl.specs.from_rknn(attr, {**attr, "size_with_stride": 512})
    assert (spec.size, spec.nbytes) == (1024, 512)  # two elements in each byte
    half = {**attr, "type": "FP16"}
    with pytest.raises(nl.LayoutError, match="size_with_stride 2049 is not a multiple of the 2 bytes"):
        nl.specs.from_rknn(half, {**half, "size_with_stride": 2049})
