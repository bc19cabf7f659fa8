"""Calibration sets: the bytes that the board's Preprocessor writes, for each toolchain, and a whole quantisation."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.exchange import TOOLCHAINS, CalibrationSet
from npu_layout.recordings import Frames
from tests.support.resized_pixels import as_on_x86

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
HOW = {"color": "RGB", "mean": [120.0, 110, 100], "std": [50.0, 60, 70]}


def frames(count: int = 3, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (30 + 7 * i, 44, 3), np.uint8) for i in range(count)]


def by_hand(frame: np.ndarray, side: int, color: str) -> np.ndarray:
    """A letterbox of OpenCV's calls, in the model's channels: (side, side, 3) uint8."""
    scale = min(side / frame.shape[1], side / frame.shape[0])
    w, h = round(frame.shape[1] * scale), round(frame.shape[0] * scale)
    small = as_on_x86(frame, (w, h))
    left, top = (side - w) // 2, (side - h) // 2
    edges = (top, side - h - top, left, side - w - left)
    boxed = cv2.copyMakeBorder(small, *edges, cv2.BORDER_CONSTANT, value=(114, 114, 114))
    return boxed[..., ::-1] if color == "RGB" else boxed


@pytest.mark.parametrize("color", ["RGB", "BGR"])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_inputs_are_those_of_opencv_and_arithmetic(color: str, dtype: str) -> None:
    """Also where the board's input is quantised: calibration needs the real values."""
    q = nl.Quantization(0.03, -3) if dtype == "int8" else None
    board = nl.Preprocessor(nl.TensorSpec((1, 3, 24, 24), "NCHW", dtype, quantization=q), **{**HOW, "color": color})
    given = frames()
    for frame, sample in zip(given, CalibrationSet(given, board, "x").samples()):
        pixels = by_hand(frame, 24, color)
        assert (np.abs(sample.pixels.astype(int) - pixels) <= 1).all()  # OpenCV's resize differs between its builds
        wanted = (sample.pixels - np.array(HOW["mean"])) / np.array(HOW["std"])
        np.testing.assert_allclose(sample.array[0], wanted.transpose(2, 0, 1), rtol=3e-7, atol=3e-7)
        assert sample.array.dtype == np.float32 and sample.array.shape == (1, 3, 24, 24)


def test_the_bytes_are_those_of_the_board() -> None:
    spec = nl.TensorSpec((1, 3, 32, 32))
    board = nl.Preprocessor(spec, **HOW)
    given = frames()
    samples = CalibrationSet(given, board, "image")
    for _ in range(2):  # again and again
        made = list(samples)
        assert len(made) == 3
        for frame, inputs in zip(given, made):
            assert inputs["image"].tobytes() == board(frame)[0].tobytes()
    reader = samples.reader()
    assert [reader.get_next() is None for _ in range(5)] == [False, False, False, True, True]
    reader.rewind()
    assert reader.get_next() is not None


