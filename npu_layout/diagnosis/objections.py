"""Decide what speaks against naming a candidate: what noise, rounding, clamping or constants explain as well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..buffers import TensorSpec
from ..comparison import decibels
from .evidence import Evidence
from .proof import by_chance, clamped_by_input, cost, cost_of, follows_frames, proven
from .rivals import differs, is_everywhere
from .samples import arithmetic, beyond, ends
from .simplicity import HARDLY, ORDERS
from .slight_scales import (
    MOVED,
    SLIGHT,
    forgets_a_zero_point,
    has_scales_of_channels,
    is_at_the_end,
    is_slight,
)
from .slopes import is_of_two_scales
from .thresholds import BENT, CLEAN, ENOUGH, LEAST, MARGIN, RATE, ROUNDING, SATURATED, SOUND
from .trials import Candidate

_FINE, _CLEAR = 20.0, 10.0  # dB: if the declared reading explains so much, another scale has to gain so much
_NEAR = 1.25  # factor: noise alone makes scales that are nearer to the declared one, whatever they explain
_SHIFTED = 0.05  # of the range: a device that errs much moves an output by less
_OFF_THE_END = 1 / 8  # of the range: a zero point that is not at its end, nor in its middle, is no calibrated one
_SHRUNK = 1.1  # factor: arithmetic that rounds down in every layer makes such a scale, and hardly any other error
_EXACT = 60.0  # dB: float16 rounds to 66 or more
_FIX = 6.0  # dB that other causes have to explain to be named: what explains less changes too little
_PERFECT = 40.0  # dB that the declared reading explains: inputs hardly matter, nor a slightly other scale
_ROUGH = 12.0  # dB: a line through a function of pieces, an exponential, or of a device that saturates, leaves more
_MOST = 8.0  # dB: as declared, most of the output is explained
_MORE = 0.5  # dB that a line explains more than an input by its two fitted numbers, of few values
_CUT = 1.0  # dB that cut values of the model explain more than those of a function
_ALIKE = 0.05  # of the noise: the power by which two readings of the same integers predict the same
_SEVERAL = 4  # channels or frames: of fewer, which err each by a number of its own, all err alike by chance
_AT_THE_ENDS = 0.75  # of the values that a scale clamps: noise leaves half


def is_slight_scale(evidence: Evidence, c: Candidate) -> bool:
    """Whether it is a scale that noise may explain as well: near the declared one, or of little effect."""
    if c.cause != "quantization" or c.spec is None:
        return False
    if not _are_as_many(evidence, c) and (c.score < _MOST or (c.score < SOUND and c.gain < _CLEAR)):
        return True
    if c.score < SOUND and _is_slight(evidence, c):
        return True
    return is_shrunk(evidence, c) or (c.score < _MOST and c.gain < HARDLY)


def _is_slight(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale is near the declared one, with a zero point that is no calibrated one, or moved by noise."""
    several = _SHIFTED if _are_two_of_each(evidence, c) else MOVED
    moved = _OFF_THE_END if is_at_the_end(evidence) else several
    return is_slight(evidence, evidence.trial(c), most_moved=moved)


