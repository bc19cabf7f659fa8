"""Move, convert and reduce the elements of arrays, by compiled kernels or by numpy and OpenCV.

``NPU_LAYOUT_KERNELS`` chooses: ``auto`` (the default: compiled kernels if they were built), ``native`` (ImportError if
they were not) or ``numpy``. ``NPU_LAYOUT_DISABLE`` names instruction sets not to use, such as ``avx2``. Every function
accepts `backend`, a name of `backends`, to use other kernels than the active ones.

Imports numpy, and nothing of this library: kernels work on loops, not on layouts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import fallback
from .bfloat16 import round_to_bfloat16 as round_to_bfloat16
from .bfloat16 import widen_bfloat16 as widen_bfloat16
from .box import Affine as Affine
from .box import Arithmetic as Arithmetic
from .box import Box as Box
from .detecting import Anchor as Anchor
from .detecting import AnchorPart as AnchorPart
from .detecting import Detection as Detection
from .detecting import FeatureMap as FeatureMap
from .detecting import Grid as Grid
from .detecting import Points as Points
from .detecting import codes as codes
from .detecting import least_code as least_code
from .detecting import least_float as least_float
from .fallback.checks import (
    check_types,
    checked_argmax,
    checked_peaks,
    checked_sigmoid,
    checked_softmax,
    checked_top_k,
    checked_tops,
    whole,
)
from .pictures import Axis as Axis
from .pictures import Color as Color
from .pictures import Fit as Fit
from .pictures import PictureResize as PictureResize
from .pictures import RowSource as RowSource
from .pictures import Samples as Samples
from .pictures import area_axis as area_axis
from .pictures import linear_axis as linear_axis
from .pictures import nearest_axis as nearest_axis
from .pictures import nearest_floor_axis as nearest_floor_axis
from .pictures import shared_linear_axis as shared_linear_axis
from .pictures import shared_nearest_axis as shared_nearest_axis
from .pictures import shared_nearest_floor_axis as shared_nearest_floor_axis

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

SIDE = 1 << 16  #: pixels of a side, at most, that the compiled resizes have
FallbackProgram = fallback.program.Program


def _wanted() -> str:
    wanted = os.environ.get("NPU_LAYOUT_KERNELS", "auto")
    if wanted not in ("auto", "native", "numpy"):
        raise ImportError(f"NPU_LAYOUT_KERNELS={wanted!r}: expected auto, native or numpy")
    return wanted


def _prepare(core: Any) -> None:
    """Set what the core needs of this machine: the size of its last cache, and the default number of threads."""
    core.ask_for_the_last_cache()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    core.set_threads(min(4, cores))


# Chosen at import, once for the process, so that a wrong choice fails here. This is an import statement because Python
# calls functions of an imported name faster than those of an assigned one (30 ns).
_core: Any = None
if _wanted() != "numpy":
    try:
        from . import native as _core
    except ImportError as error:
        if _wanted() == "native":
            raise ImportError(
                "NPU_LAYOUT_KERNELS=native, but npu_layout was installed without its compiled kernels; install it "
                "again, with pip's --no-cache-dir, once there are a C compiler and Python's headers (Debian, Ubuntu: "
                "apt install gcc python3-dev)"
            ) from error
    else:
        _prepare(_core)

_BACKENDS: dict[str, str | None] = {f"native ({level})": level for level in (_core.LEVELS if _core else ())}
_BACKENDS["numpy"] = None
_ACTIVE = next(iter(_BACKENDS))

# What numpy and the compiled core raise on arguments of another type; `check_types` then finds out which one it is.
_TYPES = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


def active() -> str:
    """Return which kernels are in use: ``native (avx2)``, with the instruction set, or ``numpy`` (with OpenCV)."""
    return _ACTIVE


def backends() -> list[str]:
    """Return all kernels that this machine can run, named as by `active`: the native ones, best first, and numpy."""
    return list(_BACKENDS)


def program(
    src_size: int,
    dst_size: int,
    fills: Sequence[Box],
    boxes: Sequence[Box],
    arithmetic: Arithmetic,
    backend: str | None = None,
    alongside: int = 0,
) -> FallbackProgram:
    """Return a program whose ``run(source, destination)`` works on two flat arrays of the sizes given, in elements.

    It zeroes the boxes `fills` of the destination, then moves or converts `boxes`; ValueError if the arrays overlap. It
    is compiled if the core supports the dtypes, else the fallback. `backend`: one to use in place of the active one.
    `alongside`: bytes of results of other programs that are read together with this one's, which decide whether the
    caches can contain it.
    """
    level = _BACKENDS[backend or _ACTIVE]
    made = level and _core.program(src_size, dst_size, fills, boxes, arithmetic, level, alongside)
    return made or FallbackProgram(dst_size, fills, boxes, arithmetic)


def picture_rows(resize: PictureResize, backend: str | None = None) -> fallback.pictures.PictureRows:
    """Return what resizes pictures: ``write(planes, out)``, with the bits of `fallback.pictures.PictureRows`."""
    level = _BACKENDS[backend or _ACTIVE]
    return fallback.pictures.PictureRows(resize) if level is None else _core.picture_rows(resize, level)


def fit(made: Fit, band: Any, tail: Any, dtype: str, backend: str | None = None) -> Any:
    """Return what writes pictures to buffers in one pass: ``run(out, offset, *planes)``; None if it is not compiled.

    band, tail: programs, made by `program` for the same backend, that convert a canvas of `made.rows` rows, and of the
    rows behind the last such band; None: rows of the canvas are results. dtype: of the buffer.
    """
    level = _BACKENDS[backend or _ACTIVE]
    if level is None or any(isinstance(p, FallbackProgram) for p in (band, tail)):
        return None
    return _core.fit(made, band, tail, Arithmetic("uint8", dtype).itemsizes[1], level)


def detector(made: Detection, backend: str | None = None) -> Any:
    """Return the compiled detector: ``run(buffers, thresholds, ...)``; None if there is none for the backend."""
    level = _BACKENDS[backend or _ACTIVE]
    return None if level is None else _core.detector(made, level)


def nms(
    boxes: np.ndarray,
    scores: np.ndarray,
    class_id: np.ndarray | None,
    classes: int,
    rule: tuple[float, bool, float, float],
    limit: int,
    backend: str | None = None,
) -> np.ndarray | None:
    """Return the indices of boxes that stay, best first; None if it is not compiled for the backend.

    boxes, scores: float32 (n, 4), (n,); class_id: int64 (n,), from 0 to `classes` - 1, or None; rule: the threshold of
    the IoU, whether it is inclusive, what is added to sides and to unions.
    """
    level = _BACKENDS[backend or _ACTIVE]
    return None if level is None else _core.nms(boxes, scores, class_id, classes, rule, limit, level)


def turned_nms(
    shapes: np.ndarray, class_id: np.ndarray | None, iou: float, inclusive: bool, limit: int, backend: str | None = None
) -> np.ndarray | None:
    """Return the rows of Gaussians, in the order of their scores, that stay; None: not compiled for the backend.

    shapes: float64 (n, 5), x, y and the covariance a, b, c; class_id: (n,) or None. For the rule see decode/turned.py.
    """
    known = _BACKENDS[backend or _ACTIVE] is not None
    return _core.turned_nms(shapes, class_id, iou, inclusive, limit) if known else None


def scan(made: FeatureMap, data: np.ndarray, least: int, backend: str | None = None) -> np.ndarray | None:
    """Return the elements whose codes are `least` or more: int32 (count, 3), the cell, the channel, the code.

    made: where they are in `data`, C-contiguous; int8, uint8, int16, uint16, float16, bfloat16 or float32. Codes are
    integers that sort as values do, see `codes` and `least_float`; every NaN is the largest. In the order of cells.
    None: not compiled for the backend. ValueError if an element is outside the buffer.
    """
    level = _BACKENDS[backend or _ACTIVE]
    return None if level is None else _core.scan(made, data, least, level)


def masks(
    made: FeatureMap,
    data: np.ndarray,
    zero: int,
    coefficients: np.ndarray,
    windows: np.ndarray,
    factor: int,
    out: np.ndarray,
    backend: str | None = None,
) -> bool:
    """Write masks of instances, bytes 0 or 1, one after the other; False if they are not compiled for the backend.

    made, data, zero: prototypes, int8 or uint8, where they are stored, and the code that means 0; coefficients: int16
    (n, channels), without their zero point; windows: int32 (n, 4), left, top, right, bottom in pixels of the
    prototypes enlarged `factor` times; out: uint8, as long as the windows have pixels. A pixel is 1 if the sum is above
    0. False too if a sum could overflow.
    """
    level = _BACKENDS[backend or _ACTIVE]
    if level is None or made.dtype not in ("int8", "uint8"):
        return False
    return bool(_core.masks(made, data, zero, coefficients, windows, factor, out, level))


def limbs(
    fields: np.ndarray,
    number: int,
    first: np.ndarray,
    second: np.ndarray,
    samples: int,
    enough: int,
    least: float,
    backend: str | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Match joints of two kinds by the field along the lines between them: each once, the best aligned first.

    fields: float32 (C, H, W), C-contiguous; planes `number` and the next have x and y. first, second: float64 (n, 3)
    and (m, 3), C-contiguous, of x, y in cells and the score. A limb's score is the mean of the field's part along it,
    at `samples` points, times the root of its joints' scores; at least `enough` points must be above `least`. Returns
    int64 (k, 2), places in first and second, and float64 (k,), scores above 0.
    """
    if _BACKENDS[backend or _ACTIVE] is None:
        return fallback.limbs.limbs(fields[number], fields[number + 1], first, second, samples, enough, least)
    found: tuple[np.ndarray, np.ndarray] = _core.limbs(fields, number, first, second, samples, enough, least)
    return found


