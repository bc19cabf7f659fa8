"""Compare two candidates of one output by what they predict: whether the data are on the side of either."""

from __future__ import annotations

import numpy as np

from ..scoring.evidence import EXACT, Evidence, contrast
from ..scoring.trials import Candidate

_THERE = 0.05  # of the power of the part that differs most: in what differs by less, noise decides
_AT = 0.25  # of the way from the declared reading to a candidate: data so near to its end are at it


def sides(evidence: Evidence, one: Candidate, other: Candidate) -> float | None:
    """Return the position of the data between two candidates: 0 at `one`, 1 at `other`.

    None if the data do not decide, or if the stored values of the two cannot be compared.
    """
    both = _errors_of_both(evidence, one, other)
    if both is None:
        return None
    leans, decided = contrast(*both, evidence.rounding(evidence.trial(one).steps))
    return leans if decided else None


def alike(evidence: Evidence, one: Candidate, other: Candidate) -> bool:
    """Whether two candidates predict the same values, so that no data distinguish them."""
    return distance(evidence, one, other) <= EXACT


def distance(evidence: Evidence, one: Candidate, other: Candidate) -> float:
    """Return the power of what two candidates predict differently, as a share of the noise.

    inf if the two cannot be compared.
    """
    both = _errors_of_both(evidence, one, other)
    if both is None:
        return np.inf
    difference = float(np.square(both[0] - both[1]).mean())
    noise = min(float((left * left).mean()) for left in both)
    return difference / noise if noise else np.inf if difference else 0.0


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


def _errors_of_both(evidence: Evidence, one: Candidate, other: Candidate) -> tuple[np.ndarray, np.ndarray] | None:
    """Return what two candidates leave of the frames of both; None if the two cannot be compared."""
    a, b = evidence.trial(one), evidence.trial(other)
    everywhere = range(len(evidence.buffers))
    of_a, of_b = ({row: k for k, row in enumerate(everywhere if t.rows is None else t.rows)} for t in (a, b))
    common = sorted(of_a.keys() & of_b.keys())
    if not common or a.steps != b.steps or a.comparable != b.comparable:
        return None
    left_a, left_b = (t.left[[at[row] for row in common]] for t, at in ((a, of_a), (b, of_b)))
    return (left_a, left_b) if left_a.shape == left_b.shape else None
