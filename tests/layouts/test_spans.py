"""Memory ranges of strided arrays, against the addresses of their elements one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
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
    if order is not None:
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
