"""Put causes without fitted numbers before those that explain hardly more with them.

A number that is fitted explains some of any noise, and some of what another cause did. What it costs is in proof.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .evidence import Candidate, Evidence, Trial
from .proof import cost
from .scales import has_scales_of_channels, line

ORDERS = ("layout", "channel_order", "output_order", "input_order", "wrong_input")  # another order of the same values
HARDLY = 4.0  # dB more that fitted numbers explain of what is a function of the model's values
_AS_GOOD = 0.5  # dB that a cause explains less by chance of what is its own


def simplest_first(evidence: Evidence, strong: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates, of which one without fitted numbers comes first if the best explains hardly more with them."""
    return _plainest(evidence, _cheapest(evidence, strong))


def _plainest(evidence: Evidence, strong: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, but a function without fitted numbers before scales that explain hardly more.

    A part of a sigmoid is nearly a line, but only by chance the one that the declared scale makes of it. A function of
    chosen channels has to explain most.
    """
    best = strong[0]
    functions = (c for c in strong if c.cause == "activation" and not evidence.trial(c).parameters)
    plain = next((c for c in functions if c is best or not evidence.trial(c).choices), None)
    if plain is None or (
        best is not plain and not (evidence.trial(best).parameters and _hardly(evidence, best, plain))
    ):
        return list(strong)
    return [plain, *(c for c in strong if c is not plain and not evidence.trial(c).parameters)]


def _hardly(evidence: Evidence, best: Candidate, plain: Candidate) -> bool:
    """Whether a candidate explains more than a function by no more than its fitted numbers explain of noise.

    The values of the function get a line of their own. If it is the cause, they explain as much then; if the cause is
    a scale, less, because they are bent. Scales of channels fit the channels' constant errors, so that these do not
    count.
    """
    paid, raw = cost(evidence, best), best.score - plain.score
    if best.cause != "quantization" or evidence.trial(plain).places:
        return raw <= max(HARDLY, paid)
    each = has_scales_of_channels(best.spec)
    change = _varying if each else _off_line
    of_best, of_plain = (evidence.score(change(evidence, evidence.trial(c))) for c in (best, plain))
    more = of_best - of_plain
    return more <= max(HARDLY, paid) if each else raw <= max(HARDLY, paid) and more <= max(_AS_GOOD, paid)


def _cheapest(evidence: Evidence, strong: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, one without fitted numbers before the best if it explains less by no more than they cost.

    Scales of channels make of a constant channel what it is in another one's place.
    """
    best, *others = strong
    if best.cause in ORDERS:
        return list(strong)
    first = next((c for c in others if c.cause in ORDERS and as_good(evidence, c, best)), best)
    return [first, *(c for c in strong if c is not first)]


def as_good(evidence: Evidence, one: Candidate, other: Candidate) -> bool:
    """Whether a candidate explains no less than another one but for what the further fitted numbers of that cost."""
    spared = cost(evidence, other) - cost(evidence, one)
    return spared > 0 and other.score - one.score <= spared


def _varying(evidence: Evidence, trial: Trial) -> Trial:
    """Return a trial without the mean error of each channel."""
    means = evidence.by_channel(trial.left, trial.places).mean(1)
    return trial._replace(left=trial.left - np.repeat(means, trial.places or evidence.samples.count))


def _off_line(evidence: Evidence, trial: Trial) -> Trial:
    """Return a trial that leaves what is off the line of the stored values over those that it predicts."""
    predicted = trial.codes - trial.left
    slope, offset = line(predicted, trial.codes, np.ones(predicted.shape, bool))
    return trial._replace(left=trial.codes - slope * predicted - offset)
