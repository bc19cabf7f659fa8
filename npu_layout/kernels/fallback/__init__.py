"""The kernels in numpy and OpenCV, for machines where nothing was compiled: slower, with the same bits.

Only sigmoid and softmax differ in their last bits; `reduce` documents by how much.

Imports numpy and the records of `box` and `pictures`.
"""

from . import gray, limbs, pictures, program, reduce, sums, to_yuv

__all__ = ["gray", "limbs", "pictures", "program", "reduce", "sums", "to_yuv"]
