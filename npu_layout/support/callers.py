"""Warn the program that called this library, whatever of the library is between."""

from __future__ import annotations

import sys
import warnings

_OURS = __name__.partition(".")[0]


def warn_caller(message: str) -> None:
    """Issue a UserWarning that names the line of the program, the first above that is not this library's."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
