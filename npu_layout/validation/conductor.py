"""Validate a recording against its model: whether they agree, and if not, why and how to fix it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from ..comparison import OutputComparison
from ..decode import Head
from ..diagnosis import (
    LEAST,
    MARGIN,
    Candidate,
    Evidence,
    Judgement,
    Remade,
    Situation,
    diagnose,
    doubled,
    image_channels,
    in_other_places,
    other_end,
    recorded_inputs,
    runtime_exchanges,
)
from ..engines import OnnxRuntimeEngine
from ..errors import NpuLayoutError
from ..recordings import Recording, normalisation
from ..reports import Exhibit, OutputReport, Report
from ..support import Steps, checked_call, finite, flag, isolated, quoted, real_number, steps
from . import tolerances
from .comparing import Kept, compare
from .detecting import compare_detections
from .pairing import Output
from .reruns import LOOKING, rerun
from .tolerances import Tolerance

_OF_CHANNELS = ("quantization", "channel_order", "activation")  # causes that another axis of the channels may show
_OF_ROWS = ("geometry", "activation")  # causes that channels in another order look like, along the other axis
_DOUBTFUL = 15.0  # dB: what explains less may be another cause, in channels of another axis
_UNSURE = ("ambiguous", "mismatch")
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
        Path or bytes of the ONNX model, or an OnnxRuntimeEngine.
    min_snr_db, min_cosine, max_abs, max_steps
        Tolerances over all values of an output: a number, {output: number}, or None. Outputs that a mapping leaves out
        keep the default. max_steps counts quantisation steps, which float outputs do not have.
    head, confidence
        What the outputs mean, such as ``npu_layout.decode.yolov8()``, and the least score. Then the Report has a
        comparison of the detections in up to 32 frames, and it is true only if these are the same. If so, outputs that
        miss the tolerances by rounding alone are right too.
    progress
        Whether to show on stderr how far it is, and which causes are tried; None: on a terminal.

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
        If the model cannot be run on the recorded inputs; the message names input or output.
    RecordingError
        If the recording is damaged.

    Examples
    --------
    See "When the answers look wrong" in the README, which is run as a test.
    """
    engine = model if isinstance(model, OnnxRuntimeEngine) else OnnxRuntimeEngine(model)
    if isinstance(recording, (str, os.PathLike)):
        recording = Recording.load(recording)
    if not isinstance(recording, Recording):
        raise NpuLayoutError(f"recording: expected a Recording, got {type(recording).__name__}")
    progress = None if progress is None else flag("progress", progress)
    confidence = real_number("confidence", confidence)
    asked = {"min_snr_db": min_snr_db, "min_cosine": min_cosine, "max_abs": max_abs, "max_steps": max_steps}
    tolerances.check(asked, recording)
    count = len(recording.frames)
    if not count or not recording.outputs:
        what = "frames" if not count else "outputs"
        return Report({}, 0, engine.model, f"nothing was compared: the recording has no {what}", recording.meta)
    pairing, kept = compare(recording, engine, progress)
    _check_normalisation(recording, kept[0])
    outputs = pairing.outputs
    examined = _exchanged(_examine(engine, recording, outputs, kept, asked, progress))
    checked, unchecked = recorded_inputs(recording)
    judgements, inputs = runtime_exchanges({e.output.name: e.judgement for e in examined}, checked, recording.meta)
    inputs = in_other_places(_in_other_places(examined), inputs, recording, _reran(examined, kept))
    reports = {e.output.name: _report(e._replace(judgement=judgements[e.output.name]), kept) for e in examined}
    detections = {} if head is None else compare_detections(head, outputs, kept, confidence)
    note = _not_recorded(pairing.missing)
    return Report(reports, count, engine.model, note, recording.meta, inputs, "" if inputs else unchecked, detections)


def _not_recorded(missing: Sequence[str]) -> str:
    """Return in words which outputs of the model were not recorded; "" if all were."""
    return f"the model's outputs {', '.join(map(isolated, missing))} were not recorded" if missing else ""


def _saying(shown: Steps, output: str) -> Callable[[str], None]:
    """Return what shows the causes that are tried for an output: "looking for causes: layouts of 'p4'"."""
    return lambda words: shown.say(f"{LOOKING}: {words} of {quoted(output)}")


