"""Find factors in an output of floats: one for all values, one for each channel, or boxes in pixels and of 0 to 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...comparison import listed
from ..scoring.channel_lines import Lines, lines, several
from ..scoring.channel_moments import channel_moments
from ..scoring.evidence import Evidence
from ..scoring.thresholds import ENOUGH, MARGIN
from ..scoring.trials import Trial
from ..stored.channel_ends import other_end
from ..stored.scales import quantizations

_SPREAD = 0.15  # rms of the logarithms of the channels' factors, from which on each channel has its own
_NEAR = 0.03  # off the side of an image: of noise
_SHRUNK = 0.15  # off the side, in logarithms: int8 arithmetic shrinks the sizes of boxes by a tenth
_EXPLAINS = 0.5  # of a channel's power: a line explains so much, or the channel has no factor
_AS_GOOD = 1.0  # dB that sides of images may explain less than fitted factors, or factors than lines


def factors(evidence: Evidence, sides: Sequence[int]) -> Iterator[Trial]:
    """Yield the factors that explain most; of integers, the scales, and boxes of another unit.

    sides: heights and widths of the model's images.
    """
    if not evidence.fits or evidence.steps:
        yield from quantizations(evidence)
        if evidence.fits and evidence.spec.quantization is not None and not evidence.settled:
            yield from _boxes(evidence, sides)
        return
    one = next(quantizations(evidence), None)
    if evidence.settled or evidence.channel_axis is None:
        yield from () if one is None else (one,)
        return
    found = lines(channel_moments(evidence.wanted_by_channel, evidence.by_channel(evidence.codes)))
    each = _for_each(evidence, found, one) if evidence.enough else None
    boxes = max(_boxes(evidence, sides), key=evidence.score, default=None)
    best = max(evidence.score(t) for t in (one, each, boxes) if t is not None) if one or each or boxes else 0.0
    if boxes is not None and evidence.score(boxes) > best - _AS_GOOD:
        yield boxes
    elif each is not None and (one is None or _is_better(evidence, found, each, one)):
        yield each
    elif one is not None:
        yield one


def _rising(evidence: Evidence, found: Lines) -> np.ndarray:
    """Return which channels have a factor: several of their values are far from the mean, and it explains most."""
    wanted, codes = evidence.by_channel(evidence.wanted), evidence.by_channel(evidence.codes)
    explains = np.square(found.slope) * wanted.var(1) >= _EXPLAINS * codes.var(1)
    return np.asarray((found.slope > 0) & (wanted.shape[1] >= ENOUGH) & several(wanted) & explains)


def _is_better(evidence: Evidence, found: Lines, each: Trial, one: Trial) -> bool:
    """Whether factors of channels explain more than one of all: of the channels that have one, if these are few."""
    rising = _rising(evidence, found)
    return evidence.score(each) > evidence.score(one) + MARGIN or (
        evidence.score(each) > evidence.score(one)
        and evidence.score(each, rising) > evidence.score(one, rising) + 2 * MARGIN
    )


def _for_each(evidence: Evidence, found: Lines, one: Trial | None) -> Trial | None:
    """Return a factor and offset for each channel, by lines through their values; None if these hardly differ.

    one: a factor of all, which the other channels have if they are nearer to it than to the model's values.
    """
    slopes, offsets, rising = found.slope, found.offset, _rising(evidence, found)
    if rising.sum() < 2 or not _differ(slopes[rising]):
        return None
    channel = evidence.samples.channel
    own, rest = rising[channel], evidence.left
    if one is not None and float((one.left[:, ~own] ** 2).sum()) < float((rest[:, ~own] ** 2).sum()):
        rest = one.left
    both = _of_channels(evidence, slopes, offsets, rising, rest)
    factors = _through_zero(evidence, slopes)
    alone = _of_channels(evidence, factors, np.zeros_like(offsets), rising, rest)
    if evidence.score(alone) < evidence.score(both) - _AS_GOOD:
        return both
    return alone if _differ(factors[rising]) else None


def _differ(factors: np.ndarray) -> bool:
    """Whether factors of channels are so far apart that each channel has its own."""
    return bool((factors > 0).all() and float(np.log(factors).std()) >= _SPREAD)


def _through_zero(evidence: Evidence, slopes: np.ndarray) -> np.ndarray:
    """Return the factors of channels without offsets; of zeros, those with them."""
    wanted, codes = evidence.wanted_by_channel, evidence.by_channel(evidence.codes)
    power = np.square(wanted).sum(1)
    return np.asarray(np.divide((wanted * codes).sum(1), power, out=slopes.copy(), where=power > 0))


def _of_channels(
    evidence: Evidence, slopes: np.ndarray, offsets: np.ndarray, rising: np.ndarray, rest: np.ndarray
) -> Trial:
    """Return the trial of a factor and an offset for each of the channels `rising`; of the others, `rest` is left."""
    channel = evidence.samples.channel
    left = np.where(rising[channel], evidence.codes - slopes[channel] * evidence.wanted - offsets[channel], rest)
    text = f"each channel has a factor of its own, of {slopes[rising].min():.4g} to {slopes[rising].max():.4g}"
    parameters = int(rising.sum()) * (2 if offsets.any() else 1)
    return evidence.tried("activation", text, left)._replace(steps=False, parameters=parameters)


def _boxes(evidence: Evidence, sides: Sequence[int]) -> Iterator[Trial]:
    """Yield some channels multiplied or divided by the side of an image, and the others unchanged.

    The numbers of a box may also be along the other axis.
    """
    options = {float(f): f for side in sides for f in (side, 1 / side)}
    ends = (evidence.channel_axis, other_end(evidence))
    for axis in (end for end in ends if end is not None and options):
        found = _sides_of(evidence, axis, list(options))
        if not found or (evidence.steps and len(found) == evidence.references[0].shape[axis]):  # that is a scale
            continue
        at, count = evidence.samples.index[axis], evidence.references[0].shape[axis]
        factor = np.ones(count)
        factor[list(found)] = list(found.values())
        multiplied = max(found.values()) > 1
        by = listed(f"{f:g}" for f in sorted({max(f, 1 / f) for f in found.values()}))
        what = "channels" if axis == evidence.named_axis else f"places along axis {axis}"
        which = f"{len(found)} of {count} {what} ({listed(found)})" if len(found) < count else "all channels"
        ways = ("in pixels", "of 0 to 1")[:: 1 if multiplied else -1]
        how = "multiplied" if multiplied else "divided"
        text = f"{which} are {how} by {by}: the device's are {ways[0]}, the model's {ways[1]}"
        left = evidence.codes - evidence.predicted(factor[at] * evidence.wanted)
        choices = count * float(np.log(1 + len(options)))
        yield evidence.tried("activation", text, left)._replace(choices=choices)


def _sides_of(evidence: Evidence, axis: int, options: Sequence[float]) -> dict[int, float]:
    """Return the factor of each place along an axis that is near one of the options."""
    at, count = evidence.samples.index[axis], evidence.references[0].shape[axis]

    def of_places(x: np.ndarray) -> np.ndarray:
        return np.bincount(at, x.sum(0), count)

    power = np.maximum(of_places(np.square(evidence.wanted)), 1e-300)
    device = evidence.device_values.reshape(evidence.codes.shape)
    ratio = of_places(evidence.wanted * device) / power
    values = np.bincount(at, minlength=count) * len(evidence.wanted)
    found = {}
    for place in np.flatnonzero((ratio > 0) & (values >= ENOUGH)):
        near = min(options, key=lambda f: abs(np.log(ratio[place] / f)))
        if abs(ratio[place] / near - 1) < _NEAR:
            found[int(place)] = near
    for size, centre in ((2, 0), (3, 1)):  # of a box, whose sizes have the sides of its centre
        alone = size < count and size not in found and centre in found and values[size] >= ENOUGH
        if alone and ratio[size] > 0 and abs(np.log(ratio[size] / found[centre])) < _SHRUNK:
            found[size] = found[centre]
    return found
