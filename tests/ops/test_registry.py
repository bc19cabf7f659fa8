"""Kernels as data: which row serves which array, and that every row returns the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.ops import kernel_table, registry
from npu_layout.ops.applying import apply, checked_inputs
from npu_layout.ops.registry import GENERIC, Kernel, OperatorKernels
from tests.support.operators import OPERATORS, PLAIN, SHAPE, assert_equal, filled, ordered


def test_the_generic_kernel_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a format's own kernel answers, the generic one does too."""
    compared = 0
    for name, op in OPERATORS.items():
        for dtype in ("uint8", "float32"):
            for tag in PLAIN:
                x = ordered(filled(dtype), tag)
                fast = op.call(x)
                with monkeypatch.context() as only:
                    rows = {
                        operator: tuple(row for row in operator.kernels if row.name == GENERIC)
                        for operator in kernel_table.OPERATORS.values()
                    }
                    for operator, generic in rows.items():
                        only.setattr(operator, "kernels", generic or operator.kernels)
                    registry.serving.cache_clear()
                    slow = op.call(x)
                    compared += any(rows.values())
                registry.serving.cache_clear()
                assert slow.strides == fast.strides
                assert_equal(fast, np.asarray(slow), op._replace(steps=op.steps or float(name == "to_gray")), x)
    assert compared


def test_a_kernel_of_ones_own() -> None:
    """An operator may have any name; the first row that fits is used."""

    def slow(x: np.ndarray, out: np.ndarray, order: Any) -> None:
        np.multiply(x, 2, out=out)

    def fast(x: np.ndarray, out: np.ndarray, order: Any) -> None:
        np.add(x, x, out=out)

    doubled = OperatorKernels("doubled", Kernel(fast, "by bytes", "N*C", frozenset(("uint8", "int8"))), Kernel(slow))
    names = {(tag, dtype): doubled.chosen(tag, dtype) for tag in PLAIN for dtype in ("int8", "int16")}
    assert {key for key, row in names.items() if row.run is fast} == {("NHWC", "int8"), ("NWHC", "int8")}
    inputs = checked_inputs(doubled, nl.Tensor(filled("int8"), "NHWC"))
    assert inputs.kernel is doubled.kernels[0]
    result = apply(inputs, SHAPE, np.int8, None)
    assert result.layout == nl.Layout("NHWC")
    np.testing.assert_array_equal(result, filled("int8") + filled("int8"))


def test_the_last_row_of_every_operator_serves_every_array() -> None:
    """So that no array is without a kernel, and no row after it is dead."""
    for operator in kernel_table.OPERATORS.values():
        every = [row.pattern == "*" and row.dtypes is None for row in operator.kernels]
        assert every == [False] * (len(every) - 1) + [True], operator.name


def test_a_name_of_its_own_for_every_kernel_of_an_operator() -> None:
    for operator in kernel_table.OPERATORS.values():
        names = [row.name for row in operator.kernels]
        assert len(set(names)) == len(names), operator.name


def test_the_tag_of_an_order() -> None:
    assert [registry.tag_of(stored) for stored in ((0, 1, 2, 3), (0, 2, 3, 1), (1, 2, 3, 0))] == [
        "NCHW",
        "NHWC",
        "CHWN",
    ]
