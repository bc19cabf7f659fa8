"""Stored types: what each dtype is in memory, and halves of bytes one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.buffers import element, kernel_name, unpack_nibbles
from npu_layout.buffers.elements import pack_nibbles

NIBBLES = ("int4", "uint4", "int4_high", "uint4_high")


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float64", "bool"])
def test_a_dtype_of_numpy_is_stored_as_itself(dtype: str) -> None:
    found = element(dtype)
    assert found == element(np.dtype(dtype)) and found.name == found.kernel == dtype
    assert found.buffer == found.unpacked == np.dtype(dtype) and not found.nibbles and found.buffer_size(7) == 7


def test_a_foreign_byte_order_is_stored_and_not_unpacked() -> None:
    foreign = np.dtype("f4").newbyteorder()
    found = element(foreign)
    assert found.name == found.kernel == kernel_name(foreign) == foreign.str
    assert found.buffer == foreign and found.unpacked == np.float32 and found.unpacked.isnative
    assert kernel_name(np.dtype("f4")) == "float32"


def test_what_numpy_does_not_have() -> None:
    half = element("bfloat16")
    assert (half.buffer, half.unpacked, half.kernel, half.nibbles) == (np.uint16, np.float32, "bfloat16", 0)
    for name in NIBBLES:
        found = element(name)
        signed = not name.startswith("u")
        assert found.buffer == np.uint8 and found.unpacked == (np.int8 if signed else np.uint8)
        assert found.kernel == ("int4" if signed else "uint4") and found.nibbles == (2 if "high" in name else 1)
        assert [found.buffer_size(n) for n in (1, 2, 3)] == [1, 1, 2]


@pytest.mark.parametrize("bad", ["int3", "S4", object, None, "datetime64[s]", {"a": 1}, [], complex])
def test_what_is_no_number_is_refused(bad: Any) -> None:
    with pytest.raises(nl.LayoutError, match="expected an integer or float dtype of numpy, or one of bfloat16, int4"):
        element(bad)


@pytest.mark.parametrize("name", NIBBLES)
def test_halves_of_every_byte(name: str) -> None:
    kind, packed = element(name), np.arange(256, dtype=np.uint8)
    expected = []
    for byte in range(256):
        halves = [byte & 15, byte >> 4]
        expected += halves[::-1] if "high" in name else halves
    if not name.startswith("u"):
        expected = [v - 16 if v > 7 else v for v in expected]
    for count in (512, 511):
        values = unpack_nibbles(packed, kind, count)
        assert values.dtype == kind.unpacked and values.tolist() == expected[:count]
        out = np.full(256, 99, np.uint8)
        pack_nibbles(values, kind, out)
        spare = 0xF0 if kind.nibbles == 1 else 0x0F
        last = packed[-1] if count == 512 else packed[-1] & ~np.uint8(spare)
        assert out[:-1].tolist() == packed[:-1].tolist() and out[-1] == last


def test_what_runtimes_call_dtypes_is_named() -> None:
    names = (
        ("fp16", "float16"),
        ("F32", "float32"),
        ("bf16", "bfloat16"),
        ("s8", "int8"),
        ("INT8", "int8"),
        ("UINT4", "uint4"),
    )
    for name, same in names:
        with pytest.raises(nl.LayoutError, match=f"dtype '{name}': .* Is it {same}"):
            element(name)
