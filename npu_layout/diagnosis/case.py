"""Evidence: what an explanation of one output's recorded values explains of them.

Explanations are scored on one scale: dB of the variance within the channels to what they leave of it, in stored values,
at samples from all kept frames, half of them far from the mean. A channel's mean counts for nothing, because biases
agree even between unrelated images.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec, unpack_nibbles
from ..comparison import decibels
from ..engines import axes_in_model, shape_in_model
from ..layouts import Layout
from ..support import finite

LEAST, MARGIN = 4.0, 3.0  # dB: what a cause has to explain, and by how much better than the others
ENOUGH = 16  # samples a channel
_SAMPLES = 8192  # places in each frame, when there are few channels
_EXACT = 1e-4  # of the variance: what floats of 16 bits leave is less
_BINS = 16  # of as many values each
ROUNDING = 1 / 12  # variance of rounding to whole steps

Matrix = np.ndarray


class Explanation(NamedTuple):
    """A way to read or make one output.

    `cause` is the verdict that it stands for ("match": as declared); `score` dB; `gain` dB above the declared reading
    where the two differ; `leans` 0 where the data side with the declared reading and 1 where they side with this one;
    `tells` whether they do at all. `spec` reads the buffer, `order` are indices of its channels.
    """

    cause: str
    text: str
    score: float
    gain: float
    fix: Any
    leans: float = 1.0
    tells: bool = True
    spec: TensorSpec | None = None
    order: tuple[int, ...] | None = None


class Found(NamedTuple):
    """An explanation before it is judged: the stored values at the samples (frames, places), and what is left of them
    where what it predicts is taken away. `rows`: its frames, where these are not all; `unit` 0 where its stored values
    cannot be compared with the declared ones; `places`: samples of one channel, where its tensor has another shape."""

    cause: str
    text: str
    fix: Any
    codes: np.ndarray
    left: np.ndarray
    steps: bool
    spec: TensorSpec | None = None
    order: tuple[int, ...] | None = None
    rows: Sequence[int] | None = None
    unit: float = 1.0
    places: int = 0


class Samples:
    """Places in a tensor of the model's `shape`, the same in each frame: `index` (rank, places), and of each place its
    channel. A quarter of them lie where some frame is far from its channel's mean, as many for each channel."""

    def __init__(self, references: Sequence[np.ndarray], channel_axis: int | None) -> None:
        self.shape, self.channel_axis = references[0].shape, channel_axis
        size = references[0].size
        channels = 1 if channel_axis is None else self.shape[channel_axis]
        rest = size // channels
        count = min(rest, max(_SAMPLES // channels, 32))
        rng = np.random.default_rng(0)
        pool = np.sort(rng.choice(rest, min(rest, 6 * count), replace=False))
        far = np.zeros((channels, len(pool)))
        for reference in references:
            values = by_channel(finite(reference), channel_axis)
            np.maximum(far, np.abs(values[:, pool] - values.mean(1, keepdims=True)), out=far)
        order = np.argsort(-far, 1, kind="stable")[:, : (count + 1) // 2]
        rows = []
        for chosen in order:
            others = rng.permutation(np.setdiff1d(np.arange(len(pool)), chosen))[: count - len(chosen)]
            rows.append(pool[np.concatenate([chosen, others])])
        places = np.stack(rows)
        self.count = places.shape[1]
        self.channel = np.repeat(np.arange(channels), self.count)
        rest_shape = [n for i, n in enumerate(self.shape) if i != channel_axis]
        index = list(np.unravel_index(places.ravel(), rest_shape)) if rest_shape else []
        if channel_axis is not None:
            index.insert(channel_axis, self.channel)
        self.index = tuple(np.asarray(i) for i in index)

    def of(self, tensor: np.ndarray, order: np.ndarray | None = None) -> Matrix:
        """float64 (places,): the values of a tensor; `order`: which of its channels stands for each."""
        index = list(self.index)
        if order is not None:
            assert self.channel_axis is not None
            index[self.channel_axis] = order[self.channel]
        return finite(tensor[tuple(index)]).astype(np.float64)


def by_channel(x: np.ndarray, axis: int | None) -> np.ndarray:
    """(channels, everything else)."""
    return np.asarray(x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1))


def stored(spec: TensorSpec, buffer: Any) -> np.ndarray:
    """The buffer's elements as numbers, 1-D, nothing dequantised."""
    flat = spec.flat(buffer)
    if spec.element.nibbles:
        return unpack_nibbles(flat, spec.element, spec.size)
    if spec.element.buffer != spec.element.unpacked and spec.element.unpacked.kind == "f" and flat.dtype.kind == "u":
        return (flat.astype(np.uint32) << 16).view(np.float32)
    return flat


def read(spec: TensorSpec, elements: np.ndarray, samples: Samples, order: np.ndarray | None = None) -> Matrix:
    """float64 (places,): the stored values that `spec` finds at the samples."""
    index = list(samples.index)
    if order is not None:
        assert samples.channel_axis is not None
        index[samples.channel_axis] = order[samples.channel]
    placed: list[Any] = [0] * len(index)
    for model, own in enumerate(axes_in_model(spec.axes)):
        placed[own] = index[model]
    return finite(elements[spec.offset(*placed)]).astype(np.float64)


def ends(spec: TensorSpec) -> tuple[float, float]:
    """Lowest and highest stored value."""
    kind = spec.element
    if kind.unpacked.kind == "f":
        most = float(np.finfo(kind.unpacked).max)
        return -most, most
    if kind.unpacked.kind == "b":
        return 0, 1
    info = np.iinfo(kind.unpacked)
    return (info.min / 16, info.max // 16) if kind.nibbles else (info.min, info.max)


def arithmetic(spec: TensorSpec, samples: Samples) -> tuple[Any, Any]:
    """(scale, zero point) of each sample."""
    q = spec.quantization
    if q is None:
        return 1.0, 0.0
    if q.axis is None:
        return float(q.scale), float(q.zero_point)
    along = samples.index[axes_in_model(spec.axes).index(q.axis % len(spec.axes))]
    return np.asarray(q.scale, np.float64)[along], np.asarray(q.zero_point, np.float64)[along]


class Case:
    """One output of the kept frames: device buffers against the model's outputs, under the declared spec.

    Parameters
    ----------
    spec
        The declared one; its shape may be another than the model's, and then it explains nothing.
    buffers, references
        Of each kept frame, in order: what the device gave, and the model's output.
    also
        Further tensors whose far values are worth sampling: what the buffer might hold instead.
    channel_axis
        The channels' axis in the model's order, or None: all is one channel.
    """

    def __init__(
        self,
        spec: TensorSpec,
        buffers: Sequence[Any],
        references: Sequence[np.ndarray],
        also: Sequence[np.ndarray],
        channel_axis: int | None,
    ) -> None:
        self.spec, self.buffers, self.references = spec, list(buffers), list(references)
        shape = references[0].shape
        self.letters = Layout.of_rank(len(shape)).axes
        self.channel_axis = channel_axis
        self.samples = Samples([*references, *also], self.channel_axis)
        self.wanted = np.stack([self.samples.of(r) for r in references])
        self.elements = [stored(spec, b) for b in buffers]
        self.fits = shape_in_model(spec) == shape
        self.steps = spec.element.unpacked.kind != "f"
        self.informative: np.ndarray | None = None
        if self.fits:
            self.codes = np.stack([read(spec, e, self.samples) for e in self.elements])
            self.left = self.codes - self.predicted(self.wanted)

    @property
    def enough(self) -> bool:
        """Whether there are samples enough of every channel to name a cause."""
        return self.values >= ENOUGH and len(self.buffers) > 1

    @property
    def values(self) -> int:
        """Samples of each channel."""
        return int(self.samples.count) * len(self.buffers)

    @property
    def settled(self) -> bool:
        """Whether what the declared reading leaves of every channel is rounding, so that nothing can explain more."""
        if not self.fits:
            return False
        power, error = self._powers(Found("match", "", None, self.codes, self.left, self.steps))
        return bool((error <= np.maximum(2 * ROUNDING if self.steps else 0.0, _EXACT * power)).all())

    def predicted(self, wanted: Matrix) -> Matrix:
        """What the device stores for the values `wanted`, under the declared quantization."""
        scale, zero_point = arithmetic(self.spec, self.samples)
        return np.asarray(np.clip(wanted / scale + zero_point, *ends(self.spec)))

    def read_as(self, spec: TensorSpec, wanted: Matrix) -> tuple[Matrix, Matrix]:
        """What `spec`, of the same dtype and size, reads at the samples, and what of it `wanted` leaves."""
        codes = np.stack([read(spec, e, self.samples) for e in self.elements])
        scale, zero_point = arithmetic(spec, self.samples)
        return codes, codes - np.clip(wanted / scale + zero_point, *ends(spec))

    def by_channel(self, x: Matrix, places: int = 0) -> np.ndarray:
        """(channels, samples) of (frames, places); `places`: of one channel, where they are not this case's."""
        count = places or self.samples.count
        return x.reshape(len(x), -1, count).transpose(1, 0, 2).reshape(-1, len(x) * count)

    def score(self, found: Found, left: Matrix | None = None, only: np.ndarray | None = None) -> float:
        """dB that `found` explains (`left`: what another one leaves of the same values; `only`: of these channels): of
        all samples together, or, where that is less, of the channels as equals, those that nothing explains left out.
        """
        return min(self._scores(found, left, only))

    def _scores(self, found: Found, left: Matrix | None = None, only: np.ndarray | None = None) -> tuple[float, float]:
        """dB of all samples together, and of the channels as equals, which is the same where none is explained."""
        power, error = self._powers(found, left)
        floors = np.maximum(ROUNDING if found.steps else 0.0, 1e-20 * power)
        if only is not None:
            power, error, floors = power[only], error[only], floors[only]
        together = _db(power.mean(), max(error.mean(), floors.mean()))
        if self.informative is None or not self.informative.any() or only is not None or found.places:
            return together, together
        error, power = np.maximum(error, floors)[self.informative], np.maximum(power, 1e-300)[self.informative]
        shares = np.minimum(error, power) / power
        return together, _db(1.0, float(shares.mean()))

    def _powers(self, found: Found, left: Matrix | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Variance within each channel, and mean square of what is left."""
        left = found.left if left is None else left
        y, e = self.by_channel(found.codes, found.places), self.by_channel(left, found.places)
        return ((y - y.mean(1, keepdims=True)) ** 2).mean(1), (e * e).mean(1)

    def rank(self, found: Iterable[Found]) -> list[Explanation]:
        """All explanations, best first, the declared one among them."""
        every = self.found = list(found)
        live = np.zeros(len(self.by_channel(self.wanted[:1])), bool)
        for f in every:
            power, error = self._powers(f)
            if f.places:  # of a tensor of another shape
                continue
            live |= (power > (4 * ROUNDING if f.steps else 0.0)) & (error * 10 ** (LEAST / 10) <= power)
        self.informative = live
        ranking = sorted((self._explanation(f) for f in every), key=lambda e: -e.score)
        return _distinct(ranking)

    def found_as(self, e: Explanation) -> Found:
        return next(f for f in self.found if (f.cause, f.text) == (e.cause, e.text))

    def bent(self, e: Explanation) -> float:
        """The share of what `e` leaves that the model's value tells: near 0 where it leaves noise and rounding. Of the
        channels that anything explains, as what is less than a step is rounded in one way for each value."""
        f = self.found_as(e)
        low, high = ends(f.spec or self.spec)
        wanted = self.wanted if f.rows is None else self.wanted[list(f.rows)]
        inner = (f.codes > low) & (f.codes < high) & (f.codes - f.left > low) & (f.codes - f.left < high)
        if self.informative is not None:
            inner &= self.informative[self.samples.channel]
        left = f.left[inner][np.argsort(wanted[inner], kind="stable")]
        if len(left) < ENOUGH * _BINS:
            return 0.0
        left = left - left.mean()
        told = sum(len(part) * float(part.mean()) ** 2 for part in np.array_split(left, _BINS))
        return told / max(float((left * left).sum()), 1e-300)

    def sides(self, one: Explanation, other: Explanation) -> float | None:
        """As `Explanation.leans`, between any two: 0 at `one`, 1 at `other`; None where the data do not tell, or their
        stored values cannot be compared."""
        a, b = self.found_as(one), self.found_as(other)
        everywhere = range(len(self.buffers))
        of_a, of_b = ({row: k for k, row in enumerate(everywhere if f.rows is None else f.rows)} for f in (a, b))
        common = sorted(of_a.keys() & of_b.keys())
        if not common or a.steps != b.steps or a.unit != b.unit:
            return None
        left_a, left_b = (f.left[[at[row] for row in common]] for f, at in ((a, of_a), (b, of_b)))
        leans, tells = _contrast(left_a, left_b, ROUNDING if a.steps else 0.0)
        return leans if tells else None

    def _explanation(self, f: Found) -> Explanation:
        score = self.score(f)
        if f.cause == "match":
            return Explanation(f.cause, f.text, score, 0.0, None, 0.0, True, f.spec)
        if not self.fits:
            return Explanation(f.cause, f.text, score, score, f.fix, 1.0, True, f.spec, f.order)
        rows = range(len(self.buffers)) if f.rows is None else f.rows
        codes, left = self.codes[list(rows)], self.left[list(rows)]
        as_declared = Found("match", "", None, codes, left, self.steps)
        if f.order is not None:
            moved = np.flatnonzero(np.asarray(f.order) != np.arange(len(f.order)))
            gain = self.score(f, only=moved) - self.score(as_declared, only=moved)
        else:
            before = self._scores(as_declared)
            gain = score - min(before)
            equals = self._scores(f)[1] - before[1]
            if equals < 0:  # it gains in the loud channels at the cost of the others
                gain = min(gain, equals)
        leans, tells = 1.0, True
        if f.steps == self.steps and f.unit == 1.0:
            leans, tells = _contrast(left, f.left, ROUNDING if self.steps else 0.0)
        return Explanation(f.cause, f.text, score, gain, f.fix, leans, tells, f.spec, f.order)


def _contrast(one: Matrix, other: Matrix, floor: float) -> tuple[float, bool]:
    """Where the truth lies between two explanations, given what each leaves: 0 at the first, 1 at the second; and
    whether their difference stands out of the noise. Neighbouring values err alike: 8 count as one."""
    difference = one - other
    power = float((difference * difference).mean())
    noise = max(min(float((one * one).mean()), float((other * other).mean())), floor)
    if power <= 1e-12 * max(noise, 1e-300):
        return 0.0, False
    leans = float((one * difference).mean()) / power
    return leans, abs(leans - 0.5) > 3 * float(np.sqrt(noise / (power * max(one.size / 8, 1))))


def _distinct(ranking: list[Explanation]) -> list[Explanation]:
    """Without those that say the same as a better one."""
    kept: list[Explanation] = []
    for e in ranking:
        if not any(e.cause == k.cause and (e.text == k.text or (e.fix is not None and e.fix == k.fix)) for k in kept):
            kept.append(e)
    return kept


def _db(power: float, error: float) -> float:
    return decibels(float(power), float(error))
