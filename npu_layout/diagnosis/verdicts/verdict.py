"""Decide the verdict on one output from its candidates, its figures and its parts."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...comparison import FLOAT16_MOST, TELLING, OutputComparison, OutputPart, Rarer
from ..computed.stray_frames import are_alike, stray_frames
from ..scoring.evidence import Evidence
from ..scoring.proof import independent, is_by_chance, proven
from ..scoring.thresholds import LEAST, MARGIN, SOUND
from ..scoring.trials import Candidate
from ..stored.slight_scales import is_of_some_channels
from . import figure_wording, wording
from .causes import Situation, every
from .clamping import clamps_noise, is_cut, only_saturates, with_what_is_clamped
from .fixed_values import buried
from .objections import (
    accuses,
    is_bent,
    is_in_doubt,
    is_needless,
    is_no_line,
    is_of_anything,
    is_of_few_values,
    is_of_what_is_constant,
    is_unpaid,
)
from .rivals import is_beaten, of_one_look, other_inputs
from .scale_objections import explains_much_more, is_biased, is_nearly_a_line, is_of_biases, is_slight_scale
from .second_causes import CausePair, second_causes
from .simplicity import is_of_bits, simplest_first


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
    named
        The candidate that is the cause, if one is named alone.
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
    named: Candidate | None = None

    @property
    def why(self) -> str:
        """All sentences."""
        return " ".join(filter(None, (self.evidence, self.agreement, self.advice, *self.notes)))

    def noted(self, sentence: str) -> Judgement:
        """Return it with a further note."""
        return self._replace(notes=(*self.notes, sentence))

    def contradicted(self, sentence: str) -> Judgement:
        """Return it without its cause, for the reason that `sentence` states."""
        cause = "" if self.named is None else wording.explains(self.named, "Perhaps")
        record = wording.CAUSES[self.verdict].record if self.verdict in wording.CAUSES else ""
        return self._replace(
            verdict="ambiguous", fix=None, evidence=cause, advice=f"{sentence} {record}".rstrip(), named=None
        )

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
    if judgement.verdict in ("match", "mismatch") and comparison is not None:
        odd = [*comparison.parts.unexplained(), *comparison.parts.worst_frames()]
        strays = stray_frames(evidence, situation.numbers, odd)
        if strays:
            said = figure_wording.strays(strays)
            judgement = judgement.noted(said) if judgement.verdict == "mismatch" else judgement.refuted(said)
    if judgement.verdict == "match" and are_alike(evidence):
        judgement = judgement.noted(figure_wording.ALIKE)
    situation.say("pairs of causes")
    pair = None if judgement.verdict == "match" else second_causes(evidence, ranking)
    if pair is None:
        return ranking, judgement
    return _with_both(evidence, ranking, pair)


def beside_input(
    evidence: Evidence, ranking: Sequence[Candidate], ways: Collection[Hashable]
) -> tuple[list[Candidate], Judgement] | None:
    """Return the candidates and the judgement of two causes, one of them an input that another output shows.

    None if there are no two causes. ways: the ways of these inputs (`Candidate.way`).
    """
    pair = second_causes(evidence, ranking, ways)
    return None if pair is None else _with_both(evidence, ranking, pair)


def _with_both(evidence: Evidence, ranking: Sequence[Candidate], pair: CausePair) -> tuple[list[Candidate], Judgement]:
    """Return the candidates with the pair's first, and the judgement that names both causes."""
    reads, computes = pair.reads, pair.computes
    evidence.trials.append(pair.trial)
    first = reads._replace(text=f"{reads.text}, and {computes.text}", trial=len(evidence.trials) - 1)
    why = wording.both(reads, computes, pair.alone)
    advice = wording.CAUSES[reads.cause].advise(reads)
    return [first, *ranking], Judgement(
        reads.cause, reads.fix, why, f"{advice} {wording.THEN}", names_cause=True, also=(computes.cause,)
    )


