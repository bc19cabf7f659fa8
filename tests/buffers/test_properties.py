"""Hypothesis drives TensorSpec and repack against plain loops over the oracle's offsets, on awkward arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from tests.layouts.test_layout import tags
from tests.support import oracle

DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64", ">i2", ">f4"]


@st.composite
def specs(draw: Any) -> nl.TensorSpec:
    layout = nl.Layout(draw(tags()))
    shape = tuple(draw(st.integers(1, 7)) for _ in layout.axes)
    stored = oracle.stored_shape(layout.tag, dict(zip(layout.axes, shape)))
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        stored = [n if dim.block else n + draw(st.integers(0, 2)) for n, dim in zip(stored, layout.dims)]
        options["storage_shape"] = stored
    if draw(st.booleans()):
        order = draw(st.permutations(range(len(stored))))
        strides, pitch = [0] * len(stored), 1
        for i in order:
            pitch += draw(st.integers(0, 2))
            strides[i] = pitch
            pitch *= stored[i]
        options.update(storage_strides=strides, storage_offset=draw(st.integers(0, 3)))
    spec = nl.TensorSpec(shape, layout, draw(st.sampled_from(DTYPES)), **options)
    return nl.TensorSpec(shape, layout, spec.dtype, size=spec.size + draw(st.integers(0, 3)), **options)


def buffer_of(spec: nl.TensorSpec, tensor: np.ndarray) -> np.ndarray:
    values = oracle.scatter(
        tensor, spec.layout.tag, spec.axes, spec.storage_shape, spec.storage_strides, spec.storage_offset, spec.size
    )
    return np.array(values, spec.stored)


def numbers(data: st.DataObject, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    seed = data.draw(st.integers(0, 2**32 - 1))
    return np.random.default_rng(seed).integers(1, 120, shape).astype(dtype)


def awkward(data: st.DataObject, array: np.ndarray) -> np.ndarray:
    """The same values, stored as people's arrays do."""
    kind = data.draw(st.sampled_from(["as it is", "fortran", "reversed", "stepped", "unaligned", "read-only", "list"]))
    if kind == "fortran":
        return np.asfortranarray(array)
    if kind in ("reversed", "stepped"):
        step = -1 if kind == "reversed" else 2
        whole = np.full([abs(step) * n for n in array.shape], 99, array.dtype)
        part = whole[tuple(slice(None, None, step) for _ in array.shape)]
        part[...] = array
        return part
    if kind == "unaligned":
        raw = np.empty(array.nbytes + 1, np.uint8)[1:]
        part = raw.view(array.dtype).reshape(array.shape)
        part[...] = array
        return part
    result = array.copy()
    result.flags.writeable = kind != "read-only"
    return result


@given(specs(), st.data())
def test_unpack_and_pack(spec: nl.TensorSpec, data: st.DataObject) -> None:
    tensor = numbers(data, spec.shape, spec.element.unpacked)
    flat = buffer_of(spec, tensor)
    kept = flat.copy()
    index = tuple(data.draw(st.integers(0, n - 1)) for n in spec.shape)
    at = oracle.place(spec.layout.tag, spec.storage_shape, dict(zip(spec.axes, index)), spec.storage_strides)
    assert spec.offset(*index) == spec.storage_offset + at

    got = spec.unpack(flat if data.draw(st.booleans()) else flat.tobytes())
    assert got.dtype == tensor.dtype and got.flags.c_contiguous
    np.testing.assert_array_equal(got, tensor)
    out = awkward(data, np.zeros(spec.shape, tensor.dtype))
    if out.flags.writeable:
        assert spec.unpack(flat, out=out) is out
        np.testing.assert_array_equal(out, tensor)

    source = awkward(data, tensor)
    before = source.copy()
    packed = spec.pack(source)
    assert packed.dtype == spec.stored and packed.shape == (spec.size,)
    np.testing.assert_array_equal(packed, flat)
    again = np.full(spec.size, 77, spec.stored)
    assert spec.pack(source, out=again) is again
    np.testing.assert_array_equal(again, flat)
    np.testing.assert_array_equal(source, before)
    np.testing.assert_array_equal(flat, kept)
    try:
        view = spec.view(flat)
    except nl.LayoutError:
        return
    assert np.shares_memory(view, flat)
    np.testing.assert_array_equal(view, tensor)


