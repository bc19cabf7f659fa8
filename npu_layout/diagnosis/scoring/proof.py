"""Count how many values it takes to prove a cause, against all causes that were tried.

What a cause leaves is compared with what the declared reading leaves: r is the ratio of their powers, in n independent
values each. If both were noise of one power, r would exceed a value with a probability of at most
((1 + r)**2 / (4 * r))**(-n / 2), Chernoff's bound for a ratio of two sums of n squares. In a search through h
hypotheses, none of which is true, one exceeds what has the probability p / h with a probability of p at most. A cause
whose parameters are fitted pays for them as in Schwarz's criterion, half the logarithm of the number of values for
each; one that is an arrangement of many, the logarithm of the number of arrangements.

n is the number of values, neighbours in a map as one, frames that are repeated once; but not more than 2 * (3 * S**2 /
Q - 2), where S and Q are the sums of the squares and of the fourth powers of what the declared reading leaves. Of n
normal values S**2 / Q is about (n + 2) / 3, the ratio of the expected values, so that is about twice their number; it
is small if a few values make up the error, and 2 if one does. A cause of p fitted numbers goes through as many values,
whatever they are, and a line through two errors: its n is not more than the number of values less p, and 3 * (S**2 / Q
- min(p, 2)). Nor is it more than S**2 / Q - min(p, 2) of the model's values about their channels' means: so many values
of one size have their part in a line if the noise is in proportion to them. Values that another input clamps at the
ends of the dtype's range, where the device stored them, do not count: any such input does. And of n frames whose errors
are the same, it explains one. So does another input: a device that errs in a picture errs in every frame of it.

Of vectors of which one value makes up all, such as the one-hot or saturated probabilities of c classes that were named,
or one for each letter of a word, another input returns the device's class in a vector with a probability of 1 in c or
more, however exact it is then: it has to name it in so many more of them than the declared input that this is as
improbable. Vectors whose class both inputs name count by their errors, as other values do.

Of whole numbers, such as the labels of a segmentation, a trial makes one right by chance with a probability of 1 in as
many as there are different ones, however exact it is then: so it is of those that it brings nearer to the model's, less
those that it takes away from it, that this has to be improbable.

See Chernoff, "A measure of asymptotic efficiency for tests of a hypothesis based on the sum of observations", Annals
of Mathematical Statistics 23 (1952); Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...comparison import decibels
from .evidence import Evidence
from .moments import share_of_its_own, that_err
from .samples import beyond, ends
from .thresholds import MARGIN, NEIGHBOURS, RATE, SOUND
from .trials import Candidate, Trial

_NORMAL = 3  # the fourth power of normal noise is on average so many times the square of its mean square
_SPREAD = 1 / 12  # of the values err alike: of normal noise a third
_EXTRA = 2  # of n normal errors the square of the sum of squares is on average n * (n + 2)
_LINE = 2  # errors that a line goes through, whatever they are
_CLASSES, _SURE = 3, 1.5  # values of a vector of classes, and of those that make up one of a network that is sure
_ALIKE = 0.5  # of the largest: that of a class in any frame differs by less
_LABELS = 2  # different whole numbers: of one, none can be in another's place
_OF_VECTORS = ("layout", "channel_order")  # which explain a vector by the order of its values in any frame
_SUM = 0.01  # off 1, that probabilities add up to: of rounding less
_ROOM = 2  # because the fourth powers of few values say little


def proven(evidence: Evidence, candidate: Candidate, tried: int) -> bool:
    """Whether the recording proves a candidate, of so many that were tried."""
    return surprise(evidence, candidate) >= needed(evidence, candidate, tried)


def is_by_chance(evidence: Evidence, candidate: Candidate, tried: int) -> bool:
    """Whether one of so many that were tried explains as much by chance in every search."""
    return surprise(evidence, candidate) < needed(evidence, candidate, tried) + math.log(RATE)


def surprise(evidence: Evidence, candidate: Candidate) -> float:
    """Return minus the logarithm of the probability that noise alone makes a candidate so much better."""
    ratio, trial = 10 ** (min(candidate.gain, 200.0) / 10), evidence.trial(candidate)
    found = by_chance(ratio, independent(evidence, candidate))
    return min(found, _of_labels(evidence, trial), _of_classes(evidence, trial, ratio))


def _of_labels(evidence: Evidence, trial: Trial) -> float:
    """Return the surprise that so many more whole numbers are nearer to the model's; inf if outputs are no such."""
    if not (evidence.is_whole and evidence.fits) or trial.places:
        return math.inf
    before, after = abs(evidence.as_declared(trial.rows).left), abs(trial.left)
    if before.shape != after.shape or evidence.different < _LABELS:
        return math.inf
    return max(int((after < before).sum()) - int((after > before).sum()), 0) * math.log(evidence.different)


