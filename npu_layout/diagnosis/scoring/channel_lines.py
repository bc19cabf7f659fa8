"""Fit a straight line to the values of each channel, all channels at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .channel_moments import SEVERAL, ChannelMoments, is_of_several
from .thresholds import ENOUGH, ROUNDING

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
    """

    slope: np.ndarray
    offset: np.ndarray
    clear: np.ndarray


def lines(of: ChannelMoments) -> Lines:
    """Return the lines through the values that count."""
    good = (of.power > 0) & (of.counted > 1)
    slope = np.divide(of.product, of.power, out=np.zeros(len(good)), where=good)
    offset = np.where(of.counted > 1, of.mean_y - slope * of.mean_x, 0.0)
    clear = (slope > 0) & (of.counted >= ENOUGH // 2) & (slope * slope * of.power >= 4 * ROUNDING) & of.several
    return Lines(slope, offset, clear & (of.span_y + _ROUNDING >= _STEPS))


def through(of: ChannelMoments, every: ChannelMoments, zero_point: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x over y - zero_point of each channel's line through 0, and which channels have one.

    of, every: the values that count, and all. A channel has one if its values vary by more than rounding, several of
    them much, and several of those that count are far from 0.
    """
    along = of.products(zero_point)
    rising = (along > 0) & (of.counted > 0)
    ratio = np.divide(of.squares, along, out=np.ones(len(along)), where=rising)
    far = is_of_several(of.counted * of.squares, of.largest)
    clear = rising & far & every.several & (every.span_y >= _STEPS)
    return ratio, clear & (every.power >= 4 * ROUNDING * ratio * ratio)


def several(x: np.ndarray, centre: float | None = None) -> np.ndarray:
    """Return of which channels (channels, values) more than one or two values are far from the centre, or the mean."""
    squares = np.square(x - (x.mean(1, keepdims=True) if centre is None else centre))
    return np.asarray(squares.sum(1) >= SEVERAL * squares.max(1))
