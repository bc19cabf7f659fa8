"""The values and the largest score that stored integers can mean, against TensorSpec.unpack of every code."""

from __future__ import annotations

import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.fitting import fit
from npu_layout.decode.ranges import codes, largest_score, values_of


@pytest.mark.parametrize("dtype, low, high", [("int8", -128, 127), ("uint8", 0, 255), ("int16", -32768, 32767)])
def test_codes_are_all_values_of_the_dtype(dtype: str, low: int, high: int) -> None:
    spec = nl.TensorSpec((1, 4), "NC", dtype, quantization=nl.Quantization(0.25, 3))
    found = codes(spec)
    assert found is not None and found.dtype == dtype and found.tolist() == list(range(low, high + 1))
    every = nl.TensorSpec((1, len(found)), "NC", dtype, quantization=nl.Quantization(0.25, 3))
    assert np.array_equal(values_of(spec, found), every.unpack(found))


def test_codes_of_others() -> None:
    assert [n for n in codes(nl.TensorSpec((1, 4), "NC", "int4"))] == list(range(-8, 8))  # type: ignore[union-attr]
    assert [n for n in codes(nl.TensorSpec((1, 4), "NC", "uint4"))] == list(range(16))  # type: ignore[union-attr]
    for dtype in ("float32", "float16", "int32", "bfloat16"):
        assert codes(nl.TensorSpec((1, 4), "NC", dtype)) is None


def test_a_row_of_values_for_each_scale() -> None:
    quantization = nl.Quantization([0.5, 2.0, 0.125], [1, -2, 0], axis=1)
    spec = nl.TensorSpec((1, 3, 2, 2), "NCHW", "int8", quantization=quantization)
    stored = np.arange(-128, 128).astype(np.int8)
    rows = values_of(spec, stored)
    for row, scale, zero in zip(rows, (0.5, 2.0, 0.125), (1, -2, 0)):
        assert np.array_equal(row, (stored.astype(np.float64) - zero) * scale)


def largest(head: decode.Head, dtype: str, scale: float, zero: int) -> float:
    quantization = None if dtype.startswith("f") else nl.Quantization(scale, zero)
    channels = (64, 2) if head.name == "yolov8" else (21,)
    specs = [
        nl.TensorSpec((1, n, 32 // s, 32 // s), "NCHW", dtype, quantization=quantization, name=f"{n}/{s}")
        for s in (8, 16, 32)
        for n in channels
    ]
    return largest_score(head, fit(head, specs, (32, 32), {}), specs)


def test_the_largest_score() -> None:
    most = np.float32(127 - 10) * np.float32(0.125)
    assert largest(decode.yolov8(2), "int8", 0.125, 10) == most
    assert largest(decode.yolov8(2, activation="sigmoid"), "int8", 0.125, 10) == pytest.approx(
        1 / (1 + math.exp(-most))
    )
    assert largest(decode.yolov5(2), "int8", 0.125, 10) == float(most) * float(most)
    assert largest(decode.yolov8(2), "float32", 1, 0) == math.inf
    assert largest(decode.yolov8(2, activation="softmax"), "int8", 0.001, 0) == pytest.approx(
        1 / (1 + math.exp(-0.255))
    )
    assert largest(decode.yolov8(2, activation="softmax"), "float32", 1, 0) == 1
    assert largest(decode.yolov8(2, activation="sigmoid"), "float16", 1, 0) == 1
