"""The sentences of verdicts: what was found, what to do about it, and what to record where it is not proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..comparison import Confused, Figures, Part, listed
from .evidence import Candidate, Evidence
from .thresholds import LEAST

_GOOD = 15.0  # dB: so well the whole cause explains, and not a part of it

FLAT = "Record frames that make the output vary."
OTHER_SHAPE = "Is it the buffer of this output?"
FROZEN = "it is frozen, or its buffer is not written to."
BENT = "but what that leaves depends on the value: it is no scale, but an activation, or another function."
MEANS_ALONE = f"but {LEAST:g} dB are needed: the agreement is that of the channels' means."
VARY_MORE = "Record frames that make the output vary more"

# What to record where a cause is not proven.
RECORD = {
    "layout": "Record an input whose maps differ from left to right as from top to bottom and from channel to channel.",
    "quantization": "Record inputs whose outputs use more of their range.",
    "channel_order": "Record inputs whose channels differ more.",
    "preprocessing": "Record frames in full colour and contrast, not square, and unlike each other.",
    "output_order": "Record inputs whose outputs differ from each other.",
    "mismatch": "Record inputs whose outputs use more of their range.",
    "wrong_input": "Record frames that differ more from one to the next, and more of them.",
}


def _by_the_fix(how: str) -> Callable[[Candidate], str]:
    def advice(c: Candidate) -> str:
        if c.fix is None:
            return "No TensorSpec can say that: convert the values before they are recorded."
        return f"To mend it, {how}."

    return advice


def _make_the_input(c: Candidate) -> str:
    if "target" in c.fix:
        given = f"The accelerator's input was given as {c.fix['target'].layout}"
        return f"{given}: give it the layout that it expects, or, where it has that, correct the input's spec."
    done = "what was really done" if c.score >= _GOOD else "nearest to what was done, and may be a part of it"
    return f"Make the input as declared, or record again with the arguments of the fix: that is {done}."


def _pair_the_frames(c: Candidate) -> str:
    if c.fix is None:
        return "The pairs are in no constant order: keep each output with the input that made it."
    late = "late" if c.fix < 0 else "early"
    return f"The outputs come {abs(c.fix)} frame(s) {late}: pair each with the input that made it."


def _convert_the_values(c: Candidate) -> str:
    return "Find out where the accelerator's model ends, or convert the values before they are recorded."


# What to do about a cause that is proven.
ADVICE: Mapping[str, Callable[[Candidate], str]] = {
    "layout": _by_the_fix("read it with the fix"),
    "quantization": _by_the_fix("read it with the fix"),
    "channel_order": _by_the_fix("take the channels in the order of the fix"),
    "preprocessing": _make_the_input,
    "output_order": _by_the_fix("rename the outputs by the fix"),
    "mismatch": _convert_the_values,
    "wrong_input": _pair_the_frames,
}


def explains(best: Candidate, declared: Candidate | None) -> str:
    """Return what the best candidate explains, without a full stop."""
    before = "" if declared is None else f", as declared {declared.score:.1f}"
    return f"{_capital(best.text)} explains {best.score:.1f} dB of what varies within the channels{before}"


def too_little(evidence: Evidence) -> str:
    """Return why a cause is not proven, and what to record."""
    frames = len(evidence.buffers)
    what = "one frame" if frames == 1 else f"{frames} frames with {evidence.samples.count} values a channel each"
    return f"But {what} cannot prove it: record more frames, unlike each other."


def other_shape(evidence: Evidence) -> str:
    """Return that the declared shape is not the model's, and no other reading is."""
    spec, shape = evidence.spec, evidence.references[0].shape
    what = f"The spec's shape {spec.shape} ({spec.axes}) is not the model's {shape}"
    return f"{what}, and no other reading explains {LEAST:g} dB of the values."


def as_declared(score: float, held: bool) -> str:
    """Return what the declared reading explains, without a full stop."""
    return f"Read as declared it explains {score:.1f} dB of what varies within the channels, and {_tolerances(held)}"


def _tolerances(held: bool) -> str:
    return "the tolerances hold" if held else "the tolerances do not hold"


