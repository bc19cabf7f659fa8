"""The library's version, which setup.cfg reads too."""

__version__ = "0.1.0"
