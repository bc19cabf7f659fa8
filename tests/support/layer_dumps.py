"""A network, the values of its every tensor, and dumps of them as tools write them, for tests alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl

Layers = dict[str, np.ndarray]


def network(seed: int = 0, channels: tuple[int, ...] = (8, 12, 16), shape: tuple[int, ...] = (1, 3, 16, 12)) -> bytes:
    """Convolutions with ReLU, a branch that is added, a global mean, a matrix and a softmax; names with slashes."""
    rng = np.random.default_rng(seed)
    nodes, weights, last, before = [], [], "image", shape[1]

    def weight(name: str, *extents: int) -> str:
        values = rng.standard_normal(extents) * (2 / max(np.prod(extents[1:]), 1)) ** 0.5
        weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    for i, count in enumerate(channels):
        w, b = weight(f"w{i}", count, before, 3, 3), weight(f"b{i}", count)
        nodes.append(helper.make_node("Conv", [last, w, b], [f"/body.{i}/conv/out"], f"/body.{i}/Conv", pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"/body.{i}/conv/out"], [f"/body.{i}/relu/out"], f"/body.{i}/Relu"))
        last, before = f"/body.{i}/relu/out", count
    nodes.append(helper.make_node("Sigmoid", [last], ["gate"], "Gate"))
    nodes.append(helper.make_node("Mul", [last, "gate"], ["gated"], "Mul"))
    nodes.append(helper.make_node("GlobalAveragePool", ["gated"], ["mean"], "Mean"))
    nodes.append(helper.make_node("Flatten", ["mean"], ["flat"], "Flatten"))
    nodes.append(helper.make_node("Gemm", ["flat", weight("w_out", before, 10)], ["logits"], "Gemm"))
    nodes.append(helper.make_node("Softmax", ["logits"], ["scores"], "Softmax"))
    nodes.append(helper.make_node("ArgMax", ["gated"], ["labels"], "ArgMax", axis=1))
    ports = [("scores", TensorProto.FLOAT, [shape[0], 10]), ("labels", TensorProto.INT64, [shape[0], 1, *shape[2:]])]
    outputs = [helper.make_tensor_value_info(*port) for port in ports]
    graph = helper.make_graph(
        nodes, "layers", [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)], outputs, weights
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(made)
    return made.SerializeToString()


def layers_of(model: bytes, seed: int = 0) -> Layers:
    """Return the values of every tensor that onnxruntime computes for a random picture, and the picture."""
    proto = onnx.ModelProto.FromString(model)
    computed = [name for node in proto.graph.node for name in node.output]
    shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]
    del proto.graph.output[:]
    proto.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in computed)
    image = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    name = proto.graph.input[0].name
    return {name: image, **nl.OnnxRuntimeEngine(proto.SerializeToString(), threads=1).infer({name: image})}


def rerun(model: bytes, spoil: dict[str, Any], seed: int = 0) -> Layers:
    """Return the values of every tensor if those in `spoil` go through a function; what follows reads its result."""
    proto = onnx.ModelProto.FromString(model)
    session = onnx.reference.ReferenceEvaluator
    values = {k: np.asarray(v) for k, v in layers_of(model, seed).items() if k == proto.graph.input[0].name}
    values = {k: np.asarray(spoil[k](v) if k in spoil else v) for k, v in values.items()}
    held = {w.name: numpy_helper.to_array(w) for w in proto.graph.initializer}
    for node in proto.graph.node:
        inputs = {name: (held | values)[name] for name in node.input}
        for name, value in zip(node.output, session(node).run(None, inputs)):
            values[name] = np.asarray(spoil[name](value) if name in spoil else value)
    return values


def eight_bits(x: np.ndarray) -> np.ndarray:
    """Return real values as 8 bits over the range of all of them would have them."""
    if x.dtype.kind != "f":
        return x
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    step = (high - low) / 255 or 1.0
    return (np.round(x / step) * step).astype(x.dtype)


def quantised(model: bytes, seed: int = 0) -> Layers:
    """Return the values of every tensor of a network that rounds each to 8 bits."""
    names = [name for node in onnx.ModelProto.FromString(model).graph.node for name in node.output]
    return rerun(model, dict.fromkeys(["image", *names], eight_bits), seed)


def channels_last(x: np.ndarray) -> np.ndarray:
    """Return an array of four axes with the channels last, as a C array; others unchanged."""
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if x.ndim == 4 else x


def sanitized(name: str) -> str:
    """Return a name as Qualcomm's tools write it."""
    found = re.sub(r"\W+", "_", name, flags=re.ASCII)
    return found if found[0].isalpha() or found[0] == "_" else f"_{found}"


def as_npy(layers: Layers, folder: Path) -> Path:
    """Write a folder of .npy; the slashes of a name become folders."""
    for name, array in layers.items():
        file = folder / f"{name.strip('/')}.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, array)
    return folder


def as_qairt(layers: Layers, folder: Path, number: int = 0, suffix: str = "") -> Path:
    """Write what qnn-net-run --debug would: float32 in NHWC, in Result_N; the rest (a suffix) as it is."""
    home = folder / f"Result_{number}"
    home.mkdir(parents=True)
    for name, array in layers.items():
        stored = channels_last(array) if suffix else channels_last(array).astype(np.float32)
        (home / f"{sanitized(name)}{suffix}.raw").write_bytes(stored.tobytes())
    return folder