@given(st.data())
def test_repack(data: st.DataObject) -> None:
    source = nl.Layout(data.draw(tags()))
    letters = "".join(data.draw(st.permutations(source.axes)))
    blocks = "".join(
        f"{data.draw(st.integers(1, 9))}{data.draw(st.sampled_from(letters)).lower()}"
        for _ in range(data.draw(st.integers(0, 2)))
    )
    target = nl.Layout("NCHW" if letters + blocks in ("WHCN", "CWHN") else letters + blocks)
    shape = tuple(data.draw(st.integers(1, 7)) for _ in source.axes)
    extents = dict(zip(source.axes, shape))
    tensor = numbers(data, shape, data.draw(st.sampled_from(DTYPES)))
    stored, wanted = oracle.stored_shape(source.tag, extents), oracle.stored_shape(target.tag, extents)
    x = np.array(
        oracle.scatter(tensor, source.tag, source.axes, stored, None, 0, int(np.prod(stored))), tensor.dtype
    ).reshape(stored)
    expected = oracle.scatter(tensor, target.tag, source.axes, wanted, None, 0, int(np.prod(wanted)))
    x[x == 0] = 55 if source.is_blocked else 0  # pad lanes hold rubbish
    result = nl.repack(awkward(data, x), source, target, shape=shape)
    assert result.dtype == tensor.dtype and result.flags.c_contiguous
    np.testing.assert_array_equal(result, np.array(expected, tensor.dtype).reshape(wanted))
    out = awkward(data, np.full(wanted, 33, tensor.dtype))
    if out.flags.writeable:
        np.testing.assert_array_equal(nl.repack(x, source, target, shape=shape, out=out), result)


@given(specs(), st.integers(-64, 64))
def test_a_buffer_of_another_size_is_refused(spec: nl.TensorSpec, change: int) -> None:
    size = max(0, spec.nbytes + change)
    if size == spec.nbytes:
        return
    with pytest.raises(nl.BufferSizeError, match=f"buffer has {size} bytes; .*needs {spec.nbytes}"):
        spec.unpack(bytes(size))


def test_arrays_of_nothing_and_of_one() -> None:
    for shape in ((0, 3, 4, 4), (1, 0, 4, 4)):
        with pytest.raises(nl.LayoutError, match="1 or more"):
            nl.repack(np.zeros(shape), "NCHW", "NHWC")
    one = nl.TensorSpec((1, 1, 1, 1), "NCHW16c", "int8")
    np.testing.assert_array_equal(one.unpack(np.arange(5, 21, dtype=np.int8)), [[[[5]]]])
    with pytest.raises(nl.LayoutError):
        one.pack(np.int8(5))


def test_a_broadcast_array_packs_and_is_refused_as_out() -> None:
    spec = nl.TensorSpec((2, 3, 4, 5), "NHWC", "float32")
    broadcast = np.broadcast_to(np.float32(7), spec.shape)
    assert (spec.pack(broadcast) == 7).all()
    overlapping = np.lib.stride_tricks.as_strided(np.zeros(40, np.float32), spec.shape, (0, 4, 4, 4))
    for call in (
        lambda: spec.unpack(spec.pack(broadcast), out=overlapping),
        lambda: nl.repack(np.ones((2, 4, 5, 3), np.float32), "NHWC", "NCHW", out=overlapping),
    ):
        with pytest.raises(nl.NpuLayoutError, match="strides"):
            call()


def test_subclasses_and_masks_come_out_as_plain_arrays() -> None:
    class Mine(np.ndarray):
        pass

    x = np.arange(60, dtype=np.float32).reshape(1, 3, 4, 5).view(Mine)
    spec = nl.TensorSpec(x.shape, "NHWC")
    assert type(spec.unpack(spec.pack(x))) is np.ndarray
    assert type(nl.repack(x, "NCHW", "NHWC")) is np.ndarray
