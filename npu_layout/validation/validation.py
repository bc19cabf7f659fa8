"""validate: does a recording agree with the model, and where it does not, why and how is it mended."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..comparison import Comparison, channel_axis
from ..diagnosis import (
    LEAST,
    Case,
    Explanation,
    arithmetic,
    causes,
    ends,
    image_channels,
    judge,
    recorded_inputs,
    variants,
)
from ..engines import OnnxRuntimeEngine, axes_in_model, order_in_model, transposed
from ..errors import NpuLayoutError
from ..layouts import Layout, Shape
from ..recordings import FRAME, Feeds, Frame, Recording, as_model, completed, normalisation, paired
from ..reports import Exhibit, OutputReport, Report
from ..support import finite, track
from . import tolerances
from .tolerances import Tolerance

_KEPT = 32  # frames that causes are looked for in, at most
_RERUN = 6  # of them for the model's answers to inputs made in other ways
_SHOWN = 3  # of those answers in the report
_MEMORY = 256 << 20  # bytes that they may take
_RUN = 4  # of them in a row, so that a shift can be seen


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # what is NaN or infinite the report says
def validate(
    recording: Recording,
    model: str | os.PathLike[str] | bytes | OnnxRuntimeEngine,
    *,
    min_snr_db: Tolerance = 10,
    min_cosine: Tolerance = None,
    max_abs: Tolerance = None,
    max_steps: Tolerance = None,
    progress: bool | None = None,
) -> Report:
    """Compare what an accelerator gave with an onnxruntime run of the same model, and say why they differ.

    Parameters
    ----------
    recording
        Its inputs go to the model, unpacked by their spec where they have one (and normalised by
        ``meta["preprocess"]``'s mean and std, where the spec's integers are pixels and the model takes floats).
    model
        Path or bytes of the ONNX model, or an OnnxRuntimeEngine.
    min_snr_db, min_cosine, max_abs, max_steps
        Tolerances over all values of an output: a number, {output: number}, or None. Outputs that a mapping leaves out
        keep the default. max_steps counts quantisation steps, which float outputs do not have.
    progress
        Whether to show a progress bar on stderr; None: on a terminal.

    Returns
    -------
    A Report, true where every output matches, and where an input that was recorded with the camera's frame is what
    ``meta["preprocess"]`` makes of it; see OutputReport and InputReport for verdicts and fixes. An output's "match"
    means that reading it as declared is the best explanation of its values, that none other is as good, that it
    explains every channel, row, column and frame, and that the tolerances hold.

    Every frame is read once, and memory does not grow with their number; causes are looked for in up to 32 of them.
    Where only rounding is left, the model runs once a frame; else up to six run again with inputs made in other ways.

    Raises
    ------
    NpuLayoutError
        Where the model cannot be run on the recorded inputs; the message names input or output.
    RecordingError
        Where the recording is damaged.

    Examples
    --------
    See "When something is wrong" in the README, which is run as a test.
    """
    engine = model if isinstance(model, OnnxRuntimeEngine) else OnnxRuntimeEngine(model)
    if not isinstance(recording, Recording):
        raise NpuLayoutError(f"recording: expected a Recording, got {type(recording).__name__}")
    asked = {"min_snr_db": min_snr_db, "min_cosine": min_cosine, "max_abs": max_abs, "max_steps": max_steps}
    tolerances.check(asked, recording)
    count = len(recording.frames)
    if not count or not recording.outputs:
        what = "frames" if not count else "outputs"
        return Report({}, 0, engine.model, f"nothing was compared: the recording has no {what}", recording.meta)
    feeds = Feeds(engine, recording)
    compared: dict[str, Comparison] = {}
    kept: list[_Kept] = []
    wanted: set[int] = set()
    pairs: dict[str, str] = {}
    silent: dict[str, str] = {}  # outputs of the model that nothing can be compared with, and why
    for i, frame in enumerate(track(recording.frames, count, "comparing", progress)):
        inputs = feeds(frame, i)
        references = engine.infer(inputs)
        memory = {name: array.reshape(-1) for name, array in frame.outputs.items()}  # its spec may be another one now
        if not i:
            shapes = {k: r.shape for k, r in references.items()}
            pairs = paired(recording, shapes)
            wanted = _chosen(count, _bytes(frame) + sum(r.nbytes for r in references.values()))
            specs = {k: as_model(recording.specs[k], shapes[other]) for k, other in pairs.items()}
            channels = {k: _channels(recording.specs[k], references[other]) for k, other in pairs.items()}
            silent = {k: _no_values(shape) for k, shape in shapes.items() if 0 in shape}
        for k, reference in references.items():
            if reference.shape != shapes[k]:
                silent[k] = _two_shapes(shapes[k], reference.shape, i)
        for name, other in pairs.items():
            if other not in silent:
                _compare(compared, name, specs[name], channels[name], i, memory[name], references[other])
        if i in wanted:
            outputs = {k: np.array(recording.specs[k].flat(v)) for k, v in memory.items()}
            kept.append(_Kept(i, inputs, frame.inputs.get(FRAME), outputs, references))
    for x in kept[0].inputs.values():
        axis = image_channels(x.shape)
        if axis is not None:
            normalisation(recording.meta, x.shape[axis])  # or it raises
    kept = [k._replace(references={o: r for o, r in k.references.items() if o not in silent}) for k in kept]
    cases = {k: _case(k, other, specs[k], channels[k], kept) for k, other in pairs.items() if other not in silent}
    settled = all(case.settled and not compared[name].parts.unexplained() for name, case in cases.items())
    remade = {} if settled else _remade(engine, recording, kept, progress)
    reports = {
        name: _judged(name, other, cases[name], specs, compared.get(name), kept, remade.get(other, ()), asked, pairs)
        if name in cases
        else OutputReport(name, other, "ambiguous", None, silent[other], specs[name])
        for name, other in pairs.items()
    }
    missing = [name for name in shapes if name not in pairs.values()]
    note = f"the model's outputs {', '.join(missing)} were not recorded" if missing else ""
    return Report(_exchanged(reports), count, engine.model, note, recording.meta, recorded_inputs(recording))


class _Kept(NamedTuple):
    number: int
    inputs: dict[str, np.ndarray]
    frame: np.ndarray | None
    outputs: dict[str, np.ndarray]
    references: dict[str, np.ndarray]


def _bytes(frame: Frame) -> int:
    return sum(a.nbytes for side in frame for a in side.values())


def _chosen(count: int, nbytes: int) -> set[int]:
    """Frames to keep: all, or runs of them spread over the recording."""
    room = int(min(max(_MEMORY // max(nbytes, 1), _RUN), _KEPT))
    if count <= room:
        return set(range(count))
    starts = np.linspace(0, count - _RUN, room // _RUN).round().astype(int)
    return {int(s) + k for s in starts for k in range(_RUN)}


def _channels(spec: TensorSpec, reference: np.ndarray) -> int | None:
    """The channels' axis: where the spec of an output of the model's shape calls another one C than the model, that;
    else C or the last one, where its places have scales of their own."""
    spec, letters = completed(spec, reference.shape), Layout.of_rank(reference.ndim).axes
    order = order_in_model(spec, reference.shape)
    if spec.shape == reference.shape and spec.axes != letters and "C" in spec.axes:
        return order.index(spec.axes.index("C"))
    q = spec.quantization
    if q is not None and q.axis is not None and q.count > 1 and len(order) == reference.ndim:
        scaled = order.index(q.axis % len(order))
        if scaled in (letters.find("C"), reference.ndim - 1):
            return scaled
    return channel_axis(reference)


def _compare(
    compared: dict[str, Comparison],
    name: str,
    spec: TensorSpec,
    channels: int | None,
    number: int,
    buffer: Any,
    reference: np.ndarray,
) -> None:
    device = transposed(spec.unpack(buffer), spec.axes, False)
    if device.shape != reference.shape:
        return
    if name not in compared:
        step: Any = None
        held: tuple[Any, ...] = (-np.inf, np.inf)
        if tolerances.stepped(spec):
            q = spec.quantization or Quantization(1.0)
            scale, zero_point = np.asarray(q.scale, np.float64), np.asarray(q.zero_point, np.float64)
            step, held = scale, tuple((end + by - zero_point) * scale for end, by in zip(ends(spec), (-0.5, 0.5)))
            axis = None if q.axis is None else axes_in_model(spec.axes).index(q.axis % len(spec.axes))
            if axis is not None and axis != channels:
                along = np.ones(reference.ndim, int)
                along[axis] = -1
                step, held = step.reshape(along), (held[0].min(), held[1].max())
        labels = reference.dtype.kind in "iu" and spec.quantization is None and tolerances.stepped(spec)
        compared[name] = Comparison(channels, step, held, labels)
    compared[name].add(number, device, reference)


class _Remade(NamedTuple):
    """One output of the model for one input made in another way: {row of the kept frames: tensor}."""

    text: str
    fix: dict[str, Any]
    tensors: dict[int, np.ndarray]


def _remade(
    engine: OnnxRuntimeEngine, recording: Recording, kept: Sequence[_Kept], progress: bool | None
) -> dict[str, list[_Remade]]:
    """Of each output, without tensors of another shape than what the recorded input gives."""
    rows = sorted({int(i) for i in np.linspace(0, len(kept) - 1, min(_RERUN, len(kept))).round()})
    images = [name for name, x in kept[0].inputs.items() if image_channels(x.shape) is not None]
    made: dict[str, dict[str, _Remade]] = {other: {} for other in kept[0].references}
    todo = [(name, row) for name in images for row in rows]
    limits = {
        n: (min(float(k.inputs[n].min()) for k in kept), max(float(k.inputs[n].max()) for k in kept)) for n in images
    }
    for name, row in track(todo, len(todo), "looking for causes", progress):
        k = kept[row]
        for variant in variants(k.inputs[name], recording.meta, k.frame, limits[name]):
            text = variant.text if len(images) == 1 else f"input {name!r}: {variant.text}"
            answer = engine.infer({**k.inputs, name: variant.x})
            fix = _stored_as(recording.specs.get(name), variant.fix)
            for other, reference in k.references.items():
                if answer[other].shape == reference.shape:
                    made[other].setdefault(text, _Remade(text, fix, {})).tensors[row] = answer[other]
    return {other: [one for one in of.values() if 2 * len(one.tensors) >= len(rows)] for other, of in made.items()}


def _stored_as(spec: TensorSpec | None, fix: dict[str, Any]) -> dict[str, Any]:
    """With the target, where there is one, in the dtype of the recorded input."""
    if spec is None or "target" not in fix:
        return fix
    target = fix["target"]
    return {**fix, "target": TensorSpec(target.shape, target.layout, spec.dtype, axes=target.axes)}


def _case(name: str, other: str, spec: TensorSpec, channels: int | None, kept: Sequence[_Kept]) -> Case:
    references = [k.references[other] for k in kept]
    alike = [t for k in kept for o, t in k.references.items() if o != other and t.shape == references[0].shape]
    return Case(spec, [k.outputs[name] for k in kept], references, alike, channels)


def _no_values(shape: Shape) -> str:
    why = f"The model's output has no values, its shape is {shape}: nothing was compared."
    return f"{why} Record frames that give it some."


def _two_shapes(first: Shape, shape: Shape, number: int) -> str:
    why = f"The model's output has shape {first} in frame 0 and {shape} in frame {number}: nothing was compared."
    return f"{why} Record an output of one shape, such as what goes into NonMaxSuppression."


def _judged(
    name: str,
    other: str,
    case: Case,
    specs: Mapping[str, TensorSpec],
    comparison: Comparison | None,
    kept: Sequence[_Kept],
    remade: Sequence[_Remade],
    asked: Mapping[str, Tolerance],
    pairs: Mapping[str, str],
) -> OutputReport:
    spec, references = specs[name], {k: [x.references[k] for x in kept] for k in kept[0].references}
    numbers = [k.number for k in kept]
    ranking = case.rank(
        found
        for cause in (
            causes.declared(case),
            causes.quantizations(case),
            causes.readings(case),
            causes.activations(case),
            causes.channel_orders(case),
            causes.other_outputs(case, other, references, {pairs[k]: s for k, s in specs.items()}),
            causes.other_frames(case, numbers),
            *(causes.other_inputs(case, *m, len(remade)) for m in remade),
        )
        for found in cause
    )
    figures = None if comparison is None else comparison.whole
    channels = [] if comparison is None else comparison.channels
    held = tolerances.held(name, asked, figures)
    dead = () if comparison is None else comparison.dead
    finding = judge(case, ranking, all(ok for _, _, ok in held.values()), comparison)
    if comparison is not None and figures is None:  # NaN and infinities alone
        channels, ranking = [], []
    live = [c for c in range(len(channels)) if channels[c].high > channels[c].low and c not in dead]
    return OutputReport(
        name, other, *finding[:3], spec, case.channel_axis, figures, channels,
        min(live, key=lambda c: channels[c].snr_db) if len(channels) > 1 and live else None,
        dead, held, tolerances.passing(figures), ranking,
        _exhibit(case, kept, name, comparison, remade, ranking, other),
    )  # fmt: skip


def _exhibit(
    case: Case,
    kept: Sequence[_Kept],
    name: str,
    comparison: Comparison | None,
    remade: Sequence[_Remade],
    ranking: Sequence[Explanation],
    other: str,
) -> Exhibit:
    """The kept frame whose reference varies most, of those that the model saw made in other ways too."""
    seen = {row for m in remade for row in m.tensors} or range(len(kept))
    at = max(seen, key=lambda i: float(finite(case.references[i]).var()))
    device = np.zeros(0)
    if case.fits:
        scale, zero_point = arithmetic(case.spec, case.samples)
        device = ((case.codes - zero_point) * scale).ravel()
    error = np.zeros((1, 1)) if comparison is None or comparison.position_error is None else comparison.position_error
    k = kept[at]
    told = ((e.text, _answer(e, at, kept, remade, other)) for e in ranking if e.score >= LEAST)
    answers = dict(islice(((text, answer) for text, answer in told if answer is not None), _SHOWN))
    return Exhibit(k.number, k.outputs[name], case.references[at], device, case.wanted.ravel(), error, answers)


def _answer(e: Explanation, at: int, kept: Sequence[_Kept], remade: Sequence[_Remade], other: str) -> np.ndarray | None:
    """What an explanation about inputs makes the model say to the kept frame `at`; None where that is not known."""
    if e.cause == "preprocessing":
        return next((m.tensors[at] for m in remade if m.text == e.text and at in m.tensors), None)
    if e.cause == "output_order":
        return kept[at].references.get(e.fix)
    if e.cause == "wrong_input" and e.fix is not None:
        return next((k.references[other] for k in kept if k.number == kept[at].number + e.fix), None)
    return None


def _exchanged(reports: Mapping[str, OutputReport]) -> dict[str, OutputReport]:
    """With the whole exchange as the fix of every output that takes part in one; with none where another name holds the
    same tensor, so that one of the two was never recorded."""
    names = {name: r.fix for name, r in reports.items() if r.verdict == "output_order"}
    holds = {name: names.get(name, r.against) for name, r in reports.items()}
    doubled = {name for name, held in holds.items() if list(holds.values()).count(held) > 1}

    def finished(name: str, r: OutputReport) -> OutputReport:
        if name not in doubled:
            return replace(r, fix={k: v for k, v in names.items() if k not in doubled})
        both = " and ".join(repr(k) for k in holds if holds[k] == holds[name])
        why = (
            f"{r.why.partition(' To mend it')[0]} {both} hold the same tensor: give each name the output that it says."
        )
        return replace(r, fix=None, why=why)

    return {name: finished(name, r) if name in names else r for name, r in reports.items()}
