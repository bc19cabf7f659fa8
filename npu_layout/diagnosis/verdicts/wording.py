"""The sentences of verdicts: what is wrong, how sure that is, and how to fix it or what to record instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...support import quoted
from ..other_inputs.preprocessor_fixes import is_refused, of_pixels
from ..scoring.evidence import Evidence
from ..scoring.thresholds import LEAST
from ..scoring.trials import Candidate, Trial
from .figure_wording import db

_GOOD = 15.0  # dB: a candidate that explains so much is the whole cause, and not a part of it

FLAT = "Record frames that make the output vary."
OTHER_SHAPE = "Check that this is the buffer of this output."
SATURATES = (
    "But any input that saturates makes all frames alike, so that this is one explanation of several: correct how the "
    "input is made, and record again."
)
MEANS_ONLY = f"Less than {LEAST:g} dB proves nothing: it may be that only the channels' means agree."
MORE_FRAMES = "Record more frames, unlike each other."
VARY_MORE = "Record frames that make the output vary more."
_CLOSEST = "are the closest to what was done, and may be a part of it"
_CORRECT_THE_INPUT = (
    "No argument of Preprocessor makes that. Fix: find what changes the picture between the recorded input and the "
    "accelerator's network."
)
SOME_CHANNELS = (
    "But most channels have the declared scales: those of the others may be declared wrongly, or the device's "
    "arithmetic may shrink, stretch or move them. Compare the scales with those that the runtime lists."
)
COMPARE_SCALES = "Compare the declared scale and zero point with those that the runtime lists for this output."
THEN = "Then validate again: the second cause is named with its own fix."
NO_CAUSE = "No known cause explains the difference."
FIND_LAYER = "If the accelerator's tools can dump its layers, `npu-layout compare` finds the first one that differs."

RETYPED = "the values have another dtype than declared"  # of floats, which have no scale
SCALED = "the values have another scale"  # of floats, which are declared without one


def _wrong(c: Candidate | Trial) -> str:
    """Return what is wrong, with the candidate's own text."""
    wrong = CAUSES[c.cause].wrong
    if c.cause == "quantization":
        wrong = SCALED if c.fix is None else RETYPED if c.fix.element.unpacked.kind == "f" else wrong
    return f"{wrong}: {c.text}"


def _by_the_fix(how: str) -> Callable[[Candidate], str]:
    def advice(c: Candidate) -> str:
        if c.fix is None:
            return "No TensorSpec can describe that. Fix: convert the values before they are recorded."
        return f"Fix: {how}."

    return advice


def _make_the_input(c: Candidate) -> str:
    if c.fix is None:
        return _CORRECT_THE_INPUT
    if "target" in c.fix:
        given = f"The accelerator's input was given as {c.fix['target'].layout}."
        advice = f"{given} Fix: give it the layout that it expects; if that is this one, correct the input's spec."
        return f"{advice}{of_pixels(c.fix)}"
    done = "describe what was done, or come near to it" if c.score >= _GOOD else _CLOSEST
    if is_refused(c.fix):
        return f"Fix: make the input as declared. A Preprocessor refuses the arguments of the fix; these {done}."
    return f"Fix: make the input as declared, or record again with the arguments of the fix: these {done}."


def _read_the_bytes(c: Candidate) -> str:
    return (
        "Fix: give the accelerator its input in the dtype and order of bytes, and with the gaps between planes, that "
        "it expects, or declare how it is stored where the accelerator is opened."
    )


def _pair_the_frames(c: Candidate) -> str:
    if c.fix is None:
        return "They are in no constant order. Fix: keep each output with the input that made it."
    frames = "1 frame" if abs(c.fix) == 1 else f"{abs(c.fix)} frames"
    late = "late" if c.fix < 0 else "early"
    return f"They come {frames} {late}. Fix: pair each output with the input that made it."


def _convert_the_values(c: Candidate) -> str:
    return (
        "Fix: end the device's model where the ONNX model ends, or convert or sort the values before they are recorded."
    )


def _move_the_picture(c: Candidate) -> str:
    how = "correct the code that moves or resizes the picture, or compile the model again"
    what = "argument of Preprocessor" if c.of_input else "TensorSpec"
    return f"No {what} can describe that. Fix: {how}."


def _feed_by_name(c: Candidate) -> str:
    rename = "if the recording has the names wrong, correct them there"
    return f"Fix: give each input to the accelerator by its name; {rename}."


class CauseWords(NamedTuple):
    """The sentences of a cause: what is wrong (the candidate's text follows), what to record, and what to do.

    record: if it is not proven; advise: returns what to do about a candidate that is.
    """

    wrong: str
    record: str
    advise: Callable[[Candidate], str]


