"""Other tools' files: load recordings from them, save them as such files, and compare two tools' dumps of layers.

`load` and `save` by the table FORMS; `compare_layers`.

Imports recordings, engines, comparison, buffers, layouts and support.
"""

from .forms import FORMS, Form, load, save
from .layer_comparison import compare_layers
from .layer_records import ComparedLayer, LayerComparison

__all__ = ["FORMS", "ComparedLayer", "Form", "LayerComparison", "compare_layers", "load", "save"]
