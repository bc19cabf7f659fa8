"""The plain twin of moves and conversions: numpy, and OpenCV where that moves memory faster."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .box import Arithmetic, Box, limits

Loops = tuple[tuple[int, int, int, int], ...]

_FEW = 8  # elements of a loop that is better the outermost one
_EXACT = 1 << 22  # integers of which float32 adds two without rounding
_TABLE = 1 << 13  # bytes from which on a table of all results pays
_CHUNK = 1 << 19  # elements that are converted at a time: numpy's calls cost more than caches save
_WORTH_CV2 = 1 << 12  # bytes below which a call of OpenCV costs more than it saves
_CV2_TYPES = {1: ("u1", 1), 2: ("u2", 1), 4: ("f4", 1), 8: ("f8", 1), 16: ("f8", 2)}


def _view(flat: np.ndarray, dtype: Any, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    size = flat.itemsize
    return np.ndarray(shape, dtype, flat, start * size, tuple(s * size for s in strides))


class Program:
    """The twin of a compiled program: the same boxes, by numpy and OpenCV."""

    def __init__(self, fills: Sequence[Box], boxes: Sequence[Box], arithmetic: Arithmetic) -> None:
        self._fills, self._boxes, self._arithmetic = fills, boxes, arithmetic

    def run(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Move `src` (1-D) into `dst` (1-D, apart from it)."""
        for box in self._fills:
            fill_zero(dst, box)
        for box in self._boxes:
            affine_copy(src, dst, box, self._arithmetic)


def fill_zero(dst: np.ndarray, box: Box) -> None:
    """Set the elements of a box of `dst` (1-D) to zero."""
    kind = np.dtype(_kind(dst.itemsize))
    zero = np.zeros((), kind)
    _view(dst.view(kind), kind, box.dst, tuple(k[0] for k in box.loops), tuple(k[2] for k in box.loops))[...] = zero


def affine_copy(src: np.ndarray, dst: np.ndarray, box: Box, arithmetic: Arithmetic) -> None:
    """Move one box of `src` (1-D) into `dst` (1-D, apart from it), converting as `arithmetic` says."""
    if arithmetic.moves_only:
        _move(src, dst, box)
        return
    loops = box.loops or ((1, 1, 1, 0),)
    narrows = dst.itemsize < src.itemsize  # convert in the order of the source, and move the smaller elements
    if narrows:
        loops = tuple(sorted(loops, key=lambda k: -abs(k[1])))
    if len(loops) > 1 and loops[-1][0] <= _FEW and (loops[-1][3] or (not narrows and loops[-2][2] != loops[-1][0])):
        loops = (loops[-1], *loops[:-1])  # numpy's innermost loop is better long
    for part in _chunks(loops, box.src, box.dst, box.param):
        extents, steps = tuple(k[0] for k in part.loops), _dense(part.loops)
        count = math.prod(extents)
        if all(k[1] == step for k, step in zip(part.loops, steps)):
            x = src[part.src : part.src + count]
        elif narrows:
            x = _view(src, src.dtype, part.src, extents, tuple(k[1] for k in part.loops))
        else:
            x = np.empty(count, src.dtype)
            _move(src, x, _walk(((n, s, step) for (n, s, _, _), step in zip(part.loops, steps)), part.src, 0))
        target = _view(dst, dst.dtype, part.dst, extents, tuple(k[2] for k in part.loops))
        turns = narrows and not target.flags.c_contiguous
        y = np.empty(extents, dst.dtype) if turns else target
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            _convert(x.reshape(extents), y, part, arithmetic)
        if turns:
            _move(
                y.reshape(-1), dst, _walk(((n, step, d) for (n, _, d, _), step in zip(part.loops, steps)), 0, part.dst)
            )


def _dense(loops: Loops) -> list[int]:
    """The steps of nested loops through an array without gaps."""
    steps = [1]
    for n, *_ in loops[:0:-1]:
        steps.append(steps[-1] * n)
    return steps[::-1]


def _walk(loops: Iterable[tuple[int, int, int]], src: int, dst: int) -> Box:
    """The box of loops in any order."""
    return Box(tuple((*k, 0) for k in sorted(loops, key=lambda k: -abs(k[2]))), src, dst, 0)


