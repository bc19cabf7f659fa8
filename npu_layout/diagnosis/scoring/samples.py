"""Sample tensors at the same places in every frame: the stored values, and the model's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import numpy as np

from ...buffers import TensorSpec, unpack_nibbles
from ...engines import axes_in_model
from ...support import finite

_SAMPLES = 8192  # places in each frame, shared by the channels
_FEWEST = 32  # places of each channel, if it has so many

Matrix = np.ndarray
Numbers = Union[float, np.ndarray]  # one for all, or one for each


class Samples:
    """Places in a tensor of the model's `shape`, the same in each frame.

    Half of them are far from the mean of their channel in some frame; every channel has the same number.

    Attributes
    ----------
    index
        The places, (rank, places).
    channel
        The channel of each place.
    count
        Places of one channel.
    """

    def __init__(self, references: Sequence[np.ndarray], channel_axis: int | None) -> None:
        self.shape, self.channel_axis = references[0].shape, channel_axis
        size = references[0].size
        channels = 1 if channel_axis is None else self.shape[channel_axis]
        rest = size // channels
        count = min(rest, max(_SAMPLES // channels, _FEWEST))
        rng = np.random.default_rng(0)
        pool = np.sort(rng.choice(rest, min(rest, 6 * count), replace=False))
        far = np.zeros((channels, len(pool)))
        for reference in references:
            values = by_channel(finite(reference), channel_axis)
            np.maximum(far, np.abs(values[:, pool] - values.mean(1, keepdims=True)), out=far)
        order = np.argsort(-far, 1, kind="stable")[:, : (count + 1) // 2]
        rows = []
        for chosen in order:
            others = np.ones(len(pool), bool)
            others[chosen] = False
            others = rng.permutation(np.flatnonzero(others))[: count - len(chosen)]
            rows.append(pool[np.concatenate([chosen, others])])
        places = np.stack(rows)
        self.count = places.shape[1]
        self.channel = np.repeat(np.arange(channels), self.count)
        rest_shape = [n for i, n in enumerate(self.shape) if i != channel_axis]
        index = list(np.unravel_index(places.ravel(), rest_shape)) if rest_shape else []
        if channel_axis is not None:
            index.insert(channel_axis, self.channel)
        self.index = tuple(np.asarray(i) for i in index)
        self._flat = np.ravel_multi_index(self.index, self.shape) if index else np.zeros((), int)

    def of(self, tensor: np.ndarray, order: np.ndarray | None = None) -> Matrix:
        """Return the values of a tensor, float64 (places,). `order`: which of its channels is read for each."""
        flat = self._flat
        if order is not None:
            assert self.channel_axis is not None
            index = list(self.index)
            index[self.channel_axis] = order[self.channel]
            flat = np.ravel_multi_index(tuple(index), self.shape)
        return np.asarray(finite(tensor.reshape(-1)[flat]), np.float64)

    def finite_in(self, tensor: np.ndarray) -> np.ndarray:
        """Return where a tensor's values, as `of` returns them, are neither NaN nor infinite."""
        return np.asarray(np.isfinite(tensor.reshape(-1)[self._flat]))

    def placed(self, spec: TensorSpec) -> list[Any]:
        """Return the index of the places along the axes of `spec`."""
        placed: list[Any] = [0] * len(self.index)
        for model, own in enumerate(axes_in_model(spec.axes)):
            placed[own] = self.index[model]
        return placed


def by_channel(x: np.ndarray, axis: int | None) -> np.ndarray:
    """Return the array as (channels, everything else)."""
    return np.asarray(x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1))


def stored(spec: TensorSpec, buffer: Any) -> np.ndarray:
    """Return the buffer's elements as numbers, 1-D, nothing dequantised."""
    flat = spec.flat(buffer)
    if spec.element.nibbles:
        return unpack_nibbles(flat, spec.element, spec.size)
    if spec.element.buffer != spec.element.unpacked and spec.element.unpacked.kind == "f" and flat.dtype.kind == "u":
        return TensorSpec((len(flat),), "N", spec.dtype).unpack(flat)
    return flat


def read(spec: TensorSpec, elements: np.ndarray, samples: Samples) -> Matrix:
    """Return the stored values that `spec` reads at the samples, float64 (places,)."""
    return np.asarray(read_all(spec, [elements], samples)[0])


def read_all(spec: TensorSpec, frames: Sequence[np.ndarray], samples: Samples) -> Matrix:
    """Return the stored values that `spec` reads in the elements of each frame, float64 (frames, places)."""
    return read_at(np.asarray(spec.offset(*samples.placed(spec))), frames)


def read_at(offsets: np.ndarray, frames: Sequence[np.ndarray]) -> Matrix:
    """Return the elements of each frame that have these offsets, float64 (frames, places)."""
    read = np.empty((len(frames), *offsets.shape))
    for row, elements in zip(read, frames):
        row[...] = finite(elements.take(offsets))
    return read


def finite_at(spec: TensorSpec, frames: Sequence[np.ndarray], samples: Samples) -> np.ndarray:
    """Return where the elements that `read_all` returns are neither NaN nor infinite, bool (frames, places)."""
    offsets = np.asarray(spec.offset(*samples.placed(spec)))
    return np.stack([np.isfinite(elements.take(offsets)) for elements in frames])


def ends(spec: TensorSpec) -> tuple[float, float]:
    """Return the lowest and the highest value that can be stored."""
    kind = spec.element
    if kind.unpacked.kind == "f":
        most = float(np.finfo(kind.unpacked).max)
        return -most, most
    if kind.unpacked.kind == "b":
        return 0, 1
    info = np.iinfo(kind.unpacked)
    return (info.min / 16, info.max // 16) if kind.nibbles else (info.min, info.max)


def arithmetic(spec: TensorSpec, samples: Samples) -> tuple[Numbers, Numbers]:
    """Return the scale and the zero point of each sample, or of all."""
    q = spec.quantization
    if q is None:
        return 1.0, 0.0
    if q.axis is None:
        return float(q.scale), float(q.zero_point)
    along = samples.index[axes_in_model(spec.axes).index(q.axis % len(spec.axes))]
    return np.asarray(q.scale, np.float64)[along], np.asarray(q.zero_point, np.float64)[along]


def predicted(spec: TensorSpec, samples: Samples, wanted: Matrix) -> Matrix:
    """Return what is stored for the real values `wanted` under the quantization of `spec`, saturated, not rounded."""
    scale, zero_point = arithmetic(spec, samples)
    found = np.asarray(wanted / scale)
    found += zero_point
    return np.clip(found, *ends(spec), out=found)


def beyond(spec: TensorSpec, samples: Samples, wanted: Matrix, steps: float = 0.5) -> np.ndarray:
    """Return which of some real values at the samples are further out of the range of `spec` than so many steps."""
    scale, zero_point = arithmetic(spec, samples)
    codes, (low, high) = wanted / scale + zero_point, ends(spec)
    return np.asarray((codes < low - steps) | (codes > high + steps))
