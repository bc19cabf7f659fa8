"""Verdicts: what the explanations of one output amount to, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..comparison import TELLING, Comparison, Confused, Part, listed
from .case import ENOUGH, LEAST, MARGIN, ROUNDING, Case, Explanation

_FINE, _CLEAR = 20.0, 10.0  # dB: read as declared and explained so well, a scale is wrong only by so much more
_MOST = 8.0  # dB: read as declared, and explained for the most part
_GOOD = 15.0  # dB: so well the whole cause explains, and not a part of it
_BENT = 0.3  # of what a scale leaves: rounding and noise leave less than 0.1 that the value tells
_CUT = 0.01  # of the values: what calibration leaves out is less

_ADVICE = {
    "layout": "read it with the fix",
    "quantization": "read it with the fix",
    "channel_order": "take the channels in the order of the fix",
    "output_order": "rename the outputs by the fix",
}


class Finding(NamedTuple):
    """A verdict with what mends it, and two sentences of evidence; `named`: they speak of a cause."""

    verdict: str
    fix: Any
    why: str
    named: bool = False


def judge(case: Case, ranking: Sequence[Explanation], held: bool, comparison: Comparison | None) -> Finding:
    """What is to be said of an output.

    ranking: all explanations, best first; held: whether the tolerances hold; comparison: the figures, None where the
    shapes differ.
    """
    unexplained = [] if comparison is None else comparison.parts.unexplained()
    finding = _verdict(case, _possible(case, ranking, unexplained), held)
    if comparison is None:
        return finding
    whole, odd = comparison.whole, comparison.non_finite
    if whole is None:
        sides = {comparison.values: "one side alone", 0: "both sides"}
        which = sides.get(odd, f"both sides, or, {odd} of them, on one")
        return Finding("mismatch", None, f"All {comparison.values} values are NaN or infinite on {which}.")
    both = comparison.values - odd - whole.values
    if both:
        why = f"{finding.why} {both} of {comparison.values} values are NaN or infinite on both sides, and left out."
        finding = finding._replace(why=why)
    if comparison.parts.frozen:
        constant = whole.device_low == whole.device_high
        what = f"{whole.device_low:g} everywhere and for" if constant else "the same values for"
        why = f"The device gave {what} every frame, while the model's values change"
        if finding.fix is None:
            return Finding("mismatch", None, f"{why}: it is frozen, or its buffer is not written to.")
        return finding._replace(why=f"{finding.why} {why}.")
    if finding.named:
        return finding
    if odd:
        why = f"{odd} of {comparison.values} values are NaN or infinite on one side alone."
        return Finding("mismatch", None, f"{why} {finding.why}")
    if comparison.labels is not None and comparison.labels.equal == comparison.labels.places:
        return Finding("match", None, f"All {comparison.labels.places} labels are the model's.")
    finding = finding._replace(why=finding.why + _cut_words(comparison))
    confused = [] if comparison.labels is None else comparison.labels.confused()
    if confused:
        return Finding("mismatch", None, f"{_confused_words(confused)} {finding.why}")
    if unexplained:
        return Finding("mismatch", None, f"{_part_words(unexplained, case.channel_axis)} {finding.why}")
    worst = comparison.parts.worst_frames() if finding.verdict == "mismatch" else []
    if worst:
        are = "are" if len(worst) > 1 else "is"
        return finding._replace(why=f"{finding.why} {_which(worst, None)} {are} far worse than the others.")
    if finding.verdict != "match":
        return finding
    lost = [p for p in comparison.parts.lost() if p.span >= TELLING]
    return Finding("mismatch", None, f"{_lost_words(lost, case.channel_axis)} {finding.why}") if lost else finding


def _possible(case: Case, ranking: Sequence[Explanation], unexplained: Sequence[Part]) -> list[Explanation]:
    """Without the scales that gain only in channels of which they explain nothing either."""
    lost = [p.at for p in unexplained if p.axis is not None and p.axis == case.channel_axis]
    if not lost:
        return list(ranking)
    declared = next(f for f in case.found if f.cause == "match")
    others = np.setdiff1d(np.arange(unexplained[0].among), lost)

    def possible(e: Explanation) -> bool:
        if e.cause != "quantization":
            return True
        f = case.found_as(e)
        before = case.score(declared, only=others)
        gain = case.score(f, only=others) - before
        proven = gain >= MARGIN and not _biased(case, before, gain)
        return proven or case.score(f, only=np.array(lost)) >= LEAST

    return [e for e in ranking if possible(e)]


def _verdict(case: Case, ranking: Sequence[Explanation], held: bool) -> Finding:
    declared = next((e for e in ranking if e.cause == "match"), None)
    score = -np.inf if declared is None else declared.score
    strong = [e for e in ranking if _accuses(e, score)]
    if strong:
        return _named(case, strong, declared)
    tolerated = "the tolerances hold" if held else "the tolerances do not hold"
    others = [e for e in ranking if e.cause not in ("match", "quantization", "mismatch")]
    next_best = f"the next best explanation, {others[0].text}, {others[0].score:.1f}" if others else "nothing else fits"
    if declared is None:
        shape = case.references[0].shape
        why = f"The spec's shape {case.spec.shape} ({case.spec.axes}) is not the model's {shape}, and no other reading "
        return Finding("mismatch", None, f"{why}explains {LEAST:g} dB of the values. Is it the buffer of this output?")
    flat = _flat(case)
    evidence = f"Read as declared it explains {score:.1f} dB of what varies within the channels, and {tolerated}"
    if flat is not None:
        verdict = "mismatch" if flat == "the device's values" or not held else "ambiguous"
        vary = "vary by less than a step" if case.steps else "do not vary"
        why = f"{flat[0].upper()}{flat[1:]} {vary} within the channels, so that every reading looks the same, and "
        return Finding(verdict, None, f"{why}{tolerated}. Record frames that make the output vary.")
    doubts = [e for e in others if score >= LEAST and min(e.gain, e.score - score) >= -MARGIN and _unsettled(e)]
    if doubts:
        why = f"As declared explains {score:.1f} dB, {doubts[0].text} {doubts[0].score:.1f}: too close to tell."
        return Finding("ambiguous", None, f"{why} {_RECORD[doubts[0].cause]}")
    if held and score >= LEAST:
        return Finding("match", None, f"{evidence}. Of other causes, {next_best}.")
    if held:
        why = f"{evidence}, but {LEAST:g} dB are needed: the agreement is that of the channels' means."
        return Finding("ambiguous", None, f"{why} Record frames that make the output vary more; {next_best}.")
    return Finding("mismatch", None, f"{evidence}. No other cause explains it: {next_best}.")


_RECORD = {
    "layout": "Record an input whose maps differ from left to right as from top to bottom and from channel to channel.",
    "quantization": "Record inputs whose outputs use more of their range.",
    "channel_order": "Record inputs whose channels differ more.",
    "preprocessing": "Record frames in full colour and contrast, not square, and unlike each other.",
    "output_order": "Record inputs whose outputs differ from each other.",
    "mismatch": "Record inputs whose outputs use more of their range.",
    "wrong_input": "Record frames that differ more from one to the next, and more of them.",
}


def _accuses(e: Explanation, declared: float) -> bool:
    fine = e.cause == "quantization" and declared >= _FINE and e.gain < _CLEAR
    return e.cause != "match" and e.score >= LEAST and e.gain >= MARGIN and not fine


def _biased(case: Case, declared: float, gain: float) -> bool:
    """Whether a scale may gain so much because a network's rounding errors are biased: few values cannot tell."""
    return declared >= _MOST and gain < _CLEAR and case.values < 2 * ENOUGH


