"""Add up two arrays, their squares, products and differences, by row and by column, by the kernels of a backend."""

from __future__ import annotations

import numpy as np

from . import fallback
from .choice import LEVELS
from .choice import core as _core  # an import: Python calls functions of an imported name faster (30 ns)
from .fallback.sums import BY_COLUMN as BY_COLUMN
from .fallback.sums import BY_ROW as BY_ROW


def sums(
    device: np.ndarray, model: np.ndarray, before: np.ndarray | None = None, backend: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums, minima and maxima by row, (BY_ROW, rows), and by column, (BY_COLUMN, matrices, columns), in float64.

    device, model: (matrices, rows, columns), any strides, both float32 or both float64; others are converted to
    float64. `before`: the model's numbers of the frame before; None: nothing changed. Rows are added up over the
    matrices too. `BY_COLUMN` names the figures in order. Sums: of the model's and of the device's numbers, of the
    model's squares, of the products of both, of the squared errors, and of the device's squares. Then the lowest number
    of model and device, the highest of both, and the largest squared error. `BY_ROW` has these, and two sums of the
    differences from `before`: of the model's squared, and of the products of both.

    All is computed in float64, without fused operations, in an order that depends on the shape alone: 256 columns of a
    row are added up as four partial sums, of every fourth one, then ``(0 + 1) + (2 + 3)``, matrix after matrix; then
    the next 256 ones are added. A column is added row by row. So every backend, instruction set and number of threads
    has the same bits, if the numbers are finite and their squares do not overflow; a zero is never negative. Of
    nothing the sums and the largest square are 0, the ends infinite.

    ValueError if the shapes differ, or have no three axes.
    """
    arrays = [device, model, *([] if before is None else [before])]
    if any(x.ndim != 3 or x.shape != device.shape for x in arrays):
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise ValueError(f"device, model, before: expected one shape of three axes, got {shapes}")
    common = device.dtype if device.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if any(x.dtype != common for x in arrays):
        arrays = [x.astype(np.float64) for x in arrays]
    level = LEVELS[backend]
    numbers = arrays[0], arrays[1], arrays[2] if len(arrays) > 2 else None
    found = fallback.sums.sums(*numbers) if level is None else _core.sums(*numbers, level)
    for x in found:
        x += 0.0  # a zero has no sign
    return found[0], found[1]
