"""A model's tensors come in topological order with what they read, and bodies and constants do not disturb."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout.exchange.onnx_graph import GRAPH_INPUT, graph_tensors, model_names
from tests.support.layer_dumps import network
from tests.support.paths import SAMPLES


def port(name: str, *shape: object) -> object:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def saved(folder: Path, nodes: list[object], inputs: list[object], outputs: list[object], *weights: object) -> Path:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    path = folder / "model.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString())
    return path


def test_order_shapes_and_inputs(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(network())
    found = {tensor.name: tensor for tensor in graph_tensors(path)}
    assert next(iter(found)) == "image" and found["image"].op == GRAPH_INPUT and found["image"].inputs == ()
    conv = found["/body.0/conv/out"]
    assert conv[1:] == ("Conv", "/body.0/Conv", ("image",), (1, 8, 16, 12), "float32")
    assert found["gated"].inputs == ("/body.2/relu/out", "gate") and found["labels"].dtype == "int64"
    assert model_names(path) == (["image"], ["scores", "labels"])
    assert len(graph_tensors(SAMPLES / "models" / "pose.onnx")) > 50


def test_nodes_in_any_order_free_axes_and_constants(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones(3, np.float32), "w")
    constant = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.ones(3, np.float32)))
    nodes = [
        helper.make_node("Mul", ["y", "c"], ["z"]),
        constant,
        helper.make_node("Add", ["x", "w"], ["y"], "add"),
    ]
    path = saved(tmp_path, nodes, [port("x", "batch", 3), port("w", 3)], [port("z", "batch", 3)], weight)
    names = [(tensor.name, tensor.inputs, tensor.shape) for tensor in graph_tensors(path)]
    assert names == [("x", (), (None, 3)), ("y", ("x",), (None, 3)), ("z", ("y",), (None, 3))]
    circle = [helper.make_node("Neg", ["q"], ["p"]), helper.make_node("Neg", ["p"], ["q"])]
    with pytest.raises(nl.RecordingError, match="2 nodes read each other's outputs in a circle"):
        graph_tensors(saved(tmp_path, circle, [port("x", 3)], [port("q", 3)]))


def test_a_body_reads_what_is_outside(tmp_path: Path) -> None:
    inner = helper.make_graph([helper.make_node("Neg", ["y"], ["r"])], "then", [], [port("r", 3)])
    other = helper.make_graph([helper.make_node("Abs", ["y"], ["s"])], "else", [], [port("s", 3)])
    condition = helper.make_tensor_value_info("when", TensorProto.BOOL, [])
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("If", ["when"], ["z"], then_branch=inner, else_branch=other),
    ]
    found = graph_tensors(saved(tmp_path, nodes, [port("x", 3), condition], [port("z", 3)]))
    assert found[-1].inputs == ("when", "y")


def test_what_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.onnx").write_bytes(b"not a model at all")
    (tmp_path / "empty.onnx").write_bytes(b"")
    for name, says in (("text", "expected an ONNX model, got"), ("empty", "found no outputs"), ("gone", "got nothing")):
        with pytest.raises(nl.RecordingError, match=says):
            graph_tensors(tmp_path / f"{name}.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(nl.NpuLayoutError, match=r"onnx cannot be imported .*pip install 'npu-layout\[onnx\]'"):
        graph_tensors(tmp_path / "empty.onnx")
