"""repack against the scalar oracle: any dtype and strides, into an out or a new array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from tests.support import oracle

TAGS = ["NCHW", "NHWC", "CHWN", "NCHW4c", "NHWC3c", "NHCW4w2c"]
SHAPE = st.tuples(*[st.integers(1, 6)] * 4)


@given(st.sampled_from(TAGS), st.sampled_from(TAGS), SHAPE, st.sampled_from(["uint8", "float16", "complex128"]))
def test_every_element_arrives_and_pads_are_zero(src: str, dst: str, shape: tuple[int, ...], dtype: str) -> None:
    tensor = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype("uint8").astype(dtype)
    stored, wanted = (oracle.stored_shape(tag, dict(zip("NCHW", shape))) for tag in (src, dst))
    size, length = int(np.prod(stored)), int(np.prod(wanted))
    x = np.array(oracle.scatter(tensor, src, "NCHW", stored, None, 0, size), dtype).reshape(stored)
    expected = np.array(oracle.scatter(tensor, dst, "NCHW", wanted, None, 0, length), dtype).reshape(wanted)
    got = nl.repack(x, src, dst, shape=shape)
    assert got.dtype == x.dtype and got.flags.c_contiguous and not np.shares_memory(got, x)
    np.testing.assert_array_equal(got, expected)
    strided = np.repeat(x[..., ::-1], 2, axis=0)[::2, ..., ::-1]
    out = np.full((*wanted, 2), 9, dtype)
    for target in (out[..., 0], np.full(wanted, 9, dtype)):
        assert nl.repack(strided, src, dst, shape=shape, out=target) is target
        np.testing.assert_array_equal(target, expected)
    assert (out[..., 1] == 9).all()


def test_without_a_shape_every_stored_element_is_real() -> None:
    x = np.arange(16).reshape(1, 2, 1, 2, 4)
    assert nl.repack(x, "NCHW4c", "NCHW").tolist() == [
        [[[block * 8 + lane, block * 8 + 4 + lane]] for block in range(2) for lane in range(4)]
    ]


@pytest.mark.parametrize(
    ("x", "layouts", "options", "message"),
    [
        (np.zeros((1, 2, 3, 4)), ("NCHW", "OIHW"), {}, "axes NCHW and OIHW differ"),
        (np.zeros((1, 2, 3, 4), object), ("NCHW", "NHWC"), {}, "cannot repack dtype object; expected numbers"),
        (
            np.zeros((1, 0, 3, 4)),
            ("NCHW", "NHWC"),
            {},
            "^x: layout NCHW: every extent must be 1 or more, got an array of",
        ),
        (np.zeros((1, 2, 3, 4)), ("NCHW", "NHWC"), {"shape": (1, 2, 3, 5)}, r"is stored as \(1, 2, 3, 5\)"),
        (np.zeros((1, 2, 3, 4)), ("NCHW", "NHWC"), {"out": np.zeros((1, 2, 3, 4))}, r"expected shape \(1, 3, 4, 2\)"),
        (
            np.zeros((1, 1, 3, 4, 4)),
            ("NCHW4c", "NHWC"),
            {"out": np.zeros(3)},
            "without shape= no element of x counts as padding",
        ),
        (np.zeros((1, 2)), ("NC", f"NC{2**40}c{2**20}c"), {}, "size: .* more bytes than int64 can count"),
    ],
)
def test_refusals(x: np.ndarray, layouts: tuple[str, str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        nl.repack(x, *layouts, **options)


def test_an_out_of_any_strides_and_none_whose_elements_overlap() -> None:
    x = np.arange(24, dtype=np.int32).reshape(1, 2, 3, 4)
    expected = x.transpose(0, 2, 3, 1)
    field = np.zeros((1, 3, 4, 2), "i4,u1")["f0"]  # steps of 5 bytes
    assert nl.repack(x, "NCHW", "NHWC", out=field) is field and field.tolist() == expected.tolist()
    over = np.lib.stride_tricks.as_strided(np.zeros(40, np.int32), (1, 3, 4, 2), (96, 24, 8, 0))
    with pytest.raises(nl.NpuLayoutError, match="elements overlap, shape"):
        nl.repack(x, "NCHW", "NHWC", out=over)
    with pytest.raises(nl.NpuLayoutError, match="expected dtype int32, got float32"):
        nl.repack(x, "NCHW", "NHWC", out=np.zeros((1, 3, 4, 2), np.float32))
    with pytest.raises(nl.NpuLayoutError, match="expected dtype int32, got int64"):
        nl.repack(x, "NCHW", "NHWC", out=np.zeros((1, 3, 4, 2), np.int64))
    with pytest.raises(nl.NpuLayoutError, match="expected dtype bool, got uint8"):  # as long, and it could contain them
        nl.repack(x > 3, "NCHW", "NHWC", out=np.zeros((1, 3, 4, 2), np.uint8))


def test_an_out_between_the_elements_of_the_input() -> None:
    memory = np.arange(48, dtype=np.int16)
    x, out = memory[::2].reshape(1, 2, 3, 4), memory[1::2].reshape(1, 3, 4, 2)
    expected = x.transpose(0, 2, 3, 1).tolist()
    assert nl.repack(x, "NCHW", "NHWC", out=out) is out and out.tolist() == expected
    assert x.reshape(-1).tolist() == list(range(0, 48, 2))


def test_what_is_no_layout_is_named() -> None:
    x = np.zeros((1, 2, 3, 4))
    for arguments, says in (((["NCHW"], "NHWC"), "^src"), (("NCHW", {}), "^dst"), (("NCHW", "nhwc"), "^dst")):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.repack(x, *arguments)
    with pytest.raises(nl.NpuLayoutError, match=r"cannot repack dtype .*; expected numbers"):
        nl.repack(np.zeros((1, 2, 3, 4), "V0"), "NCHW", "NHWC")
    assert nl.repack([[[[1, 2]], [[3, 4]]]], "NCHW", "NHWC").tolist() == [[[[1, 3], [2, 4]]]]


def test_axes_in_orders_of_their_own() -> None:
    """The logical shape is in the order of src's axes, and matched to dst's by letter."""
    x = np.arange(2 * 3 * 5).reshape(2, 3, 5)
    got = nl.repack(x, nl.Layout("ABC", "CAB"), nl.Layout("BCA4b", "BAC"), shape=(5, 2, 3))
    padded = np.zeros((4, 5, 2), int)
    padded[:3] = x.transpose(1, 2, 0)
    assert got.shape == (1, 5, 2, 4) and got.tolist() == padded.reshape(1, 4, 5, 2).transpose(0, 2, 3, 1).tolist()


def test_flat_memory_is_refused_with_the_shape_to_give() -> None:
    with pytest.raises(nl.LayoutError, match=r"got \(64,\): give x.reshape\(1, 2, 2, 1, 16\)"):
        nl.repack(np.zeros(64), "NCHW16c", "NCHW", shape=(1, 20, 2, 1))
