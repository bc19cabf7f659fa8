"""Decide the verdict on one output from its candidates, its figures and its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..comparison import TELLING, OutputComparison, OutputPart
from . import wording
from .causes import Situation, every
from .evidence import Evidence
from .proof import follows_frames, independent, proven
from .samples import arithmetic, ends
from .scales import has_scales_of_channels, is_of_some_channels, is_slight
from .second_causes import Pair, second_causes
from .simplicity import HARDLY, ORDERS, as_good, simplest_first
from .thresholds import BENT, ENOUGH, LEAST, MARGIN, ROUNDING, SOUND
from .trials import Candidate

_FINE, _CLEAR = 20.0, 10.0  # dB: if the declared reading explains so much, another scale has to gain so much
_NEAR = 1.25  # factor: noise alone makes scales that are nearer to the declared one, whatever they explain
_FIX = 6.0  # dB that other causes have to explain to be named: what explains less mends nothing
_PERFECT = 40.0  # dB that the declared reading explains: inputs hardly matter, nor a slightly other scale
_MOST = 8.0  # dB: as declared, most of the output is explained
_MORE = 0.5  # dB that a line explains more than an input by its two fitted numbers, of few values
_SATURATED = 0.01  # of the values: what calibration leaves out is less
_AT_THE_ENDS = 0.75  # of the values that a scale clamps: noise leaves half
_BEATEN = 0.25  # of the way from the best candidate to another: data before that are clearly on the best one's side


class Judgement(NamedTuple):
    """A verdict with its fix, and why.

    Attributes
    ----------
    verdict, fix
        As in OutputReport.
    evidence, agreement, advice, notes
        What was found, how well device and model agree with it, what to do, and what else to know: each zero or more
        sentences.
    names_cause
        Whether the evidence is about a cause.
    also
        As in OutputReport.
    """

    verdict: str
    fix: Any
    evidence: str
    advice: str = ""
    notes: tuple[str, ...] = ()
    names_cause: bool = False
    also: tuple[str, ...] = ()
    agreement: str = ""

    @property
    def why(self) -> str:
        """All sentences."""
        return " ".join(filter(None, (self.evidence, self.agreement, self.advice, *self.notes)))

    def noted(self, sentence: str) -> Judgement:
        """Return it with a further note."""
        return self._replace(notes=(*self.notes, sentence))

    def refuted(self, sentence: str) -> Judgement:
        """Return a mismatch for the reason that `sentence` states, in front of the evidence."""
        return self._replace(verdict="mismatch", fix=None, evidence=f"{sentence} {self.evidence}")


def diagnose(
    evidence: Evidence, situation: Situation, met: bool, comparison: OutputComparison | None
) -> tuple[list[Candidate], Judgement]:
    """Return all candidates, best first, and the judgement of an output.

    met: whether all tolerances are met; comparison: the figures, None if the shapes differ.
    """
    ranking = evidence.rank(every(evidence, situation))
    judgement = judge(evidence, ranking, met, comparison)
    situation.say("pairs of causes")
    pair = None if judgement.verdict == "match" else second_causes(evidence, ranking)
    if pair is None:
        return ranking, judgement
    return _with_both(evidence, ranking, pair)


def _with_both(evidence: Evidence, ranking: Sequence[Candidate], pair: Pair) -> tuple[list[Candidate], Judgement]:
    """Return the candidates with the pair's first, and the judgement that names both causes."""
    reads, computes = pair.reads, pair.computes
    evidence.trials.append(pair.evidence.trial(reads))
    first = reads._replace(text=f"{reads.text}, and {computes.text}", trial=len(evidence.trials) - 1)
    why = wording.both(reads, computes, max(c.score for c in ranking))
    advice = wording.ADVICE[reads.cause](reads)
    return [first, *ranking], Judgement(
        reads.cause, reads.fix, why, f"{advice} {wording.THEN}", names_cause=True, also=(computes.cause,)
    )


