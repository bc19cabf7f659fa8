"""Copy frames as a source yields them, into memory that is used again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..frames import own_copy
from ..support import foreign_array, plain_array

_FIXED = (bytes, str, np.generic)  # what nobody changes, though some have memory


class FrameMemory:
    """The memory of one frame after the other: that of the last one is used again by one of the same form."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # all bytes, and the array in them

    def keep(self, frame: Any) -> Any:
        """Return a copy of an array of any library, of memory, of a frame of ROS or Pillow, or of a tuple or list.

        Arrays keep their shape and strides, so that what accepts the one accepts the other. Of a tuple or list, each
        item is copied. What is none of these is returned as it is: memory of a GPU, other objects, and bytes, which do
        not change. NpuLayoutError on a masked array.
        """
        if not isinstance(frame, (tuple, list)):
            return self._kept_part(0, frame)
        kept = [self._kept_part(i, part) for i, part in enumerate(frame)]
        if isinstance(frame, list):
            return kept
        same = all([part is given for part, given in zip(kept, frame)])
        return frame if same else getattr(type(frame), "_make", tuple)(kept)  # a named tuple stays one

    def arrays(self) -> list[np.ndarray]:
        """Return the memory of the copies."""
        return [memory for memory, _ in self._parts.values()]

    def fill(self, value: int) -> None:
        """Set all bytes of all copies."""
        for memory, _ in self._parts.values():
            memory.fill(value)

    def _kept_part(self, i: int, part: Any) -> Any:
        if isinstance(part, np.ndarray):
            return self._copy(i, plain_array("frame", part))
        if isinstance(part, _FIXED):
            return part
        own = own_copy(part)
        if own is not None:
            return own
        array, is_memory = array_of(part)
        if array is None:
            return part
        copy = self._copy(i, array)
        # Flat memory of wider elements is read as bytes where it is memory, and refused where it is an array.
        return copy.data if is_memory and copy.ndim == 1 and copy.itemsize > 1 else copy

    def _copy(self, i: int, array: np.ndarray) -> np.ndarray:
        if array.dtype.hasobject:
            return array.copy()
        known = self._parts.get(i)
        if known is None or _form(known[1]) != _form(array):
            known = self._parts[i] = _memory_like(array)
        np.copyto(known[1], array)
        return known[1]


def _form(array: np.ndarray) -> tuple[Any, ...]:
    return array.shape, array.strides if array.nbytes else None, array.dtype


def _memory_like(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return memory, and in it an array of the same shape, strides and dtype."""
    if not array.nbytes:
        return np.zeros(0, np.uint8), np.zeros(array.shape, array.dtype)
    steps = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides)]
    before = -sum(step for step in steps if step < 0)
    memory = np.zeros(before + sum(step for step in steps if step > 0) + array.itemsize, np.uint8)
    return memory, np.ndarray(array.shape, array.dtype, memory, before, array.strides)


def array_of(part: Any) -> tuple[np.ndarray | None, bool]:
    """Return an array of what a frame's memory is, and whether it is memory, no array; None if it has none for us."""
    try:
        memory = memoryview(part)
    except (TypeError, ValueError, BufferError):
        try:
            return foreign_array("frame", part), False
        except NpuLayoutError:  # memory of a GPU: what the user's own preprocess reads
            return None, False
    if not memory.ndim:  # a struct of ctypes, which is more than its bytes
        return None, False
    try:
        return np.asarray(memory), True
    except (TypeError, ValueError, NotImplementedError):  # elements that numpy has not
        return (np.frombuffer(memory.tobytes(), np.uint8) if memory.ndim == 1 else None), True
