"""Read memory of any library as bytes, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import foreign_array

_ITEMS = "bBcChHiIlLqQT"  # what the format of memory whose bytes are a frame's begins with: integers, structs


RELEASED = "a memoryview that was released (GStreamer's unmap, the end of a with block); read it before"


def is_released(given: Any) -> bool:
    """Return whether it is a memoryview whose memory was given back, of which not even the length can be asked."""
    try:
        return isinstance(given, memoryview) and given.nbytes < 0
    except ValueError:
        return True


def bytes_of(given: Any, what: str) -> np.ndarray:
    """Return memory as a 1-D uint8 array: a view, never a copy; NpuLayoutError if it is none."""
    if isinstance(given, np.ndarray):
        if given.dtype.itemsize != 1 or given.dtype.kind not in "iuV" or not given.flags.c_contiguous:
            raise NpuLayoutError(
                f"{what}: expected its bytes in one piece, a C-contiguous uint8 array, got {given.dtype} of shape "
                f"{given.shape} and strides {given.strides}"
            )
        return given.view(np.ndarray).reshape(-1).view(np.uint8)
    try:
        found = np.frombuffer(given, np.uint8)
    except (TypeError, ValueError, AttributeError, BufferError) as error:
        if is_released(given):
            raise NpuLayoutError(f"{what}: expected bytes, got {RELEASED}") from None
        if isinstance(given, (bytes, bytearray, memoryview)) and not len(given):
            return np.empty(0, np.uint8)
        foreign = foreign_array(what, given)
        if foreign is not None:
            return bytes_of(foreign, what)
        raise NpuLayoutError(
            f"{what}: expected bytes, a memoryview, an mmap or a uint8 array, got {type(given).__name__} ({error})"
        ) from None
    items = memoryview(given).format.lstrip("@=<>!")
    if items[0] not in _ITEMS:
        pointed = "; give what it points to: np.ctypeslib.as_array(pointer, (count,))" * (items[0] in "&P")
        raise NpuLayoutError(f"{what}: expected bytes, got {type(given).__name__} with items {items!r}{pointed}")
    return found
