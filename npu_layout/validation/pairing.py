"""Pair each recorded output with the model's output that it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..buffers import TensorSpec
from ..comparison import OutputComparison, channel_axis
from ..engines import order_in_model
from ..layouts import Layout, Shape
from ..recordings import Recording, as_model, completed, paired

References = Mapping[str, np.ndarray]


@dataclass
class ModelOutput:
    """An output of the model: its name, its shape in the first frame, and why nothing can be compared with it ("")."""

    name: str
    shape: Shape
    silent: str = ""


@dataclass
class Output:
    """A recorded output.

    Attributes
    ----------
    name
        The recording's name of it.
    model
        The model's output that it is compared with.
    recorded, spec
        Its TensorSpec as recorded, and with all of the model's axes.
    channel_axis
        The channels' axis in the model's order, or None: all is one channel.
    comparison
        The figures over the frames; None if the device's tensor has another shape than the model's.
    """

    name: str
    model: ModelOutput
    recorded: TensorSpec
    spec: TensorSpec
    channel_axis: int | None
    comparison: OutputComparison | None = None


class Pairing:
    """The outputs of a recording and of the model; `references`: what the model returns for the first frame."""

    def __init__(self, recording: Recording, references: References) -> None:
        self._model = {name: _model_output(name, r.shape) for name, r in references.items()}
        pairs = paired(recording, {name: r.shape for name, r in references.items()})
        self.outputs = [
            _output(name, recording.specs[name], self._model[other], references[other]) for name, other in pairs.items()
        ]

    def check(self, references: References, number: int) -> None:
        """Note which outputs of the model have another shape in this frame than in the first."""
        for name, reference in references.items():
            output = self._model[name]
            if reference.shape != output.shape:
                output.silent = _two_shapes(output.shape, reference.shape, number)

    def comparable(self, references: References) -> dict[str, np.ndarray]:
        """Return the references without those with which nothing can be compared."""
        return {name: reference for name, reference in references.items() if not self._model[name].silent}

    @property
    def missing(self) -> list[str]:
        """The model's outputs that were not recorded."""
        recorded = {output.model.name for output in self.outputs}
        return [name for name in self._model if name not in recorded]


def _output(name: str, recorded: TensorSpec, model: ModelOutput, reference: np.ndarray) -> Output:
    return Output(name, model, recorded, as_model(recorded, model.shape), channels_of(recorded, reference))


def channels_of(spec: TensorSpec, reference: np.ndarray) -> int | None:
    """Return the channels' axis of the model's output.

    If a spec of the model's shape names another axis C than the model does, that one; else C, or the last axis if its
    indices have scales of their own.
    """
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


def _model_output(name: str, shape: Shape) -> ModelOutput:
    if 0 not in shape:
        return ModelOutput(name, shape)
    why = f"The model's output has no values, its shape is {shape}: nothing was compared."
    return ModelOutput(name, shape, f"{why} Fix: record frames for which it has some.")


def _two_shapes(first: Shape, shape: Shape, number: int) -> str:
    why = f"The model's output has shape {first} in frame 0 and {shape} in frame {number}: nothing was compared."
    return f"{why} Fix: record an output with a constant shape, such as the input of NonMaxSuppression."
