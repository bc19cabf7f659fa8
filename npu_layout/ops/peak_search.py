"""Find the peaks of heatmaps in arrays, of real or stored values, and describe them between pixels."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import kernels
from ..buffers import Quantization
from ..errors import NpuLayoutError
from ..support import integer, one_of
from .applying import Inputs
from .quantized import Stored, comparable, stored_as
from .registry import CORE, Kernel, OperatorKernels

_REFINEMENTS = ("parabola", "quarter", None)


def checked(threshold: Any, radius: Any, refine: Any) -> tuple[float, int]:
    """Return threshold and radius of `peaks`; NpuLayoutError if an argument is none."""
    if refine is not None and (not isinstance(refine, str) or refine not in _REFINEMENTS):
        one_of("peaks: refine", refine, _REFINEMENTS)
    value = threshold[()] if isinstance(threshold, np.ndarray) and threshold.ndim == 0 else threshold
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, np.timedelta64)
    try:
        limit, reach = (float(value), integer(radius)) if is_number else (math.nan, None)
    except OverflowError:
        reach = None
    if reach is None:
        raise NpuLayoutError(
            f"peaks: expected a number as threshold and a whole one as radius, got {threshold!r}, {radius!r}"
        )
    if math.isnan(limit):
        raise NpuLayoutError("peaks: threshold: expected a number, got nan: nothing is above that")
    if reach < 1:
        raise NpuLayoutError(f"peaks: radius: expected 1 or more, got {radius!r}")
    return limit, reach


def too_many(count: int, room: int) -> NpuLayoutError:
    """Return what is raised if an `out` has rows for fewer peaks than there are."""
    return NpuLayoutError(f"out for peaks: found {count} peaks, got room for {room}")


def found(
    inputs: Inputs, quantization: Stored, limit: float, reach: int
) -> tuple[np.ndarray, Quantization | None, np.ndarray]:
    """Return the array whose values were compared, their scales, and (count, 4) int64, ascending rows of n, c, y, x."""
    known = stored_as(quantization, inputs)
    if known is not None:
        inputs, known = comparable(inputs, known, 2, 3)
    reach = min(reach, max(1, *inputs.x.shape[2:]))  # the loops count in 64 bits
    return inputs.x, known, _rows(inputs, known, limit, reach)


def _rows(inputs: Inputs, known: Quantization | None, threshold: float, radius: int) -> np.ndarray:
    if not inputs.x.size:
        return np.empty((0, 4), np.int64)
    run, x = inputs.kernel.run, inputs.x
    if known is None or known.axis is None:
        if known is not None:
            threshold = stored_limit(float(known.scale), float(known.zero_point), threshold, x.dtype.name)
        every: np.ndarray = run(x, threshold, radius)
        return every
    bounds = limits(known, threshold, x.dtype.name)
    rows = run(x, int(bounds.min()), radius)
    kept: np.ndarray = rows[x[tuple(rows.T)] > bounds[rows[:, known.axis]]]
    return kept


def limits(known: Quantization, threshold: float, dtype: str) -> np.ndarray:
    """Return the limit of each scale: a peak above it is one above the lowest of all."""
    pairs = np.broadcast_arrays(known.scale, known.zero_point)
    return np.array([stored_limit(float(scale), float(zero), threshold, dtype) for scale, zero in zip(*pairs)])


@lru_cache(maxsize=4096)
def stored_limit(scale: float, zero_point: float, threshold: float, dtype: str) -> int:
    """Return the greatest stored integer whose real value is not above the threshold, or one less than all."""
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max) + 1
    while low < high:
        middle = (low + high) // 2
        value = (np.float32(middle) - np.float32(zero_point)) * np.float32(scale)
        if float(value) > threshold:
            high = middle
        else:
            low = middle + 1
    return low - 1


def _peaks(x: np.ndarray, threshold: float, radius: int) -> np.ndarray:
    return kernels.peaks(x, threshold, radius)


def _any_peaks(x: np.ndarray, threshold: float, radius: int) -> np.ndarray:
    if x.dtype.kind == "f":
        good = x > threshold
    else:
        info = np.iinfo(x.dtype)
        below = threshold < info.min
        good = np.full(x.shape, below) if below or not threshold < info.max else x > math.floor(threshold)
    h, w = x.shape[2:]
    for dy in range(-min(radius, h - 1), min(radius, h - 1) + 1):
        for dx in range(-min(radius, w - 1), min(radius, w - 1) + 1):
            here = (..., slice(max(0, -dy), h - max(0, dy)), slice(max(0, -dx), w - max(0, dx)))
            there = (..., slice(max(0, dy), h - max(0, -dy)), slice(max(0, dx), w - max(0, -dx)))
            if (dy, dx) != (0, 0):
                good[here] &= x[here] > x[there] if (dy, dx) < (0, 0) else x[here] >= x[there]
    return np.ascontiguousarray(np.argwhere(good), np.int64)


PEAKS = OperatorKernels("peaks", Kernel(_peaks, "peaks", dtypes=CORE), Kernel(_any_peaks))
OPERATORS = (PEAKS,)


def describe(
    x: np.ndarray, rows: np.ndarray, known: Quantization | None, refine: str | None, result: np.ndarray
) -> None:
    """Write n, c, x, y and score of the peaks at `rows`."""
    kernels.tops(x, rows, result, refine)
    if known is not None:
        result[:, 4] = real_scores(result[:, 4], known, None if known.axis is None else rows[:, known.axis])


def real_scores(values: np.ndarray, known: Quantization, places: np.ndarray | None) -> np.ndarray:
    """Return the real values of stored ones whose scales are at those places."""
    scale, zero_point = (np.asarray(known.scale, np.float32), np.asarray(known.zero_point, np.float32))
    if places is not None:
        scale, zero_point = scale[places], np.broadcast_to(zero_point, scale.shape)[places]
    return (values.astype(np.float32) - zero_point) * scale
