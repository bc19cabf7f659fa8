"""Compare two candidates of one output by what they predict: whether the data are on the side of either."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..scoring.evidence import EXACT, Evidence, contrast
from ..scoring.thresholds import MARGIN, SOUND
from ..scoring.trials import Candidate, Trial
from .clamping import clamped_of_input
from .simplicity import ORDERS, as_good, off_line

_THERE = 0.05  # of the power of the part that differs most: in what differs by less, noise decides
_BEND = 0.05  # of the noise: the power of a bend of which data can be without
_WITHOUT = 0.15  # of a bend: data that have less have none, but for what a network rounds
_BEATEN = 0.25  # of the way from the best candidate to another: data before that are clearly on the best one's side
_AT_THE_BEST = 0.1  # the same, of two inputs that both leave more than the noise of a sound device
_SATURATED = 0.5  # of the values: an input that makes so many saturate is not beaten by one that makes fewer
_FAR_ENOUGH = 0.05  # of the noise: the power by which the outputs of two inputs differ, before the data decide
AT = 0.25  # of the way from the declared reading to a candidate: data so near to its end are at it


def other_inputs(evidence: Evidence, best: Candidate, others: Sequence[Candidate]) -> list[Candidate]:
    """Return the inputs of `others`, no causes themselves, that are as likely as `best`: an input, or fitted numbers.

    Another one that gains a tenth of a dB less than a cause has to is no worse, nor is one that was refused. Nor is one
    that explains as much and gains less, because it was tried on other frames. Where no more is left than is sound,
    that is said only of two inputs between which the data do not decide: what speaks against one of them, such as a
    scale that explains as much, speaks against the other one, too.
    """
    if best.score >= SOUND:
        return [c for c in others if best.of_input and c.gain >= MARGIN and sides(evidence, best, c) is None]
    if not (best.of_input or evidence.trial(best).parameters):
        return []
    return [c for c in others if c.gain >= MARGIN or c.score >= best.score]


def is_beaten(evidence: Evidence, best: Candidate, c: Candidate) -> bool:
    """Whether the data are clearly on the side of `best`, of two candidates that are nearly as good.

    They are if the other one was picked from more arrangements, such as an order of its own for each frame, or has
    numbers that were fitted and explain no more than they cost, and if they are clearly nearer to `best`, of two
    candidates of one cause. Two causes of the same values are both possible, and so are two inputs whose outputs differ
    by far less than the noise: a network that rounds alike leans to one of them by chance. Where both leave more than
    the noise of a sound device it leans further, so that the data have to be at the best one. Beside an input that
    makes most values saturate, one that saturates less agrees better where the values are near zero. An input that acts
    nearly as a scale is told from it by the bend: of a network whose layers cut off at zero alone, half of the pixel
    values make half of all values, and no order of the two is simpler.
    """
    if best.cause != c.cause and alike(evidence, best, c):
        return False
    if best.of_input and c.cause == "quantization":
        leans = sides(evidence, best, c)
        return leans is not None and leans < _BEATEN
    if evidence.trial(c).choices > evidence.trial(best).choices and c.score <= best.score:
        return True
    if best.cause in ORDERS and as_good(evidence, best, c):
        return True
    if best.of_input and c.of_input:
        saturates = clamped_of_input(evidence, c) > max(_SATURATED, clamped_of_input(evidence, best))
        if saturates or distance(evidence, best, c) < _FAR_ENOUGH:
            return False
    if best.cause == "quantization" and c.of_input and has_no_bend(evidence, best, c):
        return True
    leans = sides(evidence, best, c) if best.cause == c.cause else None
    return leans is not None and leans < (_BEATEN if best.score >= SOUND or not c.of_input else _AT_THE_BEST)


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


def of_one_look(evidence: Evidence, best: Candidate, others: Sequence[Candidate]) -> list[Candidate]:
    """Return the functions, `best` among them, between which the data do not decide; none if `best` is no function.

    The logarithm of a small probability is nearly its logit: a missing exp looks like a missing sigmoid.
    """
    if not _is_function(evidence, best):
        return []
    near = [c for c in others if c.score >= best.score - MARGIN and _is_function(evidence, c)]
    return sorted((c for c in near if c is best or _is_undecided(evidence, best, c)), key=lambda c: c.trial)


def _is_undecided(evidence: Evidence, one: Candidate, other: Candidate) -> bool:
    """Whether the data do not decide between two candidates whose stored values can be compared."""
    return bool(np.isfinite(distance(evidence, one, other))) and sides(evidence, one, other) is None


def _is_function(evidence: Evidence, c: Candidate) -> bool:
    """Whether a candidate is a function of the model's values without numbers that were fitted or channels chosen."""
    trial = evidence.trial(c)
    return c.cause == "activation" and not (trial.parameters or trial.places or trial.choices)


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
    return len(of_frames) >= frames and bool((abs(positions - 1) <= AT).all())


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