def judge(
    evidence: Evidence, ranking: Sequence[Candidate], met: bool, comparison: OutputComparison | None
) -> Judgement:
    """Return the judgement of an output, given all its candidates, best first."""
    unexplained = [] if comparison is None else comparison.parts.unexplained()
    judgement = _by_causes(evidence, _possible(evidence, ranking, unexplained), met)
    if comparison is None:
        return judgement
    whole, odd, values = comparison.whole, comparison.non_finite, comparison.values
    if whole is None:
        return Judgement("mismatch", None, wording.nothing_finite(odd, values))
    both = values - odd - whole.values
    if both:
        judgement = judgement.noted(wording.left_out(both, values))
    if comparison.parts.frozen:
        if judgement.fix is None:
            return Judgement("mismatch", None, wording.frozen(whole), wording.FROZEN)
        if judgement.verdict == "preprocessing":
            judgement = judgement._replace(verdict="ambiguous", fix=None, advice=wording.SATURATES)
        return judgement.noted(wording.frozen(whole))
    if judgement.names_cause:
        return judgement
    if odd:
        return judgement.refuted(wording.not_finite(odd, values))
    labels = comparison.labels
    if labels is not None and labels.equal == labels.places:
        return Judgement("match", None, f"All {labels.places} labels are the model's.")
    return _by_parts(judgement, comparison, unexplained, evidence.named_axis)


def _by_parts(
    judgement: Judgement, comparison: OutputComparison, unexplained: Sequence[OutputPart], channel_axis: int | None
) -> Judgement:
    """Return the judgement of an output without a cause, checked for labels, channels, rows and frames."""
    saturated = comparison.saturated / comparison.values
    if saturated >= _SATURATED:
        judgement = judgement.noted(wording.saturated(saturated))
    lost = comparison.parts.lost()
    dead = [p for p in lost if p.axis == channel_axis]
    if dead and (unexplained or judgement.verdict == "mismatch"):
        judgement = judgement.noted(wording.dead(dead, channel_axis))
    confused = [] if comparison.labels is None else comparison.labels.confused()
    if confused:
        return judgement.refuted(wording.confused(confused))
    if unexplained:
        return judgement.refuted(wording.unexplained(unexplained, channel_axis))
    if judgement.verdict == "mismatch":
        worst = comparison.parts.worst_frames()
        return judgement.noted(wording.worst(worst)) if worst else judgement
    telling = next((p for p in lost if p.span >= TELLING), None)
    if judgement.verdict == "match" and telling is not None:
        return judgement.refuted(wording.lost([p for p in lost if p.axis == telling.axis], channel_axis))
    return judgement


def _possible(evidence: Evidence, ranking: Sequence[Candidate], unexplained: Sequence[OutputPart]) -> list[Candidate]:
    """Return the candidates without scales that gain only in channels of which they explain nothing either."""
    lost = [p.at for p in unexplained if p.axis is not None and p.axis == evidence.channel_axis]
    if not lost:
        return list(ranking)
    declared = evidence.as_declared()
    others = np.setdiff1d(np.arange(evidence.channels), lost)

    def possible(c: Candidate) -> bool:
        if c.cause != "quantization":
            return True
        trial = evidence.trial(c)
        before = evidence.score(declared, others)
        gain = evidence.score(trial, others) - before
        proven = gain >= MARGIN and not _biased(evidence, before, gain)
        return proven or evidence.score(trial, np.array(lost)) >= LEAST

    return [c for c in ranking if possible(c)]