def judge(
    evidence: Evidence, ranking: Sequence[Candidate], met: bool, comparison: OutputComparison | None
) -> Judgement:
    """Return the judgement of an output, given all its candidates, best first."""
    unexplained = [] if comparison is None else comparison.parts.unexplained()
    labels = None if comparison is None else comparison.labels
    rarer = None if labels is None else labels.rarer()
    judgement = _by_causes(evidence, _possible(evidence, ranking, unexplained), met, rarer)
    if comparison is None:
        return judgement
    whole, odd, values = comparison.whole, comparison.non_finite, comparison.values
    if whole is None:
        return Judgement("mismatch", None, figure_wording.nothing_finite(comparison))
    both = values - odd - whole.values
    if both:
        judgement = judgement.noted(figure_wording.left_out(both, values))
    if comparison.parts.frozen:
        if judgement.fix is None or judgement.verdict == "wrong_input":  # it is late by any number of frames
            return Judgement("mismatch", None, figure_wording.frozen(whole), figure_wording.FROZEN)
        if judgement.verdict == "preprocessing":
            judgement = judgement._replace(verdict="ambiguous", fix=None, advice=wording.SATURATES)
        return judgement.noted(figure_wording.frozen(whole))
    if judgement.names_cause:
        return judgement
    if odd == comparison.overflows > 0 and max(-whole.device_low, whole.device_high) <= FLOAT16_MOST:
        notes = (figure_wording.left_out(both, values),) if both else ()
        return Judgement(
            "mismatch", None, figure_wording.overflows(odd, values, whole), figure_wording.OVERFLOWS, notes
        )
    if odd:
        if judgement.verdict == "match":  # whose evidence is of all values, with 0 where one is not finite
            judgement = judgement._replace(evidence=figure_wording.finite_agree(whole))
        return judgement.refuted(figure_wording.not_finite(comparison))
    if labels is not None and labels.equal == labels.places:
        return Judgement("match", None, f"All {labels.places} labels are the model's.")
    judgement = _by_parts(evidence, judgement, comparison, unexplained, met)
    hidden = buried(evidence) if judgement.verdict == "match" else None
    return judgement if hidden is None else judgement.refuted(figure_wording.hidden(*hidden))


def _by_parts(
    evidence: Evidence,
    judgement: Judgement,
    comparison: OutputComparison,
    unexplained: Sequence[OutputPart],
    met: bool,
) -> Judgement:
    """Return the judgement of an output without a cause, checked for labels, channels, rows and frames.

    The classes of a vector that no frame shows are no channels that need another scale.
    """
    channel_axis = evidence.named_axis
    lost = comparison.parts.lost()
    dead = [p for p in lost if p.axis == channel_axis]
    if dead and (unexplained or judgement.verdict == "mismatch"):
        judgement = judgement.noted(figure_wording.dead(dead, channel_axis))
    confused = [] if comparison.labels is None else comparison.labels.confused()
    if confused:
        return judgement.refuted(figure_wording.confused(confused))
    if unexplained:
        parts = with_what_is_clamped(evidence, unexplained)
        return judgement.refuted(figure_wording.unexplained(parts, channel_axis, met))
    if judgement.verdict == "mismatch":
        worst = comparison.parts.worst_frames()
        return judgement.noted(figure_wording.worst(worst)) if worst else judgement
    telling = next((p for p in lost if p.span >= TELLING), None)
    if judgement.verdict == "match" and telling is not None:
        return judgement.refuted(figure_wording.lost([p for p in lost if p.axis == telling.axis], channel_axis))
    if judgement.verdict == "match" and dead and 2 * len(dead) >= dead[0].among and not evidence.is_vector:
        return judgement.noted(figure_wording.unseen(dead, channel_axis))
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
        proven = gain >= MARGIN and not is_biased(evidence, before, gain)
        return proven or evidence.score(trial, np.array(lost)) >= LEAST

    return [c for c in ranking if possible(c)]


