"""Find the scale and the zero point that fit an output's stored values best, for all channels or for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeVar

import numpy as np

from ...buffers import Quantization, TensorSpec
from ...engines import axes_in_model
from ...layouts import Storage
from ..scoring.channel_lines import lines, through
from ..scoring.channel_moments import ChannelMoments
from ..scoring.evidence import Evidence
from ..scoring.moments import Moments, line
from ..scoring.proof import by_chance, cost_of, least_cost
from ..scoring.samples import Matrix, Numbers, ends, predicted
from ..scoring.thresholds import ENOUGH, MARGIN, NEIGHBOURS, RATE, ROUNDING
from ..scoring.trials import Trial
from .scale_errors import ScaleErrors
from .slight_scales import MOVED
from .slopes import Slope, halves, halves_by_sums

_SPREAD = 0.15  # rms of the logarithms of the channels' scales, from which on each channel has its own
_NEAR = 1.25  # factor: the scale of one channel is no further from that of all by noise
_CERTAIN = 3  # deviations
_CONSTANT = 1e-100  # of values that vary so little in square, a share of noise is beyond float64
_LEAST_RANGE = 1e-33  # of the model's values: a part in 2**16 of less may be a scale that is 0 in float32
_EDGE = 0.02  # of the range: values so near its ends count as saturated
_ABOUT = 1e-4  # of a declared number: a fitted one so near is the same
_POWERS = float(np.log(32))  # of two, by which a scale may be off: from 2**-16 to 2**16
_AS_GOOD = 0.5  # dB that a simpler fit may explain less
_CUT = 2.0  # dB that the mean of cut noise gains at most: its mean square is 0.5 of the noise's, its variance 0.34
_AT_THE_END = 0.2  # of the values below a deviation of the noise: normal noise that is cut puts 0.3 there


def quantizations(evidence: Evidence) -> Iterator[Trial]:
    """Yield another scale and zero point, for all channels or for each."""
    if not evidence.fits:
        return
    if evidence.steps:
        yield from fitted(evidence, evidence.spec, evidence.codes, "quantization")
        return
    slope, offset = line(evidence.wanted, evidence.codes)
    if slope > 0:
        added = f"{'minus' if offset < 0 else 'plus'} {abs(offset):.6g}"
        text = f"each value is {slope:.6g} times the model's, {added} (was it ever dequantised?)"
        left = evidence.codes - (slope * evidence.wanted + offset)
        yield evidence.tried("quantization", text, left)._replace(steps=False, parameters=2, line=(slope, offset))


def called(spec: TensorSpec) -> str:
    """Return the layout and the dtype of a spec in words, and its strides if elements are left out between others."""
    own, packed = spec.storage, Storage.bind(spec.layout, spec.shape, spec.storage_shape)
    same = all(a == b or n == 1 for n, a, b in zip(own.storage_shape, own.strides, packed.strides))
    return f"{own.describe()} {spec.dtype}{'' if same else f', storage_strides {own.strides}'}"


def words(spec: TensorSpec | None) -> str:
    """Return the quantization of a spec in words."""
    q = None if spec is None else spec.quantization
    if q is None:
        return "not quantised"
    if q.axis is None:
        return f"scale {float(q.scale):.6g}, zero point {float(q.zero_point):g}"
    return f"a scale for each of {q.count} channels"


def requantised(spec: TensorSpec, quantization: Quantization | None, name: str) -> TensorSpec:
    """Return `spec` with another quantization and name."""
    return spec.replace(quantization=quantization, name=name)


def _unsaturated(evidence: Evidence, errors: ScaleErrors) -> tuple[np.ndarray | None, ChannelMoments]:
    """Return which samples are not saturated, by what they should be, since noise is saturated too; their moments.

    (channels, samples), or None: all. Without a pass over the samples if none is near the ends.
    """
    low, high = errors.ends
    edge = _EDGE * (high - low)
    inner = _between(low, high, errors.codes, errors.low, errors.high)
    moments = errors.moments_of(inner)
    model, wanted = evidence.deviations, evidence.wanted_by_channel
    for _ in range(2):
        found = moments.together()
        if found.slope <= 0:
            break
        least, most = ((end - found.offset) / found.slope for end in (low + edge, high - edge))
        within = _between(least, most, wanted, model.low, model.high)
        count = wanted.size if within is None else np.count_nonzero(within)
        same = within is inner if within is None or inner is None else np.array_equal(within, inner)
        if count < ENOUGH or same:
            break
        inner, moments = within, errors.moments_of(within)
    return inner, moments


def _between(low: float, high: float, x: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> np.ndarray | None:
    """Return which values (channels, samples), of these lowest and highest ones, are between two ends; None: all."""
    return None if low < lowest.min() and highest.max() < high else (x > low) & (x < high)


_N = TypeVar("_N", float, np.ndarray)


class _Option(NamedTuple):
    """A scale and a zero point, or one of each channel along `axis`; the dB that they explain.

    parameters: how many of these numbers are not the declared ones; choices: as in Trial.
    """

    scale: Numbers
    zero_point: Numbers
    axis: int | None
    parameters: int
    score: float
    choices: float = 0.0


class _ScaleFit(NamedTuple):
    """The values that scales are fitted to, and the cause that these scales are a trial of."""

    evidence: Evidence
    spec: TensorSpec
    codes: Matrix
    inner: np.ndarray | None  # samples that are not saturated, (channels, samples); None: all
    channels: ChannelMoments  # of these
    moments: Moments  # of these, all channels as one
    zero_points: np.ndarray  # the declared ones, each once
    cause: str
    errors: ScaleErrors

    def option(self, scale: Numbers, zero_point: Numbers, axis: int | None = None) -> _Option:
        """Return a scale and zero point with what they explain. axis: of the spec, along which they are."""
        powers = self.errors.power, self.errors.of(scale, zero_point)
        score = self.evidence.score(self._bare, powers=powers)
        return _Option(scale, zero_point, axis, self._fitted(scale, zero_point), score)

    def trial(self, option: _Option) -> Trial:
        """Return the trial of an option."""
        fixed = requantised(
            self.spec, Quantization(option.scale, option.zero_point, option.axis), self.evidence.spec.name
        )
        left = predicted(fixed, self.evidence.samples, self.evidence.wanted)
        np.subtract(self.codes, left, out=left)
        text = f"{called(fixed)}, {words(fixed)}"
        return self._bare._replace(
            text=text, fix=fixed, left=left, spec=fixed, parameters=option.parameters, choices=option.choices
        )

    @property
    def _bare(self) -> Trial:
        """A trial that predicts nothing."""
        return Trial(self.cause, "", None, self.codes, self.codes, True)

    def _fitted(self, scale: Numbers, zero_point: Numbers) -> int:
        """Return how many of these numbers are not the declared ones."""
        q = self.evidence.spec.quantization
        declared = () if q is None else (q.scale, q.zero_point)
        return sum(
            np.size(x)
            for x, y in zip_longest((scale, zero_point), declared)
            if y is None or np.size(y) not in (1, np.size(x)) or not _is_about(x, y)
        )

    def inside(self, zero_points: _N) -> _N | None:
        """Return zero points in the range of the dtype, where noise has moved them out of it; None if they are far out.

        No device has such zero points.
        """
        low, high = ends(self.spec)
        inside = np.clip(zero_points, low, high)
        return inside if np.all(np.abs(zero_points - inside) <= MOVED * (high - low)) else None


def _is_about(x: Numbers, y: Numbers) -> bool:
    """Whether numbers are those that were declared."""
    if np.ndim(x) == np.ndim(y) == 0:
        return not abs(float(x) - float(y)) > _ABOUT * abs(float(y))
    return not (abs(np.subtract(x, y)) > _ABOUT * abs(np.asarray(y))).any()


def _simplest(options: Sequence[_Option]) -> _Option:
    """Return the first that explains as much as the best, or hardly less with fewer fitted numbers."""
    best = max(options, key=lambda o: o.score)
    return next(o for o in options if o.score > best.score - _AS_GOOD * (1 + (o.parameters < best.parameters)))


def fitted(
    evidence: Evidence, spec: TensorSpec, codes: Matrix, cause: str, errors: ScaleErrors | None = None
) -> Iterator[Trial]:
    """Yield `spec` with the scale and zero point that fit best: the declared ones if they fit as well.

    errors: of `codes`, if they are known. Nothing of values whose scale float32 cannot express.
    """
    if not _LEAST_RANGE < np.abs(evidence.wanted).max() < np.finfo(np.float32).max:
        return
    errors = errors or ScaleErrors(evidence, codes, ends(spec))
    inner, channels = _unsaturated(evidence, errors)
    moments = channels.together()
    q = evidence.spec.quantization
    declared = np.unique(0 if q is None else q.zero_point)
    fit = _ScaleFit(evidence, spec, codes, inner, channels, moments, declared, cause, errors)
    one = _one(fit) if moments.slope > 0 else None
    each = _for_each(fit) if one is not None or moments.slope <= 0 else None
    if each is None:
        yield from () if one is None else (fit.trial(one),)
        return
    if one is None:
        yield fit.trial(each)
        return
    least = MARGIN if _differ(fit, each, moments.slope) else 3 * MARGIN
    yield fit.trial(each if each.score > one.score + least else one)


def _differ(fit: _ScaleFit, each: _Option, slope: float) -> bool:
    """Whether scales of channels are further from 1 / slope than noise moves them: together, or that of one channel.

    The deviation of a channel's scale, as a share of it, is that of the error over that of the values, and over the
    root of the number of values, of which neighbours count as one.
    """
    off = np.log(np.asarray(each.scale, np.float64) * slope)
    error = fit.errors.of(each.scale, each.zero_point)
    varies = fit.evidence.deviations.square / np.square(np.asarray(each.scale, np.float64)) * fit.evidence.values
    share = np.full(error.shape, np.inf)  # of a constant
    np.sqrt(np.divide(NEIGHBOURS * error, varies, out=share, where=varies > _CONSTANT), out=share)
    return bool(np.sqrt((off**2).mean()) >= _SPREAD or (abs(off) - _CERTAIN * share > np.log(_NEAR)).any())


def _one(fit: _ScaleFit) -> _Option | None:
    """Return the scale and zero point for all channels that fit best; None if the zero point is far out of the range.

    Noise of zeros is cut at the end of the range, so that its mean fits a little better than the true zero point.
    """
    found = []
    for pairs in (_from_the_end(fit), _for_all(fit)):
        options = [fit.option(float(f"{s:.6g}"), z) for s, z in pairs]
        if options:
            found.append(_simplest(options))
    if len(found) == 2 and not _is_cut(fit, *found):
        del found[0]
    return _of_a_power(fit, found[0]) if found else None


def _of_a_power(fit: _ScaleFit, found: _Option) -> _Option:
    """Return the declared scale times a power of two, with the declared zero point, if what was found is hardly better.

    That is a mistake that people make, of which no number is fitted; another explains more than its numbers cost, or
    half of the values, the small or the large ones, clearly ask for another one.
    """
    q = fit.evidence.spec.quantization
    if q is None or q.axis is not None:
        return found
    power = float(np.rint(np.log2(found.scale / float(q.scale))))
    if power == 0:
        return found
    option = fit.option(float(q.scale) * 2**power, q.zero_point)._replace(parameters=0, choices=_POWERS)
    more = found.score - option.score
    if more > least_cost(fit.evidence, found.parameters) and more > cost_of(fit.evidence, fit.trial(found), noisy=True):
        return found
    return found if any(half.is_certain for half in _halves(fit, option)) else option


def _halves(fit: _ScaleFit, option: _Option) -> tuple[Slope, Slope]:
    """Return by how much a scale for all channels is off in the inner and the outer half of the values."""
    scale, zero_point = float(option.scale), float(option.zero_point)
    if fit.errors.clamps(scale, zero_point):
        return halves(fit.evidence, fit.trial(option))
    return halves_by_sums(fit.evidence, fit.errors.codes, scale, zero_point)


def _is_cut(fit: _ScaleFit, end: _Option, free: _Option) -> bool:
    """Whether noise is cut at the end of the range, so that a zero point above it (`free`) explains hardly more.

    Then many of the values near zero are stored as the end; and the values that are too far from it to be cut do not
    distinguish the two, or are nearer to `end`.
    """
    if end.score <= free.score - _CUT:
        return False
    codes, low = fit.errors.codes, ends(fit.spec)[0]
    of_end, of_free = (fit.evidence.by_channel(fit.trial(option).left) for option in (end, free))
    steps = codes - of_end - low
    noise = float(np.sqrt(max((of_end**2).mean(), ROUNDING)))
    near, far = steps < noise, steps > 2 * noise
    if fit.inner is not None:
        far &= fit.inner
    if near.sum() < ENOUGH or (codes[near] <= low).mean() < _AT_THE_END:
        return False
    errors = [max(float((left[far] ** 2).sum()), ROUNDING * far.sum(), 1e-300) for left in (of_end, of_free)]
    return bool(by_chance(errors[0] / errors[1], float(far.sum())) < -np.log(RATE))


def _from_the_end(fit: _ScaleFit) -> Iterator[tuple[float, int]]:
    """Yield scales with the zero point at the end of the dtype's range, if the model's values are never negative."""
    wanted, q, (low, _) = fit.evidence.wanted, fit.evidence.spec.quantization, ends(fit.spec)
    if wanted.min() < 0 or q is None or q.axis is not None:
        return
    scale = fit.moments.through(low)
    yield from ((s, int(low)) for s in (float(q.scale), scale) if s is not None)


def _for_all(fit: _ScaleFit) -> Iterator[tuple[float, float]]:
    """Yield a scale and zero point for all channels: with the declared scale, the declared zero point, and neither."""
    q, declared, moments = fit.evidence.spec.quantization, fit.zero_points, fit.moments
    whole = bool((declared == np.rint(declared)).all())

    def rounded(zero_point: float) -> float:
        return int(np.rint(zero_point)) if whole else float(zero_point)

    if q is not None and q.axis is None:
        inside = fit.inside(moments.mean_y - moments.mean_x / float(q.scale))
        if inside is not None:
            yield float(q.scale), rounded(inside)
    if q is not None and len(declared) == 1:
        scale = moments.through(float(declared[0]))
        if scale is not None:
            yield scale, rounded(declared[0])
    inside = fit.inside(moments.offset)
    if inside is not None:
        scale = 1 / moments.slope if inside == moments.offset else moments.through(inside)
        yield from () if scale is None else ((scale, rounded(inside)),)


def _for_each(fit: _ScaleFit) -> _Option | None:
    """Return a scale for each channel, with the declared zero point or one for each.

    None without channels or samples enough. It always explains a little more than one scale for all, because a
    network's rounding errors are biased.
    """
    evidence = fit.evidence
    if evidence.channel_axis is None or evidence.channels == 1 or not evidence.enough:
        return None
    axis = axes_in_model(fit.spec.axes)[evidence.channel_axis]
    found = [_each_through(fit, z) for z in _shared_zero_points(fit)]
    found += [_declared_with_zero_points(fit), _each_with_a_zero_point(fit)]
    options = [fit.option(scales.astype(np.float32), zero_points, axis) for scales, zero_points in filter(None, found)]
    return _simplest(options) if options else None


def _shared_zero_points(fit: _ScaleFit) -> list[float]:
    """Return zero points that all channels may have: the declared one, and the end for values never negative."""
    declared = [fit.zero_points[0].item()] if len(fit.zero_points) == 1 else []
    low = int(ends(fit.spec)[0])
    return declared if fit.evidence.wanted.min() < 0 or low in declared else [*declared, low]


def _each_through(fit: _ScaleFit, zero_point: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a scale for each channel with one zero point.

    It needs no values near the zero point: those of a sure network are stored at the end of the range.
    """
    scales, clear = through(fit.channels, fit.errors.moments, zero_point)
    if not clear.any():
        return None
    scales = np.where(clear, scales, np.median(scales[clear]))
    return scales, np.full(len(scales), zero_point)


