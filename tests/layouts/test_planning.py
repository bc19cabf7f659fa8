"""Plans against the scalar oracle: every element moved once, pads zero, gaps left alone or zero, affine in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.layouts import Affine, Storage, affine_copy, plan_move
from tests.support import oracle

TAGS = ["NCHW", "NHWC", "CHWN", "NCHW4c", "NHWC3c", "NHCW4w2c", "NHWC2h3w", "CHWN4c2n"]


@given(st.sampled_from(TAGS), st.sampled_from(TAGS), st.tuples(*[st.integers(1, 7)] * 4))
def test_a_plan_moves_every_element_and_zeroes_pads(src: str, dst: str, shape: tuple[int, ...]) -> None:
    source, target = Storage.bind(nl.Layout(src), shape), Storage.bind(nl.Layout(dst), shape)
    tensor = np.arange(1, 1 + np.prod(shape), dtype=np.int32).reshape(shape)
    given_ = oracle.scatter(tensor, src, "NCHW", source.storage_shape, None, 0, source.size)
    expected = oracle.scatter(tensor, dst, "NCHW", target.storage_shape, None, 0, target.size)
    buffer = np.where(np.equal(given_, 0), -7, given_).astype(np.int32)  # pad lanes are never read
    out = np.full(target.size, -9, np.int32)
    move = plan_move(source, target, "int32", "int32")
    move.run(buffer, out)
    assert out.tolist() == expected
    assert move is plan_move(source, target, "int32", "int32")


@pytest.mark.parametrize("owns", [False, True])
def test_gaps(owns: bool) -> None:
    source = Storage.bind(nl.Layout("NCHW"), (1, 2, 2, 3))
    target = Storage.bind(nl.Layout("NCHW"), (1, 2, 2, 3), None, (40, 20, 8, 2), 1, 50)
    tensor = np.arange(1, 13, dtype=np.int16).reshape(1, 2, 2, 3)
    expected = oracle.scatter(tensor, "NCHW", "NCHW", (1, 2, 2, 3), (40, 20, 8, 2), 1, 50)
    out = np.full(50, -9, np.int16)
    plan_move(source, target, "int16", "int16", None, owns).run(tensor.reshape(-1), out)
    assert out.tolist() == [n or (0 if owns else -9) for n in expected]


def test_affine_per_channel_in_float32() -> None:
    """Channels differ in shift and scale, also across a block that they do not fill."""
    shape = (1, 5, 2, 2)
    source, target = Storage.bind(nl.Layout("NCHW4c"), shape), Storage.bind(nl.Layout("NHWC"), shape)
    tensor = np.arange(-10, 10, dtype=np.int8).reshape(shape)
    buffer = np.array(oracle.scatter(tensor, "NCHW4c", "NCHW", source.storage_shape, None, 0, source.size), np.int8)
    shift, scale = (0.0, 1.0, -2.0, 3.0, 4.0), (0.1, 0.2, 0.3, 0.4, 0.7)
    out = np.empty(target.size, np.float32)
    plan_move(source, target, "int8", "float32", Affine("C", shift, scale)).run(buffer, out)
    for at, (_, h, w, c) in enumerate(oracle.indices((1, 2, 2, 5))):
        assert out[at] == (np.float32(tensor[0, c, h, w]) - np.float32(shift[c])) * np.float32(scale[c])


@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x[::-1, :, ::2], lambda x: x.transpose(2, 0, 1)])
def test_affine_copy_between_arrays_of_any_strides(turn: Any) -> None:
    x = turn(np.arange(4 * 6 * 6, dtype=np.uint8).reshape(4, 6, 6))
    out = turn(np.full((4, 6, 6), -1, np.float32))
    affine_copy(nl.Layout.of_rank(3), x, out, "uint8", "float32", Affine(nl.Layout.of_rank(3).axes[0], (3.0,), (0.5,)))
    np.testing.assert_array_equal(out, (x.astype(np.float32) - 3) * np.float32(0.5))


def test_other_axes_are_refused() -> None:
    source, target = Storage.bind(nl.Layout("NCHW"), (1, 1, 1, 1)), Storage.bind(nl.Layout("OIHW"), (1, 1, 1, 1))
    with pytest.raises(nl.LayoutError, match="have different axes: NCHW and OIHW"):
        plan_move(source, target, "int8", "int8")
