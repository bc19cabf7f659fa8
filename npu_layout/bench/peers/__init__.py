"""What other libraries do for the benchmark's cases, spelled as their users would, into memory that exists already.

Each module registers its functions in `PEERS` when it is imported. A function names the library that it needs where it
is registered, and imports it when it is called.
"""

from . import answers, conversions, frames, heads, instances, moves, pictures, planes, reductions, resizers, scripts
from .libraries import installed, restrict_to, use_threads
from .registry import PEERS, Call, library_of, peer_name

__all__ = [
    "PEERS",
    "Call",
    "answers",
    "conversions",
    "frames",
    "heads",
    "installed",
    "instances",
    "library_of",
    "moves",
    "peer_name",
    "pictures",
    "planes",
    "reductions",
    "resizers",
    "restrict_to",
    "scripts",
    "use_threads",
]