def is_shrunk(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale is so near the declared one that the arithmetic of a sound device makes it, and it is not exact.

    A device that cuts off in each of many layers, or whose weights have few bits, shrinks or stretches an output or its
    channels by some per cent. Over pictures that are alike it hardly errs otherwise, so that the scale explains much
    more, down to the rounding of int8, and proves nothing. But such a device does not move all channels of all frames
    by one number, as a zero point does that was declared as 0.
    """
    trial, at_the_end = evidence.trial(c), is_at_the_end(evidence)
    moved = MOVED if trial.line is None and not at_the_end else _SHIFTED
    if c.cause != "quantization" or not is_slight(evidence, trial, _NEAR, _OFF_THE_END if at_the_end else moved):
        return False
    if is_forgotten_zero_point(evidence, c):
        return False
    if is_slight(evidence, trial, _SHRUNK, moved):
        return c.score < _EXACT
    return c.score < CLEAN and _are_as_many(evidence, c)


def _are_as_many(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale is for all channels as the declared one is, or scales are for each as those are."""
    return has_scales_of_channels(evidence.spec) == has_scales_of_channels(c.spec)


def is_forgotten_zero_point(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale is the declared one, with a zero point where 0 was declared, and clearly moves everything alike.

    What is cut off moves everything, too, but leaves noise of a third of the square by which it moves: that is 6 dB.
    """
    return (
        forgets_a_zero_point(evidence, evidence.trial(c))
        and c.gain >= _CLEAR
        and evidence.channels >= _SEVERAL
        and is_everywhere(evidence, c, 2)
    )


def only_saturates(evidence: Evidence, c: Candidate) -> bool:
    """Whether a function explains nothing but values that it saturates: most scales do that with zeros and ones."""
    return c.cause == "activation" and c.score >= LEAST and evidence.within_range(c) < LEAST


def is_nearly_a_line(evidence: Evidence, c: Candidate, ranking: Sequence[Candidate]) -> bool:
    """Whether a slightly other scale explains as much as a function, or as an input that explains little more.

    So does a network whose arithmetic shrinks the values. What an input explains much better, it has to explain no less
    than such a scale, nor than one for each channel less what these numbers cost; if the scale is one that such
    arithmetic makes, clearly more. Another order has to explain more by its scale than the declared order by such one.
    """
    of_order = c.cause in ORDERS and evidence.trial(c).parameters > 0
    if not (of_order or c.cause == "activation" or c.of_input):
        return False
    if c.of_input and _by_channel(evidence) > c.score + _MORE:
        return True
    lines = [o for o in ranking if o.cause == "quantization" and _is_slight(evidence, o)]
    return any(line.score > c.score + _more(evidence, c, line, of_order) for line in lines)


def _more(evidence: Evidence, c: Candidate, line: Candidate, of_order: bool) -> float:
    """Return the dB that a slightly other scale has to explain more than a candidate, to speak against it."""
    if of_order:
        return 0.0
    if not c.of_input or c.gain < HARDLY:
        return -MARGIN
    gains = line.gain > c.gain - MARGIN  # `c` may have been tried on frames of which the declared input explains less
    return -MARGIN if gains and is_slight(evidence, evidence.trial(line), _NEAR) else _MORE


def is_cut(evidence: Evidence, c: Candidate) -> bool:
    """Whether a function explains less than the model's values do, both cut at the device's lowest and highest value.

    So cuts a network one of whose layers saturates, beyond the pictures that it was calibrated with.
    """
    trial, codes = evidence.trial(c), evidence.codes if evidence.fits else None
    if c.cause != "activation" or codes is None or not trial.comparable or trial.left.shape != codes.shape:
        return False

    def explained(left: np.ndarray) -> float:
        cut = codes - np.clip(codes - left, codes.min(), codes.max())
        return evidence.score(evidence.as_declared()._replace(left=cut))

    return explained(evidence.left) >= explained(trial.left) + _CUT


def _by_channel(evidence: Evidence) -> float:
    """Return the dB that slightly other scales of the channels explain, less what their numbers cost.

    The values shrink towards 0 or their channel's mean; -inf if a channel's scale is no slightly other one.
    """
    if not evidence.fits:
        return -np.inf
    predicted = evidence.codes - evidence.left
    means, channel = evidence.by_channel(predicted).mean(1), evidence.samples.channel
    found = []
    for centre in (arithmetic(evidence.spec, evidence.samples)[1], means[channel]):
        x, y = predicted - centre, evidence.codes - centre
        power = evidence.by_channel(x * x).sum(1)
        slope = np.divide(evidence.by_channel(x * y).sum(1), power, out=np.ones(len(power)), where=power > 0)
        if (abs(np.log(np.maximum(slope, 1e-9))) < np.log(SLIGHT)).all():
            trial = evidence.as_declared()._replace(left=y - slope[channel] * x, parameters=len(slope))
            found.append(evidence.score(trial) - cost_of(evidence, trial))
    return max(found, default=-np.inf)


def is_needless(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether the declared reading is good, and another input is not proven: who reads the output does not mind."""
    return c.of_input and declared >= _FINE and not proven(evidence, c, len(evidence.trials))


def is_of_few_values(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether the declared reading is sound, and what was fitted is not proven: a line goes through any two values.

    Of a reading that explains most, but is not sound, so is a scale that is near the declared one.
    """
    trial = evidence.trial(c)
    if declared < _MOST or c.gain < -MARGIN or not trial.parameters or proven(evidence, c, len(evidence.trials)):
        return False  # of what explains less nothing is said
    return declared >= SOUND or (c.cause == "quantization" and is_slight(evidence, trial, _NEAR))


def accuses(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether it explains enough, and enough more than the declared reading, which explains so many dB."""
    of_scale = c.cause == "quantization" and not _clamps_less(evidence, c)
    moved = _SHIFTED if declared >= _CLEAR else MOVED
    near = declared >= _FINE or is_slight(evidence, evidence.trial(c), _NEAR, moved)
    fine = of_scale and near and c.gain < _CLEAR
    indifferent = c.of_input or (of_scale and is_slight(evidence, evidence.trial(c)))  # to who reads the output
    least = LEAST if c.cause in ORDERS and not evidence.trial(c).parameters else _FIX
    if _has_factors(evidence, c) and _FIX <= c.score < _MOST and not is_no_line(evidence, c):
        least = _MOST
    perfect = (indifferent and declared >= _PERFECT) or (
        exchanges_floats(evidence, c) and are_values(evidence, declared)
    )
    gain = _least_of_input(evidence, c, declared) if c.of_input else MARGIN
    return c.cause != "match" and c.score >= least and c.gain >= gain and not (fine or perfect)


def is_unpaid(evidence: Evidence, c: Candidate) -> bool:
    """Whether scales explain less than a cause has to, without what so many numbers explain by chance.

    Two numbers of each channel are those of any device that cuts what it computes, if they leave as much as one leaves.
    """
    two = _has_factors(evidence, c) and _are_two_of_each(evidence, c)
    return (two and c.score < _ROUGH) or (c.cause == "quantization" and c.score - cost(evidence, c) < _FIX)


def _are_two_of_each(evidence: Evidence, c: Candidate) -> bool:
    """Whether each of several channels has two fitted numbers."""
    return evidence.trial(c).parameters > evidence.channels > 1


def _has_factors(evidence: Evidence, c: Candidate) -> bool:
    """Whether a candidate is another scale, or factors of the channels of floats."""
    return c.cause == "quantization" or (c.cause == "activation" and evidence.trial(c).parameters > 0)


def _least_of_input(evidence: Evidence, c: Candidate, declared: float) -> float:
    """Return the dB that another input has to gain: of a good output, as many as it explains more than 10, at most 10.

    What a network rounds or approximates is no noise: over one dim frame, or a covered lens, it leans to some input,
    but not by the same in all frames and channels. If the data are at an input in all of these, half is asked.
    """
    least, more = HARDLY if c.score < SOUND else MARGIN, min(declared - _CLEAR, _CLEAR)
    if max(least, more / 2) <= c.gain < more and is_everywhere(evidence, c, _SEVERAL):
        return max(least, more / 2)
    return max(least, more)


def exchanges_floats(evidence: Evidence, c: Candidate) -> bool:
    """Whether floats are read as integers, or integers as floats.

    Bytes of the other kind are no values at all, of which most would not be explained as declared. But the bits of
    floats that are nearly all of one size, and of both signs, are two numbers with small errors.
    """
    return c.spec is not None and (c.spec.element.unpacked.kind != "f") != evidence.steps


def are_values(evidence: Evidence, declared: float) -> bool:
    """Whether what the declared reading reads are the model's values, their means included.

    Over a covered lens an output hardly varies but in noise: then the means say that the kind of number is right.
    """
    if declared >= _MOST:
        return True
    if not evidence.fits:
        return False
    model, device = evidence.wanted.ravel(), evidence.device_values
    power, error = float(np.square(model).mean()), float(np.square(device - model).mean())
    return bool(np.isfinite(error) and decibels(power, error) >= _MOST)


def _clamps_less(evidence: Evidence, c: Candidate) -> bool:
    """Whether the declared scale clamps more of the model's values than calibration leaves out, and another does not.

    What is clamped agrees with any scale that clamps it, so that the declared one seems to explain most.
    """
    return bool(c.spec is not None and _clamped(evidence, evidence.spec) >= SATURATED > _clamped(evidence, c.spec))


def clamps_noise(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale clamps many of the model's values, but the device does not, or the others do not follow it.

    A right scale that clamps them stores the ends; one that is fitted to noise clamps what the noise makes smaller.
    """
    if c.cause != "quantization" or c.spec is None or c.spec.quantization is None:
        return False
    if _clamped(evidence, c.spec) < max(SATURATED, _clamped(evidence, evidence.spec)):
        return False
    trial, (low, high) = evidence.trial(c), ends(c.spec)
    stored = trial.codes[_beyond(evidence, c.spec, float(np.sqrt((trial.left**2).mean())))]
    if stored.size == 0:
        return False
    at_the_ends = float(((stored <= low) | (stored >= high)).mean())
    return at_the_ends < _AT_THE_ENDS or evidence.within_range(c) < LEAST


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


def is_of_biases(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether zero points gain in the channels' means alone, and these do not prove them: each channel counts once.

    A device's rounding moves each channel by a number of its own, of which one that is fitted to all makes up a part.
    Where the declared reading explains little, the values are off by more than that.
    """
    if c.cause != "quantization" or declared < _MOST or not evidence.fits or evidence.channels == 1:
        return False
    trial = evidence.trial(c)
    if trial.places or trial.left.shape != evidence.left.shape:
        return False
    before, after = evidence.by_channel(evidence.left), evidence.by_channel(trial.left)
    floor = ROUNDING if trial.steps else 1e-300
    rest_before, rest_after = (max(float(left.var(1).mean()), floor) for left in (before, after))
    if decibels(rest_before, rest_after) >= MARGIN:
        return False
    means = [max(float(np.square(left.mean(1)).mean()), floor / left.shape[1]) for left in (before, after)]
    count = evidence.channels - trial.parameters
    return bool(by_chance(means[0] / means[1], max(count, 0)) < np.log(len(evidence.trials) / RATE))


def _clamped(evidence: Evidence, spec: TensorSpec) -> float:
    """Return the share of the model's values at the samples that the dtype cannot store."""
    return float(_beyond(evidence, spec).mean())


def clamped_of_input(evidence: Evidence, c: Candidate) -> float:
    """Return the share of the model's values for another input that the dtype cannot store; 0 of floats."""
    clamped = clamped_by_input(evidence, evidence.trial(c))
    return 0.0 if clamped is None else float(clamped.mean())


def _beyond(evidence: Evidence, spec: TensorSpec, steps: float = 0.5) -> np.ndarray:
    """Return which of the model's values at the samples are further out of the dtype's range than so many steps."""
    return beyond(spec, evidence.samples, evidence.wanted, steps)


def is_biased(evidence: Evidence, declared: float, gain: float) -> bool:
    """Whether a scale may gain so much because a network's rounding errors are biased, if there are few values."""
    return declared >= _MOST and gain < _CLEAR and evidence.values < 2 * ENOUGH


def is_in_doubt(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether the declared reading explains the values, but hardly better than `c`, and the data do not decide.

    Another input does not matter to somebody who reads the output, unless the data are on its side, nor if a good
    output is read and few values speak for it. Nor does another order whose scales were fitted to channels that never
    vary.
    """
    if declared < LEAST or min(c.gain, c.score - declared) < -MARGIN or _differs_in_constants(evidence, c):
        return False
    if c.of_input:
        on_its_side = c.decided and c.leans > 0.5 and not is_needless(evidence, c, declared)
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
    """Whether the error depends on the value; of numbers that were fitted and leave much, half as much will do."""
    most = BENT / 2 if evidence.trial(c).parameters and c.score < _ROUGH else BENT
    return evidence.bent(c) > most or is_of_two_scales(evidence, evidence.trial(c))
