"""Models that end in one operator, and what a device with another ending returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper

import npu_layout as nl


def ending(
    shape: tuple[int, ...], op: str = "Identity", out: tuple[int, ...] | None = None, **attributes: Any
) -> bytes:
    """A model of one operator, x to y."""
    kind = TensorProto.INT64 if op == "ArgMax" else TensorProto.FLOAT
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", kind, out or shape)
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], **attributes)], "ending", [x], [y])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(made.SerializeToString())


def smooth(shape: tuple[int, ...], frames: int = 6, seed: int = 0) -> list[np.ndarray]:
    """Tensors whose neighbours along the last two axes are alike, of deviation 2."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(frames):
        x = rng.normal(size=shape)
        for axis in range(max(2, len(shape) - 2), len(shape)):
            x = x + np.roll(x, 1, axis) + np.roll(x, 2, axis)
        made.append((2 * x / x.std()).astype(np.float32))
    return made


def verdict(
    model: bytes,
    inputs: list[np.ndarray],
    device: Callable[[np.ndarray, np.ndarray], np.ndarray],
    db: float = 40,
    dtype: str = "float32",
    seed: int = 1,
) -> nl.OutputReport:
    """What is said of a device that returns a function of (input, model's output), with noise of so many dB below."""
    engine, rng = nl.OnnxRuntimeEngine(model, threads=1), np.random.default_rng(seed)
    values = []
    for x in inputs:
        y = np.asarray(device(x, engine.infer(x)["y"]), np.float64)
        values.append((y + rng.normal(size=y.shape) * y.std() * 10 ** (-db / 20)).astype(np.float32))
    letters = {1: "N", 2: "NC", 3: "NCW", 4: "NCHW"}[values[0].ndim]
    spec = nl.TensorSpec(values[0].shape, letters, dtype, name="y", quantization=nl.engines.calibrate(values, dtype))
    frames = [({"x": x}, {"y": spec.pack(v)}) for x, v in zip(inputs, values)]
    return nl.validate(nl.Recording({"y": spec}, frames), engine).outputs["y"]
