"""An image that is a model's input: its pixels, how they were declared to be made into it, and what else is made.

What is made of the pixels is described before it is computed: most of it is never needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ...frames import usual
from ...layouts import COLOR_ORDERS, SWAPPED_ORDERS
from ...recordings import normalisation
from .picture_borders import border_around

_NEAR = 1e-3  # values so far outside a range still belong to it
_ROUNDING = 1e-6  # of a mean: values that differ by less are the same in float32
_SOME = 1 << 14  # values, of which those that differ much prove that all differ
_EVERY = 16  # of these, first
_PIECE = 1 << 15  # values, which stay in the second level of cache
_VARIES = 0.01  # of the largest value: rounding to float32 is far less than any deviation that matters
_BLANK, _BLANKER = 1.0, 8  # pixel values by which a blank picture varies, and times that a picture varies more

LETTERBOX = "letterbox"  # how frames are resized, if nothing else is declared

_BYTES = (np.dtype(np.uint8), np.dtype(np.int8))

FLIPPED = {color: SWAPPED_ORDERS[color] for color in COLOR_ORDERS}

How = dict[str, Any]
Id = tuple[Any, ...]  # what is tried, by its first word, and how
Wanted = Callable[[Id], bool]  # whether to make the way of an id


class MadeInput:
    """An input that is made when it is needed, with its mean, its deviation and some of its values.

    make: returns it; mean, deviation: if they are known without it; some: returns these values without it.
    """

    def __init__(
        self,
        make: Callable[[], np.ndarray],
        mean: float | None = None,
        deviation: float | None = None,
        some: Callable[[], np.ndarray] | None = None,
    ) -> None:
        self._make, self._mean, self._deviation, self._some = make, mean, deviation, some

    @cached_property
    def x(self) -> np.ndarray:
        """The input."""
        return np.ascontiguousarray(self._make())

    @cached_property
    def _figures(self) -> tuple[float, float]:
        if self._mean is None or self._deviation is None:
            return _mean_and_deviation(self.x.reshape(-1))
        return self._mean, self._deviation

    @property
    def mean(self) -> float:
        """Its mean."""
        return self._figures[0]

    @property
    def deviation(self) -> float:
        """Its standard deviation."""
        return self._figures[1]

    @cached_property
    def some(self) -> np.ndarray:
        """Some of its values, of any other input of this shape those at the same places."""
        return some_of(self.x) if self._some is None else self._some()

    @cached_property
    def _few(self) -> np.ndarray:
        """Some of these, side by side in memory: they are compared with those of every other way."""
        return self.some[::_EVERY].copy()

    def is_like(self, other: MadeInput, share: float) -> bool:
        """Whether it differs by less than a share of the other's deviation, root mean square."""
        far = share * other.deviation
        if max(abs(self.mean - other.mean), abs(self.deviation - other.deviation)) > _slack(other, share):
            return False  # neither differs by more than the values do
        most = (far**2 + (_ROUNDING * other.mean) ** 2) * self.x.size
        for mine, others in ((self._few, other._few), (self.some, other.some)):  # what few exceed, more exceed too
            if float(np.square(mine - others).sum()) > most:
                return False
        return not _differs_by_more(self.x.reshape(-1), other.x.reshape(-1), most)


def _slack(other: MadeInput, share: float) -> float:
    """Return by how much mean and deviation of what is like another input may differ from the other's."""
    return share * other.deviation * (1 + _ROUNDING) + _ROUNDING * abs(other.mean)


