"""repack against the scalar oracle: any dtype and strides, into an out or a new array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from tests.support import oracle

TAGS = ["NCHW", "NHWC", "CHWN", "NCHW4c", "NHWC3c", "NHCW4w2c"]
SHAPE = st.tuples(*[st.integers(1, 6)] * 4)


@given(st.sampled_from(TAGS), st.sampled_from(TAGS), SHAPE, st.sampled_from(["uint8", "float16", "complex128"]))
def test_every_element_arrives_and_pads_are_zero(src: str, dst: str, shape: tuple[int, ...], dtype: str) -> None:
    tensor = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype("uint8").astype(dtype)
    stored, wanted = (oracle.room(tag, dict(zip("NCHW", shape))) for tag in (src, dst))
    size, length = int(np.prod(stored)), int(np.prod(wanted))
    x = np.array(oracle.scatter(tensor, src, "NCHW", stored, None, 0, size), dtype).reshape(stored)
    expected = np.array(oracle.scatter(tensor, dst, "NCHW", wanted, None, 0, length), dtype).reshape(wanted)
    got = nl.repack(x, src, dst, shape=shape)
    assert got.dtype == x.dtype and got.flags.c_contiguous and not np.shares_memory(got, x)
    np.testing.assert_array_equal(got, expected)
    strided = np.repeat(x[..., ::-1], 2, axis=0)[::2, ..., ::-1]
    out = np.full((*wanted, 2), 9, dtype)
    for target in (out[..., 0], np.full(wanted, 9, dtype)):
        assert nl.repack(strided, src, dst, shape=shape, out=target) is target
        np.testing.assert_array_equal(target, expected)
    assert (out[..., 1] == 9).all()


def test_without_a_shape_every_stored_element_is_real() -> None:
    x = np.arange(16).reshape(1, 2, 1, 2, 4)
    assert nl.repack(x, "NCHW4c", "NCHW").tolist() == [
        [[[block * 8 + lane, block * 8 + 4 + lane]] for block in range(2) for lane in range(4)]
    ]


@pytest.mark.parametrize(
    ("x", "layouts", "options", "message"),
    [
        (np.zeros((1, 2, 3, 4)), ("NCHW", "OIHW"), {}, "axes NCHW and OIHW differ"),
        (np.zeros((1, 2, 3, 4), object), ("NCHW", "NHWC"), {}, "cannot repack dtype object: expected numbers"),
        (np.zeros((1, 0, 3, 4)), ("NCHW", "NHWC"), {}, "every extent must be 1 or more"),
        (np.zeros((1, 2, 3, 4)), ("NCHW", "NHWC"), {"shape": (1, 2, 3, 5)}, r"is stored as \(1, 2, 3, 5\)"),
        (np.zeros((1, 2, 3, 4)), ("NCHW", "NHWC"), {"out": np.zeros((1, 2, 3, 4))}, r"expected shape \(1, 3, 4, 2\)"),
        (np.zeros((1, 1, 3, 4, 4)), ("NCHW4c", "NHWC"), {"out": np.zeros(3)}, "padded channels count as real"),
    ],
)
def test_refusals(x: np.ndarray, layouts: tuple[str, str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        nl.repack(x, *layouts, **options)
