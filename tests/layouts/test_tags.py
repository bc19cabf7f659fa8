"""The grammar of tags: what they say of axes and storage dimensions, and texts that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.layouts.tags import dimensions, letters_of
from tests.support import oracle


def test_storage_dimensions() -> None:
    """(axis, step, block): c counts in 16 parts of 4, then in blocks of 4, the inner ones first."""
    axes, dims = dimensions("NCHW16c4c", None)
    assert axes == "NCHW" and dims == ((0, 1, 0), (1, 64, 0), (2, 1, 0), (3, 1, 0), (1, 4, 16), (1, 1, 4))
    assert dimensions("2hHW", "WH") == ("WH", ((1, 1, 2), (1, 2, 0), (0, 1, 0)))  # a block before its axis
    assert letters_of("NHW4hC") == "NHWC"


@given(st.text("NCHWchw0123456789_ -é", max_size=8))
def test_any_text_is_a_layout_or_a_layout_error(text: str) -> None:
    try:
        layout = nl.Layout(text)
    except nl.LayoutError as error:
        assert "layout" in str(error)
        return
    assert oracle.parts(text) and str(layout) == text


@pytest.mark.parametrize(
    ("tag", "axes"),
    [("NHWC", "NCHW"), ("HWC", "CHW"), ("NDHWC", "NCDHW"), ("CN", "NC"), ("HWC4c", "CHW"), ("WHC", "CHW"),
     ("OHWI", "OHWI"), ("WHNCX", "WHNCX"), ("WHDCNA", "WHDCNA"), ("AC", "AC")],
)  # fmt: skip
def test_axes_that_are_not_given(tag: str, axes: str) -> None:
    """N C D H W whatever the tag's order, but only if there are no other letters."""
    assert nl.Layout(tag).axes == axes
    assert eval(repr(nl.Layout(tag)), {"Layout": nl.Layout}) == nl.Layout(tag)


@pytest.mark.parametrize(
    ("tag", "says"),
    [
        ("NCHW16", "cannot read '16'; expected"),
        ("NC-HW", "cannot read '-HW'"),
        ("nchw", r"cannot read 'nchw'.* Is it NCHW\?$"),
        ("NC1HWC2", r"cannot read '1HWC2'.*It is a vendor's name: Layout.named\('NC1HWC2', block=16\)"),
        ("N0c", "cannot read '0c'"),
        (f"NC{'1' * 5000}c", "cannot read '1111"),
        ("4c", "expected at least one axis"),
        ("NCC", "axis C appears twice"),
        ("NHW4c", "block 4c has no axis; expected an upper-case C"),
    ],
)
def test_tags_that_are_none(tag: str, says: str) -> None:
    with pytest.raises(nl.LayoutError, match=says):
        nl.Layout(tag)
