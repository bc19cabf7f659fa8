"""Means, variance and covariance of some values of two arrays, and the lines that follow from them; how many err."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .samples import Matrix


class Moments(NamedTuple):
    """Means of x and y, and their variance and covariance."""

    mean_x: float
    mean_y: float
    power: float
    product: float

    @property
    def slope(self) -> float:
        """The slope of y over x; 0 if there is none."""
        return self.product / self.power if self.power > 0 else 0.0

    @property
    def offset(self) -> float:
        """What y is where x is 0, on the line."""
        return self.mean_y - self.slope * self.mean_x

    def through(self, zero_point: float) -> float | None:
        """Return the scale of the line through a zero point: x over y - zero_point, that regressed on x."""
        along = self.product + self.mean_x * (self.mean_y - zero_point)
        return (self.power + self.mean_x**2) / along if along > 0 else None


def moments_of(x: Matrix, y: Matrix, inner: np.ndarray) -> Moments:
    """Return the moments of the values that are `inner`; zeros if these are less than two."""
    count = int(np.count_nonzero(inner))
    if count < 2:
        return Moments(0.0, 0.0, 0.0, 0.0)
    if count == inner.size:
        mean_x, mean_y = float(x.mean()), float(y.mean())
        dx, dy = x - mean_x, y - mean_y
    else:  # what does not count is 0 in every sum
        mean_x, mean_y = (float((z * inner).sum()) / count for z in (x, y))
        dx, dy = x - mean_x, y - mean_y
        dx *= inner
    return Moments(mean_x, mean_y, *(float(np.multiply(dx, z, out=z).sum()) / count for z in (dx.copy(), dy)))


def that_err(left: np.ndarray) -> float:
    """Return how many errors of one size vary as much in their sum of squares as these.

    A third of normal ones; one, if the error of one value is all that matters, as that of the class that is named in a
    vector of probabilities.
    """
    squares = np.square(left)
    total = float(squares.sum())
    return total**2 / max(float(np.square(squares, out=squares).sum()), 1e-300)


def line(x: Matrix, y: Matrix, inner: np.ndarray) -> tuple[float, float]:
    """Return slope and offset of y over x; slope 0 if there is none."""
    found = moments_of(x, y, inner)
    return found.slope, found.offset
