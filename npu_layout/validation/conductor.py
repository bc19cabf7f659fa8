"""Validate a recording against its model: whether they agree, and if not, why and how to fix it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from ..comparison import OutputComparison
from ..decode import Head
from ..diagnosis import (
    LEAST,
    Evidence,
    image_channels,
    in_other_places,
    recorded_inputs,
    runtime_exchanges,
    runtime_normalises,
)
from ..engines import OnnxRuntimeEngine, reference
from ..errors import NpuLayoutError
from ..frames import as_pixels
from ..recordings import Recording, normalisation, of_pixels
from ..reports import Exhibit, OutputReport, Report
from ..support import checked_call, flag, isolated
from . import tolerances
from .comparing import KeptRun, compare
from .detecting import compare_detections, least_score
from .examining import Examined, examine, exchanged, frames_run_again, inputs_in_other_places, of_one_input
from .tolerances import Tolerance

_SHOWN = 3  # of the model's outputs for other inputs, in the report


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # the report counts what is NaN or infinite
@checked_call
def validate(
    recording: Recording | str | os.PathLike[str],
    model: str | os.PathLike[str] | bytes | OnnxRuntimeEngine,
    *,
    min_snr_db: Tolerance = 10,
    min_cosine: Tolerance = None,
    max_abs: Tolerance = None,
    max_steps: Tolerance = None,
    head: Head | None = None,
    confidence: float = 0.25,
    progress: bool | None = None,
) -> Report:
    """Compare what an accelerator returned with an onnxruntime run of the same model, and find out why they differ.

    Parameters
    ----------
    recording
        A Recording, or the folder of one. Its inputs go to the model, unpacked by their spec if they have one (and
        normalised by ``meta["preprocess"]``'s mean and std, if the spec's integers are pixels and the model reads
        floats).
    model
        Path or bytes of the ONNX model, or an OnnxRuntimeEngine on the CPU.
    min_snr_db, min_cosine, max_abs, max_steps
        Tolerances over all values of an output: a number, {output: number}, or None. Outputs that a mapping leaves out
        keep the default. min_snr_db is in dB, min_cosine from -1 to 1; max_abs is the largest difference of two real
        values, max_steps the same in quantisation steps, which float outputs do not have.
    head, confidence
        What the outputs mean, such as ``npu_layout.decode.yolov8()``, and the least score of a detection. With a head
        the Report compares the detections in up to 32 frames, and it is true only if these are the same. If they are,
        an output that misses the tolerances by rounding alone is right too.
    progress
        Whether to show on stderr how far the work is, and which causes are tried; None: if stderr is a terminal.

    Returns
    -------
    A Report, true if every output matches, and an input that was recorded with the camera's frame is what
    ``meta["preprocess"]`` makes of it; see OutputReport and InputReport for verdicts and fixes. An output's "match"
    means that the declared reading explains its values best, that no other one is as good, that it explains every
    channel, row, column and frame, and that the tolerances are met.

    Every frame is read once, and memory does not grow with their number; causes are looked for in up to 32 of them.
    If only rounding is left, the model runs once a frame; else up to six run again with inputs made in other ways, and
    all of the 32 with the ways that explain most of an output of up to 2,048 values.

    Raises
    ------
    NpuLayoutError
        If the model cannot be run on the recorded inputs, in which case the message names input or output; if a
        confidence is given without a head; if another argument is wrong.
    RecordingError
        If the recording is damaged.

    Examples
    --------
    See "When the answers look wrong" in the README, which is run as a test.
    """
    engine = reference(model)
    if isinstance(recording, (str, os.PathLike)):
        recording = Recording.load(recording)
    if not isinstance(recording, Recording):
        raise NpuLayoutError(f"recording: expected a Recording, got {type(recording).__name__}")
    progress = None if progress is None else flag("progress", progress)
    confidence = least_score(head, confidence)
    asked = {"min_snr_db": min_snr_db, "min_cosine": min_cosine, "max_abs": max_abs, "max_steps": max_steps}
    tolerances.check(asked, recording)
    count = len(recording.frames)
    if not count or not recording.outputs:
        what = "frames" if not count else "outputs"
        return Report({}, 0, engine.model, f"nothing was compared: the recording has no {what}", recording.meta)
    given, recording = recording, of_pixels(recording)
    pairing, kept = compare(recording, engine, progress)
    _check_normalisation(recording, kept[0])
    outputs = pairing.outputs
    examined = of_one_input(exchanged(examine(engine, recording, outputs, kept, asked, progress)))
    checked, unchecked = recorded_inputs(recording, {k.number: k.recorded for k in kept})
    judgements, inputs = runtime_exchanges({e.output.name: e.judgement for e in examined}, checked, recording.meta)
    fed = {name: spec for name, spec in recording.specs.items() if name not in recording.outputs}
    judgements = runtime_normalises(judgements, fed, recording.meta)
    inputs = in_other_places(inputs_in_other_places(examined), inputs, recording, frames_run_again(examined, kept))
    judgements = {name: j._replace(fix=_as_declared(j.fix, given)) for name, j in judgements.items()}
    inputs = {k: replace(v, fix=_as_declared(v.fix, given), spec=given.specs.get(k, v.spec)) for k, v in inputs.items()}
    reports = {e.output.name: _report(e._replace(judgement=judgements[e.output.name]), kept) for e in examined}
    detections = {} if head is None else compare_detections(head, outputs, kept, confidence)
    note = _not_recorded(pairing.missing)
    return Report(reports, count, engine.model, note, recording.meta, inputs, "" if inputs else unchecked, detections)


def _as_declared(fix: Any, given: Recording) -> Any:
    """Return a fix whose target, if it has one, stores pixels as the input was declared to."""
    changed = [spec for name, spec in given.specs.items() if name not in given.outputs and as_pixels(spec) is not spec]
    if len(changed) != 1 or not isinstance(fix, Mapping) or "target" not in fix:
        return fix
    return {**fix, "target": fix["target"].replace(dtype=changed[0].dtype, quantization=changed[0].quantization)}


def _not_recorded(missing: Sequence[str]) -> str:
    """Return in words which outputs of the model were not recorded; "" if all were."""
    return f"the model's outputs {', '.join(map(isolated, missing))} were not recorded" if missing else ""


def _check_normalisation(recording: Recording, first: KeptRun) -> None:
    """RecordingError if the meta's mean and std do not fit the images that are the model's inputs."""
    for x in first.inputs.values():
        axis = image_channels(x.shape)
        if axis is not None:
            normalisation(recording.meta, x.shape[axis])


def _report(examined: Examined, kept: Sequence[KeptRun]) -> OutputReport:
    output, judgement, evidence = examined[:3]
    name, model, spec = output.name, output.model.name, output.spec
    if evidence is None:
        return OutputReport(name, model, judgement.verdict, judgement.fix, judgement.why, spec)
    comparison, ranking = output.comparison, list(examined.ranking)
    figures = None if comparison is None else comparison.whole
    channels = [] if comparison is None else comparison.channels
    dead = () if comparison is None else comparison.dead
    if comparison is not None and figures is None:  # only NaN and infinities
        channels, ranking = [], []
    exhibit = _exhibit(examined._replace(ranking=ranking), evidence, kept)
    if evidence.named_axis != output.channel_axis:  # the figures are of the channels that it was taken to have
        channels, dead = [], ()
    live = [c for c in range(len(channels)) if channels[c].high > channels[c].low and c not in dead]
    worst = min(live, key=lambda c: channels[c].snr_db) if len(channels) > 1 and live else None
    return OutputReport(
        name, model, judgement.verdict, judgement.fix, judgement.why, spec, evidence.named_axis, figures, channels,
        worst, dead, examined.met, tolerances.passing(figures), ranking, exhibit, judgement.also,
        None if comparison is None or judgement.names_cause else comparison.clamped,
    )  # fmt: skip


def _exhibit(examined: Examined, evidence: Evidence, kept: Sequence[KeptRun]) -> Exhibit:
    """Return the exhibit of the kept frame whose reference varies most, of those on which the model ran again."""
    at = max(examined.rows or range(len(kept)), key=lambda i: evidence.variances[i])
    answers = ((c.trial, evidence.trial(c).answers.get(at)) for c in examined.ranking if c.score >= LEAST)
    shown = dict(islice(((trial, answer) for trial, answer in answers if answer is not None), _SHOWN))
    comparison = examined.output.comparison
    error = _position_error(comparison)
    buffer = kept[at].outputs[examined.output.name]
    device, model = evidence.finite_values
    return Exhibit(kept[at].number, buffer, evidence.references[at], device, model, error, shown)


def _position_error(comparison: OutputComparison | None) -> np.ndarray:
    if comparison is None or comparison.position_error is None:
        return np.zeros((1, 1))
    return comparison.position_error
