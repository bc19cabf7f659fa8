"""Recordings from elsewhere, and for elsewhere: FORMS, one table of forms, and load and save, which go by it.

Imports recordings, engines, buffers, layouts and support.
"""

from .forms import FORMS, Form, load, save

__all__ = ["FORMS", "Form", "load", "save"]