CAUSES: Mapping[str, CauseWords] = {
    "layout": CauseWords(
        "the buffer is stored in another way than declared",
        "Record an input whose maps differ from left to right, from top to bottom and from channel to channel.",
        _by_the_fix("declare the corrected spec"),
    ),
    "quantization": CauseWords(
        "the stored numbers do not have the declared scale and zero point",
        "Record inputs whose outputs use more of their range.",
        _by_the_fix("declare the corrected spec"),
    ),
    "channel_order": CauseWords(
        "the channels are in another order",
        "Record inputs whose channels differ more.",
        _by_the_fix("reorder the channels by the indices of the fix"),
    ),
    "preprocessing": CauseWords(
        "the input was made in another way than declared",
        "Record frames in full colour and contrast, not square, and unlike each other.",
        _make_the_input,
    ),
    "output_order": CauseWords(
        "this is another output",
        "Record inputs whose outputs differ from each other.",
        _by_the_fix("rename the outputs as the fix maps them"),
    ),
    "input_order": CauseWords(
        "inputs were exchanged",
        "Record inputs that differ from each other. If exchanged outputs would be the same, check the names in the "
        "code that calls the accelerator.",
        _feed_by_name,
    ),
    "wrong_input": CauseWords(
        "the outputs belong to other inputs",
        "Record more frames, and frames that differ more from one to the next.",
        _pair_the_frames,
    ),
    "geometry": CauseWords(
        "the picture was moved or resized",
        "Record inputs whose maps have edges, and differ from left to right and from top to bottom.",
        _move_the_picture,
    ),
    "activation": CauseWords(
        "the device's model ends in another way",
        "Record inputs whose outputs use more of their range.",
        _convert_the_values,
    ),
    "input_layout": CauseWords(
        "the device read the bytes of the input in another way",
        "Record frames with dark and bright parts.",
        _read_the_bytes,
    ),
}


def explains(best: Candidate, sure: str = "") -> str:
    """Return what is wrong. sure: "Probably" or "Perhaps", if that is not proven."""
    what = f"{_wrong(best)}."
    return f"{sure} {what}" if sure else what[0].upper() + what[1:]


def with_that(best: Candidate, declared: Candidate | None, frames: int | None = None) -> str:
    """Return how well device and model agree with what `explains` says, and without it. frames: compared; None: all."""
    return f"With that, {_agree(best.score, frames)}{_before(declared)}."


def along_axis(axis: int, score: float | None = None) -> str:
    """Return a sentence on channels along another axis than the usual one; score: the dB to which they agree."""
    if score is None:
        return f"The channels of this SNR are those along axis {axis}."
    return f"With channels along axis {axis}, they agree to {db(score)}."


def both(reads: Candidate, computes: Trial, alone: float) -> str:
    """Return that there are two causes, and how well device and model agree with both and with one."""
    first, second = _wrong(reads), _wrong(computes)
    with_both = f"With both, {_agree(reads.score)}; with the best single cause, to {db(alone)}"
    return f"Two causes at once. {first[0].upper()}{first[1:]}. And {second}. {with_both}."


def bent(best: Candidate, declared: Candidate | None) -> str:
    """Return that no scale is the cause, though one improves the agreement, perhaps beside another order."""
    other = "another scale" if best.cause == "quantization" else "another order and scale"
    what = f"With {other} ({best.text}), {_agree(best.score)}{_before(declared)}."
    why = "the cause is an activation, another function, or a layer that saturates"
    return f"{what} But the rest of the error depends on the value: {why}."


def _before(declared: Candidate | None) -> str:
    return "" if declared is None else f"; as declared, to {db(declared.score)}"


def _agree(score: float, frames: int | None = None) -> str:
    of = "" if frames is None else f", of the {_that_were_compared(frames)}"
    return f"device and model agree to {db(score)} (SNR within the channels{of})"


def _that_were_compared(frames: int) -> str:
    return "one frame that was compared" if frames == 1 else f"{frames} frames that were compared"


def rivals(best: Candidate, rival: Candidate, declared: Candidate | None, frames: int | None = None) -> str:
    """Return that two causes are equally likely. declared: of the frames of the best one; None: all."""
    before = "" if declared is None else f" As declared, {_agree(declared.score, frames)}."
    both = " or ".join(f"{c.text} ({db(c.score)})" for c in (best, rival))
    return f"Two causes explain the output equally well, and the recording cannot decide between them: {both}.{before}"


