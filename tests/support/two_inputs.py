"""Models of two or three inputs, and what an accelerator returns that was fed one in another's place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from tests.support.boards import PRE, SIDE, picture

SHAPE = (1, 3, SIDE, SIDE)
MAPS = (1, 12, 12, 12)
Inputs = dict[str, np.ndarray]


def matcher(names: Sequence[str] = ("left", "right"), seed: int = 0) -> bytes:
    """A convolution of each input, with weights of its own, and of all together: "maps"; "first" is of one alone."""
    rng = np.random.default_rng(seed)
    nodes, weights, features = [], [], []

    def conv(source: str, name: str, before: int, stride: int) -> str:
        weight = rng.standard_normal((12, before, 5, 5)) * (2 / (before * 25)) ** 0.5
        weights.append(numpy_helper.from_array(weight.astype(np.float32), f"{name}_w"))
        nodes.append(helper.make_node("Conv", [source, f"{name}_w"], [name], strides=[stride] * 2, pads=[2] * 4))
        return name

    for name in names:
        nodes.append(helper.make_node("Relu", [conv(name, f"of_{name}", 3, 2)], [f"relu_{name}"]))
        features.append(f"relu_{name}")
    nodes.append(helper.make_node("Concat", features, ["both"], axis=1))
    conv("both", "maps", 12 * len(names), 2)
    conv(features[0], "first", 12, 2)
    return _model(nodes, weights, dict.fromkeys(names, SHAPE), {"maps": MAPS, "first": MAPS})


def siamese() -> bytes:
    """Two inputs through one convolution: an output of each."""
    weight = np.random.default_rng(0).standard_normal((12, 3, 5, 5)) / 9
    nodes = [
        helper.make_node("Conv", [source, "w"], [f"of_{source}"], strides=[4, 4], pads=[2] * 4)
        for source in ("left", "right")
    ]
    weights = [numpy_helper.from_array(weight.astype(np.float32), "w")]
    return _model(nodes, weights, {"left": SHAPE, "right": SHAPE}, {"of_left": MAPS, "of_right": MAPS})


def _model(nodes: Any, weights: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> bytes:
    ports = [
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, shape) for k, shape in of.items()]
        for of in (inputs, outputs)
    ]
    graph = helper.make_graph(nodes, "inputs", *ports, weights)
    opset = [helper.make_opsetid("", 13)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())


def pictures(count: int, first: int = 0, pad_value: int = 114) -> list[np.ndarray]:
    """Inputs of `count` unlike pictures."""
    prepare = nl.Preprocessor(nl.TensorSpec(SHAPE), **PRE, pad_value=pad_value)
    return [prepare(picture(first + i))[0].reshape(SHAPE).copy() for i in range(count)]


def recording(
    engine: nl.OnnxRuntimeEngine,
    inputs: Sequence[Inputs],
    fed: Callable[[Inputs], Inputs] = dict,
    noise_db: float = 40,
    specs: Mapping[str, nl.TensorSpec] | None = None,
    recorded: Callable[[Inputs], Inputs] = dict,
    **meta: Any,
) -> nl.Recording:
    """What was recorded of an accelerator that was `fed` something else of the inputs, stored as int8 under noise.

    recorded: what is stored of the inputs, of these `specs`.
    """
    rng, answers = np.random.default_rng(7), []
    for given in inputs:
        answer = engine.infer(fed(given))
        deviation = {name: y.std() * 10 ** (-noise_db / 20) for name, y in answer.items()}
        answers.append({k: (y + rng.normal(0, deviation[k], y.shape)).astype(np.float32) for k, y in answer.items()})
    stored = {}
    for name in answers[0]:
        quantization = nl.engines.calibrate([a[name] for a in answers], "int8")
        layout = "NCHW16c" if answers[0][name].ndim == 4 else "NCW"
        stored[name] = nl.TensorSpec(answers[0][name].shape, layout, "int8", quantization=quantization)
    pairs = [
        (recorded(given), {k: stored[k].pack(y) for k, y in answer.items()}) for given, answer in zip(inputs, answers)
    ]
    return nl.Recording({**stored, **(specs or {})}, pairs, meta)


def embedding(words: int = 50, kinds: int = 2) -> bytes:
    """Two inputs of indices, as language models have them: an index beyond its table is refused."""
    rng = np.random.default_rng(0)
    tables = {"words": words, "kinds": kinds}
    weights = [
        numpy_helper.from_array(rng.standard_normal((n, 16)).astype(np.float32), f"{k}_w") for k, n in tables.items()
    ]
    nodes = [helper.make_node("Gather", [f"{k}_w", k], [f"{k}_v"]) for k in tables]
    nodes.append(helper.make_node("Add", [f"{k}_v" for k in tables], ["tokens"]))
    ports = [helper.make_tensor_value_info(k, TensorProto.INT64, (1, 32)) for k in tables]
    out = helper.make_tensor_value_info("tokens", TensorProto.FLOAT, (1, 32, 16))
    graph = helper.make_graph(nodes, "indices", ports, [out], weights)
    opset = [helper.make_opsetid("", 13)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())
