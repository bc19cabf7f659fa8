"""A runtime's own metadata -> TensorSpec. Pure functions on mappings, or on objects with the runtime's field names."""

from __future__ import annotations

from .rknn_specs import from_rknn
from .tflite_specs import from_tflite

__all__ = ["from_rknn", "from_tflite"]
