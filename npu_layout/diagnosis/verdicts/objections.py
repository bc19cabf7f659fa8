"""Decide what speaks against naming a candidate: what noise, rounding or constants explain as well."""

from __future__ import annotations

import numpy as np

from ...comparison import decibels
from ...support import finite
from ..scoring.evidence import Evidence
from ..scoring.left_errors import bent
from ..scoring.proof import cost, follows_frames, independent, is_by_chance, proven
from ..scoring.thresholds import BENT, CLEAR, LEAST, MARGIN, MOST, NEAR, ROUGH, SEVERAL, SHIFTED, SOUND
from ..scoring.trials import Candidate
from ..stored.slight_scales import MOVED, has_scales_of_channels, is_slight
from ..stored.slopes import is_of_two_scales
from .clamping import clamps_less
from .rivals import AT, differs, is_everywhere
from .scale_objections import are_two_of_each
from .simplicity import HARDLY, ORDERS

_FINE = 20.0  # dB: if the declared reading explains so much, another scale has to gain CLEAR
_FIX = 6.0  # dB that other causes have to explain to be named: what explains less changes too little
_PERFECT = 40.0  # dB that the declared reading explains: inputs hardly matter, nor a slightly other scale
_FRAMES, _SORTED = 4, 1 << 17  # frames whose values are sorted, and how many of each
_ALIKE = 0.05  # of the noise: the power by which two readings of the same integers predict the same


