"""Put causes with fewer fitted numbers, or none, before those that explain hardly more with them.

A number that is fitted explains some of any noise, and some of what another cause did. What it costs is in proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..scoring.evidence import Evidence
from ..scoring.moments import line
from ..scoring.proof import cost
from ..scoring.trials import Candidate, Trial
from ..stored.slight_scales import has_scales_of_channels

ORDERS = ("layout", "channel_order", "output_order", "input_order", "wrong_input")  # another order of the same values
HARDLY = 4.0  # dB more that fitted numbers explain of what is a function of the model's values
_DIGITS = 6  # of a score, in which those of the same prediction are equal
_AS_GOOD = 0.5  # dB that a cause explains less by chance of what is its own


def simplest_first(evidence: Evidence, strong: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, first another order or a function that explains hardly less than the best one.

    Of those that explain the same, first the one that was picked from fewer arrangements.
    """
    picked = sorted(strong, key=lambda c: (-round(c.score, _DIGITS), evidence.trial(c).choices))
    return _plainest(evidence, _cheapest(evidence, _of_one_scale(evidence, _of_most_frames(evidence, picked))))


def _of_one_scale(evidence: Evidence, strong: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, of several scales of one layout the first alone: a declared one, if it is as good.

    Two scales that explain nearly as much are one cause.
    """
    best = strong[0]
    scales = [c for c in strong if c.cause == best.cause == "quantization" and _is_of_layout(best, c)]
    free = (c for c in scales if not evidence.trial(c).parameters and as_good(evidence, c, best))
    first = next(free, best)
    return [first, *(c for c in strong if c is not first and c not in scales)]


def _is_of_layout(one: Candidate, other: Candidate) -> bool:
    """Whether two candidates read the same layout and dtype."""
    a, b = one.spec, other.spec
    return a is not None and b is not None and (a.layout, a.dtype, a.axes) == (b.layout, b.dtype, b.axes)


def _of_most_frames(evidence: Evidence, strong: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, but no shift of few frames that explains hardly more than all of them in some order.

    Of frames in any order, two are as far apart in both by chance.
    """
    rows = {id(c): evidence.trial(c).rows for c in strong if c.cause == "wrong_input"}
    most = max((c.score for c in strong if id(c) in rows and rows[id(c)] is None), default=-np.inf)

    def is_by_chance(c: Candidate) -> bool:
        few = rows.get(id(c))
        return few is not None and 2 * len(few) <= len(evidence.buffers) and c.score <= most + HARDLY

    return [c for c in strong if not is_by_chance(c)]


def _plainest(evidence: Evidence, strong: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, but a function without fitted numbers before scales that explain hardly more.

    A part of a sigmoid is nearly a line, but only by chance the one that the declared scale makes of it. A function of
    chosen channels has to explain most, but for what the scales' numbers cost.
    """
    best = strong[0]
    functions = (c for c in strong if c.cause == "activation" and not evidence.trial(c).parameters)
    plain = next(
        (c for c in functions if not evidence.trial(c).choices or as_good(evidence, c, best) or c is best), None
    )
    if plain is None or (
        best is not plain and not (evidence.trial(best).parameters and _hardly(evidence, best, plain))
    ):
        return list(strong)
    return [plain, *(c for c in strong if c is not plain and not evidence.trial(c).parameters)]


def _hardly(evidence: Evidence, best: Candidate, plain: Candidate) -> bool:
    """Whether a candidate explains no more than HARDLY, or than its fitted numbers cost, above a function."""
    if best.cause == "quantization" and not (evidence.trial(plain).places or _reads_bits(evidence, best)):
        return (_hardly_by_scales if has_scales_of_channels(best.spec) else _hardly_by_scale)(evidence, best, plain)
    return best.score - plain.score <= max(HARDLY, cost(evidence, best))


def _reads_bits(evidence: Evidence, best: Candidate) -> bool:
    """Whether a candidate reads the bits of floats as integers, which nearly are a line of the floats' logarithms."""
    return not evidence.steps and best.spec is not None and best.spec.element.unpacked.kind != "f"


def is_of_bits(evidence: Evidence, c: Candidate, ranking: Sequence[Candidate]) -> bool:
    """Whether bits of floats are read as integers with scales of channels, and a function explains as much.

    It does so of what varies within the channels, and need not be a cause: what a network errs by is as large.
    """
    if not (c.cause == "quantization" and _reads_bits(evidence, c) and has_scales_of_channels(c.spec)):
        return False
    functions = (o for o in ranking if o.cause == "activation" and o.gain >= HARDLY)
    plain = [o for o in functions if not (evidence.trial(o).parameters or evidence.trial(o).places)]
    return any(_hardly_by_scales(evidence, c, o) for o in plain)


def _hardly_by_scale(evidence: Evidence, best: Candidate, plain: Candidate) -> bool:
    """Whether a scale explains hardly more than a function, and not more than it with a line of its own.

    If the function is the cause, it explains as much then; if the scale is, less, because the function is bent.
    """
    paid = cost(evidence, best)
    straight = _more(evidence, off_line, best, plain)
    return best.score - plain.score <= max(HARDLY, paid) and straight <= max(_AS_GOOD, paid)


def _hardly_by_scales(evidence: Evidence, best: Candidate, plain: Candidate) -> bool:
    """Whether scales of channels explain hardly more than a function but for the constant errors of the channels.

    Fitted zero points make these up, whatever the cause is.
    """
    return _more(evidence, _varying, best, plain) <= max(HARDLY, cost(evidence, best))


def _more(evidence: Evidence, change: Callable[[Evidence, Trial], Trial], best: Candidate, plain: Candidate) -> float:
    """Return by how many dB one candidate explains more than another, of which both are changed."""
    of_best, of_plain = (evidence.score(change(evidence, evidence.trial(c))) for c in (best, plain))
    return of_best - of_plain


def _cheapest(evidence: Evidence, strong: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, first another order that explains less than the best by no more than it costs less.

    The order may have fitted numbers, too, if it has fewer. Scales of channels make of a constant channel what it is
    in another one's place.
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


def off_line(evidence: Evidence, trial: Trial) -> Trial:
    """Return a trial that leaves what is off the line of the stored values over those that it predicts."""
    predicted = trial.codes - trial.left
    slope, offset = line(predicted, trial.codes)
    return trial._replace(left=trial.codes - slope * predicted - offset)
