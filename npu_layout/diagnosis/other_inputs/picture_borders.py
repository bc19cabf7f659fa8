"""Find the border around a picture: whole rows and columns of one colour at its sides."""

from __future__ import annotations

import numpy as np

_IS_BORDER = 1.5  # pixel values: a border that was quantised differs by less


def border_around(pixels: np.ndarray, pad: np.ndarray) -> np.ndarray | None:
    """Return which pixels (H, W) are the border; None if there is none, or nothing else.

    pixels: (N, H, W, C), of N pictures with the same border; pad: its colour, (C,).
    """
    sides = (pixels[:, :1], pixels[:, -1:], pixels[:, :, :1], pixels[:, :, -1:])
    if not any(_are_of(side, pad).all() for side in sides):
        return None
    plain = _are_of(pixels, pad)
    if plain.all():
        return None
    rows, columns = (_at_the_ends(np.asarray(plain.all(axis))) for axis in (1, 0))
    return np.asarray(rows[:, None] | columns)


def _are_of(pixels: np.ndarray, pad: np.ndarray) -> np.ndarray:
    """Return which pixels (H, W) have a colour in all pictures."""
    are = np.ones(pixels.shape[1:3], bool)
    for picture in pixels:
        for channel, level in enumerate(pad.astype(pixels.dtype)):  # each by itself: it stays in a cache
            off = picture[..., channel] - level
            are &= np.abs(off, out=off) < _IS_BORDER
    return are


def _at_the_ends(marked: np.ndarray) -> np.ndarray:
    """Return which of the marked ones have only marked ones between themselves and an end."""
    return np.asarray(np.logical_and.accumulate(marked) | np.logical_and.accumulate(marked[::-1])[::-1])
