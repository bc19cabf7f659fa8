"""sTIDL_IOBufDesc_t as a struct and as a mapping: places are those of the copies in TI's runtime."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support.vendor_metadata import example

INTS = ("Width", "Height", "NumChannels", "DIM2", "DIM1", "ChannelPitch", "NumBatches", "PadL", "PadT", "PadR", "PadB",
        "PadCh", "ElementType", "ZeroPoint", "Layout", "BufSize")  # fmt: skip


class Desc(ctypes.Structure):
    """The fields of itidl_io.h that matter here, for two buffers on a side."""

    _fields_ = (
        ("numInputBuf", ctypes.c_int32),
        ("numOutputBuf", ctypes.c_int32),
        *((f"{side}{field}", ctypes.c_int32 * 2) for side in ("in", "out") for field in INTS),
        *((f"{side}TensorScale", ctypes.c_float * 2) for side in ("in", "out")),
        *((f"{side}DataName", (ctypes.c_int8 * 16) * 2) for side in ("in", "out")),
    )


def struct() -> Desc:
    desc = Desc(numInputBuf=1, numOutputBuf=2)
    one = dict(Width=6, Height=5, NumChannels=3, DIM1=1, DIM2=1, NumBatches=2, PadL=2, PadT=1, PadR=1, PadB=3, PadCh=1)
    two = dict(Width=4, Height=2, NumChannels=3, DIM1=2, DIM2=3, NumBatches=1)
    for i, fields in ((0, {**one, "ChannelPitch": 90, "ElementType": 1}), (1, {**two, "ElementType": 6})):
        for name, value in fields.items():
            getattr(desc, f"out{name}")[i] = value
    desc.outTensorScale[0], desc.outTensorScale[1], desc.outZeroPoint[0] = 32.0, 1.0, 3
    for place, byte in enumerate(b"heat"):
        desc.outDataName[0][place] = byte
    return desc


def test_planes_with_borders() -> None:
    """idx = offset + c * channelPitch + h * linePitch + w, offset = linePitch * padT + padL."""
    spec = nl.specs.from_tidl(struct())
    assert (spec.name, spec.shape, spec.axes, spec.dtype) == ("heat", (2, 3, 5, 6), "NCHW", "int8")
    line, plane = 2 + 6 + 1, 90
    for n, c, h, w in np.ndindex(2, 3, 5, 6):
        assert spec.offset(n, c, h, w) == n * 4 * plane + line * 1 + 2 + c * plane + h * line + w
    assert spec.size == 2 * 4 * plane
    assert spec.quantization == nl.Quantization(1 / 32, 3)
    assert spec.unpack(np.full(spec.size, 35, np.int8)).max() == 1.0
    assert nl.specs.from_tidl(ctypes.pointer(struct())) == spec


def test_dims_before_the_channels() -> None:
    spec = nl.specs.from_tidl(struct(), index=1)
    assert (spec.name, spec.shape, spec.axes, spec.dtype) == ("", (1, 2, 3, 3, 2, 4), "NABCHW", "float32")
    assert spec.storage_strides == (2 * 3 * 3 * 8, 3 * 3 * 8, 3 * 8, 8, 4, 1) and spec.quantization is None


def test_numbers_of_one_buffer() -> None:
    """As TI's Python module has them."""
    detail = dict(inWidth=4, inHeight=2, inNumChannels=3, inElementType=0, inTensorScale=1.0, inDataName="image")
    spec = nl.specs.from_tidl(detail, side="input")
    assert spec == nl.TensorSpec((1, 3, 2, 4), "NCHW", "uint8", name="image")  # no scale: pixels
    with pytest.raises(nl.LayoutError, match="is the number of one buffer; index 1: expected 0"):
        nl.specs.from_tidl(detail, side="input", index=1)


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0, "uint8"), (1, "int8"), (2, "uint16"), (3, "int16"), (4, "uint32"), (5, "int32"), (6, "float32"), (7, "uint64"),
     (8, "int64"), ("TIDL_SignedShort", "int16")],
)  # fmt: skip
def test_types(number: Any, dtype: str) -> None:
    given = dict(outWidth=4, outHeight=2, outNumChannels=3, outElementType=number)
    assert nl.specs.from_tidl(given).dtype == dtype


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({}, {"index": 2}, "TIDL index 2: expected 0 to 1, as many outputs"),
        ({}, {"index": -1}, "TIDL index -1"),
        ({}, {"side": "both"}, "side: expected input or output"),
        ({}, {"side": "input"}, "no field 'inElementType'"),
        ({"outElementType": [9, 0]}, {}, "TIDL element type 9: expected 0..8"),
        ({"outLayout": [1, 0]}, {}, "layout NHWC: expected NCHW"),
        ({"outWidth": [0, 1]}, {}, "expected 1 or more, and 0 or more"),
        ({"outPadL": [-1, 1]}, {}, "expected 1 or more, and 0 or more"),
        ({"outTensorScale": [0.0, 1]}, {}, "tensor scale 0.0: expected a positive number"),
        ({"outTensorScale": ["x", 1]}, {}, "TensorScale"),
        ({"outZeroPoint": [200, 0]}, {}, "zero point 200 is outside int8"),
        ({"outChannelPitch": [10, 4]}, {}, "elements overlap"),
        ({"outBufSize": [20, 4]}, {}, "size 20 is too small"),
        ({"outHeight": [3]}, {"index": 1}, "field 'outHeight'"),
    ],
)
def test_refusals(change: dict[str, Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_tidl({**example("tidl")[0], **change}, **options)