def _by_causes(evidence: Evidence, ranking: Sequence[Candidate], met: bool, rarer: Rarer | None = None) -> Judgement:
    """Return the judgement by the candidates only, and by what is known of the rarer ones of labels."""
    declared = next((c for c in ranking if c.cause == "match"), None)
    score = -np.inf if declared is None else declared.score
    slight = [c for c in ranking if is_slight_scale(evidence, c)]
    possible = [c for c in ranking if c not in slight and not only_saturates(evidence, c)]
    possible = [c for c in possible if not (met and is_of_few_values(evidence, c, score))]
    strong = [c for c in possible if accuses(evidence, c, score) and not (met and is_needless(evidence, c, score))]
    strong = [c for c in strong if not (is_nearly_a_line(evidence, c, ranking) or clamps_noise(evidence, c))]
    strong = [c for c in strong if not is_cut(evidence, c)]
    strong = [c for c in strong if not (is_of_biases(evidence, c, score) or is_of_bits(evidence, c, ranking))]
    strong = _without_heirs(strong, [c for c in strong if not is_of_what_is_constant(evidence, c)])
    if strong:
        return _named(evidence, strong, declared, ranking, met)
    others = [c for c in possible if c.cause not in ("match", "quantization", "activation")]
    if declared is None:
        return Judgement("mismatch", None, wording.other_shape(evidence), wording.OTHER_SHAPE)
    undecided = _undecided(evidence, score, others, met)
    if undecided is not None:
        return undecided
    noisy = next((c for c in slight if accuses(evidence, c, score)), None)
    better = next((c for c in slight if explains_much_more(evidence, c)), None)
    if better is not None:
        return Judgement("ambiguous", None, wording.scale_or_device(score, met, better), wording.COMPARE_SCALES)
    if met and score < LEAST and rarer is not None:
        return Judgement("ambiguous", None, figure_wording.rarer(rarer), figure_wording.MORE_LABELS)
    return _without_cause(score, met, others, noisy)


