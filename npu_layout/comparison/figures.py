"""Compute the figures of one output, device against reference, frame by frame in constant memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .clamping import Clamped, Clamping
from .labels import Labels
from .parts import Parts
from .sums import Sums, in_channels

FLOAT16_MOST = 65504.0  # the largest finite float16 (IEEE 754)
MOST_DB = 200.0  # dB of values that are equal to the last bit
_ROUNDED = 1e-12  # of a square: more than its rounding


class Figures(NamedTuple):
    """How far a device's values are from the reference's.

    `values` is how many were compared. `max_abs` is the largest absolute error, in real values, `at` its index in the
    model's order of axes, and `frame` its frame. `max_steps` is the largest error in quantisation steps (None for
    floats). `argmax_agreement` is the share of positions at which the reference's largest channel is one of the
    device's largest, and not because all are equal; for labels, the share at which they are the same; None if there is
    one channel. `low` and `high` are the reference's range, `device_low` and `device_high` the device's.
    """

    values: int
    max_abs: float
    at: tuple[int, ...]
    frame: int
    cosine: float
    snr_db: float
    max_steps: float | None
    argmax_agreement: float | None
    low: float
    high: float
    device_low: float
    device_high: float


def decibels(power: float, error: float) -> float:
    """Return ``10 log10(power / error)``, within +-MOST_DB."""
    if error <= 0 or power <= 0:
        return MOST_DB if error <= 0 else -MOST_DB
    return float(min(max(10 * math.log10(power / error), -MOST_DB), MOST_DB))


class OutputComparison:
    """Compare a device's output with the reference, frame by frame, in sums that do not grow with their number.

    Parameters
    ----------
    channel_axis
        The channels' axis in the model's order, or None: all is one channel.
    step
        Real size of a quantisation step: a number, an array along the channels, one that is broadcast to the outputs'
        shape, or None for floats.
    ends
        Lowest and highest value that the device can store: numbers, or arrays along the channels.
    labels
        Whether the values are class numbers.
    """

    def __init__(
        self, channel_axis: int | None, step: Any = None, ends: Any = (-np.inf, np.inf), labels: bool = False
    ) -> None:
        self.labels = Labels() if labels else None
        self._range = [np.atleast_1d(np.asarray(end, np.float64)) for end in ends]
        self.channel_axis, self._step = channel_axis, None if step is None else np.asarray(step, np.float64)
        self.frames = self.values = self.non_finite = self.overflows = self._agreed = self._positions = 0
        self.device_alone = 0
        self.first_non_finite: tuple[int, tuple[int, ...]] | None = None  #: frame and index
        self._sums: np.ndarray | None = None
        self._varies = self._step is not None and self._step.ndim > 1  # within a channel
        coarsest = 0.0 if self._step is None else self._step.max() if self._varies else self._step
        self.parts = Parts(channel_axis, coarsest, self._range)
        self.position_error: np.ndarray | None = None  #: mean squared error at each place of the last two axes

    def add(self, frame: int, device: np.ndarray, reference: np.ndarray, *, fixed: bool = False) -> None:
        """Add a frame: arrays of one shape, in the model's axes order.

        fixed: whether nobody changes them until the next frame is added; else they are copied. An element that is not
        finite on one side and different on the other counts as `non_finite`, as `device_alone` if the reference is
        finite there, and among `overflows` if the device's is infinite where the reference is finite, beyond float16,
        and has that sign. Every other figure ignores elements that are not finite on either side.
        """
        d, r = (_floats(x) for x in (device, reference))
        self.values += r.size
        whole = _all_finite(d) and _all_finite(r)
        if not whole:
            finite = np.isfinite(d) & np.isfinite(r)
            odd = ~finite & ~((d == r) | (np.isnan(d) & np.isnan(r)))
            self.non_finite += int(odd.sum())
            self.device_alone += int((odd & np.isfinite(r)).sum())
            if self.first_non_finite is None and odd.any():
                at = np.unravel_index(int(odd.argmax()), odd.shape)
                self.first_non_finite = frame, tuple(int(i) for i in at)
            beyond = np.where(np.isfinite(r), r, r.dtype.type(0))
            self.overflows += int((np.isinf(d) & (np.abs(beyond) > FLOAT16_MOST) & (np.sign(d) == np.sign(r))).sum())
            d, r = np.where(finite, d, d.dtype.type(0)), np.where(finite, r, r.dtype.type(0))
        sums = self.parts.add(frame, d, r, fixed)
        by_channel = sums.channels
        if self._sums is None:
            self._start(len(by_channel.values), reference.shape)
        assert self._sums is not None
        count = by_channel.values if whole else self._by_channel(finite).sum(1)
        self._sums += [count, by_channel.squares, sums.device_squares, by_channel.products, by_channel.error]
        self._add_largest(frame, d, r, sums.largest)
        self._add_ends(d, r, by_channel, None if whole else self._by_channel(finite))
        if self.labels is not None:
            self.labels.add(*(self._by_channel(x).astype(np.float64) for x in (d, r)))
            self._agreed, self._positions = self.labels.equal, self.labels.places
        elif len(count) > 1:
            self._add_agreement(d, r, sums.places)
        self._add_position_error(sums.places.error / len(count))
        self.frames += 1

    def _add_largest(self, frame: int, d: np.ndarray, r: np.ndarray, squares: np.ndarray) -> None:
        """Note the largest errors so far. squares: of the largest one of each channel in this frame."""
        d3, r3 = (in_channels(x, self.channel_axis) for x in (d, r))
        known = np.where(self._largest < 0, 0.0, self._largest)
        for c in np.flatnonzero(squares >= known * known * (1 - _ROUNDED)):
            error = d3[:, c].astype(np.float64)
            error -= r3[:, c]
            error = np.abs(error, out=error).ravel()
            worst = int(error.argmax())
            if error[worst] > self._largest[c]:
                self._largest[c], self._at[c] = error[worst], (frame, worst)
        if self._varies and self._step is not None:
            step = self._by_channel(np.broadcast_to(self._step, r.shape))
            error = np.abs(self._by_channel(d).astype(np.float64) - self._by_channel(r))
            np.maximum(self._most_steps, (error / step).max(1), out=self._most_steps)

    def _add_ends(self, d: np.ndarray, r: np.ndarray, sums: Sums, finite: np.ndarray | None) -> None:
        """Count what the device cannot store, and note the ends of what is finite (None: all)."""
        low, high = self._ends
        beyond = np.flatnonzero((sums.low < low) | (sums.high > high))
        if beyond.size:
            self._clamping.add(beyond, *(self._by_channel(x)[beyond] for x in (d, r)))
        ends: Sequence[np.ndarray] = sums[6:]
        if finite is not None:
            ends = [
                further.reduce(np.where(finite, self._by_channel(x), end), axis=1)
                for x in (r, d)
                for further, end in ((np.minimum, np.inf), (np.maximum, -np.inf))
            ]
        for into, found, further in zip(
            (self._low, self._high, self._device_low, self._device_high), ends, 2 * (np.minimum, np.maximum)
        ):
            further(into, found, out=into)

    def _add_agreement(self, d: np.ndarray, r: np.ndarray, sums: Sums) -> None:
        """Count at how many places the model's first largest channel is one of the device's."""
        d3, r3 = (in_channels(x, self.channel_axis) for x in (d, r))
        before, _, after = r3.shape
        low, high, device_low, device_high = (x.reshape(before, after) for x in sums[6:])
        found = np.flatnonzero(r3 == high.astype(r3.dtype)[:, None])[::-1]  # the first channel is assigned last
        place = found // r3[0].size, found % after
        given = np.empty((before, after))
        given[place] = d3.reshape(-1)[found]
        decided = (device_high > device_low) | (high == low)
        self._agreed += int((decided & (given == device_high)).sum())
        self._positions += before * after

    def _add_position_error(self, squares: np.ndarray) -> None:
        assert self.position_error is not None
        kept = squares.reshape(-1, *self.position_error.shape).mean(0)
        self.position_error += (kept - self.position_error) / (self.frames + 1)

    def _by_channel(self, x: np.ndarray) -> np.ndarray:
        if self.channel_axis is None:
            return x.reshape(1, -1)
        return np.moveaxis(x, self.channel_axis, 0).reshape(x.shape[self.channel_axis], -1)

    def _start(self, channels: int, shape: tuple[int, ...]) -> None:
        self._sums = np.zeros((5, channels))
        low, high = self._ends = tuple(np.broadcast_to(end, channels) for end in self._range)
        step = self._step
        if step is not None:
            step = self._by_channel(np.broadcast_to(step, shape)) if self._varies else step.reshape(-1, 1)
        self._clamping = Clamping(step, (low, high))
        self._shape = shape
        self._largest, self._at = np.full(channels, -1.0), [(0, 0)] * channels  # frames, and places in the channels
        self._most_steps = np.zeros(channels)
        self._low, self._device_low = np.full((2, channels), np.inf)
        self._high, self._device_high = np.full((2, channels), -np.inf)
        rest = [n for i, n in enumerate(shape) if i != self.channel_axis] or [1]
        self.position_error = np.zeros(rest[-2:])

    def _place(self, channel: int, flat: int) -> tuple[int, ...]:
        if self._largest[channel] < 0:
            return tuple(0 for _ in self._shape)
        rest = [n for i, n in enumerate(self._shape) if i != self.channel_axis]
        place = [int(i) for i in np.unravel_index(flat, rest)] if rest else []
        if self.channel_axis is not None:
            place.insert(self.channel_axis, channel)
        return tuple(place)

    def _in_steps(self) -> np.ndarray | None:
        """Return each channel's largest error in steps."""
        if self._step is None or self._varies:
            return None if self._step is None else self._most_steps
        return np.maximum(self._largest / self._step, 0.0)

    @property
    def channels(self) -> list[Figures]:
        """The figures of each channel."""
        if self._sums is None:
            return []
        found = self._in_steps()
        steps = [None] * self._sums.shape[1] if found is None else found.tolist()
        ends = zip(*(x.tolist() for x in (self._low, self._high, self._device_low, self._device_high)))
        return [
            self._figures(sums, c, limits, most, None)
            for c, (sums, limits, most) in enumerate(zip(self._sums.T.tolist(), ends, steps))
        ]

    @property
    def whole(self) -> Figures | None:
        """The figures of all channels; None if nothing was added."""
        if self._sums is None or not self._sums[0].any():
            return None
        steps = self._in_steps()
        most = None if steps is None else float(steps.max())
        limits = [
            float(x) for x in (self._low.min(), self._high.max(), self._device_low.min(), self._device_high.max())
        ]
        agreement = self._agreed / self._positions if self._positions else None
        return self._figures(self._sums.sum(1).tolist(), int(self._largest.argmax()), limits, most, agreement)

    def _figures(
        self, sums: Sequence[float], worst: int, ends: Sequence[float], steps: float | None, agreement: float | None
    ) -> Figures:
        """Return the figures of these sums, whose largest error is in the channel `worst`."""
        count, rr, dd, rd, ee = sums
        frame, flat = self._at[worst]
        both = math.sqrt(rr) * math.sqrt(dd)
        cosine = 1.0 if not ee else min(1.0, rd / both) if both else 0.0
        return Figures(
            int(count), max(0.0, float(self._largest[worst])), self._place(worst, flat), frame, cosine,
            decibels(rr, ee), steps, agreement, *(end if math.isfinite(end) else 0.0 for end in ends),
        )  # fmt: skip

    @property
    def saturated(self) -> int:
        """How many of the model's values are beyond what the device can store."""
        return 0 if self._sums is None else self._clamping.saturated

    @property
    def clamped(self) -> Clamped | None:
        """What the device clamps, if that matters."""
        return None if self._sums is None else self._clamping.found(self.values, float(self._sums[4].sum()))

    @property
    def dead(self) -> tuple[int, ...]:
        """Channels that the device cannot show: they vary in the reference by less than half a step, not by chance."""
        return tuple(p.at for p in self.parts.lost() if p.axis == self.channel_axis)


def _all_finite(x: np.ndarray) -> bool:
    """Whether every value is finite: so are all whose squares have a finite sum, which takes a fourth of the time."""
    if x.flags.c_contiguous:
        flat = x.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = float(np.dot(flat, flat))
        if math.isfinite(squares):
            return True
    return bool(np.isfinite(x).all())


def _floats(x: np.ndarray) -> np.ndarray:
    """Return the array as floats of 32 or 64 bits."""
    return x if x.dtype in (np.float32, np.float64) else np.asarray(x, np.float64)