def next_best(others: Sequence[Candidate]) -> str:
    """Return what explains most beside the declared reading, without a full stop."""
    if not others:
        return "nothing else fits"
    return f"the next best explanation, {others[0].text}, {others[0].score:.1f}"


def flat(model: bool, device: bool, steps: bool, held: bool) -> str:
    """Return whose values do not vary, given whether the model's and the device's do."""
    whose = "The device's values" if model else "The model's values" if device else "The values of both sides"
    vary = "vary by less than a step" if steps else "do not vary"
    return f"{whose} {vary} within the channels, so that every reading looks the same, and {_tolerances(held)}."


def doubt(score: float, other: Candidate) -> str:
    """Return that the declared reading is hardly better than another candidate."""
    return f"As declared explains {score:.1f} dB, {other.text} {other.score:.1f}: too close to tell."


def doubled(names: Sequence[str]) -> str:
    """Return that outputs contain one tensor, and what to do."""
    return f"{' and '.join(map(repr, names))} hold the same tensor: give each name the output that it says."


def nothing_finite(odd: int, values: int) -> str:
    """Return that all values are NaN or infinite. `odd`: how many are so on one side only."""
    sides = {values: "one side alone", 0: "both sides"}
    which = sides.get(odd, f"both sides, or, {odd} of them, on one")
    return f"All {values} values are NaN or infinite on {which}."


def left_out(both: int, values: int) -> str:
    """Return how many values are NaN or infinite on both sides."""
    return f"{both} of {values} values are NaN or infinite on both sides, and left out."


def not_finite(odd: int, values: int) -> str:
    """Return how many values are NaN or infinite on one side only."""
    return f"{odd} of {values} values are NaN or infinite on one side alone."


def frozen(whole: Figures) -> str:
    """Return that the device's values are the same for every frame, without a full stop."""
    constant = whole.device_low == whole.device_high
    what = f"{whole.device_low:g} everywhere and for" if constant else "the same values for"
    return f"The device gave {what} every frame, while the model's values change"


def unexplained(parts: Sequence[Part], channel_axis: int | None) -> str:
    """Return a sentence for each axis that has parts which nothing explains."""
    sentences = []
    for axis in dict.fromkeys(p.axis for p in parts):
        found = [p for p in parts if p.axis == axis]
        whys = {p.why for p in found}
        why = f": {whys.pop()}" if len(whys) == 1 and found[0].why else ""
        sentences.append(f"{_which(found, channel_axis)} {_are(found)} explained by nothing{why}.")
    return " ".join(sentences)


def worst(frames: Sequence[Part]) -> str:
    """Return which frames are worse than the others."""
    return f"{_which(frames, None)} {_are(frames)} far worse than the others."


def confused(labels: Sequence[Confused]) -> str:
    """Return which labels are mostly other ones on the device."""
    shown = listed(f"{c.label} as {c.given} ({100 * c.share:.0f} %)" for c in labels)
    return f"Labels are given as others in most of their places: {shown}."


def saturated(share: float) -> str:
    """Return how many of the model's values cannot be stored."""
    return f"{100 * share:.1f} % of the model's values are cut off by the range of the dtype."


def lost(parts: Sequence[Part], channel_axis: int | None) -> str:
    """Return which parts vary by less than the device can show, and what to do."""
    span = max(p.span for p in parts)
    return (
        f"{_which(parts, channel_axis)} {_are(parts)} lost: the model's values vary by up to {span:.3g} there, "
        f"less than half a quantisation step; give them a scale of their own (one for each channel, or an output of "
        f"their own)."
    )


def _which(parts: Sequence[Part], channel_axis: int | None) -> str:
    """Return which parts these are.

    "Channel 5 of 17", "3 of 40 frames (1, 2, 8)", "2 of 24 places along axis 2 (22, 23)".
    """
    axis, count = parts[0].axis, parts[0].among
    where = "" if axis in (None, channel_axis) else f" along axis {axis}"
    what = "frame" if axis is None else "place" if where else "channel"
    if len(parts) == 1:
        return f"{what.capitalize()} {parts[0].at} of {count}{where}"
    return f"{len(parts)} of {count} {what}s{where} ({listed(p.at for p in parts)})"


def _are(parts: Sequence[Part]) -> str:
    return "are" if len(parts) > 1 else "is"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
