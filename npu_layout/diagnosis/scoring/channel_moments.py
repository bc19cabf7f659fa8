"""Means, variances and covariances of two quantities in each channel, all channels at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .moments import Moments

SEVERAL = 2.0  # times the square of the largest deviation: of less, one or two values decide a slope
_EQUAL = 1e-9  # by rounding


class ChannelMoments(NamedTuple):
    """Moments of the values of x and y that count, an array of one number a channel each.

    Attributes
    ----------
    counted
        How many values count; of a channel in which none does, the means are of all, and the rest is 0.
    mean_x, mean_y, power, product
        The means, the variance of x, and the covariance.
    low_x, high_x
        The lowest and the highest deviation of x from its mean.
    span_y
        The difference of the ends of y.
    """

    counted: np.ndarray
    mean_x: np.ndarray
    mean_y: np.ndarray
    power: np.ndarray
    product: np.ndarray
    low_x: np.ndarray
    high_x: np.ndarray
    span_y: np.ndarray

    @property
    def several(self) -> np.ndarray:
        """Of which channels more than one or two values are far from the mean of x."""
        return is_of_several(self.counted * self.power, np.maximum(-self.low_x, self.high_x))

    @property
    def squares(self) -> np.ndarray:
        """The mean square of x."""
        return np.asarray(self.power + self.mean_x**2)

    @property
    def largest(self) -> np.ndarray:
        """The largest absolute value of x."""
        return np.asarray(np.maximum(abs(self.mean_x + self.low_x), abs(self.mean_x + self.high_x)))

    def products(self, zero_point: float | np.ndarray) -> np.ndarray:
        """Return the mean product of x and y - zero_point."""
        return np.asarray(self.product + self.mean_x * (self.mean_y - zero_point))

    def together(self) -> Moments:
        """Return the moments of all channels as one; zeros if less than two values count."""
        count = int(self.counted.sum())
        if count < 2:
            return Moments(0.0, 0.0, 0.0, 0.0)
        mean_x, mean_y = (float(self.counted @ mean) / count for mean in (self.mean_x, self.mean_y))
        dx, dy = self.mean_x - mean_x, self.mean_y - mean_y
        power, product = (float(self.counted @ each) / count for each in (self.power + dx * dx, self.product + dx * dy))
        return Moments(mean_x, mean_y, power, product)

    def with_rows(self, rows: np.ndarray, of_rows: ChannelMoments) -> ChannelMoments:
        """Return the moments, those of the channels `rows` exchanged for others."""
        changed = [x.copy() for x in self]
        for x, new in zip(changed, of_rows):
            x[rows] = new
        return ChannelMoments(*changed)


def is_of_several(squares: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Return whether a sum of squares is of more than one or two values, given the largest of these, by size."""
    return np.asarray(squares >= (SEVERAL - _EQUAL) * np.square(largest))


def channel_moments(x: np.ndarray, y: np.ndarray, inner: np.ndarray | None = None) -> ChannelMoments:
    """Return the moments of (channels, values), of which those that are `inner` count; None: all."""
    counts = np.full(len(x), x.shape[1]) if inner is None else np.count_nonzero(inner, axis=1)
    count = np.maximum(counts, 1)
    mean_x, mean_y = (z.mean(1) if inner is None else (z * inner).sum(1) / count for z in (x, y))
    empty = np.flatnonzero(counts == 0)
    mean_x[empty], mean_y[empty] = x[empty].mean(1), y[empty].mean(1)
    dx, dy = x - mean_x[:, None], y - mean_y[:, None]
    if inner is not None:  # what does not count is 0 in every sum, and between the ends
        dx *= inner
        dy *= inner
    power, product = (np.einsum("cn,cn->c", dx, z) / count for z in (dx, dy))
    return ChannelMoments(counts, mean_x, mean_y, power, product, dx.min(1), dx.max(1), np.ptp(dy, 1))