def gray(blue: np.ndarray, green: np.ndarray, red: np.ndarray, out: np.ndarray, backend: str | None = None) -> None:
    """Write grayscale of three views of one shape and one set of strides to `out`; see `fallback.gray.gray`."""
    level = _BACKENDS[backend or _ACTIVE]
    if level is None:
        fallback.gray.gray(blue, green, red, out)
    else:
        _core.gray(blue, green, red, out, level)


def argmax(
    x: np.ndarray, out: np.ndarray, channels: int | None = None, dtype: str | None = None, backend: str | None = None
) -> None:
    """Write the first channel with the largest value, as numpy.argmax (NaN is the largest), to `out`, int64.

    `x`: axes of positions, then of the channel, a view with any strides; `out`: the positions, any strides; it must not
    overlap `x`. Several axes behind the positions are the channel's digits, outermost first, as (C1, 16) of NCHW16c;
    `channels`: how many of them are not padding. int8, uint8, int16, uint16, int32, float16, float32, or
    ``dtype="bfloat16"`` in uint16. ValueError on what does not fit.
    """
    try:
        level = _BACKENDS[backend or _ACTIVE]
        if level is None or not _core.argmax(x, out, channels, dtype, level):
            fallback.reduce.argmax(x, out, *checked_argmax(x, out, channels, dtype))
    except _TYPES:
        check_types(_BACKENDS, backend, arrays={"x": x, "out": out}, counts={"channels": channels}, dtype=dtype)
        raise


