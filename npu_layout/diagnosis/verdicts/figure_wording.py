"""The sentences on an output's figures, and on its channels, places, frames and labels that do not follow the model."""

from __future__ import annotations

from collections.abc import Sequence

from ...comparison import FLOAT16_MOST, Confused, Figures, OutputComparison, OutputPart, Rarer, listed

_RUNS = 4  # outputs into which one is split

OVERFLOWS = (
    "Fix: compile the layers up to this output in float32 or bfloat16, or make the model return smaller values, for "
    "example by a factor that is undone after unpacking."
)
ALIKE = (
    "For most frames the output is too much like the next one's to tell whether each belongs to its own input: record "
    "frames that differ more."
)
MORE_LABELS = "Record frames that show more of the other labels."
FROZEN = "Check that the device runs, and that it writes to this buffer."


def db(score: float) -> str:
    """Return a number of dB in words."""
    return f"{round(score, 1) + 0.0:.1f} dB"


def nothing_finite(compared: OutputComparison) -> str:
    """Return that all values are NaN or infinite, on which side."""
    odd, values = compared.non_finite, compared.values
    sides = {values: _side(compared), 0: "on both sides"}
    which = sides.get(odd, f"on both sides, or, {odd} of them, on one side only")
    return f"All {values} values are NaN or infinite {which}."


def left_out(both: int, values: int) -> str:
    """Return how many values are NaN or infinite on both sides."""
    return f"{both} of {values} values are NaN or infinite on both sides and are not compared."


def not_finite(compared: OutputComparison) -> str:
    """Return how many values are NaN or infinite on one side only, which side, and where the first one is."""
    odd = compared.non_finite
    are = "is" if odd == 1 else "are"
    where = ""
    if compared.first_non_finite is not None:
        frame, at = compared.first_non_finite
        where = f", {'' if odd == 1 else 'the first '}at {at} of frame {frame}"
    return f"{odd} of {compared.values} values {are} NaN or infinite {_side(compared)}{where}."


def finite_agree(whole: Figures) -> str:
    """Return how well the values agree that are finite on both sides."""
    return f"Where both are finite, they agree to an SNR of {db(whole.snr_db)}."


def _side(compared: OutputComparison) -> str:
    """Return on which side values are NaN or infinite that are not on the other."""
    return {compared.non_finite: "on the device alone", 0: "in the model alone"}.get(
        compared.device_alone, "on one side only"
    )


def overflows(odd: int, values: int, whole: Figures) -> str:
    """Return how many values are beyond float16, and how well the others agree."""
    return (
        f"{odd} of {values} values are infinite on the device where the model's are beyond {FLOAT16_MOST:g}, the "
        f"largest number of float16. {finite_agree(whole)}"
    )


def hidden(changing: int, places: int, snr_db: float) -> str:
    """Return that the values that change do not follow the model, though all of them together do."""
    return (
        f"{changing} of {places} places that were looked at have values that change from frame to frame, and these "
        f"agree to {db(snr_db)} only: the others have the same values in every frame, so large that they hide it."
    )


def frozen(whole: Figures) -> str:
    """Return that the device's values are the same for every frame."""
    constant = whole.device_low == whole.device_high
    what = f"{whole.device_low + 0.0:g} everywhere and for" if constant else "the same values for"
    return f"The device returned {what} every frame, while the model's values change."


def unexplained(parts: Sequence[OutputPart], channel_axis: int | None, met: bool = False) -> str:
    """Return a sentence for each axis that has parts which nothing explains. met: whether all tolerances are."""
    sentences = []
    for axis in dict.fromkeys(p.axis for p in parts):
        found = [p for p in parts if p.axis == axis]
        whys = {p.why for p in found}
        why = f": {whys.pop()}" if len(whys) == 1 and found[0].why else ""
        do = "do" if len(found) > 1 else "does"
        sentences.append(f"{_which(found, channel_axis)} {do} not follow the model{why}.")
    if met:
        sentences.append("The tolerances do not show that: they are of the output as a whole.")
    return " ".join(sentences)