def _unsettled(e: Explanation) -> bool:
    """Whether the data do not side with the declared reading against `e`. What the input was does not matter to one who
    reads the output, unless the data side with it."""
    if e.cause in ("preprocessing", "wrong_input"):
        return e.tells and e.leans > 0.5
    return not e.tells or e.leans > 0.5


def _named(case: Case, strong: Sequence[Explanation], declared: Explanation | None) -> Finding:
    best = strong[0]
    before = "" if declared is None else f", as declared {declared.score:.1f}"
    text = (
        f"{best.text[0].upper()}{best.text[1:]} explains {best.score:.1f} dB of what varies within the channels{before}"
    )
    if best.cause == "quantization" and case.bent(best) > _BENT:
        why = "but what that leaves depends on the value: it is no scale, but an activation, or another function"
        return Finding("mismatch", None, f"{text}, {why}.", True)
    rival = next((e for e in strong[1:] if e.score >= best.score - MARGIN and not _beaten(case, best, e)), None)
    if rival is not None:
        record = " ".join(dict.fromkeys(_RECORD[e.cause] for e in (best, rival)))
        why = f"{text}, and {rival.text} {rival.score:.1f}: too close to tell. {record}"
        return Finding("ambiguous", None, why, True)
    few = best.cause == "quantization" and declared is not None and _biased(case, declared.score, best.gain)
    if not case.enough or few:
        frames = len(case.buffers)
        what = "one frame" if frames == 1 else f"{frames} frames with {case.samples.count} values a channel each"
        why = f"{text}. But {what} cannot prove it: record more frames, unlike each other."
        return Finding("ambiguous", None, why, True)
    return Finding(best.cause, best.fix, f"{text}. {_advice(best)}", True)