def _of_classes(evidence: Evidence, trial: Trial, ratio: float) -> float:
    """Return the surprise that another input names the device's classes by chance; inf if outputs are no classes.

    They are vectors, or vectors along an axis, as one for each letter of a word, of which one value makes up all. What
    is left of that in a vector whose class both inputs name counts as any error does. ratio: of all errors.
    """
    if not (evidence.fits and trial.of_input):
        return math.inf
    found = _of_vectors(evidence, trial) if evidence.is_vector else _along_an_axis(evidence, trial)
    if found is None or np.median(_that_make_up(found.before)) >= _SURE:
        return math.inf
    device, before, after = (np.argmax(x, 1) for x in found)
    named = len(set(before.tolist()) | set(after.tolist()))
    more = int((after == device).sum()) - int((before == device).sum())
    if named < _LABELS:
        return math.inf
    return max(more, 0) * math.log(named) + _of_shares(found, (before == device) & (after == device), ratio)


def _of_shares(found: _Vectors, alike: np.ndarray, ratio: float) -> float:
    """Return the surprise that another input is so much nearer to the device in vectors whose class is the same.

    ratio: at most of the errors. Of each vector one error is what the others leave, and neighbours err alike.
    """
    off, left = ((found.device - x)[alike].astype(np.float64) for x in (found.before, found.after))
    if not off.any():
        return 0.0
    squares = float(np.square(off).sum()), float(np.square(left).sum())
    share = 1 - float(np.average(1 / np.maximum(_that_make_up(off), 2.0), weights=np.square(off).sum(1)))
    values = min(off.size / NEIGHBOURS, _ROOM * max(_NORMAL * that_err(off) * share - _EXTRA, 0.0))
    return by_chance(min(squares[0] / max(squares[1], 1e-300), ratio), values)


class _Vectors(NamedTuple):
    """Vectors of classes, (vectors, classes): the device's, and the model's for the recorded and another input."""

    device: np.ndarray
    before: np.ndarray
    after: np.ndarray


def _of_vectors(evidence: Evidence, trial: Trial) -> _Vectors | None:
    """Return the frames of an output of one vector; None if the classes are few, or their largest values differ."""
    declared = evidence.as_declared(trial.rows)
    if trial.left.shape != declared.left.shape:
        return None
    wanted = evidence.wanted if trial.rows is None else evidence.wanted[list(trial.rows)]
    most = wanted.max(1)
    if evidence.references[0].size < _CLASSES or np.ptp(most) > _ALIKE * most.max():
        return None
    return _Vectors(declared.codes, wanted, trial.codes - trial.left)


def _along_an_axis(evidence: Evidence, trial: Trial) -> _Vectors | None:
    """Return the probabilities along the axis along which they add up to 1; None if there is no such axis."""
    before = [evidence.references[row] for row in trial.answers]
    axis = _axis_of_probabilities(before)
    if axis is None:
        return None
    device = [evidence.spec.unpack(evidence.buffers[row]) for row in trial.answers]

    def rows(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate([np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]) for x in arrays])

    return _Vectors(rows(device), rows(before), rows(list(trial.answers.values())))


def _axis_of_probabilities(arrays: Sequence[np.ndarray]) -> int | None:
    """Return the axis along which all tensors add up to 1, of at least so many values as there are classes."""
    if not arrays or any(x.dtype.kind != "f" or x.min() < 0 for x in arrays):
        return None
    axes = (axis for axis, count in enumerate(arrays[0].shape) if count >= _CLASSES)
    return next((a for a in axes if all(bool((abs(x.sum(a) - 1) < _SUM).all()) for x in arrays)), None)


