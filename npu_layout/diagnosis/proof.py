"""How many values it takes to prove a cause: a likelihood ratio, against all that were tried.

If a cause leaves an error that is smaller by g dB in n independent values, the logarithm of the likelihood ratio to the
declared reading is n * g * ln(10) / 20, for Gaussian errors of unknown power. In a search through h hypotheses, none of
which is true, one exceeds ln(h / p) with a probability of p at most: Markov's inequality for each of them, and the union
bound for all. A cause whose parameters are fitted pays for them as in Schwarz's criterion, half the logarithm of the
number of values for each; one that is an arrangement of many, the logarithm of the number of arrangements.

See Schwarz, "Estimating the dimension of a model", The Annals of Statistics 6 (1978).
"""

from __future__ import annotations

import math

from .evidence import Candidate, Evidence

RATE = 1e-4  # faultless outputs of which a cause is named, in the whole search
_NEIGHBOURS = 8  # places of a map that err alike, as one


def proven(evidence: Evidence, candidate: Candidate, tried: int) -> bool:
    """Whether the recording proves a candidate, of so many that were tried."""
    return gained(evidence, candidate) >= needed(evidence, candidate, tried)


def gained(evidence: Evidence, candidate: Candidate) -> float:
    """Return the logarithm of the likelihood ratio of a candidate to the declared reading."""
    return independent(evidence, candidate) * candidate.gain * math.log(10) / 20


def needed(evidence: Evidence, candidate: Candidate, tried: int) -> float:
    """Return what the logarithm of the likelihood ratio has to exceed."""
    trial = evidence.trial(candidate)
    parameters = trial.parameters * 0.5 * math.log(max(independent(evidence, candidate), math.e))
    return math.log(max(tried, 1) / RATE) + trial.choices + parameters


def independent(evidence: Evidence, candidate: Candidate) -> float:
    """Return the number of values that a candidate is judged by, neighbours in a map as one."""
    values = int(evidence.trial(candidate).left.size)
    places = evidence.references[0].size // max(evidence.channels, 1)
    return values / min(_NEIGHBOURS, max(places, 1))
