"""Make a TensorSpec from a runtime's own metadata: a mapping, or an object with the runtime's field names.

Imports buffers, layouts and support.
"""

from __future__ import annotations

from .rknn import from_rknn
from .tflite import from_tflite

__all__ = ["from_rknn", "from_tflite"]
