"""LiteRT on the CPU (reference kernels and XNNPACK): int8 in and out, NHWC inside, written by its schema."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import npu_layout as nl
from npu_layout.engines import calibrate

from . import Device, Runtime, integers, reals

LAST = (0, 2, 3, 1)  # NCHW -> NHWC


class Writer:
    """A flatbuffer under construction; one operator for each ONNX node, with what it needs before it.

    `index`: {ONNX tensor: tensor here}; `first`: those of four axes that have the channels first, as in ONNX.
    """

    def __init__(self, ranges: dict[str, tuple[float, float]], apart: Sequence[str]) -> None:
        import ai_edge_litert.schema_py_generated as schema

        self.s, self.ranges, self.apart = schema, ranges, apart
        self.model = schema.ModelT()
        self.model.version, self.model.description = 3, "zoo"
        self.graph = schema.SubGraphT()
        self.model.subgraphs, self.model.operatorCodes = [self.graph], []
        self.model.buffers = [schema.BufferT()]
        self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = [], [], [], []
        self.index: dict[str, int] = {}
        self.first: set[int] = set()

    def tensor(self, shape: Sequence[int], dtype: str, q: Any = None, data: np.ndarray | None = None) -> int:
        """`q`: (scales, zero points, axis)."""
        t = self.s.TensorT()
        t.shape, t.name = [int(n) for n in shape], f"t{len(self.graph.tensors)}"
        t.type = {"int8": 9, "int32": 2, "float32": 0}[dtype]
        if q is not None:
            t.quantization = self.s.QuantizationParametersT()
            t.quantization.scale, t.quantization.zeroPoint, t.quantization.quantizedDimension = q
        if data is not None:
            buffer = self.s.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            t.buffer = len(self.model.buffers) - 1
        self.graph.tensors.append(t)
        return len(self.graph.tensors) - 1

    def op(self, kind: str, inputs: Sequence[int], output: int, options: str = "", **fields: Any) -> int:
        code = getattr(self.s.BuiltinOperator, kind)
        codes = self.model.operatorCodes
        at = next((i for i, c in enumerate(codes) if c.builtinCode == code), len(codes))
        if at == len(codes):
            codes.append(self.s.OperatorCodeT())
            codes[at].builtinCode, codes[at].deprecatedBuiltinCode, codes[at].version = (
                code,
                min(code, 127),
                1 if kind == "RESHAPE" else 3,
            )
        operator = self.s.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = at, list(inputs), [output]
        if options:
            operator.builtinOptions = getattr(self.s, f"{options}T")()
            operator.builtinOptionsType = getattr(self.s.BuiltinOptions, options)
            for field, value in fields.items():
                setattr(operator.builtinOptions, field, value)
        self.graph.operators.append(operator)
        return output

    def grid(self, name: str) -> Any:
        """The quantisation of an ONNX tensor, by its range."""
        q = calibrate(list(self.ranges[name]), "int8")
        return [float(q.scale)], [int(q.zero_point)], 0  # type: ignore[union-attr,arg-type]

    def of(self, t: int) -> Any:
        q = self.graph.tensors[t].quantization
        return None if q is None else (q.scale, q.zeroPoint, q.quantizedDimension)

    def shape(self, t: int) -> list[int]:
        return list(self.graph.tensors[t].shape)

    def moved(self, t: int, perm: Sequence[int]) -> int:
        shape = [self.shape(t)[k] for k in perm]
        result = self.tensor(shape, "int8", self.of(t))
        order = self.tensor([len(perm)], "int32", data=np.array(perm, np.int32))
        return self.op("TRANSPOSE", [t, order], result, "TransposeOptions")

    def last(self, t: int) -> int:
        """As NHWC, if it has four axes."""
        return self.moved(t, LAST) if t in self.first else t

    def plain(self, t: int) -> int:
        """In the order of ONNX."""
        if len(self.shape(t)) != 4 or t in self.first:
            return t
        result = self.moved(t, (0, 3, 1, 2))
        self.first.add(result)
        return result

    def conv(self, x: int, node: Any, weights: dict[str, np.ndarray], attributes: dict[str, Any], relu: str) -> int:
        x = self.last(x)
        kernel, stride, pad = attributes["kernel_shape"], attributes["strides"], attributes["pads"]
        apart = attributes.get("dilations", [1, 1])
        if attributes.get("group", 1) != 1:
            raise NotImplementedError("a convolution of groups")
        shape = self.shape(x)
        if any(pad):
            pads = np.array([[0, 0], [pad[0], pad[2]], [pad[1], pad[3]], [0, 0]], np.int32)
            shape = [n + int(p.sum()) for n, p in zip(shape, pads)]
            padded = self.tensor(shape, "int8", self.of(x))
            x = self.op("PAD", [x, self.tensor([4, 2], "int32", data=pads)], padded, "PadOptions")
        w = weights[node.input[1]].transpose(LAST)
        scales = np.maximum(np.abs(w).reshape(len(w), -1).max(1), 1e-8) / 127
        codes = np.rint(w / scales[:, None, None, None]).astype(np.int8)
        w_t = self.tensor(w.shape, "int8", (scales.tolist(), [0] * len(w), 0), codes)
        both = scales * self.of(x)[0][0]
        bias = weights[node.input[2]] if len(node.input) > 2 else np.zeros(len(w))
        b_t = self.tensor([len(w)], "int32", (both.tolist(), [0] * len(w), 0), np.rint(bias / both).astype(np.int32))
        size = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(shape[1:3], kernel, stride, apart)]
        result = self.tensor([1, *size, len(w)], "int8", self.grid(relu or node.output[0]))
        return self.op("CONV_2D", [x, w_t, b_t], result, "Conv2DOptions", padding=1, strideH=stride[0],
                       strideW=stride[1], dilationHFactor=apart[0], dilationWFactor=apart[1],
                       fusedActivationFunction=1 if relu else 0)  # fmt: skip

    def float_(self, t: int) -> int:
        result = self.tensor(self.shape(t), "float32")
        if t in self.first:
            self.first.add(result)
        return self.op("DEQUANTIZE", [t], result)


class Converter(Writer):
    """What becomes of each kind of node: a method of its name."""

    def node(self, node: Any, weights: dict[str, np.ndarray], attributes: dict[str, Any], relu: str) -> None:
        if node.op_type == "Conv":
            result = self.conv(self.index[node.input[0]], node, weights, attributes, relu)
        else:
            result = getattr(self, f"_{node.op_type.lower()}")(node, weights, attributes)
        self.index[relu or node.output[0]] = result

    def _sigmoid(self, node: Any, weights: Any, attributes: Any, kind: str = "LOGISTIC", scale: float = 1 / 256,
                 zero: int = -128) -> int:  # fmt: skip
        x = self.index[node.input[0]]
        result = self.tensor(self.shape(x), "int8", ([scale], [zero], 0))
        if x in self.first:
            self.first.add(result)
        return self.op(kind, [x], result)

    def _tanh(self, node: Any, weights: Any, attributes: Any) -> int:
        return self._sigmoid(node, weights, attributes, "TANH", 1 / 128, 0)

    def _identity(self, node: Any, weights: Any, attributes: Any) -> int:
        return self.index[node.input[0]]

    def _concat(self, node: Any, weights: Any, attributes: Any) -> int:
        parts, axis = [self.index[name] for name in node.input], attributes["axis"]
        if len(self.shape(parts[0])) == 4:
            parts, axis = [self.last(t) for t in parts], {1: 3, 2: 1, 3: 2}[axis]
        shape = self.shape(parts[0])
        shape[axis] = sum(self.shape(t)[axis] for t in parts)
        if node.output[0] in self.apart:
            parts, result = [self.float_(t) for t in parts], self.tensor(shape, "float32")
        else:
            q = self.grid(node.output[0])
            parts = [self.op("QUANTIZE", [t], self.tensor(self.shape(t), "int8", q)) for t in parts]
            result = self.tensor(shape, "int8", q)
        return self.op("CONCATENATION", parts, result, "ConcatenationOptions", axis=axis)

    def _reshape(self, node: Any, weights: Any, attributes: Any) -> int:
        return self._shaped(self.plain(self.index[node.input[0]]), weights[node.input[1]].tolist())

    def _flatten(self, node: Any, weights: Any, attributes: Any) -> int:
        x = self.plain(self.index[node.input[0]])
        return self._shaped(x, [1, int(np.prod(self.shape(x)))])

    def _shaped(self, x: int, shape: Sequence[int]) -> int:
        result = self.tensor(shape, "int8", self.of(x))
        wanted = self.tensor([len(shape)], "int32", data=np.array(shape, np.int32))
        return self.op("RESHAPE", [x, wanted], result, "ReshapeOptions", newShape=list(shape))

    def _transpose(self, node: Any, weights: Any, attributes: Any) -> int:
        x, perm = self.index[node.input[0]], attributes["perm"]
        if self.graph.tensors[x].type == 0:
            shape = [self.shape(x)[k] for k in perm]
            order = self.tensor([len(perm)], "int32", data=np.array(perm, np.int32))
            return self.op("TRANSPOSE", [x, order], self.tensor(shape, "float32"), "TransposeOptions")
        result = self.moved(self.plain(x), perm)
        if len(perm) == 4:
            self.first.add(result)
        return result

    def _averagepool(self, node: Any, weights: Any, attributes: Any) -> int:
        x, (kh, kw), (sh, sw) = self.last(self.index[node.input[0]]), attributes["kernel_shape"], attributes["strides"]
        n, h, w, c = self.shape(x)
        result = self.tensor([n, (h - kh) // sh + 1, (w - kw) // sw + 1, c], "int8", self.of(x))
        return self.op("AVERAGE_POOL_2D", [x], result, "Pool2DOptions", padding=1, strideH=sh, strideW=sw,
                       filterHeight=kh, filterWidth=kw)  # fmt: skip

    def _resize(self, node: Any, weights: Any, attributes: Any) -> int:
        x = self.last(self.index[node.input[0]])
        n, h, w, c = self.shape(x)
        size = np.array([h, w] * weights[node.input[2]][2:], np.int32)
        result = self.tensor([n, *size.tolist(), c], "int8", self.of(x))
        wanted = self.tensor([2], "int32", data=size)
        return self.op("RESIZE_BILINEAR", [x, wanted], result, "ResizeBilinearOptions", halfPixelCenters=True)

    def _slice(self, node: Any, weights: Any, attributes: Any) -> int:
        x = self.index[node.input[0]]
        start, end, axis = (int(weights[name][0]) for name in node.input[1:4])
        shape, begin = self.shape(x), np.zeros(len(self.shape(x)), np.int32)
        begin[axis], shape[axis] = start, min(end, shape[axis]) - start
        ends = [self.tensor([len(shape)], "int32", data=np.array(v, np.int32)) for v in (begin, shape)]
        return self.op("SLICE", [x, *ends], self.tensor(shape, "int8", self.of(x)), "SliceOptions")

    def _binary(self, kind: str, node: Any, weights: Any) -> int:
        parts = []
        for name in node.input:
            if name in weights:
                value = float(weights[name].reshape(-1)[0])
                data = np.array([127 if value > 0 else -127], np.int8)
                parts.append(self.tensor([1], "int8", ([abs(value) / 127 or 1.0], [0], 0), data))
            else:
                parts.append(self.last(self.index[name]))
        shape = max((self.shape(t) for t in parts), key=len)
        result = self.tensor(shape, "int8", self.grid(node.output[0]))
        return self.op(kind, parts, result, f"{kind.title()}Options")

    def _add(self, node: Any, weights: Any, attributes: Any) -> int:
        return self._binary("ADD", node, weights)

    def _mul(self, node: Any, weights: Any, attributes: Any) -> int:
        return self._binary("MUL", node, weights)


def _ranges(graph: Any, inputs: Sequence[np.ndarray]) -> dict[str, tuple[float, float]]:
    """Lowest and highest value of every tensor of an ONNX model."""
    import onnx

    from ..networks import run

    every = onnx.ModelProto()
    every.CopyFrom(graph)
    del every.graph.output[:]
    names = [name for node in every.graph.node for name in node.output]
    every.graph.output.extend(onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in names)
    answers = zip(*run(every.SerializeToString(), inputs))
    found = {name: (min(float(v.min()) for v in a), max(float(v.max()) for v in a)) for name, a in zip(names, answers)}
    entrance = every.graph.input[0].name
    return {**found, entrance: (min(float(x.min()) for x in inputs), max(float(x.max()) for x in inputs))}


def compiled(model: Any, inputs: Sequence[np.ndarray], folder: Path) -> None:
    import flatbuffers
    import onnx

    from ..models import KINDS

    source = onnx.load(model.path)
    graph, entrance = source.graph, source.graph.input[0].name
    weights = {w.name: onnx.numpy_helper.to_array(w) for w in graph.initializer}
    writer = Converter(_ranges(source, inputs), KINDS[model.name].apart)
    n, c, h, w = model.shape
    writer.index[entrance] = writer.tensor((n, h, w, c), "int8", writer.grid(entrance))
    writer.graph.inputs = [writer.index[entrance]]
    skipped = ""
    for node, after in zip(graph.node, [*graph.node[1:], None]):
        if node.output[0] == skipped:
            continue
        users = [other for other in graph.node if node.output[0] in other.input]
        fused = node.op_type == "Conv" and len(users) == 1 and users[0] is after and after.op_type == "Relu"
        skipped = after.output[0] if fused else ""
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        writer.node(node, weights, attributes, skipped)
    writer.graph.outputs = [writer.index[output.name] for output in graph.output]
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(writer.model.Pack(builder), file_identifier=b"TFL3")
    (folder / "model.tflite").write_bytes(bytes(builder.Output()))
    channels_last = [int(t not in writer.first) for t in writer.graph.outputs]
    rows = [f"{name} {last}" for name, last in zip(model.outputs, channels_last)]
    (folder / "outputs.txt").write_text("\n".join(rows))


def opened(kernels: str, folder: Path) -> Device:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = getattr(OpResolverType, kernels)
    network = Interpreter(str(folder / "model.tflite"), num_threads=1, experimental_op_resolver_type=resolver)
    network.allocate_tensors()
    entrance = network.get_input_details()[0]
    rows = [line.split() for line in (folder / "outputs.txt").read_text().splitlines()]
    exits = dict(zip([name for name, _ in rows], network.get_output_details()))
    last = {name for (name, flag), e in zip(rows, exits.values()) if int(flag) and len(e["shape"]) == 4}

    def spec(about: dict[str, Any], name: str, layout: str) -> nl.TensorSpec:
        scale, zero = about["quantization"]
        shape = [int(n) for n in about["shape"]]
        shape = [shape[k] for k in (0, 3, 1, 2)] if layout == "NHWC" else shape
        return nl.TensorSpec(shape, layout, "int8", quantization=nl.Quantization(scale, zero), name=name)

    layouts = {4: "NCHW", 3: "NCW", 2: "NC"}
    fed = spec(entrance, "image", "NHWC")
    codes = {
        name: spec(e, name, "NHWC" if name in last else layouts[len(e["shape"])])
        for name, e in exits.items()
        if e["dtype"] == np.int8
    }

    def infer(x: np.ndarray) -> dict[str, np.ndarray]:
        network.set_tensor(entrance["index"], integers(x.transpose(LAST), fed))
        network.invoke()
        found = {}
        for name, e in exits.items():
            answer = network.get_tensor(e["index"])
            answer = reals(answer, codes[name].quantization) if name in codes else answer
            found[name] = np.ascontiguousarray(answer.transpose(0, 3, 1, 2) if name in last else answer, np.float32)
        return found

    return Device(infer, codes, fed)


PACKAGES = {"ai_edge_litert": "ai-edge-litert", "flatbuffers": "flatbuffers"}
RUNTIMES = {
    "litert-int8": Runtime(PACKAGES, compiled, partial(opened, "AUTO")),
}
