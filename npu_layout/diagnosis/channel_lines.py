"""Fit a straight line to the values of each channel, all channels at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .thresholds import ENOUGH, ROUNDING

_SEVERAL = 2.0  # times the square of the largest deviation: of less, one or two values decide a slope
_STEPS = 3  # between the ends of a channel: of fewer, a scale is a guess
_ROUNDING = 1e-6  # of a step: more than that of the means


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
    counts, whole = np.count_nonzero(inner, axis=1), bool(inner.all())
    count = np.maximum(counts, 1)
    mean_x, mean_y = (z.mean(1) if whole else (z * inner).sum(1) / count for z in (x, y))
    dx, dy = x - mean_x[:, None], y - mean_y[:, None]
    if not whole:  # what does not count is 0 in every sum, and between the ends
        dx *= inner
        dy *= inner
    squares = dx * dx
    power = squares.sum(1) / count
    good = (power > 0) & (counts > 1)
    span = np.ptp(dy, 1) + _ROUNDING
    slope = np.divide(np.multiply(dx, dy, out=dx).sum(1) / count, power, out=np.zeros(len(x)), where=good)
    offset = np.where(counts > 1, mean_y - slope * mean_x, 0.0)
    clear = (slope > 0) & (counts >= ENOUGH // 2) & (slope * slope * power >= 4 * ROUNDING) & (span >= _STEPS)
    clear &= _several(squares)
    empty = counts == 0
    mean_x[empty], mean_y[empty] = x[empty].mean(1), y[empty].mean(1)
    return Lines(slope, offset, clear, mean_x, mean_y)


def through(x: np.ndarray, y: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x over y of each channel's line through 0, and which channels have one; values that are `inner` count.

    They have one if their values vary by more than rounding, several of them much, and several of the inner ones are
    far from 0.
    """
    used = x if inner.all() else x * inner
    squares, products = used * x, used * y
    power, along = squares.sum(1), products.sum(1)
    rising = along > 0
    ratio = np.divide(power, along, out=np.ones(len(x)), where=rising)
    about = np.square(x - x.mean(1, keepdims=True))
    clear = rising & (power >= _SEVERAL * squares.max(1)) & _several(about) & (np.ptp(y, 1) >= _STEPS)
    return ratio, clear & (about.mean(1) >= 4 * ROUNDING * ratio * ratio)


def several(x: np.ndarray, centre: float | None = None) -> np.ndarray:
    """Return of which channels (channels, values) more than one or two values are far from the centre, or the mean."""
    return _several(np.square(x - (x.mean(1, keepdims=True) if centre is None else centre)))


def _several(squares: np.ndarray) -> np.ndarray:
    """Return the same, given the squares of the distances."""
    return np.asarray(squares.sum(1) >= _SEVERAL * squares.max(1))
