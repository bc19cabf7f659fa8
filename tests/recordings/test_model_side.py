"""A recorded run as the ONNX model has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout.engines import shape_in_model, transposed
from npu_layout.recordings.model_side import (
    Feeds,
    as_model,
    completed,
    model_inputs,
    model_outputs,
    normalisation,
    paired,
)
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


def test_channels_of_a_spec_with_other_axes() -> None:
    spec = nl.TensorSpec((4, 5, 3), "HWC", "uint8", axes="HWC", channels="BGR")
    assert completed(spec, (1, 3, 4, 5)).channels == "BGR"
    named = nl.TensorSpec((1, 3, 4, 5), "NCHW", "uint8", channels="BGR")
    assert as_model(named, (1, 3, 4, 5)) is named
    odd = nl.TensorSpec((1, 4, 5, 3), "NHWC", "uint8", axes="NHWC", channels="BGR")
    renamed = as_model(odd, (1, 4, 5, 3))  # the model's own axes have other letters: nothing is exchanged by letter
    assert renamed.channels is None and renamed.axes == "NCHW" and renamed.storage_strides == odd.storage_strides


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


def test_what_the_camera_saw_is_no_input_of_the_model() -> None:
    """Neither the frame nor the part of it that was used; the one input has another name than the model's."""
    inputs = {"pixels": np.ones((1, 3, 2, 2), np.float32), "frame": np.zeros((9, 9, 3), np.uint8)}
    for more in ({}, {"frame.roi_xywh": np.array([1, 2, 3, 4])}):
        recording = nl.Recording({}, [({**inputs, **more}, {})])
        assert model_inputs(recording, recording.frames[0]).keys() == {"pixels"}
        shapes = [[(name, FLOAT, (1, 3, 2, 2))] for name in "xy"]
        engine = nl.OnnxRuntimeEngine(build([helper.make_node("Neg", ["x"], ["y"])], *shapes), threads=1)
        assert Feeds(engine, recording)(recording.frames[0], 0)["x"].sum() == 12


@pytest.mark.parametrize(
    ("shape", "layout", "more", "wanted"),
    [
        ((1, 9, 1, 1), "NHWC", {}, (1, 9)),
        ((1, 1, 1, 9), "NHWC", {"axes": "NHWC"}, (1, 9)),
        ((1, 9, 1, 1), "NCHW4c", {}, (1, 9)),
        ((1, 9, 1, 1), "NCHW8w4c", {}, (9,)),
        ((1, 9, 1, 1), "NHWC", {"storage_strides": (99, 40, 20, 2), "storage_offset": 1, "size": 99}, (1, 9)),
        ((1, 5, 1, 7), "NCHW", {}, (1, 5, 7)),
        ((1, 5, 7, 1), "NHWC", {}, (1, 5, 7)),
        ((1, 5, 1, 7), "NHWC", {}, (5, 7)),
        ((1, 1, 1, 1), "NCHW", {}, (1,)),
        ((1, 5, 1, 4, 7), "NDHWC", {}, (1, 5, 4, 7)),
    ],
)
def test_axes_of_extent_1_that_the_model_lacks(
    shape: tuple[int, ...], layout: str, more: dict[str, Any], wanted: tuple[int, ...]
) -> None:
    """Runtimes return a classifier's vector as a picture of one pixel."""
    spec = nl.TensorSpec(shape, layout, "int16", **more)
    found = as_model(spec, wanted)
    assert shape_in_model(found) == wanted and found.size == spec.size
    buffer = np.arange(spec.size, dtype=np.int16)
    model = nl.Layout.of_rank(len(shape)).axes
    order = [spec.axes.index(axis) for axis in model]
    given = transposed(found.unpack(buffer), found.axes, False)
    assert given.tolist() == spec.unpack(buffer).transpose(order).reshape(wanted).tolist()


def test_scales_follow_axes_that_the_model_lacks() -> None:
    scales = nl.Quantization([0.5, 2.0, 1.0], [1, 0, 0], axis=3)
    spec = nl.TensorSpec.of_storage((1, 1, 1, 3), "NHWC", "int8", quantization=scales, name="y")
    found = as_model(spec, (1, 3))
    assert found.unpack(np.array([3, 3, 3], np.int8)).tolist() == [[1.0, 6.0, 3.0]] and found.name == "y"
    one = nl.TensorSpec((1, 3, 1, 1), "NCHW", "int8", quantization=nl.Quantization([0.5], [1], axis=2))
    assert as_model(one, (1, 3)).unpack(np.array([3, 4, 5], np.int8)).tolist() == [[1.0, 1.5, 2.0]]


@pytest.mark.parametrize("wanted", [(1, 8), (9, 1), (), (1, 1, 9), (1, 9, 1, 1)])
def test_other_extents_are_no_axes_too_many(wanted: tuple[int, ...]) -> None:
    spec = nl.TensorSpec((1, 9, 1, 1), "NHWC", "int8")
    assert as_model(spec, wanted).shape in (spec.shape, wanted)
    assert as_model(spec, wanted).size == 9
