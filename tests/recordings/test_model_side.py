"""A recorded run as the ONNX model has it."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.recordings.model_side import model_inputs, model_outputs
from tests.support.exchanged import PREPROCESS


def test_inputs_as_the_model_takes_them() -> None:
    spec = nl.TensorSpec((1, 2, 1, 1), "NHWC", "int8", quantization=nl.Quantization(0.5))
    buffer = np.array([2, -4], np.int8)
    for words, says in (
        ({"mean": [1, 2, 3]}, "mean: expected 1 or 2"),
        ({"std": "x"}, "std"),
        ({"mean": [[1]]}, "mean"),
        ("RGB", "expected a mapping"),
    ):
        plain = nl.Recording({"x": nl.TensorSpec((1, 2), "NC", "int8")}, [({"x": buffer}, {})], {"preprocess": words})
        with pytest.raises(nl.RecordingError, match=f"meta: preprocess: {says}"):
            model_inputs(plain, plain.frames[0])
    quantised = nl.Recording({"x": spec}, [({"x": buffer}, {})], {"preprocess": PREPROCESS})  # normalised before
    assert model_inputs(quantised, quantised.frames[0])["x"].ravel().tolist() == [1, -2]
    unsaid = nl.Recording({"x": nl.TensorSpec((1, 2), "NC", "int8")}, [({"x": buffer}, {})])
    assert model_inputs(unsaid, unsaid.frames[0])["x"].dtype == np.int8 and not model_outputs(unsaid, unsaid.frames[0])
