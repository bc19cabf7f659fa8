"""Describe the form of a frame, hashable: frames of one form differ in nothing but their pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .pictures import in_rows

Places = tuple[tuple[int, int], ...]


def form_of(frame: Any) -> Any:
    """Return the form of a frame, hashable: where its samples are in its memory follows from that alone.

    Arrays of numpy's own, bytes, a tuple or list of them, and PyAV's frames have one; of others it is None.
    """
    kind = type(frame)
    if kind is np.ndarray:
        return frame.shape, frame.strides, frame.dtype
    if kind is bytes or kind is bytearray:
        return kind, len(frame)
    if kind is tuple or kind is list:
        forms = tuple([None if type(part) is tuple or type(part) is list else form_of(part) for part in frame])
        return None if None in forms else forms
    return _form_of_pyav(frame)


def _form_of_pyav(frame: Any) -> Any:
    """Return all that `FrameSpec.of` and `FrameSpec.planes` read of a frame of PyAV; None if it lacks something."""
    try:
        planes = getattr(frame, "planes", None)
        if not isinstance(planes, (tuple, list)):
            return None
        colors = getattr(frame, "color_range", None), getattr(frame, "colorspace", None)
        sizes = tuple([(plane.line_size, memoryview(plane).nbytes) for plane in planes])
        return frame.format.name, frame.width, frame.height, *map(str, colors), sizes
    except Exception:  # of another library; what reads the frame says what is wrong
        return None


def memories_of(frame: Any) -> Any:
    """Return the memory that a frame's planes are views of: one of all, or a tuple of one for each."""
    kind = type(frame)
    if kind is tuple:
        return frame
    if kind is list:
        return tuple(frame)
    planes = None if kind is np.ndarray else getattr(frame, "planes", None)
    return tuple(planes) if isinstance(planes, (tuple, list)) else frame


def arrays_of(frame: Any) -> list[np.ndarray]:
    """Return a frame's memory as arrays that begin where it does: one of all planes, or one for each."""
    memory = memories_of(frame)
    several = memory if isinstance(memory, tuple) else (memory,)
    return [one if isinstance(one, np.ndarray) else np.frombuffer(one, np.uint8) for one in several]


def places_of(given: Any, planes: Sequence[np.ndarray]) -> Places | None:
    """Return where the planes of a frame begin in its memory, and their pitch, in bytes; None if one is a copy."""
    arrays = arrays_of(given)
    arrays = arrays if isinstance(memories_of(given), tuple) else arrays * len(planes)
    if not all(in_rows(plane) and np.may_share_memory(plane, array) for plane, array in zip(planes, arrays)):
        return None
    return tuple((plane.ctypes.data - array.ctypes.data, plane.strides[0]) for plane, array in zip(planes, arrays))
