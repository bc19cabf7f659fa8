"""Means, variance and covariance of values of two arrays, the lines that follow from them, and how many values err."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .samples import Matrix

_FEW = 1024  # numbers, which are sorted as fast as they are parted


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


def moments_of(x: Matrix, y: Matrix) -> Moments:
    """Return the moments of two arrays; zeros if these have less than two values."""
    if x.size < 2:
        return Moments(0.0, 0.0, 0.0, 0.0)
    mean_x, mean_y = float(x.mean()), float(y.mean())
    dx, dy = x - mean_x, y - mean_y
    return Moments(mean_x, mean_y, *(float(np.multiply(dx, z, out=z).sum()) / x.size for z in (dx.copy(), dy)))


def that_err(left: np.ndarray) -> float:
    """Return how many errors of one size vary as much in their sum of squares as these.

    A third of normal ones; one, if the error of one value is all that matters, as that of the class that is named in a
    vector of probabilities.
    """
    squares = np.square(left)
    total = float(squares.sum())
    return total**2 / max(float(np.square(squares, out=squares).sum()), 1e-300)


def share_of_its_own(left: np.ndarray) -> float:
    """Return which share of the values err by themselves: an error that is the same in all frames counts once.

    left: (frames, places). Of errors of their own, the mean of n frames has an nth of their power.
    """
    alone, together = float(np.square(left).mean()) / len(left), float(np.square(left.mean(0)).mean())
    return min(alone / together, 1.0) if together > 0 else 1.0


def smaller_half(sizes: np.ndarray) -> np.ndarray:
    """Return which sizes are the smaller ones, of half of the sum of squares; of equal ones the first.

    The limit is looked for in the half of the sizes that it is in, until these are few: they need not all be sorted.
    """
    left = sizes.reshape(-1)
    half, below, count = float(left @ left) / 2, 0.0, 0
    while left.size > _FEW:
        middle = left.size // 2
        parted = np.partition(left, middle)
        power = float(parted[:middle] @ parted[:middle])
        if below + power >= half:
            left = parted[:middle]
        else:
            left, below, count = parted[middle:], below + power, count + middle
    if not left.size:
        return np.zeros(sizes.shape, bool)
    left = np.sort(left)
    last = min(int(np.searchsorted(below + np.cumsum(left * left), half)), left.size - 1)
    smaller = np.asarray(sizes < left[last])
    equal = np.flatnonzero(sizes == left[last])
    smaller.reshape(-1)[equal[: count + last - np.count_nonzero(smaller)]] = True
    return smaller


def line(x: Matrix, y: Matrix) -> tuple[float, float]:
    """Return slope and offset of y over x; slope 0 if there is none."""
    found = moments_of(x, y)
    return found.slope, found.offset
