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
        ("int64", None, "float16", "float16"),
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
        ("int8", None, "bool", "cannot unpack to bool without losing values"),
        ("float32", None, "bfloat16", "cannot unpack to 'bfloat16'; expected a dtype of numpy"),
        ("float32", None, ">f4", "cannot unpack to '>f4'; expected a dtype of numpy, in this machine's byte order"),
        (">f4", None, np.dtype(">f4"), "cannot unpack to '>f4'; expected a dtype of numpy"),
    ],
)
def test_refusals(dtype: str, to: str | None, given: Any, message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        plan_unpacking(stored("NCHW", dtype), to, given)


@pytest.mark.parametrize(
    ("strides", "offset", "size", "shares"),
    [
        (None, 0, 24, True),
        (None, 5, 40, True),  # one run, wherever it starts
        ((24, 6, 3, 1), 0, 24, True),
        ((48, 12, 6, 2), 0, 48, False),  # every other element
        ((24, 6, 3, -1), 2, 24, False),
        ((24, -6, -3, -1), 23, 24, False),  # one run, backwards
        ((32, 8, 3, 1), 0, 32, False),  # a gap after each channel
        ((24, 1, 12, 4), 0, 24, False),
    ],
)
def test_a_run_of_the_buffer_may_be_shared(strides: Any, offset: int, size: int, shares: bool) -> None:
    bound = Storage.bind(Layout("NCHW"), (1, 4, 2, 3), None, strides, offset, size)
    move, shape, _, view = plan_unpacking(StoredTensor(bound, element("int8"), None, ""), None, None)
    assert view is shares
    memory, out = np.arange(size, dtype=np.int8), np.empty(24, np.int8)
    move.run(memory, out)
    expected = [memory[bound.offset(*index)] for index in np.ndindex(shape)]
    assert out.tolist() == expected
    consecutive = expected == list(range(expected[0], expected[0] + 24))
    assert consecutive is shares
    spec = nl.TensorSpec(
        (1, 4, 2, 3), "NCHW", "int8", storage_strides=strides, storage_offset=offset, size=size, storage_shape=None
    )
    assert np.shares_memory(spec.unpack(memory, copy=None), memory) is shares
    assert spec.unpack(memory, copy=None).reshape(-1).tolist() == expected


def test_pads_of_the_result_are_never_shared() -> None:
    """One run, but zeros beside it; and a buffer of just that layout, with its pads, is shared as it is."""
    assert not plan_unpacking(stored("NCHW"), "NCHW8c", None)[3]
    assert not plan_unpacking(stored("NHWC"), "NHWC8c", None)[3]
    assert plan_unpacking(stored("NHWC"), "NHWC4c", None)[3]
    one = StoredTensor(Storage.bind(Layout("NCHW"), (1, 1, 1, 1)), element("int8"), None, "")
    assert plan_unpacking(one, None, None)[3] and not plan_unpacking(one, "NCHW4c", None)[3]


def test_other_orders_of_the_axes_are_asked_for_by_their_letters() -> None:
    """Axes of a Layout that is asked for are those of the tensor, whatever its own order is."""
    _, shape, _, _ = plan_unpacking(stored("NCHW"), Layout("NHWC", "NHWC"), None)
    assert shape == (1, 2, 3, 4)
    with pytest.raises(nl.LayoutError, match="to: layout"):
        plan_unpacking(stored("NCHW"), "nope", None)


def test_values_stay_as_they_are_unless_floats_are_asked_for() -> None:
    quantized = stored("NCHW", "int8", nl.Quantization(0.5, 2))
    assert (
        real_values(quantized, np.dtype("int16")) is None and real_values(stored("NCHW"), np.dtype("float32")) is None
    )
    move, _, wanted, _ = plan_unpacking(quantized, None, "float32")
    memory, out = np.arange(24, dtype=np.int8), np.empty(24, wanted)
    move.run(memory, out)
    assert out.tolist() == [(n - 2) * 0.5 for n in range(24)]
