"""Frames from files into a recording: what is fed, what a simulated accelerator gives, and what a failure leaves."""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import npu_layout as nl
from npu_layout.recordings import Feed, Frames, capture, simulated
from tests.support.boards import PRE, SIDE, network, picture
from tests.support.resized_pixels import as_on_x86


@pytest.fixture(scope="module")
def model() -> nl.OnnxRuntimeEngine:
    return nl.OnnxRuntimeEngine(network(), threads=1)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    for k in range(3):
        cv2.imwrite(str(tmp_path / "images" / f"{k}.png"), picture(k))
    return tmp_path / "images"


class Chip:
    """Takes stored pixels, NHWC, and answers with numbers made of them."""

    def __init__(self, *specs: nl.TensorSpec, fails_at: int = -1) -> None:
        self.input_specs, self.fails_at, self.calls = list(specs), fails_at, 0
        self.output_specs = [nl.TensorSpec((1, 3), "NC", name="sums")]

    def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.calls += 1
        if self.calls - 1 == self.fails_at:
            raise ValueError("bus error")
        (array,) = inputs.values()
        return {"sums": array.reshape(-1, 3).sum(0, dtype=np.float32)}


PIXELS = nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC", "uint8", name="pixels")


def test_a_feed_is_what_the_model_takes(model: nl.OnnxRuntimeEngine) -> None:
    feed, frame = Feed(model, **PRE), picture(0)
    (name, buffer), *more = feed(frame).items()
    assert (name, more, feed.specs) == ("image", [], ())
    # the centre of the letterboxed frame, computed by OpenCV and numpy
    scaled = as_on_x86(frame, (SIDE, SIDE * 60 // 90))[:, :, ::-1].astype(np.float32)
    wanted = ((scaled - np.float32(PRE["mean"])) / np.float32(PRE["std"])).transpose(2, 0, 1)
    top = (SIDE - scaled.shape[0]) // 2
    got = buffer.reshape(3, SIDE, SIDE)[:, top : top + scaled.shape[0]]
    assert np.abs(got - wanted).max() < 0.06  # OpenCV's rounding of a resized pixel: 1 of 255, and std is 57 or more
    assert feed.preprocess == {**PRE}


@pytest.mark.parametrize("quantization", [None, nl.Quantization(1.0, 0.0)])
def test_an_integer_input_takes_pixels_and_only_notes_mean_and_std(
    model: nl.OnnxRuntimeEngine, quantization: nl.Quantization | None
) -> None:
    fed = PIXELS.replace(quantization=quantization)
    feed, frame = Feed(model, Chip(fed), **{**PRE, "resize": "stretch"}), picture(1)
    pixels = feed(frame)["image"].reshape(SIDE, SIDE, 3)
    wanted = as_on_x86(frame, (SIDE, SIDE))[:, :, ::-1]
    assert pixels.dtype == np.uint8 and np.abs(pixels.astype(int) - wanted).max() <= 1
    assert feed.preprocess["mean"] == PRE["mean"]
    (spec,) = feed.specs
    assert (spec.name, spec.shape, spec.dtype, str(spec.layout)) == ("image", (1, 3, SIDE, SIDE), "uint8", "NHWC")


def test_two_inputs_cannot_be_fed(model: nl.OnnxRuntimeEngine) -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"model has 2 inputs; .* use Recorder"):
        Feed(model, Chip(PIXELS, PIXELS))


@pytest.mark.parametrize("keep", [True, False])
def test_every_frame_is_recorded(model: nl.OnnxRuntimeEngine, images: Path, tmp_path: Path, keep: bool) -> None:
    chip = Chip(PIXELS)
    feed = Feed(model, chip, **PRE)
    count = capture(chip, feed, Frames([images]), tmp_path / "run", keep_frames=keep, note="lab", progress=False)
    recording = nl.Recording.load(tmp_path / "run")
    assert count == len(recording) == 3 and recording.meta["note"] == "lab"
    assert recording.meta["preprocess"] == PRE and recording.specs["image"] == feed.specs[0]
    for k, (inputs, outputs) in enumerate(recording):
        assert sorted(inputs) == (["frame", "image"] if keep else ["image"])
        if keep:
            np.testing.assert_array_equal(inputs["frame"], picture(k))
        np.testing.assert_array_equal(outputs["sums"], inputs["image"].reshape(-1, 3).sum(0))


@pytest.mark.parametrize("fails_at", [0, 2])
def test_a_failure_leaves_the_frames_before_it(
    model: nl.OnnxRuntimeEngine, images: Path, tmp_path: Path, fails_at: int
) -> None:
    chip = Chip(PIXELS, fails_at=fails_at)
    with pytest.raises(nl.NpuLayoutError, match=f"frame {fails_at}: ValueError: bus error") as caught:
        capture(chip, Feed(model, chip), Frames([images]), tmp_path / "run", progress=False)
    assert ("the 2 frames before it are in" in str(caught.value)) == bool(fails_at)
    assert (tmp_path / "run").exists() == bool(fails_at)
    if fails_at:
        assert len(nl.Recording.load(tmp_path / "run")) == 2


def test_a_simulated_accelerator_gives_the_model_quantised(
    model: nl.OnnxRuntimeEngine, images: Path, tmp_path: Path
) -> None:
    feed, frames = Feed(model, **PRE), Frames([images])
    npu = simulated(model, feed, frames, nl.Layout("NCHW16c"), "int8")
    (spec,) = npu.output_specs
    assert (spec.name, str(spec.layout), spec.dtype) == ("maps", "NCHW16c", "int8") and spec.quantization is not None
    answers = [model.infer(feed(frame))["maps"] for frame in frames]
    low, high = min(0.0, *(float(a.min()) for a in answers)), max(0.0, *(float(a.max()) for a in answers))
    scale = float(spec.quantization.scale)
    assert scale == pytest.approx((high - low) / 255, rel=1e-5)
    assert capture(npu, feed, frames, tmp_path / "run", progress=False) == 3
    for run, answer in zip(nl.Recording.load(tmp_path / "run"), answers):
        blocks = run.outputs["maps"].reshape(2, 12, 12, 16).transpose(0, 3, 1, 2).reshape(32, 12, 12)[:19]
        real = (blocks.astype(np.float64) - int(spec.quantization.zero_point)) * scale
        assert np.abs(real - answer[0]).max() <= scale * 1.01


@pytest.mark.parametrize("layout", ["XYZ", "NC", "NDHWC"])
def test_a_simulated_accelerator_stores_what_its_layout_fits(
    model: nl.OnnxRuntimeEngine, images: Path, layout: str
) -> None:
    feed, frames, axes = Feed(model, **PRE), Frames([images]), nl.Layout(layout).axes
    says = rf"layout {layout}: no output of model has the axes {axes}; .* a layout of the axes NCHW \(output maps\)"
    with pytest.raises(nl.LayoutError, match=says):
        simulated(model, feed, frames, nl.Layout(layout), "int8")


@pytest.mark.parametrize("fails_at", [0, 2])
def test_an_engine_that_ends_the_program_is_a_failure(
    model: nl.OnnxRuntimeEngine, images: Path, tmp_path: Path, fails_at: int
) -> None:
    class Leaving(Chip):
        def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            if self.calls == fails_at:
                sys.exit(0)
            return super().infer(inputs)

    chip = Leaving(PIXELS)
    with pytest.raises(nl.NpuLayoutError, match=f"frame {fails_at}: SystemExit: 0"):
        capture(chip, Feed(model, chip), Frames([images]), tmp_path / "run", progress=False)
    assert (tmp_path / "run").exists() == bool(fails_at)
    if fails_at:
        assert len(nl.Recording.load(tmp_path / "run")) == 2


def test_a_feed_of_an_engine_that_converts(model: nl.OnnxRuntimeEngine, images: Path, tmp_path: Path) -> None:
    """Its spec is recorded, though it differs from the model's in its channels only; the board is a match."""
    stated = nl.TensorSpec((1, 3, SIDE, SIDE), name="image", channels="BGR")
    outputs = [nl.TensorSpec((1, 19, 12, 12), "NCHW16c")]
    engine = nl.SimulatedNpu(model, outputs, [stated])
    feed, frame = Feed(model, engine, **PRE), picture(0)
    assert [spec.channels for spec in feed.specs] == ["BGR"]
    np.testing.assert_array_equal(
        feed(frame)["image"], nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **PRE)(frame)[0][:, ::-1]
    )
    assert capture(engine, feed, Frames([str(images)]), tmp_path / "r") == 3
    loaded = nl.Recording.load(tmp_path / "r")
    assert loaded.specs["image"] == stated
    report = nl.validate(loaded, model)
    assert report and report.inputs["image"], str(report)


def channels_last() -> nl.OnnxRuntimeEngine:
    """A model as TensorFlow's exporters make it: (1, H, W, 3), and axes without names."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8, 12, 3]) for name in ("image", "same")]
    graph = helper.make_graph([helper.make_node("Identity", ["image"], ["same"])], "g", ports[:1], ports[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return nl.OnnxRuntimeEngine(ModelProto.SerializeToString(made))


def test_a_model_with_channels_last_is_told_to_say_so() -> None:
    """The advice was to declare a target, which the command line has not."""
    model, frame = channels_last(), picture(0)
    with pytest.raises(
        nl.NpuLayoutError, match=r"^axes: expected 'NHWC' of an input whose channels are last, as 'image'"
    ):
        Feed(model, std=255)
    (buffer,) = Feed(model, axes="NHWC", resize="stretch", std=255)(frame).values()
    wanted = as_on_x86(frame, (12, 8))[:, :, ::-1] / 255
    np.testing.assert_allclose(model.infer(buffer)["same"][0], wanted, atol=1.01 / 255)
