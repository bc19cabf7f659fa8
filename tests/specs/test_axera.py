"""AX_ENGINE_IO_META_T as a struct with pointers, and as a mapping: pictures and tensors."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import pytest

import npu_layout as nl


class Extra(ctypes.Structure):
    """AX_ENGINE_IO_META_EX_T"""

    _fields_ = (("eColorSpace", ctypes.c_int), ("u64Reserved", ctypes.c_uint64 * 18))


class Meta(ctypes.Structure):
    """AX_ENGINE_IO_META_T of 64 bits"""

    _fields_ = (
        ("pName", ctypes.c_char_p),
        ("pShape", ctypes.POINTER(ctypes.c_int32)),
        ("nShapeSize", ctypes.c_uint8),
        ("eLayout", ctypes.c_int),
        ("eMemoryType", ctypes.c_int),
        ("eDataType", ctypes.c_int),
        ("pExtraMeta", ctypes.POINTER(Extra)),
        ("nSize", ctypes.c_uint32),
        ("nQuantizationValue", ctypes.c_uint32),
        ("pStride", ctypes.POINTER(ctypes.c_int32)),
        ("u64Reserved", ctypes.c_uint64 * 9),
    )


IMAGE: dict[str, Any] = dict(pName="x", pShape=[1, 8, 6, 3], nShapeSize=4, eLayout=1, eDataType=1, nSize=144)


def numbers(*values: int) -> Any:
    return (ctypes.c_int32 * len(values))(*values)


def test_a_struct() -> None:
    meta = Meta(b"x", numbers(1, 8, 6, 3), 4, 1, 0, 1, None, 144, 0, None)
    assert nl.specs.from_axera(meta) == nl.specs.from_axera(IMAGE)
    assert nl.specs.from_axera(meta) == nl.TensorSpec.of_storage((1, 8, 6, 3), "NHWC", "uint8", name="x")
    extra = Extra(7)
    meta.pExtraMeta = ctypes.pointer(extra)
    assert nl.specs.from_axera(meta).channels == "BGR"
    padded = Meta(b"y", numbers(1, 5, 3, 4), 4, 2, 0, 3, None, 5 * 64 * 4, 0, numbers(1280, 256, 64, 4))
    spec = nl.specs.from_axera(padded)
    assert (spec.axes, spec.dtype, spec.nbytes) == ("NCHW", "float32", 1280)
    for c, h, w in itertools.product(range(5), range(3), range(4)):
        assert spec.offset(0, c, h, w) == c * 64 + h * 16 + w


def test_outputs_without_a_layout_and_names() -> None:
    given = {**IMAGE, "pShape": [1, 84, 100], "nShapeSize": 3, "eLayout": 0, "eDataType": "FLOAT32", "nSize": 33600}
    assert nl.specs.from_axera(given) == nl.TensorSpec((1, 84, 100), "NCW", name="x")
    assert nl.specs.from_axera({**given, "pName": object()}, name="heads").name == "heads"
    assert nl.specs.from_axera({**given, "pName": object()}).name == ""
    gray = {**IMAGE, "pShape": [1, 8, 6, 1], "nSize": 48, "pExtraMeta": dict(eColorSpace="AX_ENGINE_CS_RGB")}
    assert nl.specs.from_axera(gray).channels is None


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(1, "uint8"), (2, "uint16"), (3, "float32"), (4, "int16"), (5, "int8"), (6, "int32"), (7, "uint32"),
     (8, "float64"), (9, "bfloat16")],
)  # fmt: skip
def test_types_by_number(number: int, dtype: str) -> None:
    assert nl.specs.from_axera({**IMAGE, "eDataType": number, "nSize": 0}).dtype == dtype


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"nSize": 100}, "nSize is 100 bytes, but .* needs 144: shape, type and size contradict each other"),
        ({"pExtraMeta": dict(eColorSpace=4)}, "NV12 is a picture of several planes or packed samples: use FrameSpec"),
        ({"eDataType": 100}, "'UINT10_PACKED': expected one of"),
        ({"eDataType": 0}, "'UNKNOWN': expected one of"),
        ({"eDataType": 55}, "eDataType 55: expected one of"),
        ({"eLayout": 3}, "eLayout 3: expected 0..2"),
        ({"eLayout": "NC"}, "eLayout NC: expected one of"),
        ({"nShapeSize": 0}, "nShapeSize 0: expected 1 to 32"),
        ({"nShapeSize": 5}, "field 'pShape'"),
        ({"pStride": [144, 18, 3]}, "field 'pStride'"),
        ({"pStride": [144, 17, 3, 1]}, "elements overlap"),
        ({"pStride": [160, 20, 3, 1], "nSize": 150}, "nSize is 150 bytes, but"),
        ({"pExtraMeta": dict(eColorSpace=77)}, "eColorSpace 77: expected"),
        ({"pShape": None}, "no field 'pShape'|field 'pShape'"),
    ],
)
def test_refusals(change: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_axera({**IMAGE, **change})
