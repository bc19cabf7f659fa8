"""Find the elements that are at least a threshold, by their stored codes: above."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..buffers import Quantization, TensorSpec
from ..support import checked_call, real_number
from . import bands, stored_buffers
from .applying import checked_inputs
from .quantized import Stored, stored_as
from .registry import OperatorKernels

_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80}  # the code of it; those above are NaN


@checked_call
def above(
    x: Any, threshold: float, buffer: Any = None, *, quantization: Stored = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the elements that are at least `threshold`: where they are, and their values.

    Parameters
    ----------
    x, buffer
        Numbers, (N,C,H,W); or a TensorSpec and its buffer, which is read in any layout, without its padding. Stored
        integers are compared as they are; real values are computed only for the elements that are found.
    threshold
        A real value, not NaN. Values are compared with it in float64, as by a Decoder: a float32 0.7 is less than the
        number 0.7. NaN elements are never found.
    quantization
        Quantization or (scale, zero_point) of an array of stored integers; None: they are values. A TensorSpec has its
        own.

    Returns
    -------
    Two arrays: int64 (count, 4), the indices n, c, y, x of each element in ascending order, and float32 (count,), the
    real values.

    Raises
    ------
    NpuLayoutError
        On what does not fit.

    Examples
    --------
    >>> where, values = above(np.array([[3, 1], [2, 5]], np.float32).reshape(1, 2, 1, 2), 3)
    >>> where.tolist(), values.tolist()
    ([[0, 0, 0, 0], [0, 1, 0, 1]], [3.0, 5.0])
    """
    bound = real_number("above: threshold", threshold)
    if not stored_buffers.is_stored(x, buffer, "above", quantization):
        inputs = checked_inputs(ABOVE, x)
        return _joined([_compared(inputs.x, stored_as(quantization, inputs), bound)])
    stored_buffers.extents(x, "above")
    flat, codes = x.flat(buffer), _codes(x)
    found = None if codes is None else _scanned(codes, x, flat, bound)
    return _joined(_in_bands(x, flat, bound)) if found is None else found


class _Codes(NamedTuple):
    """Where the elements of each image are, and the values of all codes.

    values: ascending, float64; None: float32 itself. exact: float32, of integers, of which a code says everything.
    """

    maps: tuple[kernels.FeatureMap, ...]
    values: np.ndarray | None
    exact: np.ndarray | None


Found = tuple[np.ndarray, np.ndarray]


@lru_cache(maxsize=64)
def _codes(spec: TensorSpec) -> _Codes | None:
    """Return how the kernels scan a spec; None if they cannot: scales along an axis, or a dtype without loops."""
    known = spec.quantization
    if known is not None and (known.axis is not None or not float(known.scale) > 0):
        return None
    stored = kernels.codes(spec.dtype)
    if stored is None and spec.dtype != "float32":
        return None
    values = exact = None
    if stored is not None:
        values = _values(spec.dtype, stored, known)
        exact = None if spec.dtype in _INFINITY else values.astype(np.float32)
    n, c, h, w = stored_buffers.extents(spec, "above")
    start = int(spec.offset(0, 0, 0, 0))

    def along(letter: str, extent: int) -> np.ndarray:
        index: list[Any] = [0] * 4
        index[spec.axes.index(letter)] = np.arange(extent)
        return np.asarray(spec.offset(*index), np.int64) - start

    images, tables = start + along("N", n), (along("C", c), along("H", h), along("W", w))
    maps = tuple(kernels.FeatureMap(spec.dtype, tables[0] + at, *tables[1:]) for at in images)
    return _Codes(maps, values, exact)


def _real(dtype: str, stored: np.ndarray, known: Quantization | None) -> np.ndarray:
    """Return real values, float32; 16 bits of floats may be stored as uint16."""
    if dtype == "bfloat16":
        return kernels.widen_bfloat16(stored)
    if dtype == "float16":
        stored = stored.view(np.float16)
    return stored.astype(np.float32) if known is None else known.dequantize(stored)


def _values(dtype: str, stored: np.ndarray, known: Quantization | None) -> np.ndarray:
    """Return the real value of every code, ascending; infinity where it is NaN."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = _real(dtype, stored, known).astype(np.float64)
    if dtype in _INFINITY:
        values[len(values) // 2 + _INFINITY[dtype] + 1 :] = np.inf
        values[0] = -np.inf
    return values


def _least(threshold: float) -> float:
    """Return the least float32 that is at least `threshold`, for values that float32 has."""
    with np.errstate(over="ignore"):
        single = np.float32(threshold)
    return float(single if float(single) >= threshold else np.nextafter(single, np.float32(np.inf)))


def _scanned(codes: _Codes, spec: TensorSpec, flat: np.ndarray, threshold: float) -> Found | None:
    """Find them by the compiled scan, image by image; None where there is none."""
    bound, parts = _least(threshold), []
    least = kernels.least_float(bound) if codes.values is None else kernels.least_code(codes.values, bound)
    for made in codes.maps:
        hits = kernels.scan(made, flat, least)
        if hits is None:
            return None
        parts.append(_placed(codes, made, spec, flat, hits))
    where = np.empty((sum(len(values) for _, values in parts), 4), np.int64)
    done = 0
    for n, (pixels, values) in enumerate(parts):
        rows = where[done : done + len(values)]
        rows[:, 0], rows[:, 1:] = n, pixels
        done += len(values)
    return where, np.concatenate([values for _, values in parts] or [np.empty(0, np.float32)])


def _placed(codes: _Codes, made: kernels.FeatureMap, spec: TensorSpec, flat: np.ndarray, hits: np.ndarray) -> Found:
    """Return c, y, x, ascending, and the values of hits that are in the order of cells."""
    few = np.uint16 if len(made.channels) <= 1 << 16 else np.int32  # numpy counts 16 bits, and compares 32
    hits = hits[np.argsort(hits[:, 1].astype(few), kind="stable")]
    cell, channel, code = hits.T
    y, x = np.divmod(cell, len(made.columns))
    if codes.exact is not None:
        values = codes.exact[code + len(codes.exact) // 2]
    else:
        stored = flat[made.channels[channel] + made.rows[y] + made.columns[x]]
        values = _real(spec.dtype, stored, spec.quantization)
    pixels = np.stack([channel, y, x], 1)
    numbers = values == values
    return (pixels, values) if numbers.all() else (pixels[numbers], values[numbers])


def _in_bands(spec: TensorSpec, flat: np.ndarray, threshold: float) -> list[Found]:
    parts = []
    for band in bands.bands(spec, flat):
        where, values = _compared(band.x, band.quantization, threshold)
        where[:, [0, 2]] += [band.n, band.first]
        parts.append((where, values))
    return parts


def _compared(x: np.ndarray, known: Quantization | None, threshold: float) -> Found:
    values = x if known is None else known.dequantize(x)
    narrow = np.can_cast(values.dtype, np.float32)
    bound = np.array([_least(threshold)], np.float32) if narrow else np.array([threshold])
    found = np.nonzero(values >= bound)  # of one dtype for every numpy
    return np.stack(found, 1).astype(np.int64), values[found].astype(np.float32)


def _joined(parts: list[Found]) -> Found:
    """Return all of them in the order of n, c, y, x."""
    where = np.concatenate([rows for rows, _ in parts] or [np.empty((0, 4), np.int64)])
    values = np.concatenate([found for _, found in parts] or [np.empty(0, np.float32)])
    order = np.lexsort(where.T[::-1])
    return where[order], values[order]


ABOVE = OperatorKernels("above")  # a name for messages: what it does is no kernel's work
