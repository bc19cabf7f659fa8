"""to_gray, normalize, quantize, dequantize and sigmoid."""

from __future__ import annotations

import math
from typing import Any, Callable

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops
from tests.support.operators import PLAIN, SCALE, SHAPE, filled, logistic, ordered


def test_gray_of_either_order_of_channels() -> None:
    """The last channels first is the other order; more channels than three are not read."""
    for dtype in ("uint8", "uint16", "float32", "int16"):
        x = filled(dtype)
        expected = ops.to_gray(x, order="RGB")
        np.testing.assert_array_equal(ops.to_gray(x[:, [2, 1, 0, 3, 4]]), expected)
        np.testing.assert_array_equal(ops.to_gray(x[:, [2, 1, 0]]), expected)
    picture = np.random.default_rng(0).integers(0, 256, (1, 3, 20, 30), np.uint8)
    for code, order in ((cv2.COLOR_BGR2GRAY, "BGR"), (cv2.COLOR_RGB2GRAY, "RGB")):
        expected = cv2.cvtColor(np.ascontiguousarray(picture[0].transpose(1, 2, 0)), code)
        np.testing.assert_array_equal(ops.to_gray(picture, order=order)[0, 0], expected)


@pytest.mark.parametrize("tag", PLAIN)
def test_normalize_by_one_number_and_by_one_for_each_channel(tag: str) -> None:
    x = ordered(filled("uint8"), tag)
    for mean, std in ((3, 7), ([3], [7]), (np.float32(3), 7.0)):
        expected = (x.astype(np.float32) - np.float32(3)) * (np.float32(1) / np.float32(7))
        np.testing.assert_array_equal(ops.normalize(x, mean, std), expected)
        np.testing.assert_array_equal(ops.normalize(x, [3] * 5, [7] * 5), expected)


def test_four_bits_are_quantized_into_eight() -> None:
    x = np.array([-100, -8, -7.4, 0, 0.5, 1.5, 7, 100], np.float32).reshape(1, 2, 2, 2)
    assert ops.quantize(x, (1.0, 0), "int4").ravel().tolist() == [-8, -8, -7, 0, 0, 2, 7, 7]
    assert ops.quantize(x, (1.0, 0), "uint4").ravel().tolist() == [0, 0, 0, 0, 0, 2, 7, 15]
    assert ops.quantize(x, (1.0, 0), "int4").dtype == np.int8
    out = np.empty(x.shape, np.uint8)
    assert ops.quantize(x, (1.0, 8), out=out) is out
    assert out.ravel().tolist() == [0, 0, 1, 8, 8, 10, 15, 108]


@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3])
def test_dequantize_and_quantize_are_each_others_inverse(axis: int | None) -> None:
    scales: Any = 0.25 if axis is None else [0.25 * (i + 1) for i in range(SHAPE[axis])]
    q = nl.Quantization(scales, 5, axis=axis)
    stored = np.arange(math.prod(SHAPE), dtype=np.int64).reshape(SHAPE).astype(np.int8)
    for tag in PLAIN:
        real = ops.dequantize(ordered(stored, tag), q)
        np.testing.assert_array_equal(ops.quantize(real, q, "int8"), stored)
        assert nl.memory_format(real) == nl.Layout(tag)


def test_sigmoid_at_the_ends_of_floats() -> None:
    x = np.array([-np.inf, -200, -88, -1e-30, 0, 1e-30, 88, np.inf], np.float32).reshape(1, 2, 2, 2)
    got = ops.sigmoid(x).ravel()
    assert got[[0, 4, 7]].tolist() == [0, 0.5, 1]
    assert (np.diff(got) >= 0).all()
    np.testing.assert_allclose(got[1:-1], [logistic(float(v)) for v in x.ravel()[1:-1]], rtol=1e-6, atol=2.0**-126)
    assert np.isnan(ops.sigmoid(np.full((1, 1, 1, 1), np.nan))).all()


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.to_gray(np.zeros((1, 2, 3, 4))), "at least 3 channels"),
    (lambda: ops.to_gray(np.zeros(SHAPE), order="GBR"), "BGR or RGB"),
    (lambda: ops.normalize(np.zeros(SHAPE), 0, 0), "other than 0"),
    (lambda: ops.normalize(np.zeros(SHAPE), [1, 2], 1), "mean: expected 1 or 5"),
    (lambda: ops.normalize(np.zeros(SHAPE), 0, [1, 2, 3, 4, math.nan]), "std: expected 1 or 5"),
    (lambda: ops.normalize(np.zeros(SHAPE), 0, 1e-40), r"1 / std in float32, got \[1e-40\]"),
    (lambda: ops.normalize(np.zeros(SHAPE), 1e300, 1), r"mean: .* finite numbers of float32, got \[1e.300\]"),
    (lambda: ops.normalize(np.zeros(SHAPE), [[1], [2, 3]], 1), "mean: expected an array, got list"),
    (lambda: ops.normalize(np.zeros(SHAPE), np.ma.zeros(5), 1), "mean: masked array"),
    (lambda: ops.quantize(np.zeros(SHAPE), SCALE), "a dtype, or an out"),
    (lambda: ops.quantize(np.zeros(SHAPE), SCALE, "float32"), "integer dtype"),
    (lambda: ops.quantize(np.zeros(SHAPE), 0.1, "int8"), r"a Quantization or \(scale, zero_point\)"),
    (lambda: ops.quantize(np.zeros(SHAPE), nl.Quantization([1, 2], axis=1), "int8"), "2 scales along axis 1"),
    (lambda: ops.dequantize(np.zeros(SHAPE), SCALE), "stored integers, got dtype float64"),
    (lambda: ops.dequantize(np.zeros(SHAPE, "int8"), None), "a Quantization or"),  # type: ignore[arg-type]
    (lambda: ops.dequantize(np.zeros(SHAPE, "int8"), (0, 0)), "positive numbers"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        call()
