"""The command line, a file for each verb.

Imports every wing.
"""

from .command import main

__all__ = ["main"]