def _check_normalisation(recording: Recording, first: Kept) -> None:
    """RecordingError if the meta's mean and std do not fit the images that are the model's inputs."""
    for x in first.inputs.values():
        axis = image_channels(x.shape)
        if axis is not None:
            normalisation(recording.meta, x.shape[axis])


def _evidence(output: Output, kept: Sequence[Kept]) -> Evidence:
    name = output.model.name
    references = [k.references[name] for k in kept]
    alike = [t for k in kept for o, t in k.references.items() if o != name and t.shape == references[0].shape]
    return Evidence(output.spec, [k.outputs[output.name] for k in kept], references, alike, output.channel_axis)


def _unexplained(output: Output) -> bool:
    return output.comparison is not None and bool(output.comparison.parts.unexplained())


def _situation(
    output: Output, outputs: Sequence[Output], kept: Sequence[Kept], remade: Mapping[str, list[Remade]]
) -> Situation:
    references = {name: [k.references[name] for k in kept] for name in kept[0].references}
    specs = {o.model.name: o.spec for o in outputs}
    numbers, images = [k.number for k in kept], remade.get(output.model.name, ())
    return Situation(output.model.name, numbers, references, specs, images, _sides(kept[0]))


def _sides(first: Kept) -> list[int]:
    """Return the heights and widths of the images that are the model's inputs."""
    axes = {name: image_channels(x.shape) for name, x in first.inputs.items()}
    sides = {
        n
        for name, x in first.inputs.items()
        if axes[name] is not None
        for n in np.delete(x.shape, [0, axes[name] or 0])
    }
    return sorted(int(n) for n in sides if n > 1)


class _Examined(NamedTuple):
    """An output with its judgement; without evidence if nothing could be compared."""

    output: Output
    judgement: Judgement
    evidence: Evidence | None = None
    ranking: Sequence[Candidate] = ()
    met: Mapping[str, tuple[float, float, bool]] = {}
    rows: Sequence[int] = ()  # of the kept frames on which the model ran again


def _examine(
    engine: OnnxRuntimeEngine,
    recording: Recording,
    outputs: Sequence[Output],
    kept: Sequence[Kept],
    asked: Mapping[str, Tolerance],
    progress: bool | None,
) -> list[_Examined]:
    """Look for the causes of every output; the model runs again unless all differ by rounding alone."""
    evidence = {o.name: _evidence(o, kept) for o in outputs if not o.model.silent}
    settled = all(evidence[o.name].settled and not _unexplained(o) for o in outputs if o.name in evidence)
    of_models = {o.model.name: evidence[o.name] for o in outputs if o.name in evidence}
    remade = {} if settled else rerun(engine, recording, kept, of_models, progress)
    examined = []
    with steps(len(outputs), LOOKING, progress) as shown:
        for o in outputs:
            if o.name in evidence:
                situation = _situation(o, outputs, kept, remade)._replace(say=_saying(shown, o.name))
                examined.append(_examined(o, evidence[o.name], situation, asked))
            else:
                examined.append(_Examined(o, Judgement("ambiguous", None, o.model.silent)))
            shown.done()
    return examined


def _examined(output: Output, evidence: Evidence, situation: Situation, asked: Mapping[str, Tolerance]) -> _Examined:
    comparison = output.comparison
    met = tolerances.met(output.name, asked, None if comparison is None else comparison.whole)
    all_met = all(ok for _, _, ok in met.values())
    ranking, judgement = diagnose(evidence, situation, all_met, comparison)
    axis = other_end(evidence)
    best = max((c.score for c in ranking if judgement.verdict != "match" or c.cause == "match"), default=-np.inf)
    if axis is not None and _may_be_turned(judgement, best, len(output.model.shape)):
        turned = Evidence(output.spec, evidence.buffers, evidence.references, (), axis)
        others, found = diagnose(turned, situation, all_met, comparison)
        if _says_more(judgement, found, ranking, others, best):
            evidence, ranking, judgement = turned, others, found
    rows = sorted({row for remade in situation.remade for row in remade.answers})
    return _Examined(output, judgement, evidence, ranking, met, rows)


def _may_be_turned(judgement: Judgement, best: float, axes: int) -> bool:
    """Whether the channels may be along the other axis: no cause was found, or one that explains little.

    best: the score of the best candidate; axes: of the output. Of maps, which have places, a match says enough.
    """
    if judgement.verdict in _UNSURE:
        return True
    of_rows = judgement.verdict in _OF_ROWS and axes < 4
    return of_rows or (best < _DOUBTFUL and (judgement.verdict != "match" or axes < 4))


