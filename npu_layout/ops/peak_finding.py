"""Local maxima of heatmaps, with coordinates between pixels, found in real or stored values: peaks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..layouts import near
from ..support import checked_call
from . import stored_buffers
from .applying import checked_inputs, checked_out
from .peak_search import PEAKS, checked, describe, found, too_many
from .quantized import Stored
from .stored_peaks import of_stored


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
    no less than every one that comes after it; windows end at the borders. So of a rectangle of equal pixels the first
    is found. NaN is no maximum, nor is a pixel whose window contains a NaN.

    Parameters
    ----------
    x, buffer
        Heatmaps, (N,C,H,W) numbers; or a TensorSpec and its buffer, which is read in any layout, without its padding.
    threshold
        A real value, not NaN.
    radius
        The window has 2 radius + 1 pixels on a side.
    refine
        "parabola": in x and in y the top of the parabola through the peak and its two neighbours, at most half a pixel
        away; "quarter": a quarter of a pixel towards the greater of the two neighbours; None: whole pixels. At a
        border, the coordinate across it stays a whole number.
    quantization
        Quantization or (scale, zero_point) of stored integers. These are compared, with the threshold in their units;
        the peaks are those of the real values.
    out
        float64 (rows, 5) to write to, with at least one row for each peak.

    Returns
    -------
    float64 (count, 5), or the rows of `out` that were written: n, c, x, y and score (the pixel's real value), ascending
    in n, c and the pixel's y and x. A pixel's centre has whole coordinates, as Geometry's points have; add half a pixel
    for edges of boxes.

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
    if stored_buffers.is_stored(x, buffer, "peaks", quantization):
        return of_stored(x, buffer, threshold, radius, refine, out)
    inputs = checked_inputs(PEAKS, x)
    limit, reach = checked(threshold, radius, refine)
    values, known, rows = found(inputs, quantization, limit, reach)
    if out is None:
        result = np.empty((len(rows), 5))
    else:
        room = out.shape[0] if isinstance(out, np.ndarray) and out.ndim else 0
        result = checked_out(inputs, out, (room, 5), np.float64)[: len(rows)]
        if len(rows) > room:
            raise too_many(len(rows), room)
    written = np.empty((len(rows), 5)) if near(result, inputs.sources) else result
    describe(values, rows, known, refine, written)
    if written is not result:
        result[...] = written
    return result
