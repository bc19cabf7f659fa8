"""Run a model: in onnxruntime, or as a simulated accelerator that returns buffers as a board would.

Imports buffers, layouts and support.
"""

from .calibration import calibrate
from .factories import engine_named
from .model_axes import axes_in_model, fits, order_in_model, shape_in_model, transposed
from .onnxruntime import OnnxRuntimeEngine
from .simulated import SimulatedNpu

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
