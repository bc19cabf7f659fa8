"""Small convolutional networks with seeded weights, whose outputs say something: after construction every convolution
is scaled so that each of its channels has mean 0 and deviation 1 over given inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx.shape_inference
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl


class Network:
    """A graph under construction; every method appends a node and returns the name of its result."""

    def __init__(self, seed: int, shape: Sequence[int]) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: dict[str, np.ndarray] = {}
        self.input, self.shape = "image", list(shape)
        self.outputs: list[str] = []
        self._convs: list[tuple[str, str, str, float, float]] = []  # result, weight, bias, deviation, mean
        self._channels = {"image": shape[1]}

    def node(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        name = name or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **attributes))
        return name

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        name = f"constant{len(self.weights)}"
        self.weights[name] = np.asarray(values, dtype)
        return name

    def conv(
        self,
        x: str,
        channels: int,
        kernel: int = 3,
        stride: int = 1,
        act: str = "Relu",
        *,
        mean: float = 0.0,
        std: float = 1.0,
        pad: bool = True,
        name: str = "",
    ) -> str:
        """Convolution and activation; before the activation each channel gets about this mean and deviation."""
        before = self._channels[x]
        weight = self.rng.standard_normal((channels, before, kernel, kernel)).astype(np.float32)
        if x == self.input and before == 3:  # the colours of pictures are alike; what differs has to count
            weight -= 0.75 * weight.mean(1, keepdims=True)
        w, b = self.constant(weight), self.constant(np.zeros(channels))
        border = kernel // 2 if pad else 0
        result = self.node(
            "Conv",
            [x, w, b],
            name if not act else "",
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[border] * 4,
        )
        self._convs.append((result, w, b, std, mean))
        if act:
            result = self.node(act, [result], name)
        self._channels[result] = channels
        return result

    def apply(self, kind: str, x: str, *more: str, name: str = "", **attributes: Any) -> str:
        """A node that keeps the number of channels."""
        result = self.node(kind, [x, *more], name, **attributes)
        self._channels[result] = self._channels[x]
        return result

    def reshape(self, x: str, shape: Sequence[int], name: str = "") -> str:
        return self.node("Reshape", [x, self.constant(shape, np.int64)], name)

    def output(self, *names: str) -> None:
        self.outputs += names

    def model(self, outputs: Sequence[str] | None = None) -> onnx.ModelProto:
        wanted = list(self.outputs if outputs is None else outputs)
        last = max(i for i, node in enumerate(self.nodes) if set(node.output) & set(wanted))
        graph = helper.make_graph(
            self.nodes[: last + 1],
            "network",
            [helper.make_tensor_value_info(self.input, TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in wanted],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return made if outputs is not None else onnx.shape_inference.infer_shapes(made)

    def settle(self, inputs: Sequence[np.ndarray]) -> onnx.ModelProto:
        """Scale every convolution in turn, and return the finished model."""
        for result, w, b, std, mean in self._convs:
            if std == 0:
                self.weights[w] *= 0
                continue
            runs = [r[0] for r in run(self.model([result]).SerializeToString(), inputs)]
            values = np.concatenate([r.transpose(1, 0, 2, 3).reshape(r.shape[1], -1) for r in runs], 1)
            wanted = std * self.rng.uniform(0.6, 1.4, len(values))
            gain = wanted / np.maximum(values.std(1), 1e-6)
            self.weights[w] = (self.weights[w] * gain[:, None, None, None]).astype(np.float32)
            shift = mean + 0.3 * wanted * self.rng.standard_normal(len(values))
            self.weights[b] = (shift - values.mean(1) * gain).astype(np.float32)
        return self.model()


def run(model: bytes, inputs: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """The outputs of a model with one input, for each of `inputs`."""
    engine = nl.OnnxRuntimeEngine(model, threads=1)
    return [list(engine.infer(x).values()) for x in inputs]
