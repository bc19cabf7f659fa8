"""A runtime's own metadata -> TensorSpec. Pure functions on mappings, or on objects with the runtime's field names.

Imports buffers, layouts and support.
"""

from __future__ import annotations

from .rknn import from_rknn
from .tflite import from_tflite

__all__ = ["from_rknn", "from_tflite"]
