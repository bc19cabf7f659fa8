"""asformat, clone, empty_like and memory_format: awkward arrays, refusals, and a scalar oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from tests.support import oracle
from tests.support.arrays import AXES, arrays, bits, filled, in_elements, tags


def test_the_tutorials_storage() -> None:
    stored = [14, 16, 20, 11, 8, 26, 15, 18, 29, 21, 10, 3]
    x = np.array(stored).reshape(1, 3, 2, 2)
    y = nl.asformat(x, "NHWC")
    np.testing.assert_array_equal(y, x)
    assert y.transpose(0, 2, 3, 1).reshape(-1).tolist() == [14, 8, 29, 16, 26, 21, 20, 15, 10, 11, 18, 3]
    assert np.shares_memory(y.transpose(0, 2, 3, 1).reshape(-1), y)
    assert nl.asformat(y, "NCHW").ravel(order="K").tolist() == stored


def test_a_matrix_its_transpose_and_the_contiguous_copy() -> None:
    x = np.arange(12).reshape(3, 4)
    assert in_elements(x) == (4, 1) and nl.memory_format(x) == nl.Layout("NC")
    turned = x.T
    assert in_elements(turned) == (1, 4) and not nl.is_contiguous(turned, "NC") and nl.is_contiguous(turned, "CN")
    assert nl.memory_format(turned) == nl.Layout("CN")
    copy = nl.asformat(turned, "NC")
    assert in_elements(copy) == (3, 1) and copy.ravel("K").tolist() == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]
    assert not np.shares_memory(copy, x)


def test_row_major_and_column_major() -> None:
    rows = np.array([[1, 2, 3], [4, 5, 6]])
    columns = np.asfortranarray(rows)
    assert rows.ravel("K").tolist() == [1, 2, 3, 4, 5, 6] and columns.ravel("K").tolist() == [1, 4, 2, 5, 3, 6]
    assert [str(nl.memory_format(x)) for x in (rows, columns)] == ["NC", "CN"]
    np.testing.assert_array_equal(nl.asformat(rows, "CN"), rows)
    assert nl.asformat(rows, "CN").ravel("K").tolist() == columns.ravel("K").tolist()
    deep = np.zeros((2, 3, 4, 5), order="F")  # WHCN, were that no tag which vendors read the other way round
    assert nl.memory_format(deep) == nl.Layout("DCBA", axes="ABCD") and nl.is_contiguous(deep, "DCBA") is False
    assert nl.is_contiguous(deep, nl.Layout("DCBA", axes="ABCD"))


def test_asformat_gives_canonical_strides_without_copying() -> None:
    x = np.arange(64, dtype=np.float32).reshape(4, 1, 4, 4)
    y = nl.asformat(x, "NHWC")
    assert in_elements(x) == (16, 16, 4, 1) and in_elements(y) == (16, 1, 4, 1)
    assert np.shares_memory(x, y) and in_elements(nl.asformat(y, "NCHW")) == (16, 16, 4, 1)
    np.testing.assert_array_equal(x, y)
    assert nl.asformat(x, "NCHW") is x and nl.asformat(y, "NHWC") is y
    assert nl.asformat(y, "NHWC", copy=False) is y and not np.shares_memory(nl.asformat(y, "NHWC", copy=True), y)


def test_expanded_narrowed_and_flipped() -> None:
    x = nl.asformat(filled((2, 8, 6, 6), "float32"), "NHWC")
    expanded = np.broadcast_to(x[:, :1], x.shape)
    assert nl.memory_format(expanded) is None and nl.fitting_formats(expanded) == ()
    narrow, flipped = x[:, 2:5, 1:3, 1:3], x[..., ::-1]
    for part in (expanded, narrow, flipped):
        assert not nl.is_contiguous(part, "NHWC") and not nl.is_contiguous(part, "NCHW")
        dense = nl.asformat(part, "NHWC")
        assert nl.is_contiguous(dense, "NHWC")
        np.testing.assert_array_equal(dense, part)
        with pytest.raises(nl.NpuLayoutError, match="copy=False, but a copy is needed"):
            nl.asformat(part, "NHWC", copy=False)
    assert str(nl.memory_format(narrow)) == str(nl.memory_format(flipped)) == "NHWC"


def test_axes_with_names() -> None:
    image = np.zeros((4, 5, 3)).transpose(2, 0, 1)
    assert str(nl.memory_format(image, "CHW")) == "HWC" and str(nl.memory_format(image)) == "CWN"
    assert nl.memory_format(np.zeros((2, 3, 4, 5)), "NHWC") == nl.Layout("NHWC", axes="NHWC")
    for axes in ("NC", "NCHW4c", "nchw", "NNHW", 7, "WHCN"):
        with pytest.raises(nl.LayoutError):
            nl.memory_format(np.zeros((2, 3, 4, 5)), axes)  # type: ignore[arg-type]


def test_blocked_layouts_are_refused_with_the_reason() -> None:
    x = np.zeros((1, 32, 4, 4))
    for call in (
        lambda: nl.strides(x.shape, "NCHW16c"),
        lambda: nl.is_contiguous(x, "NCHW16c"),
        lambda: nl.empty(x.shape, "f4", "NCHW16c"),
        lambda: nl.empty_like(x, layout="NCHW16c"),
        lambda: nl.asformat(x, "NCHW16c"),
        lambda: nl.clone(x, nl.Layout("NCHW16c")),
        lambda: nl.Tensor(x, "NCHW16c"),
    ):
        with pytest.raises(nl.LayoutError, match=r"NCHW16c is blocked: axis C has no single stride.*TensorSpec"):
            call()


def test_clear_errors() -> None:
    x = np.zeros((1, 3, 4, 4))
    calls: list[tuple[Any, str]] = [
        (lambda: nl.strides((1, 3, 4), "NHWC"), "4 axes"),
        (lambda: nl.strides((1, -3, 4, 4), "NHWC"), "0 or more"),
        (lambda: nl.strides(5, "NHWC"), "sequence of integers"),  # type: ignore[arg-type]
        (lambda: nl.strides((1, 2.5, 4, 4), "NHWC"), "sequence of integers"),  # type: ignore[list-item]
        (lambda: nl.empty((1 << 40, 1 << 40), "f8", "NC"), "empty array of layout NC"),
        (lambda: nl.empty_like(x, "no dtype"), "empty_like: dtype 'no dtype'"),
        (lambda: nl.empty_like(x, "no dtype", "NHWC"), "dtype 'no dtype'"),
        (lambda: nl.empty((2, 2), "no such dtype", "NC"), "empty array of layout NC"),
        (lambda: nl.asformat(x, "NCW"), "3 axes"),
        (lambda: nl.asformat(np.float32(3), "N"), "got a shape with 0"),
        (lambda: nl.asformat(np.zeros(()), "NCHW"), "got a shape with 0"),
        (lambda: nl.asformat(x, 7), "expected a tag"),  # type: ignore[arg-type]
        (lambda: nl.asformat(x, "NHWC", copy="no"), "copy: expected"),  # type: ignore[arg-type]
        (lambda: nl.asformat([[1, 2], [3]], "NC"), "expected an array, got list"),
        (lambda: nl.asformat([[1, 2], [3, 4]], "NC", copy=False), "list is no array"),
        (lambda: nl.asformat(np.ma.masked_array(x, x > 1), "NHWC"), "mask would be lost"),
        (lambda: nl.clone(np.ma.masked_array(x, x > 1)), "mask would be lost"),
        (lambda: nl.is_contiguous([1, 2], "N"), "expected a numpy array, got list"),  # type: ignore[arg-type]
        (lambda: nl.memory_format([1, 2]), "expected a numpy array, got list"),  # type: ignore[arg-type]
        (lambda: nl.is_contiguous(x, "WHCN"), "fastest first"),
    ]
    for call, says in calls:
        with pytest.raises(nl.NpuLayoutError, match=says):
            call()


def test_subclasses_of_others_come_out_plain(tmp_path: Any) -> None:
    on_disk = np.memmap(tmp_path / "x.bin", np.float32, "w+", shape=(2, 3, 4, 4))
    on_disk[...] = filled(on_disk.shape, "float32")
    record = filled((2, 3, 4, 4), "i4,u1").view(np.recarray)
    for x in (on_disk, record):
        kept = bits(np.asarray(x))
        for layout in ("NCHW", "NHWC"):
            y = nl.asformat(x, layout)
            assert type(y) is np.ndarray and bits(y) == kept and np.shares_memory(x, y) == (layout == "NCHW")
        assert str(nl.memory_format(x)) == "NCHW" and bits(np.asarray(x)) == kept


def test_objects_are_moved_not_their_bytes() -> None:
    x = np.empty((2, 3, 2, 2), object)
    for i in np.ndindex(x.shape):
        x[i] = [i]
    y = nl.asformat(x, "NHWC")
    assert nl.is_contiguous(y, "NHWC") and all(y[i] is x[i] for i in np.ndindex(x.shape))
    del x
    assert y[1, 2, 1, 1] == [(1, 2, 1, 1)]


def test_huge_strides() -> None:
    memory = np.zeros(1 << 28, np.uint8)  # never touched but where it is read
    x = np.lib.stride_tricks.as_strided(memory, (2, 3, 2, 2), (1 << 27, 1, 1 << 26, 1 << 20))
    x[...] = filled(x.shape, "uint8")
    y = nl.asformat(x, "NCHW")
    assert str(nl.memory_format(x)) == "NHWC" and nl.is_contiguous(y, "NCHW")
    np.testing.assert_array_equal(x, y)


@given(st.data())
def test_asformat(data: st.DataObject) -> None:
    x = data.draw(arrays())
    axes = data.draw(st.sampled_from(AXES[x.ndim]))
    layout = nl.Layout(data.draw(st.sampled_from(tags(axes))), axes)
    copy = data.draw(st.sampled_from([None, True, False]))
    kept, memory = bits(x), (x.strides, x.flags.writeable)
    already = oracle.contiguous(x, layout.tag, axes)
    if copy is False and not already:
        with pytest.raises(nl.NpuLayoutError, match="copy is needed"):
            nl.asformat(x, layout, copy)
        return
    y = nl.asformat(x, layout, copy)
    assert type(y) is np.ndarray and (y.shape, y.dtype) == (x.shape, x.dtype) and bits(y) == kept
    assert oracle.contiguous(y, layout.tag, axes)
    extents = dict(zip(axes, x.shape))
    if x.size:
        for axis, step in enumerate(nl.strides(x.shape, layout)):
            one = {letter: int(letter == axes[axis]) for letter in axes}
            if x.shape[axis] > 1:
                assert step == oracle.place(layout.tag, oracle.stored_shape(layout.tag, extents), one)
        assert in_elements(y) == nl.strides(x.shape, layout)
        assert np.shares_memory(x, y) == (already and copy is not True)
    assert y.flags.writeable or (already and copy is not True and not memory[1])
    assert (bits(x), x.strides, x.flags.writeable) == (kept, *memory)


@given(st.data())
def test_clone_and_empty_like(data: st.DataObject) -> None:
    x = data.draw(arrays())
    kept = bits(x)
    layout = data.draw(st.sampled_from([None, *tags(AXES[x.ndim][0])]))
    for made in (nl.clone(x, layout), nl.empty_like(x, layout=layout), nl.empty_like(x, "u2", layout)):
        assert type(made) is np.ndarray and made.shape == x.shape and made.flags.writeable
        assert not np.may_share_memory(made, x) or not x.size
        if layout is not None:
            assert oracle.contiguous(made, layout, AXES[x.ndim][0])
        elif x.size:  # dense, in an order that x fits
            fits = {f for f in nl.fitting_formats(x)}
            assert any(nl.is_contiguous(made, f) for f in fits) or not fits
    assert bits(nl.clone(x, layout)) == kept == bits(x) and nl.empty_like(x).dtype == x.dtype


@pytest.mark.parametrize("false", [False, np.False_])
def test_without_a_copy_a_list_is_refused(false: Any) -> None:
    """What is no array needs a copy, whichever false is given."""
    with pytest.raises(nl.NpuLayoutError, match="copy=False, but a copy is needed"):
        nl.asformat([[1, 2], [3, 4]], "NC", copy=false)
    x = np.arange(4).reshape(2, 2)
    assert nl.asformat(x, "NC", copy=false) is x and nl.asformat(x, "NC", copy=np.True_) is not x