def _declared_with_zero_points(fit: _ScaleFit) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the declared scale of each channel with a zero point for each, as where these were forgotten."""
    q, of, spec = fit.evidence.spec.quantization, fit.channels, fit.spec
    if q is None or q.axis is None or spec is not fit.evidence.spec:
        return None
    if axes_in_model(spec.axes).index(q.axis % len(spec.axes)) != fit.evidence.channel_axis:
        return None
    scales = np.broadcast_to(np.asarray(q.scale, np.float64), q.count)
    inside = fit.inside(of.mean_y - of.mean_x / scales)
    return None if inside is None else (scales, np.rint(inside).astype(np.int64))


def _each_with_a_zero_point(fit: _ScaleFit) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a scale and a zero point for each channel; None if one is far out of the dtype's range."""
    of, found = fit.channels, lines(fit.channels)
    if not found.clear.any():
        return None
    usual = float(np.median(found.slope[found.clear]))  # where none is clear, through the channel's own mean
    slopes = np.where(found.clear, found.slope, usual)
    offsets = np.where(found.clear, found.offset, of.mean_y - usual * of.mean_x)
    inside = fit.inside(offsets)
    if inside is None:
        return None
    scales, along = 1 / slopes, of.products(inside)
    moved = (inside != offsets) & found.clear & (along > 0)
    scales[moved] = of.squares[moved] / along[moved]
    return scales, np.rint(inside).astype(np.int64)
