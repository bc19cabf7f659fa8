"""The one door to the kernels: whoever moves elements asks here for a program and runs it.

``NPU_LAYOUT_KERNELS`` chooses: ``auto`` (the default: compiled where that was built), ``native`` (ImportError where it
was not) or ``numpy``. ``NPU_LAYOUT_DISABLE`` names instruction sets not to use, such as ``avx2``.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _numpy
from ._numpy import Program as Twin
from .box import Arithmetic, Box

__all__ = [
    "Arithmetic",
    "Box",
    "Twin",
    "active",
    "backends",
    "get_num_threads",
    "gray",
    "program",
    "set_num_threads",
]

_WANTED = os.environ.get("NPU_LAYOUT_KERNELS", "auto")
if _WANTED not in ("auto", "native", "numpy"):
    raise ImportError(f"NPU_LAYOUT_KERNELS={_WANTED!r}: expected auto, native or numpy")

_core: Any = None
if _WANTED != "numpy":
    try:
        from . import native as _core
    except ImportError as error:
        if _WANTED == "native":
            raise ImportError(
                "NPU_LAYOUT_KERNELS=native, but npu_layout was installed without its compiled kernels; install it "
                "again where a C compiler and Python's headers are (Debian and Ubuntu: apt install gcc python3-dev)"
            ) from error


_BACKENDS: dict[str, str | None] = {f"native ({level})": level for level in (_core.LEVELS if _core else ())}
_BACKENDS["numpy"] = None
_ACTIVE = next(iter(_BACKENDS))


def active() -> str:
    """The kernels in use: ``native (avx2)``, the instruction set in brackets, or ``numpy`` (with OpenCV)."""
    return _ACTIVE


def backends() -> list[str]:
    """Every kind of kernels that this machine can run, named as by `active`: the native ones, best first, and numpy."""
    return list(_BACKENDS)


def program(
    src_size: int,
    dst_size: int,
    fills: Sequence[Box],
    boxes: Sequence[Box],
    arithmetic: Arithmetic,
    backend: str | None = None,
) -> Twin:
    """What ``run(source, destination)`` does to two flat arrays of so many elements: zero the boxes `fills` of the
    destination, then move or convert `boxes`. Compiled where the core knows the dtypes, else the numpy twin;
    `backend`: another one than the active one."""
    level = _BACKENDS[backend or _ACTIVE]
    made = level and _core.program(src_size, dst_size, fills, boxes, arithmetic, level)
    return made or Twin(fills, boxes, arithmetic)


def gray(blue: np.ndarray, green: np.ndarray, red: np.ndarray, out: np.ndarray, backend: str | None = None) -> None:
    """Grayscale of three views of one shape and the same strides into `out`; see `_numpy.gray` for the rule."""
    level = _BACKENDS[backend or _ACTIVE]
    if level is None:
        _numpy.gray(blue, green, red, out)
    else:
        _core.gray(blue, green, red, out, level)


def get_num_threads() -> int:
    """Threads that one call of the compiled kernels may use; the numpy twin's are OpenCV's (cv2.setNumThreads)."""
    return 1 if _core is None else int(_core.get_threads())


def set_num_threads(n: int) -> None:
    """Let one call use up to `n` threads (64 at most); default: the cores this process may use, at most 4.

    One call at a time uses them; another one that runs meanwhile keeps to its own thread, as does what moves less than
    half a megabyte. They are started when first needed and sleep in between. Raises ValueError below 1.
    """
    count = operator.index(n)
    if count < 1:
        raise ValueError(f"threads: expected 1 or more, got {n}")
    if _core is not None:
        _core.set_threads(min(count, 64))


set_num_threads(min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))
