"""Run the model again on inputs made in other ways than declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..diagnosis import Remade, exchanges, image_channels, variants
from ..engines import OnnxRuntimeEngine
from ..errors import NpuLayoutError
from ..recordings import Feeds, Frame, Recording
from ..support import quoted, steps
from .comparing import Kept

_RERUN = 6  # frames whose inputs are made in other ways
_TRIED = {"color": "colours", "scale": "mean and std", "layout": "layouts", "fit": "resizing"}  # by the id of a variant

Answers = dict[str, list[Remade]]


def rerun(engine: OnnxRuntimeEngine, recording: Recording, kept: Sequence[Kept], progress: bool | None) -> Answers:
    """Return {model's output: its tensors for each other way to make an input}.

    Tensors of another shape than for the recorded input are left out, and so are ways that have a tensor in fewer than
    half of the frames.
    """
    rows = sorted({int(i) for i in np.linspace(0, len(kept) - 1, min(_RERUN, len(kept))).round()})
    images = [name for name, x in kept[0].inputs.items() if image_channels(x.shape) is not None]
    limits = {name: _limits([k.inputs[name] for k in kept]) for name in images}
    made: dict[str, dict[Any, Remade]] = {output: {} for output in kept[0].references}
    todo = [(name, row) for name in images for row in rows]
    with steps(len(todo), "looking for causes", progress) as shown:
        for name, row in todo:
            k, spec = kept[row], recording.specs.get(name)
            channels = None if spec is None else spec.channels
            which = "the input" if len(images) == 1 else f"input {quoted(name)}"
            for variant in variants(k.inputs[name], recording.meta, k.frame, limits[name], channels):
                shown.say(f"looking for causes: {_TRIED[variant.id[0]]} of {which}")
                text = variant.text if len(images) == 1 else f"input {quoted(name)}: {variant.text}"
                answer = engine.infer({**k.inputs, name: variant.x})
                fix = _stored_as(spec, variant.fix)
                for output, reference in k.references.items():
                    if answer[output].shape == reference.shape:
                        one = made[output].setdefault((name, variant.id), Remade(text, fix, {}))
                        one.answers[row] = answer[output]
            shown.done()
        if len(kept[0].inputs) > 1:
            shown.say("looking for causes: order of the inputs")
            _exchange(engine, recording, [(row, kept[row]) for row in rows], made)
    return {output: [one for one in of.values() if 2 * len(one.answers) >= len(rows)] for output, of in made.items()}


def _exchange(
    engine: OnnxRuntimeEngine,
    recording: Recording,
    chosen: Sequence[tuple[int, Kept]],
    made: Mapping[str, dict[Any, Remade]],
) -> None:
    """Add the model's answers to exchanged inputs, if they differ from those as recorded, and from each other.

    Inputs that the model refuses in each other's place, such as indices beyond its table, are left out.
    """
    feeds = Feeds(engine, recording)
    for row, k in chosen:
        seen: dict[str, list[np.ndarray]] = {output: [reference] for output, reference in k.references.items()}
        for places, text, inputs in exchanges(k.recorded, list(k.inputs)):
            try:
                answer = engine.infer(feeds(Frame(inputs, {}), k.number))
            except NpuLayoutError:
                continue
            for output, others in seen.items():
                if answer[output].shape != others[0].shape or any(np.array_equal(answer[output], y) for y in others):
                    continue
                others.append(answer[output])
                one = made[output].setdefault(("order", text), Remade(text, dict(places), {}, "input_order"))
                one.answers[row] = answer[output]


def _limits(inputs: Sequence[np.ndarray]) -> tuple[float, float]:
    return min(float(x.min()) for x in inputs), max(float(x.max()) for x in inputs)


def _stored_as(spec: TensorSpec | None, fix: dict[str, Any]) -> dict[str, Any]:
    """Return the fix; its target, if there is one, has the dtype of the recorded input."""
    if spec is None or "target" not in fix:
        return fix
    target = fix["target"]
    like = TensorSpec(target.shape, target.layout, spec.dtype, axes=target.axes, channels=target.channels)
    return {**fix, "target": like}
