"""Small models in the formats of runtimes, written by their own schemas and tools, and what each of them computes."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from tests.support import detector

TFLITE = ((0.05, 3), (1 / 256, -128))  #: scale and zero point of its input and output


def tflite(path: Path) -> Path:
    """A sigmoid of int8, (1, 6, 5, 3) -> (1, 6, 5, 3), NHWC: x -> y."""
    import ai_edge_litert.schema_py_generated as schema
    import flatbuffers

    graph = schema.SubGraphT()
    graph.tensors = []
    for name, (scale, zero) in zip("xy", TFLITE):
        tensor, quantization = schema.TensorT(), schema.QuantizationParametersT()
        quantization.scale, quantization.zeroPoint, quantization.quantizedDimension = [scale], [zero], 0
        tensor.name, tensor.shape, tensor.type, tensor.buffer = name, [1, 6, 5, 3], schema.TensorType.INT8, 0
        tensor.quantization = quantization
        graph.tensors.append(tensor)
    code, operator, model = schema.OperatorCodeT(), schema.OperatorT(), schema.ModelT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.LOGISTIC
    code.version = 2
    operator.opcodeIndex, operator.inputs, operator.outputs = 0, [0], [1]
    graph.inputs, graph.outputs, graph.operators = [0], [1], [operator]
    model.version, model.description, model.buffers = 3, "sigmoid", [schema.BufferT()]
    model.subgraphs, model.operatorCodes = [graph], [code]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path


def tflite_postprocess(path: Path, anchors: np.ndarray, classes: int, **options: float) -> Path:
    """TFLite_Detection_PostProcess alone: boxes (1, n, 4) and scores (1, n, 1 + classes) -> its four outputs.

    anchors: (n, 4), centre y, x, height, width.
    """
    import ai_edge_litert.schema_py_generated as schema
    import flatbuffers
    from flatbuffers import flexbuffers

    words = {"num_classes": classes, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0, **options}
    custom = flexbuffers.Builder()
    with custom.Map():
        for name, value in words.items():
            {bool: custom.Bool, int: custom.Int, float: custom.Float}[type(value)](name, value)
    n = len(anchors)
    memory = schema.BufferT()
    memory.data = np.frombuffer(anchors.astype("<f4").tobytes(), np.uint8)
    graph = schema.SubGraphT()
    graph.tensors = []
    shapes = {"boxes": [1, n, 4], "scores": [1, n, 1 + classes], "anchors": [n, 4]}
    for name, shape in {**shapes, "found:0": [], "found:1": [], "found:2": [], "found:3": []}.items():
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.buffer = name, shape, schema.TensorType.FLOAT32, 0
        tensor.buffer = 1 if name == "anchors" else 0
        graph.tensors.append(tensor)
    code, operator, model = schema.OperatorCodeT(), schema.OperatorT(), schema.ModelT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
    code.customCode, code.version = "TFLite_Detection_PostProcess", 1
    operator.opcodeIndex, operator.inputs, operator.outputs = 0, [0, 1, 2], [3, 4, 5, 6]
    operator.customOptions = np.frombuffer(bytes(custom.Finish()), np.uint8)
    graph.inputs, graph.outputs, graph.operators = [0, 1], [3, 4, 5, 6], [operator]
    model.version, model.description, model.buffers = 3, "post-process", [schema.BufferT(), memory]
    model.subgraphs, model.operatorCodes = [graph], [code]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path


def ncnn(path: Path) -> Path:
    """The larger of each element and 0: in0 -> out0, of any shape; rows of 13 have gaps behind their planes."""
    path.write_text("7767517\n3 3\nInput in0 0 1 in0\nReLU relu 1 1 in0 middle\nPermute same 1 1 middle out0 0=0\n")
    path.with_suffix(".bin").write_bytes(b"")
    return path


def onnx(path: Path) -> Path:
    """tests.support.detector: image (1, 3, 64, 64) -> box (1, 64, 8, 8), score (1, 3, 8, 8)."""
    path.write_bytes(detector.detector())
    return path


def mnn(path: Path) -> Path:
    """The same, by MNN's converter."""
    import _tools

    source = onnx(path.with_suffix(".onnx"))
    words = ["mnnconvert", "-f", "ONNX", "--modelFile", str(source), "--MNNModel", str(path), "--bizCode", "test"]
    before = os.getcwd()
    os.chdir(path.parent)  # where it leaves a file
    try:
        _tools.mnnconvert(words)
    finally:
        os.chdir(before)
    return path


def quantized(path: Path) -> Path:
    """The same detector, quantised to QDQ by onnxruntime on some images."""
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        left = 4

        def get_next(self) -> dict[str, np.ndarray] | None:
            self.left -= 1
            return {"image": image(self.left)} if self.left >= 0 else None

    source = onnx(path.with_name(f"float_{path.name}"))
    quantize_static(str(source), str(path), Reader(), activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return path


def executorch(path: Path) -> Path:
    """Twice x + 1 and the sum over the channels, of (1, 3, 4, 5): input0 -> output0, output1."""
    import torch
    from executorch.exir import to_edge_transform_and_lower

    class Network(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return 2 * x + 1, x.sum(1)

    with warnings.catch_warnings():  # torch's own, about itself
        warnings.simplefilter("ignore")
        exported = torch.export.export(Network().eval(), (torch.zeros(1, 3, 4, 5),))
        path.write_bytes(to_edge_transform_and_lower(exported).to_executorch().buffer)
    return path


def tvm(path: Path) -> Path:
    """The detector, compiled by Relax for this processor."""
    import onnx as onnx_package
    import tvm as runtime
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    network = onnx_package.load(str(onnx(path.with_suffix(".onnx"))))
    graph = relax.transform.DecomposeOpsForInference()(from_onnx(network, keep_params_in_input=False))
    runtime.compile(graph, target="llvm").export_library(str(path))
    return path


def image(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((1, 3, 64, 64)).astype(np.float32)
