"""MNN's tensors and Vars: order by name and number, types, and what contradicts itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl


class Tensor:
    """As MNN.Tensor: a type that only MNN can compare."""

    def __init__(self, shape: tuple[int, ...], order: int, dtype: Any = np.float32) -> None:
        self.about = shape, order, dtype

    def getShape(self) -> tuple[int, ...]:
        return self.about[0]

    def getDimensionType(self) -> int:
        return self.about[1]

    def getDataType(self) -> object:
        return object()

    def getNumpyData(self) -> np.ndarray:
        return np.zeros(self.about[0], self.about[2])


class Enum:
    """As pybind11's enums of MNN.expr, which have no name."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def test_host_tensors() -> None:
    spec = nl.specs.from_mnn(Tensor((1, 5, 3, 4), 1), name="y")
    assert spec == nl.TensorSpec((1, 5, 3, 4), "NCHW", name="y")
    assert nl.specs.from_mnn(Tensor((1, 3, 4, 5), 0, np.uint8)).axes == "NHWC"
    assert nl.specs.from_mnn(Tensor((1, 3, 4, 5), 0, np.uint8)).dtype == "uint8"
    assert nl.specs.from_mnn(Tensor((), 1)).shape == (1,)
    assert nl.specs.from_mnn(Tensor((1, 84, 8400), 1)).axes == "NCW"
    assert nl.specs.from_mnn(Tensor((2,) * 6, 1)).axes == "ABCDEF"
    assert nl.specs.from_mnn(Tensor((1, 5), 0)).axes == "NC"


@pytest.mark.parametrize("block", [4, 8])
def test_blocks_are_before_the_images(block: int) -> None:
    spec = nl.specs.from_mnn(Tensor((2, 5, 3, 4), 2), block=block)
    for n, c, h, w in ((0, 0, 0, 0), (1, 4, 2, 3), (0, 3, 1, 2)):
        assert spec.offset(n, c, h, w) == ((((c // block) * 2 + n) * 3 + h) * 4 + w) * block + c % block
    assert spec.size == -(-5 // block) * 2 * 12 * block


def test_vars_and_mappings() -> None:
    var = SimpleNamespace(shape=[1, 3, 4, 4], data_format=Enum("data_format.NC4HW4"), dtype=Enum("dtype.float"))
    assert nl.specs.from_mnn(var).storage_shape == (1, 1, 4, 4, 4)
    var = SimpleNamespace(shape=[1, 4, 4, 3], data_format=Enum("data_format.NHWC"), dtype=Enum("dtype.int"))
    assert nl.specs.from_mnn(var) == nl.TensorSpec.of_storage((1, 4, 4, 3), "NHWC", "int32")
    for order in ("Caffe", "CAFFE", "Tensor_DimensionType_Caffe", 1, "NCHW"):
        given = {"shape": (1, 5, 3, 4), "dimension_type": order}
        assert nl.specs.from_mnn(given, dtype="float16") == nl.TensorSpec((1, 5, 3, 4), "NCHW", "float16")


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        (Tensor((1, 5, 3, 4), 1), {"dtype": "int8"}, "dtype= is 'int8', but the tensor's is float32"),
        ({"shape": [1, 5], "dimension_type": 1}, {}, "no dtype is known: give dtype="),
        (Tensor((1, 5, 3), 2), {}, "NC4HW4 of 3 axes: expected 4"),
        (Tensor((1, 5, 3), 7), {}, "dimension type 7: expected 0..2"),
        ({"shape": [1, 5], "dimension_type": "CHWN"}, {"dtype": "int8"}, "dimension type 'CHWN': expected one of"),
        ({"shape": [1, 5]}, {}, "no field 'dimension_type'"),
        ({"dimension_type": 1}, {}, "no field 'shape'"),
        (Tensor((1, 5, 3, 4), 2), {"block": 0}, "block"),
    ],
)
def test_refusals(given: Any, options: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_mnn(given, **options)
