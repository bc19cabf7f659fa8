"""Recorded inputs as the ONNX model reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout.recordings.model_inputs import Feeds, model_input, model_inputs, normalisation, of_pixels
from npu_layout.recordings.model_outputs import model_outputs
from tests.support.exchanged import PREPROCESS
from tests.support.small_models import FLOAT, build


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


def test_pixels_whose_quantization_says_so_are_normalised_too() -> None:
    meta = {"preprocess": {"mean": 10, "std": 2}}
    pixels = np.array([0, 10, 200], np.uint8)
    for means, expected in (
        (nl.Quantization(1.0, 0.0), [-5, 0, 95]),
        (nl.Quantization([1.0, 1.0, 1.0], 0, axis=1), [-5, 0, 95]),
        (nl.Quantization(0.5), [0, 5, 100]),  # what the model reads, normalised before
        (nl.Quantization(1.0, 10), [-10, 0, 190]),
    ):
        spec = nl.TensorSpec((1, 3, 1, 1), "NHWC", "uint8", quantization=means)
        recording = nl.Recording({"x": spec}, [({"x": pixels}, {})], meta)
        assert model_inputs(recording, recording.frames[0])["x"].ravel().tolist() == expected
        plain = of_pixels(recording).specs["x"].quantization
        assert (plain is None) == (expected[0] == -5) and recording.specs["x"].quantization == means


def test_pixels_of_int8_are_read_as_those_of_uint8() -> None:
    """Stored are 128 less: other runs than those of pixels, and the recording, stay as they are."""
    spec = nl.TensorSpec((1, 3, 1, 1), "NHWC", "int8", quantization=nl.Quantization(1.0, -128))
    stored, other = np.array([-128, -118, 72], np.int8), np.array([1, 2], np.int8)
    runs = [({"x": stored, "y": other}, {}), ({"x": stored.reshape(1, 1, 1, 3), "y": other}, {})]
    recording = nl.Recording({"x": spec}, runs, {"preprocess": {"mean": 10, "std": 2}})
    changed = of_pixels(recording)
    assert changed.specs["x"] == nl.TensorSpec((1, 3, 1, 1), "NHWC", "uint8") and recording.specs["x"] == spec
    assert len(changed.frames) == 2 and changed.outputs == ()
    for run, before in zip(changed.frames, recording.frames):
        assert run.inputs["x"].ravel().tolist() == [0, 10, 200] and run.inputs["x"].dtype == np.uint8
        assert run.inputs["y"].tolist() == [1, 2]
        assert before.inputs["x"].ravel().tolist() == stored.tolist()
        for one, its in ((recording, before), (changed, run)):
            assert model_inputs(one, its)["x"].ravel().tolist() == [-5, 0, 95]


def test_an_output_of_such_a_quantization_keeps_it() -> None:
    spec = nl.TensorSpec((1, 3), "NC", "uint8", quantization=nl.Quantization(1.0))
    recording = nl.Recording({"y": spec}, [({"x": np.zeros(1)}, {"y": np.zeros(3, np.uint8)})])
    assert of_pixels(recording).specs == {"y": spec}


@pytest.mark.parametrize("channels", [None, "RGB", "BGR"])
@pytest.mark.parametrize("color", [None, "RGB", "BGR"])
def test_channels_come_in_the_order_of_the_model(channels: str | None, color: str | None) -> None:
    """mean and std are in the model's order, and scales in the buffer's."""
    stored = np.random.default_rng(0).integers(-99, 99, (1, 4, 5, 3)).astype(np.int8)
    turned = channels is not None and channels != (color or "RGB")
    how = {} if color is None else {"color": color}

    def read(spec: nl.TensorSpec, **more: object) -> np.ndarray:
        recording = nl.Recording({"x": spec}, [({"x": stored}, {})], {"preprocess": {**how, **more}})
        return model_inputs(recording, recording.frames[0])["x"]

    shape = (1, 3, 4, 5)
    planes = stored.transpose(0, 3, 1, 2)
    pixels = nl.TensorSpec(shape, "NHWC", "int8", channels=channels)
    flipped = planes[:, ::-1] if turned else planes
    np.testing.assert_array_equal(read(pixels), flipped)
    mean, std = [10.0, 20.0, 30.0], [2.0, 4.0, 8.0]
    got = read(pixels, mean=mean, std=std)
    wanted = (flipped.astype(np.float32) - np.float32(mean)[:, None, None]) / np.float32(std)[:, None, None]
    np.testing.assert_array_equal(got, wanted)
    scales = [0.5, 0.25, 2.0]
    quantised = nl.TensorSpec(shape, "NHWC", "int8", quantization=nl.Quantization(scales, 1, 1), channels=channels)
    real = (planes.astype(np.float32) - 1) * np.float32(scales)[:, None, None]
    np.testing.assert_array_equal(read(quantised, mean=mean, std=std), real[:, ::-1] if turned else real)


def test_channels_of_a_model_that_has_no_colours() -> None:
    spec, buffer = nl.TensorSpec((1, 3, 1, 1), "NHWC", "uint8", channels="BGR"), np.array([1, 2, 3], np.uint8)
    for color in ("GRAY", "rgb", 3, ["RGB"]):
        gray = nl.Recording({"x": spec}, [({"x": buffer}, {})], {"preprocess": {"color": color}})
        with pytest.raises(
            nl.RecordingError, match=r"meta: preprocess: color: .* channels='BGR': expected a model whose"
        ):
            model_inputs(gray, gray.frames[0])


def test_channels_of_a_model_of_integers() -> None:
    """It gets the stored integers, in its own order."""
    spec = nl.TensorSpec((1, 3, 2, 2), "NHWC", "uint8", channels="BGR", name="x")
    buffer = np.arange(12, dtype=np.uint8)
    ports = [helper.make_tensor_value_info(k, TensorProto.UINT8, (1, 3, 2, 2)) for k in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    recording = nl.Recording(
        {"x": spec, "y": nl.TensorSpec((1, 3, 2, 2), dtype="uint8")}, [({"x": buffer}, {"y": buffer})]
    )
    fed = Feeds(nl.OnnxRuntimeEngine(model), recording)(recording.frames[0], 0)["x"]
    assert fed.dtype == np.uint8
    np.testing.assert_array_equal(fed[0], buffer.reshape(2, 2, 3).transpose(2, 0, 1)[::-1])


def test_what_the_camera_saw_is_no_input_of_the_model() -> None:
    """Neither the frame nor the part of it that was used; the one input has another name than the model's."""
    inputs = {"pixels": np.ones((1, 3, 2, 2), np.float32), "frame": np.zeros((9, 9, 3), np.uint8)}
    for more in ({}, {"frame.roi_xywh": np.array([1, 2, 3, 4])}):
        recording = nl.Recording({}, [({**inputs, **more}, {})])
        assert model_inputs(recording, recording.frames[0]).keys() == {"pixels"}
        shapes = [[(name, FLOAT, (1, 3, 2, 2))] for name in "xy"]
        engine = nl.OnnxRuntimeEngine(build([helper.make_node("Neg", ["x"], ["y"])], *shapes), threads=1)
        assert Feeds(engine, recording)(recording.frames[0], 0)["x"].sum() == 12


@pytest.mark.parametrize("bad", [None, [1, 2], b"", np.zeros(6, np.int16)], ids=["None", "list", "empty", "int16"])
def test_what_is_no_buffer_of_int8_pixels_is_refused(bad: Any) -> None:
    """6 integers of 16 bits have as many bytes as 12 pixels."""
    spec = nl.TensorSpec((1, 3, 2, 2), "NHWC", "int8", quantization=nl.Quantization(1.0, -128))
    with pytest.raises(nl.NpuLayoutError, match="int8"):
        model_input(spec, bad, {})
