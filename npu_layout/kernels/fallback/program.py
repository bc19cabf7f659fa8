"""The plain twin of moves and conversions: numpy, and OpenCV where that moves memory faster."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..box import Arithmetic, Box, limits

Loops = tuple[tuple[int, int, int, int], ...]
Step = Callable[[np.ndarray, np.ndarray], None]  # from the source to the destination, both 1-D
Walks = list[tuple[int, int, int]]  # extent, source stride, destination stride, in bytes

_FEW = 8  # elements of a loop that is better the outermost one
_EXACT = 1 << 22  # integers of which float32 adds two without rounding
_TABLE = 1 << 13  # bytes from which on a table of all results pays
_CHUNK = 1 << 19  # elements that are converted at a time: numpy's calls cost more than caches save
_ROW = 256  # bytes that are set in the time that one more row of them costs
_TILE = 1 << 12  # elements of parameters that are repeated to be as long
_LINE = 64  # bytes
_WORTH_CV2 = 1 << 12  # bytes below which a call of OpenCV costs more than it saves
_CV2_TYPES = {
    1: ("u1", 1),
    2: ("u2", 1),
    4: ("f4", 1),
    8: ("f8", 1),
    16: ("f8", 2),
    24: ("f8", 3),
    32: ("f8", 4),
}
_RUNS = (16, 512)  # bytes of neighbours that numpy had better move as one element


def _view(flat: np.ndarray, dtype: Any, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    size = flat.itemsize
    return np.ndarray(shape, dtype, flat, start * size, tuple(s * size for s in strides))


class Program:
    """The twin of a compiled program: the same boxes, by numpy and OpenCV."""

    def __init__(self, dst_size: int, fills: Sequence[Box], boxes: Sequence[Box], arithmetic: Arithmetic) -> None:
        size = arithmetic.itemsizes[1]
        rows = sum(math.prod(k[0] for k in box.loops[:-1]) for box in fills)
        written = sum(math.prod(k[0] for k in box.loops) for box in (*fills, *boxes))
        if written == dst_size and rows * _ROW > dst_size * size:
            fills = (Box(((dst_size, 0, 1, 0),), 0, 0, 0),)
        self._steps = [_filling(box, size) for box in fills]
        for box in boxes:
            self._steps += [_moving(box, size)] if arithmetic.moves_only else _converting(box, arithmetic)

    def run(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Move `src` (1-D) into `dst` (1-D, apart from it, else ValueError)."""
        if np.may_share_memory(src, dst):
            raise ValueError("source and destination overlap")
        for step in self._steps:
            step(src, dst)


def _filling(box: Box, size: int) -> Step:
    """Sets a box of elements to zero."""
    kind, at = _kind(size), box.dst * size
    shape, strides = tuple(k[0] for k in box.loops), tuple(k[2] * size for k in box.loops)
    zero = np.zeros((), kind)

    def fill(_: np.ndarray, dst: np.ndarray) -> None:
        np.ndarray(shape, kind, dst.view("u1"), at, strides)[...] = zero

    return fill


def _converting(box: Box, arithmetic: Arithmetic) -> list[Step]:
    """Converts a box of elements, in pieces."""
    loops = box.loops or ((1, 1, 1, 0),)
    src_size, dst_size = arithmetic.itemsizes
    narrows = dst_size < src_size  # convert in the order of the source, and move the smaller elements
    if narrows:
        loops = tuple(sorted(loops, key=lambda k: -abs(k[1])))
    if len(loops) > 1 and loops[-1][0] <= _FEW and (loops[-1][3] or (not narrows and loops[-2][2] != loops[-1][0])):
        loops = (loops[-1], *loops[:-1])  # numpy's innermost loop is better long
    # numpy converts float16 so slowly that only lines which are not read whole are worth a move.
    views = narrows or (arithmetic.src_dtype == "float16" and abs(loops[-1][1]) * src_size < _LINE)
    return [
        partial(_convert_part, part, arithmetic, narrows, views) for part in _chunks(loops, box.src, box.dst, box.param)
    ]


