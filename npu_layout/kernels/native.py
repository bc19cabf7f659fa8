"""Run the compiled kernels: choose the instruction set, and pass programs, pictures and reductions to the core."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _native
from .box import Arithmetic, Box
from .caches import caches
from .description import describe
from .fallback.sums import BY_COLUMN, BY_ROW, TILE
from .pictures import NO_COLOR, SOURCES, Axis, Fit, PictureResize, YuvSamples

_DTYPES = _native.DTYPES
_GRAYS = {"B": 0, "H": 1, "f": 2}
_LOOPS = 16  # of one box, at most
_PEAKS = 1 << 14  # rows of a list of peaks at first, at most
_REFINEMENTS = (None, "parabola", "quarter")
_LAST_CACHES = (4 << 20, 64 << 20)  # the smallest and the largest size that is plausible


def _levels() -> list[str]:
    off = {name.strip() for name in os.environ.get("NPU_LAYOUT_DISABLE", "").split(",")}
    return [name for name, _ in reversed(_native.LEVELS) if name == "base" or name not in off]


class FastPath(NamedTuple):
    """A row of the core's table: one way to run the innermost loops of a box."""

    name: str
    kind: str  #: move, convert, gray or reduce
    applies: str  #: the loops that it can run
    steps: dict[str, int]  #: instruction set: bytes of the vector that one step works on; 0: element by element


def _fast_paths() -> list[FastPath]:
    rows: dict[str, FastPath] = {}
    for name, kind, applies, level, step in _native.FAST:
        if level in LEVELS:
            rows.setdefault(name, FastPath(name, kind, applies, {})).steps[level] = step
    return list(rows.values())


# Constants, because each call uses them, and what they depend on does not change while the process runs: the CPU, the
# compiled table, and NPU_LAYOUT_DISABLE, which is read once, as NPU_LAYOUT_KERNELS is. No file is read.
LEVELS = _levels()  # this machine's instruction sets, best first, without those turned off
LEVEL = LEVELS[0] if LEVELS else ""  # none: choice.py uses numpy
COMPILED = _native.COMPILED  # also those that this machine lacks: NPU_LAYOUT_LEVELS of setup.py
WIDE_GATHERS = "avx512vbmi" not in os.environ.get("NPU_LAYOUT_DISABLE", "")  # if the machine has AVX-512 VBMI
FAST_PATHS = _fast_paths()


def program(
    src_size: int,
    dst_size: int,
    fills: Sequence[Box],
    boxes: Sequence[Box],
    arithmetic: Arithmetic,
    level: str = LEVEL,
    alongside: int = 0,
) -> _native.Program | None:
    """Return the compiled program of a conversion, or None if the core has no loops for it."""
    if max((len(box.loops) for box in (*boxes, *fills)), default=0) > _LOOPS:
        return None
    description = None
    if not arithmetic.moves_only:
        description = describe(arithmetic)
        if description is None:
            return None
    src_item, dst_item = arithmetic.itemsizes
    src_bytes, dst_bytes = src_size * src_item, dst_size * dst_item
    return _native.Program(
        level, src_bytes, src_item, dst_bytes, dst_item, tuple(fills), tuple(boxes), description, alongside
    )


def usual(program: _native.Program, source: np.ndarray, destination: np.ndarray) -> Callable[[Any, Any], bool] | None:
    """Return `kernels.usual` of a compiled program, or None if arrays have more axes than the core supports."""
    if max(source.ndim, destination.ndim) > _LOOPS:
        return None
    return _native.Usual(program, source, destination).attempt


def picture_rows(resize: PictureResize, level: str = LEVEL, wide: bool = WIDE_GATHERS) -> _native.PictureRows:
    """Return the compiled counterpart of `fallback.pictures.PictureRows`; `wide`: it may use AVX-512 VBMI."""
    axes = tuple(
        (_axis(along, len(along.first)), _axis(down, len(down.first)), _means(along, down))
        for along, down in resize.axes
    )
    color = resize.color if resize.source is None else NO_COLOR
    given = resize.components, resize.size_wh, axes, resize.exact, color, resize.channels, resize.depth
    made = resize.source
    source = (0, 0, 0, 1, 1) if made is None else (1 + SOURCES.index(made.kind), *made.red_xy, *made.group)
    return _native.PictureRows(level, wide, *given, source, tuple(tile or (0, 0) for tile in resize.tiles))


def fit(
    fit: Fit,
    band: _native.Program | None,
    tail: _native.Program | None,
    item: int,
    level: str = LEVEL,
    wide: bool = WIDE_GATHERS,
) -> _native.Fit:
    """Return what writes pictures to buffers in one pass; `item`: bytes of an element of the buffer."""
    rows = picture_rows(fit.resize, level, wide)
    return _native.Fit(
        rows,
        (*fit.canvas_wh, *fit.left_top),
        fit.border,
        fit.flipped,
        fit.out_size * item,
        fit.rows,
        fit.pitch * item,
        band,
        tail,
    )


def run_fits(steps: tuple[Any, ...], out: np.ndarray, frame: Any) -> bool:
    """Run `kernels.run_fits`."""
    return _native.run_fits(steps, out, frame)


def _means(along: Axis, down: Axis) -> int:
    """Return 1 if both axes take means of two elements, 2 if both take those of boxes, else 0."""
    return 1 if along.mean and down.mean else 2 if along.box and down.box else 0


def _axis(axis: Axis, results: int) -> tuple[np.ndarray, np.ndarray | None, int, int, int, int]:
    weights = None if axis.weights is None else np.ascontiguousarray(axis.weights, np.uint16)
    return np.ascontiguousarray(axis.first, np.int32), weights, axis.size, results, axis.begin, axis.end


