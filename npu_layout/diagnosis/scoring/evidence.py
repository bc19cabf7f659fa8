"""Score how well each way of reading or making an output agrees with the model.

The score is in dB: the variance of the stored values within the channels over that of the error, at samples from all
kept frames, half of them far from the mean. The means of channels do not count, because they agree even between
unrelated images.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ...comparison import decibels
from ...engines import shape_in_model
from ...layouts import Layout
from ...support import finite
from .moments import smaller_half, that_err
from .samples import Matrix, Samples, arithmetic, finite_at, predicted, read_all, stored
from .thresholds import ENOUGH, LEAST, NEIGHBOURS, ROUNDING
from .trials import Candidate, Trial, without_repeats

EXACT = 1e-4  # of the variance: the rounding of 16-bit floats is less
_THERE = 0.05  # of a channel's variance in all frames: with less in some it says nothing in these
_FOLLOWS = 0.01  # of the power of what varies: frames of a scene at rest differ by less
_RECENT = 256  # arrays whose mean squares are kept


class Deviations(NamedTuple):
    """The model's values about the mean of their channel, `off` (channels, samples), and figures of each channel.

    mean, square, low, high: the mean of the values, the mean square about it, and their ends.
    """

    mean: np.ndarray
    off: np.ndarray
    square: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Evidence:
    """One output of the kept frames: device buffers against the model's outputs, under the declared spec.

    Parameters
    ----------
    spec
        The declared spec; if its shape is not the model's, it explains nothing.
    buffers, references
        The device's buffer and the model's output for each kept frame, in order.
    also
        Further tensors whose extreme values are sampled: what the buffer might contain instead.
    channel_axis
        The channels' axis in the model's order, or None: all is one channel. So is a vector of few frames, whose
        channels have too few values to vary; `named_axis` is what messages call its channels.
    like
        Evidence of some of the same buffers, whose searches count here too; None: there is none.
    """

    def __init__(
        self,
        spec: TensorSpec,
        buffers: Sequence[Any],
        references: Sequence[np.ndarray],
        also: Sequence[np.ndarray],
        channel_axis: int | None,
        like: Evidence | None = None,
    ) -> None:
        self.spec, self.buffers, self.references = spec, list(buffers), list(references)
        shape = references[0].shape
        self.letters = Layout.of_rank(len(shape)).axes
        self.named_axis = channel_axis
        self.channel_axis = None if _is_short_vector(references, channel_axis) else channel_axis
        self.samples = Samples([*references, *also], self.channel_axis)
        self.wanted = np.stack([self.samples.of(r) for r in references])
        self.elements = [stored(spec, b) for b in buffers]
        self.fits = shape_in_model(spec) == shape
        self.steps = spec.element.unpacked.kind != "f"
        self.is_whole = spec.quantization is None and all(r.dtype.kind in "biu" for r in references)
        self.informative: np.ndarray | None = None
        self.trials: list[Trial] = []
        self._of_rows: tuple[list[int], Trial] | None = None
        self.searches: dict[tuple[Any, ...], Any] = {} if like is None else like.searches
        self._measured: dict[tuple[int, int, bool], tuple[weakref.ref[np.ndarray], np.ndarray]] = {}
        if self.fits:
            self.codes = read_all(spec, self.elements, self.samples)
            self.left = self.codes - self.predicted(self.wanted)

    @property
    def enough(self) -> bool:
        """Whether every channel has enough samples for numbers of its own: of one frame, where neighbours err alike."""
        return self.values >= ENOUGH * (NEIGHBOURS if len(self.buffers) == 1 else 1)

    @property
    def is_vector(self) -> bool:
        """Whether every channel is one value in each frame."""
        first = self.references[0]
        return self.named_axis is not None and first.shape[self.named_axis] == first.size

    @property
    def channels(self) -> int:
        """Channels, or 1: all is one channel."""
        return 1 if self.channel_axis is None else int(self.references[0].shape[self.channel_axis])

    @property
    def values(self) -> int:
        """Samples of each channel."""
        return int(self.samples.count) * len(self.buffers)

    @property
    def settled(self) -> bool:
        """Whether the declared reading leaves only rounding of every channel, so that nothing can explain more."""
        return self.fits and self.leaves_rounding(self.as_declared())

    @property
    def follows_frames(self) -> bool:
        """Whether the model's output of a frame differs from the next frame's by more than a hundredth of its power."""
        if len(self.wanted) < 2:
            return False
        apart = np.square(np.diff(self.wanted, axis=0)).mean()
        return bool(apart > _FOLLOWS * self.deviations.square.mean())

    @property
    def device_values(self) -> np.ndarray:
        """The device's real values at the samples, read as declared, 1-D; none if the spec does not fit."""
        if not self.fits:
            return np.zeros(0)
        scale, zero_point = arithmetic(self.spec, self.samples)
        return np.asarray(((self.codes - zero_point) * scale).ravel())

    @property
    def finite_values(self) -> tuple[np.ndarray, np.ndarray]:
        """Both sides' real values at the samples, 1-D each, without those that are NaN or infinite on that side."""
        device, model = self.device_values, self.wanted.ravel()
        if self.fits and not self.steps:
            device = device[finite_at(self.spec, self.elements, self.samples).ravel()]
        return device, model[np.stack([self.samples.finite_in(r) for r in self.references]).ravel()]

    @cached_property
    def wanted_by_channel(self) -> np.ndarray:
        """The model's values at the samples, (channels, samples)."""
        return self.by_channel(self.wanted)

    @cached_property
    def raw(self) -> list[np.ndarray]:
        """The bytes of each buffer, 1-D, contiguous."""
        return [np.ascontiguousarray(self.spec.flat(b)).view(np.uint8) for b in self.buffers]

    @cached_property
    def deviations(self) -> Deviations:
        """The model's values at the samples about their channels' means."""
        wanted = self.wanted_by_channel
        mean = wanted.mean(1)
        off = wanted - mean[:, None]
        return Deviations(mean, off, (off * off).mean(1), wanted.min(1), wanted.max(1))

    @cached_property
    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """The model's values by channel, once only the smaller ones, of half of the sum of squares, once the others."""
        wanted = self.wanted_by_channel
        inner = wanted * smaller_half(abs(wanted))
        return inner, wanted - inner

    @cached_property
    def that_vary(self) -> float:
        """How many of the model's values differ from their channel's mean, as `that_err` counts them."""
        return that_err(self.deviations.off)

    @cached_property
    def that_err(self) -> float:
        """How many of the values err as they are declared; 0 if none does."""
        return that_err(self.left)

    @cached_property
    def distinct(self) -> float:
        """The share of the frames that differ in what the model returns: the same again is no further proof."""
        return len({row.tobytes() for row in self.wanted}) / max(len(self.wanted), 1)

    @cached_property
    def variances(self) -> list[float]:
        """The variance of the model's output in each frame."""
        return [float(finite(reference).var()) for reference in self.references]

    def as_declared(self, rows: Sequence[int] | None = None) -> Trial:
        """Return the declared reading of these frames, or of all."""
        if rows is None:
            return Trial("match", "", None, self.codes, self.left, self.steps)
        chosen = list(rows)
        if self._of_rows is None or self._of_rows[0] != chosen:
            codes, left = self.codes[chosen], self.left[chosen]
            self._of_rows = chosen, Trial("match", "", None, codes, left, self.steps, rows=chosen)
        return self._of_rows[1]

    def tried(self, cause: str, text: str, left: Matrix, fix: Any = None, rows: Sequence[int] | None = None) -> Trial:
        """Return the trial that predicts the declared codes of these frames, or of all, but for `left`."""
        codes = self.as_declared(rows).codes
        return Trial(cause, text, fix, codes, left, self.steps, self.spec, rows=rows)

    def leaves_rounding(self, trial: Trial) -> bool:
        """Return whether a trial leaves only rounding of every channel."""
        power, error = self._powers(trial)
        return bool((error <= np.maximum(2 * self.rounding(trial.steps), EXACT * power)).all())

    @cached_property
    def different(self) -> int:
        """How many different values the model has."""
        return len(np.unique(self.wanted))

    def rounding(self, steps: bool) -> float:
        """Return the variance that rounding to steps adds; 0 without steps, or if the model's values are whole."""
        return ROUNDING if steps and not self.is_whole else 0.0

    def predicted(self, wanted: Matrix) -> Matrix:
        """Return what the device stores for the values `wanted` under the declared quantization."""
        return predicted(self.spec, self.samples, wanted)

    def read_as(self, spec: TensorSpec, wanted: Matrix) -> tuple[Matrix, Matrix]:
        """Return what `spec`, of the same dtype and size, reads at the samples, and its difference from `wanted`."""
        codes = read_all(spec, self.elements, self.samples)
        return codes, codes - predicted(spec, self.samples, wanted)

    def by_channel(self, x: Matrix, places: int = 0) -> np.ndarray:
        """Return (channels, samples) of (frames, places). `places`: of one channel, if they are not these samples."""
        count = places or self.samples.count
        return x.reshape(len(x), -1, count).transpose(1, 0, 2).reshape(-1, len(x) * count)

    def by_frame(self, x: Matrix) -> np.ndarray:
        """Return (frames, channels, samples of a frame) of (channels, samples of all frames)."""
        return x.reshape(len(x), len(self.wanted), -1).swapaxes(0, 1)

    def score(
        self, trial: Trial, only: np.ndarray | None = None, powers: tuple[np.ndarray, np.ndarray] | None = None
    ) -> float:
        """Return the dB that a trial explains.

        Of all samples together, or, if that is less, of the channels with equal weights, without those that nothing
        explains. `only`: of these channels. `powers`: of each channel the variance of what is stored, and the mean
        square of what the trial leaves, if they are known.
        """
        return min(self._scores(trial, only, powers))

    def power(self, codes: Matrix) -> np.ndarray:
        """Return the variance of the stored values within each channel."""
        return self._mean_squares(codes, 0, True)

    def _scores(
        self, trial: Trial, only: np.ndarray | None = None, powers: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[float, float]:
        """Return the dB of all samples together, and of the channels with equal weights; equal if none is explained."""
        power, error = powers or self._powers(trial)
        floors = np.maximum(self.rounding(trial.steps), 1e-20 * power)
        if only is not None:
            power, error, floors = power[only], error[only], floors[only]
        together = decibels(_mean(power), max(_mean(error), _mean(floors)))
        if self.informative is None or not self.informative.any() or only is not None or trial.places:
            return together, together
        telling = self._telling(trial, power)
        error, power = np.maximum(error, floors)[telling], np.maximum(power, 1e-300)[telling]
        shares = np.minimum(error, power) / power
        return together, decibels(1.0, _mean(shares))

    def _telling(self, trial: Trial, power: np.ndarray) -> np.ndarray:
        """Return which channels count: of a trial of some frames, those that vary in these frames, too."""
        assert self.informative is not None
        if trial.rows is None or not (self.fits and trial.comparable):
            return self.informative
        everywhere = self._powers(self.as_declared())[0]
        there = self.informative & (power >= _THERE * everywhere)
        return there if there.any() else self.informative

    def _powers(self, trial: Trial) -> tuple[np.ndarray, np.ndarray]:
        """Return the variance within each channel, and the mean square of the error."""
        return self._mean_squares(trial.codes, trial.places, True), self._mean_squares(trial.left, trial.places, False)

    def _mean_squares(self, x: Matrix, places: int, centred: bool) -> np.ndarray:
        """Return the mean square of each channel, about its mean if `centred`; recent ones are kept, but not `x`."""
        key = id(x), places, centred
        known = self._measured.pop(key, None)
        if known is None or known[0]() is not x:
            y = self.by_channel(x, places)
            if centred:
                y = y - y.mean(1, keepdims=True)
            known = weakref.ref(x), np.einsum("cn,cn->c", y, y) / y.shape[1]
        self._measured[key] = known
        if len(self._measured) > _RECENT:
            del self._measured[next(iter(self._measured))]
        return known[1]

    def rank(self, trials: Iterable[Trial]) -> list[Candidate]:
        """Return the trials with their scores, best first, including the declared reading."""
        self.trials = list(trials)
        live = np.zeros(len(self.by_channel(self.wanted[:1])), bool)
        powers = [self._powers(trial) for trial in self.trials]
        for trial, (power, error) in zip(self.trials, powers):
            if trial.places:  # of a tensor of another shape
                continue
            live |= (power > 4 * self.rounding(trial.steps)) & (error * 10 ** (LEAST / 10) <= power)
        self.informative = live
        candidates = (
            self._candidate(trial, known)._replace(trial=i) for i, (trial, known) in enumerate(zip(self.trials, powers))
        )
        return without_repeats(sorted(candidates, key=lambda c: -c.score))

    def trial(self, candidate: Candidate) -> Trial:
        """Return the trial of a candidate that `rank` returned."""
        return self.trials[candidate.trial]

    def _candidate(self, t: Trial, powers: tuple[np.ndarray, np.ndarray]) -> Candidate:
        together, equally = self._scores(t, powers=powers)
        score = min(together, equally)
        if t.cause == "match":
            return Candidate(t.cause, t.text, score, 0.0, None, 0.0, True, t.spec)
        if not self.fits:
            return Candidate(
                t.cause, t.text, score, score, t.fix, 1.0, True, t.spec, t.order, of_input=t.of_input, way=t.way
            )
        declared = self.as_declared(t.rows)
        if t.order is not None and self.channel_axis is not None:
            moved = np.flatnonzero(np.asarray(t.order) != np.arange(len(t.order)))
            gain = self.score(t, moved) - self.score(declared, moved)
        else:
            before = self._scores(declared)
            gain = score - min(before)
            equals = equally - before[1]
            if equals < 0:  # it gains in the loud channels at the cost of the others
                gain = min(gain, equals)
        leans, decided = 1.0, True
        if t.steps == self.steps and t.comparable:
            leans, decided = contrast(declared.left, t.left, self.rounding(self.steps))
        return Candidate(
            t.cause, t.text, score, gain, t.fix, leans, decided, t.spec, t.order, of_input=t.of_input, way=t.way
        )


def _mean(x: np.ndarray) -> float:
    """Return the mean of some numbers, 1-D, with fewer calls than numpy's."""
    return float(np.add.reduce(x)) / len(x) if len(x) else math.nan


def _is_short_vector(references: Sequence[np.ndarray], channel_axis: int | None) -> bool:
    """Whether every channel is one value, of fewer different frames than a channel has to have values."""
    if channel_axis is None or references[0].size != references[0].shape[channel_axis]:
        return False
    return len({reference.tobytes() for reference in references}) < ENOUGH


def contrast(one: Matrix, other: Matrix, floor: float) -> tuple[float, bool]:
    """Return the position of the data between two trials, given the error of each, and whether the data decide.

    0 at the first, 1 at the second; the data decide if the difference exceeds the noise. Neighbouring values have
    similar errors, so 8 count as one.
    """
    difference = one - other
    of_both = ((difference, difference), (one, one), (other, other), (one, difference))
    power, first, second, along = (float(np.einsum("ij,ij->", x, y)) / one.size for x, y in of_both)
    noise = max(min(first, second), floor)
    if power <= 1e-12 * max(noise, 1e-300):
        return 0.0, False
    leans = along / power
    return leans, abs(leans - 0.5) > 3 * float(np.sqrt(noise / (power * max(one.size / 8, 1))))