def _without_heirs(strong: Sequence[Candidate], left: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that are `left`, none if another one that is no cause explains clearly more than these.

    What explains less than a part of the truth is no cause for the reason that the part is none. Nor is an input that
    explains no more than another one that does not follow the frames.
    """
    others = max((c.score for c in strong if c.of_input and c not in left), default=-np.inf)
    left = [c for c in left if not c.of_input or c.score > others]
    most, best = (max((c.score for c in some), default=-np.inf) for some in (strong, left))
    return [] if most >= best + MARGIN else list(left)


def _undecided(evidence: Evidence, score: float, others: Sequence[Candidate], met: bool) -> Judgement | None:
    """Return the judgement if the values do not vary, or the data do not decide between two readings."""
    model, device = _varies(evidence)
    if not (model and device):
        verdict = "mismatch" if model or not (met or _within_a_step(evidence)) else "ambiguous"
        steps = evidence.steps and not evidence.is_whole
        return Judgement(verdict, None, wording.flat(model, device, steps, met), wording.FLAT)
    doubt = next((c for c in others if is_in_doubt(evidence, c, score, met)), None)
    if doubt is not None:
        return Judgement("ambiguous", None, wording.doubt(score, doubt), wording.CAUSES[doubt.cause].record)
    return None


def _without_cause(score: float, met: bool, others: Sequence[Candidate], noisy: Candidate | None) -> Judgement:
    """Return the judgement if no cause is strong. noisy: a slightly other scale that explains more, if one does."""
    as_declared, next_best = wording.as_declared(score, met), wording.next_best(others, score)
    if not met and noisy is not None:
        record = wording.CAUSES["quantization"].record
        return Judgement("mismatch", None, f"{as_declared} {wording.noisy(noisy)}", record)
    if not met:
        return Judgement("mismatch", None, f"{as_declared} {wording.NO_CAUSE} {next_best}", wording.FIND_LAYER)
    if score >= LEAST:
        return Judgement("match", None, f"{as_declared} {next_best}")
    return Judgement("ambiguous", None, f"{as_declared} {wording.MEANS_ONLY} {next_best}", wording.VARY_MORE)


def _named(
    evidence: Evidence,
    strong: Sequence[Candidate],
    declared: Candidate | None,
    ranking: Sequence[Candidate],
    met: bool,
) -> Judgement:
    """Return the judgement if at least one cause is strong."""
    accused = strong
    strong = simplest_first(evidence, [c for c in strong if not is_bent(evidence, c)] or strong)
    best = strong[0]
    if is_no_line(evidence, best):
        return Judgement("mismatch", None, wording.bent(best, declared), names_cause=True)
    others = [c for c in ranking if c.of_input and c not in (strong if best.score < SOUND else accused)]
    same = of_one_look(evidence, best, strong)
    rivals = [*(c for c in strong[1:] if c not in same), *other_inputs(evidence, best, others)]
    rival = next((c for c in rivals if c.score >= best.score - MARGIN and not is_beaten(evidence, best, c)), None)
    if rival is not None:
        record = " ".join(_once(wording.CAUSES[c.cause].record for c in (best, rival)))
        of_its_frames = _of_its_frames(evidence, best, declared)
        return Judgement("ambiguous", None, wording.rivals(best, rival, *of_its_frames), record, names_cause=True)
    if best.cause == "quantization" and is_of_some_channels(evidence, evidence.trial(best)):
        agreement = f"{_agreement(evidence, best, declared)} {wording.SOME_CHANNELS}"
        return Judgement("ambiguous", None, wording.explains(best, "Probably"), agreement=agreement, names_cause=True)
    if is_of_anything(evidence, best) and declared is not None:
        fits = wording.fits_anything(declared.score, met)
        return Judgement("ambiguous", None, fits, wording.MORE_FRAMES, names_cause=True)
    small = best.cause == "quantization" and declared is not None and is_biased(evidence, declared.score, best.gain)
    small = (small and best.score < SOUND) or is_unpaid(evidence, best)
    with_that = _agreement(evidence, best, declared)
    is_proven = proven(evidence, best, len(evidence.trials))
    if small or not is_proven:
        but = wording.fits_a_cut(best) if is_proven else wording.too_little(evidence, int(independent(evidence, best)))
        agreement = f"{with_that} {but}"
        sure = "Perhaps" if is_by_chance(evidence, best, len(evidence.trials)) else "Probably"
        return Judgement("ambiguous", None, wording.explains(best, sure), agreement=agreement, names_cause=True)
    return Judgement(
        best.cause,
        best.fix,
        wording.explains(best._replace(text=", or ".join(c.text for c in same)) if same else best),
        wording.CAUSES[best.cause].advise(best),
        names_cause=True,
        agreement=with_that,
        named=best,
    )


def _agreement(evidence: Evidence, best: Candidate, declared: Candidate | None) -> str:
    """Return how well device and model agree with a candidate and as declared, of the frames that it was tried on."""
    return wording.with_that(best, *_of_its_frames(evidence, best, declared))


def _of_its_frames(
    evidence: Evidence, best: Candidate, declared: Candidate | None
) -> tuple[Candidate | None, int | None]:
    """Return the declared reading of the frames that a candidate was tried on, and how many these are; None: all."""
    rows = evidence.trial(best).rows
    if declared is None or rows is None or len(rows) == len(evidence.buffers):
        return declared, None
    return declared._replace(score=evidence.score(evidence.as_declared(rows))), len(rows)


def _once(sentences: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(sentences))


def _within_a_step(evidence: Evidence) -> bool:
    """Whether integers are the model's within a step: of values that hardly vary, no tolerance says more."""
    return bool(evidence.steps and float((evidence.as_declared().left ** 2).mean()) <= 1)


def _varies(evidence: Evidence) -> tuple[bool, bool]:
    """Return whether the model's values, and the device's, vary within the channels by more than rounding."""
    floor = 4 * evidence.rounding(evidence.steps)

    def varies(x: np.ndarray) -> bool:
        y = evidence.by_channel(x)
        power = ((y - y.mean(1, keepdims=True)) ** 2).mean()
        return bool(power > max(floor, 1e-12 * float((y * y).mean())))

    return varies(evidence.predicted(evidence.wanted)), varies(evidence.codes)