def top_k(
    x: np.ndarray,
    values: np.ndarray,
    numbers: np.ndarray,
    channels: int | None = None,
    dtype: str | None = None,
    backend: str | None = None,
) -> None:
    """Write the k largest channels of each position, the largest first; of equal ones the lower channel comes first.

    Their values go to `values`, their channels to `numbers`, int64. NaN is the largest of all, -0 equals 0.

    `x`, `channels` and dtypes as for `argmax`; `values`: of the dtype of `x`, and `numbers`: both (*positions, k) for k
    from 1 to the number of channels, any strides; the three must not overlap. ValueError on what does not fit.
    """
    try:
        level = _BACKENDS[backend or _ACTIVE]
        if level is None or not _core.top_k(x, values, numbers, channels, dtype, level):
            fallback.reduce.top_k(x, values, numbers, *checked_top_k(x, values, numbers, channels, dtype))
    except _TYPES:
        arrays = {"x": x, "values": values, "numbers": numbers}
        check_types(_BACKENDS, backend, arrays, counts={"channels": channels}, dtype=dtype)
        raise


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
    """Write softmax over the channel of ``(x - zero_point) * scale`` to `out`, float32; see `fallback.reduce.softmax`.

    `x` and dtypes as for `argmax`; `out`: the same positions and channels, their axes in the same order; it must
    not overlap `x`. `positions`: the number of axes of positions; default: all but the last. Both may have their own
    digits of the channel: if `channels` is given, each only needs to have as many elements. Lanes beyond are neither
    read nor written. float32 accepts no scale. ValueError on what does not fit.
    """
    try:
        level = _BACKENDS[backend or _ACTIVE]
        if level is None or not _core.softmax(x, out, positions, channels, dtype, scale, zero_point, level):
            known = checked_softmax(x, out, positions, channels, dtype, scale, zero_point)
            fallback.reduce.softmax(x, out, *known, scale, zero_point)
    except _TYPES:
        counts, real = {"positions": positions, "channels": channels}, {"scale": scale, "zero_point": zero_point}
        check_types(_BACKENDS, backend, {"x": x, "out": out}, counts, real, dtype)
        raise