def strays(frames: Sequence[tuple[int, int]]) -> str:
    """Return which frames have the outputs of others, and where to look."""
    which = listed((f"frame {number} has the output of frame {source}" for number, source in frames), 8)
    return f"{which[0].upper()}{which[1:]}: look for a buffer that is read too early, or that two threads share."


def worst(frames: Sequence[OutputPart]) -> str:
    """Return which frames have far larger errors than the others."""
    return f"{_which(frames, None)} {'have' if len(frames) > 1 else 'has'} far larger errors than the others."


def confused(labels: Sequence[Confused]) -> str:
    """Return which labels are mostly other ones on the device."""
    shown = listed(f"{c.label} as {c.given} ({100 * c.share:.0f} %)" for c in labels)
    return f"The device returns most elements of some labels as another label: {shown}."


def rarer(labels: Rarer) -> str:
    """Return at how many of the places whose label is not the commonest one the device has the model's."""
    where = "1 place" if labels.places == 1 else f"{labels.places} places"
    return (
        f"All tolerances are met, because nearly all of the model's labels are {labels.commonest}. It has another one "
        f"at {where}, and the device has the same at {labels.equal} of these: a wrong input may agree as well."
    )


def lost(parts: Sequence[OutputPart], channel_axis: int | None) -> str:
    """Return which parts vary by less than the device can show, and what to do."""
    span = max(p.span for p in parts)
    are, them = ("are", "them a scale of their own") if len(parts) > 1 else ("is", "it a scale of its own")
    return (
        f"{_which(parts, channel_axis)} {are} lost: the model's values vary by up to {span:.3g} there, "
        f"less than {_steps(parts)}. Fix: give {them}, {_split(parts)}."
    )


def dead(parts: Sequence[OutputPart], channel_axis: int | None) -> str:
    """Return which parts the device cannot show, beside another fault."""
    vary = "vary" if len(parts) > 1 else "varies"
    return f"{_which(parts, channel_axis)} {vary} by less than {_steps(parts)}, which the device cannot show."


def unseen(parts: Sequence[OutputPart], channel_axis: int | None) -> str:
    """Return which parts a match says nothing of, most of all, and how the device could show them."""
    vary, them, they_vary = ("vary", "them", "they vary") if len(parts) > 1 else ("varies", "it", "it varies")
    own = "a scale of their own" if len(parts) > 1 else "a scale of its own"
    return (
        f"{_which(parts, channel_axis)} {vary} by less than {_steps(parts)}, so that this match proves nothing of "
        f"{them}. If {they_vary} no more in other frames, give {them} {own}, {_split(parts)}."
    )


def _steps(parts: Sequence[OutputPart]) -> str:
    return "half a quantisation step" if max(p.steps for p in parts) < 0.5 else "a quantisation step"


def _split(parts: Sequence[OutputPart]) -> str:
    """Return how an output is split, so that its lost parts have a scale of their own."""
    lost = {p.at for p in parts}
    runs: list[list[int]] = []
    for i in range(parts[0].among):
        if i and (i in lost) == (i - 1 in lost):
            runs[-1][1] = i
        else:
            runs.append([i, i])
    names = [f"{first} to {last}" if last > first else str(first) for first, last in runs]
    if not 1 < len(names) <= _RUNS:
        return "with a scale for each channel, or as a separate output"
    each = f"{', '.join(names[:-1])} and {names[-1]}"
    return (
        f"as {len(names)} outputs of the graph ({each}), cut before the node that joins them, such as Concat; or give "
        "each channel a scale"
    )


def _which(parts: Sequence[OutputPart], channel_axis: int | None) -> str:
    """Return which parts these are.

    "Channel 5 of 17", "3 of 40 frames (1, 2, 8)", "2 of 24 places along axis 2 (22, 23)".
    """
    axis, count = parts[0].axis, parts[0].among
    where = "" if axis in (None, channel_axis) else f" along axis {axis}"
    what = "frame" if axis is None else "place" if where else "channel"
    if len(parts) == 1:
        return f"{what.capitalize()} {parts[0].at} of {count}{where}"
    return f"{len(parts)} of {count} {what}s{where} ({listed(p.at for p in parts)})"
