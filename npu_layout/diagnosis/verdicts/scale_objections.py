"""Decide what speaks against a scale near the declared one, and against what such a scale explains as well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...comparison import decibels
from ..scoring.evidence import Evidence
from ..scoring.proof import by_chance, cost_of, proven
from ..scoring.samples import arithmetic
from ..scoring.thresholds import (
    CLEAN,
    CLEAR,
    ENOUGH,
    MARGIN,
    MOST,
    NEAR,
    RATE,
    ROUGH,
    ROUNDING,
    SEVERAL,
    SHIFTED,
    SOUND,
)
from ..scoring.trials import Candidate
from ..stored.slight_scales import MOVED, SLIGHT, forgets_a_zero_point, has_scales_of_channels, is_at_the_end, is_slight
from .rivals import is_everywhere
from .simplicity import HARDLY, ORDERS

_OFF_THE_END = 1 / 8  # of the range: a zero point that is not at its end, nor in its middle, is no calibrated one
_SHRUNK = 1.1  # factor: arithmetic that rounds down in every layer makes such a scale, and hardly any other error
_EXACT = 60.0  # dB: float16 rounds to 66 or more
_CUT_OFF = 7.0  # dB: what is cut off moves everything, but leaves noise, so that a zero point gains 6
_MORE = 0.5  # dB that a line explains more than an input by its two fitted numbers, of few values


def is_slight_scale(evidence: Evidence, c: Candidate) -> bool:
    """Whether it is a scale that noise may explain as well: near the declared one, or of little effect."""
    if c.cause != "quantization" or c.spec is None or _is_another_declared_one(evidence, c):
        return False
    if not _are_as_many(evidence, c) and (c.score < MOST or (c.score < SOUND and c.gain < CLEAR)):
        return True
    if c.score < SOUND and _is_slight(evidence, c):
        return True
    return is_shrunk(evidence, c) or (c.score < MOST and c.gain < HARDLY)


def _is_another_declared_one(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale was declared in another place, and clearly explains most: no number of it is fitted to noise."""
    trial = evidence.trial(c)
    if trial.parameters or c.score < SOUND or c.gain < CLEAR:
        return False
    return not is_slight(evidence, trial, _SHRUNK)


def _is_slight(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale is near the declared one, with a zero point that is no calibrated one, or moved by noise."""
    several = SHIFTED if are_two_of_each(evidence, c) else MOVED
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
    moved = MOVED if trial.line is None and not at_the_end else SHIFTED
    if c.cause != "quantization" or not is_slight(evidence, trial, NEAR, _OFF_THE_END if at_the_end else moved):
        return False
    if is_forgotten_zero_point(evidence, c):
        return False
    if is_slight(evidence, trial, _SHRUNK, moved):
        return c.score < _EXACT
    least = _EXACT if c.score - c.gain >= SOUND else CLEAN  # of a sound device nothing else is left by another gain
    return c.score < least and _are_as_many(evidence, c)


def explains_much_more(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale that is no cause explains so much more that a match would hide it.

    A sound device's arithmetic makes scales within a tenth of the declared one. A scale further off is either declared
    wrongly, or such a device is no sound one.
    """
    trial = evidence.trial(c)
    if c.cause != "quantization" or c.score < ROUGH or not proven(evidence, c, len(evidence.trials)):
        return False
    if forgets_a_zero_point(evidence, trial):
        return c.gain >= _CUT_OFF and is_everywhere(evidence, c, 1)
    least = CLEAR if c.score - c.gain >= MOST else MOST
    return c.gain >= least and not is_slight(evidence, trial, _SHRUNK, SHIFTED)


def _are_as_many(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale is for all channels as the declared one is, or scales are for each as those are."""
    return has_scales_of_channels(evidence.spec) == has_scales_of_channels(c.spec)


def are_two_of_each(evidence: Evidence, c: Candidate) -> bool:
    """Whether each of several channels has two fitted numbers."""
    return evidence.trial(c).parameters > evidence.channels > 1


def is_forgotten_zero_point(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale is the declared one, with a zero point where 0 was declared, and clearly moves everything alike.

    What is cut off moves everything, too, but leaves noise of a third of the square by which it moves: that is 6 dB.
    """
    return (
        forgets_a_zero_point(evidence, evidence.trial(c))
        and c.gain >= CLEAR
        and evidence.channels >= SEVERAL
        and is_everywhere(evidence, c, 2)
    )


def is_of_biases(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether zero points gain in the channels' means alone, and these do not prove them: each channel counts once.

    A device's rounding moves each channel by a number of its own, of which one that is fitted to all makes up a part.
    Where the declared reading explains little, the values are off by more than that.
    """
    if c.cause != "quantization" or declared < MOST or not evidence.fits or evidence.channels == 1:
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


def is_biased(evidence: Evidence, declared: float, gain: float) -> bool:
    """Whether a scale may gain so much because a network's rounding errors are biased, if there are few values."""
    return declared >= MOST and gain < CLEAR and evidence.values < 2 * ENOUGH


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
    return -MARGIN if gains and is_slight(evidence, evidence.trial(line), NEAR) else _MORE


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
