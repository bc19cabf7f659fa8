"""How many values it takes to prove a cause, against all that were tried.

What a cause leaves is compared with what the declared reading leaves: r is the ratio of their powers, in n independent
values each. If both were noise of one power, r would exceed a value with a probability of at most
((1 + r)**2 / (4 * r))**(-n / 2), Chernoff's bound for a ratio of two sums of n squares. In a search through h
hypotheses, none of which is true, one exceeds what has the probability p / h with a probability of p at most. A cause
whose parameters are fitted pays for them as in Schwarz's criterion, half the logarithm of the number of values for
each; one that is an arrangement of many, the logarithm of the number of arrangements.

See Chernoff, "A measure of asymptotic efficiency for tests of a hypothesis based on the sum of observations", Annals
of Mathematical Statistics 23 (1952); Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .evidence import Candidate, Evidence

RATE = 1e-4  # faultless outputs of which a cause is named, in the whole search
_NEIGHBOURS = 8  # places of a map that err alike, as one


def proven(evidence: Evidence, candidate: Candidate, tried: int) -> bool:
    """Whether the recording proves a candidate, of so many that were tried."""
    return surprise(evidence, candidate) >= needed(evidence, candidate, tried)


def surprise(evidence: Evidence, candidate: Candidate) -> float:
    """Return minus the logarithm of the probability that noise alone makes a candidate so much better."""
    ratio = 10 ** (min(candidate.gain, 200.0) / 10)
    if ratio <= 1:
        return 0.0
    return independent(evidence, candidate) / 2 * math.log((1 + ratio) ** 2 / (4 * ratio))


def needed(evidence: Evidence, candidate: Candidate, tried: int) -> float:
    """Return what `surprise` has to exceed for a candidate of so many that were tried."""
    trial = evidence.trial(candidate)
    parameters = trial.parameters * 0.5 * math.log(max(independent(evidence, candidate), math.e))
    return math.log(max(tried, 1) / RATE) + trial.choices + parameters


def independent(evidence: Evidence, candidate: Candidate) -> float:
    """Return the number of values that a candidate is judged by: of moved channels only, neighbours in a map as one."""
    trial = evidence.trial(candidate)
    shape, axis, share = evidence.references[0].shape, evidence.named_axis, 1.0
    places = evidence.references[0].size // (1 if axis is None else shape[axis])
    if trial.order is not None:
        share = sum(i != at for i, at in enumerate(trial.order)) / len(trial.order)
    return int(trial.left.size) * share * _distinct(evidence, trial.rows) / min(_NEIGHBOURS, max(places, 1))


def _distinct(evidence: Evidence, rows: Sequence[int] | None) -> float:
    """Return which share of the frames differ in what the model returns: the same again is no further proof."""
    chosen = range(len(evidence.wanted)) if rows is None else rows
    return len({evidence.wanted[row].tobytes() for row in chosen}) / max(len(chosen), 1)
