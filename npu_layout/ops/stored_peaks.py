"""Find peaks in stored buffers: in place where the kernels can walk their planes, else band by band of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..buffers import Quantization, TensorSpec
from . import bands, stored_buffers
from .applying import checked_inputs
from .peak_search import PEAKS, checked, describe, found, limits, real_scores, stored_limit, too_many


def of_stored(spec: TensorSpec, buffer: Any, threshold: Any, radius: Any, refine: Any, out: Any) -> np.ndarray:
    """Return the peaks of a stored buffer; arguments and errors as `peaks`."""
    _, _, h, w = stored_buffers.extents(spec, "peaks")
    limit, reach = checked(threshold, radius, refine)
    reach = min(reach, max(1, h, w))
    flat, scales = spec.flat(buffer), bands.quantization_of(spec)
    alike = scales is None or scales.axis in (None, 0, 1)  # in each plane
    known = stored_buffers.walk(stored_buffers.codes(spec)) if alike else None
    planes = None if known is None else _planes(known)
    if known is None or planes is None or kernels.active() == "numpy":  # whose search needs memory for all planes
        rows = _in_bands(spec, flat, limit, reach, refine)
    else:
        rows = _in_place(scales, planes, known, flat, limit, reach, refine)
    if out is None:
        return rows
    room = out.shape[0] if isinstance(out, np.ndarray) and out.ndim else 0
    result = stored_buffers.target("peaks", out, (room, 5), np.float64, flat).out
    if len(rows) > room:
        raise too_many(len(rows), room)
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
    along, bounds = None if scales is None else scales.axis, np.empty(0)
    if scales is not None and along is None:
        threshold = stored_limit(float(scales.scale), float(scales.zero_point), threshold, flat.dtype.name)
    elif scales is not None:
        bounds = limits(scales, threshold, flat.dtype.name)
        threshold = int(bounds.min())
    parts = []
    for n in range(len(source)):
        image = source[n].transpose(2, 3, 0, 1)
        rows = kernels.peaks(image[None], threshold, reach, known.channels, known.dtype)
        channel = rows[:, 1].copy()
        rows[:, 0], rows[:, 1] = np.divmod(channel, lanes)
        if along is not None:
            kept = image[tuple(rows.T)] > bounds[channel if along else n]
            rows, channel = np.ascontiguousarray(rows[kept]), channel[kept]
        described = np.empty((len(rows), 5))
        if known.dtype == "bfloat16":
            _describe_short(image, rows, refine, described)
        else:
            describe(image, rows, scales if along is None else None, refine, described)
        described[:, 0], described[:, 1] = n, channel
        if scales is not None and along is not None:
            described[:, 4] = real_scores(described[:, 4], scales, channel if along else np.full_like(channel, n))
        parts.append(described)
    return np.concatenate(parts)


def _in_bands(spec: TensorSpec, flat: np.ndarray, threshold: float, reach: int, refine: str | None) -> np.ndarray:
    """Find peaks band by band, with rows beside each band, and keep those of its own rows."""
    parts = [np.empty((0, 7))]
    for band in bands.bands(spec, flat, reach):
        before = min(reach, band.first)
        x, known, at = found(checked_inputs(PEAKS, band.x), band.quantization, threshold, reach)
        at = at[(at[:, 2] >= before) & (at[:, 2] < before + band.last - band.first)]
        described = np.empty((len(at), 5))
        describe(x, at, known, refine, described)
        described[:, 0] += band.n
        row = at[:, 2] + band.first - before
        moved = _moved(x, tuple(at.T), 2, refine)
        described[:, 3] = row + moved  # rounded once, as for a whole image
        parts.append(np.concatenate([described, at[:, 3:], row[:, None]], 1))
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
    kept: np.ndarray = np.where(inner & np.isfinite(moved), moved, 0)
    return kept


def _describe_short(x: np.ndarray, rows: np.ndarray, refine: str | None, result: np.ndarray) -> None:
    """Write x, y and score of the pixels of bfloat16 at `rows`, with what is beside them alone."""
    at, read = tuple(rows.T), kernels.widen_bfloat16
    result[:, 2] = at[3] + _moved(x, at, 3, refine, read)
    result[:, 3] = at[2] + _moved(x, at, 2, refine, read)
    result[:, 4] = read(x[at])
