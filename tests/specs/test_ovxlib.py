"""vsi_nn_tensor_attr_t as a struct of C, as ksnn declares it, and as a mapping: sizes are the fastest first."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support.vendor_metadata import example


class Affine(ctypes.Structure):
    _fields_ = (("zero_point", ctypes.c_int32), ("scale", ctypes.c_float))


class PerChannel(ctypes.Structure):
    _fields_ = (
        ("scales", ctypes.POINTER(ctypes.c_float)),
        ("scale_dim", ctypes.c_int32),
        ("channel_dim", ctypes.c_int32),
        ("zero_points", ctypes.POINTER(ctypes.c_int32)),
        ("zero_points_dim", ctypes.c_int32),
    )


class Fixed(ctypes.Structure):
    _fields_ = (("fl", ctypes.c_int8),)


class Union(ctypes.Union):
    """What C calls nothing: its fields are those of the struct around it."""

    _anonymous_ = ("fixed", "affine", "each")
    _fields_ = (("fixed", Fixed), ("affine", Affine), ("each", PerChannel))


class Dtype(ctypes.Structure):
    """vsi_nn_dtype_t"""

    _anonymous_ = ("union",)
    _fields_ = (("fmt", ctypes.c_int), ("vx_type", ctypes.c_int), ("qnt_type", ctypes.c_int), ("union", Union))


class Attr(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32 * 8),
        ("dim_num", ctypes.c_uint32),
        ("vtl", ctypes.c_int),
        ("is_const", ctypes.c_int),
        ("dtype", Dtype),
    )


class Meanful(ctypes.Union):
    """ksnn, kplatform/vim3/vim3_nn_types.py: enums that are one byte, and a union with names."""

    _fields_ = (
        ("dynamic_fixed_point", Fixed),
        ("affine_asymmetric", Affine),
        ("affine_perchannel_symmetric", PerChannel),
    )


class Qdata(ctypes.Structure):
    _fields_ = (("qnt_type", ctypes.c_char), ("meanful", Meanful))


class KsnnDtype(ctypes.Structure):
    _fields_ = (("fmt", ctypes.c_char), ("nn_type", ctypes.c_int), ("qdata", Qdata))


class KsnnTensor(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint * 8),
        ("dim_num", ctypes.c_uint),
        ("vtl", ctypes.c_int),
        ("is_const", ctypes.c_int),
        ("dtype", KsnnDtype),
    )


def test_ksnns_struct_is_the_library_s() -> None:
    """The same bytes, read by either declaration."""
    attr = Attr((5, 3, 4, 2), 4, dtype=Dtype(1, 3, 2, Union(affine=Affine(128, 0.5))))
    seen = KsnnTensor.from_buffer_copy(bytes(attr)[: ctypes.sizeof(KsnnTensor)].ljust(ctypes.sizeof(KsnnTensor)))
    for given in (attr, seen, ctypes.pointer(attr)):
        spec = nl.specs.from_ovxlib(given, name="y")
        assert (spec.name, spec.shape, spec.axes, spec.dtype) == ("y", (2, 4, 3, 5), "NCHW", "uint8")
        assert spec.quantization == nl.Quantization(0.5, 128) and spec.nbytes == 120
        for n, c, h, w in np.ndindex(2, 4, 3, 5):
            assert spec.offset(n, c, h, w) == w + 5 * (h + 3 * (c + 4 * n))


def test_dynamic_fixed_point() -> None:
    given = KsnnTensor((7, 1), 2, dtype=KsnnDtype(b"\0", 4, Qdata(b"\1", Meanful(dynamic_fixed_point=Fixed(-2)))))
    spec = nl.specs.from_ovxlib(given)
    assert (spec.shape, spec.axes, spec.dtype) == ((1, 7), "NC", "int16") and spec.quantization == nl.Quantization(4.0)


def test_a_scale_for_each_channel() -> None:
    """channel_dim counts from the fastest axis: of W, H, C, N it is 2."""
    scales, zeros = (ctypes.c_float * 4)(0.5, 1, 2, 4), (ctypes.c_int32 * 4)(1, 2, 3, 4)
    each = PerChannel(scales, 4, 2, zeros, 4)
    spec = nl.specs.from_ovxlib(Attr((5, 3, 4, 1), 4, dtype=Dtype(0, 2, 3, Union(each=each))))
    assert spec.quantization == nl.Quantization([0.5, 1, 2, 4], [1, 2, 3, 4], 1)
    dtype = dict(vx_type=2, qnt_type=3, scales=[0.5, 1], scale_dim=2, channel_dim=0)
    spec = nl.specs.from_ovxlib(dict(size=[2, 8, 6, 1], dtype=dtype), layout="NHWC")
    assert (spec.shape, spec.axes, spec.quantization) == ((1, 6, 8, 2), "NHWC", nl.Quantization([0.5, 1], 0, 3))


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(2, "int8"), (3, "uint8"), (4, "int16"), (5, "uint16"), (6, "int32"), (7, "uint32"), (8, "int64"), (9, "uint64"),
     (0x0A, "float32"), (0x0B, "float64"), (0x0F, "float16"), (0x11, "bool"), (0x81A, "bfloat16")],
)  # fmt: skip
def test_types(number: int, dtype: str) -> None:
    """vx_types.h: VX_TYPE_INT8 is 2, VX_TYPE_FLOAT32 is 10."""
    spec = nl.specs.from_ovxlib(dict(size=[4], dtype=dict(vx_type=number, qnt_type=0xFF)))
    assert (spec.dtype, spec.shape, spec.quantization) == (dtype, (4,), None)


def test_floats_have_no_scale() -> None:
    dtype = dict(vx_type=0x0F, qnt_type=2, scale=0.5, zero_point=3)
    assert nl.specs.from_ovxlib(dict(size=[4], dtype=dtype)).quantization is None


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({"dim_num": 0}, {}, "dim_num 0: expected 1 to 8"),
        ({"dim_num": 9}, {}, "as many as there are sizes"),
        ({"size": [5, 0, 4, 1], "dim_num": 4}, {}, "every extent must be 1 or more"),
        ({}, {"layout": "NHW"}, "layout NHW has 3 axes, but shape .* has 4"),
        ({"dtype": None}, {}, "no field 'dtype'"),
        ({"dtype": {"vx_type": 0x12, "qnt_type": 0}}, {}, r"vx_type 18: expected one of 2 \(int8\)"),
        ({"dtype": {"nn_type": 0x101, "qnt_type": 0}}, {}, "nn_type 257: expected one of"),
        ({"dtype": {"qnt_type": 0}}, {}, "no field 'vx_type'"),
        ({"dtype": {"vx_type": 3, "qnt_type": 4}}, {}, r"qnt_type 4: expected one of 0 \(NONE\)"),
        ({"dtype": {"vx_type": 3, "qnt_type": 2, "scale": 0.5}}, {}, "no field 'zero_point'"),
        ({"dtype": {"vx_type": 2, "qnt_type": 2, "scale": 1, "zero_point": 200}}, {}, "zero point 200 is outside int8"),
        ({"dtype": {"vx_type": 2, "qnt_type": 2, "scale": 0.0, "zero_point": 0}}, {}, "expected positive numbers"),
        (
            {"dtype": dict(vx_type=2, qnt_type=3, scales=[1.0] * 4, scale_dim=4, channel_dim=4)},
            {},
            "channel_dim 4: expected 0 to 3, counted from the fastest axis",
        ),
    ],
)
def test_refusals(change: dict[str, Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_ovxlib({**example("ovxlib")[0], **change}, **options)
