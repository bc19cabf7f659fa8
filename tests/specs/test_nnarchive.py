"""Tensors of an NN Archive's config.json, and depthai's objects of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

IMAGE = dict(
    name="image", dtype="uint8", input_type="image", shape=[1, 3, 8, 6], layout="NCHW",
    preprocessing=dict(mean=[0, 0, 0], scale=[255, 255, 255], dai_type="RGB888p"),
)  # fmt: skip


class Dtype:
    """As depthai's DataType, which pybind11 prints with its type."""

    def __str__(self) -> str:
        return "DataType.FLOAT16"


def test_mappings_and_objects() -> None:
    assert nl.specs.from_nnarchive(IMAGE) == nl.TensorSpec((1, 3, 8, 6), "NCHW", "uint8", name="image")
    last = {**IMAGE, "shape": [1, 8, 6, 3], "layout": "nhwc", "preprocessing": dict(dai_type="BGR888i")}
    assert nl.specs.from_nnarchive(last) == nl.TensorSpec.of_storage((1, 8, 6, 3), "NHWC", "uint8", name="image")
    found = SimpleNamespace(name="y", dtype=Dtype(), shape=[1, 57, 4, 5], layout="NCDE")
    spec = nl.specs.from_nnarchive(found)
    assert (spec.axes, spec.dtype) == ("NCDE", "float16")
    x = np.arange(57 * 20, dtype=np.float16)
    np.testing.assert_array_equal(spec.unpack(x), x.reshape(1, 57, 4, 5))
    assert nl.specs.from_nnarchive({"shape": [1, 7], "dtype": "boolean"}).dtype == "bool"
    other = {**IMAGE, "preprocessing": dict(dai_type="GRAY8")}
    assert nl.specs.from_nnarchive(other) == nl.specs.from_nnarchive(IMAGE)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"layout": "NCW"}, "layout NCW has 3 axes, but shape .1, 3, 8, 6. has 4"),
        ({"layout": "NHWC"}, "dai_type RGB888p is planar, but layout NHWC is interleaved"),
        ({"preprocessing": dict(dai_type="RGB888i")}, "dai_type RGB888i is interleaved, but layout NCHW is planar"),
        ({"shape": [1, 1, 8, 6]}, "dai_type RGB888p has 3 channels, but shape .1, 1, 8, 6. .NCHW. has 1"),
        ({"dtype": "string"}, "dtype 'STRING': expected one of"),
        ({"dtype": "int4"}, "dtype 'INT4': expected one of"),
        ({"shape": None}, "no field 'shape'"),
        ({"layout": "NCHH"}, "each of them once"),
    ],
)
def test_refusals(change: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_nnarchive({**IMAGE, **change})
