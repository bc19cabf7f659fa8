"""Turn whole recorded runs into what the model has: inputs ready for it, and outputs as it returns them."""

from __future__ import annotations

import os
from typing import Callable, Union

from ..engines import OnnxRuntimeEngine, fits, reference, shape_in_model, transposed
from ..errors import RecordingError
from .model_inputs import Feeds, model_inputs
from .model_outputs import as_model, model_outputs, paired
from .recording import Recording
from .runs import Frame

Model = Union[str, "os.PathLike[str]", bytes, OnnxRuntimeEngine]


def sides(recording: Recording, model: Model | None = None) -> Callable[[Frame, int], Frame]:
    """Return a function of a run and its number that returns its inputs and outputs as the model has them.

    They have the model's order of axes and its names, as `validate` compares them. Without a model the function uses
    model_inputs and model_outputs.
    """
    if model is None:
        return lambda run, _: Frame(model_inputs(recording, run), model_outputs(recording, run))
    engine = reference(model)
    feeds = Feeds(engine, recording)
    # The shapes of a real answer, because the model may leave lengths open.
    shapes = {name: array.shape for name, array in engine.infer(feeds(recording.frames[0], 0)).items()}
    pairs = paired(recording, shapes)
    specs = {name: as_model(recording.specs[name], shapes[other]) for name, other in pairs.items()}
    for name, other in pairs.items():
        shape, given = shape_in_model(specs[name]), shapes[other]
        if shape != given and not fits(engine.output_shapes[other] or (1,), shape):
            raise RecordingError(
                f"output {name!r}: {specs[name].describe()} has the shape {shape} in the model's order of axes; "
                f"{engine.model} returns {other!r} of shape {given}"
            )

    def side(run: Frame, number: int) -> Frame:
        outputs = {pairs[k]: transposed(specs[k].unpack(flat), specs[k].axes, False) for k, flat in run.outputs.items()}
        return Frame(feeds(run, number), outputs)

    return side
