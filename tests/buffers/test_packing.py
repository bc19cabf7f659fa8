"""What may be packed: shapes, dtypes and ranges, and the arithmetic that stores real values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.buffers import element
from npu_layout.buffers.packing import plan_packing
from npu_layout.buffers.stored import StoredTensor
from npu_layout.layouts import Layout, Storage


def stored(dtype: str, quantization: nl.Quantization | None = None) -> StoredTensor:
    return StoredTensor(Storage.bind(Layout("NC"), (1, 2)), element(dtype), quantization, "")


def test_real_values_are_quantised_along_the_axis_of_the_scales() -> None:
    affine = plan_packing(stored("int8", nl.Quantization([0.5, 0.25], [1, 2], axis=1)), np.zeros((1, 2)))
    assert affine is not None and (affine.axis, affine.divisor, affine.zero_point) == ("C", (0.5, 0.25), (1, 2))
    assert affine.shift is None and affine.scale is None and affine.float_zero_point is False
    integers = np.zeros((1, 2), np.int8)
    assert plan_packing(stored("int8", nl.Quantization(0.5)), integers) is None  # stored values already


@pytest.mark.parametrize(
    ("dtype", "lowest", "highest"),
    [("int8", -128, 127), ("uint8", 0, 255), ("int4", -8, 7), ("uint4_high", 0, 15), ("bool", 0, 1)],
)
def test_the_ends_of_the_range_fit_and_what_is_beyond_is_refused(dtype: str, lowest: int, highest: int) -> None:
    assert plan_packing(stored(dtype), np.array([[lowest, highest]])) is None
    for values in ([lowest - 1, highest], [lowest, highest + 1]):
        with pytest.raises(nl.NpuLayoutError, match=rf"values {values[0]}\.\.{values[1]}; .*{lowest}\.\.{highest}"):
            plan_packing(stored(dtype), np.array([values]))


def test_a_dtype_that_always_fits_is_not_searched() -> None:
    class Unread(np.ndarray):
        def min(self, *_: Any, **__: Any) -> Any:
            raise AssertionError

        max = min

    assert plan_packing(stored("int16"), np.zeros((1, 2), np.uint8).view(Unread)) is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 1), np.int8), r"tensor has shape \(2, 1\); layout NC of \(1,2\) int8 expects \(1, 2\) \(NC\)"),
        (np.zeros((1, 2), complex), "tensor has dtype complex128; .* expects real numbers"),
        (np.zeros((1, 2)), "stores integers and is not quantised: give the spec a quantization, or integers"),
    ],
)
def test_refusals(values: np.ndarray, message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        plan_packing(stored("int8"), values)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "int4", "uint4"])
def test_floats_are_refused_by_whatever_stores_no_floats(dtype: str) -> None:
    spec = stored(dtype)
    with pytest.raises(nl.NpuLayoutError, match="stores integers and is not quantised"):
        plan_packing(spec, np.zeros((1, 2), np.float32))
    assert plan_packing(spec, np.array([[0, 1]])) is None


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 2), (1,), (2,), (1, 2, 1), (0, 2)])
def test_no_other_shape_fits(shape: tuple[int, ...]) -> None:
    with pytest.raises(nl.LayoutError, match="tensor has shape"):
        plan_packing(stored("int8"), np.zeros(shape, np.int8))


def test_integers_beyond_float16_are_refused() -> None:
    """The largest float16 is 65504; 65519 rounds to it, 65520 to infinity."""
    spec = nl.TensorSpec((1, 2), "NC", "float16")
    assert spec.pack(np.array([[65519, -65519]])).tolist() == [65504, -65504]
    for value in (65520, -65520, 10**9):
        with pytest.raises(nl.NpuLayoutError, match=r"stores -65519\.\.65519"):
            spec.pack(np.array([[0, value]]))
    assert spec.pack(np.array([[0.0, 1e9]])).tolist() == [0, np.inf]  # of floats, as numpy does
    for dtype in ("float32", "bfloat16", ">f4", "float64"):
        assert plan_packing(stored(dtype), np.array([[0, 2**63]], np.uint64)) is None
    assert plan_packing(stored("float16"), np.full((1, 2), True)) is None
