"""The places of a tensor's elements in memory, and the loops that move them from one layout to another.

Imports kernels and support.
"""

from ..kernels import Affine
from .channel_orders import CHANNEL_ORDERS, COLOR_ORDERS, SWAPPED_ORDERS, ChannelOrder
from .layout import Layout, LayoutLike, Shape, as_argument, as_layout, c_strides, check_extents, logical_shape
from .outputs import check_distinct, check_out, near, overlap, without_overlap
from .planning import Plan, affine_copy, plan_move
from .repacking import repack
from .spans import Span, bind_array, bind_span, distinct, moving_axes, span_of
from .storage import Storage
from .vendor_names import BY_RANK, FASTEST_FIRST, NAMED, is_vendor_name

__all__ = [
    "BY_RANK",
    "CHANNEL_ORDERS",
    "COLOR_ORDERS",
    "FASTEST_FIRST",
    "NAMED",
    "SWAPPED_ORDERS",
    "Affine",
    "ChannelOrder",
    "Layout",
    "LayoutLike",
    "Plan",
    "Shape",
    "Span",
    "Storage",
    "affine_copy",
    "as_argument",
    "as_layout",
    "bind_array",
    "bind_span",
    "c_strides",
    "check_distinct",
    "check_extents",
    "check_out",
    "distinct",
    "is_vendor_name",
    "logical_shape",
    "moving_axes",
    "near",
    "overlap",
    "plan_move",
    "repack",
    "span_of",
    "without_overlap",
]
