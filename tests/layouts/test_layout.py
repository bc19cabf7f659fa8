"""Tags against a second reading of them, and any text as a tag."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
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
    stored = oracle.room(tag, extents)
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


@given(st.text("NCHWchw0123456789_ -é", max_size=8))
def test_any_text_is_a_layout_or_a_layout_error(text: str) -> None:
    try:
        layout = nl.Layout(text)
    except nl.LayoutError as error:
        assert "layout" in str(error)
        return
    assert oracle.parts(text) and str(layout) == text


def test_plain_axes_are_letters_each_of_them_once() -> None:
    for axes in ("", "N", "WHCN", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        layout = nl.Layout.plain(axes)
        assert (layout.tag, layout.axes, layout.letters) == (axes, axes, axes)
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