def _convert_part(
    part: Box, arithmetic: Arithmetic, narrows: bool, views: bool, src: np.ndarray, dst: np.ndarray
) -> None:
    extents, steps = tuple(k[0] for k in part.loops), _dense(part.loops)
    count = math.prod(extents)
    if all(k[1] == step for k, step in zip(part.loops, steps)):
        x = src[part.src : part.src + count]
    elif views:
        x = _view(src, src.dtype, part.src, extents, tuple(k[1] for k in part.loops))
    else:
        x = np.empty(count, src.dtype)
        walks = ((n, s, step) for (n, s, _, _), step in zip(part.loops, steps))
        _moving(_walk(walks, part.src, 0), src.itemsize)(src, x)
    target = _view(dst, dst.dtype, part.dst, extents, tuple(k[2] for k in part.loops))
    turns = narrows and not target.flags.c_contiguous
    y = np.empty(extents, dst.dtype) if turns else target
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        _convert(x.reshape(extents), y, part, arithmetic)
    if turns:
        walks = ((n, step, d) for (n, _, d, _), step in zip(part.loops, steps))
        _moving(_walk(walks, 0, part.dst), dst.itemsize)(y.reshape(-1), dst)


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
    if not any(strides) and dst.flags.c_contiguous and x.flags.c_contiguous:
        x, dst = x.reshape(-1), dst.reshape(-1)

    repeat = _repeat(x, dst, strides)
    if repeat > 1:
        extents = (x.size // (repeat * x.shape[-1]), repeat * x.shape[-1])
        x, dst = x.reshape(extents), dst.reshape(extents)

    if not any(strides) and x.itemsize == dst.itemsize == 1 and x.size > _TABLE and dst.flags.c_contiguous:
        _look_up(x, dst, part, a)
        return

    def parameter(values: np.ndarray) -> np.ndarray:
        """As many axes as x has, of extent 1 where it is the same."""
        if repeat > 1:
            return np.tile(values[part.param :][: x.shape[-1] // repeat * strides[-1] : strides[-1]], repeat)
        extents = tuple(n if step else 1 for n, step in zip(x.shape, strides))
        return _view(values, values.dtype, part.param, extents, strides[: x.ndim])

    if a.src_dtype == "bfloat16":
        x = (x.astype(np.uint32) << 16).view(np.float32)
    _in_steps(x, dst, a, parameter)


def _in_steps(x: np.ndarray, dst: np.ndarray, a: Arithmetic, parameter: Callable[[np.ndarray], np.ndarray]) -> None:
    """Do the arithmetic on x one step after the other; `parameter` makes values fit the axes of x."""
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


def _repeat(x: np.ndarray, dst: np.ndarray, strides: tuple[int, ...]) -> int:
    """How many rows of neighbouring channels numpy is better given as one, beside parameters repeated as often."""
    if not x.size or not strides[-1] or any(strides[:-1]) or not (x.flags.c_contiguous and dst.flags.c_contiguous):
        return 1
    rows, most = x.size // x.shape[-1], max(1, _TILE // x.shape[-1])
    return next(k for k in range(most, 0, -1) if rows % k == 0)


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
        if not _stays_finite(a) and np.isnan(y.min()):  # four times as fast as fmax, which would do it
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


def _stays_finite(a: Arithmetic) -> bool:
    """Whether no NaN can arise, as of integers and finite parameters that do not divide by zero."""
    parameters = [p for p in (a.shift, a.scale, a.divisor, a.zero_point) if p is not None]
    whole = "int" in a.src_dtype and all(np.isfinite(p).all() for p in parameters)
    return whole and (a.divisor is None or bool(np.all(a.divisor)))


def _to_bfloat16(x: np.ndarray) -> np.ndarray:
    """Round float32 to the upper 16 bits, half to even; NaN stays NaN."""
    bits = x.view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    return np.where(np.isnan(x), (bits >> np.uint32(16)) | np.uint32(0x40), rounded).astype(np.uint16)


def _moving(box: Box, size: int) -> Step:
    """Moves elements of so many bytes unchanged: an innermost run as one wide element, large transposes by OpenCV."""
    at = (box.src * size, box.dst * size)
    walks = [(n, s * size, d * size) for n, s, d, _ in box.loops]
    run = walks[-1][0] * size if len(walks) > 1 and walks[-1][1:] == (size, size) else 0
    if run in (2, 4, 8) or _RUNS[0] <= run <= _RUNS[1]:
        walks.pop()
        size = run
    special = _interleaving(size, at, walks) or _transposing(size, at, walks)
    if special:
        return special
    few = walks.pop() if len(walks) >= 2 and walks[-1][0] <= _FEW and size <= 16 else (1, 0, 0)
    shape, kind = tuple(w[0] for w in walks), _kind(size)
    strides = tuple(w[1] for w in walks), tuple(w[2] for w in walks)

    def move(src: np.ndarray, dst: np.ndarray) -> None:
        src, dst = src.view("u1"), dst.view("u1")
        for k in range(few[0]):  # numpy's innermost loop is better long
            x = np.ndarray(shape, kind, src, at[0] + k * few[1], strides[0])
            np.copyto(np.ndarray(shape, kind, dst, at[1] + k * few[2], strides[1]), x)

    return move


def _kind(size: int) -> str:
    """A dtype of so many bytes that numpy moves as it is; not void where another will do, which is slow to fill."""
    return f"u{size}" if size in (1, 2, 4, 8) else f"V{size}"


def _interleaving(size: int, at: tuple[int, int], walks: Walks) -> Step | None:
    """2 to 4 channels between pixels and planes, by OpenCV's split and merge; None where it is not that."""
    channel = next((w for w in walks if size in w[1:] and 2 <= w[0] <= 4), None)
    if channel is None or len(walks) < 2 or size not in (1, 2, 4):
        return None
    rest = [w for w in walks if w is not channel]
    count, pixels = channel[0], rest[-1]
    apart, together = ((2, 1), (1, 2))[channel[2] == size]
    rows = rest[-2] if len(rest) > 1 else (1, 0, 0)
    if rows[apart] < pixels[0] * size or rows[together] < pixels[0] * count * size or any(s % size for s in rows[1:]):
        rows = (1, 0, 0)
    fits = channel[together] == size and pixels[together] == count * size and pixels[apart] == size
    if not fits or rows[0] * pixels[0] * size < _WORTH_CV2 or channel[apart] < pixels[0] * size:
        return None
    kind, step = _CV2_TYPES[size][0], channel[apart]
    starts = list(_starts(at, rest[: -2 if rows[0] > 1 else -1]))
    shape = (rows[0], pixels[0])

    def interleave(src: np.ndarray, dst: np.ndarray) -> None:
        import cv2

        memory = (src.view("u1"), dst.view("u1"))
        for start in starts:
            mixed = np.ndarray(
                (*shape, count), kind, memory[together - 1], start[together - 1], (rows[together], count * size, size)
            )
            planes = [
                np.ndarray(shape, kind, memory[apart - 1], start[apart - 1] + c * step, (rows[apart], size))
                for c in range(count)
            ]
            if apart == 2:
                cv2.split(mixed, planes)
            else:
                cv2.merge(planes, mixed)

    return interleave


def _transposing(size: int, at: tuple[int, int], walks: Walks) -> Step | None:
    """Matrices turned by OpenCV; None where there are none that it is worth."""
    kind, lanes = _CV2_TYPES.get(size, ("", size + 1))
    each = size // lanes
    if not each or any(step % each for step in (*at, *(s for w in walks for s in w[1:]))):
        return None
    *rest, inner = walks or [(1, 0, 0)]
    outer = next(
        (w for w in rest if w[1] == inner[2] == size and inner[1] >= w[0] * size and w[2] >= inner[0] * size), None
    )
    if outer is None or outer[0] * inner[0] * size < _WORTH_CV2:
        return None
    lane, wide = ((lanes,), (each,)) if lanes > 1 else ((), ())
    starts = list(_starts(at, [w for w in rest if w is not outer]))

    def transpose(src: np.ndarray, dst: np.ndarray) -> None:
        import cv2

        src, dst = src.view("u1"), dst.view("u1")
        for start in starts:
            matrix: Any = np.ndarray((inner[0], outer[0], *lane), kind, src, start[0], (inner[1], size, *wide))
            result: Any = np.ndarray((outer[0], inner[0], *lane), kind, dst, start[1], (outer[2], size, *wide))
            written = cv2.transpose(matrix, result)
            if written.ctypes.data != result.ctypes.data:
                result[...] = written

    return transpose


def _starts(at: tuple[int, int], walks: Walks) -> Iterator[tuple[int, int]]:
    """Where each round of these loops begins, in the source and in the destination."""
    for index in np.ndindex(*(w[0] for w in walks)):
        yield tuple(at[side] + sum(i * w[side + 1] for i, w in zip(index, walks)) for side in (0, 1))  # type: ignore[misc]
