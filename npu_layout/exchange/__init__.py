"""Other tools' files: load recordings from them, save them as such files, and compare two tools' dumps of layers.

`load` and `save` by the table FORMS; `compare_layers`; `CalibrationSet` by the table TOOLCHAINS.

Imports recordings, engines, comparison, frames, buffers, layouts and support.
"""

from .calibration_sets import CalibrationReader, CalibrationSet
from .forms import FORMS, Form, load, save
from .layer_comparison import compare_layers
from .layer_records import ComparedLayer, LayerComparison
from .toolchains import TOOLCHAINS, Toolchain

__all__ = [
    "FORMS",
    "TOOLCHAINS",
    "CalibrationReader",
    "CalibrationSet",
    "ComparedLayer",
    "Form",
    "LayerComparison",
    "Toolchain",
    "compare_layers",
    "load",
    "save",
]
