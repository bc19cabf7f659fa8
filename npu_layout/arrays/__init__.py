"""Memory formats of numpy arrays: give an array one, read which it has, and track which calls keep it.

Imports layouts and support.
"""

from typing import TYPE_CHECKING

from ..support import late
from .formats import asformat, clone, empty_like, memory_format
from .orders import AxisOrder, axis_order, empty, empty_in, fitting_best, fitting_formats, is_contiguous, strides
from .reshaping import why_copy
from .tensor import Tensor, carried_layout

if TYPE_CHECKING:
    from . import tracker
    from .track_report import LayoutReport, shown
    from .tracker import track_layout

__all__ = [
    "AxisOrder",
    "LayoutReport",
    "Tensor",
    "asformat",
    "axis_order",
    "carried_layout",
    "clone",
    "empty",
    "empty_in",
    "empty_like",
    "fitting_best",
    "fitting_formats",
    "is_contiguous",
    "memory_format",
    "shown",
    "strides",
    "track_layout",
    "tracker",
    "why_copy",
]

__getattr__, __dir__ = late(
    __name__, {"LayoutReport": "track_report", "shown": "track_report", "track_layout": "tracker", "tracker": "tracker"}
)
