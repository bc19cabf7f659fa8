"""Run the model on every frame of a recording, compare the outputs, and keep some frames for the diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..buffers import Quantization
from ..comparison import OutputComparison
from ..diagnosis import ends, noted_part
from ..engines import OnnxRuntimeEngine, axes_in_model, ports, transposed
from ..errors import RecordingError
from ..recordings import FRAME, Feeds, Recording
from ..support import track
from .pairing import Output, Pairing
from .tolerances import stepped

_KEPT = 32  # frames in which causes are looked for, at most
_MEMORY = 256 << 20  # bytes that they may use
_RUN = 4  # of them in a row, so that a shift can be seen


class KeptRun(NamedTuple):
    """A frame of the recording in which causes are looked for.

    Its number, the model's inputs, the camera's frame, the device's flat outputs by the recording's names, the model's
    outputs by the model's, all inputs as they were recorded, and the part of the camera's frame that was used, if not
    all.
    """

    number: int
    inputs: dict[str, np.ndarray]
    frame: np.ndarray | None
    outputs: dict[str, np.ndarray]
    references: dict[str, np.ndarray]
    recorded: Mapping[str, np.ndarray] = {}
    roi_xywh: tuple[int, ...] | None = None


def compare(recording: Recording, engine: OnnxRuntimeEngine, progress: bool | None) -> tuple[Pairing, list[KeptRun]]:
    """Return the compared outputs of a recording and the kept frames; the recording has at least one frame."""
    count, feeds = len(recording.frames), Feeds(engine, recording)
    pairing: Pairing | None = None
    kept: list[KeptRun] = []
    wanted: set[int] = set()
    how = recording.meta.get("preprocess")
    for i, frame in enumerate(track(recording.frames, count, "comparing", progress)):
        roi = noted_part(frame.inputs, how, i)
        inputs = feeds(frame, i)
        references = _numbers(engine, recording, engine.infer(inputs))
        buffers = {name: array.reshape(-1) for name, array in frame.outputs.items()}  # the spec may have changed since
        if pairing is None:
            pairing = Pairing(recording, references)
            arrays = (*frame.inputs.values(), *frame.outputs.values(), *references.values())
            wanted = chosen(count, sum(a.nbytes for a in arrays))
        pairing.check(references, i)
        for output in pairing.outputs:
            if not output.model.silent:
                add(output, i, buffers[output.name], references[output.model.name])
        if i in wanted:
            copies = {o.name: np.array(o.recorded.flat(buffers[o.name])) for o in pairing.outputs}
            kept.append(KeptRun(i, inputs, frame.inputs.get(FRAME), copies, references, frame.inputs, roi))
    assert pairing is not None
    return pairing, [k._replace(references=pairing.comparable(k.references)) for k in kept]


def _numbers(engine: OnnxRuntimeEngine, recording: Recording, answers: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the model's outputs that are tensors of numbers: a classifier may return names and probabilities by name.

    RecordingError if the recording has one of the others.
    """
    found = {k: a for k, a in answers.items() if isinstance(a, np.ndarray) and a.dtype.kind in "biuf"}
    others = {port.name: port.type for port in ports(engine)["output"] if port.name not in found}
    for name in (name for name in recording.outputs if name in others):
        raise RecordingError(
            f"output {name!r}: {engine.model} returns a {others[name]}, which has no numbers to compare: leave it out "
            f"of the recording"
        )
    return found


def chosen(count: int, nbytes: int) -> set[int]:
    """Return the frames to keep, of so many bytes each: all, or runs of them spread over the recording.

    >>> sorted(chosen(100, 16 << 20))
    [0, 1, 2, 3, 32, 33, 34, 35, 64, 65, 66, 67, 96, 97, 98, 99]
    """
    room = int(min(max(_MEMORY // max(nbytes, 1), _RUN), _KEPT))
    if count <= room:
        return set(range(count))
    starts = np.linspace(0, count - _RUN, room // _RUN).round().astype(int)
    return {int(s) + k for s in starts for k in range(_RUN)}


def add(output: Output, number: int, buffer: Any, reference: np.ndarray) -> None:
    """Add a frame to the comparison of an output, if its tensor has the model's shape."""
    spec = output.spec
    device = transposed(spec.unpack(buffer), spec.axes, False)
    if device.shape != reference.shape:
        return
    if output.comparison is None:
        output.comparison = _comparison(output, reference)
    output.comparison.add(number, device, reference, fixed=True)


def _comparison(output: Output, reference: np.ndarray) -> OutputComparison:
    """Return an OutputComparison with the output's steps, and the ends of what can be stored."""
    spec, channels = output.spec, output.channel_axis
    labels = reference.dtype.kind in "biu" and spec.quantization is None
    if not stepped(spec):
        return OutputComparison(channels, labels=labels and spec.element.unpacked.kind == "b")
    q = spec.quantization or Quantization(1.0)
    step, zero_point = np.asarray(q.scale, np.float64), np.asarray(q.zero_point, np.float64)
    low, high = ((end + by - zero_point) * step for end, by in zip(ends(spec), (-0.5, 0.5)))
    axis = None if q.axis is None else axes_in_model(spec.axes).index(q.axis % len(spec.axes))
    if axis is not None and axis != channels:
        along = np.ones(reference.ndim, int)
        along[axis] = -1
        step, low, high = step.reshape(along), low.min(), high.max()
    return OutputComparison(channels, step, (low, high), labels)