def gray(blue: np.ndarray, green: np.ndarray, red: np.ndarray, out: np.ndarray, level: str = LEVEL) -> FastPath:
    """Write the result of `fallback.gray.gray`, bit for bit, and return the path that was used."""
    return FAST_PATHS[_native.gray(level, _GRAYS[out.dtype.char], blue, green, red, out)]


def gray_of(views: Sequence[np.ndarray], image: np.ndarray, out: np.ndarray, level: str = LEVEL) -> _native.Gray:
    """Return what writes gray of the same views of other images; see `kernels.gray_of`."""
    blue, green, red, result = views
    return _native.Gray(level, _GRAYS[out.dtype.char], blue, green, red, result, image, out)


def argmax(
    x: np.ndarray, out: np.ndarray, channels: int | None, dtype: str | None, level: str = LEVEL
) -> FastPath | None:
    """Compute `kernels.argmax`, and return the path that was used.

    None if arrays do not fit, or have more axes than the core supports; then nothing was written.
    """
    return _path(_native.argmax(level, x, out, None, channels, dtype))


def top_k(
    x: np.ndarray,
    values: np.ndarray,
    numbers: np.ndarray,
    channels: int | None,
    dtype: str | None,
    level: str = LEVEL,
) -> FastPath | None:
    """Compute `kernels.top_k`, and return what `argmax` returns."""
    return _path(_native.top_k(level, x, values, numbers, channels, dtype))


def softmax(
    x: np.ndarray,
    out: np.ndarray,
    positions: int | None,
    channels: int | None,
    dtype: str | None,
    scale: float,
    zero_point: float,
    level: str = LEVEL,
) -> FastPath | None:
    """Compute `kernels.softmax`, with the same bits at every level, and return what `argmax` returns."""
    return _path(_native.softmax(level, x, out, positions, channels, dtype, zero_point, scale))


def sigmoid(
    x: np.ndarray,
    out: np.ndarray,
    dtype: str | None,
    scale: float,
    zero_point: float,
    level: str = LEVEL,
    in_place: bool = False,
    positions: int | None = None,
    channels: int | None = None,
) -> FastPath | None:
    """Compute `kernels.sigmoid`, with the same bits at every level, and return what `argmax` returns.

    `in_place`: `x` and `out` may share memory, because their elements are the same.
    """
    return _path(_native.sigmoid(level, x, out, positions, channels, dtype, zero_point, scale, in_place))


def _path(path: int) -> FastPath | None:
    return None if path < 0 else FAST_PATHS[path]


def peaks(
    x: np.ndarray,
    channels: int,
    dtype: str,
    least: int | None,
    threshold: float,
    radius: int,
    level: str = LEVEL,
) -> np.ndarray | None:
    """Return what `fallback.reduce.peaks` returns, or None if x has more axes than the core supports."""
    if x.ndim > 7:
        return None
    # No two peaks are neighbours.
    capacity = min(_PEAKS, x.shape[0] * channels * (x.shape[-2] + 1 >> 1) * (x.shape[-1] + 1 >> 1))
    while True:
        out = np.empty((capacity, 4), np.int64)
        count = _native.peaks(level, _DTYPES.index(dtype), x, out, channels, least or 0, threshold, radius)
        if count <= capacity:
            return out[:count] if 2 * count > capacity else out[:count].copy()
        capacity = count


def tops(x: np.ndarray, rows: np.ndarray, out: np.ndarray, refine: str | None) -> bool:
    """Compute `kernels.tops`, with the same bits; False if arrays do not fit, and nothing was written."""
    return refine in _REFINEMENTS and _native.tops(x, rows, out, _REFINEMENTS.index(refine))


def sums(
    device: np.ndarray, model: np.ndarray, before: np.ndarray | None, level: str = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `kernels.sums` returns, of arrays of float32 or float64."""
    count, rows, columns = model.shape
    by_row = np.empty((max(-(-columns // TILE), 1), len(BY_ROW), rows))
    by_column = np.empty((len(BY_COLUMN), count, columns))
    _native.sums(level, device, model, before, by_row, by_column)
    return by_row[0], by_column


def to_yuv(pixels: np.ndarray, out: np.ndarray, samples: Sequence[YuvSamples], level: str = LEVEL) -> None:
    """Write what `kernels.to_yuv` does."""
    _native.to_yuv(level, pixels, out, tuple((*one[:5], *one.weights, one.add) for one in samples))


set_threads, get_threads = _native.set_threads, _native.get_threads


def ask_for_the_last_cache() -> None:
    """Set the size of the core's last cache to that of this machine's third level, if it is known; else it is 32 MB."""
    least, most = _LAST_CACHES
    found = caches()
    if found.known and 3 in found.sizes:
        _native.set_last_cache(min(max(found.last, least), most))


def ask_how_to_store() -> None:
    """Set what stores past the caches cost on this machine: of parts of lines, and of results that L2 cannot contain.

    Measured on a Xeon of the fifth generation: parts of lines take up to 60 times as long as whole ones, and the third
    level, which contains what L2 drops, is no faster for results than memory. Assumed of Intel's others: of all that
    parts of lines are slow, and of those with AVX-512 that the third level is.
    """
    of_intel, early = _native.of_intel(), 0
    if of_intel and "avx512" in _levels() and (found := caches()).known:
        early = found.sizes[2] * 9 // 8
    _native.set_stores(of_intel, early)
