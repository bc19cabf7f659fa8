"""Frames without end: a source, preprocessing, inference and your function, in threads whose memory is used again.

Imports buffers, engines, frames and support.
"""

from .leases import Result
from .pool import EnginePool
from .sources import Source, open_source
from .stages import Counts, StreamError
from .stream import Stream

__all__ = ["Counts", "EnginePool", "Result", "Source", "Stream", "StreamError", "open_source"]
