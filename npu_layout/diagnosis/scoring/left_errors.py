"""Say what the error that a candidate leaves depends on: the model's value, or the ends of what the device stores."""

from __future__ import annotations

import numpy as np

from ...comparison import decibels
from .evidence import Evidence
from .samples import ends
from .thresholds import ENOUGH, ROUNDING
from .trials import Candidate

_BINS = 16  # with equal numbers of values


def bent(evidence: Evidence, candidate: Candidate, rounding: float = ROUNDING) -> float:
    """Return the share of a candidate's error that depends on the model's value: near 0 for noise and rounding.

    Only channels that any trial explains count, and what rounding leaves does not: values below a step are always
    rounded in the same way. `rounding`: its variance, 0 if what is rounded alike is to count.
    """
    trial = evidence.trial(candidate)
    low, high = ends(trial.spec or evidence.spec)
    wanted = evidence.wanted if trial.rows is None else evidence.wanted[list(trial.rows)]
    codes, model = trial.codes, trial.codes - trial.left
    inner = (codes > low) & (codes < high) & (model > low) & (model < high)
    if evidence.informative is not None:
        inner &= evidence.informative[evidence.samples.channel]
    left = trial.left[inner][np.argsort(wanted[inner], kind="stable")]
    if len(left) < ENOUGH * _BINS:
        return 0.0
    left = left - left.mean()
    depends = sum(len(part) * float(part.mean()) ** 2 for part in np.array_split(left, _BINS))
    depends -= rounding * len(left) if evidence.rounding(trial.steps) else 0.0
    return max(depends, 0.0) / max(float((left * left).sum()), 1e-300)


def within_range(evidence: Evidence, candidate: Candidate) -> float:
    """Return the dB that a candidate explains where it changes what is predicted, and that does not saturate.

    inf if nothing saturates, -inf if too little is left to say.
    """
    trial = evidence.trial(candidate)
    if not trial.steps:
        return np.inf
    low, high = ends(trial.spec or evidence.spec)
    model = trial.codes - trial.left
    changed = (
        model != evidence.codes - evidence.left if model.shape == evidence.codes.shape else np.ones(model.shape, bool)
    )
    inner = (model > low) & (model < high) & changed
    if np.array_equal(inner, changed):
        return np.inf
    codes, left = trial.codes[inner], trial.left[inner]
    if codes.size < ENOUGH:
        return -np.inf
    return decibels(codes.var(), max(float((left * left).mean()), ROUNDING))
