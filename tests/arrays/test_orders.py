"""The order of axes in memory: the textbooks' strides, what fits, and every rule against a scalar oracle."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.arrays.orders import axis_order, empty_in, follows, watch_repacks
from tests.support import oracle
from tests.support.arrays import AXES, arrays, bits, filled, in_elements, tags


@pytest.mark.parametrize(
    ("shape", "layout", "strides"),
    [
        ((1, 64, 5, 4), "NCHW", (1280, 20, 4, 1)),
        ((1, 64, 5, 4), "NHWC", (1280, 1, 256, 64)),
        ((10, 3, 32, 32), "NCHW", (3072, 1024, 32, 1)),
        ((10, 3, 32, 32), "NHWC", (3072, 1, 96, 3)),
        ((10, 3, 16, 16), "NHWC", (768, 1, 48, 3)),
        ((8, 3, 32, 24), "CHWN", (1, 6144, 192, 8)),
        ((2, 3, 4, 5), "NHCW", (60, 5, 15, 1)),
        ((2, 3, 4, 5), "HWCN", (1, 2, 30, 6)),
        ((2, 3, 4, 5, 6), "NDHWC", (360, 1, 90, 18, 3)),
        ((2, 3, 4, 5, 6), "NCDHW", (360, 120, 30, 6, 1)),
        ((3, 4), "CN", (1, 3)),
        ((7,), "N", (1,)),
        ((2, 0, 3, 4), "NCHW", (12, 12, 4, 1)),
    ],
)
def test_strides_of_the_textbooks(shape: tuple[int, ...], layout: str, strides: tuple[int, ...]) -> None:
    assert nl.strides(shape, layout) == strides
    made = nl.empty(shape, np.int16, layout)
    assert made.shape == shape and made.dtype == np.int16 and nl.is_contiguous(made, layout)
    if made.size:
        assert in_elements(made) == strides  # element strides = byte strides / itemsize
        assert in_elements(nl.asformat(np.zeros(shape), layout)) == strides


def test_ambiguous_shapes() -> None:
    for shape, fits in (
        ((4, 1, 4, 4), {"NCHW", "NHWC", "NHCW", "CNHW"}),  # N1HW
        ((4, 3, 1, 1), None),  # NC11
        ((4, 1, 1, 1), None),  # N111
        ((1, 1, 1, 1), None),
        ((0, 3, 4, 4), None),
    ):
        x = np.zeros(shape, np.float32)
        assert nl.memory_format(x) is None
        found = [str(layout) for layout in nl.fitting_formats(x)]
        assert found[:2] == ["NCHW", "NHWC"] and (fits is None or set(found) == fits)
    for shape, is_what in (((1, 3, 4, 4), "NCHW"), ((4, 3, 1, 4), "NCHW"), ((4, 3, 4, 1), "NCHW"), ((2, 3), "NC")):
        assert str(nl.memory_format(np.zeros(shape))) == is_what
    assert str(nl.memory_format(np.zeros((1, 4, 5, 3)).transpose(0, 3, 1, 2))) == "NHWC"
    assert str(nl.memory_format(np.zeros((1, 4, 3, 5)).transpose(0, 2, 1, 3))) == "NHCW"
    assert str(nl.memory_format(np.zeros((3, 4, 5, 2)).transpose(3, 0, 1, 2))) == "CHWN"


def test_many_axes() -> None:
    x = np.zeros((2,) * 9 + (1, 2))
    assert [layout.tag for layout in nl.fitting_formats(x)] == ["ABCDEFGHIJK"]
    assert nl.fitting_formats(x.T)[0].letters.replace("B", "") == "KJIHGFEDCA"
    assert nl.is_contiguous(nl.asformat(x, nl.fitting_formats(x.T)[0]), nl.fitting_formats(x.T)[0])
    with pytest.raises(nl.LayoutError, match="one letter for each axis"):
        nl.memory_format(np.zeros((1,) * 30))


def test_no_axes_no_order() -> None:
    assert nl.memory_format(np.zeros(())) is None and nl.fitting_formats(np.zeros(())) == ()


def test_one_pass_through_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    from npu_layout.arrays import orders as strided

    moves = []

    def spied(*args: Any) -> Any:
        moves.append(planned(*args))
        return moves[-1]

    planned = strided._move
    monkeypatch.setattr(strided, "_move", spied)
    x = filled((2, 5, 6, 7), "float32")
    parts = (x, x[:, ::2], x[..., ::-1], x[:, 1:3, 2:4], x.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2))
    for part, layout in itertools.product(parts, ("NCHW", "NHWC", "CHWN", "NHCW")):
        np.testing.assert_array_equal(nl.asformat(part, layout, copy=True), part)
    assert len(moves) == 20 and None not in moves


@given(st.data())
def test_predicates(data: st.DataObject) -> None:
    x = data.draw(arrays())
    axes = data.draw(st.sampled_from(AXES[x.ndim]))
    kept = bits(x)
    fits = {layout.tag for layout in nl.fitting_formats(x, axes)}
    expected = {tag for tag in tags(axes) if oracle.in_order(x, tag, axes)}
    assert {tag for tag in fits if set(tag) == set(axes)} == expected
    assert len(fits) == sum(oracle.in_order(x, "".join(p), axes) for p in itertools.permutations(axes))
    for tag in tags(axes):
        layout = nl.Layout(tag, axes)
        assert nl.is_contiguous(x, layout) == oracle.contiguous(x, tag, axes)
    read = nl.memory_format(x, axes)
    if read is None:
        usual = {axes, axes.replace("C", "") + "C"}
        assert len(fits) != 1 and (not fits or usual <= fits or len(fits - usual) == len(fits))
    else:
        assert read.tag in fits
    assert bits(x) == kept


@given(st.data())
def test_an_order_and_its_way_back(data: st.DataObject) -> None:
    """stored is what the tag says, outermost first, and back undoes it."""
    axes = data.draw(st.sampled_from(["NC", "NCHW", "NCDHW", "HWC"]))
    tag = data.draw(st.sampled_from(tags(axes)))
    order = axis_order(nl.Layout(tag, axes))
    assert "".join(axes[i] for i in order.stored) == tag
    assert [order.stored[i] for i in order.back] == list(range(len(axes)))
    made = empty_in(tuple(range(2, 2 + len(axes))), "int16", order)
    assert made.shape == tuple(range(2, 2 + len(axes))) and oracle.contiguous(made, tag, axes)


@given(st.data())
def test_follows_is_one_of_the_fitting_formats(data: st.DataObject) -> None:
    x = data.draw(arrays())
    axes = AXES[x.ndim][0]
    fits = {layout.tag for layout in nl.fitting_formats(x, axes)}
    for tag in tags(axes):
        layout = nl.Layout(tag, axes)
        assert follows(x, axis_order(layout)) == oracle.in_order(x, tag, axes) == (tag in fits)


def test_the_watcher_hears_of_every_arrangement() -> None:
    """Of copies, of views and of arrays that stay as they are; not of a refusal; and of nothing after it is gone."""
    heard: list[tuple[np.ndarray, np.ndarray]] = []
    x = filled((2, 3, 4, 5), "float32")
    ambiguous = filled((4, 1, 4, 4), "float32")
    watch_repacks(lambda source, result: heard.append((source, result)))
    try:
        same, copy, view = nl.asformat(x, "NCHW"), nl.asformat(x, "NHWC"), nl.asformat(ambiguous, "NHWC")
        with pytest.raises(nl.NpuLayoutError):
            nl.asformat(x, "NHWC", copy=False)
        tensor = nl.Tensor(x, "CHWN")
    finally:
        watch_repacks(None)
    nl.asformat(x, "NHWC")
    assert [source for source, _ in heard if source is x or source is ambiguous] and len(heard) == 4
    for (source, result), (given_, got) in zip(heard, [(x, same), (x, copy), (ambiguous, view), (x, tensor)]):
        assert source is given_ and (result is got or result.__array_interface__ == got.__array_interface__)
