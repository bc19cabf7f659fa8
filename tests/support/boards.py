"""Models, and what an accelerator returns for them: recordings for the tests of the proof."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl

PRE = {"color": "RGB", "mean": [120.0, 115.0, 100.0], "std": [60.0, 58.0, 57.0], "resize": "letterbox"}
SIDE, CHANNELS = 48, 19
SHAPE = (1, CHANNELS, 12, 12)


def network(outputs: tuple[str, ...] = ("maps",), seed: int = 0) -> bytes:
    """Three convolutions of random weights, 3x48x48 -> 19x12x12 for each output."""
    rng = np.random.default_rng(seed)
    nodes, weights, last = [], [], "image"

    def conv(name: str, source: str, n: int, k: int, stride: int) -> None:
        channels = sizes[source]
        w = rng.standard_normal((n, channels, k, k)) * (2 / (channels * k * k)) ** 0.5
        weights.append(numpy_helper.from_array(w.astype(np.float32), name + "_w"))
        weights.append(numpy_helper.from_array(rng.standard_normal(n).astype(np.float32) * 0.3, name + "_b"))
        nodes.append(
            helper.make_node(
                "Conv", [source, name + "_w", name + "_b"], [name], strides=[stride] * 2, pads=[k // 2] * 4
            )
        )
        sizes[name] = n

    sizes = {"image": 3}
    for i, (n, stride) in enumerate(((16, 2), (24, 2))):
        conv(f"c{i}", last, n, 5, stride)
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        last = f"r{i}"
        sizes[last] = n
    for name in outputs:
        conv(name, last, CHANNELS, 3, 1)
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in outputs],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def picture(seed: int) -> np.ndarray:
    """A frame of soft coloured blobs, BGR, 60 x 90."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (5, 8, 3)).astype(np.uint8)
    return np.ascontiguousarray(cv2.resize(small, (90, 60), interpolation=cv2.INTER_CUBIC))


class Board:
    """A model, frames, and what an accelerator would say of them."""

    def __init__(self, frames: int = 8, **network_arguments: Any) -> None:
        self.engine = nl.OnnxRuntimeEngine(network(**network_arguments), threads=1)
        self.frames = [picture(i) for i in range(frames)]
        self.preprocessor = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **PRE)
        self.inputs = [self.preprocessor(f)[0].reshape(1, 3, SIDE, SIDE).copy() for f in self.frames]
        self.answers = [self.engine.infer(x) for x in self.inputs]
        everything = [a for answer in self.answers for a in answer.values()]
        quantization = nl.engines.calibrate(everything, "int8")
        assert quantization is not None
        self.spec = nl.TensorSpec(SHAPE, "NCHW16c", "int8", quantization=quantization)

    def recording(self, declared: Any = None, outputs: Any = None, **meta: Any) -> nl.Recording:
        """outputs: of each frame {name: flat buffer}, or None: as the accelerator packs them."""
        names = list(self.answers[0])
        specs = declared if isinstance(declared, dict) else {name: declared or self.spec for name in names}
        given = outputs or [{name: self.spec.pack(a[name]) for name in names} for a in self.answers]
        frames = [({"image": x, "frame": f}, o) for x, f, o in zip(self.inputs, self.frames, given)]
        return nl.Recording(specs, frames, {"preprocess": PRE, **meta})

    def packed(self, spec: nl.TensorSpec) -> list[dict[str, np.ndarray]]:
        return [{"maps": spec.pack(a["maps"])} for a in self.answers]

    def changed(self, change: Any) -> list[dict[str, np.ndarray]]:
        return [{"maps": self.spec.pack(np.ascontiguousarray(change(a["maps"])))} for a in self.answers]

    def fed(self, change: Any) -> list[dict[str, np.ndarray]]:
        return [{"maps": self.spec.pack(self.engine.infer(change(x))["maps"])} for x in self.inputs]

    def verdict(self, recording: nl.Recording, **tolerances: Any) -> nl.OutputReport:
        return nl.validate(recording, self.engine, **tolerances).outputs["maps"]

    def reads(self, spec: nl.TensorSpec, buffers: list[dict[str, np.ndarray]]) -> bool:
        """Whether `spec` gives what the model said, to 2 % of its range."""
        return all(
            np.abs(spec.unpack(b["maps"]) - a["maps"]).max() < 0.02 * np.ptp(a["maps"])
            for a, b in zip(self.answers, buffers)
        )


def spec_as(board: Board, layout: str = "NCHW16c", dtype: str = "int8", **more: Any) -> nl.TensorSpec:
    return nl.TensorSpec(SHAPE, layout, dtype, **{"quantization": board.spec.quantization, **more})


def same(shape: tuple[int, ...]) -> bytes:
    """A model that gives what it gets."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(made.SerializeToString())


def slices(x: list[int], **ends: list[int]) -> bytes:
    """A model that gives the beginning of its input, up to other ends."""
    zero = numpy_helper.from_array(np.zeros(len(x), np.int64), "zero")
    lengths = [numpy_helper.from_array(np.array(end, np.int64), f"to_{k}") for k, end in ends.items()]
    nodes = [helper.make_node("Slice", ["x", "zero", f"to_{k}"], [k]) for k in ends]
    ports = [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in {"x": x, **ends}.items()]
    graph = helper.make_graph(nodes, "slices", ports[:1], ports[1:], [zero, *lengths])
    opset = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def ending(operator: str, *constants: float) -> bytes:
    """network(), and an operator behind its maps."""
    model = onnx.load_from_string(network())
    graph = model.graph
    graph.node[-1].output[0] = "raw"
    names = [f"k{i}" for i in range(len(constants))]
    graph.initializer.extend(numpy_helper.from_array(np.float32([c]), k) for k, c in zip(names, constants))
    graph.node.append(helper.make_node(operator, ["raw", *names], ["maps"]))
    return model.SerializeToString()
