"""argmax_channels and softmax_channels."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops
from tests.support.operators import FORMS, NUMBERS, READ, SCALE, SHAPE, filled, lies_as, pixels, ranked


@pytest.mark.parametrize("dtype", NUMBERS)
def test_the_first_of_the_largest(dtype: str) -> None:
    values = filled(dtype, (2, 20, 3, 2))
    expected = pixels(values, lambda row: ranked(row, 1), "int64")
    for form, lay in READ.items():
        x = lay(values)
        got = ops.argmax_channels(x)
        np.testing.assert_array_equal(got, expected, form)
        assert (type(got), got.dtype) == (type(x), np.int64) and nl.is_contiguous(got, lies_as(x))
    for form, lay in FORMS.items():
        out = lay(np.zeros(expected.shape, np.int64))
        assert ops.argmax_channels(values, out=out) is out
        np.testing.assert_array_equal(out, expected, form)


def test_floats_wider_than_any_integer() -> None:
    values = filled("float64", (1, 5, 2, 3)).astype(np.longdouble)
    values[0, :, 0, 0], values[0, :3, 1, 1] = (1, np.nan, 0, np.nan, np.inf), (-0.0, 0.0, -0.0)
    first = pixels(values, lambda row: ranked([float(v) for v in row], 1), "int64")
    for form, lay in READ.items():
        np.testing.assert_array_equal(ops.argmax_channels(lay(values)), first, form)


def test_parts_of_a_whole() -> None:
    """Of each pixel e**x over their sum, by Python's own numbers; codes by their scale."""
    codes = np.random.default_rng(0).integers(-90, 90, (2, 7, 3, 4)).astype(np.int8)
    for known, real in ((None, codes.astype(float)), ((0.125, 3), (codes - 3.0) * 0.125)):
        expected = np.empty(codes.shape)
        for n, y, x in np.ndindex(2, 3, 4):
            powers = [math.exp(v - max(real[n, :, y, x])) for v in real[n, :, y, x]]
            expected[n, :, y, x] = [power / math.fsum(powers) for power in powers]
        for form, lay in READ.items():
            got = ops.softmax_channels(lay(codes), quantization=known)
            np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-38, err_msg=form)
            assert got.dtype == np.float32


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.argmax_channels(np.zeros(SHAPE), quantization=SCALE), "stored integers"),
    (lambda: ops.softmax_channels(np.zeros(SHAPE), quantization=SCALE), "stored integers"),
    (lambda: ops.argmax_channels(np.zeros((1, 0, 2, 2))), "expected at least 1 channel"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        call()