def _by_causes(evidence: Evidence, ranking: Sequence[Candidate], met: bool) -> Judgement:
    """Return the judgement by the candidates only."""
    declared = next((c for c in ranking if c.cause == "match"), None)
    score = -np.inf if declared is None else declared.score
    slight = [c for c in ranking if _is_slight(evidence, c)]
    possible = [c for c in ranking if c not in slight and not _only_saturates(evidence, c)]
    strong = [c for c in possible if _accuses(evidence, c, score) and not (met and _needless(evidence, c, score))]
    strong = [c for c in strong if not (_is_nearly_a_line(evidence, c, ranking) or _clamps_noise(evidence, c))]
    strong = _without_heirs(strong, [c for c in strong if not _is_of_what_is_constant(evidence, c)])
    if strong:
        return _named(evidence, strong, declared)
    others = [c for c in possible if c.cause not in ("match", "quantization", "activation")]
    if declared is None:
        return Judgement("mismatch", None, wording.other_shape(evidence), wording.OTHER_SHAPE)
    undecided = _undecided(evidence, score, others, met)
    if undecided is not None:
        return undecided
    return _without_cause(score, met, others, next((c for c in slight if _accuses(evidence, c, score)), None))


def _without_heirs(strong: Sequence[Candidate], left: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that are `left`, none if another one that is no cause explains clearly more than these.

    What explains less than a part of the truth is no cause for the reason that the part is none.
    """
    most, best = (max((c.score for c in some), default=-np.inf) for some in (strong, left))
    return [] if most >= best + MARGIN else list(left)


def _undecided(evidence: Evidence, score: float, others: Sequence[Candidate], met: bool) -> Judgement | None:
    """Return the judgement if the values do not vary, or the data do not decide between two readings."""
    model, device = _varies(evidence)
    if not (model and device):
        verdict = "mismatch" if model or not (met or _within_a_step(evidence)) else "ambiguous"
        return Judgement(verdict, None, wording.flat(model, device, evidence.steps, met), wording.FLAT)
    doubt = next((c for c in others if _in_doubt(evidence, c, score)), None)
    if doubt is not None:
        return Judgement("ambiguous", None, wording.doubt(score, doubt), wording.RECORD[doubt.cause])
    return None


def _without_cause(score: float, met: bool, others: Sequence[Candidate], noisy: Candidate | None) -> Judgement:
    """Return the judgement if no cause is strong. noisy: a slightly other scale that explains more, if one does."""
    as_declared, next_best = wording.as_declared(score, met), wording.next_best(others, score)
    if not met and noisy is not None:
        return Judgement("mismatch", None, f"{as_declared} {wording.noisy(noisy)}", wording.RECORD["quantization"])
    if not met:
        return Judgement("mismatch", None, f"{as_declared} {wording.NO_CAUSE} {next_best}")
    if score >= LEAST:
        return Judgement("match", None, f"{as_declared} {next_best}")
    return Judgement("ambiguous", None, f"{as_declared} {wording.MEANS_ONLY} {next_best}", wording.VARY_MORE)


def _is_slight(evidence: Evidence, c: Candidate) -> bool:
    """Whether it is a scale that noise may explain as well: near the declared one, or of little effect."""
    if c.cause != "quantization" or c.spec is None:
        return False
    declared, fitted = evidence.spec.quantization, c.spec.quantization
    each = fitted is not None and fitted.axis is not None and (declared is None or declared.axis is None)
    weak = c.score < _MOST and (each or c.gain < HARDLY)
    return weak or (c.score < SOUND and is_slight(evidence, evidence.trial(c)))


def _only_saturates(evidence: Evidence, c: Candidate) -> bool:
    """Whether a function explains nothing but values that it saturates: most scales do that with zeros and ones."""
    return c.cause == "activation" and c.score >= LEAST and evidence.within_range(c) < LEAST


def _is_nearly_a_line(evidence: Evidence, c: Candidate, ranking: Sequence[Candidate]) -> bool:
    """Whether a slightly other scale explains as much as a function, or as an input that explains little more.

    So does a network whose arithmetic shrinks the values. What an input explains much better, it has to explain no less
    than such a scale.
    """
    if c.cause != "activation" and not c.of_input:
        return False
    lines = (o.score for o in ranking if o.cause == "quantization" and is_slight(evidence, evidence.trial(o)))
    much = c.of_input and c.gain >= HARDLY
    return max(lines, default=-np.inf) > c.score + (_MORE if much else -MARGIN)


def _needless(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether the declared reading is good, and another input is not proven: who reads the output does not mind."""
    return c.of_input and declared >= _FINE and not proven(evidence, c, len(evidence.trials))


def _accuses(evidence: Evidence, c: Candidate, declared: float) -> bool:
    of_scale = c.cause == "quantization" and not _clamps_less(evidence, c)
    near = declared >= _FINE or is_slight(evidence, evidence.trial(c), _NEAR)
    fine = of_scale and near and c.gain < _CLEAR
    indifferent = c.of_input or (of_scale and is_slight(evidence, evidence.trial(c)))  # to who reads the output
    least = LEAST if c.cause in ORDERS else _FIX
    perfect = indifferent and declared >= _PERFECT
    return c.cause != "match" and c.score >= least and c.gain >= MARGIN and not (fine or perfect)


def _clamps_less(evidence: Evidence, c: Candidate) -> bool:
    """Whether the declared scale clamps more of the model's values than calibration leaves out, and another does not.

    What is clamped agrees with any scale that clamps it, so that the declared one seems to explain most.
    """
    return bool(c.spec is not None and _clamped(evidence, evidence.spec) >= _SATURATED > _clamped(evidence, c.spec))


def _clamps_noise(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale clamps many of the model's values, but the device does not, or the others do not follow it.

    A right scale that clamps them stores the ends; one that is fitted to noise clamps what the noise makes smaller.
    """
    if c.cause != "quantization" or c.spec is None or c.spec.quantization is None:
        return False
    if _clamped(evidence, c.spec) < max(_SATURATED, _clamped(evidence, evidence.spec)):
        return False
    trial, (low, high) = evidence.trial(c), ends(c.spec)
    stored = trial.codes[_beyond(evidence, c.spec, float(np.sqrt((trial.left**2).mean())))]
    if stored.size == 0:
        return False
    at_the_ends = float(((stored <= low) | (stored >= high)).mean())
    return at_the_ends < _AT_THE_ENDS or evidence.within_range(c) < LEAST


def _is_of_what_is_constant(evidence: Evidence, c: Candidate) -> bool:
    """Whether a cause explains only channels that do not vary, or, of an input, what does not differ between frames."""
    return _is_of_constants(evidence, c) or (c.of_input and not follows_frames(evidence, c))


def _is_of_constants(evidence: Evidence, c: Candidate) -> bool:
    """Whether scales of channels gain only in channels that do not vary: any scale makes one constant of another."""
    if c.cause != "quantization" or not has_scales_of_channels(c.spec) or not evidence.fits:
        return False
    varying = np.flatnonzero(evidence.informative) if evidence.informative is not None else np.zeros(0)
    if not varying.size:
        return False
    before, after = (evidence.score(t, varying) for t in (evidence.as_declared(), evidence.trial(c)))
    return after - before < MARGIN


def _clamped(evidence: Evidence, spec: TensorSpec) -> float:
    """Return the share of the model's values at the samples that the dtype cannot store."""
    return float(_beyond(evidence, spec).mean())


def _beyond(evidence: Evidence, spec: TensorSpec, steps: float = 0.5) -> np.ndarray:
    """Return which of the model's values at the samples are further out of the dtype's range than so many steps."""
    scale, zero_point = arithmetic(spec, evidence.samples)
    codes, (low, high) = evidence.wanted / scale + zero_point, ends(spec)
    return np.asarray((codes < low - steps) | (codes > high + steps))


def _biased(evidence: Evidence, declared: float, gain: float) -> bool:
    """Whether a scale may gain so much because a network's rounding errors are biased, if there are few values."""
    return declared >= _MOST and gain < _CLEAR and evidence.values < 2 * ENOUGH


def _in_doubt(evidence: Evidence, c: Candidate, declared: float) -> bool:
    """Whether the declared reading explains the values, but hardly better than `c`, and the data do not decide.

    Another input does not matter to somebody who reads the output, unless the data are on its side.
    """
    if declared < LEAST or min(c.gain, c.score - declared) < -MARGIN:
        return False
    if c.of_input:
        return declared < _PERFECT and c.decided and c.leans > 0.5 and evidence.differs(c)
    return not c.decided or c.leans > 0.5


def _named(evidence: Evidence, strong: Sequence[Candidate], declared: Candidate | None) -> Judgement:
    """Return the judgement if at least one cause is strong."""
    strong = simplest_first(evidence, [c for c in strong if not _is_bent(evidence, c)] or strong)
    best = strong[0]
    if best.cause == "quantization" and evidence.bent(best) > BENT:
        return Judgement("mismatch", None, wording.bent(best, declared), names_cause=True)
    rival = next((c for c in strong[1:] if c.score >= best.score - MARGIN and not _beaten(evidence, best, c)), None)
    if rival is not None:
        record = " ".join(_once(wording.RECORD[c.cause] for c in (best, rival)))
        return Judgement("ambiguous", None, wording.rivals(best, rival, declared), record, names_cause=True)
    if best.cause == "quantization" and is_of_some_channels(evidence, evidence.trial(best)):
        agreement = f"{wording.with_that(best, declared)} {wording.SOME_CHANNELS}"
        return Judgement("ambiguous", None, wording.explains(best, proven=False), agreement=agreement, names_cause=True)
    small = best.cause == "quantization" and declared is not None and _biased(evidence, declared.score, best.gain)
    small = small and best.score < SOUND
    with_that = wording.with_that(best, declared)
    if small or not proven(evidence, best, len(evidence.trials)):
        agreement = f"{with_that} {wording.too_little(evidence, int(independent(evidence, best)))}"
        return Judgement("ambiguous", None, wording.explains(best, proven=False), agreement=agreement, names_cause=True)
    return Judgement(
        best.cause,
        best.fix,
        wording.explains(best),
        wording.ADVICE[best.cause](best),
        names_cause=True,
        agreement=with_that,
    )


def _is_bent(evidence: Evidence, c: Candidate) -> bool:
    """Whether a function leaves an error that depends on the value: it is another function."""
    return c.cause == "activation" and not evidence.trial(c).places and evidence.bent(c) > BENT


def _once(sentences: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(sentences))


def _beaten(evidence: Evidence, best: Candidate, c: Candidate) -> bool:
    """Whether the data are clearly on the side of `best`, of two candidates that are nearly as good.

    They are if the other one was picked from more arrangements, such as an order of its own for each frame, or has
    numbers that were fitted and explain no more than they cost, and if they are clearly nearer to `best`, of two
    candidates of one cause. Two causes of the same values are both possible.
    """
    if best.cause != c.cause and evidence.alike(best, c):
        return False
    if evidence.trial(c).choices > evidence.trial(best).choices and c.score <= best.score:
        return True
    if best.cause in ORDERS and as_good(evidence, best, c):
        return True
    leans = evidence.sides(best, c) if best.cause == c.cause else None
    return leans is not None and leans < _BEATEN


def _within_a_step(evidence: Evidence) -> bool:
    """Whether integers are the model's within a step: of values that hardly vary, no tolerance says more."""
    return bool(evidence.steps and float((evidence.as_declared().left ** 2).mean()) <= 1)


def _varies(evidence: Evidence) -> tuple[bool, bool]:
    """Return whether the model's values, and the device's, vary within the channels by more than rounding."""
    floor = 4 * ROUNDING if evidence.steps else 0.0

    def varies(x: np.ndarray) -> bool:
        y = evidence.by_channel(x)
        power = ((y - y.mean(1, keepdims=True)) ** 2).mean()
        return bool(power > max(floor, 1e-12 * float((y * y).mean())))

    return varies(evidence.predicted(evidence.wanted)), varies(evidence.codes)
