"""The plain twin of every kernel: numpy, and OpenCV where that moves memory faster."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .box import Arithmetic, Box, limits

Loops = tuple[tuple[int, int, int, int], ...]

_CHUNK = 1 << 15  # elements that stay in L2 while they are converted
_WORTH_CV2 = 1 << 12  # bytes below which a call of OpenCV costs more than it saves
_CV2_TYPES = {1: ("u1", 1), 2: ("u2", 1), 4: ("f4", 1), 8: ("f8", 1), 16: ("f8", 2)}


def _view(flat: np.ndarray, dtype: Any, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    size = flat.itemsize
    return np.ndarray(shape, dtype, flat, start * size, tuple(s * size for s in strides))


def fill_zero(dst: np.ndarray, box: Box) -> None:
    """Set the elements of a box of `dst` (1-D) to zero."""
    raw = dst.view(f"V{dst.itemsize}")
    zero = np.zeros((), raw.dtype)
    _view(raw, raw.dtype, box.dst, tuple(k[0] for k in box.loops), tuple(k[2] for k in box.loops))[...] = zero


def affine_copy(src: np.ndarray, dst: np.ndarray, box: Box, arithmetic: Arithmetic) -> None:
    """Move one box of `src` (1-D) into `dst` (1-D, apart from it), converting as `arithmetic` says."""
    if arithmetic.moves_only:
        _move(src, dst, box)
        return
    for part in _chunks(box.loops, box.src, box.dst, box.param):
        extents = tuple(k[0] for k in part.loops)
        gathered = np.empty(math.prod(extents), src.dtype)
        dense = [1] * len(extents)
        for i in range(len(extents) - 2, -1, -1):
            dense[i] = dense[i + 1] * extents[i + 1]
        loops = tuple((n, s, d, 0) for (n, s, _, _), d in zip(part.loops, dense))
        _move(src, gathered, Box(loops, part.src, 0, 0))
        target = _view(dst, dst.dtype, part.dst, extents, tuple(k[2] for k in part.loops))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            _convert(gathered.reshape(extents), target, part, arithmetic)


def _chunks(loops: Loops, src: int, dst: int, param: int) -> Iterator[Box]:
    inner = math.prod(k[0] for k in loops[1:])
    if not loops or loops[0][0] * inner <= _CHUNK:
        yield Box(loops, src, dst, param)
        return
    n, s, d, p = loops[0]
    step = max(1, _CHUNK // inner)
    for i in range(0, n, step):
        at = (src + i * s, dst + i * d, param + i * p)
        if inner > _CHUNK:
            yield from _chunks(loops[1:], *at)
        else:
            yield Box(((min(step, n - i), s, d, p), *loops[1:]), *at)


def _convert(x: np.ndarray, dst: np.ndarray, part: Box, a: Arithmetic) -> None:
    def parameter(values: np.ndarray) -> np.ndarray:
        return _view(values, values.dtype, part.param, x.shape, tuple(k[3] for k in part.loops))

    if a.src_dtype == "bfloat16":
        x = (x.astype(np.uint32) << 16).view(np.float32)
    if a.shift is None and a.scale is None and a.divisor is None and a.zero_point is None:
        if a.dst_dtype == "bfloat16":
            dst[...] = _to_bfloat16(x.astype(np.float32))
        else:
            dst[...] = x
        return
    y = x.astype(np.float32)
    if a.shift is not None:
        y -= parameter(a.shift)
    if a.scale is not None:
        y *= parameter(a.scale)
    if a.divisor is not None:
        y /= parameter(a.divisor)
    if a.zero_point is not None:
        _saturate(y, dst, parameter(a.zero_point), a)
    elif a.dst_dtype == "bfloat16":
        dst[...] = _to_bfloat16(y)
    else:
        dst[...] = y


def _saturate(y: np.ndarray, dst: np.ndarray, zero_point: np.ndarray, a: Arithmetic) -> None:
    lowest, highest = limits(a.dst_dtype)
    if a.float_zero_point:
        y += zero_point.astype(np.float32)
    np.rint(y, out=y)
    wide = y.astype(np.float64) if a.float_zero_point else y + zero_point
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
    if len(walks) >= 2 and size in _CV2_TYPES:
        inner = walks[-1]
        for i, outer in enumerate(walks[:-1]):
            if outer[1] == size and inner[2] == size and _transposable(outer, inner, size, (*at, *_steps(walks))):
                _transposes(raw_src, raw_dst, size, at, walks[:i] + walks[i + 1 : -1], outer, inner)
                return
    shape = tuple(w[0] for w in walks)
    kind = f"u{size}" if size in (1, 2, 4, 8) else f"V{size}"
    np.copyto(
        np.ndarray(shape, kind, raw_dst, at[1], tuple(w[2] for w in walks)),
        np.ndarray(shape, kind, raw_src, at[0], tuple(w[1] for w in walks)),
    )


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


_GRAY_BITS = 15
_GRAY_WEIGHTS = (3735, 19235, 9798)
_GRAY_FLOATS = (0.114, 0.587, 0.299)


def gray(blue: np.ndarray, green: np.ndarray, red: np.ndarray, out: np.ndarray) -> None:
    """Grayscale of three equally shaped strided views into `out`: OpenCV's rule, chunk by chunk.

    uint8 and uint16: (3735 B + 19235 G + 9798 R + 2**14) >> 15; float32: (0.114 B + 0.587 G) + 0.299 R (OpenCV
    modules/imgproc/src/color_rgb.simd.hpp).
    """
    planes = (blue, green, red)
    if out.ndim == 0:
        _gray_chunk([p.reshape(1) for p in planes], out.reshape(1))
        return
    inner = math.prod(out.shape[1:])
    if inner > _CHUNK and out.ndim > 1:
        for i in range(out.shape[0]):
            gray(blue[i], green[i], red[i], out[i])
        return
    step = max(1, _CHUNK // max(1, inner))
    for i in range(0, out.shape[0], step):
        _gray_chunk([p[i : i + step] for p in planes], out[i : i + step])


def _gray_chunk(planes: list[np.ndarray], out: np.ndarray) -> None:
    if out.dtype.kind == "u":
        total = np.full(out.shape, 1 << (_GRAY_BITS - 1), np.uint32)
        for plane, weight in zip(planes, _GRAY_WEIGHTS):
            total += plane.astype(np.uint32) * np.uint32(weight)
        out[...] = total >> np.uint32(_GRAY_BITS)
        return
    accumulated = planes[0] * np.float32(_GRAY_FLOATS[0])
    accumulated += planes[1] * np.float32(_GRAY_FLOATS[1])
    accumulated += planes[2] * np.float32(_GRAY_FLOATS[2])
    out[...] = accumulated
