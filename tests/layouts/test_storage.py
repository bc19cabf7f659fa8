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
    stored = oracle.stored_shape(tag, dict(zip(layout.axes, shape)))
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
    ("extents", "strides", "expected"),
    [
        ((1 << 12, 1 << 12), (1 << 12, 1), False),  # each step is longer than what is inside: no enumeration
        ((1 << 12, 1 << 12), (1, -(1 << 12)), False),
        ((1 << 12, 1 << 12), ((1 << 12) - 1, 1), None),  # one less: too many to enumerate
        ((1 << 12, 1 << 12, 3), (3 << 12, 3, 1), False),
        ((1 << 12, 1 << 12, 3), ((3 << 12) - 3, 3, 1), None),
        ((1 << 11, 1 << 11), ((1 << 11) - 1, 1), True),  # just as many as are enumerated
        ((2, 2), (1 << 70, 1), False),
        ((2, 2), (1 << 62, 1 << 62), None),  # offsets beyond int64
        ((2, 2, 2), ((1 << 62) - 1, (1 << 62) - 1, 1), True),  # the last one is 2**63 - 1
        ((1, 1 << 40), (0, 1), False),
        ((2,), (0,), True),
        ((1,), (0,), False),
        ((), (), False),
        ((2, 3), (2, 2), True),
        ((2, 2, 2), (3, 2, 4), False),  # 0 2 3 4 5 6 7 9: neither nested nor shared
    ],
)
def test_overlaps_at_its_limits(extents: tuple[int, ...], strides: tuple[int, ...], expected: bool | None) -> None:
    assert overlaps(extents, strides) is expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"storage_shape": (1, 3, 4, 4)}, "does not fit layout NCHW"),
        ({"storage_shape": (1, 3, 4)}, "does not fit layout NCHW"),
        ({"storage_shape": (1, 3, 4, 5, 1)}, "does not fit layout NCHW"),
        ({"storage_shape": (1, 3, 4, 5.5)}, "storage_shape of layout NCHW: expected a sequence of integers"),
        ({"storage_strides": (60, 20, 5, 1, 1)}, "expected 4, one for each dimension .* got 5"),
        ({"storage_strides": (60, 20, 5, 0)}, "elements overlap; .* such as .60, 20, 5, 1."),
        ({"storage_offset": -1}, "reaches 1 elements before the buffer: storage_offset -1"),
        ({"storage_offset": 7, "storage_strides": (60, 20, 5, -2)}, "reaches 1 elements before the buffer"),
        ({"storage_offset": 3, "size": 62}, "size 62 is too small: .* behind storage_offset 3 needs 63 elements"),
        ({"storage_shape": (1, 3, 1 << 12, (1 << 12) + 1), "storage_strides": (1, 1 << 40, 3, 5)}, "too irregular"),
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


def test_the_smallest_buffers_that_are_accepted() -> None:
    nchw = nl.Layout("NCHW")
    turned = Storage.bind(nchw, (1, 3, 4, 5), None, (60, 20, -5, 1), 15)
    assert (turned.start, turned.size) == (15, 15 + 40 + 4 + 1)
    assert Storage.bind(nchw, (1, 3, 4, 5), None, None, 3, 63).size == 63
    assert Storage.bind(nchw, (1, 1, 1, 1), None, None, 0, (1 << 63) - 1).size == (1 << 63) - 1
    assert not Storage.bind(nchw, (1, 3, 4, 5), None, None, 0, 61).is_dense
    assert not Storage.bind(nchw, (1, 3, 4, 5), None, None, 1).is_dense
    assert not Storage.bind(nchw, (1, 3, 4, 5), None, (60, 1, 15, 3)).is_dense
    assert Storage.bind(nchw, (1, 3, 4, 5), None, (60, 20, 5, 1)).is_dense


def test_inner_blocks_are_not_stored_longer_and_the_rest_may_be() -> None:
    blocked = nl.Layout("NCHW8c")
    longer = Storage.bind(blocked, (1, 9, 2, 3), (1, 3, 2, 4, 8))
    assert longer.count == longer.size == 3 * 2 * 4 * 8
    for stored in ((1, 2, 2, 3, 9), (1, 2, 2, 3, 7), (1, 1, 2, 3, 8)):
        with pytest.raises(nl.LayoutError, match="or more in a dimension that is no inner block"):
            Storage.bind(blocked, (1, 9, 2, 3), stored)


def test_an_axis_by_its_letter() -> None:
    storage = Storage.bind(nl.Layout("NHWC4c2c"), (1, 17, 5, 6))
    assert [storage.extent(letter) for letter in "NCHW"] == [1, 17, 5, 6]
    assert storage.chain("C") == ((8, 0, 3, 8), (2, 4, 4, 2), (1, 2, 2, 1))  # step, block, extent, stride
    assert storage.chain("W") == ((1, 0, 6, 24),)
    one = Storage.bind(nl.Layout("NC1cHW"), (1, 3, 2, 2))
    assert [link.block for link in one.chain("C")] == [0, 1]
    assert one.view_strides() == (1, 4, 2, 1)
    assert Storage.bind(nl.Layout("NCHW1c"), (1, 3, 2, 2)).view_strides() == (1, 4, 2, 1)
    assert storage.describe() == "layout NHWC4c2c of (1,17,5,6)"
    assert storage.padding_words() == " (C padded from 17 to 24)"
    assert Storage.bind(nl.Layout("NCHW"), (1, 1, 2, 3), None, None, 0, 8).padding_words() == " (2 elements of gaps)"
    assert Storage.bind(nl.Layout("NCHW"), (1, 1, 2, 3)).padding_words() == ""


def test_an_axis_in_blocks_may_have_one_stride() -> None:
    """If the strides of its parts fit into each other."""
    storage = Storage.bind(nl.Layout("NHWC4c"), (1, 8, 2, 3), None, (48, 24, 8, 4, 1))
    assert storage.view_strides() == (1, 1, 24, 8)
    with pytest.raises(nl.LayoutError, match="axis C has no single stride"):
        Storage.bind(nl.Layout("NHWC4c"), (1, 8, 2, 3), None, (96, 48, 16, 5, 1)).view_strides()
    assert Storage.bind(nl.Layout("NHWC4c"), (1, 4, 2, 3), None, (96, 48, 16, 5, 1)).view_strides()[1] == 1
