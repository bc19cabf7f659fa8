"""Read an ONNX model's graph: its inputs and outputs, and every tensor in the order in which it is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import NpuLayoutError, RecordingError
from ..support import PathLike, errors_named
from .foreign_files import existing, home_of, read_bytes

Names = tuple[list[str], list[str]]
GRAPH_INPUT = "Input"  # in place of an operator


class GraphTensor(NamedTuple):
    """A tensor that a node computes, or an input of the graph (`op` is GRAPH_INPUT).

    `inputs` are the tensors that its node reads, without weights. `shape` is None if it is unknown, and so is an extent
    of it; `dtype` is numpy's name, "" if it is unknown.
    """

    name: str
    op: str
    node: str
    inputs: tuple[str, ...]
    shape: tuple[int | None, ...] | None
    dtype: str


def onnx_package() -> Any:
    """Return the onnx package; NpuLayoutError if it is missing."""
    try:
        import onnx
    except ImportError as error:
        raise NpuLayoutError(f"onnx cannot be imported ({error}); pip install 'npu-layout[onnx]'") from error
    return onnx


def _proto(model: PathLike) -> tuple[Path, Any]:
    """Return the path of a model and its ModelProto; only the file itself is read."""
    onnx, file = onnx_package(), existing(model)
    with errors_named(file):
        proto, content = onnx.ModelProto(), read_bytes(file, home_of(file))
        try:
            proto.ParseFromString(content)
        except Exception:  # protobuf's own, which has another name in each implementation
            raise RecordingError(f"{file}: expected an ONNX model, got something else") from None
        if not proto.graph.output:
            raise RecordingError(f"{file}: expected an ONNX model, found no outputs")
    return file, proto


def model_names(model: PathLike) -> Names:
    """Return the names of a model's inputs, without initializers, and of its outputs.

    RecordingError if the file is no ONNX model, NpuLayoutError if the onnx package is missing. Only the file itself is
    read.
    """
    _, proto = _proto(model)
    initializers = {tensor.name for tensor in proto.graph.initializer}
    inputs = [port.name for port in proto.graph.input if port.name not in initializers]
    return inputs, [port.name for port in proto.graph.output]


def graph_tensors(model: PathLike) -> list[GraphTensor]:
    """Return the inputs and the computed tensors of a model in topological order; shapes are inferred.

    Constants are left out. A node with a body (If, Loop) counts as one, which reads what its body reads. Errors as
    model_names.
    """
    file, proto = _proto(model)
    with errors_named(file):
        constants = {tensor.name for tensor in proto.graph.initializer}
        constants |= {t.values.name for t in proto.graph.sparse_initializer}
        constants |= {name for node in proto.graph.node if node.op_type == "Constant" for name in node.output}
        known = _described(proto)
        inputs = [port.name for port in proto.graph.input if port.name not in constants]
        found = [GraphTensor(name, GRAPH_INPUT, "", (), *known.get(name, (None, ""))) for name in inputs]
        there = {*inputs}
        for node in _sorted([node for node in proto.graph.node if node.op_type != "Constant"]):
            read = tuple(name for name in dict.fromkeys(_read(node)) if name in there)
            there.update(filter(None, node.output))
            for name in filter(None, node.output):
                found.append(GraphTensor(name, node.op_type, node.name, read, *known.get(name, (None, ""))))
        return found


def _described(proto: Any) -> dict[str, tuple[tuple[int | None, ...] | None, str]]:
    """Return {tensor: its shape, its dtype} as far as the model states or implies them."""
    onnx = onnx_package()
    with suppress(Exception):  # a model of more than 2 GiB, or one with operators that onnx does not know
        proto = onnx.shape_inference.infer_shapes(proto)
    found = {}
    for port in (*proto.graph.value_info, *proto.graph.input, *proto.graph.output):
        kind = port.type.tensor_type
        dims = kind.shape.dim if kind.HasField("shape") else None
        shape = None if dims is None else tuple(d.dim_value if d.HasField("dim_value") else None for d in dims)
        dtype = ""
        with suppress(KeyError, TypeError, ValueError):
            dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
        found[port.name] = (shape, dtype)
    return found


def _sorted(nodes: Sequence[Any]) -> Iterator[Any]:
    """Yield nodes after those that they read; ONNX demands this order, but not every exporter keeps it."""
    pending = {name for node in nodes for name in node.output}
    waiting = list(nodes)
    while waiting:
        later = []
        for node in waiting:
            if pending.isdisjoint(_read(node)):
                pending.difference_update(node.output)
                yield node
            else:
                later.append(node)
        if len(later) == len(waiting):
            raise RecordingError(f"graph: {len(waiting)} nodes read each other's outputs in a circle")
        waiting = later


def _read(node: Any) -> Iterator[str]:
    """Yield the names that a node reads, those of its bodies among them."""
    yield from node.input
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            for inner in body.node:
                yield from _read(inner)