def _that_make_up(vectors: np.ndarray) -> np.ndarray:
    """Return how many values make up each vector, as `that_err` counts them."""
    square = np.square(vectors.astype(np.float64))
    return np.asarray(square.sum(1) ** 2 / np.maximum(np.square(square).sum(1), 1e-300))


def follows_frames(evidence: Evidence, candidate: Candidate) -> bool:
    """Whether a cause explains what differs between the frames, unless that is noise, or little.

    What all frames have in common, such as the background of a text, agrees between unrelated ones, too: an input that
    has the same answer in every frame may explain most of it. If the device had that input, noise alone differs, which
    is in many values; what it saw is in few.
    """
    trial = evidence.trial(candidate)
    differs, unexplained = (float(np.square(x - x.mean(0)).mean()) for x in (trial.codes, trial.left))
    little = candidate.score + decibels(float(np.square(trial.left).mean()), differs) >= SOUND
    if little or decibels(differs, unexplained) >= MARGIN:
        return True
    return that_err(trial.left) >= _SPREAD * trial.left.size


def by_chance(ratio: float, values: float) -> float:
    """Return minus the logarithm of the bound of the probability that two sums of so many squares differ so much."""
    return values / 2 * math.log((1 + ratio) ** 2 / (4 * ratio)) if ratio > 1 else 0.0


def needed(evidence: Evidence, candidate: Candidate, tried: int) -> float:
    """Return what `surprise` has to exceed for a candidate of so many that were tried."""
    trial = evidence.trial(candidate)
    fitted = trial.parameters * _schwarz(independent(evidence, candidate))
    return math.log(max(tried, 1) / RATE) + trial.choices + fitted


def cost(evidence: Evidence, candidate: Candidate) -> float:
    """Return the dB that a candidate's fitted numbers have to explain more than another candidate without any."""
    return cost_of(evidence, evidence.trial(candidate))


def cost_of(evidence: Evidence, trial: Trial, *, noisy: bool = False) -> float:
    """Return the dB that a trial's fitted numbers have to explain more than a trial without any.

    noisy: of the values that the trial leaves most of, as noise in proportion leaves it of large ones.
    """
    values = _independent(evidence, trial)
    if noisy:
        values = min(values, _NORMAL * that_err(trial.left))
    return _cost(trial.parameters, values)


def least_cost(evidence: Evidence, parameters: int) -> float:
    """Return what `cost_of` is at least, of a trial of all samples with so many fitted numbers: of so many values."""
    values = evidence.wanted.size / _neighbours(evidence) * evidence.distinct - parameters
    return _cost(parameters, values)


def _cost(parameters: int, values: float) -> float:
    return 20 / math.log(10) * parameters * _schwarz(values) / max(values, 1.0)


def _schwarz(values: float) -> float:
    """Return what a fitted number costs."""
    return 0.5 * math.log(max(values, math.e))


def independent(evidence: Evidence, candidate: Candidate) -> float:
    """Return the number of values that a candidate is judged by: of moved channels only, neighbours in a map as one."""
    return _independent(evidence, evidence.trial(candidate))


def _independent(evidence: Evidence, trial: Trial) -> float:
    share = 1.0
    if trial.order is not None:
        share = sum(i != at for i, at in enumerate(trial.order)) / len(trial.order)
    distinct = _distinct(evidence, trial.rows)
    values = int(trial.left.size) * share / (1 if trial.scattered else _neighbours(evidence))
    values *= 1 - _saturated(evidence, trial)
    errors = _that_err_as_declared(evidence, trial) * _that_are_free(evidence, trial) * distinct
    if not trial.parameters:
        alone = _alone(evidence, trial)
        return min(values * min(distinct, alone), _ROOM * max(_NORMAL * errors * alone - _EXTRA, 0.0))
    values *= min(distinct, share_of_its_own(trial.left))
    through = min(trial.parameters, _LINE)
    vary = _that_vary(evidence, trial) * min(distinct, _of_vector(evidence))
    return max(min(values - trial.parameters, _NORMAL * (errors - through), vary - through), 0.0)


