"""Load recordings from the files of other tools, and save them as such files: `load`, `save` and the table FORMS.

Imports recordings, engines, buffers, layouts and support.
"""

from .forms import FORMS, Form, load, save

__all__ = ["FORMS", "Form", "load", "save"]