def test_an_iterator_is_read_once(tmp_path: Path) -> None:
    """A second reading, as NNCF does it, was empty: the ranges were those of no frame."""
    board, given = nl.Preprocessor(nl.TensorSpec((1, 3, 16, 16)), **HOW), frames()
    words = "frames: (generator|list_iterator) was read already, .* give a list of frames"
    for again in ((frame for frame in given), iter(given)):
        samples = CalibrationSet(again, board)
        assert len(list(samples)) == 3
        with pytest.raises(nl.NpuLayoutError, match=words):
            list(samples)
        with pytest.raises(nl.NpuLayoutError, match=words):
            samples.save(tmp_path / "set", "hailo")
        reader = samples.reader()
        with pytest.raises(nl.NpuLayoutError, match=words):
            reader.get_next()
    assert list(tmp_path.iterdir()) == []
    reader = CalibrationSet((frame for frame in given), board).reader()
    assert [reader.get_next() is None for _ in range(4)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("dtype", "quantization"),
    [("uint8", None), ("int8", nl.Quantization(1, -128)), ("uint8", nl.Quantization([1, 1, 1], [0, 0, 0], axis=1))],
)
def test_pixels_for_a_runtime_that_normalises_are_warned_of(dtype: str, quantization: nl.Quantization | None) -> None:
    """Such a set has inputs of 0 to 255, and a model of 0 to 1 gets scales that are 255 times too large."""
    pixels = nl.TensorSpec((1, 3, 16, 24), "NHWC", dtype, quantization=quantization)
    board = nl.Preprocessor(pixels)
    with pytest.warns(
        UserWarning, match="preprocess: it writes pixels, .* which the board's runtime normalises"
    ) as found:
        samples = CalibrationSet(frames(), board)
    assert found[0].filename == __file__ and next(iter(samples))["image"].max() > 200
    words = str(found[0].message)
    assert "Preprocessor(TensorSpec((1, 3, 16, 24), axes='NCHW'), **{**preprocess.arguments, 'mean': " in words
    floats = nl.Preprocessor(nl.TensorSpec((1, 3, 16, 24), axes="NCHW"), **{**board.arguments, "mean": 0, "std": 255})
    inputs = next(iter(CalibrationSet(frames(), floats)))["image"]  # without a warning
    wanted = board(frames()[0])[0].astype(np.float64) + (128 if dtype == "int8" else 0)
    np.testing.assert_allclose(inputs, wanted.transpose(0, 3, 1, 2) / 255, atol=1e-6)


def test_a_network_quantised_by_onnxruntime_runs_on_the_same_bytes(tmp_path: Path) -> None:
    """The sample's network, from frames to int8 and through the whole path: the run's inputs are the calibration's."""
    from onnxruntime import quantization

    model = SAMPLES / "models" / "pose.onnx"
    engine = nl.OnnxRuntimeEngine(str(model))
    (spec,) = engine.input_specs
    board = nl.Preprocessor(spec, color="RGB", mean=128, std=256)
    given = [frame for frame, _ in zip(Frames([SAMPLES / "data" / "walk.mp4"]), range(2))]
    seen: list[bytes] = []

    class Watching(CalibrationSet):
        def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
            for inputs in super().__iter__():
                seen.append(inputs[spec.name].tobytes())
                yield inputs

    made = tmp_path / "int8.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantization.quantize_static(
            str(model), str(made), Watching(given, board, spec.name).reader(), op_types_to_quantize=["Conv"]
        )
    assert seen == [board(frame)[0].tobytes() for frame in given]
    int8 = nl.OnnxRuntimeEngine(str(made))
    for frame, calibrated in zip(given, seen):
        buffer = board(frame)[0]
        assert buffer.tobytes() == calibrated
        real, rounded = (e.infer(buffer)[e.output_specs[0].name] for e in (engine, int8))
        signal, noise = float((real**2).mean()), float(((real - rounded) ** 2).mean())
        assert 10 * np.log10(signal / noise) > 10  # decibels: it is the same network, rounded


@pytest.mark.parametrize("toolchain", ["onnxruntime", "openvino", "tpu-mlir"])
def test_arrays(tmp_path: Path, toolchain: str) -> None:
    board = nl.Preprocessor(nl.TensorSpec((1, 3, 16, 24)), **HOW)
    given = frames()
    assert CalibrationSet(given, board, "file").save(tmp_path / "set", toolchain) == 3
    names = sorted(path.name for path in (tmp_path / "set").iterdir())
    assert names == ["00000.npz", "00001.npz", "00002.npz", "how.txt"]
    for name, frame in zip(names, given):
        with np.load(tmp_path / "set" / name) as file:
            assert file.files == ["file"]
            assert file["file"].tobytes() == board(frame)[0].tobytes()


