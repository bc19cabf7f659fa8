"""Check whether a recorded input is what the recording's preprocess makes of the camera's frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec, in_model_order, spec_in_model_order
from ..errors import NpuLayoutError
from ..frames import ARGUMENTS, Preprocessor, as_channels, usual
from ..layouts import Layout
from ..recordings import CAMERA, FRAME, Recording
from ..support import check_fields, isolated
from .camera_frames import CameraFrames, Part
from .flat_colours import colour_difference
from .input_bytes import without_padding
from .input_changes import Change
from .input_images import How
from .input_pairs import Fitter, Pair
from .input_sources import source_changes
from .input_trials import BETTER, SAME, Tried, alike, best, every, tried
from .input_variants import FLIPPED, image_channels
from .jpeg_files import is_compressed, lost_by_files
from .resize_shares import NOISE, share_of_resizes
from .verdict import Judgement

_NEAR = 1.2  # times what a formula or JPEG changes: other code for the same changes as much
_SATURATED = 0.5  # of the values: what saturates more is another quantization than declared
_EXPLAINED = 0.5  # of the contrast of what was recorded: what leaves more explains nothing of it
_NOISY = 2.0  # steps: of less, rounding may be most
_NAMED = 3  # changes that explain as much as each other
_FIX = "Fix: correct preprocess= by the arguments of the fix, or make the input as declared."
_COMPARE = "Fix: compare the code that makes the input with preprocess=."
_COMPARE_OR_NOTE = f"{_COMPARE[:-1]}; if it was made of a part of the frame, record that with roi_xywh=."
_RIGHT = "The recorded input is what preprocess= makes of the frame"
_WRONG = "The recorded input is not what preprocess= makes of the frame"
_NOT_CHECKED = "input: not checked"
_CANNOT = f"{_NOT_CHECKED}, a Preprocessor cannot make it of the frame"
_NO_FRAME = f"{_NOT_CHECKED}, no camera frame recorded"
_NOT_DECLARED = f"{_NOT_CHECKED}, the recording does not say how it was made; record with preprocess="
_NO_IMAGE = f"{_NOT_CHECKED}, none is an image of 1 or 3 channels"
_SEVERAL = f"{_NOT_CHECKED}, several are images, and the frame may be of any of them"
_NO_USUAL = f"{_NOT_CHECKED}, its mean and std are not in preprocess=, and no usual ones make it of the frame"


@dataclass(frozen=True)
class InputReport:
    """What `validate` finds out about an input that was recorded with the camera's frame.

    Attributes
    ----------
    name
        The recording's name of the input.
    verdict
        "match", or why it is not what the recording's preprocess makes of the frame: "preprocessing"; "geometry" (the
        same picture mirrored, rotated, cropped or shifted, or of another part of the frame than the recording notes);
        "input_layout" (its bytes in another order, with another sign, or of a frame whose rows are padded);
        "wrong_input" (another frame's input). Of any input, whether made again or not: "input_order" (inputs were fed
        in each other's place, as the outputs show).
    fix
        The Preprocessor's arguments that make it of the frame; None if none do, or none are needed.
    why
        The evidence and how to fix it, in sentences.
    spec
        Its TensorSpec, as declared or as the model reads it.
    frames
        The numbers of the frames that were checked.
    """

    name: str
    verdict: str
    fix: Mapping[str, Any] | None
    why: str
    spec: TensorSpec
    frames: tuple[int, ...]

    def __post_init__(self) -> None:
        check_fields(self, name=str, verdict=str, fix=(Mapping, type(None)), why=str, spec=TensorSpec, frames=tuple)

    def __bool__(self) -> bool:
        return self.verdict == "match"

    @property
    def title(self) -> str:
        """What tables call it, among outputs."""
        return f"input {self.name}"

    def __str__(self) -> str:
        lines = [f"input {isolated(self.name)}: {self.verdict}", f"  {self.why}"]
        return "\n".join(lines if self.fix is None else [*lines, f"  fix: {self.fix!r}"])

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready dict."""
        fix = self.fix and {k: v.to_dict() if isinstance(v, TensorSpec) else v for k, v in self.fix.items()}
        spec, frames = self.spec.to_dict(), list(self.frames)
        return {"name": self.name, "verdict": self.verdict, "fix": fix, "why": self.why, "spec": spec, "frames": frames}


class InputChecks(NamedTuple):
    """{name: report} of the inputs that were checked; if none was, why."""

    reports: dict[str, InputReport]
    unchecked: str = ""


def recorded_inputs(recording: Recording, known: Mapping[int, Mapping[str, np.ndarray]] | None = None) -> InputChecks:
    """Return the check of the one input that is an image.

    The first, the middle and the last of its frames are made again. Nothing is checked if the recording has no camera
    frames or does not state how its inputs were made, or if a Preprocessor cannot make them. known: inputs by the
    number of their frame, which are not read again.
    """
    declared, count = recording.meta.get("preprocess"), len(recording.frames)
    numbers = sorted({0, count // 2, count - 1}) if count else []
    known = known or {}
    seen = [known[i] if i in known else recording.frames[i].inputs for i in numbers]
    if not count or FRAME not in seen[0]:
        return InputChecks({}, _NO_FRAME)
    if not isinstance(declared, Mapping):
        return InputChecks({}, _NOT_DECLARED)
    specs = {name: _spec(array, recording.specs.get(name)) for name, array in seen[0].items() if name not in CAMERA}
    images = [(name, spec) for name, spec in specs.items() if spec is not None]
    if len(images) != 1:
        return InputChecks({}, _SEVERAL if images else _NO_IMAGE)
    name, spec = images[0]
    color = declared.get("color", "RGB")
    frames = CameraFrames(recording, _stated(declared), dict(zip(numbers, seen)))
    rois = {i: frames.roi(i) for i in numbers}
    try:
        stored = {i: spec.unpack(np.ascontiguousarray(one[name])) for i, one in zip(numbers, seen)}
        recorded = {i: in_model_order(spec, array, color) for i, array in stored.items()}
        how = as_channels(seen[0][FRAME], _stated(declared))[1]
        raw = {i: np.asarray(one[FRAME]) for i, one in zip(numbers, seen)}
        ordered = spec_in_model_order(spec, color)
        found, sources = _of_raw_frames(ordered, raw, rois, recorded, _stated(declared))
        found = found or _found(_Seen(ordered, frames, recorded, Fitter(ordered)), how, sources)
    except NpuLayoutError as error:
        return InputChecks({}, f"{_CANNOT}: {error}")
    if found is None:
        return InputChecks({}, _NO_USUAL)
    changed = found.fix is not None and found.fix.get("source") != how.get("source")
    own = {} if changed or "source" not in declared else {"source": declared["source"]}  # colours were made of frames
    fix = found.fix and {**declared, **found.fix, **_stored_colors(spec, color, found.fix), **own}
    return InputChecks({name: InputReport(name, found.verdict, fix, found.why, spec, tuple(numbers))})


def _makeable(spec: TensorSpec, how: How, found: Judgement) -> Judgement:
    """Return the judgement, but of a match that no Preprocessor makes: what was recorded was made wrongly as well."""
    if spec.quantization is None or found.verdict != "match":
        return found
    try:
        Preprocessor(spec, **how)
    except NpuLayoutError as error:
        why = f"{_RIGHT}, but a Preprocessor refuses that: {error}."
        return Judgement("preprocessing", None, why, _COMPARE, names_cause=True)
    return found


def _of_raw_frames(
    spec: TensorSpec,
    raw: Mapping[int, np.ndarray],
    rois: Mapping[int, Part | None],
    recorded: Mapping[int, np.ndarray],
    how: How,
) -> tuple[Judgement | None, list[Tried]]:
    """Return the judgement that the frames give in their own format, and what each other reading of them leaves.

    None if they have no other reading, or it is not within rounding.
    """
    fitter = Fitter(spec)
    pairs = [
        Pair(spec, raw, number, array, how, roi_xywh=rois[number], fitter=fitter) for number, array in recorded.items()
    ]
    others = source_changes(how, pairs)
    if not others or not (pairs[0].is_pixels or {"mean", "std"} & how.keys()):
        return None, []
    frames = _numbered(pairs)
    made = [pair.made(pair.pixels(how), how).values for pair in pairs]
    declared = max(pair.off(values) for pair, values in zip(pairs, made))
    if declared <= SAME:
        return _makeable(spec, how, Judgement("match", None, f"{_RIGHT} ({frames} made again).")), []
    sources = [tried(change, pairs, made) for change in others]
    ways = [*sources, *(tried(change, pairs, made) for change in without_padding(how, pairs[0]))]
    least = min(ways, key=lambda way: way.off)
    if least.off > min(SAME, BETTER * declared):
        return None, sources
    return _explained(pairs, alike(least, ways), declared)._replace(names_cause=True), sources


def _explained(pairs: Sequence[Pair], ways: Sequence[Tried], declared: float) -> Judgement:
    """Return the judgement that names a change, or several that the data do not tell apart, which have no fix."""
    off = max(way.off for way in ways)
    by = (
        f"within {_pixels(pairs, off)} pixel values in {_numbered(pairs)}; as declared, it differs by "
        f"{_pixels(pairs, declared)} pixel values"
    )
    named = [way.change.words for way in ways[:_NAMED]] + ["another such change"] * (len(ways) > _NAMED)
    words = " or ".join(named)
    change = ways[0].change
    usable = None if len(ways) > 1 else _usable(pairs[0].spec, change.how)
    advice = _COMPARE if usable is None else _FIX
    return Judgement(change.verdict, usable, f"{_WRONG}: it is what {words} makes ({by}).", advice)


def _spec(array: np.ndarray, spec: TensorSpec | None) -> TensorSpec | None:
    """Return the spec of an input that a Preprocessor can make of one frame; None for others."""
    if spec is None:
        axis = image_channels(array.shape)
        if axis is None or array.dtype.kind not in "fu":
            return None
        spec = TensorSpec(array.shape, Layout.plain(("NCHW", "NHWC")[axis == 3]), array.dtype)
    extents = dict(zip(spec.axes, spec.shape))
    image = len(extents) == 3 + ("N" in extents) and {"C", "H", "W"} <= extents.keys()
    image = image and extents.get("N", 1) == 1 and extents["C"] in (1, 3)
    known = spec.element.unpacked.kind == "f" or spec.quantization is not None or spec.dtype == "uint8"
    return spec if image and known else None


def _stored_colors(spec: TensorSpec, color: str, fix: How) -> How:
    """Return the target of a fix for another colour: a runtime that exchanges colours was given the other channels."""
    if spec.channels is None or fix.get("color", color) == color:
        return {}
    return {"target": TensorSpec.from_dict({**spec.to_dict(), "channels": FLIPPED[spec.channels]})}


def _stated(declared: Mapping[str, Any]) -> How:
    return {k: v for k, v in declared.items() if k in ARGUMENTS}


class _Seen(NamedTuple):
    """The recorded inputs of some frames."""

    spec: TensorSpec
    frames: CameraFrames
    recorded: Mapping[int, np.ndarray]
    fitter: Fitter

    def pairs(self, how: How) -> list[Pair]:
        """Return each with its frame, declared to be made as `how` says."""
        return [
            Pair(
                self.spec,
                self.frames,
                number,
                array,
                how,
                others=self.frames.other_parts(number),
                near=None if self.frames.roi(number) is None else partial(self.frames.near, number),
                fitter=self.fitter,
            )
            for number, array in self.recorded.items()
        ]


def _found(seen: _Seen, how: How, sources: Sequence[Tried]) -> Judgement | None:
    """Return the judgement of the input, or None. sources: what other readings of the frames leave.

    If neither mean nor std is declared, any usual ones are accepted, and others are not judged.
    """
    pairs = seen.pairs(how)
    if pairs[0].is_pixels or {"mean", "std"} & how.keys():
        return _makeable(seen.spec, how, _judged(pairs, how, sources=sources))
    usually = []
    for m, s in usual(how.get("color", "RGB"), pairs[0].channels).values():
        base = {**how, "mean": list(m), "std": list(s)}
        usually.append(_makeable(seen.spec, base, _judged(seen.pairs(base), base, scaled=False)))
    explained = [found for found in usually if found.verdict == "match" or found.fix is not None]
    refused = next((found for found in usually if found.names_cause), None)
    return min(explained, key=lambda found: found.verdict != "match", default=refused)


def _judged(pairs: Sequence[Pair], base: How, scaled: bool = True, sources: Sequence[Tried] = ()) -> Judgement:
    """Return whether the recorded inputs are as declared, and if not, how they were made.

    base: the declared arguments, with mean and std; scaled: whether these two were declared, so that others are wrong;
    sources: what other readings of the frames leave.
    """
    numbers, frames = [pair.number for pair in pairs], _numbered(pairs)
    made = [pair.made(pair.pixels(base), base).values for pair in pairs]
    offs = [pair.off(m) for pair, m in zip(pairs, made)]
    declared = max(offs)
    if declared <= SAME:
        return Judgement("match", None, f"{_RIGHT} ({frames} made again).")
    off_by = f"{_pixels(pairs, declared)} pixel values"
    formulas, others = every(pairs, made, base, scaled)
    resized = _NEAR * max([SAME, *(t.from_declared for t in formulas if t.change.how is not None)])
    spread = _NEAR * max([SAME, *(t.from_declared for t in formulas)])
    contrast = max(pair.contrast for pair in pairs)
    found = best(formulas, [*others, *sources], spread, _EXPLAINED * contrast)
    if declared > spread and not (found and found[0].off <= SAME):
        spread = max(spread, _NEAR * lost_by_files(pairs, made, base))
        found = best(formulas, [*others, *sources], spread, _EXPLAINED * contrast)
    if is_compressed(pairs, made, base, declared, spread, found[0].off if found else np.inf):
        return Judgement("match", None, f"{_RIGHT}, except for a loss as JPEG's: it differs by {off_by} ({frames}).")
    flat = _Flat(pairs, made, [t.change for t in formulas])
    if found and (found[0].off <= SAME or not flat.colours_left(found[0], base)):
        return _explained(pairs, found, declared)
    nearest = min(tried.off for tried in formulas)
    in_colour = 0.0 if nearest <= SAME or declared > spread else flat.difference([pair.recorded for pair in pairs])
    is_colour = in_colour > max(SAME, BETTER * declared) and in_colour > _NEAR * flat.lost()
    if nearest <= SAME or (declared <= spread and not is_colour):
        is_resize = declared <= resized or nearest <= SAME
        except_for = "the resize formula" if is_resize else "a loss as JPEG's"
        if _is_noise(pairs, made, offs, [t.change for t in formulas]):
            except_for = "noise, which no other resize makes"
        most = f"cv2's interpolations by up to {_pixels(pairs, resized / _NEAR)}"
        most += "" if is_resize else f", JPEG by up to {_pixels(pairs, spread / _NEAR)}"
        why = f"{_RIGHT}, except for {except_for}: it differs by"
        return Judgement("match", None, f"{why} {off_by}, {most} ({frames}).")
    worst = numbers[int(np.argmax(offs))]
    why = f"{_WRONG}: it differs by {off_by} in frame {worst}, and no known change explains that"
    hint = _COMPARE if pairs[0].others else _COMPARE_OR_NOTE
    judgement = Judgement("preprocessing", None, f"{why} ({frames} made again).", hint)
    if is_colour:
        by = f"{_pixels(pairs, in_colour)} pixel values"
        judgement = judgement.noted(f"It differs by {by} where the picture is flat: its colours are others.")
    clamped = max(pair.at_top for pair in pairs)
    return judgement.noted(_clamped(clamped)) if clamped > _SATURATED else judgement


def _is_noise(
    pairs: Sequence[Pair], made: Sequence[np.ndarray], offs: Sequence[float], formulas: Sequence[Change]
) -> bool:
    """Whether other resizes make nothing of what differs in the frame that differs most."""
    worst = int(np.argmax(offs))
    others = [change.make(pairs[worst]).values for change in formulas if change.how is not None]
    return offs[worst] > _NOISY and share_of_resizes(pairs[worst], made[worst], others) < NOISE


class _Flat:
    """What differs in the flat areas of some pictures, which no formula changes. made: as declared."""

    def __init__(self, pairs: Sequence[Pair], made: Sequence[np.ndarray], formulas: Sequence[Change]) -> None:
        self._pairs, self._made, self._formulas = pairs, made, formulas

    def difference(self, recorded: Sequence[np.ndarray], made: Sequence[np.ndarray] | None = None) -> float:
        """Return by how many steps inputs differ from those as declared, or from `made`, in their colours."""
        return colour_difference(self._pairs, made or self._made, recorded, self._same)

    @cached_property
    def _same(self) -> list[list[np.ndarray]]:
        formulas = [change for change in self._formulas if change.how is not None]
        return [
            [made, *(change.make(pair).values for change in formulas)] for pair, made in zip(self._pairs, self._made)
        ]

    def lost(self) -> float:
        """Return what a loss as JPEG's changes of them."""
        losses = [change for change in self._formulas if change.how is None]
        return max(self.difference([change.make(pair).values for pair in self._pairs]) for change in losses)

    def colours_left(self, way: Tried, base: How) -> bool:
        """Whether most of what a change of arguments leaves is other colours, if it leaves the picture where it is."""
        how = way.change.how
        if how is None or how.get("resize") != base.get("resize"):
            return False
        made = [way.change.make(pair).values for pair in self._pairs]
        return self.difference([pair.recorded for pair in self._pairs], made) > max(SAME, BETTER * way.off)


def _numbered(pairs: Sequence[Pair]) -> str:
    return f"frame{'s'[: len(pairs) > 1]} {', '.join(str(pair.number) for pair in pairs)}"


def _pixels(pairs: Sequence[Pair], steps: float) -> str:
    return f"{steps * pairs[0].step:.1f}"


def _clamped(share: float) -> str:
    what = f"{100 * share:.0f} % of its values are at the upper end of the range that its quantization can store"
    return f"{what}, as with mean and std forgotten, or with another quantization than declared."


def _usable(spec: TensorSpec, how: How | None) -> How | None:
    """Return the arguments if a Preprocessor of a quantised input accepts them."""
    if how is None or spec.quantization is None:
        return how
    try:
        Preprocessor(spec, **how)
    except NpuLayoutError:
        return None
    return how