class MadeInputs:
    """Inputs that were made, and of which none is like another one. share: as of `MadeInput.is_like`."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._all: list[MadeInput] = []  # the columns of the figures
        self._figures = np.empty((3, 0))  # mean, deviation and slack of each

    def first_like(self, made: MadeInput) -> MadeInput:
        """Return the first one that an input is like; the input itself, which is added, if it is like none."""
        means, deviations, slack = self._figures
        apart = np.maximum(abs(made.mean - means), abs(made.deviation - deviations)) > slack
        near = (self._all[i] for i in np.flatnonzero(~apart))  # of most, the means alone differ by more
        found = next((other for other in near if other is made or made.is_like(other, self._share)), None)
        if found is not None:
            return found
        figures = np.array([[made.mean], [made.deviation], [_slack(made, self._share)]])
        self._all.append(made)
        self._figures = np.concatenate([self._figures, figures], 1)
        return made


def _pieces(size: int) -> Iterator[slice]:
    return (slice(start, start + _PIECE) for start in range(0, size, _PIECE))


def _mean_and_deviation(x: np.ndarray) -> tuple[float, float]:
    """Return mean and standard deviation of values, 1-D, in one pass over pieces that stay in a cache."""
    about = x.dtype.type(some_of(x).mean(dtype=np.float64))  # near the mean, so that no digits are lost
    total = power = 0.0
    piece = np.empty(min(_PIECE, x.size), x.dtype)
    for part in _pieces(x.size):
        off = np.subtract(x[part], about, out=piece[: len(x[part])])
        total += float(off.sum())
        power += float(off @ off)
    mean = total / x.size
    return float(about) + mean, math.sqrt(max(power / x.size - mean * mean, 0.0))


def _differs_by_more(x: np.ndarray, other: np.ndarray, most: float) -> bool:
    """Whether the squares of the differences add up to more: known without a look at the rest once they do."""
    power = 0.0
    for part in _pieces(x.size):
        piece = x[part] - other[part]
        power += float(piece @ piece)
        if power > most:
            return True
    return False


class Integers(NamedTuple):
    """Integers of one byte, with one scale and zero point."""

    dtype: np.dtype[Any]
    scale: float
    zero_point: float

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value that they stand for."""
        low, high = (
            (end - self.zero_point) * self.scale for end in (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max)
        )
        return float(low), float(high)

    def stored(self, values: np.ndarray) -> np.ndarray:
        """Return the integers of values, as floats."""
        low, high = np.iinfo(self.dtype).min, np.iinfo(self.dtype).max
        return np.asarray(np.clip(np.rint(values / self.scale + self.zero_point), low, high))

    def values(self, stored: np.ndarray) -> np.ndarray:
        """Return what integers stand for."""
        return np.asarray((stored - self.zero_point) * self.scale)


class Way(NamedTuple):
    """Another way to make an input: a Variant whose input is not made yet."""

    id: Id
    text: str
    fix: How | None
    made: MadeInput
    cause: str = "preprocessing"
    combines: bool = False


def _wide_enough(x: np.ndarray) -> type[np.floating[Any]]:
    """Return the dtype in which an input is made in other ways: float32, if it has that and is no blank picture."""
    if x.dtype != np.float32:
        return np.float64
    largest = max(float(x.max()), -float(x.min()))
    varies = largest < np.inf and _mean_and_deviation(x.reshape(-1))[1] > _VARIES * largest
    return np.float32 if varies else np.float64


