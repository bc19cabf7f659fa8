"""QNN's tensors: the structs of QnnTypes.h, the JSON of qnn-context-binary-utility, negated zero points."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import npu_layout as nl


class ScaleOffset(ctypes.Structure):
    """Qnn_ScaleOffset_t"""

    _fields_ = (("scale", ctypes.c_float), ("offset", ctypes.c_int32))


class AxisScaleOffset(ctypes.Structure):
    """Qnn_AxisScaleOffset_t"""

    _fields_ = (
        ("axis", ctypes.c_int32),
        ("numScaleOffsets", ctypes.c_uint32),
        ("scaleOffset", ctypes.POINTER(ScaleOffset)),
    )


class Encoding(ctypes.Union):
    """The union in Qnn_QuantizeParams_t"""

    _fields_ = (("scaleOffsetEncoding", ScaleOffset), ("axisScaleOffsetEncoding", AxisScaleOffset))


class Params(ctypes.Structure):
    """Qnn_QuantizeParams_t"""

    _anonymous_ = ("encoding",)
    _fields_ = (
        ("encodingDefinition", ctypes.c_int),
        ("quantizationEncoding", ctypes.c_int),
        ("encoding", Encoding),
    )


class Tensor(ctypes.Structure):
    """Qnn_TensorV1_t, as far as it is read"""

    _fields_ = (
        ("id", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("dataFormat", ctypes.c_uint32),
        ("dataType", ctypes.c_int),
        ("quantizeParams", Params),
        ("rank", ctypes.c_uint32),
        ("dimensions", ctypes.POINTER(ctypes.c_uint32)),
    )


DIMS = (ctypes.c_uint32 * 4)(1, 3, 4, 5)


def params(kind: str = "SCALE_OFFSET", definition: str = "DEFINED", **parts: Any) -> dict[str, Any]:
    return dict(
        definition=f"QNN_DEFINITION_{definition}", quantizationEncoding=f"QNN_QUANTIZATION_ENCODING_{kind}", **parts
    )


def json(**change: Any) -> dict[str, Any]:
    """As an item of graphOutputs."""
    return {
        "name": "heat",
        "dimensions": [1, 3, 4, 5],
        "rank": 4,
        "dataType": "QNN_DATATYPE_UFIXED_POINT_8",
        "dataFormat": "QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER",
        "quantizeParams": params(scaleOffset={"scale": 0.5, "offset": -41}),
        **change,
    }


def test_structs() -> None:
    tensor = Tensor(1, b"heat", 1, 0, 0x0408, Params(1, 0, Encoding(ScaleOffset(0.5, -41))), 4, DIMS)
    spec = nl.specs.from_qnn(tensor)
    assert spec == nl.specs.from_qnn(json()) == nl.specs.from_qnn({"info": json()})
    assert (spec.axes, spec.dtype, spec.quantization) == ("NHWC", "uint8", nl.Quantization(0.5, 41))
    assert spec.unpack(np.full(60, 43, np.uint8))[0, 0, 0, 0] == 1.0
    pairs = (ScaleOffset * 5)(*[ScaleOffset(0.5 * (i + 1), -i) for i in range(5)])
    tensor.quantizeParams = Params(1, 1, Encoding(axisScaleOffsetEncoding=AxisScaleOffset(3, 5, pairs)))
    assert nl.specs.from_qnn(tensor).quantization == nl.Quantization(np.arange(1, 6) / 2, np.arange(5), 3)
    tensor.quantizeParams = Params(0x7FFFFFFF, 0x7FFFFFFF)
    assert nl.specs.from_qnn(tensor).quantization is None


def test_json_with_an_axis_and_with_widths() -> None:
    pairs = [{"scale": 0.5, "offset": 0}, {"scale": 0.25, "offset": -3}, {"scale": 1.0, "offset": 4}]
    given = json(
        dimensions=[2, 3], rank=2, dataType="QNN_DATATYPE_SFIXED_POINT_8",
        quantizeParams=params("AXIS_SCALE_OFFSET", axisScaleOffset={"axis": 1, "scaleOffsets": pairs}),
    )  # fmt: skip
    spec = nl.specs.from_qnn(given)
    assert (spec.axes, spec.quantization) == ("NC", nl.Quantization([0.5, 0.25, 1.0], [0, 3, -4], 1))
    wide = dict(bitwidth=16, axis=0, numElements=2, scales=[0.5, 1.0, 9.0], offsets=None)
    given = json(
        dimensions=[2], rank=1, dataType="SFIXED_POINT_16",
        quantizeParams=params("BW_AXIS_SCALE_OFFSET", bwAxisScaleOffsetEncoding=wide),
    )  # fmt: skip
    assert nl.specs.from_qnn(given).quantization == nl.Quantization([0.5, 1.0], 0, 0)
    given["quantizeParams"] = params("BW_SCALE_OFFSET", bwScaleOffset=dict(bitwidth=16, scale=0.5, offset=-3))
    assert nl.specs.from_qnn(given).quantization == nl.Quantization(0.5, 3)


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0x0008, "int8"), (0x0016, "int16"), (0x0032, "int32"), (0x0064, "int64"), (0x0108, "uint8"), (0x0116, "uint16"),
     (0x0132, "uint32"), (0x0164, "uint64"), (0x0216, "float16"), (0x0232, "float32"), (0x0264, "float64"),
     (0x0308, "int8"), (0x0316, "int16"), (0x0332, "int32"), (0x0408, "uint8"), (0x0416, "uint16"), (0x0432, "uint32"),
     (0x0508, "bool")],
)  # fmt: skip
def test_types_by_number(number: int, dtype: str) -> None:
    assert nl.specs.from_qnn(json(dataType=number, quantizeParams=None)).dtype == dtype


def test_axes() -> None:
    for dims, axes in (([2, 3], "NC"), ([2, 3, 4], "NWC"), ([1, 2, 3, 4], "NHWC"), ([1, 2, 3, 4, 5], "NDHWC")):
        assert nl.specs.from_qnn(json(dimensions=dims, rank=len(dims))).axes == axes
    assert nl.specs.from_qnn(json(), axes="NCHW").axes == "NCHW"


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        (json(rank=3), {}, "rank is 3, but there are 4 dimensions"),
        (json(dataFormat="QNN_TENSOR_DATA_FORMAT_UBWC_RGBA8888"), {}, "dataFormat UBWC_RGBA8888: expected FLAT_BUFFER"),
        (json(dataFormat=1), {}, "dataFormat 1: expected 0..0"),
        (json(dataType="QNN_DATATYPE_UFIXED_POINT_4"), {}, "'UFIXED_POINT_4': expected one of"),
        (json(dataType="QNN_DATATYPE_FLOAT_32"), {}, "FLOAT_32 with a scale: expected a fixed-point type"),
        (json(), {"axes": "NC"}, "axes 'NC' has 2 axes, but .* has 4"),
        (json(quantizeParams=params(scaleOffset={"scale": 0.5, "offset": 41})), {}, "zero point -41 is outside uint8"),
        (json(quantizeParams=params()), {}, "quantizationEncoding is SCALE_OFFSET, but quantizeParams has no scaleOff"),
        (json(quantizeParams=params("VECTOR")), {}, "quantizationEncoding VECTOR: expected one of"),
        (
            json(quantizeParams=params("BW_SCALE_OFFSET", bwScaleOffset=dict(bitwidth=4, scale=0.5, offset=0))),
            {},
            "bitwidth 4 of uint8: values in the low bits",
        ),
        (
            json(
                quantizeParams=params(
                    "AXIS_SCALE_OFFSET", axisScaleOffset=dict(axis=3, numScaleOffsets=2, scaleOffset=[])
                )
            ),
            {},
            "0 scales and 0 offsets: expected 2 of each",
        ),
        (
            json(
                quantizeParams=params(
                    "AXIS_SCALE_OFFSET", axisScaleOffset=dict(axis=7, scaleOffset=[dict(scale=1, offset=0)])
                )
            ),
            {},
            "quantization axis 7: expected 0 to 3",
        ),
        (
            json(
                quantizeParams=params(
                    "AXIS_SCALE_OFFSET", axisScaleOffset=dict(axis=3, scaleOffset=[dict(scale=1, offset=0)])
                )
            ),
            {},
            "axis 3 .C. has 5 elements, but quantization has 1 scales",
        ),
    ],
)
def test_refusals(given: Any, options: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_qnn(given, **options)
