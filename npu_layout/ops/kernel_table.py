"""Operators on arrays with the axes (N,C,H,W) that keep their memory format, with ``out=`` that of `out`.

They take plain arrays, with any strides, and Tensors. A result lies as the input does: in a Tensor's format, which it
carries on, or for a plain array in the one that its strides tell (:func:`npu_layout.memory_format`), else in C order.
With ``out=`` the result is written where `out` lies, whatever the input's format; a temporary array is used only where
the kernel needs it, or `out` shares memory with the input; Ctrl-C leaves it half written. Inputs are never changed.
:func:`table` says which kernel serves which format; where it says "generic" the answer is the same, and slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .channel_operators import argmax_channels, softmax_channels, top_k
from .element_operators import dequantize, normalize, quantize, sigmoid, to_gray
from .errors import LayoutError, NpuLayoutError
from .moving_operators import concat_channels, crop, flip, pad, split_channels
from .operators import AXES, chosen, operators, result_layout, tag_of
from .peaks_operator import peaks
from .resize_operator import resize
from .strided import order_of

__all__ = [
    "argmax_channels",
    "concat_channels",
    "crop",
    "dequantize",
    "flip",
    "normalize",
    "pad",
    "peaks",
    "quantize",
    "resize",
    "result_layout",
    "sigmoid",
    "softmax_channels",
    "split_channels",
    "table",
    "to_gray",
    "top_k",
]


class Table(dict[str, dict[str, str]]):
    """{operator: {format: kernel}}; as a string with a row for each operator."""

    def __str__(self) -> str:
        formats = list(next(iter(self.values()), {}))
        rows = [["", *formats], *([name, *(row[f] for f in formats)] for name, row in self.items())]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def table(formats: Sequence[str] = ("NCHW", "NHWC", "CHWN", "NHCW", "NWHC"), dtype: Any = "float32") -> Table:
    """Which kernel does each operator on arrays of each format and of a dtype: "generic" where none is made for it.

    formats: plain tags with the axes N, C, H and W. Returns a dict {operator: {format: kernel}} that prints as a table.
    LayoutError on other axes, NpuLayoutError on what is no dtype of numpy.

    >>> table(["NHWC", "NWHC"])["resize"]
    {'NHWC': 'cv2, image by image', 'NWHC': 'generic'}
    """
    orders = {f: order_of(f) for f in formats}
    try:
        kind = np.dtype(dtype).name
    except TypeError as error:
        raise NpuLayoutError(f"table: dtype {dtype!r}: {error}") from None
    for name, order in orders.items():
        if order.layout.axes != AXES:
            raise LayoutError(f"table: expected formats with the axes {AXES}, got {name!r}")
    return Table(
        {
            name: {f: chosen(name, tag_of(order.stored), kind).name for f, order in orders.items()}
            for name in operators()
        }
    )
