"""Engines of real runtimes, each where its package is installed: specs, results, and the rules of every engine."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.testing import check_engine
from tests.support import runtime_models as models


def test_litert(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    path = models.tflite(tmp_path / "m.tflite")
    engine = nl.LiteRtEngine(path)
    (source,), (target,) = engine.input_specs, engine.output_specs
    assert (source.name, source.shape, source.axes, source.dtype) == ("x", (1, 6, 5, 3), "NHWC", "int8")
    x = np.random.default_rng(0).normal(0, 2, source.shape).astype(np.float32)
    buffer = source.pack(x)
    y = target.unpack(engine.infer(buffer)["y"])
    assert np.abs(y - 1 / (1 + np.exp(-source.unpack(buffer)))).max() < 1 / 256
    assert len(check_engine(lambda: nl.LiteRtEngine(path.read_bytes()))) == 9
    (tmp_path / "bad.tflite").write_bytes(b"no model")
    with pytest.raises(nl.NpuLayoutError, match=r"bad\.tflite: cannot be loaded"):
        nl.LiteRtEngine(tmp_path / "bad.tflite")


def test_litert_compiled(tmp_path: Path) -> None:
    """CompiledModel on the CPU computes what the interpreter does, by the names of the model's signature."""
    pytest.importorskip("ai_edge_litert.compiled_model", reason="ai-edge-litert is not installed")
    path = models.tflite(tmp_path / "m.tflite")
    with nl.LiteRtEngine(path) as interpreted, nl.open_engine(f"litert:{path}", accelerator="cpu") as compiled:
        assert compiled.input_specs == interpreted.input_specs and compiled.output_specs == interpreted.output_specs
        x = np.random.default_rng(1).integers(-128, 128, 90).astype(np.int8)
        found = compiled.infer({"x": x})["y"]
        assert np.abs(found.astype(int) - interpreted.infer({"x": x})["y"]).max() <= 1
    assert len(check_engine(lambda: nl.LiteRtEngine(path.read_bytes(), accelerator="cpu", threads=2))) == 9
    with pytest.raises(nl.NpuLayoutError, match="accelerator: expected"):
        nl.LiteRtEngine(path, accelerator="tpu")
    with pytest.raises(nl.NpuLayoutError, match="delegates: expected none with accelerator="):
        nl.LiteRtEngine(path, accelerator="cpu", delegates=[object()])
    (tmp_path / "bad.tflite").write_bytes(b"no model")
    with pytest.raises(nl.NpuLayoutError, match=r"bad\.tflite: cannot be loaded"):
        nl.LiteRtEngine(tmp_path / "bad.tflite", accelerator="cpu")


def test_openvino(tmp_path: Path) -> None:
    pytest.importorskip("openvino", reason="openvino is not installed")
    path = models.onnx(tmp_path / "m.onnx")
    x = models.image()
    wanted = nl.OnnxRuntimeEngine(path).infer(x)
    with nl.OpenVinoEngine(path) as engine:
        found = engine.infer({"image": x})
        assert [spec.name for spec in engine.output_specs] == ["box", "score"]
        for spec in engine.output_specs:
            assert np.abs(spec.unpack(found[spec.name]) - wanted[spec.name]).max() < 1e-4
    assert len(check_engine(lambda: nl.OpenVinoEngine(path))) == 9
    (tmp_path / "bad.xml").write_text("<net/>")
    with pytest.raises(nl.NpuLayoutError, match=r"bad\.xml: cannot be loaded"):
        nl.OpenVinoEngine(tmp_path / "bad.xml")


