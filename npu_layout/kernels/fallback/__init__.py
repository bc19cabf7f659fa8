"""The kernels in numpy and OpenCV: slower twins of the compiled ones with the same bits, where those are not built."""

from . import gray, program, reduce

__all__ = ["gray", "program", "reduce"]
