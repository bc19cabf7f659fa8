"""The second input of models that have two: its pictures, and a graph that joins both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from . import pictures

NAMES = ("image", "second")
EXCHANGED = dict(zip(NAMES, NAMES[::-1]))
_KINDS = ("other", "other", "near", "dim")  # the second eye of a stereo pair sees nearly the same picture


def stream(rng: np.random.Generator, images: list[np.ndarray]) -> list[np.ndarray]:
    """A second picture for each of `images`, of their size."""
    kind = str(rng.choice(_KINDS))
    if kind == "near":
        step, noise = int(rng.integers(4, 12)), rng.normal(0, 3, images[0].shape)
        return [np.clip(np.roll(image, step, 1) + noise, 0, 255).astype(np.uint8) for image in images]
    others = pictures.stream(rng, "mixed", len(images), images[0].shape[1::-1])
    return [(image * (0.15 if kind == "dim" else 1)).astype(np.uint8) for image in others]


def join(path: Path) -> None:
    """Give a model on disk, of one input of six channels, two of three each instead."""
    model = onnx.load(str(path))
    graph = model.graph
    (joined,) = graph.input
    n, channels, *size = (d.dim_value for d in joined.type.tensor_type.shape.dim)
    shape = (n, channels // 2, *size)
    for node in graph.node:
        for i, name in enumerate(node.input):
            if name == joined.name:
                node.input[i] = "joined"
    del graph.input[:]
    graph.input.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in NAMES)
    graph.node.insert(0, helper.make_node("Concat", list(NAMES), ["joined"], axis=1))
    onnx.save(model, str(path))
