"""Resample a mask's cells for a part of another picture: the nearest cell, or between the cells' centres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import plain_array

Part = tuple[int, int, int]  # of an axis: where the part begins, its extent, the extent of the whole
Lines = dict[int, tuple[int, int, int, int]]  # of an axis: pixels of the result, and the part of the source


def resampled(mask: Any, columns: tuple[Part, Part], rows: tuple[Part, Part], linear: bool) -> np.ndarray:
    """Return a picture of zeros whose part is that part of `mask`, as `Geometry.mask_to_frame` describes it.

    columns, rows: the part of the source that the mask covers as a whole, and that of the result, for each axis.
    """
    (source_x, (x0, width, whole_w)), (source_y, (y0, height, whole_h)) = columns, rows
    array = _mask(mask, linear, source_x[2], source_y[2])
    lines = {1: (width, *source_x), 0: (height, *source_y)}
    work = _linear(array, lines) if linear else _nearest(array, lines)
    if (width, height) == (whole_w, whole_h):
        return work
    result = np.zeros((whole_h, whole_w, *array.shape[2:]), array.dtype)
    result[y0 : y0 + height, x0 : x0 + width] = work
    return result


def _mask(mask: Any, linear: bool, width: int, height: int) -> np.ndarray:
    expected = "a non-empty array (H, W) or (H, W, C) of bools, integers or floats"
    array = plain_array("mask", mask, expected=expected)
    if array.ndim not in (2, 3) or array.size == 0 or array.dtype.kind not in "biuf":
        hint = f"; give mask{[0] * (array.ndim - 2)}" if array.ndim > 3 and set(array.shape[:-2]) == {1} else ""
        raise NpuLayoutError(f"mask: expected {expected}, got {array.dtype} of shape {array.shape}{hint}")
    count, rows, columns = array.shape if array.ndim == 3 else (0, 0, 0)
    masks_first = min(rows, columns) >= 8 and rows * width == columns * height
    if masks_first and (count == 1 or count * width != rows * height):
        give = "mask[0]" if count == 1 else "one mask after the other, or mask.transpose(1, 2, 0)"
        raise NpuLayoutError(
            f"mask: expected {expected}, got {array.dtype} of shape {array.shape}, which has the proportions of "
            f"{width}x{height} behind its first axis, so that its axes are no H, W, C; give {give}"
        )
    if linear and array.dtype.kind in "iu" and array.itemsize > 4:
        raise NpuLayoutError(f"mask: linear interpolation expects integers of at most 32 bits, got {array.dtype}")
    return array


def _positions(count: int, start: int, extent: int, size: int, cells: int) -> tuple[np.ndarray, int]:
    """Return edge positions, in cells, of `count` pixel centres spread over start..start + extent of `size`.

    Exact, as numerators and their denominator; all are even.
    """
    denominator = 4 * count * size
    kind: Any = np.int64 if denominator * (cells + 1) < 2**62 else object
    pixels = np.arange(count).astype(kind)
    return (2 * pixels + 1) * (2 * extent * cells) + 4 * start * count * cells, denominator


def _nearest(array: np.ndarray, lines: Lines) -> np.ndarray:
    """Return the cell at each pixel; columns, which are copied one by one, of as few rows as there are."""
    rows, columns = (_cells(array.shape[axis], *lines[axis]) for axis in (0, 1))
    first, used = int(rows[0]), int(rows[-1] + 1 - rows[0])
    if len(rows) <= used:
        return np.take(np.take(array, rows, axis=0), columns, axis=1)
    return np.take(np.take(array[first : first + used], columns, axis=1), rows - first, axis=0)


def _cells(cells: int, count: int, start: int, extent: int, size: int) -> np.ndarray:
    numerators, denominator = _positions(count, start, extent, size, cells)
    return (numerators // denominator).astype(np.intp)


def _linear(array: np.ndarray, lines: Lines) -> np.ndarray:
    cells, (height, width) = array.shape, (lines[0][0], lines[1][0])
    order = (1, 0) if cells[0] * width <= cells[1] * height else (0, 1)  # the cheaper intermediate
    single = array.itemsize <= 2 or (array.itemsize == 4 and array.dtype.kind == "f")
    work: Any = array.astype(np.float32 if single else np.float64)
    between = _between if _moderate(work) else _between_any
    for axis in order:
        work = _lerp(work, axis, *lines[axis], between)
    if array.dtype.kind in "biu":
        work = work >= 0.5 if array.dtype.kind == "b" else np.rint(work)
    found: np.ndarray = work.astype(array.dtype, copy=False)
    return found


def _moderate(array: np.ndarray) -> bool:
    """Whether every difference of two elements is finite: none is infinite, NaN, or near the end of its dtype."""
    if array.dtype.kind != "f":
        return True
    return bool(max(-float(array.min()), float(array.max())) < float(np.finfo(array.dtype).max) / 2)


def _between(lower: np.ndarray, upper: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return what is between two arrays, in the memory of the second one: its shares are 0 to 1, without 1."""
    upper -= lower
    upper *= shares
    upper += lower
    return upper


def _between_any(lower: np.ndarray, upper: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the same of any values: a cell of -inf, as log(0), is no NaN where nothing else is near."""
    with np.errstate(invalid="ignore"):
        return np.where((shares == 0) | (lower == upper), lower, lower * (1 - shares) + upper * shares)


def _lerp(
    array: np.ndarray,
    axis: int,
    count: int,
    start: int,
    extent: int,
    size: int,
    between: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    cells = array.shape[axis]
    numerators, denominator = _positions(count, start, extent, size, cells)
    numerators = numerators - denominator // 2
    floor = (numerators // denominator).astype(np.int64)
    weights = ((numerators % denominator) / denominator).astype(array.dtype)
    # the cells whose centres are inside the part; if there are none, the two around it
    first = -((size - 2 * start * cells) // (2 * size))
    final = (2 * (start + extent) * cells - size) // (2 * size)
    first, final = max(0, min(first, final)), min(cells - 1, max(first, final))
    lower = np.take(array, np.clip(floor, first, final), axis=axis)
    upper = np.take(array, np.clip(floor + 1, first, final), axis=axis)
    return between(lower, upper, weights.reshape((-1,) + (1,) * (array.ndim - 1 - axis)))
