"""The one door to the kernels: whoever moves elements calls these functions and asks nothing further.

``NPU_LAYOUT_KERNELS`` chooses: ``auto`` (the default), ``native`` (ImportError where no compiled core is) or
``numpy``.
"""

from __future__ import annotations

import os

from ._numpy import affine_copy, fill_zero, gray
from .box import Arithmetic, Box

__all__ = ["Arithmetic", "Box", "active", "affine_copy", "fill_zero", "gray"]

_ACTIVE = "numpy"
_WANTED = os.environ.get("NPU_LAYOUT_KERNELS", "auto")

if _WANTED not in ("auto", "native", "numpy"):
    raise ImportError(f"NPU_LAYOUT_KERNELS={_WANTED!r}: expected auto, native or numpy")
if _WANTED == "native":
    raise ImportError("NPU_LAYOUT_KERNELS=native, but this version of npu_layout has no compiled kernels yet")


def active() -> str:
    """The kernels in use: ``numpy`` (with OpenCV where it is faster)."""
    return _ACTIVE
