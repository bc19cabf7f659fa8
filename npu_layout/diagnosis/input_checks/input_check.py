"""Check whether a recorded input is what the recording's preprocess makes of the camera's frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec, in_model_order, spec_in_model_order
from ...errors import NpuLayoutError
from ...frames import ARGUMENTS, as_channels, usual
from ...layouts import Layout
from ...recordings import CAMERA, FRAME, Recording
from ..other_inputs.input_images import FLIPPED, How
from ..other_inputs.input_variants import image_channels
from ..other_inputs.preprocessor_fixes import of_colours
from ..verdicts.verdict import Judgement
from .camera_frames import CameraFrames, Part
from .input_bytes import without_padding
from .input_changes import Change
from .input_judgement import as_declared, explained, judged, makeable
from .input_pairs import Fitter, InputPair
from .input_report import InputReport
from .input_sources import misread, source_changes
from .input_trials import BETTER, EXACT, SAME, Tried, alike, tried
from .other_readings import beside_readings, other_order

_NOT_CHECKED = "input: not checked"
_CANNOT = f"{_NOT_CHECKED}, a Preprocessor cannot make it of the frame"
_NO_FRAME = f"{_NOT_CHECKED}, no camera frame recorded"
_NOT_DECLARED = f"{_NOT_CHECKED}, the recording does not say how it was made; record with preprocess="
_NO_IMAGE = f"{_NOT_CHECKED}, none is an image of 1 or 3 channels"
_SEVERAL = f"{_NOT_CHECKED}, several are images, and the frame may be of any of them"
_NO_USUAL = f"{_NOT_CHECKED}, its mean and std are not in preprocess=, and no usual ones make it of the frame"


class InputChecks(NamedTuple):
    """{name: report} of the inputs that were checked; if none was, why."""

    reports: dict[str, InputReport]
    unchecked: str = ""


def recorded_inputs(recording: Recording, known: Mapping[int, Mapping[str, np.ndarray]] | None = None) -> InputChecks:
    """Return the check of the one input that is an image.

    It is made again from the first, the middle and the last camera frame. Nothing is checked if the recording has no
    camera frames or does not state how its inputs were made, or if a Preprocessor cannot make them. known: {number of a
    frame: its inputs}, of frames that need not be read again.
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
        found, other = _of_raw_frames(ordered, raw, rois, recorded, _stated(declared))
        found = found or _found(_RecordedInputs(ordered, frames, recorded, Fitter(ordered)), how, other)
    except NpuLayoutError as error:
        return InputChecks({}, f"{_CANNOT}: {error}")
    if found is None:
        return InputChecks({}, _NO_USUAL)
    changed = found.fix is not None and found.fix.get("source") != how.get("source")
    own = {} if changed or "source" not in declared else {"source": declared["source"]}  # colours were made of frames
    fix = found.fix and {**declared, **found.fix, **_stored_colors(spec, color, found.fix), **own}
    fix = fix and of_colours(fix, declared)
    return InputChecks({name: InputReport(name, found.verdict, fix, found.why, spec, tuple(numbers))})


class _Readings(NamedTuple):
    """What other readings of the frames leave, and those beside another argument: whether mean and std are tried ->."""

    alone: Sequence[Tried] = ()
    beside: Callable[[bool], Iterable[Change]] = lambda scaled: ()


def _of_raw_frames(
    spec: TensorSpec,
    raw: Mapping[int, np.ndarray],
    rois: Mapping[int, Part | None],
    recorded: Mapping[int, np.ndarray],
    how: How,
) -> tuple[Judgement | None, _Readings]:
    """Return the judgement that the frames give in their own format, and what other readings of them leave.

    None if they have no other reading, or it is not within rounding.
    """
    fitter = Fitter(spec)
    pairs = [
        InputPair(spec, raw, number, array, how, roi_xywh=rois[number], fitter=fitter)
        for number, array in recorded.items()
    ]
    others, of_bytes = source_changes(how, pairs), misread(how, pairs)
    if not (others or of_bytes) or not (pairs[0].is_pixels or {"mean", "std"} & how.keys()):
        return None, _Readings()
    made = [pair.made(pair.pixels(how), how).values for pair in pairs]
    declared = max(pair.off(values) for pair, values in zip(pairs, made))
    if declared <= SAME:
        return makeable(spec, how, as_declared(pairs)), _Readings()
    sources = [tried(change, pairs, made) for change in others]
    padded = [*without_padding(how, pairs[0]), *of_bytes]
    ways = [*sources, *(tried(change, pairs, made) for change in padded)]
    ways += [way for change in other_order(how, pairs) if (way := tried(change, pairs, made)).off <= EXACT]
    if min(way.off for way in ways) > SAME:
        ways += [tried(change, pairs, made) for change in _in_other_colours(how, pairs)]
    least = min(ways, key=lambda way: way.off)
    if least.off > min(SAME, BETTER * declared):
        return None, _Readings(sources, partial(beside_readings, how, pairs))
    return explained(pairs, alike(least, ways), declared)._replace(names_cause=True), _Readings()


def _in_other_colours(how: How, pairs: Sequence[InputPair]) -> list[Change]:
    """Return the other readings of the frames in their own format, with red and blue exchanged as well."""
    color = FLIPPED.get(how.get("color", "RGB"))
    if color is None:
        return []
    flipped = {**how, "color": color}
    sources = [change._replace(words=f"color={color!r}, {change.words}") for change in source_changes(flipped, pairs)]
    padded = [*without_padding(flipped, pairs[0]), *misread(flipped, pairs)]
    return [*sources, *(change._replace(words=f"color={color!r} with {change.words}") for change in padded)]


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


class _RecordedInputs(NamedTuple):
    """The recorded inputs of some frames."""

    spec: TensorSpec
    frames: CameraFrames
    recorded: Mapping[int, np.ndarray]
    fitter: Fitter

    def pairs(self, how: How) -> list[InputPair]:
        """Return each with its frame, declared to be made as `how` says."""
        return [
            InputPair(
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


def _found(seen: _RecordedInputs, how: How, other: _Readings) -> Judgement | None:
    """Return the judgement of the input, or None. other: readings of the frames.

    If neither mean nor std is declared, any usual ones are accepted, and others are not judged.
    """
    pairs = seen.pairs(how)
    if pairs[0].is_pixels or {"mean", "std"} & how.keys():
        return makeable(seen.spec, how, judged(pairs, how, sources=other.alone, readings=other.beside))
    usually = []
    for m, s in usual(how.get("color", "RGB"), pairs[0].channels).values():
        base = {**how, "mean": list(m), "std": list(s)}
        found = makeable(seen.spec, base, judged(seen.pairs(base), base, scaled=False))
        if found.verdict == "match":
            return found
        usually.append(found)
    refused = next((found for found in usually if found.names_cause), None)
    return next((found for found in usually if found.fix is not None), refused)
