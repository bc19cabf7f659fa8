"""Tags against a second reading of them, and any text as a tag."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.layouts.layout import as_layout, logical_shape
from tests.support import oracle


@st.composite
def tags(draw: Any) -> str:
    letters = draw(st.sampled_from(["NCHW", "NCDHW", "NM", "HWC", "OIHW", "GOIHW", "C"]))
    tag = "".join(draw(st.permutations(letters)))
    for _ in range(draw(st.integers(0, 3))):
        tag += f"{draw(st.integers(1, 17))}{draw(st.sampled_from(letters)).lower()}"
    return "NCHW" if tag in ("WHCN", "CWHN") else tag


@given(tags(), st.data())
def test_layout_is_what_the_tag_says(tag: str, data: st.DataObject) -> None:
    letters = [letter for letter in tag if letter.isupper()]
    axes = "".join(data.draw(st.permutations(letters)))
    layout = nl.Layout(tag, axes)
    shape = tuple(data.draw(st.lists(st.integers(1, 40), min_size=len(axes), max_size=len(axes))))
    extents = dict(zip(axes, shape))
    stored = oracle.stored_shape(tag, extents)
    assert layout.storage_shape(shape) == tuple(stored)
    assert layout.size(shape) == int(np.prod(stored, dtype=object))
    index = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    assert layout.offset(shape, *index) == oracle.place(tag, stored, dict(zip(axes, index)))
    assert str(layout) == tag and layout.axes == axes
    assert pickle.loads(pickle.dumps(layout)) == layout == eval(repr(layout), {"Layout": nl.Layout})
    assert hash(layout) == hash(nl.Layout(tag, axes))


def test_ranks_that_letters_can_name() -> None:
    assert [len(nl.Layout.of_rank(rank).axes) for rank in range(27)] == list(range(27))
    for rank in (-1, 27):
        with pytest.raises(nl.LayoutError, match="expected 0 to 26"):
            nl.Layout.of_rank(rank)


def test_plain_axes_are_letters_each_of_them_once() -> None:
    for axes in ("", "N", "WHCN", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        layout = nl.Layout.plain(axes)
        assert nl.Layout.plain(axes) is layout
        assert (layout.tag, layout.axes, layout.letters) == (axes, axes, axes)
        for again in (eval(repr(layout), {"Layout": nl.Layout}), pickle.loads(pickle.dumps(layout)), copy.copy(layout)):
            assert again == layout and hash(again) == hash(layout)
    bad: tuple[Any, ...] = (
        [[]],
        [],
        ["N", "C"],
        None,
        5,
        b"NCHW",
        "nchw",
        "NCHN",
        "NC1",
        "N C",
        "NC\n",
        "\u0391",
        ("NC",),
    )
    for axes in bad:
        with pytest.raises(nl.LayoutError, match="axes: expected upper-case letters, each of them once"):
            nl.Layout.plain(axes)


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ((0, np.array([-1, 1]), 0, 0), r"index C is outside 0\.\.2 of shape \(1, 3, 4, 5\)"),
        ((0, np.array([1, 3]), 0, 0), r"index C is outside 0\.\.2"),
        ((0, 3, 0, 0), r"index C is outside 0\.\.2"),
        ((0, 0, -1, 0), r"index H is outside 0\.\.3"),
        ((1, 0, 0, 0), r"index N is outside 0\.\.0"),
        ((0, 0, 0, True), "index W must be an integer, got True"),
        ((0, 0, 0, np.True_), "index W must be an integer"),
        ((0, 0, 0, 1.0), "index W must be integers, got float64"),
        ((0, 0, 0, [[1], [1, 2]]), "index W must be integers, got object"),
        ((0, 0, 0), r"expected 4 indices \(NCHW\), got 3"),
    ],
)
def test_indices_that_do_not_fit(index: tuple[Any, ...], says: str) -> None:
    with pytest.raises(IndexError, match=says):
        nl.Layout("NHWC4c").offset((1, 3, 4, 5), *index)


def test_arrays_of_indices() -> None:
    layout, shape = nl.Layout("NCHW4c"), (1, 6, 2, 3)
    c, w = np.arange(6, dtype=np.uint8)[:, None], np.arange(3, dtype=np.int8)
    found = layout.offset(shape, 0, c, 1, w)
    assert found.dtype == np.int64
    expected = [
        [oracle.place("NCHW4c", [1, 2, 2, 3, 4], dict(zip("NCHW", (0, i, 1, j)))) for j in range(3)] for i in range(6)
    ]
    assert found.tolist() == expected
    assert layout.offset(shape, 0, np.zeros((0, 2), int), 1, 2).shape == (0, 2)


@pytest.mark.parametrize(
    ("tag", "shape"), [("NC", (2**40, 2**40)), ("NC", (2**62, 3)), (f"NC{2**50}c{2**20}c", (1, 5))]
)
def test_offsets_beyond_int64_are_those_of_integers_alone(tag: str, shape: tuple[int, int]) -> None:
    layout, last = nl.Layout(tag), (shape[0] - 1, shape[1] - 1)
    pitch = 2**70 if "c" in tag else shape[1]
    assert layout.offset(shape, *last) == last[0] * pitch + last[1]
    with pytest.raises(nl.LayoutError, match=r"offsets of arrays are int64, which cannot contain each of them"):
        layout.offset(shape, *(np.array([i]) for i in last))


def test_offsets_just_within_int64() -> None:
    layout, shape = nl.Layout("NC"), (2**31, 2**32)
    found = layout.offset(shape, np.array([2**31 - 1]), np.array([2**32 - 1]))
    assert found.dtype == np.int64 and found.tolist() == [2**63 - 1]


def test_what_is_no_tag() -> None:
    with pytest.raises(nl.LayoutError, match=r"fastest first; use Layout.named\('WHCN'\), which is NCHW memory"):
        nl.Layout("WHCN")
    not_text: Any = 5
    with pytest.raises(nl.LayoutError, match="expected a tag such as"):
        nl.Layout(not_text)


def test_shapes_that_do_not_fit() -> None:
    layout = nl.Layout("NHWC4c")
    with pytest.raises(
        nl.LayoutError, match=r"has 4 axes \(NCHW\), got a shape with 3: .*expected one of 3 axes, such as"
    ):
        layout.check_shape((1, 2, 3))
    with pytest.raises(nl.LayoutError, match=r"it is the storage shape of \(1, 12, 2, 3\), padding included"):
        layout.check_shape((1, 2, 3, 3, 4))
    with pytest.raises(nl.LayoutError, match=r"got a shape with 3: .*expected one of 3 axes, such as NCW or CHW$"):
        nl.TensorSpec((3, 64, 64))
    with pytest.raises(nl.LayoutError, match=r"got a shape with 5: .*expected one of 5 axes, such as NCDHW$"):
        layout.check_shape((1, 2, 3, 3, 5))
    with pytest.raises(nl.LayoutError, match=r"got a shape with 7: \(1, 1, 1, 1, 1, 1, 1\)$"):
        layout.check_shape((1,) * 7)
    with pytest.raises(nl.LayoutError, match="every extent must be 1 or more"):
        layout.check_shape((1, 2, 0, 3))
    with pytest.raises(nl.LayoutError, match="expected a sequence of integers"):
        layout.check_shape((1, 2, 2.5, 3))
    with pytest.raises(nl.LayoutError, match=r"axes must be an order of the letters 'NHWC', got 'NCH'"):
        nl.Layout("NHWC", "NCH")


def test_what_a_layout_says_of_itself() -> None:
    blocked, plain = nl.Layout("NHWC4c2n"), nl.Layout("OIHW")
    assert blocked.is_blocked and blocked.letters == "NHWC" and blocked.axes == "NCHW"
    assert not plain.is_blocked and plain.letters == "OIHW"
    assert repr(nl.Layout("NHWC")) == "Layout('NHWC')"
    assert repr(nl.Layout("NHWC", "NHWC")) == "Layout('NHWC', axes='NHWC')"
    assert repr(nl.Layout.plain("WHCN")) == "Layout.plain('WHCN')"
    assert [nl.Layout.of_rank(rank).axes for rank in (0, 1, 2, 3, 4, 5, 6)] == [
        "",
        "N",
        "NC",
        "NCW",
        "NCHW",
        "NCDHW",
        "ABCDEF",
    ]


def test_a_layout_from_a_tag_or_a_layout() -> None:
    layout = nl.Layout("NHWC")
    assert as_layout(layout) is layout and as_layout(layout, "NCHW") is layout
    assert as_layout(layout, "NHWC") == as_layout("NHWC", "NHWC") != layout
    assert as_layout("NHWC") == layout


def test_the_logical_shape_that_fills_an_array() -> None:
    assert logical_shape(nl.Layout("NHCW4w2c"), (1, 5, 3, 2, 4, 2)) == (1, 6, 5, 8)
    with pytest.raises(nl.LayoutError, match=r"has 5 storage dimensions, got an array with 2: \(3, 4\)"):
        logical_shape(nl.Layout("NCHW4c"), (3, 4))


def test_a_layout_of_a_vendors_name() -> None:
    assert nl.Layout.named("NC1HWC2", block=16) == nl.Layout("NCHW16c") and nl.Layout.named("WHCN") == nl.Layout("NCHW")
    assert nl.Layout("NHWC").named("NC4HW4").axes == "NCHW"
