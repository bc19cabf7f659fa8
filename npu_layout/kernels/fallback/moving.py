"""Move elements unchanged by numpy, and by OpenCV if that is faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..box import Box

Step = Callable[[np.ndarray, np.ndarray], None]  # from the source to the destination, both 1-D
Walks = list[tuple[int, int, int]]  # extent, source stride, destination stride, in bytes

SHORT = 8  # extent up to which a loop is faster as the outermost one

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
_RUNS = (16, 512)  # bytes of neighbours that numpy moves faster as one element


def filling(box: Box, size: int) -> Step:
    """Return a step that sets a box of elements to zero."""
    kind, at = _kind(size), box.dst * size
    shape, strides = tuple(k[0] for k in box.loops), tuple(k[2] * size for k in box.loops)
    zero = np.zeros((), kind)

    def fill(_: np.ndarray, dst: np.ndarray) -> None:
        np.ndarray(shape, kind, dst.view("u1"), at, strides)[...] = zero

    return fill


def moving(box: Box, size: int) -> Step:
    """Return a step that moves elements of `size` bytes: a short run as one element, large transposes by OpenCV."""
    at = (box.src * size, box.dst * size)
    walks = [(n, s * size, d * size) for n, s, d, _ in box.loops]
    run = walks[-1][0] * size if len(walks) > 1 and walks[-1][1:] == (size, size) else 0
    if run in (2, 4, 8) or _RUNS[0] <= run <= _RUNS[1]:
        walks.pop()
        size = run
    special = _interleaving(size, at, walks) or _transposing(size, at, walks)
    if special:
        return special
    short = walks.pop() if len(walks) >= 2 and walks[-1][0] <= SHORT and size <= 16 else (1, 0, 0)
    shape, kind = tuple(w[0] for w in walks), _kind(size)
    strides = tuple(w[1] for w in walks), tuple(w[2] for w in walks)

    def move(src: np.ndarray, dst: np.ndarray) -> None:
        src, dst = src.view("u1"), dst.view("u1")
        for k in range(short[0]):  # numpy is faster if its innermost loop is long
            x = np.ndarray(shape, kind, src, at[0] + k * short[1], strides[0])
            np.copyto(np.ndarray(shape, kind, dst, at[1] + k * short[2], strides[1]), x)

    return move


def _kind(size: int) -> str:
    """Return a dtype of `size` bytes that numpy moves unchanged: void, which is slow to fill, only if no other fits."""
    return f"u{size}" if size in (1, 2, 4, 8) else f"V{size}"


def _interleaving(size: int, at: tuple[int, int], walks: Walks) -> Step | None:
    """Return a step that moves 2 to 4 channels between pixels and planes by OpenCV; None if these loops do not."""
    channel = next((w for w in walks if size in w[1:] and 2 <= w[0] <= 4), None)
    if channel is None or len(walks) < 2 or size not in (1, 2, 4):
        return None
    rest = [w for w in walks if w is not channel]
    count, pixels = channel[0], rest[-1]
    planar, mixed = ((2, 1), (1, 2))[channel[2] == size]  # indices of their strides in a walk
    rows = rest[-2] if len(rest) > 1 else (1, 0, 0)
    if rows[planar] < pixels[0] * size or rows[mixed] < pixels[0] * count * size or any(s % size for s in rows[1:]):
        rows = (1, 0, 0)
    fits = channel[mixed] == size and pixels[mixed] == count * size and pixels[planar] == size
    if not fits or rows[0] * pixels[0] * size < _WORTH_CV2 or channel[planar] < pixels[0] * size:
        return None
    kind, step = _CV2_TYPES[size][0], channel[planar]
    starts = list(_starts(at, rest[: -2 if rows[0] > 1 else -1]))
    shape = (rows[0], pixels[0])

    def interleave(src: np.ndarray, dst: np.ndarray) -> None:
        import cv2

        memory = (src.view("u1"), dst.view("u1"))
        for start in starts:
            whole = np.ndarray(
                (*shape, count), kind, memory[mixed - 1], start[mixed - 1], (rows[mixed], count * size, size)
            )
            parts = [
                np.ndarray(shape, kind, memory[planar - 1], start[planar - 1] + c * step, (rows[planar], size))
                for c in range(count)
            ]
            if planar == 2:
                cv2.split(whole, parts)
            else:
                cv2.merge(parts, whole)

    return interleave


def _transposing(size: int, at: tuple[int, int], walks: Walks) -> Step | None:
    """Return a step that transposes matrices by OpenCV; None if these loops do not, or the matrices are too small."""
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
    """Yield the offset at which each iteration of these loops begins, in the source and in the destination."""
    for index in np.ndindex(*(w[0] for w in walks)):
        yield tuple(at[side] + sum(i * w[side + 1] for i, w in zip(index, walks)) for side in (0, 1))  # type: ignore[misc]