def test_openvinos_preprocessing_is_in_the_spec(tmp_path: Path) -> None:
    """A graph that reads BGR bytes, NHWC, and scales them: the Preprocessor writes those bytes, and answers agree."""
    openvino = pytest.importorskip("openvino", reason="openvino is not installed")
    from openvino import Layout, Type
    from openvino.preprocess import ColorFormat, PrePostProcessor

    model = openvino.Core().read_model(str(models.onnx(tmp_path / "m.onnx")))
    steps = PrePostProcessor(model)
    steps.input().tensor().set_element_type(Type.u8).set_layout(Layout("NHWC")).set_color_format(ColorFormat.BGR)
    steps.input().model().set_layout(Layout("NCHW"))
    steps.input().preprocess().convert_element_type(Type.f32).convert_color(ColorFormat.RGB).scale(
        [255.0, 255.0, 255.0]
    )
    engine = nl.OpenVinoEngine(steps.build(), color="RGB")
    (spec,) = engine.input_specs
    assert (spec.axes, spec.dtype, spec.channels) == ("NHWC", "uint8", "BGR")
    frame = np.random.default_rng(1).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    buffer, _ = nl.Preprocessor(spec, color="RGB", mean=0, std=255)(frame)
    plain, _ = nl.Preprocessor(nl.TensorSpec((1, 3, 64, 64)), color="RGB", mean=0, std=255)(frame)
    wanted = nl.OnnxRuntimeEngine(tmp_path / "m.onnx").infer(plain.reshape(1, 3, 64, 64))
    found = engine.infer(buffer)
    for out in engine.output_specs:
        assert np.abs(out.unpack(found[out.name]) - wanted[out.name]).max() < 1e-3


def test_ncnn_has_gaps(tmp_path: Path) -> None:
    pytest.importorskip("ncnn", reason="ncnn is not installed")
    path = models.ncnn(tmp_path / "m.param")
    engine = nl.NcnnEngine(path, input_shapes={"in0": (5, 13, 13)})
    (spec,) = engine.output_specs
    assert spec.shape == (1, 5, 13, 13) and spec.storage_strides[1] == 172 and spec.size == 860
    x = np.random.default_rng(0).normal(size=(1, 5, 13, 13)).astype(np.float32)
    assert np.array_equal(spec.unpack(engine.infer(x)["out0"]), np.maximum(x, 0))
    assert len(check_engine(lambda: nl.open_engine(path, input_shapes={"in0": (5, 13, 13)}))) == 9
    with pytest.raises(nl.NpuLayoutError, match=r'give input_shapes=\{"in0": \(3, 192, 256\)\}'):
        nl.open_engine(f"ncnn:{path}")
    path.with_suffix(".bin").unlink()
    with pytest.raises(nl.NpuLayoutError, match=r"m\.bin: no such file"):
        nl.NcnnEngine(path, input_shapes={"in0": (5, 13, 13)})


def test_mnn(tmp_path: Path) -> None:
    pytest.importorskip("MNN", reason="MNN is not installed")
    path = models.mnn(tmp_path / "m.mnn")
    x = models.image(3)
    wanted = nl.OnnxRuntimeEngine(tmp_path / "m.onnx").infer(x)
    engine = nl.open_engine(path)
    found = engine.infer(x)
    for spec in engine.output_specs:
        assert np.abs(spec.unpack(found[spec.name]) - wanted[spec.name]).max() < 1e-3
    assert len(check_engine(lambda: nl.MnnEngine(path))) == 9


def test_qnn_on_the_emulator(tmp_path: Path) -> None:
    """Qualcomm's arithmetic: a quantised detector, as near to the floats as onnxruntime's own CPU provider."""
    pytest.importorskip("onnxruntime_qnn", reason="onnxruntime-qnn is not installed")
    path = models.quantized(tmp_path / "m.onnx")
    x = models.image(9)
    real = nl.OnnxRuntimeEngine(tmp_path / "float_m.onnx").infer(x)
    cpu = nl.OnnxRuntimeEngine(path).infer(x)
    with nl.open_engine(f"qnn:{path}") as engine:
        assert isinstance(engine, nl.QnnEngine)
        found = engine.infer({"image": x})
        for spec in engine.output_specs:
            noise, signal = ((found[spec.name] - real[spec.name]) ** 2).mean(), (real[spec.name] ** 2).mean()
            rounding = ((cpu[spec.name] - real[spec.name]) ** 2).mean()
            assert noise < 2 * rounding + 1e-4 * signal
        assert any((found[name] != cpu[name]).any() for name in found)  # it is another arithmetic
    assert len(check_engine(lambda: nl.QnnEngine(path.read_bytes(), options={"htp_arch": "73"}))) == 9


