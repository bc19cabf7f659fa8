"""Decide whether fitted scales are the declared ones, which noise moved a little."""

from __future__ import annotations

import numpy as np

from ...buffers import TensorSpec
from ..scoring.evidence import Evidence
from ..scoring.samples import ends
from ..scoring.thresholds import CLEAN
from ..scoring.trials import Trial

SLIGHT = 1.6  # factor
_MISTAKEN = 1.8  # factor: no arithmetic makes a channel so much larger or smaller
_KEPT = 1.1  # factor: of scales that noise moves by no more
MOVED = 0.02  # of the range of the dtype: zero points that noise moves by no more
_ONE = 2.5  # times that: of channels, whose root mean square counts, the zero point of one
_FORGOTTEN = 1 / 64  # of the range: layers that each cut off half a step of their own move an output by less
_SAME = 1e-4  # of a scale: by rounding


def has_scales_of_channels(spec: TensorSpec | None) -> bool:
    """Whether each of several channels has a scale of its own."""
    q = None if spec is None else spec.quantization
    return q is not None and q.axis is not None and q.count > 1


def is_at_the_end(evidence: Evidence) -> bool:
    """Whether the declared zero point is where calibration puts that of values that are never negative.

    A calibrated range has 0 at its end then, or, if it is symmetric, in its middle; a zero point somewhat above the end
    is no other tensor's mistake, but what a device's errors make of the right one.
    """
    q = evidence.spec.quantization
    low = ends(evidence.spec)[0] if evidence.steps else -np.inf
    return q is not None and bool((np.asarray(q.zero_point) == low).all()) and float(evidence.wanted.min()) >= 0


def is_slight(evidence: Evidence, trial: Trial, factor: float = SLIGHT, most_moved: float = MOVED) -> bool:
    """Whether a fitted quantization is the declared one but for some per cent, as noise that is not symmetric looks.

    True mistakes are larger: a factor of two, a forgotten zero point, a sign, a dtype, another tensor's scale. What
    shrinks values does so towards 0 or their mean: the zero points are compared at both, and the nearer ones count.
    factor: of a scale; most_moved: of the dtype's range; both in the mean of the channels, of which one may differ
    more.
    """
    most, mean = np.log(factor), float(evidence.wanted.mean())
    if trial.line is not None:
        slope, offset = trial.line
        span = max(float(evidence.wanted.max()), 0.0) - min(float(evidence.wanted.min()), 0.0)
        return bool(
            abs(np.log(slope)) < most and min(abs(offset), abs((slope - 1) * mean + offset)) <= most_moved * span
        )
    declared, fixed = evidence.spec, trial.spec
    if fixed is None or fixed.dtype != declared.dtype or fixed.quantization is None or declared.quantization is None:
        return False
    (scale, zero_point), (was, zero) = (
        (np.asarray(q.scale, np.float64), np.asarray(q.zero_point, np.float64))
        for q in (fixed.quantization, declared.quantization)
    )
    if scale.size > 1 < was.size and (scale.size != was.size or _letter(fixed) != _letter(declared)):
        return False
    low, high = ends(declared)
    means = evidence.by_channel(evidence.wanted).mean(1) if scale.size == was.size == evidence.channels else mean
    at_the_means = np.abs(zero_point - zero + means / scale - means / was)
    moved = np.minimum(np.abs(zero_point - zero), at_the_means) / (high - low)
    factors = np.abs(np.log(scale / was))
    known = (evidence.deviations.low != 0) | (evidence.deviations.high != 0)
    if factors.shape == known.shape and known.any():
        factors = factors[known]  # any scale makes zeros of zeros
    slight = (factors < np.log(SLIGHT)).all() and np.sqrt((factors**2).mean()) < most
    return bool(slight and np.sqrt((moved**2).mean()) <= most_moved and (moved <= _ONE * most_moved).all())


def _letter(spec: TensorSpec) -> str | None:
    """Return the letter of the axis along which a spec's scales are; None: it has one scale."""
    q = spec.quantization
    return None if q is None or q.axis is None else spec.axes[q.axis]


def forgets_a_zero_point(evidence: Evidence, trial: Trial) -> bool:
    """Whether a fitted quantization is the declared scale for all, with a zero point clearly off the declared 0."""
    was, fixed = evidence.spec.quantization, None if trial.spec is None else trial.spec.quantization
    if was is None or fixed is None or trial.spec is None or was.axis is not None or fixed.axis is not None:
        return False
    if trial.spec.dtype != evidence.spec.dtype or float(was.zero_point) != 0:
        return False
    low, high = ends(evidence.spec)
    kept = abs(float(fixed.scale) / float(was.scale) - 1) <= _SAME
    return bool(kept and abs(float(fixed.zero_point)) >= _FORGOTTEN * (high - low))


def is_of_some_channels(evidence: Evidence, trial: Trial) -> bool:
    """Whether most of the declared scales of channels are kept, and the others are slightly off, or of a noisy device.

    A device whose arithmetic shrinks or moves some channels stores the same as one of which these scales are declared
    wrongly.
    """
    was, fixed = evidence.spec.quantization, None if trial.spec is None else trial.spec.quantization
    if was is None or fixed is None or fixed.axis is None or was.axis not in (None, fixed.axis):
        return False
    if was.count not in (1, fixed.count):
        return False
    factors = np.abs(np.log(np.asarray(fixed.scale, np.float64) / np.asarray(was.scale, np.float64)))
    kept = (factors < np.log(_KEPT)).mean() > 0.5
    if not kept or factors.max() < np.log(_KEPT):
        return False
    noisy = factors.max() < np.log(_MISTAKEN) and evidence.score(trial) < CLEAN
    return bool(noisy or is_slight(evidence, trial))
