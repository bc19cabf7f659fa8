"""Memory as bytes: views of it, and what is none."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.byte_views import bytes_of


def test_memory_is_viewed_and_never_copied() -> None:
    array = np.arange(12, dtype=np.uint8).reshape(3, 4)
    for given in (array, array.view(np.int8), memoryview(array), array.view("V1")):
        view = bytes_of(given, "buffer")
        assert view.dtype == np.uint8 and view.tolist() == list(range(12)) and np.shares_memory(view, array)
    assert bytes_of(b"", "buffer").shape == bytes_of(memoryview(bytearray()), "buffer").shape == (0,)
    for given in (array[:, ::2], array.view(np.uint16), np.ones(3, bool), "text", None):
        with pytest.raises(nl.NpuLayoutError, match=r"^plane Y: expected .*(bytes|uint8)"):
            bytes_of(given, "plane Y")


def test_memory_that_was_released_is_called_so() -> None:
    """GStreamer's unmap releases what `data` was."""
    memory = memoryview(bytearray(12))
    memory.release()
    for read in (
        lambda: bytes_of(memory, "plane Y"),
        lambda: nl.FrameSpec("BGR", (2, 2)).planes(memory),
        lambda: nl.Preprocessor(nl.TensorSpec((1, 3, 4, 4)), source="MJPEG")(memory),
    ):
        with pytest.raises(nl.NpuLayoutError, match=r": .* got a memoryview that was released \(GSt"):
            read()


def test_the_address_in_a_pointer_is_no_frame() -> None:
    """It has 8 bytes, as this frame has; numbers of Python and floats are none either."""
    spec, items = nl.FrameSpec("GRAY", (4, 2)), (ctypes.c_uint8 * 8)(*range(8))
    assert spec.planes(items)[0].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert spec.planes((ctypes.c_uint16 * 4).from_buffer(items))[0].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    pointer = ctypes.cast(items, ctypes.POINTER(ctypes.c_uint8))
    for given, says in (
        (pointer, r"got LP_c_ubyte with items '&<B'; give what it points to: np.ctypeslib.as_array\(pointer"),
        (ctypes.cast(items, ctypes.c_void_p), r"got c_void_p with items 'P'; give what it points to"),
        (ctypes.c_double(1.0), r"got c_double with items 'd'$"),
        (memoryview(np.ones(1)), r"got memoryview with items 'd'$"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=r"^buffer: expected bytes, " + says):
            spec.planes(given)
    assert spec.planes(np.ctypeslib.as_array(pointer, (8,)))[0].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