def _more(judgement: Judgement, found: Judgement) -> float:
    """Return the dB that what was found along the other axis has to explain more; inf if it is no cause.

    A cause that is about channels may explain a little less where the axis shows no cause, or one that rows show.
    """
    if found.verdict in (*_UNSURE, "match"):
        return np.inf
    if judgement.verdict == "match":
        return 2 * MARGIN if found.verdict in _OF_CHANNELS else np.inf
    if found.verdict == judgement.verdict or found.verdict not in _OF_CHANNELS:
        return MARGIN
    return -MARGIN if judgement.verdict in (*_UNSURE, *_OF_ROWS) else MARGIN


def _says_more(
    judgement: Judgement, found: Judgement, ranking: Sequence[Candidate], others: Sequence[Candidate], best: float
) -> bool:
    """Whether what was found with channels along the other axis, of these other candidates, says more.

    A row in reverse is an order of the channels along the other axis, which has a fix. Both may make the same values,
    but explain other shares of what varies within channels: so these are compared by what they gain.
    """
    verdicts = judgement.verdict, found.verdict
    if sorted(verdicts) != ["channel_order", "geometry"]:
        return others[0].score > best + _more(judgement, found)
    now, then = (next(c for c in of if c.cause == v).gain for of, v in zip((ranking, others), verdicts))
    return then > now + (MARGIN if found.verdict == "geometry" else -MARGIN)


def _exchanged(examined: Sequence[_Examined]) -> list[_Examined]:
    """Return the outputs, each exchanged one with the whole exchange as its fix.

    Without a fix if another name has the same tensor, because one of the two was never recorded.
    """
    names = {e.output.name: e.judgement.fix for e in examined if e.judgement.verdict == "output_order"}
    content = {e.output.name: names.get(e.output.name, e.output.model.name) for e in examined}
    sharing = {name: [k for k in content if content[k] == content[name]] for name in content}
    exchange = {name: other for name, other in names.items() if len(sharing[name]) == 1}

    def finished(name: str, judgement: Judgement) -> Judgement:
        if name in exchange:
            return judgement._replace(fix=dict(exchange))
        return judgement._replace(fix=None, advice=doubled(sharing[name]), notes=())

    return [
        e._replace(judgement=finished(e.output.name, e.judgement)) if e.output.name in names else e for e in examined
    ]


def _in_other_places(examined: Sequence[_Examined]) -> dict[str, tuple[Judgement, Mapping[str, str]]]:
    """Return {output: judgement, and where each moved input was fed} of the outputs that show exchanged inputs."""
    shown = {}
    for e in examined:
        if "input_order" in (e.judgement.verdict, *e.judgement.also):
            best = next(c for c in e.ranking if c.cause == "input_order")
            shown[e.output.name] = e.judgement, best.fix
    return shown


def _reran(examined: Sequence[_Examined], kept: Sequence[Kept]) -> list[int]:
    return sorted({kept[row].number for e in examined for row in e.rows})


def _report(examined: _Examined, kept: Sequence[Kept]) -> OutputReport:
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
    )  # fmt: skip


def _exhibit(examined: _Examined, evidence: Evidence, kept: Sequence[Kept]) -> Exhibit:
    """Return the exhibit of the kept frame whose reference varies most, of those on which the model ran again."""
    at = max(examined.rows or range(len(kept)), key=lambda i: float(finite(evidence.references[i]).var()))
    answers = ((c.trial, evidence.trial(c).answers.get(at)) for c in examined.ranking if c.score >= LEAST)
    shown = dict(islice(((trial, answer) for trial, answer in answers if answer is not None), _SHOWN))
    comparison = examined.output.comparison
    error = _position_error(comparison)
    buffer = kept[at].outputs[examined.output.name]
    device, model = evidence.device_values, evidence.wanted.ravel()
    return Exhibit(kept[at].number, buffer, evidence.references[at], device, model, error, shown)


def _position_error(comparison: OutputComparison | None) -> np.ndarray:
    if comparison is None or comparison.position_error is None:
        return np.zeros((1, 1))
    return comparison.position_error
