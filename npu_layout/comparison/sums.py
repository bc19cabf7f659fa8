"""Add up the values of a frame by channel, by place and as a whole, all in one pass over pieces that stay in the cache.

Values are added up as float64 whatever their dtype is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_PIECE = 1 << 16  # values, of which a few arrays fit the second level of cache


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
    change
        `squares` and `products` of the differences from the model's values of the frame before.
    """

    axis: int | None
    channels: Sums
    places: Sums
    device_squares: np.ndarray
    largest: np.ndarray
    change: np.ndarray

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


def sums_of(device: np.ndarray, model: np.ndarray, axis: int | None, before: np.ndarray) -> FrameSums:
    """Return the sums of a frame: finite floats of one shape, in the model's axes order.

    before: the model's values of the frame before.
    """
    d3, m3, b3 = (in_channels(x, axis) for x in (device, model, before))
    rows, count, columns = m3.shape
    channels, places = Sums.none(rows * columns, (count,)), Sums.none(count, (rows, columns))
    device_squares, largest, change = np.zeros(count), np.zeros(count), np.zeros(2)
    add = np.add.reduce
    for a, c in _pieces(m3.shape):
        m, d, b = (x[a, c].astype(np.float64) for x in (m3, d3, b3))
        error, other = d - m, np.empty(m.shape)
        for k, (x, y) in enumerate(((m, None), (d, None), (m, m), (m, d), (error, error)), 1):
            values = x if y is None else np.multiply(x, y, out=other)
            channels[k][c] += add(values, axis=(0, 2))
            places[k][a] += add(values, axis=1)
        largest[c] = np.maximum(largest[c], np.maximum.reduce(other, axis=(0, 2)))
        device_squares[c] += add(np.multiply(d, d, out=other), axis=(0, 2))
        m -= b
        d -= b
        change += [add(np.multiply(m, x, out=other), axis=None) for x in (m, d)]
        for k, (further, x) in enumerate(zip(2 * (np.minimum, np.maximum), (m3, m3, d3, d3)), 6):
            channels[k][c] = further(channels[k][c], further.reduce(x[a, c], axis=(0, 2)))
            places[k][a] = further(places[k][a], further.reduce(x[a, c], axis=1))
    rest = tuple(n for k, n in enumerate(model.shape) if k != axis)
    return FrameSums(axis, channels, Sums(*(x.reshape(rest) for x in places)), device_squares, largest, change)


def _pieces(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Yield slices of (rows, channels, columns) along the first two."""
    rows, count, columns = shape
    channels = min(count, max(_PIECE // max(columns, 1), 1))
    step = max(_PIECE // max(channels * columns, 1), 1) if channels == count else 1
    for a in range(0, rows, step):
        for c in range(0, count, channels):
            yield slice(a, a + step), slice(c, c + channels)
