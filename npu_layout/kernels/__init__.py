"""The one door to the kernels: whoever moves elements asks here for a program and runs it.

``NPU_LAYOUT_KERNELS`` chooses: ``auto`` (the default: compiled where that was built), ``native`` (ImportError where it
was not) or ``numpy``. ``NPU_LAYOUT_DISABLE`` names instruction sets not to use, such as ``avx2``. Every function takes
`backend`, a name of `backends`, to use another kind than the active one.

Imports numpy, and nothing of this library: loops know no layouts.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import fallback
from .box import Arithmetic as Arithmetic
from .box import Box as Box
from .fallback.checks import (
    checked_argmax,
    checked_peaks,
    checked_sigmoid,
    checked_softmax,
    checked_top_k,
    checked_tops,
)

__all__ = [
    "active",
    "argmax",
    "backends",
    "get_num_threads",
    "peaks",
    "set_num_threads",
    "sigmoid",
    "softmax",
    "top_k",
    "tops",
]

Twin = fallback.program.Program

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
                "again, with pip's --no-cache-dir, where a C compiler and Python's headers are (Debian and Ubuntu: "
                "apt install gcc python3-dev)"
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
    destination, then move or convert `boxes`; ValueError where the arrays overlap. Compiled where the core knows the
    dtypes, else the numpy twin; `backend`: another one than the active one."""
    level = _BACKENDS[backend or _ACTIVE]
    made = level and _core.program(src_size, dst_size, fills, boxes, arithmetic, level)
    return made or Twin(dst_size, fills, boxes, arithmetic)


def gray(blue: np.ndarray, green: np.ndarray, red: np.ndarray, out: np.ndarray, backend: str | None = None) -> None:
    """Grayscale of three views of one shape and the same strides into `out`; see `fallback.gray.gray` for the rule."""
    level = _BACKENDS[backend or _ACTIVE]
    if level is None:
        fallback.gray.gray(blue, green, red, out)
    else:
        _core.gray(blue, green, red, out, level)


def argmax(
    x: np.ndarray, out: np.ndarray, channels: int | None = None, dtype: str | None = None, backend: str | None = None
) -> None:
    """The first channel that holds the largest value, as numpy.argmax (NaN is the largest), into `out`, int64.

    `x`: axes of positions, then of the channel, a view with any strides; `out`: the positions, any strides, apart from
    `x`. More axes than one behind the positions are the channel's digits, outermost first, as (C1, 16) of NCHW16c;
    `channels`: how many are real. int8, uint8, int16, uint16, int32, float16, float32, or ``dtype="bfloat16"`` in
    uint16. ValueError on what does not fit.
    """
    level = _BACKENDS[backend or _ACTIVE]
    if level is None or not _core.argmax(x, out, channels, dtype, level):
        fallback.reduce.argmax(x, out, *checked_argmax(x, out, channels, dtype))


def top_k(
    x: np.ndarray,
    values: np.ndarray,
    numbers: np.ndarray,
    channels: int | None = None,
    dtype: str | None = None,
    backend: str | None = None,
) -> None:
    """The k largest channels of each position, the largest first, of equal ones the lower channel: what they hold into
    `values`, which they are into `numbers`, int64. NaN is the largest of all, -0 equals 0.

    `x`, `channels` and dtypes as for `argmax`; `values`: of the dtype of `x`, and `numbers`: both (*positions, k) for k
    from 1 to the number of channels, any strides, apart from `x` and each other. ValueError on what does not fit.
    """
    level = _BACKENDS[backend or _ACTIVE]
    if level is None or not _core.top_k(x, values, numbers, channels, dtype, level):
        fallback.reduce.top_k(x, values, numbers, *checked_top_k(x, values, numbers, channels, dtype))


def softmax(
    x: np.ndarray,
    out: np.ndarray,
    positions: int | None = None,
    channels: int | None = None,
    dtype: str | None = None,
    scale: float = 1.0,
    zero_point: float = 0.0,
    backend: str | None = None,
) -> None:
    """Softmax over the channel of ``(x - zero_point) * scale``, into `out`, float32; see `fallback.reduce.softmax`.

    `x` and dtypes as for `argmax`; `out`: the same positions and channels, their axes in the same order, apart from
    `x`. `positions`: how many axes these are; default: all but the last. Both may have their channel in digits of
    their own: with `channels` given, only their room has to do. Lanes beyond are neither read nor written. float32
    takes no scale. ValueError on what does not fit.
    """
    level = _BACKENDS[backend or _ACTIVE]
    if level is None or not _core.softmax(x, out, positions, channels, dtype, scale, zero_point, level):
        known = checked_softmax(x, out, positions, channels, dtype, scale, zero_point)
        fallback.reduce.softmax(x, out, *known, scale, zero_point)


def sigmoid(
    x: np.ndarray,
    out: np.ndarray,
    dtype: str | None = None,
    scale: float = 1.0,
    zero_point: float = 0.0,
    backend: str | None = None,
) -> None:
    """1 / (1 + e**-v) of ``v = (x - zero_point) * scale``, into `out`, float32; see `fallback.reduce.sigmoid`.

    `x` and dtypes as for `argmax`, without a channel; `out`: the same shape, any strides, apart from `x` or `x` itself.
    float32 takes no scale. ValueError on what does not fit.
    """
    level = _BACKENDS[backend or _ACTIVE]
    if level is None or not _core.sigmoid(x, out, dtype, scale, zero_point, level):
        name = checked_sigmoid(x, out, dtype, scale, zero_point)
        if level is None or not _core.sigmoid(x, out, dtype, scale, zero_point, level, in_place=True):
            fallback.reduce.sigmoid(x, out, name, scale, zero_point)


def peaks(
    x: np.ndarray,
    threshold: float,
    radius: int = 1,
    channels: int | None = None,
    dtype: str | None = None,
    backend: str | None = None,
) -> np.ndarray:
    """Local maxima above `threshold` (in stored units) of each plane of `x`: (count, 4) int64, rows (n, c, y, x) in
    ascending order; see `fallback.reduce.peaks` for the rule.

    `x`: (N, C, H, W), a view with any strides, dtypes as for `argmax`; more axes than one between N and H are the
    channel's digits. The window has 2 radius + 1 points on a side. ValueError on what does not fit.
    """
    count, name, least, above, reach = checked_peaks(x, threshold, radius, channels, dtype)
    if not count or not x.size:
        return np.empty((0, 4), np.int64)
    level = _BACKENDS[backend or _ACTIVE]
    found = None if level is None else _core.peaks(x, count, name, least, above, reach, level)
    return fallback.reduce.peaks(x, count, name, least, above, reach) if found is None else found


def tops(
    x: np.ndarray, rows: np.ndarray, out: np.ndarray, refine: str | None = "parabola", backend: str | None = None
) -> None:
    """Where peaks are between pixels: of `x` (N, C, H, W), any strides, and `rows` of n, c, y, x, as `peaks` gives
    them, to float64 `out` (count, 5): n, c, x, y, value; see `fallback.reduce.tops`. refine: "parabola", "quarter" or
    None. ValueError on what does not fit."""
    native = _BACKENDS[backend or _ACTIVE] is not None
    if not native or not _core.tops(x, rows, out, refine):
        checked_tops(x, rows, out, refine)
        fallback.reduce.tops(x, rows, out, refine)


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
