"""What the engines of installed runtimes read and return: a row each, for docs/vendors.md.

Each is opened by one line. The sample network is compared with onnxruntime; LiteRT, ncnn, QNN, TVM and ExecuTorch run
the networks of tests/support/runtime_models.py. What is not installed is named.

    python scripts/engine_table.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable

import cv2
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import npu_layout as nl  # noqa: E402
from npu_layout.exchange import CalibrationSet  # noqa: E402
from tests.support import runtime_models as models  # noqa: E402

MODEL, CLIP = ROOT / "samples" / "models" / "pose.onnx", ROOT / "samples" / "data" / "walk.mp4"
MNN_TOOL = "import sys, _tools as tools; getattr(tools, sys.argv[1])(sys.argv[1:])"


def preprocess() -> nl.Preprocessor:
    return nl.Preprocessor(nl.TensorSpec((1, 3, 368, 368)), color="RGB", mean=128, std=256)


def frame() -> np.ndarray:
    capture = cv2.VideoCapture(str(CLIP))
    return preprocess()([capture.read()[1] for _ in range(9)][8])[0]


def pose(_: np.ndarray) -> np.ndarray:
    return next(iter(nl.OnnxRuntimeEngine(MODEL).infer(frame()).values()))


def calibrated(count: int, every: int) -> CalibrationSet:
    capture = cv2.VideoCapture(str(CLIP))
    return CalibrationSet([capture.read()[1] for _ in range(count * every)][::every], preprocess(), "image")


def row(what: str, opened: str, given: np.ndarray, wanted: Callable[[np.ndarray], np.ndarray], **options: Any) -> None:
    """Print a runtime's specs and its distance from what is wanted of the input as it is stored."""
    with nl.open_engine(opened, **options) as engine:
        (source,), target = engine.input_specs, engine.output_specs[0]
        stored = source.pack(given).reshape(source.storage_shape)
        found = target.unpack(engine.infer({str(source.name): stored})[str(target.name)])
        real = wanted(source.unpack(stored)).astype(np.float64)
        decibels = 10 * np.log10((real**2).sum() / max(float(((real - found) ** 2).sum()), 1e-30))
        print(
            f"| {what} | {source!r} | {target!r} | {'equal' if decibels > 200 else f'{decibels:.0f} dB'} |", flush=True
        )


def of_openvino(folder: Path) -> None:
    import nncf
    import openvino

    row("OpenVINO", f"openvino:{MODEL}", frame(), pose)
    network = openvino.Core().read_model(str(MODEL))
    chosen = nncf.Dataset(calibrated(4, 4))
    openvino.save_model(nncf.quantize(network, chosen, subset_size=4), folder / "int8.xml")
    row("OpenVINO, int8 by NNCF", f"openvino:{folder}/int8.xml", frame(), pose)


def of_mnn(folder: Path) -> None:
    def ran(*words: str) -> None:
        subprocess.run([sys.executable, "-c", MNN_TOOL, *words], check=True, capture_output=True)

    ran("mnnconvert", "-f", "ONNX", "--modelFile", str(MODEL), "--MNNModel", f"{folder}/m.mnn")
    row("MNN", f"mnn:{folder}/m.mnn", frame(), pose)
    calibrated(20, 1).save(folder / "set", "mnn")
    config = folder / "set" / "mnn.json"
    config.write_text(config.read_text().replace('"images/"', f'"{folder}/set/images/"'))
    ran("mnnquant", f"{folder}/m.mnn", f"{folder}/int8.mnn", str(config))
    row("MNN, int8 by its tool", f"mnn:{folder}/int8.mnn", frame(), pose)


def of_litert(folder: Path) -> None:
    x = np.random.default_rng(0).normal(0, 2, (1, 6, 5, 3)).astype(np.float32)
    row("LiteRT, a sigmoid", f"litert:{models.tflite(folder / 'm.tflite')}", x, lambda x: 1 / (1 + np.exp(-x)))


def of_ncnn(folder: Path) -> None:
    x = np.random.default_rng(0).normal(size=(1, 5, 13, 13)).astype(np.float32)
    opened, shapes = f"ncnn:{models.ncnn(folder / 'm.param')}", {"in0": (5, 13, 13)}
    row("ncnn, a ReLU", opened, x, lambda x: np.maximum(x, 0), input_shapes=shapes)


def of_detector(what: str, kind: str, path: Path, **options: Any) -> None:
    image = models.image()
    score = nl.OnnxRuntimeEngine(models.onnx(path.with_name("float.onnx"))).infer(image)
    row(what, f"{kind}:{path}", image, lambda _: score["box"], **options)


def of_qnn(folder: Path) -> None:
    import onnxruntime_qnn  # noqa: F401

    of_detector("QNN, the emulator of the HTP, int8", "qnn", models.quantized(folder / "qdq.onnx"))


def of_tvm(folder: Path) -> None:
    given = [nl.TensorSpec((1, 3, 64, 64), name="image")]
    names = ["box", "score"]
    of_detector("TVM", "tvm", models.tvm(folder / "m.so"), input_specs=given, output_names=names)


def of_executorch(folder: Path) -> None:
    x = np.random.default_rng(0).normal(size=(1, 3, 4, 5)).astype(np.float32)
    row("ExecuTorch, 2 x + 1", f"executorch:{models.executorch(folder / 'm.pte')}", x, lambda x: 2 * x + 1)


def main() -> int:
    """Print the table and return 0."""
    print("| runtime | input | output | match |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        row("onnxruntime", f"onnx:{MODEL}", frame(), pose)
        for measure in (of_openvino, of_mnn, of_litert, of_ncnn, of_qnn, of_tvm, of_executorch):
            try:
                measure(Path(folder))
            except ImportError as error:
                print(f"not run: {measure.__name__}: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