def _beaten(case: Case, best: Explanation, e: Explanation) -> bool:
    """Whether the data side clearly with `best`, of two explanations of one kind that are nearly as good."""
    leans = case.sides(best, e) if best.cause == e.cause else None
    return leans is not None and leans < 0.25


def _advice(e: Explanation) -> str:
    if e.cause == "preprocessing":
        if "target" in e.fix:
            given = f"The accelerator's input was given as {e.fix['target'].layout}"
            return f"{given}: give it the layout that it expects, or, where it has that, correct the input's spec."
        done = "what was really done" if e.score >= _GOOD else "nearest to what was done, and may be a part of it"
        return f"Make the input as declared, or record again with the arguments of the fix: that is {done}."
    if e.cause == "mismatch":
        return "Find out where the accelerator's model ends, or convert the values before they are recorded."
    if e.cause == "wrong_input":
        if e.fix is None:
            return "The pairs are in no constant order: keep each output with the input that made it."
        late = "late" if e.fix < 0 else "early"
        return f"The outputs come {abs(e.fix)} frame(s) {late}: pair each with the input that made it."
    if e.fix is None:
        return "No TensorSpec can say that: convert the values before they are recorded."
    return f"To mend it, {_ADVICE[e.cause]}."


def _flat(case: Case) -> str | None:
    """Whose values do not vary within the channels by more than rounding."""
    floor = 4 * ROUNDING if case.steps else 0.0

    def varies(x: np.ndarray) -> bool:
        y = case.by_channel(x)
        power = ((y - y.mean(1, keepdims=True)) ** 2).mean()
        return bool(power > max(floor, 1e-12 * float((y * y).mean())))

    model, device = varies(case.predicted(case.wanted)), varies(case.codes)
    if model and device:
        return None
    return (
        "the values of both sides"
        if not model and not device
        else "the device's values"
        if model
        else "the model's values"
    )


def _part_words(parts: Sequence[Part], channel_axis: int | None) -> str:
    """A sentence for each axis that has such parts."""
    said = []
    for axis in dict.fromkeys(p.axis for p in parts):
        found = [p for p in parts if p.axis == axis]
        whys = {p.why for p in found}
        why = f": {whys.pop()}" if len(whys) == 1 and found[0].why else ""
        are = "are" if len(found) > 1 else "is"
        said.append(f"{_which(found, channel_axis)} {are} explained by nothing{why}.")
    return " ".join(said)


def _which(parts: Sequence[Part], channel_axis: int | None) -> str:
    """ "Channel 5 of 17", "3 of 40 frames (1, 2, 8)", "2 of 24 places along axis 2 (22, 23)"."""
    axis, count = parts[0].axis, parts[0].among
    where = "" if axis in (None, channel_axis) else f" along axis {axis}"
    what = "frame" if axis is None else "place" if where else "channel"
    if len(parts) == 1:
        return f"{what.capitalize()} {parts[0].at} of {count}{where}"
    return f"{len(parts)} of {count} {what}s{where} ({listed(p.at for p in parts)})"


def _confused_words(confused: Sequence[Confused]) -> str:
    shown = listed(f"{c.label} as {c.given} ({100 * c.share:.0f} %)" for c in confused)
    return f"Labels are given as others in most of their places: {shown}."


def _cut_words(comparison: Comparison) -> str:
    share = comparison.cut / comparison.values
    return "" if share < _CUT else f" {100 * share:.1f} % of the model's values are cut off by the range of the dtype."


def _lost_words(lost: Sequence[Part], channel_axis: int | None) -> str:
    are = "are" if len(lost) > 1 else "is"
    span = max(p.span for p in lost)
    return (
        f"{_which(lost, channel_axis)} {are} lost: the model's values vary by up to {span:.3g} there, "
        f"less than half a quantisation step; give them a scale of their own (one for each channel, or an output of "
        f"their own)."
    )
