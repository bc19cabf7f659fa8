"""Whether a recording agrees with its model: outputs are paired, compared, diagnosed and reported.

Imports reports and every wing below.
"""

from .conductor import validate
from .finding import find_recordings
from .many import validate_many
from .tolerances import Tolerance

__all__ = ["Tolerance", "find_recordings", "validate", "validate_many"]
