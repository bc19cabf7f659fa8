"""ExecuTorch's TensorInfo: methods and fields, ScalarType by number, dimension orders."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl


class Info:
    """As TensorInfo of executorch.extension.pybindings.portable_lib."""

    def __init__(self, *sizes: int, dtype: int = 6, nbytes: int = 0) -> None:
        self.about = sizes, dtype, nbytes

    def sizes(self) -> tuple[int, ...]:
        return self.about[0]

    def dtype(self) -> int:
        return self.about[1]

    def nbytes(self) -> int:
        return self.about[2]

    def is_memory_planned(self) -> bool:
        return True


def test_infos_and_torch_tensors() -> None:
    assert nl.specs.from_executorch(Info(1, 3, 4, 5, nbytes=240), name="x") == nl.TensorSpec(
        (1, 3, 4, 5), "NCHW", name="x"
    )
    assert nl.specs.from_executorch(Info(2, 7, dtype=1, nbytes=14)).dtype == "int8"
    assert nl.specs.from_executorch(Info()).shape == (1,)

    class Dtype:
        def __str__(self) -> str:
            return "torch.bfloat16"

    assert nl.specs.from_executorch(SimpleNamespace(shape=(1, 2, 3), dtype=Dtype(), name=None)).dtype == "bfloat16"
    assert nl.specs.from_executorch({"sizes": [1, 2], "dtype": "torch.uint8", "name": "y"}).name == "y"


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0, "uint8"), (1, "int8"), (2, "int16"), (3, "int32"), (4, "int64"), (5, "float16"), (6, "float32"),
     (7, "float64"), (11, "bool"), (15, "bfloat16"), (27, "uint16"), (28, "uint32"), (29, "uint64")],
)  # fmt: skip
def test_scalar_types(number: int, dtype: str) -> None:
    assert nl.specs.from_executorch(Info(1, 2, dtype=number)).dtype == dtype


def test_dimension_orders() -> None:
    spec = nl.specs.from_executorch({"sizes": [1, 3, 4, 5], "dtype": 6, "dim_order": (0, 2, 3, 1)})
    assert (spec.axes, str(spec.layout), spec.shape) == ("NCHW", "NHWC", (1, 3, 4, 5))
    x = np.arange(60, dtype=np.float32)
    np.testing.assert_array_equal(spec.unpack(x), x.reshape(1, 4, 5, 3).transpose(0, 3, 1, 2))
    dense = nl.specs.from_executorch({"sizes": [1, 3, 4, 5], "dtype": 6, "dim_order": b"\0\1\2\3"})
    assert dense == nl.TensorSpec((1, 3, 4, 5), "NCHW")


@pytest.mark.parametrize(
    ("info", "says"),
    [
        (Info(1, 3, 4, 5, nbytes=60), "nbytes is 60 bytes, but layout NCHW of .1,3,4,5. float32 needs 240"),
        ({"sizes": [1, 3], "dtype": 6, "dim_order": [0, 0]}, "dim_order .0, 0.: expected each of 0 to 1 once"),
        ({"sizes": [1, 3], "dtype": 6, "dim_order": [1]}, "dim_order"),
        (Info(1, dtype=12), "dtype 12: expected one of 0, 1, 2"),
        (Info(0, 3), "1 or more"),
        ({"dtype": 6}, "no field 'shape'"),
    ],
)
def test_refusals(info: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_executorch(info)
