"""Class numbers are equal or not, and nothing in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout.comparison.labels import Labels


def test_labels_are_no_quantities() -> None:
    """Two classes exchanged are a fault, however near their numbers; a few others at borders are none."""
    shape = (1, 1, 24, 32)
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT64)],
        "labels",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.INT64, shape)],
    )
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    spec = nl.TensorSpec(shape, "NHWC", "uint8", name="y")
    rng = np.random.default_rng(4)
    maps = [rng.integers(0, 21, shape) for _ in range(12)]

    def judged(device: Any) -> Any:
        frames = [({"x": m.astype(np.float32)}, {"y": spec.pack(device(m))}) for m in maps]
        return nl.validate(nl.Recording({"y": spec}, frames), model).outputs["y"]

    same = judged(lambda m: m)
    assert same.verdict == "match" and same.why == f"All {12 * maps[0].size} labels are the model's.", str(same)
    healthy = judged(lambda m: np.where(rng.random(shape) < 0.02, rng.integers(0, 21, shape), m))
    assert healthy.verdict == "match" and 0.97 < healthy.figures.argmax_agreement < 0.99, str(healthy)
    swapped = judged(lambda m: np.select([m == 7, m == 8], [8, 7], m))
    assert swapped.verdict == "mismatch" and "7 as 8 (100 %), 8 as 7 (100 %)." in swapped.why, str(swapped)
    assert f"argmax agrees at {100 * np.mean([(m != 7) & (m != 8) for m in maps]):.1f} %" in str(swapped)


def test_labels_of_any_size() -> None:
    """Others of the device's than are counted are one; where the model's are many they are numbers."""
    labels = Labels()
    few, many = np.zeros((4, 100), int), np.arange(400).reshape(4, 100)
    labels.add(np.full((4, 100), 2**40), few)
    assert labels.confused() == [] and labels.equal == 0
    labels.add(np.full((4, 300), 7), np.zeros((4, 300), int))
    assert labels.confused() == [(0, 7, 0.75)]
    labels.add(many, many)
    assert labels.confused() == [] and labels.equal == 400
    labels.add(few, few + 2**40)
    assert labels.confused() == [] and labels.places == 2400
