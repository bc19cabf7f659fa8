"""Whether a recording agrees with its model: outputs are paired, compared, diagnosed and reported.

Imports reports and every wing below.
"""

from typing import TYPE_CHECKING

from ..support import late
from .conductor import validate
from .tolerances import Tolerance

if TYPE_CHECKING:
    from .finding import find_recordings
    from .many import validate_many

__all__ = ["Tolerance", "find_recordings", "validate", "validate_many"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = late(__name__, {"find_recordings": "finding", "validate_many": "many"})
