"""Reduce channels and find peaks, by the kernels of a backend.

If numpy or the core refuses an argument by an exception of its own, it is refused again, by its name.
"""

from __future__ import annotations

import numpy as np

from . import fallback
from .choice import LEVELS, backends
from .choice import core as _core  # an import: Python calls functions of an imported name faster (30 ns)
from .fallback.checks import (
    check_types,
    checked_argmax,
    checked_peaks,
    checked_sigmoid,
    checked_softmax,
    checked_top_k,
    checked_tops,
    real,
)

# What numpy and the compiled core raise on arguments of another type; `check_types` then finds out which one it is.
WRONG_TYPES = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


def argmax(
    x: np.ndarray, out: np.ndarray, channels: int | None = None, dtype: str | None = None, backend: str | None = None
) -> None:
    """Write the first channel with the largest value of each position to `out`; NaN is the largest, as in numpy.argmax.

    `x`: a view with any strides, whose first axes are the positions and whose last axis is the channel. Several axes
    behind the positions are the channel's digits, outermost first, such as (C1, 16) for NCHW16c; then `channels` is how
    many channels are not padding. dtypes: int8, uint8, int16, uint16, int32, float16, float32, or uint16 with
    ``dtype="bfloat16"``. `out`: int64 with the shape of the positions and any strides, which must not overlap `x`.
    ValueError on what does not fit.
    """
    try:
        level = LEVELS[backend]
        if level is None or not _core.argmax(x, out, channels, dtype, level):
            fallback.reduce.argmax(x, out, *checked_argmax(x, out, channels, dtype))
    except WRONG_TYPES:
        check_types(backends(), backend, arrays={"x": x, "out": out}, counts={"channels": channels}, dtype=dtype)
        raise


def top_k(
    x: np.ndarray,
    values: np.ndarray,
    numbers: np.ndarray,
    channels: int | None = None,
    dtype: str | None = None,
    backend: str | None = None,
) -> None:
    """Write the k largest channels of each position, the largest first; of equal ones the lower channel comes first.

    Values are written to `values`, and channels to `numbers`. NaN is the largest of all, -0 equals 0.

    `x`, `channels`, `dtype`: as for `argmax`. `values`, of the dtype of `x`, and `numbers`, int64: both have the shape
    (*positions, k), with k from 1 to the number of channels, and any strides. The three arrays must not overlap.
    ValueError on what does not fit.
    """
    try:
        level = LEVELS[backend]
        if level is None or not _core.top_k(x, values, numbers, channels, dtype, level):
            fallback.reduce.top_k(x, values, numbers, *checked_top_k(x, values, numbers, channels, dtype))
    except WRONG_TYPES:
        arrays = {"x": x, "values": values, "numbers": numbers}
        check_types(backends(), backend, arrays, counts={"channels": channels}, dtype=dtype)
        raise


def softmax(
    x: np.ndarray,
    out: np.ndarray,
    positions: int | None = None,
    channels: int | None = None,
    dtype: str | None = None,
    scale: float = 1.0,
    zero_point: float = 0.0,
    backend: str | None = None,
) -> None:
    """Write softmax over the channel of ``(x - zero_point) * scale`` to `out`, float32; see `fallback.reduce.softmax`.

    `x`, `dtype`: as for `argmax`. `out`: the same positions and channels, with their axes in the same order; it must
    not overlap `x`. `positions`: how many axes are positions; default: all but the last. Both arrays may have digits of
    the channel of their own: if `channels` is given, the digits of each need at least as many elements, and the lanes
    beyond are neither read nor written. `scale`, `zero_point`: of stored integers, finite numbers; float32 accepts
    none. ValueError on what does not fit.
    """
    try:
        level, scale, zero_point = LEVELS[backend], real("scale", scale), real("zero_point", zero_point)
        if level is None or not _core.softmax(x, out, positions, channels, dtype, scale, zero_point, level):
            known = checked_softmax(x, out, positions, channels, dtype, scale, zero_point)
            fallback.reduce.softmax(x, out, *known, scale, zero_point)
    except WRONG_TYPES:
        check_types(backends(), backend, {"x": x, "out": out}, {"positions": positions, "channels": channels}, dtype)
        raise


