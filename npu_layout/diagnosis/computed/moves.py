"""Describe how the device's maps may have moved: mirrored, rotated, shifted, or cropped and enlarged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple, Optional

import numpy as np

from ...support import finite, many

_SHIFTS = 2  # places

Axes = tuple[Optional[int], int]  # of height and width; the height is None in a row of places
Place = tuple[np.ndarray, np.ndarray]
Source = Callable[[np.ndarray, np.ndarray, int, int], Place]


class Move(NamedTuple):
    """Where in the model's maps a place of the device's maps is.

    Attributes
    ----------
    text
        The move in words.
    source
        (y, x, height, width) of a place to (y, x) in the model's maps, which may be between places or outside.
    down, across
        Along which axes it moves.
    square
        Whether it is only possible in square maps.
    """

    text: str
    source: Source
    down: bool = True
    across: bool = True
    square: bool = False


def _shift(y: np.ndarray, x: np.ndarray, h: int, w: int, down: int, right: int) -> Place:
    return y - down, x - right


def _crop(y: np.ndarray, x: np.ndarray, h: int, w: int, rows: int, columns: int, first: int) -> Place:
    """Return the place in maps without a row or a column, enlarged to the size that they had."""
    down = (y + 0.5) * ((h - rows) / h) - 0.5 + first * rows
    right = (x + 0.5) * ((w - columns) / w) - 0.5 + first * columns
    return np.clip(down, first * rows, h - 1 - (1 - first) * rows), np.clip(
        right, first * columns, w - 1 - (1 - first) * columns
    )


_TURNS = (
    Move("mirrored from left to right", lambda y, x, h, w: (y, w - 1 - x), down=False),
    Move("upside down, mirrored", lambda y, x, h, w: (h - 1 - y, x), across=False),
    Move("rotated by 180 degrees", lambda y, x, h, w: (h - 1 - y, w - 1 - x)),
    Move("rotated by 90 degrees clockwise", lambda y, x, h, w: (h - 1 - x, y), square=True),
    Move("rotated by 90 degrees counterclockwise", lambda y, x, h, w: (x, w - 1 - y), square=True),
)
_CROPS = (
    Move("without their first row", partial(_crop, rows=1, columns=0, first=1), across=False),
    Move("without their last row", partial(_crop, rows=1, columns=0, first=0), across=False),
    Move("without their first column", partial(_crop, rows=0, columns=1, first=1), down=False),
    Move("without their last column", partial(_crop, rows=0, columns=1, first=0), down=False),
)


def shift_words(right: int, down: int, unit: str) -> str:
    """Return a shift in words.

    >>> shift_words(-2, 1, "pixel")
    '2 pixels to the left and 1 pixel down'
    """
    ways = ((right, ("to the left", "to the right")), (down, ("up", "down")))
    return " and ".join(f"{many(abs(by), unit)} {way[by > 0]}" for by, way in ways if by)


def _shifts() -> Iterator[Move]:
    steps = range(-_SHIFTS, _SHIFTS + 1)
    for right, down in product(steps, steps):
        if right or down:
            text = f"shifted by {shift_words(right, down, 'place')}"
            yield Move(text, partial(_shift, down=down, right=right), bool(down), bool(right))


MOVES = (*_TURNS, *_CROPS, *_shifts())


def whole(reference: np.ndarray, axes: Axes, move: Move, fill: str) -> np.ndarray:
    """Return the model's output, moved."""
    index = np.ogrid[tuple(slice(n) for n in reference.shape)]
    return np.asarray(values_at(reference, tuple(index), axes, move, fill)).astype(reference.dtype)


def _source(shape: tuple[int, ...], index: Sequence[np.ndarray], axes: Axes, move: Move) -> Place:
    down, across = axes
    x = index[across]
    y, height = (np.zeros_like(x), 1) if down is None else (index[down], shape[down])
    return move.source(y, x, height, shape[across])


def fills(move: Move, shape: tuple[int, ...], axes: Axes, index: Sequence[np.ndarray]) -> tuple[str, ...]:
    """Return what may be at places outside of the model's maps; one way if there are none."""
    y, x = _source(shape, index, axes, move)
    height = 1 if axes[0] is None else shape[axes[0]]
    outside = (y < 0).any() or (y >= height).any() or (x < 0).any() or (x >= shape[axes[1]]).any()
    return ("edge", "wrapped", "zero", "next row") if outside else ("edge",)


def values_at(reference: np.ndarray, index: Sequence[np.ndarray], axes: Axes, move: Move, fill: str) -> np.ndarray:
    """Return the model's values at the sources of the places `index`, as float64; between places, interpolated."""
    return np.asarray(values_in([reference], index, axes, move, fill)[0])


def values_in(
    references: Sequence[np.ndarray], index: Sequence[np.ndarray], axes: Axes, move: Move, fill: str
) -> np.ndarray:
    """Return what `values_at` does of each of several outputs of one shape, (outputs, places)."""
    shape, (down, across) = references[0].shape, axes
    width, height = shape[across], 1 if down is None else shape[down]
    y, x = _source(shape, index, axes, move)
    if fill == "next row":  # one row behind the other in memory
        flat = np.clip(y * width + x, 0, height * width - 1)
        y, x = flat // width, flat % width
    inside = np.mod if fill == "wrapped" else _clamped
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    others = sum(index[axis] * strides[axis] for axis in range(len(shape)) if axis not in axes)

    def at(y: np.ndarray, x: np.ndarray) -> np.ndarray:
        flat = others + inside(x, width) * strides[across]
        if down is not None:
            flat = flat + inside(y, height) * strides[down]
        return np.stack([finite(reference.reshape(-1)[flat]).astype(np.float64) for reference in references])

    values = _between(at, y, x) if "f" in (x.dtype.kind, y.dtype.kind) else at(y, x)
    if fill != "zero":
        return values
    return np.where((y < 0) | (y >= height) | (x < 0) | (x >= width), 0.0, values)


def _clamped(i: np.ndarray, count: int) -> np.ndarray:
    return np.asarray(np.clip(i, 0, count - 1))


def _between(at: Callable[[np.ndarray, np.ndarray], np.ndarray], y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the values between places, linearly."""
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    below, right = y - top, x - left
    total: float | np.ndarray = 0.0
    for dy, dx in product((0, 1), (0, 1)):
        weight = (below if dy else 1 - below) * (right if dx else 1 - right)
        if np.any(weight):
            total = total + weight * at(top + dy, left + dx)
    return np.asarray(total)
