"""Toolchains that are installed quantise the sample network from a set; a set that is normalised twice is worse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.exchange import CalibrationSet
from tests.support.paths import SAMPLES

MODEL, CLIP = SAMPLES / "models" / "pose.onnx", SAMPLES / "data" / "walk.mp4"


def frames_of(count: int) -> list[np.ndarray]:
    capture = cv2.VideoCapture(str(CLIP))
    return [capture.read()[1] for _ in range(count)]


def chosen(count: int, every: int = 1) -> CalibrationSet:
    frames = frames_of(count * every)[::every]
    return CalibrationSet(frames, preprocess(), name=str(source().name))


def source() -> nl.TensorSpec:
    return nl.OnnxRuntimeEngine(MODEL).input_specs[0]


def preprocess() -> nl.Preprocessor:
    return nl.Preprocessor(source().replace(layout="NCHW"), color="RGB", mean=128, std=256)


def frame_and_answer() -> tuple[np.ndarray, np.ndarray]:
    fed, _ = preprocess()(frames_of(9)[8])
    return fed, next(iter(nl.OnnxRuntimeEngine(MODEL).infer(fed).values()))


def decibels(wanted: np.ndarray, found: np.ndarray) -> float:
    return float(10 * np.log10((wanted**2).sum() / ((wanted - found) ** 2).sum()))


def test_nncf() -> None:
    nncf = pytest.importorskip("nncf", reason="nncf is not installed")
    openvino = pytest.importorskip("openvino", reason="openvino is not installed")
    model = nncf.quantize(openvino.Core().read_model(str(MODEL)), nncf.Dataset(chosen(4, every=4)), subset_size=4)
    fed, wanted = frame_and_answer()
    (found,) = openvino.compile_model(model, "CPU")([fed]).values()
    assert decibels(wanted, found) > 25


def test_mnn(tmp_path: Path) -> None:
    pytest.importorskip("MNN", reason="mnn is not installed")
    chosen(20).save(tmp_path / "set", "mnn")
    tool = "import sys, _tools as tools; getattr(tools, sys.argv[1])(sys.argv[1:])"

    def ran(*words: str) -> None:
        run = [sys.executable, "-c", tool, *words]
        subprocess.run(run, check=True, capture_output=True, timeout=300, cwd=tmp_path)  # where it leaves a file

    ran("mnnconvert", "-f", "ONNX", "--modelFile", str(MODEL), "--MNNModel", str(tmp_path / "m.mnn"))
    fed, wanted = frame_and_answer()

    def quantised(**change: Any) -> float:
        words = json.loads((tmp_path / "set" / "mnn.json").read_text())
        words["path"] = f"{tmp_path}/set/images/"
        (tmp_path / "quant.json").write_text(json.dumps({**words, **change}))
        ran("mnnquant", *(str(tmp_path / name) for name in ("m.mnn", "int8.mnn", "quant.json")))
        with nl.MnnEngine(tmp_path / "int8.mnn") as engine:
            (into,), (out,) = engine.input_specs, engine.output_specs
            return decibels(wanted, out.unpack(engine.infer({str(into.name): into.pack(fed)})[str(out.name)]))

    assert quantised() > 18  # MNN subtracts the mean and scales, as mnn.json says
    assert quantised(mean=[0.0] * 3, normal=[1.0] * 3) < 10


@pytest.mark.filterwarnings("ignore")  # the tool's own, at import and about its folders
def test_rknn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = pytest.importorskip("rknn.api", reason="rknn-toolkit2 is not installed")
    monkeypatch.chdir(tmp_path)
    chosen(8, every=2).save("set", "rknn")
    fed, wanted = frame_and_answer()
    pixels = np.rint(fed * 256 + 128).astype(np.uint8)

    def quantised(x: np.ndarray, **config: Any) -> float:
        network = api.RKNN(verbose=False)
        network.config(target_platform="rk3588", **config)
        assert network.load_onnx(str(MODEL)) == 0
        assert network.build(do_quantization=True, dataset=str(tmp_path / "set" / "dataset.txt")) == 0
        assert network.init_runtime() == 0
        found = network.inference([x], data_format=["nchw"])[0]
        network.release()
        return decibels(wanted, found)

    assert quantised(pixels, mean_values=[[128] * 3], std_values=[[256] * 3]) > 25
    assert quantised(fed) < 10  # pixels taken for what the model reads


@pytest.mark.filterwarnings("ignore")  # TensorFlow's own, at import
def test_tflite(tmp_path: Path) -> None:
    """TensorFlow's converter reads the set as how.txt says, for a network of channels last."""
    tf = pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    samples = chosen(6, every=3)
    samples.save(tmp_path / "set", "tflite")
    images = [np.load(path)[samples.name] for path in sorted((tmp_path / "set").glob("*.npz"))]
    rng = np.random.default_rng(1)
    weights = [rng.normal(0, 0.3, shape).astype(np.float32) for shape in ((3, 3, 3, 8), (3, 3, 8, 4))]

    @tf.function(input_signature=[tf.TensorSpec(images[0].shape, tf.float32)])  # type: ignore[untyped-decorator]
    def network(x: Any) -> Any:
        return tf.nn.conv2d(tf.nn.relu(tf.nn.conv2d(x, weights[0], 2, "SAME")), weights[1], 2, "SAME")

    def quantised(feeds: list[np.ndarray]) -> float:
        converter = tf.lite.TFLiteConverter.from_concrete_functions([network.get_concrete_function()])
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([x] for x in feeds)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
        with nl.LiteRtEngine(converter.convert()) as engine:
            (into,), (out,) = engine.input_specs, engine.output_specs
            assert into.axes == "NHWC" and into.dtype == "int8"
            frame = frames_of(9)[8]
            buffer, _ = nl.Preprocessor(into, color="RGB", mean=128, std=256)(frame)
            fed = samples.preprocess(frame)[0].transpose(0, 2, 3, 1)
            return decibels(network(fed).numpy(), out.unpack(engine.infer(buffer)[str(out.name)]))

    assert quantised(images) > 25
    assert quantised([x * 256 + 128 for x in images]) < 15  # pixels: the range is 256 times too large
