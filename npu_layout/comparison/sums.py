"""Add up the values of a frame by channel, by place and as a whole, all in one pass over pieces that stay in the cache.

Values are added up as float64 whatever their dtype is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_PIECE = 1 << 15  # values, of which a few arrays fit the second level of cache


class Sums(NamedTuple):
    """Sums over parts, an array each; `low` and `high` are the ends of the model's values."""

    values: np.ndarray
    model: np.ndarray
    device: np.ndarray
    squares: np.ndarray
    products: np.ndarray
    error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    device_low: np.ndarray
    device_high: np.ndarray

    @classmethod
    def none(cls, values: int, shape: tuple[int, ...]) -> Sums:
        """Return the sums of parts of so many values each, before anything is added to them."""
        ends = (np.full(shape, end) for end in 2 * (np.inf, -np.inf))
        return cls(np.full(shape, float(values)), *np.zeros((5, *shape)), *ends)

    @property
    def peak(self) -> np.ndarray:
        """The model's largest absolute value in each part."""
        return np.asarray(np.maximum(np.abs(self.low), np.abs(self.high)))

    def plus(self, other: Sums) -> Sums:
        """Return the sums of both."""
        merged = [a + b for a, b in zip(self[:6], other[:6])]
        for a, b, further in zip(self[6:], other[6:], 2 * (np.minimum, np.maximum)):
            merged.append(further(a, b))
        return Sums(*merged)

    def over(self, axes: tuple[int, ...]) -> Sums:
        """Return the sums over these axes of the parts; one part if these are all."""
        ends = (f(x, axis=axes) for f, x in zip(2 * (np.min, np.max), self[6:]))
        return Sums(*(np.atleast_1d(x) for x in (*(x.sum(axes) for x in self[:6]), *ends)))


class FrameSums(NamedTuple):
    """The sums of a frame.

    Attributes
    ----------
    axis
        The channels' axis, or None: all is one channel.
    channels, places
        By channel, 1-D, and by place: arrays of the frame's shape without the channels' axis.
    device_squares, largest
        Sum of the device's squares, and largest squared error, of each channel.
    """

    axis: int | None
    channels: Sums
    places: Sums
    device_squares: np.ndarray
    largest: np.ndarray

    def along(self, axis: int) -> Sums:
        """Return the sums of each index of an axis."""
        if axis == self.axis:
            return self.channels
        own = axis - (self.axis is not None and axis > self.axis)
        return self.places.over(tuple(k for k in range(self.places.model.ndim) if k != own))


def in_channels(x: np.ndarray, axis: int | None) -> np.ndarray:
    """Return the array as (before, channels, after): a view if it is contiguous.

    axis: of the channels, or None: all is one channel.
    """
    if axis is None:
        return x.reshape(1, 1, -1)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return x.reshape(int(np.prod(before)), x.shape[axis], int(np.prod(after)))


def sums_of(device: np.ndarray, model: np.ndarray, axis: int | None) -> FrameSums:
    """Return the sums of a frame: finite floats of one shape, in the model's axes order."""
    d3, m3 = (in_channels(x, axis) for x in (device, model))
    before, count, after = m3.shape
    channels, places = Sums.none(before * after, (count,)), Sums.none(count, (before, after))
    device_squares, largest = np.zeros((2, count))
    for a, c in _pieces(m3.shape):
        m, d = (x[a, c].astype(np.float64) for x in (m3, d3))
        error = d - m
        error *= error
        for x, by_channel, by_place in zip((m, d, m * m, m * d, error), channels[1:6], places[1:6]):
            by_channel[c] += x.sum((0, 2))
            by_place[a] += x.sum(1)
        device_squares[c] += np.square(d, out=d).sum((0, 2))
        np.maximum(largest[c], error.max((0, 2)), out=largest[c])
        for ends, along, at in ((channels[6:], (0, 2), c), (places[6:], (1,), a)):
            for into, further, x in zip(ends, 2 * (np.minimum, np.maximum), (m3, m3, d3, d3)):
                further(into[at], further.reduce(x[a, c], axis=along), out=into[at])
    rest = tuple(n for k, n in enumerate(model.shape) if k != axis)
    return FrameSums(axis, channels, Sums(*(x.reshape(rest) for x in places)), device_squares, largest)


def changed(device: np.ndarray, model: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return what Sums has as `model` to `error`, of the differences from the model's values of a frame before.

    All are 1-D.
    """
    total = np.zeros(5)
    for at in range(0, model.size, _PIECE):
        m, d, basis = (x[at : at + _PIECE].astype(np.float64) for x in (model, device, before))
        m -= basis
        d -= basis
        error = d - m
        total += [m.sum(), d.sum(), (m * m).sum(), (m * d).sum(), (error * error).sum()]
    return total


def _pieces(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Yield slices of (before, channels, after) along the first two."""
    before, count, after = shape
    channels = min(count, max(_PIECE // max(after, 1), 1))
    rows = max(_PIECE // max(channels * after, 1), 1) if channels == count else 1
    for a in range(0, before, rows):
        for c in range(0, count, channels):
            yield slice(a, a + rows), slice(c, c + channels)
