"""Explain a layout in numbers, as a picture and in the terminal.

Imports buffers, frames, layouts and support.
"""

from .explaining import explain
from .explanation import Explanation
from .frame_memory import FrameExplanation
from .reads import CACHE_LINE
from .saving import picture_path
from .terminal import colour_depth

__all__ = ["CACHE_LINE", "Explanation", "FrameExplanation", "colour_depth", "explain", "picture_path"]