def _of_vector(evidence: Evidence) -> float:
    """Return which share of a vector's values differ between the frames, alike ones as one; 1 of other outputs."""
    return share_of_its_own(evidence.by_frame(evidence.deviations.off)) if evidence.is_vector else 1.0


def _alone(evidence: Evidence, trial: Trial) -> float:
    """Return which share of its values a trial without fitted numbers explains by themselves.

    Another input explains errors, a function, or another order of a vector, the model's values: of each what is the
    same in all frames counts once.
    """
    if trial.of_input:
        return share_of_its_own(evidence.as_declared(trial.rows).left)
    of_values = trial.cause == "activation" or (evidence.is_vector and trial.cause in _OF_VECTORS)
    if not of_values or trial.places or not evidence.fits:
        return 1.0
    rows = range(len(evidence.wanted)) if trial.rows is None else trial.rows
    return share_of_its_own(evidence.by_frame(evidence.deviations.off)[list(rows)])


def _saturated(evidence: Evidence, trial: Trial) -> float:
    """Return the share of the values that another input clamps, and that are stored as an end: any such input does."""
    clamped = clamped_by_input(evidence, trial) if trial.of_input else None
    if clamped is None:
        return 0.0
    low, high = ends(evidence.spec)
    return float((clamped & ((trial.codes <= low) | (trial.codes >= high))).mean())


def clamped_by_input(evidence: Evidence, trial: Trial) -> np.ndarray | None:
    """Return which of the model's values for another input the dtype cannot store, (frames, places); None of floats."""
    if not (trial.steps and trial.answers and evidence.fits):
        return None
    wanted = np.stack([evidence.samples.of(answer) for answer in trial.answers.values()])
    return beyond(evidence.spec, evidence.samples, wanted)


def _neighbours(evidence: Evidence) -> int:
    """Return how many values count as one."""
    shape, axis = evidence.references[0].shape, evidence.named_axis
    places = evidence.references[0].size // (1 if axis is None else shape[axis])
    return min(NEIGHBOURS, max(places, 1))


def _that_are_free(evidence: Evidence, trial: Trial) -> float:
    """Return the share of the errors that do not follow from others.

    Probabilities add up to 1: of n of a frame that err, one is what the others leave. n: the most in any frame.
    """
    rows = range(len(evidence.references)) if trial.rows is None else trial.rows
    wanted = [evidence.references[row] for row in rows]
    if trial.places or not (evidence.fits and evidence.is_vector) or wanted[0].size < 2:
        return 1.0
    if not all(x.min() >= 0 and abs(float(x.sum()) - 1) < _SUM for x in wanted):
        return 1.0
    return 1 - 1 / max(2.0, *(that_err(row) for row in evidence.as_declared(trial.rows).left))


def _that_err_as_declared(evidence: Evidence, trial: Trial) -> float:
    """Return how many of the values of a trial's frames err as they are declared."""
    if trial.rows is None and evidence.fits and evidence.that_err:
        return evidence.that_err
    left = evidence.as_declared(trial.rows).left if evidence.fits else trial.left
    if not left.any():  # exact, and the declared spec reads nothing: what is explained is all that varies
        left = trial.codes - trial.codes.mean()
    return that_err(left)


def _that_vary(evidence: Evidence, trial: Trial) -> float:
    """Return how many of the model's values differ from their channel's mean: a line goes through any two."""
    if trial.places:  # samples of another tensor
        return math.inf
    if trial.rows is None:
        return evidence.that_vary
    wanted = evidence.by_channel(evidence.wanted[list(trial.rows)])
    return that_err(wanted - wanted.mean(1, keepdims=True))


def _distinct(evidence: Evidence, rows: Sequence[int] | None) -> float:
    """Return which share of the frames differ in what the model returns: the same again is no further proof."""
    if rows is None:
        return evidence.distinct
    return len({evidence.wanted[row].tobytes() for row in rows}) / max(len(rows), 1)
