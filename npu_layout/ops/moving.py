"""Write the elements of one array into another: converted, as they are, or rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..buffers import kernel_name
from ..layouts import Affine, Layout, affine_copy
from .registry import AXES

_LAYOUT = Layout(AXES)


def convert(x: np.ndarray, out: np.ndarray, affine: Affine | None = None, dtype: str | None = None) -> None:
    """Write affine(x) to `out`; they have the axes NCHW and any strides, and do not overlap.

    `dtype`: the type in `out` if numpy has no dtype for it, such as int4.
    """
    names = kernel_name(x.dtype), dtype or kernel_name(out.dtype)
    if affine is None and x.dtype == out.dtype:
        names = (f"V{x.itemsize}", f"V{x.itemsize}")
    affine_copy(_LAYOUT, x, out, *names, affine)


def move(x: np.ndarray, out: np.ndarray) -> None:
    """Write x to `out`; they have one dtype and do not overlap."""
    if x.size:
        convert(x, out)


def rounded(values: np.ndarray, out: np.ndarray) -> None:
    """Write the nearest integers of floats to `out`, half to even, clamped to the range of both dtypes."""
    info = np.iinfo(out.dtype)
    most: Any = values.dtype.type(info.max)
    if int(most) > info.max:
        most = np.nextafter(most, values.dtype.type(0))
    out[...] = np.clip(np.rint(values), info.min, most)
