"""A detector whose answers are known: it finds red, green and blue squares, and says that each has 16 pixels a side."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout import decode

SIDE, STRIDE, CLASSES = 64, 8, 3
HEAD = decode.yolov8(CLASSES, (STRIDE,), activation="sigmoid")
PREPROCESS = {"color": "RGB", "mean": 0.0, "std": 255.0, "resize": "letterbox"}
CELL = 12  #: pixels of the frame: 8 of the input


def detector() -> bytes:
    """3x64x64 of 0 .. 1 -> 64 bins of sides and 3 logits in 8x8 cells: means of 8x8 pixels, and 1x1 convolutions."""
    color = (np.eye(3) * 30 - 10).astype(np.float32).reshape(3, 3, 1, 1)
    sides = np.zeros((4, 16), np.float32)
    sides[:, 1] = 9
    weights = {
        "score_w": color,
        "score_b": np.full(3, -6, np.float32),
        "box_w": np.random.default_rng(0).normal(0, 0.8, (64, 3, 1, 1)).astype(np.float32),
        "box_b": sides.reshape(-1),
    }
    nodes = [helper.make_node("AveragePool", ["image"], ["means"], kernel_shape=[STRIDE] * 2, strides=[STRIDE] * 2)]
    nodes += [helper.make_node("Conv", ["means", f"{name}_w", f"{name}_b"], [name]) for name in ("box", "score")]
    grid = [SIDE // STRIDE] * 2
    graph = helper.make_graph(
        nodes,
        "squares",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, n, *grid])
            for name, n in (("box", 64), ("score", CLASSES))
        ],
        [numpy_helper.from_array(w, name) for name, w in weights.items()],
    )
    opset = [helper.make_opsetid("", 13)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())


def squares(seed: int) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """A BGR frame of 96x48, and (class, row, column) of its squares: no two of them are neighbours."""
    rng = np.random.default_rng(seed)
    frame = np.full((48, 96, 3), 60, np.uint8) + rng.integers(0, 20, (48, 96, 3)).astype(np.uint8)
    found = []
    for column in range(int(rng.integers(0, 3)), 8, 3):
        label, row = int(rng.integers(0, 3)), int(rng.integers(0, 4))
        frame[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL] = 20
        frame[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL, 2 - label] = 230
        found.append((label, row, column))
    return frame, found


def specs(layout: Any = "NCHW16c", dtype: str = "int8") -> dict[str, nl.TensorSpec]:
    grid = (SIDE // STRIDE,) * 2
    given = {"box": (64, nl.Quantization(0.1, -20)), "score": (CLASSES, nl.Quantization(0.2, 20))}
    return {
        name: nl.TensorSpec((1, n, *grid), layout, dtype, quantization=q, name=name) for name, (n, q) in given.items()
    }


def recording(
    frames: int = 6, noise: float = 0.0, declared: dict[str, nl.TensorSpec] | None = None, seed: int = 0
) -> nl.Recording:
    """What an int8 board of NC1HWC2 returns, with noise on its outputs; `declared`: other specs than its own."""
    rng = np.random.default_rng(seed)
    engine, own = nl.OnnxRuntimeEngine(detector(), threads=1), specs()
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **PREPROCESS)
    runs = []
    for i in range(frames):
        frame = squares(seed + i)[0]
        image = preprocess(frame)[0].reshape(1, 3, SIDE, SIDE).copy()
        answer = engine.infer(image)
        noisy = {name: x + rng.normal(0, noise, x.shape).astype(np.float32) for name, x in answer.items()}
        runs.append(({"image": image, "frame": frame}, {name: own[name].pack(x) for name, x in noisy.items()}))
    return nl.Recording(declared or own, runs, {"preprocess": PREPROCESS})
