"""A layout bound to a shape and a dtype: TensorSpec checks, views, unpacks and packs a buffer.

Imports layouts and support.
"""

from .conversion import Conversion, plan
from .elements import element, kernel_name, unpack_nibbles
from .quantization import Quantization
from .spec import TensorSpec

__all__ = ["Conversion", "Quantization", "TensorSpec", "element", "kernel_name", "plan", "unpack_nibbles"]
