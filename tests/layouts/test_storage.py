"""Bound layouts: strides, offsets, sizes and what is padded, against the scalar oracle and enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.layouts import Storage
from npu_layout.layouts.storage import overlaps
from tests.layouts.test_layout import tags
from tests.support import oracle


@given(tags(), st.data())
def test_a_dense_storage_is_the_array_of_the_tag(tag: str, data: st.DataObject) -> None:
    layout = nl.Layout(tag)
    shape = data.draw(st.tuples(*[st.integers(1, 9)] * len(layout.axes)))
    storage = Storage.bind(layout, shape)
    stored = oracle.room(tag, dict(zip(layout.axes, shape)))
    assert storage.is_dense and storage.storage_shape == tuple(stored) and storage.start == 0
    assert storage.count == storage.size == np.prod(stored, dtype=object)
    assert storage.padding == storage.size - np.prod(shape, dtype=object)
    assert bool(storage.padding_words()) == (storage.padding > 0)
    index = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    assert storage.offset(*index) == oracle.place(tag, stored, dict(zip(layout.axes, index)))


def test_pitches_and_an_offset() -> None:
    storage = Storage.bind(nl.Layout("NHWC"), (1, 3, 4, 5), (1, 4, 8, 3), (200, 48, 3, 1), 7, 300)
    for index in oracle.indices(storage.shape):
        place = oracle.place("NHWC", storage.storage_shape, dict(zip("NCHW", index)), storage.strides)
        assert storage.offset(*index) == 7 + place
    assert not storage.is_dense and storage.padding == 300 - 60
    assert "W padded from 5 to 8" in storage.padding_words()
    assert storage.padding_words().endswith(f"{300 - 4 * 8 * 3} elements of gaps)")


@pytest.mark.parametrize(
    ("tag", "shape", "strides"),
    [("NCHW", (2, 3, 4, 5), (60, 20, 5, 1)), ("NHWC", (2, 3, 4, 5), (60, 1, 15, 3)),
     ("CHWN", (2, 3, 4, 5), (1, 40, 10, 2)), ("NCHW8c", (2, 3, 4, 5), (160, 1, 40, 8))],
)  # fmt: skip
def test_views_step_as_the_places_do(tag: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    storage = Storage.bind(nl.Layout(tag), shape)
    assert storage.view_strides() == strides
    for index in oracle.indices(shape):
        assert storage.offset(*index) == sum(i * s for i, s in zip(index, strides))


def test_an_axis_of_two_blocks_has_no_single_stride() -> None:
    with pytest.raises(nl.LayoutError, match="axis C has no single stride"):
        Storage.bind(nl.Layout("NCHW8c"), (1, 9, 2, 2)).view_strides()


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 12)), min_size=1, max_size=4))
def test_overlaps_is_what_enumeration_finds(dims: list[tuple[int, int]]) -> None:
    extents, strides = zip(*dims)
    places = [sum(i * s for i, s in zip(index, strides)) for index in itertools.product(*map(range, extents))]
    assert overlaps(extents, strides) is (len(set(places)) < len(places))


def test_overlaps_gives_up_where_enumeration_takes_too_long() -> None:
    assert overlaps((1 << 12, 1 << 12), (3, 5)) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"storage_shape": (1, 3, 4, 4)}, "does not fit layout NCHW"),
        ({"storage_shape": (1, 3, 4)}, "does not fit layout NCHW"),
        ({"storage_strides": (60, 20, 5)}, "expected 4, one for each dimension"),
        ({"storage_strides": (60, 20, 4, 1)}, "elements overlap"),
        ({"storage_strides": (60, 20, 0, 1)}, "elements overlap"),
        ({"storage_strides": (60, 20, 5, 1.5)}, "expected integers"),
        ({"storage_strides": (60, 20, -5, 1)}, "reaches 15 elements before the buffer"),
        ({"storage_offset": "1"}, "expected an integer, got '1'"),
        ({"size": 59}, "size 59 is too small: .* needs 60"),
        ({"size": 1 << 63}, "more than int64 can count"),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    with pytest.raises(nl.LayoutError, match=message):
        Storage.bind(nl.Layout("NCHW"), (1, 3, 4, 5), **change)
