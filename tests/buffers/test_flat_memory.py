"""The memory that callers pass as a buffer; more in test_access.py and tests/support/test_foreign_arrays.py."""

from __future__ import annotations

import array
import ctypes
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

SPEC = nl.TensorSpec((1, 3, 2, 2), "NHWC", "int16")
VALUES = np.arange(12, dtype=np.int16)


def holders(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "flat"
    path.write_bytes(VALUES.tobytes())
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return {
        "bytes": VALUES.tobytes(),
        "bytearray": bytearray(VALUES.tobytes()),
        "memoryview": memoryview(VALUES.tobytes()),
        "array": array.array("h", VALUES.tolist()),
        "ctypes": (ctypes.c_int16 * 12)(*VALUES.tolist()),
        "mmap": mapped,
        "numpy": VALUES,
        "storage": VALUES.reshape(1, 2, 2, 3),
        "merged": VALUES.reshape(4, 3),
    }


def test_every_holder_of_memory(tmp_path: Path) -> None:
    for name, held in holders(tmp_path).items():
        flat = SPEC.flat(held)
        assert flat.dtype == np.int16 and flat.tolist() == VALUES.tolist(), name


@pytest.mark.parametrize("wrong", [None, 3, "text", [1, 2], object(), {}, VALUES.tolist()])
def test_what_is_no_memory(wrong: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match="buffer"):
        SPEC.flat(wrong)


def test_floats_in_the_place_of_integers() -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"float32; .* expects int16 \(floats that a runtime has"):
        SPEC.flat(VALUES.astype(np.float32))


def test_a_dtype_equals_what_names_it() -> None:
    assert SPEC.dtype == np.int16 and np.int16 == SPEC.dtype and np.dtype("int16") == SPEC.dtype
    assert (SPEC.dtype != np.int16) is False and SPEC.dtype != np.uint16
    assert SPEC.dtype not in (np.int8, None, 3, object)
    assert hash(SPEC.dtype) == hash("int16") and {SPEC.dtype: 1}["int16"] == 1 and repr(SPEC.dtype) == "'int16'"
    half = nl.TensorSpec((2,), "N", "bfloat16")
    assert half.dtype == "bfloat16" and half.dtype != np.uint16
    assert nl.TensorSpec((2,), "N", ">i2").dtype == np.dtype(">i2") != SPEC.dtype


@pytest.mark.parametrize(
    "memory", [array.array("f", [1, 2, 3]), memoryview(np.ones(3, np.float32)), (ctypes.c_float * 3)(1, 2, 3)]
)
def test_memory_of_other_elements_is_refused_as_arrays_are(memory: Any) -> None:
    spec = nl.TensorSpec((3,), "W", "int32")
    with pytest.raises(nl.NpuLayoutError, match=r"\Abuffer has elements of float32; .* expects int32, or bytes\Z"):
        spec.flat(memory)
    assert nl.TensorSpec((3,), "W", "float32").flat(memory).size == 3
    assert spec.flat(memoryview(memory).cast("B")).dtype == np.int32


def test_memory_of_structs_is_bytes() -> None:
    class Pair(ctypes.Structure):
        _fields_ = (("first", ctypes.c_int32), ("second", ctypes.c_int32))

    assert nl.TensorSpec((4,), "W", "int32").flat((Pair * 2)((1, 2), (3, 4))).tolist() == [1, 2, 3, 4]


def test_memory_with_a_shape_is_judged_as_arrays_are() -> None:
    shaped = VALUES.reshape(1, 2, 2, 3)  # the order in which SPEC is stored
    assert SPEC.flat(memoryview(shaped)).tolist() == VALUES.tolist()
    assert SPEC.flat(memoryview(shaped.reshape(4, 3))).tolist() == VALUES.tolist()
    planes = memoryview(VALUES.reshape(1, 3, 2, 2))
    other = ((ctypes.c_int16 * 4) * 3)()
    for memory in (planes, other):
        with pytest.raises(nl.LayoutError, match=r"buffer has shape .*give memoryview\(buffer\).cast\(\"B\"\)"):
            SPEC.flat(memory)
        assert SPEC.flat(memoryview(memory).cast("B")).size == 12
    whole = nl.TensorSpec((3, 2, 2), "CHW", "int8")
    for dtype in (np.int8, np.uint8):
        with pytest.raises(nl.LayoutError, match="axes in the order HWC"):
            whole.flat(memoryview(np.zeros((2, 2, 3), dtype)))
    assert SPEC.flat(memoryview(np.zeros((3, 8), np.uint8))).size == 12  # bytes, of which the shape says nothing


def test_pointers_are_no_memory() -> None:
    spec = nl.TensorSpec((2,), "N", "float32")  # as many bytes as an address
    numbers = (ctypes.c_float * 2)(1, 2)
    pointer = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_float))
    with pytest.raises(nl.NpuLayoutError, match=r"format '&<f', which are no numbers.*np.ctypeslib.as_array"):
        spec.flat(pointer)
    for wrong in (ctypes.c_void_p(ctypes.addressof(numbers)), ctypes.c_char_p(b"ab"), np.zeros(1, np.complex64)):
        with pytest.raises(nl.NpuLayoutError, match="no numbers"):
            spec.flat(memoryview(wrong))
    assert nl.TensorSpec((1,), "N", "uint64").flat((ctypes.c_uint64 * 1)(7)).tolist() == [7]
    with pytest.raises(nl.NpuLayoutError, match="format '<P'"):
        nl.TensorSpec((1,), "N", "uint64").flat(ctypes.c_void_p(7))
    assert spec.flat(np.ctypeslib.as_array(pointer, (2,))).tolist() == [1, 2]


def test_memory_that_is_closed() -> None:
    closed = mmap.mmap(-1, 24)
    closed.close()
    released = memoryview(bytes(24))
    released.release()
    for memory in (closed, released):
        with pytest.raises(nl.NpuLayoutError, match="buffer: expected bytes"):
            SPEC.flat(memory)
    with pytest.raises(nl.BufferSizeError, match="buffer has 0 bytes"):
        SPEC.flat(b"")
