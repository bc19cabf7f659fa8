"""A layout bound to a shape and a dtype: TensorSpec checks, views, unpacks and packs a buffer.

Imports layouts and support.
"""

from .colors import in_model_order, spec_in_model_order, with_exchanged_colors
from .conversion import Conversion, plan
from .elements import element, kernel_name, unpack_nibbles
from .quantization import Quantization
from .rank_axes import axes_of_rank
from .spec import TensorSpec
from .spec_checks import in_storage_order

__all__ = [
    "Conversion",
    "Quantization",
    "TensorSpec",
    "axes_of_rank",
    "element",
    "in_model_order",
    "in_storage_order",
    "kernel_name",
    "plan",
    "spec_in_model_order",
    "unpack_nibbles",
    "with_exchanged_colors",
]
