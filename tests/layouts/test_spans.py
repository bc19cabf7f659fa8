"""Memory ranges of strided arrays, against the addresses of their elements one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.layouts import bind_array, distinct, moving_axes, span_of
from tests.support import oracle


@st.composite
def strided(draw: Any) -> np.ndarray:
    """A view: transposed, flipped, sliced or expanded."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    x = np.arange(np.prod(shape), dtype=draw(st.sampled_from(["int16", "int32"]))).reshape(shape)
    x = x.transpose(draw(st.permutations(range(x.ndim))))
    x = x[tuple(slice(None, None, draw(st.sampled_from([1, 1, 2, -1, -2]))) for _ in shape)]
    if draw(st.booleans()):
        x = np.broadcast_to(x, (draw(st.integers(1, 3)), *x.shape))
    return x


def addresses(x: np.ndarray) -> list[int]:
    return [sum(i * s for i, s in zip(index, x.strides)) for index in oracle.indices(x.shape)]


@given(strided())
def test_the_flat_memory_has_every_element_at_its_place(x: np.ndarray) -> None:
    span = span_of(x)
    flat = span.flat(x)
    assert flat.shape == (span.size,)
    assert np.shares_memory(flat, x) is not span.copied
    strides = span.strides or tuple(s // x.itemsize for s in np.empty(x.shape, x.dtype).strides)
    for index in oracle.indices(x.shape):
        assert flat[span.start + sum(i * s for i, s in zip(index, strides))] == x[index]
    if not span.copied:
        assert span.size * x.itemsize == max(addresses(x)) - min(addresses(x)) + x.itemsize


@given(strided())
def test_distinct_is_what_the_addresses_are(x: np.ndarray) -> None:
    places = addresses(x)
    assert distinct(x.shape, x.strides, x.itemsize) is (len(set(places)) == len(places))


@given(strided())
def test_moving_axes_go_from_the_longest_step_to_the_shortest(x: np.ndarray) -> None:
    order = moving_axes(x.shape, x.strides, x.itemsize)
    if order is None:
        assert 0 in x.strides, "only an expanded array has none"
    else:
        assert sorted(order) == [i for i, n in enumerate(x.shape) if n > 1]
        steps = [abs(x.strides[i]) for i in order]
        assert steps == sorted(steps, reverse=True)


@given(strided())
def test_a_bound_array_has_its_elements_where_the_storage_says(x: np.ndarray) -> None:
    storage, flat = bind_array(nl.Layout.of_rank(x.ndim), x.shape, x)
    for index in oracle.indices(x.shape):
        assert flat[storage.offset(*index)] == x[index]


def test_empty_and_half_steps() -> None:
    empty = np.zeros((2, 0, 3))
    assert span_of(empty).size == 0 and span_of(empty).flat(empty).shape == (0,)
    field = np.zeros(4, "i2,u1")["f0"]  # steps of 3 bytes between elements of 2
    assert span_of(field).copied and span_of(field).flat(field).tolist() == [0] * 4


@given(strided())
def test_axes_are_an_order_in_which_the_array_is_contiguous(x: np.ndarray) -> None:
    axes = span_of(x).axes
    orders = [o for o in itertools.permutations(range(x.ndim)) if x.transpose(o).flags.c_contiguous]
    if axes is None:
        assert not orders
    else:
        assert sorted(axes) == list(range(x.ndim))
        assert x.transpose(axes).flags.c_contiguous


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_a_transposed_array_has_the_memory_of_the_array(order: tuple[int, ...]) -> None:
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    span = span_of(x.transpose(order))
    assert span.axes is not None and x.transpose(order).transpose(span.axes).flags.c_contiguous
    assert (span.copied, span.start, span.mirrored, span.size) == (False, 0, (), 24)
    assert span.flat(x.transpose(order)).tolist() == list(range(24))
    assert bool(span.strides) is (order != (0, 1, 2))  # C order needs none


def test_mirrored_axes_start_at_their_end() -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)[:, ::-1, ::-2]
    span = span_of(x)
    assert (span.axes, span.mirrored, span.copied) == (None, (1, 2), False)
    assert (span.start, span.strides, span.size) == (10, (12, -4, -2), 1 + 12 + 8 + 2)
    assert span.flat(x).tolist() == list(range(1, 24))


def test_elements_between_each_other_that_do_not_overlap() -> None:
    """Axes that do not fit within a step of the next: no nest, and yet no element is met twice."""
    x = np.lib.stride_tricks.as_strided(np.arange(10, dtype=np.int16), (2, 2, 2), (6, 4, 8))  # 3, 2, 4 elements
    assert moving_axes(x.shape, x.strides, 2) is None and distinct(x.shape, x.strides, 2)
    span = span_of(x)
    assert not span.copied and span.strides == (3, 2, 4) and span.size == 10 and span.axes is None
    assert span.flat(x).tolist() == list(range(10))
    over = np.lib.stride_tricks.as_strided(np.arange(10, dtype=np.int16), (2, 3), (4, 2))  # 0 1 2 / 2 3 4
    assert span_of(over).copied and not distinct(over.shape, over.strides, 2)
    assert span_of(over).flat(over).tolist() == [0, 1, 2, 2, 3, 4]


def test_an_axis_of_one_has_any_stride() -> None:
    assert moving_axes((1, 3, 1), (0, 4, 7), 4) == (1,)
    assert moving_axes((3, 1, 2), (8, -99, 4), 4) == (0, 2)
    assert moving_axes((2, 3), (4, 8), 4) == (1, 0)
    assert moving_axes((2, 3), (4, 7), 4) is None and moving_axes((2, 2), (4, 8), 5) is None
    assert moving_axes((2, 0), (0, 0), 4) == ()
    span = span_of(np.lib.stride_tricks.as_strided(np.arange(6, dtype=np.int32), (3, 1), (8, 5)))
    assert not span.copied and span.strides == (2, 1) and span.size == 5
