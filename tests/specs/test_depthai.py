"""DepthAI's TensorInfo: orders as hex digits, strides in bytes, a zero point that is a float."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

# include/depthai/common/TensorInfo.hpp
ORDERS = {
    "NHWC": 0x4213, "NHCW": 0x4231, "NCHW": 0x4321, "HWC": 0x213, "CHW": 0x321, "WHC": 0x123, "HCW": 0x231,
    "WCH": 0x132, "CWH": 0x312, "NC": 0x43, "CN": 0x34, "C": 0x3, "H": 0x2, "W": 0x1,
}  # fmt: skip
HEAT = dict(name="heat", order=0x4321, dataType=0, dims=[1, 5, 3, 4], strides=[0, 24, 8, 2], numDimensions=4)


@pytest.mark.parametrize("order", ORDERS)
def test_orders_by_number_and_by_name(order: str) -> None:
    dims = [2 + i for i in range(len(order))]
    steps = [2 * int(np.prod(dims[i + 1 :])) for i in range(len(dims))]
    given = {**HEAT, "order": ORDERS[order], "dims": dims, "strides": steps, "numDimensions": len(dims)}
    spec = nl.specs.from_depthai(given)
    assert (spec.axes, str(spec.layout), spec.shape, spec.dtype) == (order, order, tuple(dims), "float16")
    enum = SimpleNamespace(name=order, value=ORDERS[order])  # as TensorInfo.StorageOrder
    assert nl.specs.from_depthai({**given, "order": enum}) == nl.specs.from_depthai({**given, "order": order}) == spec
    memory = np.arange(spec.size, dtype=np.float16)
    np.testing.assert_array_equal(spec.unpack(memory), memory.reshape(dims))


def test_strides_are_bytes_with_a_gap_behind_the_last_row() -> None:
    spec = nl.specs.from_depthai({**HEAT, "strides": [0, 96, 32, 2]})
    assert spec.nbytes == 5 * 96 and spec.storage_strides[1:] == (48, 16, 1)
    for c, h, w in itertools.product(range(5), range(3), range(4)):
        assert spec.offset(0, c, h, w) * 2 == c * 96 + h * 32 + w * 2
    assert nl.specs.from_depthai(HEAT) == nl.TensorSpec((1, 5, 3, 4), "NCHW", "float16", name="heat")
    for nothing in ([], None):
        assert nl.specs.from_depthai({**HEAT, "strides": nothing}) == nl.specs.from_depthai(HEAT)
    one = {**HEAT, "dims": [1, 1, 1, 1], "strides": [0, 0, 0, 2]}
    assert nl.specs.from_depthai(one).nbytes == 2


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0, "float16"), (1, "uint8"), (2, "int32"), (3, "float32"), (4, "int8"), (5, "float64"), (6, "uint16")],
)
def test_types(number: int, dtype: str) -> None:
    assert nl.specs.from_depthai({**HEAT, "dataType": number, "strides": None}).dtype == dtype


def test_quantization() -> None:
    given = {**HEAT, "dataType": "U8F", "strides": None, "quantization": True, "qpScale": 0.5, "qpZp": 3.25}
    spec = nl.specs.from_depthai(given)
    assert spec.quantization == nl.Quantization(0.5, 3.25)
    assert spec.unpack(np.full(60, 5, np.uint8))[0, 0, 0, 0] == np.float32(0.875)
    assert nl.specs.from_depthai({**given, "quantization": False}).quantization is None
    assert nl.specs.from_depthai({**given, "qpZp": 3.0}).quantization == nl.Quantization(0.5, 3)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dims": [5, 3, 4]}, "order NCHW, numDimensions 4 and dims .5, 3, 4. contradict each other"),
        ({"numDimensions": 3}, "contradict each other"),
        ({"order": 0x4325}, "order 17189: expected different hex digits"),
        ({"order": 0x4322}, "expected different hex digits"),
        ({"order": -5}, "expected different hex digits"),
        ({"order": "NCHX"}, "expected different hex digits"),
        ({"order": None}, "no field 'order'"),
        ({"dataType": 9}, "dataType 9: expected 0..6"),
        ({"dataType": "FP8"}, "'FP8': expected one of"),
        (
            {"strides": [0, 24, 8, 1]},
            "are bytes: expected multiples of the 2 bytes of an element, got 1 for an axis of",
        ),
        ({"strides": [0, 24, 0, 2]}, "got 0 for an axis of 3 elements"),
        ({"strides": [24, 8, 2]}, "expected 4 of them"),
        ({"strides": [0, 24, 2, 2]}, "elements overlap"),
        ({"quantization": True, "qpScale": 0.5}, "quantization is set for float16"),
        ({"dataType": "I8", "strides": None, "quantization": True, "qpScale": 0.0}, "positive"),
        ({"dataType": "I8", "strides": None, "quantization": True, "qpScale": 1.0, "qpZp": 200.0}, "outside int8"),
    ],
)
def test_refusals(change: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_depthai({**HEAT, **change})
