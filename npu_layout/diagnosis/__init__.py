"""Why an output or an input differs from what was declared.

Imports comparison, recordings, frames, engines, buffers, layouts and support.
"""

from typing import TYPE_CHECKING

from ..support import late
from .identification import Hypothesis, Identification, identify

if TYPE_CHECKING:
    from . import causes
    from .case import LEAST, MARGIN, Case, Explanation, arithmetic, by_channel, ends
    from .input_check import InputReport, recorded_inputs
    from .input_variants import image_channels, variants
    from .verdicts import judge

__all__ = [
    "LEAST",
    "MARGIN",
    "Case",
    "Explanation",
    "Hypothesis",
    "Identification",
    "InputReport",
    "arithmetic",
    "by_channel",
    "causes",
    "ends",
    "identify",
    "image_channels",
    "judge",
    "recorded_inputs",
    "variants",
]

__getattr__, __dir__ = late(
    __name__,
    {
        "Case": "case",
        "Explanation": "case",
        "InputReport": "input_check",
        "LEAST": "case",
        "MARGIN": "case",
        "arithmetic": "case",
        "by_channel": "case",
        "causes": "causes",
        "ends": "case",
        "image_channels": "input_variants",
        "judge": "verdicts",
        "recorded_inputs": "input_check",
        "variants": "input_variants",
    },
)
