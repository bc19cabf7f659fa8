"""Add up the values of a frame by channel, by place and as a whole, all in one pass of the kernels.

Values are added up as float64 whatever their dtype is, in an order that their shape decides: every backend has the same
bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .. import kernels


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
    arrays = [in_channels(x, axis) for x in (device, model, before)]
    rows, count, columns = arrays[0].shape
    turned = columns == 1  # neighbours are channels: these are the columns that the kernels add up
    d, m, b = (x.transpose(2, 0, 1) for x in arrays) if turned else arrays
    by_row, by_column = kernels.sums(d, m, None if before is model else b)
    sides = (by_row, by_column.reshape(len(by_column), -1))
    channels, places = (dict(zip(kernels.BY_ROW, side)) for side in (sides[::-1] if turned else sides))
    change = np.array([by_row[kernels.BY_ROW.index(name)].sum() for name in ("change_squares", "change_products")])
    rest = tuple(n for k, n in enumerate(model.shape) if k != axis)
    by_place = Sums(*(x.reshape(rest) for x in _sums(places, count)))
    return FrameSums(
        axis, _sums(channels, rows * columns), by_place, channels["device_squares"], channels["largest"], change
    )


def _sums(found: Mapping[str, np.ndarray], values: int) -> Sums:
    """Return the sums of parts of so many values each."""
    return Sums(np.full(found["model"].shape, float(values)), *(found[name] for name in Sums._fields[1:]))
