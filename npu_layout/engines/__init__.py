"""Who runs the model: onnxruntime, or a stand-in that answers as an accelerator would.

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
