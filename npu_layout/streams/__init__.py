"""Frames without end: source, preprocessing, inference and your function, in threads, over memory that is used again.

Imports buffers, engines, frames and support.
"""

from .leases import Result
from .pool import EnginePool
from .sources import Source, open_source
from .stages import Counts, StreamError
from .stream import Stream

__all__ = ["Counts", "EnginePool", "Result", "Source", "Stream", "StreamError", "open_source"]
