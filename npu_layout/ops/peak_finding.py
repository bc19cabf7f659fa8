"""Local maxima of heatmaps, with coordinates between pixels, found in real or stored values: peaks."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import kernels
from ..buffers import Quantization
from ..errors import NpuLayoutError
from ..layouts import near
from ..support import checked_call, integer, one_of
from . import bands, stored_buffers
from .applying import Inputs, checked_inputs, checked_out, native
from .quantized import Stored, comparable, stored_as
from .registry import CORE, Kernel, OperatorKernels

_REFINEMENTS = ("parabola", "quarter", None)


@checked_call
def peaks(
    x: Any,
    threshold: float,
    radius: int = 1,
    buffer: Any = None,
    *,
    refine: str | None = "parabola",
    quantization: Stored = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the local maxima of each plane that are above a threshold, with coordinates between pixels.

    A pixel is a local maximum if it is greater than every pixel of its window that comes before it in raster order, and
    no less than every one that comes after it; windows end at the borders. So the first pixel of a level rectangle is
    found. NaN is no maximum, nor is any pixel whose window contains one.

    Parameters
    ----------
    x, buffer
        Heatmaps, (N,C,H,W) numbers; or a TensorSpec and its buffer, which is read in any layout, without its padding.
    threshold
        In real values; not NaN.
    radius
        The window has 2 radius + 1 pixels on a side.
    refine
        "parabola": in x and in y the top of the parabola through the peak and its two neighbours, at most half a pixel
        away; "quarter": a quarter of a pixel towards the greater of the two; None: whole pixels. At a border, the
        coordinate across it stays a whole number.
    quantization
        Of stored integers, a Quantization or (scale, zero_point). The stored integers are compared, with the
        threshold in their units; the result is that of the real values.
    out
        float64 (rows, 5), with a row for each peak; the first ones are written.

    Returns
    -------
    float64 (count, 5), the rows of `out` that were written if that is given: n, c, x, y, score (the pixel's real
    value), ascending in n, c, and the pixel's y and x. A pixel's centre has whole numbers as coordinates, as Geometry's
    points have; as edges of a box they need half a pixel more.

    Raises
    ------
    NpuLayoutError
        On what does not fit, and if there are more peaks than rows; nothing was written then.

    Examples
    --------
    >>> x = np.zeros((1, 1, 3, 5))
    >>> x[0, 0, 1] = 0, 0, 8, 4, 0
    >>> peaks(x, 1).round(3).tolist()
    [[0.0, 0.0, 2.167, 1.0, 8.0]]
    """
    if stored_buffers.is_stored(x, buffer, "peaks"):
        return _of_stored(x, buffer, threshold, radius, refine, out)
    inputs = checked_inputs(PEAKS, x)
    if refine is not None and (not isinstance(refine, str) or refine not in _REFINEMENTS):
        one_of("peaks: refine", refine, _REFINEMENTS)
    try:
        limit, reach = float(threshold), integer(radius)
    except (TypeError, ValueError, OverflowError):
        reach = None
    if reach is None:
        raise NpuLayoutError(
            f"peaks: expected a number as threshold and a whole one as radius, got {threshold!r}, {radius!r}"
        )
    if math.isnan(limit):
        raise NpuLayoutError("peaks: threshold: expected a number, got nan: nothing is above that")
    if reach < 1:
        raise NpuLayoutError(f"peaks: radius: expected 1 or more, got {radius!r}")
    reach = min(reach, max(1, *inputs.x.shape[2:]))  # the loops count in 64 bits
    known = stored_as(quantization, inputs)
    if known is not None:
        inputs, known = comparable(inputs, known, 2, 3)
    rows = _found(inputs, known, limit, reach)
    if out is None:
        result = np.empty((len(rows), 5))
    else:
        capacity = out.shape[0] if isinstance(out, np.ndarray) and out.ndim else 0
        result = checked_out(inputs, out, (capacity, 5), np.float64)[: len(rows)]
        if len(rows) > capacity:
            raise NpuLayoutError(f"out for peaks: found {len(rows)} peaks, got room for {capacity}")
    written = np.empty((len(rows), 5)) if near(result, inputs.sources) else result
    _describe(inputs.x, rows, known, refine, written)
    if written is not result:
        result[...] = written
    return result