def noisy(c: Candidate) -> str:
    """Return that the device is noisy, and that another scale explains little of it."""
    return (
        f"The device is noisy. With another scale ({c.text}) device and model would agree to {db(c.score)}; noise "
        "alone does that, so it is no proof of another scale."
    )


def scale_or_device(score: float, met: bool, c: Candidate) -> str:
    """Return that a slightly other scale explains much more, which a device that shrinks or moves values does, too."""
    return (
        f"{as_declared(score, met)} With another scale ({c.text}) they would agree to {db(c.score)}: either the scale "
        "is declared wrongly, or the device's arithmetic shrinks, stretches or moves all values."
    )


def too_little(evidence: Evidence, values: int) -> str:
    """Return why a cause is not proven, and what to record. values: how many are independent."""
    frames = len(evidence.buffers)
    count = f"{values} independent values" if values > 1 else "1 independent value"
    what = f"{count} in {'one frame' if frames == 1 else f'{frames} frames'}"
    return f"But {what} cannot prove it: record more frames, unlike each other."


def fits_a_cut(best: Candidate) -> str:
    """Return that numbers that were fitted explain as much of a device that has another fault, and what to do."""
    why = "But fitted numbers explain as much of a device that rounds or cuts off what it computes."
    return f"{why} {COMPARE_SCALES if best.cause == 'quantization' else MORE_FRAMES}"


def contradicts(output: str, here: Candidate, better: Candidate | None) -> str:
    """Return that another output had another input than the one that is named. better: None if unknown."""
    one = f"But a device has one input, and output {quoted(output)} agrees with this one to {db(here.score)}"
    if better is None:
        return f"{one}, hardly better than with the input as it was recorded."
    had = "the input as it was recorded" if better.cause == "match" else f"another input ({better.text})"
    return f"{one}, and with {had} to {db(better.score)}."


def fits_anything(score: float, met: bool) -> str:
    """Return that another scale explains the output, as one explains any of so few values."""
    return (
        f"{as_declared(score, met)} With another scale they would agree better, but one can be fitted to any recording "
        "of so few different values, so that it proves nothing."
    )


def other_shape(evidence: Evidence) -> str:
    """Return that the declared shape is not the model's, and that no other reading fits."""
    spec, shape = evidence.spec, evidence.references[0].shape
    what = f"The spec's shape {spec.shape} ({spec.axes}) is not the model's {shape}"
    return f"{what}, and no other reading of the buffer agrees with the model to {LEAST:g} dB."


def as_declared(score: float, met: bool) -> str:
    """Return how well device and model agree as declared."""
    return f"As declared, {_agree(score)}, and {_tolerances(met)}."


def _tolerances(met: bool) -> str:
    return "all tolerances are met" if met else "not all tolerances are met"


def next_best(others: Sequence[Candidate], declared: float) -> str:
    """Return which other candidate explains most; of some frames alone, by what it gains in these."""
    reached, text = max(((min(c.score, declared + c.gain), c.text) for c in others), default=(0.0, ""))
    if reached < LEAST:  # hardly better than the channels' means
        return "Nothing else fits."
    if reached > declared and db(reached) != db(declared):
        return f"Another explanation ({text}) reaches {db(reached)}, which does not prove it."
    return f"The next best explanation ({text}) reaches {db(reached)}."


def flat(model: bool, device: bool, steps: bool, met: bool) -> str:
    """Return whose values do not vary, given whether the model's and the device's do."""
    whose = "The device's values" if model else "The model's values" if device else "The values of both sides"
    vary = "vary by less than a step" if steps else "do not vary"
    if steps and device and not model:
        return (
            f"{whose} {vary} of the declared scale within the channels, and the device's by more: either the scale is "
            f"far too large, such as that of another output, or the device errs by more than they vary; "
            f"{_tolerances(met)}."
        )
    return f"{whose} {vary} within the channels, so every reading looks the same; {_tolerances(met)}."


def doubt(score: float, other: Candidate) -> str:
    """Return that the declared reading is hardly better than another candidate."""
    return (
        f"As declared, {_agree(score)}, but the recording cannot rule out another explanation, "
        f"{_wrong(other)} ({db(other.score)})."
    )


def doubled(names: Sequence[str], unknown: Sequence[str] = ()) -> str:
    """Return that outputs contain the same tensor, and what to do. unknown: those of them that nothing explains."""
    own = "Fix: record each output under its own name."
    if unknown:
        contain = "contains" if len(unknown) == 1 else "contain"
        return f"What {' and '.join(map(quoted, unknown))} {contain} instead is not known. {own}"
    return f"{' and '.join(map(quoted, names))} contain the same tensor. {own}"
