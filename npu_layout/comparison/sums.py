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

    before: the model's values of the frame before, or `model` itself: then nothing changed.
    """
    d3, m3, b3 = (in_channels(x, axis) for x in (device, model, before))
    rows, count, columns = m3.shape
    channels, places = _Sides((count,)), _Sides((rows, columns))
    largest, change = np.zeros(count), np.zeros(2)
    work = np.empty((6, 0, 0, 0))
    for a, c in _pieces(m3.shape):
        part = m3[a, c]
        work = work if work.shape[1:] == part.shape else np.empty((6, *part.shape))
        m, d, squares, products, error, device_squares = work
        m[...], d[...] = part, d3[a, c]
        np.subtract(d, m, out=error)
        for x, y, out in ((error, error, error), (m, m, squares), (m, d, products), (d, d, device_squares)):
            np.multiply(x, y, out=out)
        channels.add((c,), work, (1, 3))
        places.add((a,), work, 2)
        largest[c] = np.maximum(largest[c], np.maximum.reduce(error, axis=(0, 2)))
        if before is not model:
            of_model, of_device = np.subtract(work[:2], b3[a, c], out=work[2:4]).reshape(2, -1)
            change += of_model @ of_model, of_model @ of_device
    rest = tuple(n for k, n in enumerate(model.shape) if k != axis)
    by_place = Sums(*(x.reshape(rest) for x in places.sums(count)))
    return FrameSums(axis, channels.sums(rows * columns), by_place, channels.added[5], largest, change)


class _Sides:
    """What is added up by channel or by place: model, device, squares, products, errors and the device's squares.

    low, high: of the model's values and of the device's.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.added = np.zeros((6, *shape))
        self.low, self.high = np.full((2, *shape), np.inf), np.full((2, *shape), -np.inf)

    def add(self, at: tuple[slice, ...], work: np.ndarray, axes: int | tuple[int, ...]) -> None:
        """Add the values of a piece, (6, rows, channels, columns), over these axes."""
        where = (slice(None), *at)
        self.added[where] += np.add.reduce(work, axis=axes)
        for into, further in ((self.low, np.minimum), (self.high, np.maximum)):
            further(into[where], further.reduce(work[:2], axis=axes), out=into[where])

    def sums(self, values: int) -> Sums:
        """Return the sums of parts of so many values each."""
        (low, device_low), (high, device_high) = self.low, self.high
        found = [np.full(low.shape, float(values)), *self.added[:5], low, high, device_low, device_high]
        return Sums(*found)


def _pieces(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Yield slices of (rows, channels, columns) along the first two."""
    rows, count, columns = shape
    channels = min(count, max(_PIECE // max(columns, 1), 1))
    step = max(_PIECE // max(channels * columns, 1), 1) if channels == count else 1
    for a in range(0, rows, step):
        for c in range(0, count, channels):
            yield slice(a, a + step), slice(c, c + channels)
