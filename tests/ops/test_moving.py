"""Elements moved, converted and rounded into arrays of any strides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.layouts import Affine
from npu_layout.ops.moving import convert, move, rounded
from tests.support.operators import PLAIN, SHAPE, filled, ordered


def test_fields_at_odd_distances() -> None:
    """Fields of a packed record, whose size is no multiple of theirs."""
    values = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    expected = values.transpose(0, 2, 3, 1)
    record = np.zeros(24, [("a", "f4"), ("b", "f4"), ("tag", "u1")])
    a, b = record["a"].reshape(values.shape), record["b"].reshape(expected.shape)
    a[...], record["tag"] = values, 7
    assert nl.repack(a, "NCHW", "NHWC", out=b) is b
    np.testing.assert_array_equal(b, expected)
    b[...] = 0
    spec = nl.TensorSpec(values.shape, "NCHW", "float32")
    assert spec.unpack(values.reshape(-1), to="NHWC", out=b) is b
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(a, values)
    assert (record["tag"] == 7).all()


def test_convert_into_four_bits_and_between_orders() -> None:
    values = filled("float32")
    for source, target in itertools.product(PLAIN, repeat=2):
        out = ordered(np.empty(SHAPE, np.int8), target)
        convert(ordered(values, source), out, Affine("C", zero_point=(0.0,)), "int4")
        np.testing.assert_array_equal(out, np.clip(np.rint(values), -8, 7))


def test_move_keeps_every_bit_and_accepts_no_elements() -> None:
    values = np.array([np.nan, -0.0, np.inf, 1e-45], np.float32).reshape(1, 4, 1, 1)
    out = np.empty((1, 1, 1, 4), np.float32).transpose(0, 3, 1, 2)
    move(values, out)
    assert out.ravel().tobytes() == values.tobytes()
    move(np.empty((0, 2, 3, 4)), np.empty((0, 2, 3, 4)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("of", ["float32", "float64"])
def test_rounded_half_to_even_and_clamped(of: str, dtype: str) -> None:
    """Nothing wraps around: the largest float below the end of an integer is the most that it becomes."""
    info = np.iinfo(dtype)
    values = np.array([0.5, 1.5, 2.5, 100.4, -1e30, 1e30], of)
    out = np.empty(values.shape, dtype)
    rounded(values, out)
    assert out[:4].tolist() == [0, 2, 2, 100]
    assert out[4] == info.min
    most = max(
        v
        for v in (np.dtype(of).type(info.max), np.nextafter(np.dtype(of).type(info.max), np.dtype(of).type(0)))
        if int(v) <= info.max
    )
    assert int(out[5]) == int(most)
