"""A recorded run as the ONNX model has it."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.recordings.model_side import as_model, completed, model_inputs, model_outputs, normalisation, paired
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


def test_a_mean_and_a_std_for_each_channel() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (4, 5, 3)).astype(np.uint8)
    spec = nl.TensorSpec((1, 3, 4, 5), "NHWC", "uint8")
    meta = {"preprocess": {"mean": [10, 20, 30], "std": [2.0, 4.0, 5.0]}}
    recording = nl.Recording({"x": spec}, [({"x": pixels.ravel(), "frame": pixels}, {})], meta)
    ((name, got),) = model_inputs(recording, recording.frames[0]).items()
    assert name == "x" and got.dtype == np.float32 and got.shape == (1, 3, 4, 5)
    for h, w, c in np.ndindex(4, 5, 3):
        assert got[0, c, h, w] == pytest.approx((float(pixels[h, w, c]) - (10, 20, 30)[c]) / (2, 4, 5)[c], rel=1e-6)
    mean, std = normalisation(meta, 3)
    assert mean.tolist() == [10, 20, 30] and std.tolist() == [2, 4, 5]
    assert [v.tolist() for v in normalisation({}, 2)] == [[0, 0], [1, 1]]


def test_outputs_are_paired_by_name_then_shape_then_order() -> None:
    shapes = {"a": (1, 4), "b": (1, 2, 3, 5), "c": (1, 6)}
    specs = {
        "a": nl.TensorSpec((1, 6), "NC"),  # its name counts more than its shape
        "q": nl.TensorSpec((1, 3, 5, 2), "NHWC", axes="NHWC"),
        "r": nl.TensorSpec((1, 9), "NC"),
    }
    frame = ({}, {name: np.zeros(spec.size, np.float32) for name, spec in specs.items()})
    recording = nl.Recording(specs, [frame])
    assert paired(recording, shapes) == {"a": "a", "q": "b", "r": "c"}
    with pytest.raises(nl.RecordingError, match=r"output 'r' is none of the model's \(a, b\)"):
        paired(recording, {name: shapes[name] for name in "ab"})


def test_axes_that_a_spec_leaves_out_or_names_otherwise() -> None:
    """The bytes stay what they are: unpacked, they are the same numbers with the model's axes."""
    each = nl.Quantization([0.5, 0.25], [0, 1], axis=0)
    spec = nl.TensorSpec((2, 3, 4), "CHW4c", "int8", axes="CHW", quantization=each)
    buffer = np.random.default_rng(0).integers(-128, 128, spec.size).astype(np.int8)
    whole = completed(spec, (1, 2, 3, 4))
    assert (whole.axes, whole.shape, whole.size) == ("NCHW", (1, 2, 3, 4), spec.size)
    np.testing.assert_array_equal(whole.unpack(buffer)[0], spec.unpack(buffer))
    assert completed(spec, (2, 2, 3, 4)) is spec and completed(whole, (1, 2, 3, 4)) is whole

    nhwc = nl.TensorSpec((1, 3, 4, 2), "NCHW", "int8", axes="NCHW")  # the model's own axes are N, H, W, C
    same = as_model(nl.TensorSpec((1, 3, 4, 2), "NHWC", "int8", axes="NHWC"), (1, 3, 4, 2))
    assert same.axes == nhwc.axes and same.shape == nhwc.shape
    data = np.arange(24, dtype=np.int8)
    np.testing.assert_array_equal(same.unpack(data), data.reshape(1, 3, 4, 2))