def _of_stored(spec: Any, buffer: Any, threshold: Any, radius: Any, refine: Any, out: Any) -> np.ndarray:
    _, _, h, w = stored_buffers.extents(spec, "peaks")
    peaks(np.empty((0, 1, 1, 1), np.float32), threshold, radius, refine=refine)  # checks the arguments
    reach = min(int(radius), max(1, h, w))
    flat, scales = spec.flat(buffer), bands.quantization_of(spec)
    alike = scales is None or scales.axis in (None, 0, 1)  # in each plane
    known = stored_buffers.walk(stored_buffers.codes(spec)) if alike else None
    planes = None if known is None else _planes(known)
    if known is None or planes is None or kernels.active() == "numpy":  # whose search needs memory for all planes
        rows = _in_bands(spec, flat, float(threshold), reach, refine)
    else:
        rows = _in_place(scales, planes, known, flat, float(threshold), reach, refine)
    if out is None:
        return rows
    capacity = out.shape[0] if isinstance(out, np.ndarray) and out.ndim else 0
    result = stored_buffers.target("peaks", out, (capacity, 5), np.float64, flat).out
    if len(rows) > capacity:
        raise NpuLayoutError(f"out for peaks: found {len(rows)} peaks, got room for {capacity}")
    result[: len(rows)] = rows
    return result[: len(rows)]


def _planes(known: stored_buffers.Walk) -> stored_buffers.Region | None:
    """Return the region of a spec whose pixels have one step along each axis; None if it has blocks of them.

    The kernels refine peaks in two axes of planes, so that the channel has two digits at most.
    """
    (region,) = known.regions if len(known.regions) == 1 else (None,)
    plain = region is not None and len(region.loops) == 3 and len(known.digits) <= 2
    return region if plain else None


def _in_place(
    scales: Quantization | None,
    region: stored_buffers.Region,
    known: stored_buffers.Walk,
    flat: np.ndarray,
    threshold: float,
    reach: int,
    refine: str | None,
) -> np.ndarray:
    """Find peaks in the stored buffer, image by image."""
    source = known.source(region, flat)
    source = source.reshape(*source.shape[:3], 1, source.shape[3]) if source.ndim == 4 else source
    lanes = source.shape[4]
    along, limits = None if scales is None else scales.axis, np.empty(0)
    if scales is not None and along is None:
        threshold = _stored(float(scales.scale), float(scales.zero_point), threshold, flat.dtype.name)
    elif scales is not None:
        limits = _limits(scales, threshold, flat.dtype.name)
        threshold = int(limits.min())
    parts = []
    for n in range(len(source)):
        image = source[n].transpose(2, 3, 0, 1)
        rows = kernels.peaks(image[None], threshold, reach, known.channels, known.dtype)
        channel = rows[:, 1].copy()
        rows[:, 0], rows[:, 1] = np.divmod(channel, lanes)
        if along is not None:
            kept = image[tuple(rows.T)] > limits[channel if along else n]
            rows, channel = np.ascontiguousarray(rows[kept]), channel[kept]
        found = np.empty((len(rows), 5))
        if known.dtype == "bfloat16":
            _describe_short(image, rows, refine, found)
        else:
            _describe(image, rows, scales if along is None else None, refine, found)
        found[:, 0], found[:, 1] = n, channel
        if scales is not None and along is not None:
            found[:, 4] = _real(found[:, 4], scales, channel if along else np.full_like(channel, n))
        parts.append(found)
    return np.concatenate(parts)


