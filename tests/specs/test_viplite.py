"""vip_buffer_create_params_t as a struct and as a mapping: sizes are the fastest first, memory is dense."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support.vendor_metadata import example


class Dfp(ctypes.Structure):
    _fields_ = (("fixed_point_pos", ctypes.c_int32),)


class Affine(ctypes.Structure):
    _fields_ = (("scale", ctypes.c_float), ("zeroPoint", ctypes.c_int32))


class Data(ctypes.Union):
    _fields_ = (("dfp", Dfp), ("affine", Affine))


class Params(ctypes.Structure):
    """vip_lite.h"""

    _fields_ = (
        ("num_of_dims", ctypes.c_uint32),
        ("sizes", ctypes.c_uint32 * 6),
        ("data_format", ctypes.c_int32),
        ("quant_format", ctypes.c_int32),
        ("quant_data", Data),
        ("memory_type", ctypes.c_uint32),
    )


def test_a_struct() -> None:
    params = Params(4, (5, 3, 4, 2), 2, 2, Data(affine=Affine(0.5, 128)))
    spec = nl.specs.from_viplite(params, name="y")
    assert (spec.name, spec.shape, spec.axes, spec.dtype) == ("y", (2, 4, 3, 5), "NCHW", "uint8")
    assert spec.quantization == nl.Quantization(0.5, 128) and spec.nbytes == 120
    for n, c, h, w in np.ndindex(2, 4, 3, 5):
        assert spec.offset(n, c, h, w) == w + 5 * (h + 3 * (c + 4 * n))
    assert nl.specs.from_viplite(ctypes.pointer(params), name="y") == spec
    fixed = Params(2, (7, 1), 5, 1, Data(dfp=Dfp(-2)))
    spec = nl.specs.from_viplite(fixed)
    assert (spec.shape, spec.axes, spec.dtype) == ((1, 7), "NC", "int16") and spec.quantization == nl.Quantization(4.0)


def test_channels_that_are_fastest() -> None:
    params = dict(sizes=[3, 8, 6, 1], data_format="VIP_BUFFER_FORMAT_FP16", quant_format="VIP_BUFFER_QUANTIZE_NONE")
    spec = nl.specs.from_viplite(params, layout="NHWC")
    assert (spec.shape, spec.axes, spec.storage_strides) == ((1, 6, 8, 3), "NHWC", (144, 24, 3, 1))


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0, "float32"), (1, "float16"), (2, "uint8"), (3, "int8"), (4, "uint16"), (5, "int16"), (7, "bfloat16"),
     (8, "int32"), (9, "uint32"), (10, "int64"), (11, "uint64"), (12, "float64"), ("BOOL8", "bool")],
)  # fmt: skip
def test_types(number: Any, dtype: str) -> None:
    spec = nl.specs.from_viplite(dict(sizes=[4], data_format=number, quant_format=0))
    assert (spec.dtype, spec.shape, spec.quantization) == (dtype, (4,), None)


def test_floats_have_no_scale() -> None:
    assert nl.specs.from_viplite({**example("viplite")[0], "data_format": 0}).quantization is None


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({"num_of_dims": 0}, {}, "num_of_dims 0: expected 1 to 6"),
        ({"num_of_dims": 7}, {}, "as many as there are sizes"),
        ({"sizes": [5, 0, 4, 1]}, {}, "every extent must be 1 or more"),
        ({}, {"layout": "NHW"}, "layout NHW has 3 axes, but shape .* has 4"),
        ({"data_format": 6}, {}, "VIPLite data_format 'CHAR'"),
        ({"data_format": 13}, {}, "VIPLite data_format 'INT4'"),
        ({"data_format": 99}, {}, "VIPLite data_format 99: expected 0..14"),
        ({"quant_format": 3}, {}, "VIPLite quant_format 3: expected 0..2"),
        ({"quant_format": "PER_CHANNEL"}, {}, "quant_format PER_CHANNEL: expected one of NONE"),
        ({"quant_data": None}, {}, "no field 'quant_data'"),
        ({"quant_data": {"dfp": {}}}, {}, "no field 'affine'"),
        ({"quant_data": {"affine": {"scale": 0.5, "zeroPoint": 200}}}, {}, "zero point 200 is outside int8"),
        ({"quant_data": {"affine": {"scale": 0.0, "zeroPoint": 0}}}, {}, "expected positive numbers"),
    ],
)
def test_refusals(change: dict[str, Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_viplite({**example("viplite")[0], **change}, **options)
