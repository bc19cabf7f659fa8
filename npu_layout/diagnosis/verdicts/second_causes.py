"""Find two causes at once: what the device computed is not what was declared, and its buffer is read wrongly, too.

Or the device had another input, and its model ends in another function.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...comparison import channel_axis
from ...support import finite
from ..computed.activations import activations
from ..computed.factors import factors
from ..scoring.evidence import Evidence
from ..scoring.left_errors import bent
from ..scoring.moments import line
from ..scoring.proof import proven
from ..scoring.thresholds import BENT, LEAST, MARGIN
from ..scoring.trials import Candidate, Trial
from ..stored.channel_orders import channel_orders
from ..stored.declared_scales import declared_scales
from ..stored.readings import declared, readings
from ..stored.slight_scales import has_scales_of_channels
from ..stored.slopes import is_of_two_scales
from .objections import accuses, exchanges_floats, is_no_line
from .scale_objections import is_slight_scale

READS = ("layout", "quantization", "channel_order")  # causes in how the buffer is read, the first named first
_ENDS = "activation"  # beside another input, how the values were changed is named first
_COMPUTES = ("preprocessing", "input_order", "output_order", "wrong_input", "geometry", "activation")
_WHOLE = 15.0  # dB: one cause that explains so much is the only one
_SOUND = 2 * LEAST  # dB that two causes have to explain
_MOST = 2 * LEAST  # dB: a function of the model's values explains most of the output
_BETTER = 2 * MARGIN  # dB that two causes have to explain more than one
_MOVED = 3  # inputs that are mirrored or upside down
_EACH = 2  # hypotheses that agree best in line, and in the distribution of their values
_IN_LINE, _ALIKE = 0.8, 0.15  # share of the variance off a line; deviations between distributions: of noise
_OF_ONE_SCALE = 2  # fitted numbers: a scale and a zero point
_FRAMES = 6
_QUANTILES, _VALUES = 128, 20_000


class CausePair(NamedTuple):
    """Two causes: how the buffer is read, or how the model ends, and what else was computed; `evidence`: under that.

    `number`: of the trial of what was computed. `alone`: the dB that the best single cause explains.
    """

    reads: Candidate
    computes: Trial
    evidence: Evidence
    number: int
    alone: float = -np.inf

    @property
    def trial(self) -> Trial:
        """The trial of both causes; its answers are those of the kept frames in which it was found."""
        both = self.evidence.trial(self.reads)
        rows = {k: row for k, row in enumerate(_rows(self.computes)) if k in both.answers}
        places = 0 if self.computes.places == 0 else self.evidence.samples.count  # of a tensor of another shape
        return both._replace(answers={row: both.answers[k] for k, row in rows.items()}, places=places)


def second_causes(
    evidence: Evidence, ranking: Sequence[Candidate], ways: Collection[Hashable] = ()
) -> CausePair | None:
    """Return the pair of causes that explains clearly more than each alone; None if there is none, or several.

    None, too, if a pair that is none because its error depends on the value explains clearly more.

    ways: identify the inputs that other outputs show: the device had one input.
    """
    best = _of_one(evidence, ranking)
    if best.straight >= _WHOLE:
        return None
    if not evidence.fits:
        return _of_another_output(evidence, best)
    found: list[CausePair] = []
    most_bent = -np.inf
    curve = any(_is_a_curve(evidence, c) for c in ranking)
    tried = len(evidence.trials)
    for number in _hypotheses(evidence, ways):
        computes = evidence.trials[number]
        rows = _rows(computes)
        under = _of_frames(evidence, rows, [computes.answers[k] for k in rows])
        pairs = [
            CausePair(reads, computes, under, number)
            for reads in under.rank(_ways(under, computes, _least(best.straight)))
        ]
        pairs = _without_lines(pairs)
        pairs = [pair for pair in pairs if _is_sound(pair, best)]
        most_bent = max([most_bent, *(pair.reads.score for pair in pairs if _is_bent(pair))])
        found += [pair for pair in pairs if not (_is_bent(pair) or (curve and _is_fitted(pair)))]
        tried += len(under.trials)
    found = _better_than_one(evidence, found)
    found.sort(key=lambda pair: -pair.reads.score)
    if not found or not proven(found[0].evidence, found[0].reads, tried):
        return None
    first = found[0]
    if most_bent >= first.reads.score + MARGIN:
        return None
    rivals = (pair for pair in found[1:] if pair.reads.score > first.reads.score - MARGIN)
    if any(_differ(pair, first) for pair in rivals):
        return None
    return first._replace(alone=best.straight if _is_free(first) else best.best)


def _of_another_output(evidence: Evidence, best: _One) -> CausePair | None:
    """Return the pair of an output of another shape in this one's place, whose buffer is read wrongly; None if none is.

    Its shape is the declared one; as the output that it is recorded as, the buffer was read in every way already.
    """
    found: list[CausePair] = []
    tried = len(evidence.trials)
    for number, computes in enumerate(evidence.trials):
        if computes.cause != "output_order" or not computes.answers:
            continue
        rows = _rows(computes)
        answers = [computes.answers[k] for k in rows]
        under = Evidence(evidence.spec, [evidence.buffers[k] for k in rows], answers, (), channel_axis(answers[0]))
        pairs = [CausePair(reads, computes, under, number, best.best) for reads in under.rank(_ways_to_read(under))]
        alone = under.score(under.as_declared())
        sound = (pair for pair in pairs if _is_sound(pair, best) and not _is_bent(pair))
        found += [pair for pair in sound if pair.reads.score >= alone + _BETTER]
        tried += len(under.trials)
    first = max(found, key=lambda pair: pair.reads.score, default=None)
    if first is None or not proven(first.evidence, first.reads, tried):
        return None
    rivals = (pair for pair in found if pair.reads.score > first.reads.score - MARGIN)
    return None if any(_differ(pair, first) for pair in rivals) else first


def _differ(one: CausePair, other: CausePair) -> bool:
    """Whether two pairs are not of the same causes."""
    return one.number != other.number or one.reads.cause != other.reads.cause


def _better_than_one(evidence: Evidence, found: list[CausePair]) -> list[CausePair]:
    """Return the pairs that explain more than each of their causes alone, of the same frames and channels.

    In these frames less may be wrong, or a vector may have too few values for channels.
    """
    reads: dict[tuple[int, ...], _One] = {}
    for rows in {tuple(_rows(pair.computes)) for pair in found}:
        plain = _of_frames(evidence, rows, [evidence.references[k] for k in rows])
        reads[rows] = _of_one(plain, plain.rank(_ways_to_read(plain)))

    def is_better(pair: CausePair) -> bool:
        computes = pair.evidence.score(pair.evidence.as_declared())
        least = max(_more_than(reads[tuple(_rows(pair.computes))], pair), computes + _BETTER)
        return pair.reads.score >= least

    return [pair for pair in found if is_better(pair)]


def _rows(computes: Trial) -> list[int]:
    return sorted(computes.answers)[:_FRAMES]


def _of_frames(evidence: Evidence, rows: Sequence[int], references: Sequence[np.ndarray]) -> Evidence:
    buffers = [evidence.buffers[k] for k in rows]
    return Evidence(evidence.spec, buffers, references, (), evidence.named_axis, evidence)


class _One(NamedTuple):
    """The best score of one cause, `straight`: of those that are no lines through a curve, which are no causes."""

    best: float
    straight: float


def _of_one(evidence: Evidence, ranking: Sequence[Candidate]) -> _One:
    """Return the best scores of one cause."""
    best = max((c.score for c in ranking), default=-np.inf)
    straight = next((c.score for c in sorted(ranking, key=lambda c: -c.score) if not is_no_line(evidence, c)), -np.inf)
    return _One(best, straight)


def _least(best: float) -> float:
    """Return the dB that two causes have to explain, given the best score of one."""
    return max(_SOUND, best + _BETTER)


def _more_than(one: _One, pair: CausePair) -> float:
    """Return the dB that a pair has to explain to be better than one cause.

    A line through a curve, beside another order, is no cause of which a function without fitted numbers is the rest.
    """
    if _is_free(pair):
        return max(one.straight + _BETTER, one.best - MARGIN)
    return one.best + _BETTER


def _is_free(pair: CausePair) -> bool:
    """Whether a function of all values is beside another order, and neither has fitted numbers."""
    reads, computes = pair.evidence.trial(pair.reads), pair.computes
    return computes.cause == _ENDS and not any(t.parameters or t.choices for t in (reads, computes))


def _is_sound(pair: CausePair, best: _One) -> bool:
    """Return whether two causes are of two kinds and explain enough, and more than the `best` score of one cause."""
    reads, fitted = pair.reads, _is_fitted(pair)
    if not (_is_plain_end(pair) or (reads.cause in READS and reads.fix is not None)):  # a line through floats fits much
        return False
    if fitted and (has_scales_of_channels(reads.fix) or exchanges_floats(pair.evidence, reads)):
        return False  # any curve is near a line in each channel, and the bits of a float are near its logarithm
    least = max(_SOUND, _more_than(best, pair))
    least = max(least, _WHOLE) if fitted or _fits_channels(pair) else least  # these fit much
    if reads.score < least or reads.gain < MARGIN or _is_of_noise(pair):
        return False
    return not (fitted and is_of_two_scales(pair.evidence, pair.evidence.trial(reads)))


def _is_bent(pair: CausePair) -> bool:
    """Whether the error depends on the value. Values that are rounded alike hide a curve."""
    return bent(pair.evidence, pair.reads, rounding=0.0) > BENT


def _is_of_noise(pair: CausePair) -> bool:
    """Whether a scale would not be named if the other cause were what was declared."""
    under, reads = pair.evidence, pair.reads
    computes = under.score(under.as_declared())
    return reads.cause == "quantization" and (is_slight_scale(under, reads) or not accuses(under, reads, computes))


def _is_plain_end(pair: CausePair) -> bool:
    """Whether a function of all values, without fitted numbers, is beside another input."""
    trial = pair.evidence.trial(pair.reads)
    return pair.reads.cause == _ENDS and pair.computes.of_input and not (trial.parameters or trial.choices)


def _without_lines(pairs: Sequence[CausePair]) -> list[CausePair]:
    """Return the pairs without scales that explain no more than a function: any curve is near a line."""
    most = max((pair.reads.score for pair in pairs if _is_plain_end(pair)), default=-np.inf)
    return [pair for pair in pairs if pair.reads.cause != "quantization" or pair.reads.score > most]


def _is_a_curve(evidence: Evidence, c: Candidate) -> bool:
    """Whether a function without fitted numbers explains most alone: another one with a scale of its own is near it."""
    trial = evidence.trial(c)
    free = not (trial.parameters or trial.choices)
    return c.cause == "activation" and free and c.score >= _MOST and bent(evidence, c) <= BENT


def _is_fitted(pair: CausePair) -> bool:
    return (pair.reads.cause, pair.computes.cause) == ("quantization", "activation")


def _fits_channels(pair: CausePair) -> bool:
    """Whether scales of channels are fitted beside another input.

    An input of another contrast, which was not tried, is in each channel nearly a line of one that was.
    """
    return pair.computes.of_input and pair.evidence.trial(pair.reads).parameters > _OF_ONE_SCALE


def _ways(evidence: Evidence, computes: Trial, least: float) -> Iterator[Trial]:
    """Yield the ways to read the buffer, and, beside another input, the functions at the end.

    least: the dB that has to be explained; what cannot is not worked out.
    """
    yield from _ways_to_read(evidence, least)
    if computes.of_input:
        yield from activations(evidence)


def _ways_to_read(evidence: Evidence, least: float = -np.inf) -> Iterator[Trial]:
    yield from declared(evidence)
    yield from factors(evidence, ())
    yield from declared_scales(evidence)
    yield from readings(evidence, least)
    yield from channel_orders(evidence, least)


def _hypotheses(evidence: Evidence, ways: Collection[Hashable]) -> list[int]:
    """Return the numbers of the trials of what else was computed that agree best, however the buffer is read.

    With those of the inputs of `ways`.
    """
    others = [
        k
        for k, t in enumerate(evidence.trials)
        if t.cause in _COMPUTES and t.answers and t.comparable and t.steps == evidence.steps and not t.places
    ]
    moved = [k for k in others if _is_moved(evidence.trials[k])]
    others = [k for k in others if k not in moved]
    off_line = {k: _off_line(evidence, evidence.trials[k]) for k in others}
    compared = _Distributions(evidence)
    unlike = {k: compared.unlike(evidence.trials[k]) for k in others}
    in_line = sorted((k for k, left in off_line.items() if left < _IN_LINE), key=off_line.__getitem__)[:_EACH]
    nearest = sorted((k for k, far in unlike.items() if far < _ALIKE), key=unlike.__getitem__)
    ends = [k for k in nearest if evidence.trials[k].cause == _ENDS]
    alike = [*[k for k in nearest if k not in ends][:_EACH], *ends[:_EACH]]
    outputs = [k for k in others if evidence.trials[k].cause == "output_order"]
    usual = [k for k in others if evidence.trials[k].cause == "preprocessing"][:1]  # the colours
    inputs = [k for k in others if evidence.trials[k].cause == "input_order"]
    mirrored = [k for k in moved if evidence.trials[k].cause == "geometry"][:_MOVED]
    shown = [k for k in (*others, *moved) if evidence.trials[k].way in ways]
    return list(dict.fromkeys([*in_line, *alike, *usual, *outputs[:_EACH], *inputs[:_EACH], *mirrored, *shown]))


def _is_moved(t: Trial) -> bool:
    """Whether no argument makes the input: outputs of a moved one are distributed like those of any other one."""
    return t.of_input and t.fix is None


def _off_line(evidence: Evidence, t: Trial) -> float:
    """Return the share of the stored values' variance that a line through the trial's leaves."""
    rows = list(t.rows) if t.rows is not None else list(range(len(evidence.buffers)))
    codes, wanted = evidence.codes[rows], t.codes - t.left
    slope, offset = line(wanted, codes)
    left = codes - slope * wanted - offset
    return float(left.var() / max(float(codes.var()), 1e-300)) if slope > 0 else 1.0


class _Distributions:
    """How unlike the distributions of the device's values and of trials' are, in every order the same.

    The device's values have the declared scale, if that is one. What is picked of them does not depend on the trial.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        q = evidence.spec.quantization
        self._each = q is not None and q.axis is not None
        self._scale = (1.0, 0.0) if q is None or self._each else (float(q.scale), float(q.zero_point))
        self._picked = np.random.default_rng(0)
        self._places: list[np.ndarray] = []
        self._known: dict[tuple[int, int], np.ndarray] = {}

    def unlike(self, t: Trial) -> float:
        """Return how far the trial's quantiles are from the device's, in deviations of its own."""
        distances = []
        for k, row in enumerate(_rows(t)):
            device, model = self._of_device(k, row), self._quantiles(np.asarray(t.answers[row]), 2 * k + 1)
            distances.append(float(np.abs(device - model).mean()) / max(float(model.std()), 1e-300))
        return float(np.mean(distances))

    def _of_device(self, k: int, row: int) -> np.ndarray:
        """Return the quantiles of a frame of the device, the k-th of a trial."""
        if (k, row) not in self._known:
            self._known[k, row] = self._quantiles(self._evidence.elements[row], 2 * k, *self._scale)
        return self._known[k, row]

    def _quantiles(self, x: np.ndarray, pick: int, scale: float = 1.0, zero_point: float = 0.0) -> np.ndarray:
        flat = x.reshape(-1)
        some = finite(flat if flat.size <= _VALUES else flat[self._pick(pick, flat.size)])
        ordered = np.sort((some.astype(np.float64) - zero_point) * scale)  # np.quantile takes seven times as long
        at = np.linspace(0.01, 0.99, _QUANTILES) * (ordered.size - 1)
        low = at.astype(int)
        found = ordered[low] + (ordered[np.minimum(low + 1, ordered.size - 1)] - ordered[low]) * (at - low)
        return np.asarray((found - found.mean()) / max(float(found.std()), 1e-300)) if self._each else np.asarray(found)

    def _pick(self, pick: int, size: int) -> np.ndarray:
        """Return the places of a pick, which are the same for each trial."""
        while len(self._places) <= pick:
            self._places.append(self._picked.integers(0, size, _VALUES))
        return self._places[pick]
