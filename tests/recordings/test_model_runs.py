"""Whole runs as the ONNX model has them: by its names and axes if it is there, else by what the recording says."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

import npu_layout as nl
from npu_layout.recordings import sides
from tests.support.small_models import FLOAT, build

SHAPE = (1, 5, 2, 3)


def recorded(shape: tuple[int, ...] = SHAPE) -> tuple[nl.Recording, np.ndarray]:
    """Return a recording of y = -x whose output is stored in blocks by another name, and x."""
    x = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)
    spec = nl.TensorSpec(shape, "NCHW4c", name="stored")
    values = -x if shape == SHAPE else np.zeros(shape, np.float32)
    return nl.Recording({"stored": spec}, [({"x": x}, {"stored": spec.pack(values)})]), x


def test_a_run_by_the_models_names_or_by_its_own() -> None:
    recording, x = recorded()
    model = build([helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, SHAPE)], [("y", FLOAT, SHAPE)])
    for given, name in ((nl.OnnxRuntimeEngine(model, threads=1), "y"), (model, "y"), (None, "stored")):
        run = sides(recording, given)(recording.frames[0], 0)
        assert list(run.inputs) == ["x"] and list(run.outputs) == [name]
        np.testing.assert_array_equal(run.inputs["x"], x)
        np.testing.assert_array_equal(run.outputs[name], -x)


def test_an_output_of_another_shape_is_named_with_both() -> None:
    recording, _ = recorded((1, 6, 2, 3))
    model = build([helper.make_node("Neg", ["x"], ["y"])], [("x", FLOAT, SHAPE)], [("y", FLOAT, SHAPE)])
    says = r"^output 'stored': .* has the shape \(1, 6, 2, 3\) .* returns 'y' of shape \(1, 5, 2, 3\)$"
    with pytest.raises(nl.RecordingError, match=says):
        sides(recording, model)