def is_needless(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether another input is not proven, beside a good declared reading, or explains no more than some input always.

    Who reads the output does not mind it.
    """
    tried = len(evidence.trials)
    good = declared >= _FINE and not proven(evidence, c, tried)
    return c.of_input and (good or is_by_chance(evidence, c, tried))


def is_of_few_values(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether the declared reading is sound, and what was fitted is not proven: a line goes through any two values.

    Of a reading that explains most, but is not sound, so is a scale that is near the declared one.
    """
    trial = evidence.trial(c)
    if declared < MOST or c.gain < -MARGIN or not trial.parameters or proven(evidence, c, len(evidence.trials)):
        return False  # of what explains less nothing is said
    return declared >= SOUND or (c.cause == "quantization" and is_slight(evidence, trial, NEAR))


def is_of_anything(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale that was fitted goes through any values, because they are so few, or so alike."""
    return c.cause == "quantization" and evidence.trial(c).parameters > 0 and independent(evidence, c) < 1


def accuses(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether it explains enough, and enough more than the declared reading, which explains so many dB."""
    of_scale = c.cause == "quantization" and not clamps_less(evidence, c)
    moved = SHIFTED if declared >= CLEAR else MOVED
    near = declared >= _FINE or (declared >= MOST and _is_of_two_numbers(evidence, c))
    near = near or is_slight(evidence, evidence.trial(c), NEAR, moved)
    fine = of_scale and near and c.gain < CLEAR
    indifferent = c.of_input or (of_scale and is_slight(evidence, evidence.trial(c)))  # to who reads the output
    least = LEAST if c.cause in ORDERS and not evidence.trial(c).parameters else _FIX
    if _has_factors(evidence, c) and _FIX <= c.score < MOST and not is_no_line(evidence, c):
        least = MOST
    perfect = indifferent and declared >= _PERFECT
    gain = _least_of_input(evidence, c, declared) if c.of_input else MARGIN
    if c.cause == "match" or c.score < least or c.gain < gain or fine or perfect:
        return False
    return not (exchanges_floats(evidence, c) and are_values(evidence, declared))


def is_unpaid(evidence: Evidence, c: Candidate) -> bool:
    """Whether scales explain less than a cause has to, without what so many numbers explain by chance.

    Two numbers of each channel are those of any device that cuts what it computes, if they leave as much as one leaves.
    But it cuts no more than there is: as declared, not more is left than all that varies, if the numbers are scales.
    """
    two = _has_factors(evidence, c) and are_two_of_each(evidence, c)
    cut = c.cause != "quantization" or c.score - c.gain > 0 or c.gain < CLEAR
    return (two and cut and c.score < ROUGH) or (c.cause == "quantization" and c.score - cost(evidence, c) < _FIX)


def _is_of_two_numbers(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale and a zero point are fitted both, for as many channels as the declared ones.

    A device that cuts off moves and stretches what it computes. Who forgets a zero point, or takes another scale, is
    wrong in one of the two, in those of another output, or in whether each channel has its own.
    """
    q = None if c.spec is None else c.spec.quantization
    as_many = has_scales_of_channels(evidence.spec) == has_scales_of_channels(c.spec)
    return q is not None and as_many and evidence.trial(c).parameters >= 2 * q.count


def _has_factors(evidence: Evidence, c: Candidate) -> bool:
    """Whether a candidate is another scale, or factors of the channels of floats."""
    return c.cause == "quantization" or (c.cause == "activation" and evidence.trial(c).parameters > 0)


def _least_of_input(evidence: Evidence, c: Candidate, declared: float) -> float:
    """Return the dB that another input has to gain: of a good output, as many as it explains more than 10, at most 10.

    What a network rounds or approximates is no noise: over one dim frame, or a covered lens, it leans to some input,
    but not by the same in all frames and channels. If the data are at an input in all of these, half is asked. What
    leaves more than the noise of a sound device has to gain more if they are not, and so has an input that they are
    clearly before or beyond, such as one of less contrast than a device shows that stretches its output.
    """
    least, more = HARDLY if c.score < SOUND else MARGIN, min(declared - CLEAR, CLEAR)
    if HARDLY == least <= c.gain < _FIX and not is_everywhere(evidence, c, 1):
        least = _FIX
    if abs(c.leans - 1) > AT:
        least = max(least, _FIX)
    if max(least, more / 2) <= c.gain < more and is_everywhere(evidence, c, SEVERAL):
        return max(least, more / 2)
    return max(least, more)


def exchanges_floats(evidence: Evidence, c: Candidate) -> bool:
    """Whether floats are read as integers, or integers as floats.

    Bytes of the other kind are no values at all, of which most would not be explained as declared. But the bits of
    floats that are nearly all of one size, and of both signs, are two numbers with small errors.
    """
    return c.spec is not None and (c.spec.element.unpacked.kind != "f") != evidence.steps


def are_values(evidence: Evidence, declared: float) -> bool:
    """Whether what the declared reading reads are the model's values, their means included, or these in another order.

    Over a covered lens an output hardly varies but in noise: then the means say that the kind of number is right. So do
    the values of an output that is stored in another order.
    """
    if declared >= MOST:
        return True
    if not evidence.fits:
        return False
    model, device = evidence.wanted.ravel(), evidence.device_values
    power, error = float(np.square(model).mean()), float(np.square(device - model).mean())
    return bool(np.isfinite(error) and decibels(power, error) >= MOST) or _are_values_in_some_order(evidence)


def _are_values_in_some_order(evidence: Evidence) -> bool:
    """Whether what the declared reading reads of each frame, sorted, is what the model returns, sorted."""
    key = ("values in some order",)
    if key not in evidence.searches:
        pairs = [(finite(r), evidence.spec.unpack(b)) for b, r in zip(evidence.buffers[:_FRAMES], evidence.references)]
        evidence.searches[key] = all(_are_alike(_sorted(device), _sorted(model)) for model, device in pairs)
    return bool(evidence.searches[key])


def _sorted(x: np.ndarray) -> np.ndarray:
    """Return the values, or many of them at random, in float64."""
    flat = np.ravel(x)
    some = flat if flat.size <= _SORTED else np.random.default_rng(0).choice(flat, _SORTED)
    return np.sort(some).astype(np.float64)


def _are_alike(device: np.ndarray, model: np.ndarray) -> bool:
    """Whether sorted values agree as those of a sound device do, which are all finite."""
    if not np.isfinite(device).all():
        return False
    return decibels(float(model.var()), float(np.square(device - model).mean())) >= SOUND


def is_of_what_is_constant(evidence: Evidence, c: Candidate) -> bool:
    """Whether a cause explains only channels that do not vary, or, of an input, what does not differ between frames."""
    return _is_of_constants(evidence, c) or (c.of_input and not follows_frames(evidence, c))


def _is_of_constants(evidence: Evidence, c: Candidate) -> bool:
    """Whether scales of channels gain only in channels that do not vary: any scale makes one constant of another."""
    if c.cause != "quantization" or not has_scales_of_channels(c.spec) or not evidence.fits:
        return False
    varying = np.flatnonzero(evidence.informative) if evidence.informative is not None else np.zeros(0)
    if not varying.size:
        return False
    before, after = (evidence.score(t, varying) for t in (evidence.as_declared(), evidence.trial(c)))
    return after - before < MARGIN


def _differs_in_constants(evidence: Evidence, c: Candidate) -> bool:
    """Whether fitted scales read other values only where nothing varies: of a constant any scale makes another.

    A detector's maps of a class that is in no frame are such channels.
    """
    trial, varying = evidence.trial(c), evidence.informative
    if not trial.parameters or trial.rows is not None or varying is None or not (evidence.fits and varying.any()):
        return False
    if trial.codes.shape != evidence.codes.shape:
        return False
    here = varying[evidence.samples.channel]
    if not np.array_equal(trial.codes[:, here], evidence.codes[:, here]):
        return False
    before, after = evidence.left[:, here], trial.left[:, here]
    noise = max(float((before * before).mean()), evidence.rounding(trial.steps))
    return float(np.square(after - before).mean()) <= _ALIKE * noise


def is_in_doubt(evidence: Evidence, c: Candidate, declared: float, met: bool) -> bool:
    """Whether the declared reading explains the values, but hardly better than `c`, and the data do not decide.

    Another input does not matter to somebody who reads the output, unless the data are on its side, nor if a good
    output is read and few values speak for it, or, if all tolerances are met, too few to prove it: what it explains
    more is what noise gives. Nor does another order whose scales were fitted to channels that never vary.
    """
    if declared < LEAST or min(c.gain, c.score - declared) < -MARGIN or _differs_in_constants(evidence, c):
        return False
    if c.of_input:
        on_its_side = c.decided and c.leans > 0.5 and not is_needless(evidence, c, declared)
        on_its_side = on_its_side and not (met and not proven(evidence, c, len(evidence.trials)))
        return declared < _PERFECT and on_its_side and differs(evidence, c)
    return not c.decided or c.leans > 0.5


def is_bent(evidence: Evidence, c: Candidate) -> bool:
    """Whether a function leaves an error that depends on the value: it is another function."""
    return c.cause == "activation" and not evidence.trial(c).places and _depends_on_values(evidence, c)


def is_no_line(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale leaves an error that depends on the value, as a function does, or what a device cuts.

    The scale may be fitted beside another order of the values.
    """
    fitted = c.cause in ORDERS and evidence.trial(c).parameters > 0
    return (c.cause == "quantization" or fitted) and _depends_on_values(evidence, c)


def _depends_on_values(evidence: Evidence, c: Candidate) -> bool:
    """Whether the error depends on the value, and is more than rounding.

    Of numbers that were fitted and leave much, half as much will do.
    """
    if evidence.leaves_rounding(evidence.trial(c)):
        return False
    most = BENT / 2 if evidence.trial(c).parameters and c.score < ROUGH else BENT
    return bent(evidence, c) > most or is_of_two_scales(evidence, evidence.trial(c))
