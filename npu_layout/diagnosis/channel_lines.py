"""Fit a straight line to the values of each channel, all channels at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .thresholds import ENOUGH, ROUNDING

_SEVERAL = 2.0  # times the square of the largest deviation: of less, one or two values decide a slope
_STEPS = 3  # between the ends of a channel: of fewer, a scale is a guess


class Lines(NamedTuple):
    """The lines y = slope * x + offset of the channels, an array each.

    Attributes
    ----------
    slope, offset
        0 if a channel has no line.
    clear
        Whether a channel has a slope: enough values that vary by more than rounding, several of them much, and are
        stored in some steps.
    mean_x, mean_y
        The means of the values, or of all, if none is used.
    """

    slope: np.ndarray
    offset: np.ndarray
    clear: np.ndarray
    mean_x: np.ndarray
    mean_y: np.ndarray


def lines(x: np.ndarray, y: np.ndarray, inner: np.ndarray) -> Lines:
    """Return the lines through (channels, values), of which those that are `inner` count."""
    found = Lines(*(np.zeros(len(x), dtype) for dtype in (float, float, bool, float, float)))
    for rows, xs, ys in _of_one_length(x, y, inner):
        for values, of_rows in zip(found, _lines(xs, ys)):
            values[rows] = of_rows
    empty = ~inner.any(1)
    found.mean_x[empty], found.mean_y[empty] = x[empty].mean(1), y[empty].mean(1)
    return found


def through(x: np.ndarray, y: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x over y of each channel's line through 0, and which channels have one; values that are `inner` count.

    They have one if their values vary by more than rounding, several of them much, and several of the inner ones are
    far from 0.
    """
    squares, products = x * x, x * y
    if not inner.all():
        squares[~inner] = products[~inner] = 0.0
    power, along = squares.sum(1), products.sum(1)
    rising = along > 0
    ratio = np.divide(power, along, out=np.ones(len(x)), where=rising)
    about = np.square(x - x.mean(1, keepdims=True))
    clear = rising & (power >= _SEVERAL * squares.max(1)) & _several(about) & (np.ptp(y, 1) >= _STEPS)
    return ratio, clear & (about.mean(1) >= 4 * ROUNDING * ratio * ratio)


def _of_one_length(
    x: np.ndarray, y: np.ndarray, inner: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the channels that have equal numbers of inner values, and these values."""
    counts = inner.sum(1)
    if inner.all():
        yield np.arange(len(x)), x, y
        return
    for count in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == count)
        kept = inner[rows]
        yield rows, x[rows][kept].reshape(len(rows), count), y[rows][kept].reshape(len(rows), count)


def _lines(x: np.ndarray, y: np.ndarray) -> Lines:
    """Return the lines through (channels, values), of which all count."""
    count, mean_x, mean_y = x.shape[1], x.mean(1), y.mean(1)
    dx, dy = x - mean_x[:, None], y - mean_y[:, None]
    squares = dx * dx
    power = squares.mean(1)
    good = (power > 0) & (count > 1)
    slope = np.divide((dx * dy).mean(1), power, out=np.zeros(len(x)), where=good)
    offset = np.where(count > 1, mean_y - slope * mean_x, 0.0)
    clear = (slope > 0) & (count >= ENOUGH // 2) & (slope * slope * power >= 4 * ROUNDING) & (np.ptp(y, 1) >= _STEPS)
    clear &= _several(squares)
    return Lines(slope, offset, clear, mean_x, mean_y)


def several(x: np.ndarray, centre: float | None = None) -> np.ndarray:
    """Return of which channels (channels, values) more than one or two values are far from the centre, or the mean."""
    return _several(np.square(x - (x.mean(1, keepdims=True) if centre is None else centre)))


def _several(squares: np.ndarray) -> np.ndarray:
    """Return the same, given the squares of the distances."""
    return np.asarray(squares.sum(1) >= _SEVERAL * squares.max(1))