@pytest.mark.parametrize("axes", ["NCHW", "NHWC"])
def test_tflite(tmp_path: Path, axes: str) -> None:
    """Channels last, whatever the order of the ONNX model's axes."""
    shape = (1, 3, 16, 24) if axes == "NCHW" else (1, 16, 24, 3)
    board = nl.Preprocessor(nl.TensorSpec(shape, nl.Layout(axes, axes)), **HOW)
    samples = CalibrationSet(frames(), board, "x")
    assert samples.save(tmp_path / "set", "tflite") == 3
    for n, inputs in enumerate(samples):
        with np.load(tmp_path / "set" / f"{n:05d}.npz") as file:
            wanted = inputs["x"].transpose(0, 2, 3, 1) if axes == "NCHW" else inputs["x"]
            assert file.files == ["x"] and file["x"].shape == (1, 16, 24, 3) and file["x"].dtype == np.float32
            assert file["x"].tobytes() == wanted.tobytes()
    assert "float32 (1, 16, 24, 3), channels last" in (tmp_path / "set" / "how.txt").read_text()


@pytest.mark.parametrize(("order", "side"), [("HWC", 16), ("CHW", 16), ("HCW", 16), ("NHCW", 16), ("NHWC", 3)])
def test_rknn_files_have_the_shape_of_the_models_input(tmp_path: Path, order: str, side: int) -> None:
    """Without N, and where the shape alone does not distinguish channels from rows."""
    axes = "NCHW" if "N" in order else "CHW"
    extents = {"N": 1, "C": 3, "H": side, "W": side}
    target = nl.TensorSpec(tuple(extents[letter] for letter in axes), nl.Layout(order, axes))
    samples = CalibrationSet(frames(1), nl.Preprocessor(target, **HOW))
    assert samples.save(tmp_path / "set", "rknn") == 1
    found = np.load(tmp_path / "set" / "00000.npy")
    (fed,) = (inputs["image"] for inputs in samples)
    assert found.shape == fed.shape == tuple(extents[letter] for letter in order)
    view = [np.array(numbers).reshape([3 if letter == "C" else 1 for letter in order]) for numbers in
            (HOW["mean"], HOW["std"])]  # fmt: skip
    np.testing.assert_allclose((found - view[0]) / view[1], fed, rtol=3e-7, atol=3e-7)
    assert f"uint8 {found.shape}, channels" in (tmp_path / "set" / "how.txt").read_text()


@pytest.mark.parametrize("axes", ["NCHW", "NHWC"])
def test_rknn(tmp_path: Path, axes: str) -> None:
    """Pixels in the order of the model's axes; a .npy of another shape is refused by rknn-toolkit2."""
    shape = (1, 3, 16, 24) if axes == "NCHW" else (1, 16, 24, 3)
    board = nl.Preprocessor(nl.TensorSpec(shape, nl.Layout(axes, axes)), **HOW)
    samples = CalibrationSet(frames(), board)
    assert samples.save(tmp_path / "set", "rknn") == 3
    lines = (tmp_path / "set" / "dataset.txt").read_text().split("\n")
    assert lines == ["00000.npy", "00001.npy", "00002.npy", ""]
    for line, sample in zip(lines, samples.samples()):
        found = np.load(tmp_path / "set" / line)
        assert found.shape == shape and found.dtype == np.uint8
        pixels = found[0].transpose(1, 2, 0) if axes == "NCHW" else found[0]
        assert (pixels == sample.pixels).all()
    words = (tmp_path / "set" / "how.txt").read_text()
    assert "mean_values=[[120.0, 110.0, 100.0]], std_values=[[50.0, 60.0, 70.0]]" in words


