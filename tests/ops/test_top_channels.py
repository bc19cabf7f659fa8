"""top_k and max_channels."""

from __future__ import annotations

import re
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops
from tests.support.operators import FORMS, NUMBERS, READ, SCALE, SHAPE, filled, lies_as, ordered, pixels, ranked


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("k", [1, 3, 20])
def test_top_k(dtype: str, k: int) -> None:
    shape = (2, 20, 3, 2)
    values = filled(dtype, shape)
    channels = pixels(values, lambda row: ranked(row, k), "int64")
    expected = np.take_along_axis(values, channels, 1)
    for form, lay in READ.items():
        x = lay(values)
        got = ops.top_k(x, k)
        np.testing.assert_array_equal(got[0], expected, form)
        np.testing.assert_array_equal(got[1], channels, form)
        for result, kind in zip(got, (dtype, "int64")):
            assert (type(result), result.dtype) == (type(x), kind)
            assert nl.is_contiguous(result, lies_as(x))
    for form, lay in FORMS.items():
        out = lay(np.zeros(expected.shape, dtype)), lay(np.zeros(expected.shape, np.int64))
        got = ops.top_k(ordered(values, "NHWC"), k, out=out)
        assert got[0] is out[0]
        assert got[1] is out[1]
        np.testing.assert_array_equal(out[0], expected, form)
        np.testing.assert_array_equal(out[1], channels, form)


def test_top_k_out_that_does_not_fit() -> None:
    memory = filled("int32", (2, 6, 3, 2))
    x, values, channels = memory.astype("float32"), np.empty((2, 4, 3, 2), "float32"), np.empty((2, 4, 3, 2), np.int64)
    twice = np.lib.stride_tricks.as_strided(channels, strides=(8, 0, 8, 8))
    locked = channels.copy()
    locked.flags.writeable = False
    for out, said in (
        ((values, values), "expected dtype int64, got float32"),
        ((channels, channels), "expected dtype float32, got int64"),
        ((values, channels[:, 1:]), "expected shape (2, 4, 3, 2), got (2, 3, 3, 2)"),
        ((values, twice), "elements overlap"),
        ((values, locked), "read-only"),
        ((channels.view("float32")[..., :2], channels), "share no memory"),
    ):
        before = [a.tobytes() for a in out]
        with pytest.raises(nl.NpuLayoutError, match=re.escape(said)):
            ops.top_k(x, 4, out=out)
        assert [a.tobytes() for a in out] == before
    expected = ops.top_k(memory.copy(), 4)
    for k in (4, np.int64(4)):
        x = memory.copy()
        out = x[:, 2:], channels  # the values overlap their source
        assert ops.top_k(x, k, out=out)[0] is out[0]
        np.testing.assert_array_equal(out[0], expected[0])
        np.testing.assert_array_equal(channels, expected[1])


@pytest.mark.parametrize("kind", [tuple, list])
def test_out_is_two_arrays_of_an_array_and_of_a_stored_buffer(kind: Any) -> None:
    spec = nl.TensorSpec((1, 4, 2, 3), "NCHW4c", "int8")
    x = filled("int8", spec.shape)
    for given in ((x, 2), (spec, 2, spec.pack(x))):
        out = kind((np.zeros((1, 2, 2, 3), np.int8), np.zeros((1, 2, 2, 3), np.int64)))
        found = ops.top_k(*given, out=out)
        assert found[0] is out[0] and found[1] is out[1]
        np.testing.assert_array_equal(found[1], ops.top_k(x, 2)[1])
        for wrong in (out[0], kind(out[:1]), iter(out)):
            with pytest.raises(nl.NpuLayoutError, match="expected two arrays, for values and channels, got"):
                ops.top_k(*given, out=wrong)


def test_floats_wider_than_any_integer() -> None:
    values = filled("float64", (1, 5, 2, 3)).astype(np.longdouble)
    values[0, :, 0, 0], values[0, :3, 1, 1] = (1, np.nan, 0, np.nan, np.inf), (-0.0, 0.0, -0.0)
    channels = pixels(values, lambda row: ranked([float(v) for v in row], 4), "int64")
    for form, lay in READ.items():
        got = ops.top_k(lay(values), 4)
        np.testing.assert_array_equal(got[1], channels, form)
        np.testing.assert_array_equal(got[0], np.take_along_axis(values, channels, 1), form)
        for one, first in zip(ops.max_channels(lay(values)), got):
            np.testing.assert_array_equal(one, np.asarray(first)[:, :1], form)


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.top_k(np.zeros(SHAPE), 1, quantization=SCALE), "stored integers"),
    (lambda: ops.top_k(np.zeros(SHAPE), 0), "expected 1 .. 5"),
    (lambda: ops.top_k(np.zeros(SHAPE), 6), "expected 1 .. 5"),
    (lambda: ops.top_k(np.zeros(SHAPE), 2.5), "expected 1 .. 5"),  # type: ignore[arg-type]
    (lambda: ops.top_k(np.zeros(SHAPE), True), "expected 1 .. 5"),
    (lambda: ops.max_channels(np.zeros((2, 2))), "^max_channels: x: expected an array with the axes"),
    (lambda: ops.max_channels(np.zeros((1, 0, 2, 2))), "^max_channels: expected at least 1 channel"),
    (lambda: ops.max_channels(np.zeros(SHAPE), quantization=SCALE), "^max_channels: quantization is for stored"),
    (lambda: ops.max_channels(np.zeros(SHAPE), np.zeros(3)), "^max_channels: buffer: expected a TensorSpec"),
    (lambda: ops.max_channels(nl.TensorSpec(SHAPE)), "^max_channels: buffer: .*got no buffer"),
    (lambda: ops.max_channels(nl.TensorSpec((3, 4), "NC"), np.zeros(12, np.float32)), "^max_channels: layout NC of"),
    (lambda: ops.top_k(np.zeros(SHAPE), 2, out=np.zeros(SHAPE)), "two arrays"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        call()