def test_executorch(tmp_path: Path) -> None:
    pytest.importorskip("executorch.runtime", reason="executorch is not installed")
    path = models.executorch(tmp_path / "m.pte")
    x = np.random.default_rng(0).normal(size=(1, 3, 4, 5)).astype(np.float32)
    with nl.open_engine(path) as engine:
        found = engine.infer(x)
        assert [(s.name, s.shape, s.dtype) for s in engine.output_specs] == [
            ("output0", (1, 3, 4, 5), "float32"),
            ("output1", (1, 4, 5), "float32"),
        ]
        assert np.allclose(engine.output_specs[0].unpack(found["output0"]), 2 * x + 1, atol=1e-6)
        assert np.allclose(engine.output_specs[1].unpack(found["output1"]), x.sum(1), atol=1e-6)
    assert len(check_engine(lambda: nl.ExecuTorchEngine(path, output_names=["twice", "sum"]))) == 9
    with pytest.raises(nl.NpuLayoutError, match="no method 'backward'; it has forward"):
        nl.ExecuTorchEngine(path, method="backward")
    with pytest.raises(nl.NpuLayoutError, match=r"output_names: .* has 2 outputs, got 1 name"):
        nl.ExecuTorchEngine(path, output_names=["one"])
    (tmp_path / "bad.pte").write_bytes(b"no program")
    with pytest.raises(nl.NpuLayoutError, match=r"bad\.pte: cannot be loaded"):
        nl.ExecuTorchEngine(tmp_path / "bad.pte")


def test_tvm(tmp_path: Path) -> None:
    pytest.importorskip("tvm", reason="apache-tvm is not installed")
    path = models.tvm(tmp_path / "m.so")
    x = models.image(3)
    wanted = nl.OnnxRuntimeEngine(tmp_path / "m.onnx").infer(x)
    given = [nl.TensorSpec((1, 3, 64, 64), name="image")]
    with nl.open_engine(f"tvm:{path}", input_specs=given, output_names=["box", "score"]) as engine:
        found = engine.infer(x)
        for spec in engine.output_specs:
            assert np.abs(spec.unpack(found[spec.name]) - wanted[spec.name]).max() < 1e-4
    assert len(check_engine(lambda: nl.TvmEngine(path, input_specs=given))) == 9
    with pytest.raises(nl.NpuLayoutError, match=r"m\.so: cannot be loaded"):
        nl.TvmEngine(path, input_specs=[nl.TensorSpec((1, 3, 8, 8), name="image")])
    with pytest.raises(nl.NpuLayoutError, match="input_specs: expected a TensorSpec with a name"):
        nl.TvmEngine(path, input_specs=[])


@pytest.mark.parametrize(
    "make, package",
    [
        (nl.LiteRtEngine, "ai-edge-litert"),
        (nl.OpenVinoEngine, "openvino"),
        (lambda path: nl.NcnnEngine(path, input_shapes={"in0": (1, 2, 2)}), "ncnn"),
        (nl.MnnEngine, "MNN"),
        (nl.QnnEngine, "onnxruntime-qnn"),
        (nl.ExecuTorchEngine, "executorch"),
        (lambda path: nl.TvmEngine(path, input_specs=[nl.TensorSpec((1, 2), "NC", name="x")]), "apache-tvm"),
    ],
)
def test_a_missing_runtime_says_what_to_install(
    make: object, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("ai_edge_litert", "ai_edge_litert.interpreter", "openvino", "ncnn", "MNN")
    names += ("tflite_runtime.interpreter", "tensorflow.lite.python.interpreter")
    for module in (*names, "onnxruntime_qnn", "executorch", "executorch.runtime", "tvm"):
        monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "m.param").write_text("")
    (tmp_path / "m.bin").write_text("")
    with pytest.raises(nl.NpuLayoutError, match=f"cannot be imported .*; pip install {package}"):
        make(tmp_path / "m.param")  # type: ignore[operator]
    with pytest.raises(nl.NpuLayoutError, match="nowhere: no such file"):
        make(tmp_path / "nowhere")  # type: ignore[operator]