@pytest.mark.parametrize("count", [1, 3, 12])
def test_hailo(tmp_path: Path, count: int) -> None:
    samples = CalibrationSet(frames(count), nl.Preprocessor(nl.TensorSpec((1, 3, 16, 24)), **HOW))
    samples.save(tmp_path / "set", "hailo")
    found = np.load(tmp_path / "set" / "calib.npy")
    assert found.shape == (count, 16, 24, 3) and found.dtype == np.uint8
    assert (found == np.stack([sample.pixels for sample in samples.samples()])).all()
    words = (tmp_path / "set" / "how.txt").read_text()
    assert "normalization([120.0, 110.0, 100.0], [50.0, 60.0, 70.0])" in words


@pytest.mark.parametrize("color", ["RGB", "BGR", "GRAY"])
def test_mnn(tmp_path: Path, color: str) -> None:
    """What MNN reads from the pictures, by its formula, is the network's input."""
    channels = 1 if color == "GRAY" else 3
    how = {"color": color, "mean": 100.0, "std": 50.0} if color == "GRAY" else {**HOW, "color": color}
    samples = CalibrationSet(frames(), nl.Preprocessor(nl.TensorSpec((1, channels, 16, 24)), **how))
    samples.save(tmp_path / "set", "mnn")
    config = json.loads((tmp_path / "set" / "mnn.json").read_text())
    assert (config["format"], config["width"], config["height"], config["used_image_num"]) == (color, 24, 16, 3)
    for n, sample in enumerate(samples.samples()):
        picture = cv2.imread(str(tmp_path / "set" / config["path"] / f"{n:05d}.png"), cv2.IMREAD_COLOR)
        read = {"RGB": picture[..., ::-1], "BGR": picture, "GRAY": picture[..., :1]}[color]
        found = (read.astype(np.float64) - config["mean"]) * config["normal"]
        np.testing.assert_allclose(sample.array[0], found.transpose(2, 0, 1), rtol=3e-7, atol=3e-7)


def test_bad_input_leaves_nothing_behind(tmp_path: Path) -> None:
    board = nl.Preprocessor(nl.TensorSpec((1, 3, 16, 16)))
    for toolchain in TOOLCHAINS:
        with pytest.raises(nl.NpuLayoutError, match="frames: expected one at least, got none"):
            CalibrationSet([], board).save(tmp_path / "set", toolchain)
        with pytest.raises(nl.NpuLayoutError):
            CalibrationSet([*frames(), np.zeros((4, 4), np.float64)], board).save(tmp_path / "set", toolchain)
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(nl.NpuLayoutError, match="toolchain: expected"):
        CalibrationSet(frames(), board).save(tmp_path / "set", "tensorrt")
    with pytest.raises(nl.NpuLayoutError, match="its target is a frame, NV12 of 8x8; expected the TensorSpec"):
        CalibrationSet(frames(), nl.Preprocessor(nl.FrameSpec("NV12", (8, 8))))
    with pytest.raises(nl.NpuLayoutError, match="expected a target of one image"):
        CalibrationSet(frames(), nl.Preprocessor(nl.TensorSpec((2, 3, 16, 16))))
    with pytest.raises(nl.NpuLayoutError, match="frames: expected an iterable"):
        CalibrationSet(7, board)  # type: ignore[arg-type]
    rgba = nl.Preprocessor(nl.TensorSpec((1, 4, 16, 16)), color="RGBA")
    with pytest.raises(nl.NpuLayoutError, match="mnn reads images of RGB, BGR or GRAY; the Preprocessor makes RGBA"):
        CalibrationSet(frames(), rgba).save(tmp_path / "set", "mnn")
    CalibrationSet(frames(), board).save(tmp_path / "set", "rknn")
    before = sorted(path.name for path in (tmp_path / "set").iterdir())
    with pytest.raises(nl.NpuLayoutError, match="is there already; expected a new or an empty one"):
        CalibrationSet(frames(1), board).save(tmp_path / "set", "rknn")
    how = (tmp_path / "set" / "how.txt").read_text("utf-8")
    assert "The Preprocessor's arguments: color " in how and "mean [" in how and "std [" in how
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == before
