"""Check objects of yours against what the library expects of them.

Imports buffers, engines and support.
"""

from .engines import check_engine

__all__ = ["check_engine"]
