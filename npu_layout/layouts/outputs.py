"""Check the array that results are written to: the shape and dtype of `out`, and whether arrays overlap in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import plain_array
from .layout import Shape
from .spans import distinct


def check_out(
    out: Any, shape: Shape, dtype: np.dtype, source: np.ndarray | None, what: Callable[[], str]
) -> np.ndarray:
    """Return `out` if results can be written there, else raise NpuLayoutError; `what` returns what it is for."""
    if not isinstance(out, np.ndarray):
        raise NpuLayoutError(f"out for {what()}: expected a numpy array, got {type(out).__name__}")
    if type(out) is not np.ndarray:
        plain_array(f"out for {what()}", out)  # a masked array would hide what is written
    if out.dtype != dtype:
        raise NpuLayoutError(f"out for {what()}: expected dtype {dtype}, got {out.dtype}")
    if out.shape != shape:
        raise NpuLayoutError(f"out for {what()}: expected shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise NpuLayoutError(f"out for {what()} is read-only; expected a writable array of {shape}")
    if source is not None and overlap(out, source):
        raise NpuLayoutError(f"out for {what()} shares memory with the input; expected an array of its own")
    return out


def check_distinct(out: np.ndarray, what: Callable[[], str]) -> np.ndarray:
    """Return `out` if no two of its elements overlap, else raise NpuLayoutError; `what` returns what it is for."""
    if not distinct(out.shape, out.strides, out.itemsize):
        raise NpuLayoutError(f"out for {what()}: elements overlap, shape {out.shape} and strides {out.strides} (bytes)")
    return out


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays share memory; True if that is too costly to find out."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]
    except Exception:  # numpy 2 moved TooHardError; whatever it is called, the answer is "perhaps"
        return True


def near(target: np.ndarray, sources: Iterable[np.ndarray]) -> bool:
    """Return whether the memory range of `target` overlaps that of any source, if only between elements.

    Kernels refuse such arrays.
    """
    return any(np.may_share_memory(target, source) for source in sources)


def without_overlap(x: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return `x`, or a copy of its elements if its memory range overlaps that of `target`."""
    return x.copy(order="K") if near(target, (x,)) else x
