"""Compare two candidates of one output by what they predict: whether the data are on the side of either."""

from __future__ import annotations

import numpy as np

from ..scoring.evidence import EXACT, Evidence, contrast
from ..scoring.trials import Candidate, Trial
from .simplicity import off_line

_THERE = 0.05  # of the power of the part that differs most: in what differs by less, noise decides
_BEND = 0.05  # of the noise: the power of a bend of which data can be without
_WITHOUT = 0.15  # of a bend: data that have less have none, but for what a network rounds
_AT = 0.25  # of the way from the declared reading to a candidate: data so near to its end are at it


def sides(evidence: Evidence, one: Candidate, other: Candidate) -> float | None:
    """Return the position of the data between two candidates: 0 at `one`, 1 at `other`.

    None if the data do not decide, or if the stored values of the two cannot be compared.
    """
    return _sides(evidence, evidence.trial(one), evidence.trial(other))


def _sides(evidence: Evidence, one: Trial, other: Trial) -> float | None:
    both = _errors_of_both(evidence, one, other)
    if both is None:
        return None
    leans, decided = contrast(*both, evidence.rounding(one.steps))
    return leans if decided else None


def alike(evidence: Evidence, one: Candidate, other: Candidate) -> bool:
    """Whether two candidates predict the same values, so that no data distinguish them."""
    return distance(evidence, one, other) <= EXACT


def distance(evidence: Evidence, one: Candidate, other: Candidate) -> float:
    """Return the power of what two candidates predict differently, as a share of the noise.

    inf if the two cannot be compared.
    """
    return _distance(evidence, evidence.trial(one), evidence.trial(other))


def _distance(evidence: Evidence, one: Trial, other: Trial) -> float:
    both = _errors_of_both(evidence, one, other)
    if both is None:
        return np.inf
    difference = float(np.square(both[0] - both[1]).mean())
    noise = min(float((left * left).mean()) for left in both)
    return difference / noise if noise else np.inf if difference else 0.0


def has_no_bend(evidence: Evidence, scale: Candidate, other: Candidate) -> bool:
    """Whether the data are clearly at a scale, and have nothing of the bend of an input that acts nearly as one.

    Brighter pixels make larger values, by a factor but for what layers cut off. That is the bend: how the predictions
    of the two differ after a line of its own for each. Data of a brightness that was not tried have a part of it.
    """
    one, another = evidence.trial(scale), evidence.trial(other)
    straight = off_line(evidence, one), off_line(evidence, another)
    if _distance(evidence, *straight) < _BEND:
        return False
    positions = _sides(evidence, one, another), _sides(evidence, *straight)
    return all(leans is not None and abs(leans) < _WITHOUT for leans in positions)


def differs(evidence: Evidence, candidate: Candidate) -> bool:
    """Whether what a candidate predicts differs from what is declared by more than the noise."""
    trial = evidence.trial(candidate)
    declared = evidence.as_declared(trial.rows).left
    if not evidence.fits or trial.left.shape != declared.shape:
        return True
    difference, noise = (float((x * x).mean()) for x in (declared - trial.left, trial.left))
    return difference > max(noise, evidence.rounding(evidence.steps))


def is_everywhere(evidence: Evidence, candidate: Candidate, frames: int) -> bool:
    """Whether the data are at what a candidate predicts in each frame and in each channel in which it says much else.

    What a sound device errs by has a part along any difference. That part differs from one channel and one frame to the
    next; what was done to all of them does not. `frames`: in how many it has to say much else.
    """
    trial = evidence.trial(candidate)
    if not evidence.fits or trial.places:
        return False
    declared = evidence.as_declared(trial.rows).left
    if trial.left.shape != declared.shape:
        return False
    difference = declared - trial.left
    products = difference * declared, difference * difference
    of_frames = _positions(*(x.sum(1) for x in products))
    of_channels = _positions(*(evidence.by_channel(x).sum(1) for x in products))
    positions = np.concatenate([of_frames, of_channels])
    return len(of_frames) >= frames and bool((abs(positions - 1) <= _AT).all())


def _positions(along: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Return the positions of the data of the parts that differ, given the product and the power of each part."""
    there = power > _THERE * power.max()
    return np.asarray(along[there] / power[there])


def _errors_of_both(evidence: Evidence, a: Trial, b: Trial) -> tuple[np.ndarray, np.ndarray] | None:
    """Return what two trials leave of the frames of both; None if the two cannot be compared."""
    everywhere = range(len(evidence.buffers))
    of_a, of_b = ({row: k for k, row in enumerate(everywhere if t.rows is None else t.rows)} for t in (a, b))
    common = sorted(of_a.keys() & of_b.keys())
    if not common or a.steps != b.steps or a.comparable != b.comparable:
        return None
    left_a, left_b = (t.left[[at[row] for row in common]] for t, at in ((a, of_a), (b, of_b)))
    return (left_a, left_b) if left_a.shape == left_b.shape else None
