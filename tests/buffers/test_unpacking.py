"""How a buffer becomes a tensor: the result's shape and dtype, what may share memory, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.buffers import element
from npu_layout.buffers.stored import StoredTensor
from npu_layout.buffers.unpacking import plan_unpacking, real_values
from npu_layout.layouts import Layout, Storage


def stored(tag: str, dtype: str = "int8", quantization: nl.Quantization | None = None) -> StoredTensor:
    return StoredTensor(Storage.bind(Layout(tag), (1, 4, 2, 3)), element(dtype), quantization, "")


@pytest.mark.parametrize(
    ("tag", "to", "shape", "shares"),
    [
        ("NCHW", None, (1, 4, 2, 3), True),
        ("NCHW", "NHWC", (1, 2, 3, 4), False),
        ("NHWC", "NHWC", (1, 2, 3, 4), True),
        ("NHWC", None, (1, 4, 2, 3), False),
        ("NCHW4c", None, (1, 4, 2, 3), False),
        ("NCHW4c", "NHWC", (1, 2, 3, 4), True),  # one block: the same memory
        ("NCHW8c", "NCHW8c", (1, 1, 2, 3, 8), True),
        ("NCHW8c", "NHWC", (1, 2, 3, 4), False),  # padded
    ],
)
def test_shapes_and_what_may_share_memory(tag: str, to: str | None, shape: tuple[int, ...], shares: bool) -> None:
    move, found, wanted, view = plan_unpacking(stored(tag), to, None)
    assert (found, wanted, view) == (shape, np.int8, shares)
    memory = np.arange(move.src.size, dtype=np.int8)
    out = np.empty(move.dst.size, wanted)
    move.run(memory, out)
    spec = nl.TensorSpec((1, 4, 2, 3), tag, "int8")
    assert out.reshape(found).tolist() == spec.unpack(memory, to=to, copy=True).tolist()


@pytest.mark.parametrize(
    ("dtype", "quantization", "given", "wanted"),
    [
        ("int8", None, None, "int8"),
        ("int8", nl.Quantization(0.5), None, "float32"),
        ("int8", nl.Quantization(0.5), "float16", "float16"),
        ("int8", nl.Quantization(0.5), np.int16, "int16"),
        ("bfloat16", None, None, "float32"),
        ("uint4", None, None, "uint8"),
        (">i2", None, None, "int16"),
        ("uint8", None, "float64", "float64"),
    ],
)
def test_dtypes(dtype: str, quantization: nl.Quantization | None, given: Any, wanted: str) -> None:
    spec = stored("NHWC", dtype, quantization)
    assert plan_unpacking(spec, None, given)[2] == np.dtype(wanted)
    real = quantization is not None and np.dtype(wanted).kind == "f"
    assert (real_values(spec, np.dtype(wanted)) is not None) is real


def test_no_view_of_values_that_are_computed() -> None:
    assert not plan_unpacking(stored("NCHW", "int8", nl.Quantization(1.0)), None, None)[3]
    assert plan_unpacking(stored("NCHW", "int8", nl.Quantization(1.0)), None, "int8")[3]
    assert not plan_unpacking(stored("NCHW", "int4"), None, None)[3]
    assert not plan_unpacking(stored("NCHW", ">i2"), None, None)[3]


@pytest.mark.parametrize(
    ("dtype", "to", "given", "message"),
    [
        ("int8", "NCDHW", None, "has axes NCDHW, expected the letters NCHW"),
        ("int16", None, "int8", "cannot unpack to int8 without losing values; expected int16 or a float dtype"),
        ("float32", None, "int32", "without losing values"),
        ("float32", None, "bfloat16", "cannot unpack to 'bfloat16'; expected a numpy dtype"),
    ],
)
def test_refusals(dtype: str, to: str | None, given: Any, message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        plan_unpacking(stored("NCHW", dtype), to, given)
