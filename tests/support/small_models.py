"""ONNX models of a few nodes, made here, for tests alone."""

from __future__ import annotations

import onnx

helper = onnx.helper
FLOAT, INT64, UINT8 = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.INT64,
    onnx.TensorProto.UINT8,
)


def build(nodes, inputs, outputs, initializers=()):
    values = [[helper.make_tensor_value_info(*v) for v in vs] for vs in (inputs, outputs)]
    graph = helper.make_graph(nodes, "tiny", *values, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