def _in_bands(spec: Any, flat: np.ndarray, threshold: float, reach: int, refine: str | None) -> np.ndarray:
    """Find peaks band by band, with rows beside each band, and keep those of its own rows."""
    parts = [np.empty((0, 7))]
    for band in bands.bands(spec, flat, reach):
        before = min(reach, band.first)
        known, x = band.quantization, native(band.x)
        at = peaks(x, threshold, reach, refine=None, quantization=known)[:, :4].astype(np.int64)
        at = at[(at[:, 3] >= before) & (at[:, 3] < before + band.last - band.first)]
        if known is not None and known.axis in (2, 3):
            x, known = known.dequantize(x), None
        found = np.empty((len(at), 5))
        _describe(x, np.ascontiguousarray(at[:, [0, 1, 3, 2]]), known, refine, found)
        found[:, 0] += band.n
        row = at[:, 3] + band.first - before
        number, channel, column, inner = at.T
        found[:, 3] = row + _moved(x, (number, channel, inner, column), 2, refine)  # rounded once, as for a whole image
        parts.append(np.concatenate([found, at[:, 2:3], row[:, None]], 1))
    rows = np.concatenate(parts)
    return np.ascontiguousarray(rows[np.lexsort((rows[:, 5], rows[:, 6], rows[:, 1], rows[:, 0]))][:, :5])


def _moved(
    x: np.ndarray, at: tuple[np.ndarray, ...], axis: int, refine: str | None, read: Any = np.asarray
) -> np.ndarray:
    """Return by how much pixels (n, c, y, x) are refined along an axis, as `kernels.tops` does."""
    inner = (at[axis] > 0) & (at[axis] < x.shape[axis] - 1)
    beside = [(*at[:axis], at[axis] + step * inner, *at[axis + 1 :]) for step in (-1, 0, 1)]
    before, here, behind = (read(x[index]).astype(np.float64) for index in beside)
    with np.errstate(all="ignore"):
        moved = {
            None: np.zeros(len(here)),
            "quarter": 0.25 * np.sign(behind - before),
            "parabola": 0.5 * (before - behind) / (before - 2 * here + behind),
        }[refine]
    found: np.ndarray = np.where(inner & np.isfinite(moved), moved, 0)
    return found


def _describe_short(x: np.ndarray, rows: np.ndarray, refine: str | None, result: np.ndarray) -> None:
    """Write x, y and score of the pixels of bfloat16 at `rows`, with what is beside them alone."""
    at, read = tuple(rows.T), kernels.widen_bfloat16
    result[:, 2] = at[3] + _moved(x, at, 3, refine, read)
    result[:, 3] = at[2] + _moved(x, at, 2, refine, read)
    result[:, 4] = read(x[at])


def _found(inputs: Inputs, known: Quantization | None, threshold: float, radius: int) -> np.ndarray:
    """Return (count, 4) int64, ascending rows of n, c, y, x."""
    if not inputs.x.size:
        return np.empty((0, 4), np.int64)
    run, x = inputs.kernel.run, inputs.x
    if known is None or known.axis is None:
        if known is not None:
            threshold = _stored(float(known.scale), float(known.zero_point), threshold, x.dtype.name)
        found: np.ndarray = run(x, threshold, radius)
        return found
    limits = _limits(known, threshold, x.dtype.name)
    rows = run(x, int(limits.min()), radius)
    kept: np.ndarray = rows[x[tuple(rows.T)] > limits[rows[:, known.axis]]]
    return kept


def _limits(known: Quantization, threshold: float, dtype: str) -> np.ndarray:
    """Return what `_stored` returns for each scale: a peak above it is one above the lowest of all."""
    pairs = np.broadcast_arrays(known.scale, known.zero_point)
    return np.array([_stored(float(scale), float(zero), threshold, dtype) for scale, zero in zip(*pairs)])


@lru_cache(maxsize=4096)
def _stored(scale: float, zero_point: float, threshold: float, dtype: str) -> int:
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


def _describe(
    x: np.ndarray, rows: np.ndarray, known: Quantization | None, refine: str | None, result: np.ndarray
) -> None:
    """Write n, c, x, y and score of the peaks at `rows`."""
    kernels.tops(x, rows, result, refine)
    if known is not None:
        result[:, 4] = _real(result[:, 4], known, None if known.axis is None else rows[:, known.axis])


def _real(values: np.ndarray, known: Quantization, places: np.ndarray | None) -> np.ndarray:
    """Return the real values of stored ones whose scales are at those places."""
    scale, zero_point = (np.asarray(known.scale, np.float32), np.asarray(known.zero_point, np.float32))
    if places is not None:
        scale, zero_point = scale[places], np.broadcast_to(zero_point, scale.shape)[places]
    return (values.astype(np.float32) - zero_point) * scale
