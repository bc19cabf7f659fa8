"""resize beyond small pictures, and into memory that cv2 refuses."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops
from tests.support.operators import PLAIN, SHAPE, field, filled, ordered, weights


@pytest.mark.parametrize("how", ["linear", "cubic"])
@pytest.mark.parametrize(
    "shape, size_wh", [((1, 300, 5, 4), (7, 9)), ((1, 9, 33, 40), (120, 90)), ((3, 2, 64, 1), (3, 31))]
)
def test_resize_of_many_channels_and_larger_planes(shape: tuple[int, ...], size_wh: tuple[int, int], how: str) -> None:
    x = filled("float32", shape)
    rows = [np.zeros((new, old)) for old, new in zip(shape[2:], size_wh[::-1])]
    for matrix, old, new in zip(rows, shape[2:], size_wh[::-1]):
        for at in range(new):
            for i, weight in weights(old, new, at, how == "cubic"):
                matrix[at, i] += weight
    expected = np.einsum("jh,nchw,iw->ncji", rows[0], x.astype(np.float64), rows[1])
    for tag in PLAIN:
        np.testing.assert_allclose(
            ops.resize(ordered(x, tag), size_wh, how), expected, rtol=0, atol=2e-5 * np.abs(x).max()
        )


@pytest.mark.parametrize("how", ["linear", "cubic"])
def test_resize_with_strides_that_cv2_refuses(how: str) -> None:
    x = filled("int16", (1, 1, 4, 1))
    records = np.zeros((1, 1, 3, 1), [("pad", "u1"), ("x", "i2")])  # rows whose distance is no whole number of elements
    expected = ops.resize(x, (1, 3), how)
    np.testing.assert_array_equal(ops.resize(field(x), (1, 3), how), expected)
    np.testing.assert_array_equal(ops.resize(x, (1, 3), how, out=records["x"]), expected)
    assert not records["pad"].any()
    x = filled("int16", (1, 3, 4, 1))
    for tag in PLAIN:
        out = ordered(np.zeros((1, 3, 3, 1), "int16"), tag)[..., ::-1]  # a negative stride that moves nothing
        np.testing.assert_array_equal(ops.resize(ordered(x, tag), (1, 3), how, out=out), ops.resize(x, (1, 3), how))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_wider_than_a_double(dtype: str) -> None:
    most = np.iinfo(dtype).max
    x = np.full((1, 3, 2, 2), most)
    for result in (ops.resize(x, (3, 3)), ops.to_gray(x)):
        assert (result > most - most // 2**50).all()
    assert (ops.resize(x, (3, 3), "nearest") == most).all()


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.resize(np.zeros(SHAPE), (0, 3)), "2 whole numbers of at least 1"),
    (lambda: ops.resize(np.zeros((1, 1, 1, 1), np.uint8), (2**31, 1)), "at most 2147483647 for linear"),
    (lambda: ops.resize(np.zeros(SHAPE), (3, 3), "lanczos"), "nearest, linear, cubic"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        call()
