"""Explain a layout in numbers, as a picture and in the terminal.

Imports buffers, layouts and support.
"""

from .explanation import Explanation, explain
from .reads import CACHE_LINE
from .terminal import colour_depth

__all__ = ["CACHE_LINE", "Explanation", "colour_depth", "explain"]
