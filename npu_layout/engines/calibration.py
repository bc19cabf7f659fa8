"""Compute quantization parameters from the range of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..buffers import Quantization, element
from ..errors import NpuLayoutError


def calibrate(values: Any, dtype: Any) -> Quantization | None:
    """Return the per-tensor quantisation of `dtype` whose range contains `values` and zero; None for a float dtype.

    values: an array or a list of them (of any shapes). ``scale = (high - low) / (qmax - qmin)``, and the zero point is
    the nearest integer, so zero is exact and the ends may be half a step outside. Raises NpuLayoutError on values
    that are not finite.

    >>> calibrate([-0.5, 127.0], "uint8")
    Quantization(0.5, 1)
    >>> calibrate([0.0], "float16") is None
    True
    """
    kind = element(dtype)
    if kind.unpacked.kind not in "iu":
        return None
    arrays = [np.asarray(v) for v in (values if isinstance(values, (list, tuple)) else [values])]
    low = min([0.0, *(float(a.min()) for a in arrays if a.size)])
    high = max([0.0, *(float(a.max()) for a in arrays if a.size)])
    if not np.isfinite([low, high]).all() or any(np.isnan(a).any() for a in arrays):
        raise NpuLayoutError(f"calibrate: expected finite values, got {low}..{high}")
    info = np.iinfo(kind.unpacked)
    bits = 4 if kind.nibbles else info.bits
    lowest = 0 if kind.unpacked.kind == "u" else -(2 ** (bits - 1))
    scale = (high - low) / (2**bits - 1) or 1.0
    return Quantization(scale, lowest - round(low / scale))