def some_of(x: np.ndarray) -> np.ndarray:
    """Return some of the values, spread over the array."""
    flat = x.reshape(-1)
    return flat[:: max(1, flat.size // _SOME) | 1]  # of odd steps: in no column of a picture alone


class Image:
    """A model's input, its pixels, and how they were declared to be made into it.

    Parameters
    ----------
    x, axis
        The input, and the axis of its channels.
    meta
        The recording's, with "preprocess".
    spec
        Of the recorded buffer, if it has one: the order of its channels, and what its integers mean.
    """

    def __init__(self, x: np.ndarray, axis: int, meta: Mapping[str, Any], spec: TensorSpec | None) -> None:
        self.x, self.dtype, self.axis = np.asarray(x, _wide_enough(x)), x.dtype, axis
        self.channels = x.shape[axis]
        self.base: How = dict(meta.get("preprocess") or {})
        self.color = self.base.get("color", "RGB")
        self.stored = spec.channels if spec is not None and self.channels == 3 else None
        self._spec = spec
        affine = _affine(meta, x, self.channels)
        self.known = affine is not None
        self.mean: np.ndarray
        self.std: np.ndarray
        self.mean, self.std = (np.zeros(self.channels), np.ones(self.channels)) if affine is None else affine

    @cached_property
    def given(self) -> MadeInput:
        """The input as it was recorded."""
        return MadeInput(lambda: self.x)

    @property
    def integers(self) -> Integers | None:
        """What the bytes of the recorded buffer are; None if they are no integers of one scale: pixels have none."""
        q = None if self._spec is None else self._spec.quantization
        if self._spec is None or q is None or q.axis is not None or self._spec.element.nibbles:
            return None
        dtype = self._spec.element.unpacked
        return Integers(dtype, float(q.scale), float(q.zero_point)) if dtype in _BYTES else None

    @cached_property
    def pixels(self) -> np.ndarray:
        """The pixel values, as far as mean and std are known."""
        pixels: np.ndarray = self.x * self.along(self.std)
        pixels += self.along(self.mean)
        return pixels

    @property
    def pad(self) -> np.ndarray:
        """The declared border's pixel value of each channel."""
        return np.broadcast_to(np.asarray(self.base.get("pad_value", 114), float), self.mean.shape)

    @cached_property
    def border(self) -> np.ndarray | None:
        """Which pixels (H, W) are the declared border: whole rows and columns at the sides; None without one."""
        if not (self.known and str(self.base.get("resize", LETTERBOX)).startswith(LETTERBOX)):
            return None
        return border_around(np.moveaxis(self.pixels, self.axis, 3), self.pad)

    @cached_property
    def _of_channels(self) -> tuple[np.ndarray, ...]:
        """Mean, variance, least and largest of each channel of the pixels."""
        planes = [plane.reshape(-1) for plane in np.moveaxis(self.pixels, self.axis, 0)]
        figures = np.array([[*_mean_and_deviation(p), p.min(), p.max()] for p in planes])
        return figures[:, 0], figures[:, 1] ** 2, figures[:, 2], figures[:, 3]

    @cached_property
    def _some(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Some of the pixels, those in the channels from the other end, and the channels of the former."""
        places = some_of(np.arange(self.x.size))
        inner = int(np.prod(self.x.shape[self.axis + 1 :]))
        channel = places // inner % self.channels
        flat = self.pixels.reshape(-1)
        return flat[places], flat[places + (self.channels - 1 - 2 * channel) * inner], channel

    def along(self, values: np.ndarray) -> np.ndarray:
        """Return a value for each channel in a shape that is broadcast over the input, in its dtype."""
        return values.astype(self.x.dtype).reshape([self.channels if i == self.axis else 1 for i in range(4)])

    def normalised(self, pixels: np.ndarray) -> np.ndarray:
        """Return what the declared mean and std make of pixels."""
        made: np.ndarray = np.subtract(pixels, self.along(self.mean), dtype=self.x.dtype, order="C")
        made /= self.along(self.std)
        return made

    def scaled(self, mean: np.ndarray, std: np.ndarray, flipped: bool) -> tuple[MadeInput, float, float]:
        """Return what another mean and std make of the pixels, with its least and its largest value.

        flipped: of the pixels with their channels in reverse.
        """
        means, variances, least, largest = (v[::-1] if flipped else v for v in self._of_channels)

        def make() -> np.ndarray:
            pixels = np.flip(self.pixels, self.axis) if flipped else self.pixels
            made: np.ndarray = np.subtract(pixels, self.along(mean))
            made /= self.along(std)
            return made

        def values() -> np.ndarray:
            some, from_the_end, channel = self._some
            return np.asarray(((from_the_end if flipped else some) - mean[channel]) / std[channel])

        centre = (means - mean) / std
        variance = float((variances / std**2).mean() + centre.var())
        made = MadeInput(make, float(centre.mean()), float(np.sqrt(variance)), values)
        both = np.stack([(least - mean) / std, (largest - mean) / std])
        return made, float(both.min()), float(both.max())

    def declared(self, mean: np.ndarray, std: np.ndarray) -> How:
        """Return mean and std as arguments; {} if the declared ones are not known."""
        return {"mean": plain(mean), "std": plain(std)} if self.known else {}

    def as_stored(self, x: np.ndarray) -> np.ndarray:
        """Return a tensor of the model with the channels of the buffer, or one of the buffer with the model's."""
        return x if self.stored in (None, self.color) else np.flip(x, self.axis)

    def is_blank(self, made: MadeInput) -> bool:
        """Whether what was made of a picture that varies hardly does."""
        own, left = (deviation * float(self.std.mean()) for deviation in (self.given.deviation, made.deviation))
        return left < _BLANK < own / _BLANKER

    @property
    def letters(self) -> str:
        """The letters of its axes."""
        return ("NCHW", "NHWC")[self.axis == 3]

    @property
    def how(self) -> How:
        """All arguments that are known."""
        return {**self.base, **self.declared(self.mean, self.std)}


def _affine(meta: Mapping[str, Any], x: np.ndarray, channels: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the declared (mean, std); without one, the usual one with the range of `x`; None if there is none."""
    declared = normalisation(meta, channels)
    if {"mean", "std"} & set(meta.get("preprocess") or {}):
        return declared
    low, high = float(np.min(x)), float(np.max(x))
    narrowest_first = sorted(usual("RGB", 1).values(), key=lambda both: -both[1][0])
    for (mean,), (std,) in narrowest_first:
        if -mean / std - _NEAR <= low and high <= (255 - mean) / std + _NEAR:
            return np.full(channels, mean), np.full(channels, std)
    return None


def plain(values: np.ndarray) -> list[float]:
    """Return numbers as Python's."""
    return [float(v) for v in values]
