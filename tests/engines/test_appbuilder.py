"""AppBuilderEngine against a stand-in for qai_appbuilder: its words for types, its dtypes of outputs, its silence."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import AppBuilderEngine
from npu_layout.testing import check_engine

SHAPE = (1, 4, 6, 3)
#: name: shape, AppBuilder's word, scale, zero point
INPUTS: dict[str, Any] = {"image": (SHAPE, "ufp8", 1 / 64, 5)}
OUTPUTS: dict[str, Any] = {
    "sum": ((1, 4, 6, 1), "ufp16", 1 / 256, 3000),
    "half": (SHAPE, "float16", None, None),
    "count": ((1, 3), "int32", None, None),
    "low": (SHAPE, "sfp8", 1 / 32, 0),
}
DTYPES = {"ufp8": "uint8", "sfp8": "int8", "ufp16": "uint16", "float16": "float16", "int32": "int32"}
#: pybind/AppBuilder.h, inferOutputNumpyDtype: by the bytes of an element
CALLED = {4: "float32", 2: "float16", 1: "uint8"}


def network(image: np.ndarray) -> dict[str, np.ndarray]:
    positive = (image > 1).sum(axis=(1, 2))
    return {"sum": image.sum(axis=3, keepdims=True), "half": image / 2, "count": positive, "low": -image}


def stored(real: np.ndarray, tensor: Any) -> np.ndarray:
    _, word, scale, zero = tensor
    dtype = np.dtype(DTYPES[word])
    if scale is None:
        return real.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(real / scale) + zero, limits.min, limits.max).astype(dtype)


class QNNContext:
    """A context, which is known by its name, and unloaded when it is deleted."""

    alive: set[str] = set()  # noqa: RUF012
    inputs, outputs = INPUTS, OUTPUTS
    fails = False

    def __init__(self, model_name: str, model_path: str, input_data_type: str, output_data_type: str) -> None:
        if not Path(model_path).exists():
            raise ValueError(f"Model path does not exist: {model_path}")
        assert model_name not in self.alive, "AppBuilder finds models by their names"
        self.alive.add(model_name)
        self.name, self.kinds = model_name, (input_data_type, output_data_type)

    def __del__(self) -> None:
        self.alive.discard(self.name)

    def getInputName(self) -> list[str]:
        return list(self.inputs)

    def getOutputName(self) -> list[str]:
        return list(self.outputs)

    def getInputShapes(self) -> list[list[int]]:
        return [list(one[0]) for one in self.inputs.values() if one[0]]  # of rank 0 it has none

    def getOutputShapes(self) -> list[list[int]]:
        return [list(one[0]) for one in self.outputs.values() if one[0]]

    def getInputDataType(self) -> list[str]:
        return [one[1] for one in self.inputs.values()]

    def getOutputDataType(self) -> list[str]:
        return [one[1] for one in self.outputs.values()]

    def Inference(self, input: list[np.ndarray]) -> list[np.ndarray]:
        if self.fails:
            return []
        (flat,), (source, target) = input, self.kinds
        tensor = INPUTS["image"]
        if source == "native":
            assert flat.dtype == np.uint8
            real = (flat.astype(np.float64) - tensor[3]) * tensor[2]
        else:
            assert flat.dtype == np.float32
            real = (stored(flat, tensor).astype(np.float64) - tensor[3]) * tensor[2]
        answers = []
        for name, array in network(real.reshape(SHAPE)).items():
            kept = stored(array, OUTPUTS[name])
            if target == "float":
                _, _, scale, zero = OUTPUTS[name]
                answers.append((kept if scale is None else (kept.astype(np.float64) - zero) * scale).astype(np.float32))
            else:
                answers.append(kept.view(CALLED[kept.itemsize]))
        return answers


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    library: Any = ModuleType("qai_appbuilder")
    library.configured = []

    def config(qnn_lib_path: str = "None", runtime: str = "Htp") -> None:
        if runtime == "Cpu":
            raise ValueError("backend library does not exist: libQnnCpu.so")
        library.configured.append((qnn_lib_path, runtime))

    library.QNNConfig = SimpleNamespace(Config=config)
    library.QNNContext = QNNContext
    monkeypatch.setitem(sys.modules, "qai_appbuilder", library)
    path = tmp_path / "m.dlc"
    path.write_bytes(b"")
    return path


def alive() -> int:
    gc.collect()
    return len(QNNContext.alive)


def quantised() -> dict[str, nl.TensorSpec]:
    return {
        name: nl.TensorSpec.of_storage(shape, "NHWC", DTYPES[word], quantization=nl.Quantization(scale, zero))
        for name, (shape, word, scale, zero) in {**INPUTS, **OUTPUTS}.items()
        if scale is not None
    }


@pytest.mark.parametrize("kind", ["float", "native"])
def test_what_it_returns_is_what_the_graph_has(model: Path, kind: str) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (3, 4, 6, 3), np.uint8)
    options = {"specs": quantised()} if kind == "native" else {}
    with nl.open_engine(model, data_type=kind, **options) as engine, AppBuilderEngine(model) as other:
        assert isinstance(engine, AppBuilderEngine) and alive() == 2 and other.infer
        assert sys.modules["qai_appbuilder"].configured == [("None", "Htp")] * 2
        (image,), found = engine.input_specs, engine.output_specs
        assert [spec.name for spec in found] == list(OUTPUTS)
        words = [DTYPES[word] if kind == "native" else "float32" for _, word, *_ in OUTPUTS.values()]
        assert [spec.dtype for spec in found] == words and image.axes in ("NHWC", "NCHW")
        preprocess = nl.Preprocessor(image, color="RGB", mean=0, std=128)
        for frame in frames:
            buffer = preprocess(frame)[0]
            real = image.unpack(buffer, to="NHWC") if kind == "native" else buffer.reshape(SHAPE)
            source = INPUTS["image"]
            real = (stored(real, source).astype(np.float64) - source[3]) * source[2]
            buffers = engine.infer(buffer)
            for spec in found:
                tensor = OUTPUTS[spec.name]
                wanted = stored(network(real)[spec.name], tensor).reshape(-1)
                if kind == "native":
                    assert np.array_equal(buffers[spec.name], wanted)
                if tensor[2] is not None:
                    wanted = (wanted.astype(np.float64) - tensor[3]) * tensor[2]
                answer = spec.unpack(buffers[spec.name], to="NHWC" if len(spec.shape) == 4 else None)
                np.testing.assert_allclose(answer.reshape(-1), wanted, rtol=1e-6, atol=1e-6)
    assert alive() == 0


def test_it_keeps_the_protocol(model: Path) -> None:
    for options in ({}, {"data_type": "native", "specs": quantised()}):
        assert len(check_engine(lambda options=options: AppBuilderEngine(model, **options))) == 9
        assert alive() == 0


def test_letters_of_shapes(model: Path) -> None:
    with AppBuilderEngine(model, layouts={"half": "NCHW"}) as engine:
        axes = {spec.name: spec.axes for spec in (*engine.input_specs, *engine.output_specs)}
        assert axes == {"image": "NHWC", "sum": "NHWC", "half": "NCHW", "count": "NC", "low": "NHWC"}


def test_what_is_refused(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = quantised()
    for options, says in (
        ({"data_type": "native"}, "image: AppBuilder reports no scale of ufp8: give specs="),
        ({"data_type": "native", "specs": {**specs, "low": specs["image"]}}, r"low is .*int8.*; specs has .*uint8"),
        ({"data_type": "native", "specs": {**specs, "low": 3}}, r"specs\['low'\]: expected a TensorSpec, got 3"),
        ({"specs": {"y": specs["low"]}}, "specs: no tensor 'y'; the model has image, sum, half, count, low"),
        ({"layouts": {"low": "NC"}}, "axes 'NC' has 2 axes, but .* has 4"),
        ({"data_type": "int8"}, "data_type: expected float or native, got 'int8'"),
        ({"target": "Cpu"}, r"m\.dlc: cannot be loaded: backend library does not exist: libQnnCpu\.so"),
        ({"target": "Gpu"}, "target: expected Htp or Cpu, got 'Gpu'"),
        ({"libraries": tmp_path / "nowhere"}, "nowhere: no such folder"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            AppBuilderEngine(model, **options)  # type: ignore[arg-type]
        assert alive() == 0
    for tensor, says in (
        (((1, 3), "string_", None, None), "y: type 'string_': expected one of int8, int16"),
        (((1, 3), "ufp4", None, None), "dataType 'UFIXED_POINT_4': expected one of"),
        (((), "float32", None, None), r"\['y'\] have the shapes \[\]: expected a shape for each"),
    ):
        monkeypatch.setattr(QNNContext, "outputs", {"y": tensor})
        with pytest.raises(nl.NpuLayoutError, match=says):
            AppBuilderEngine(model, data_type="native", specs={"image": specs["image"]})
        assert alive() == 0
    monkeypatch.setitem(sys.modules, "qai_appbuilder", None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"qai_appbuilder cannot be imported .*pip install qai_appbuilder"):
        AppBuilderEngine(model)


def test_a_graph_that_fails(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with AppBuilderEngine(model) as engine:
        with pytest.raises(nl.NpuLayoutError, match=r"input image: .*needs 288"):
            engine.infer(np.zeros(3, np.float32))
        monkeypatch.setattr(QNNContext, "fails", True)
        with pytest.raises(nl.NpuLayoutError, match="got 0 outputs, expected 4; QNN's log may say why"):
            engine.infer(np.zeros(72, np.float32))
