"""Operators on (N,C,H,W) arrays that keep their memory format.

They accept Tensors, and plain arrays with any strides. A result has the memory format of the input. For a Tensor, it is
a Tensor of the same format; for a plain array it is a plain array in the format that the input's strides show
(:func:`npu_layout.memory_format`), or in C order if they show none.

With ``out=`` the result is written to that array in the format of `out`, whatever the input's format is. A temporary
array is used only if a kernel needs one, or if `out` overlaps the input. Ctrl-C leaves `out` half written. Inputs are
never changed, unless an input is `out` itself.

argmax_channels, max_channels, top_k, above, softmax_channels, sigmoid and peaks also read stored buffers of any layout:
give a TensorSpec in the place of the array, its buffer as ``buffer=``, and no `quantization`, which the spec has.

:func:`table` shows which kernel serves which format. A "generic" kernel returns the same values, but is slower.

Imports arrays, buffers, layouts, kernels and support.
"""

from typing import TYPE_CHECKING

from ..support import late
from .applying import result_layout
from .channels import argmax_channels, softmax_channels
from .elementwise import dequantize, normalize, quantize, sigmoid, to_gray
from .kernel_table import table
from .peak_finding import peaks
from .pixels import concat_channels, crop, flip, pad, split_channels
from .resizing import resize
from .thresholds import above
from .top_channels import max_channels, top_k

__all__ = [
    "above",
    "argmax_channels",
    "concat_channels",
    "crop",
    "dequantize",
    "flip",
    "max_channels",
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

_ELSEWHERE = {
    **dict.fromkeys(("softmax", "log_softmax"), "softmax_channels"),
    **{"argmax": "argmax_channels", "topk": "top_k", "max": "max_channels", "concat": "concat_channels"},
    **{"split": "split_channels", "threshold": "above", "find_peaks": "peaks", "nms": "npu_layout.decode.nms"},
}
if not TYPE_CHECKING:
    __getattr__, __dir__ = late(__name__, {}, _ELSEWHERE)