def sigmoid(
    x: np.ndarray,
    out: np.ndarray,
    dtype: str | None = None,
    scale: float = 1.0,
    zero_point: float = 0.0,
    backend: str | None = None,
) -> None:
    """Write 1 / (1 + e**-v) of ``v = (x - zero_point) * scale`` to `out`, float32; see `fallback.reduce.sigmoid`.

    `x` and dtypes as for `argmax`, without a channel; `out`: the same shape, any strides, `x` itself or an array that
    does not overlap it. float32 accepts no scale. ValueError on what does not fit.
    """
    try:
        level = _BACKENDS[backend or _ACTIVE]
        if level is None or not _core.sigmoid(x, out, dtype, scale, zero_point, level):
            name = checked_sigmoid(x, out, dtype, scale, zero_point)
            if level is None or not _core.sigmoid(x, out, dtype, scale, zero_point, level, in_place=True):
                fallback.reduce.sigmoid(x, out, name, scale, zero_point)
    except _TYPES:
        real = {"scale": scale, "zero_point": zero_point}
        check_types(_BACKENDS, backend, {"x": x, "out": out}, real=real, dtype=dtype)
        raise


def peaks(
    x: np.ndarray,
    threshold: float,
    radius: int = 1,
    channels: int | None = None,
    dtype: str | None = None,
    backend: str | None = None,
) -> np.ndarray:
    """Return the local maxima above `threshold` of each plane of `x`, by the rule of `fallback.reduce.peaks`.

    The result is a new int64 array (count, 4) of rows (n, c, y, x) in ascending order.

    `x`: (N, C, H, W), a view with any strides, dtypes as for `argmax`; several axes between N and H are the channel's
    digits. `threshold` is in stored units. The window has 2 radius + 1 points on a side. ValueError on what does not
    fit.
    """
    try:
        count, name, least, above, reach = checked_peaks(x, threshold, radius, channels, dtype)
        level = _BACKENDS[backend or _ACTIVE]
        if not count or not x.size:
            return np.empty((0, 4), np.int64)
        found = None if level is None else _core.peaks(x, count, name, least, above, reach, level)
        return fallback.reduce.peaks(x, count, name, least, above, reach) if found is None else found
    except _TYPES:
        check_types(_BACKENDS, backend, {"x": x}, {"channels": channels}, {"threshold": threshold}, dtype)
        raise


def tops(
    x: np.ndarray, rows: np.ndarray, out: np.ndarray, refine: str | None = "parabola", backend: str | None = None
) -> None:
    """Write the positions of peaks, refined between pixels, to `out`, float64 (count, 5): n, c, x, y, value.

    `x`: (N, C, H, W), any strides; `rows` of n, c, y, x, as `peaks` returns them; refine: "parabola", "quarter" or
    None, see `fallback.reduce.tops`. ValueError on what does not fit.
    """
    try:
        if _BACKENDS[backend or _ACTIVE] is None or not _core.tops(x, rows, out, refine):
            checked_tops(x, rows, out, refine)
            fallback.reduce.tops(x, rows, out, refine)
    except _TYPES:
        check_types(_BACKENDS, backend, {"x": x, "rows": rows, "out": out})
        checked_tops(x, rows, out, refine)
        raise


def get_num_threads() -> int:
    """Return how many threads one call of the compiled kernels may use; the fallback uses cv2.setNumThreads."""
    return 1 if _core is None else int(_core.get_threads())


def set_num_threads(n: int) -> None:
    """Let one call use up to `n` threads (64 at most); default: the cores this process may use, at most 4.

    One call at a time uses them. A call that runs meanwhile uses its own thread only, and so does one that moves less
    than half a megabyte. Threads start when they are first needed and sleep in between. Raises ValueError below 1, and
    on what is no whole number (then it is a TypeError too).
    """
    if (count := whole("n", n)) < 1:
        raise ValueError(f"threads: n: expected 1 or more, got {n}")
    if _core is not None:
        _core.set_threads(min(count, 64))