def sigmoid(
    x: np.ndarray,
    out: np.ndarray,
    dtype: str | None = None,
    scale: float = 1.0,
    zero_point: float = 0.0,
    backend: str | None = None,
    positions: int | None = None,
    channels: int | None = None,
) -> None:
    """Write 1 / (1 + e**-v) of ``v = (x - zero_point) * scale`` to `out`, float32; see `fallback.reduce.sigmoid`.

    `x`, `dtype`: as for `argmax`. Without `positions`, `out` has the shape of `x` and any strides; it is `x` itself or
    an array that does not overlap it. With `positions`, which says how many axes are positions, these come first in
    both arrays; behind them `x` has the digits of the channel, `out` has the channel as one axis, and the two must not
    overlap. `channels`: as for `argmax`. `scale`, `zero_point`: of stored integers, finite numbers; float32 accepts
    none. ValueError on what does not fit.
    """
    try:
        scale, zero_point = real("scale", scale), real("zero_point", zero_point)
        level, known = LEVELS[backend], (dtype, scale, zero_point)
        if level is None or not _core.sigmoid(x, out, *known, level, positions=positions, channels=channels):
            axes, count, name = checked_sigmoid(x, out, *known, positions, channels)
            if level is None or not _core.sigmoid(x, out, *known, level, True, positions, channels):
                fallback.reduce.sigmoid(x, out, name, scale, zero_point, axes, count)
    except WRONG_TYPES:
        check_types(backends(), backend, {"x": x, "out": out}, {"positions": positions, "channels": channels}, dtype)
        raise


def peaks(
    x: np.ndarray,
    threshold: float,
    radius: int = 1,
    channels: int | None = None,
    dtype: str | None = None,
    backend: str | None = None,
) -> np.ndarray:
    """Return the local maxima above `threshold` of each plane of `x`, by the rule of `fallback.reduce.peaks`.

    The result is a new int64 array (count, 4) of rows (n, c, y, x) in ascending order.

    `x`: (N, C, H, W), a view with any strides; several axes between N and H are the channel's digits. `channels` and
    `dtype`: as for `argmax`. `threshold`: in the units of the stored values, not NaN. `radius`: the window has
    2 radius + 1 points on a side. ValueError on what does not fit.
    """
    try:
        count, name, least, above, reach = checked_peaks(x, threshold, radius, channels, dtype)
        level = LEVELS[backend]
        if not count or not x.size:
            return np.empty((0, 4), np.int64)
        found = None if level is None else _core.peaks(x, count, name, least, above, reach, level)
        return fallback.reduce.peaks(x, count, name, least, above, reach) if found is None else found
    except WRONG_TYPES:
        check_types(backends(), backend, {"x": x}, {"channels": channels}, dtype)
        raise


def tops(
    x: np.ndarray, rows: np.ndarray, out: np.ndarray, refine: str | None = "parabola", backend: str | None = None
) -> None:
    """Write the positions of peaks, refined between pixels, to `out`: float64 (count, 5), n, c, x, y and the value.

    `x`: (N, C, H, W), any strides. `rows`: int64 (count, 4), n, c, y, x, as `peaks` returns them. `refine`: "parabola",
    "quarter" or None, see `fallback.reduce.tops`. ValueError on what does not fit.
    """
    try:
        if LEVELS[backend] is None or not _core.tops(x, rows, out, refine):
            checked_tops(x, rows, out, refine)
            fallback.reduce.tops(x, rows, out, refine)
    except WRONG_TYPES:
        check_types(backends(), backend, {"x": x, "rows": rows, "out": out})
        checked_tops(x, rows, out, refine)
        raise
