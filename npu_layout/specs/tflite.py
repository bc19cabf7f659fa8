"""Make a TensorSpec from TFLite's tensor details."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import Layout
from .metadata import CHANNELS_LAST, Metadata, affine, numbers, pair, text


def from_tflite(details: Any) -> TensorSpec:
    """Return the spec of a tensor in TFLite, LiteRT or Coral: contiguous, channels last.

    Parameters
    ----------
    details
        An item of ``interpreter.get_input_details()`` or ``get_output_details()``, a mapping with name, shape, dtype,
        and quantization_parameters {scales, zero_points, quantized_dimension} or the older quantization (scale,
        zero_point). A missing quantized_dimension is 0, as in the schema, or the last dimension if the first one does
        not have as many elements as there are scales. No scale, or a scale of 0, means that the tensor is not quantised
        (LiteRT's schema, QuantizationParameters).

    Returns
    -------
    TensorSpec with the axes in the order of shape: NC, NWC, NHWC or NDHWC, and letters from A on for other ranks. A
    scalar has the shape (1,), as for OnnxRuntimeEngine.

    Raises
    ------
    NpuLayoutError
        On missing fields, dynamic shapes, and a zero point that the dtype cannot represent.

    Examples
    --------
    >>> import numpy as np
    >>> spec = from_tflite({"name": "y", "shape": [1, 2, 2, 3], "dtype": np.uint8, "quantization": (0.5, 128)})
    >>> spec.axes, spec.quantization
    ('NHWC', Quantization(0.5, 128))
    """
    details = Metadata("TFLite details", details)
    shape = tuple(details.extents("shape")) or (1,)
    axes = CHANNELS_LAST[len(shape)] if 2 <= len(shape) <= 5 else "ABCDEFGH"[: len(shape)]
    if len(axes) != len(shape):
        raise NpuLayoutError(f"TFLite tensor {details.field('name', '')!r}: expected 0 to 8 dimensions, got {shape}")
    dtype = details.read("dtype", np.dtype)
    parameters = Metadata("TFLite quantization_parameters", details.read("quantization_parameters", dict, {}))
    scales = parameters.read("scales", numbers(np.float64), ())
    zero_points = parameters.read("zero_points", numbers(np.int64), ())
    if not scales.size:
        scales, zero_points = details.read("quantization", pair, (0.0, 0))
    quantization, name = None, details.read("name", text, "")
    if dtype.kind in "iu" and scales.any():
        what = f"TFLite tensor {name!r}"
        if scales.size == 1:
            quantization = affine(what, dtype, float(scales[0]), int(zero_points[0]) if zero_points.size else 0)
        else:
            usual = 0 if shape[0] == scales.size else len(shape) - 1  # 0 is the schema's, which flatc leaves out
            axis = parameters.whole("quantized_dimension", usual)
            quantization = affine(what, dtype, scales, zero_points if zero_points.size else 0, axis)
    return TensorSpec(shape, Layout.plain(axes), dtype, quantization=quantization, name=name)
