"""Who runs the model: onnxruntime, or a stand-in that answers as an accelerator would.

Imports buffers, layouts and support.
"""

from .factories import engine_named
from .onnxruntime import (
    OnnxRuntimeEngine,
    SimulatedNpu,
    axes_in_model,
    calibrate,
    fits,
    order_in_model,
    shape_in_model,
    transposed,
)

__all__ = [
    "OnnxRuntimeEngine",
    "SimulatedNpu",
    "axes_in_model",
    "calibrate",
    "engine_named",
    "fits",
    "order_in_model",
    "shape_in_model",
    "transposed",
]
