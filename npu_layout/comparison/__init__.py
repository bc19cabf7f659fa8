"""Measure how far an output is from the model's: as a whole, by channel and by part.

Imports layouts, kernels and support.
"""

from .channels import channel_axis, listed
from .clamping import Clamped
from .figures import FLOAT16_MOST, MOST_DB, Figures, OutputComparison, decibels
from .labels import Confused, Rarer
from .parts import TELLING, OutputPart

__all__ = [
    "FLOAT16_MOST",
    "MOST_DB",
    "TELLING",
    "Clamped",
    "Confused",
    "Figures",
    "OutputComparison",
    "OutputPart",
    "Rarer",
    "channel_axis",
    "decibels",
    "listed",
]
