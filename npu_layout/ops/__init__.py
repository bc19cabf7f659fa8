"""Operators on arrays with the axes (N,C,H,W) that keep their memory format, with ``out=`` that of `out`.

They take plain arrays, with any strides, and Tensors. A result lies as the input does: in a Tensor's format, which it
carries on, or for a plain array in the one that its strides tell (:func:`npu_layout.memory_format`), else in C order.
With ``out=`` the result is written where `out` lies, whatever the input's format; a temporary array is used only where
the kernel needs it, or `out` shares memory with the input; Ctrl-C leaves it half written. Inputs are never changed.
:func:`table` says which kernel serves which format; where it says "generic" the answer is the same, and slower.

Imports arrays, buffers, layouts, kernels and support.
"""

from .channels import argmax_channels, softmax_channels, top_k
from .elementwise import dequantize, normalize, quantize, sigmoid, to_gray
from .kernel_table import table
from .peak_finding import peaks
from .pixels import concat_channels, crop, flip, pad, split_channels
from .registry import result_layout
from .resizing import resize

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