def _chunks(loops: Loops, src: int, dst: int, param: int) -> Iterator[Box]:
    """Pieces of at most _CHUNK elements, cut where the source is furthest apart, so that each reads whole lines."""
    total = math.prod(k[0] for k in loops)
    if total <= _CHUNK:
        yield Box(loops, src, dst, param)
        return
    cut = max(range(len(loops)), key=lambda i: abs(loops[i][1]))
    n, s, d, p = loops[cut]
    step = max(1, _CHUNK * n // total)
    for i in range(0, n, step):
        piece = (*loops[:cut], (min(step, n - i), s, d, p), *loops[cut + 1 :])
        if step == 1:
            piece = loops[:cut] + loops[cut + 1 :]
        yield from _chunks(piece, src + i * s, dst + i * d, param + i * p)


def _convert(x: np.ndarray, dst: np.ndarray, part: Box, a: Arithmetic) -> None:
    strides = tuple(k[3] for k in part.loops)
    if not any(strides) and dst.flags.c_contiguous:
        x, dst = x.reshape(-1), dst.reshape(-1)

    if not any(strides) and x.itemsize == dst.itemsize == 1 and x.size > _TABLE and dst.flags.c_contiguous:
        _look_up(x, dst, part, a)
        return

    def parameter(values: np.ndarray) -> np.ndarray:
        """As many axes as x has, of extent 1 where it is the same."""
        extents = tuple(n if step else 1 for n, step in zip(x.shape, strides))
        return _view(values, values.dtype, part.param, extents, strides[: x.ndim])

    if a.src_dtype == "bfloat16":
        x = (x.astype(np.uint32) << 16).view(np.float32)
    steps = [
        (f, p) for f, p in ((np.subtract, a.shift), (np.multiply, a.scale), (np.divide, a.divisor)) if p is not None
    ]
    if not steps and a.zero_point is None:
        _write(_to_bfloat16(x.astype(np.float32)) if a.dst_dtype == "bfloat16" else x, dst)
        return
    whole = a.dst_dtype == "float32" and dst.flags.c_contiguous
    y = dst if whole else np.empty(x.shape, np.float32)
    if x.dtype != np.float32:
        y[...] = x
        x = y
    for function, values in steps:
        function(x, parameter(values), out=y)
        x = y
    if a.zero_point is not None:
        if not steps:
            y[...] = x
        _saturate(y, dst, parameter(a.zero_point), a)
    elif not whole:
        _write(_to_bfloat16(y) if a.dst_dtype == "bfloat16" else y, dst)


def _look_up(x: np.ndarray, dst: np.ndarray, part: Box, a: Arithmetic) -> None:
    """Bytes to bytes by the result for each of 256."""
    import cv2

    table = np.empty(256, dst.dtype)
    _convert(np.arange(256, dtype=np.uint8).view(x.dtype), table, Box(((256, 1, 1, 0),), 0, 0, part.param), a)
    cv2.LUT(x.view(np.uint8).reshape(1, -1), table.view(np.uint8), dst.view(np.uint8).reshape(1, -1))


def _write(y: np.ndarray, dst: np.ndarray) -> None:
    """dst[...] = y, plane by plane where there are few, which numpy would put last."""
    if y.ndim > 1 and len(y) <= _FEW:
        for plane, target in zip(y, dst):
            target[...] = plane
    else:
        dst[...] = y


def _saturate(y: np.ndarray, dst: np.ndarray, zero_point: Any, a: Arithmetic) -> None:
    lowest, highest = limits(a.dst_dtype)
    if a.float_zero_point:
        y += np.asarray(zero_point, np.float32)
    np.rint(y, out=y)
    zero = np.asarray(0 if a.float_zero_point else zero_point, np.float32)
    exact = np.abs(zero).max() < _EXACT
    if exact and lowest < -2 * _EXACT and y.min() > -_EXACT and y.max() < _EXACT:
        y += zero
        _write(y, dst)
        return
    if exact and dst.itemsize <= 2:
        y += zero
        np.clip(y, lowest, highest, out=y)
        if np.isnan(y.min()):  # four times as fast as fmax, which would do it
            y[np.isnan(y)] = lowest
        _write(y, dst)
        return
    wide = y.astype(np.float64)  # numpy 1 would keep float32 beside a float64 scalar
    if not a.float_zero_point:
        wide += zero_point
    wide = np.asarray(np.fmax(wide, float(lowest)))
    top = wide >= float(highest)  # float64 has no 2**63 - 1: the highest value is written by itself
    wide[top] = 0
    dst[...] = wide
    dst[top] = highest


def _to_bfloat16(x: np.ndarray) -> np.ndarray:
    """Round float32 to the upper 16 bits, half to even; NaN stays NaN."""
    bits = x.view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    return np.where(np.isnan(x), (bits >> np.uint32(16)) | np.uint32(0x40), rounded).astype(np.uint16)


def _move(src: np.ndarray, dst: np.ndarray, box: Box) -> None:
    """Move elements unchanged: the innermost run as one wide element, large transposes by OpenCV."""
    size, loops = dst.itemsize, box.loops
    at = (box.src * size, box.dst * size)
    walks = [(n, s * size, d * size) for n, s, d, _ in loops]
    if walks and walks[-1][1:] == (size, size) and walks[-1][0] * size in (2, 4, 8, 16):
        size *= walks.pop()[0]
    raw_src, raw_dst = src.view("u1"), dst.view("u1")
    if len(walks) >= 2 and _interleaves(raw_src, raw_dst, size, at, walks):
        return
    if len(walks) >= 2 and size in _CV2_TYPES:
        inner = walks[-1]
        for i, outer in enumerate(walks[:-1]):
            if outer[1] == size and inner[2] == size and _transposable(outer, inner, size, (*at, *_steps(walks))):
                _transposes(raw_src, raw_dst, size, at, walks[:i] + walks[i + 1 : -1], outer, inner)
                return
    few = walks.pop() if len(walks) >= 2 and walks[-1][0] <= _FEW else (1, 0, 0)
    shape, kind = tuple(w[0] for w in walks), _kind(size)
    for k in range(few[0]):  # numpy's innermost loop is better long
        np.copyto(
            np.ndarray(shape, kind, raw_dst, at[1] + k * few[2], tuple(w[2] for w in walks)),
            np.ndarray(shape, kind, raw_src, at[0] + k * few[1], tuple(w[1] for w in walks)),
        )


def _kind(size: int) -> str:
    """A dtype of so many bytes that numpy moves as it is; not void where another will do, which is slow to fill."""
    return f"u{size}" if size in (1, 2, 4, 8) else f"V{size}"


def _interleaves(
    src: np.ndarray, dst: np.ndarray, size: int, at: tuple[int, int], walks: list[tuple[int, int, int]]
) -> bool:
    """2 to 4 channels between pixels and planes, by OpenCV's split and merge; False where it is not that."""
    channel = next((w for w in walks if size in w[1:] and 2 <= w[0] <= 4), None)
    if channel is None or size not in (1, 2, 4):
        return False
    rest = [w for w in walks if w is not channel]
    count, pixels = channel[0], rest[-1]
    apart, together = ((2, 1), (1, 2))[channel[2] == size]
    rows = rest[-2] if len(rest) > 1 else (1, 0, 0)
    if rows[apart] < pixels[0] * size or rows[together] < pixels[0] * count * size or any(s % size for s in rows[1:]):
        rows = (1, 0, 0)
    fits = channel[together] == size and pixels[together] == count * size and pixels[apart] == size
    if not fits or rows[0] * pixels[0] * size < _WORTH_CV2 or channel[apart] < pixels[0] * size:
        return False
    import cv2

    kind = _CV2_TYPES[size][0]
    outer = rest[: -2 if rows[0] > 1 else -1]
    shape = (rows[0], pixels[0])
    for index in np.ndindex(*(w[0] for w in outer)):
        start = [at[side] + sum(i * w[side + 1] for i, w in zip(index, outer)) for side in (0, 1)]
        memory = (src, dst)
        mixed = np.ndarray(
            (*shape, count), kind, memory[together - 1], start[together - 1], (rows[together], count * size, size)
        )
        first, step = start[apart - 1], channel[apart]
        planes = [
            np.ndarray(shape, kind, memory[apart - 1], first + c * step, (rows[apart], size)) for c in range(count)
        ]
        if apart == 2:
            cv2.split(mixed, planes)
        else:
            cv2.merge(planes, mixed)
    return True


def _steps(walks: list[tuple[int, int, int]]) -> tuple[int, ...]:
    return tuple(step for w in walks for step in w[1:])


def _transposable(outer: tuple[int, int, int], inner: tuple[int, int, int], size: int, steps: tuple[int, ...]) -> bool:
    return (
        outer[0] * inner[0] * size >= _WORTH_CV2
        and inner[1] >= outer[0] * size
        and outer[2] >= inner[0] * size
        and not any(step % min(size, 8) for step in steps)
    )


def _transposes(
    src: np.ndarray,
    dst: np.ndarray,
    size: int,
    at: tuple[int, int],
    rest: list[tuple[int, int, int]],
    outer: tuple[int, int, int],
    inner: tuple[int, int, int],
) -> None:
    import cv2

    kind, lanes = _CV2_TYPES[size]
    lane: tuple[int, ...] = (lanes,) if lanes > 1 else ()
    for index in np.ndindex(*(w[0] for w in rest)):
        src_at = at[0] + sum(i * w[1] for i, w in zip(index, rest))
        dst_at = at[1] + sum(i * w[2] for i, w in zip(index, rest))
        wide = (8,) if lanes > 1 else ()
        matrix: Any = np.ndarray((inner[0], outer[0], *lane), kind, src, src_at, (inner[1], size, *wide))
        result: Any = np.ndarray((outer[0], inner[0], *lane), kind, dst, dst_at, (outer[2], size, *wide))
        written = cv2.transpose(matrix, result)
        if written.ctypes.data != result.ctypes.data:
            result[...] = written
