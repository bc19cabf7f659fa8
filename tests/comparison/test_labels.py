"""Class numbers are equal or not, and nothing in between."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout.comparison.labels import Labels
from tests.support.endings import ending


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


def test_counts_and_shares() -> None:
    """Against counting by hand: more than half of at least 16 places, whichever the labels are."""
    labels = Labels()
    labels.add(np.zeros(0), np.zeros(0))
    assert (labels.equal, labels.places, labels.confused()) == (0, 0, [])
    model = np.repeat([-1, 3, 5, 8, 1022], [16, 15, 20, 20, 40])
    device = model.copy()
    device[:9] = 7  # 9 of 16 of -1
    device[16:31] = 4  # all of the 15: too few
    device[31:41] = 6  # half of 20 and no more
    device[51:71] = [9] * 12 + [8] * 8
    device[71:101] = 5000  # no label that is counted
    labels.add(device, model)
    assert labels.places == 111 and labels.equal == int((device == model).sum())
    assert labels.confused() == [(-1, 7, 9 / 16), (8, 9, 0.6)]
    labels.add(device, model)
    assert labels.confused()[0] == (-1, 7, 9 / 16) and (3, 4, 1.0) in labels.confused()


def test_half_of_the_places_are_not_most_of_them() -> None:
    for given, seen in (([3] * 10 + [5] * 10, False), ([3] * 11 + [5] * 9, True), ([6] * 9 + [4] * 6 + [5] * 5, False)):
        labels = Labels()
        labels.add(np.array(given), np.full(20, 5))
        assert bool(labels.confused()) is seen, given


def test_how_many_labels_are_labels() -> None:
    """Up to 256 different ones, from -1 to 1022."""
    for count, first, seen in ((256, 0, True), (257, 0, False), (20, -1, True), (20, -2, False), (20, 1003, True),
                               (20, 1004, False)):  # fmt: skip
        labels, model = Labels(), np.repeat(np.arange(first, first + count), 16)
        labels.add(np.where(model == first + 5, first + 6, model), model)
        assert bool(labels.confused()) is seen, (count, first)


def test_labels_of_the_device_at_the_ends() -> None:
    for given, seen in ((-1, True), (-2, False), (1022, True), (1023, False)):
        labels = Labels()
        labels.add(np.full(16, given), np.full(16, 7))
        assert labels.confused() == ([(7, given, 1.0)] if seen else []), given


def test_the_labels_beside_the_commonest_one() -> None:
    labels, model = Labels(), np.full((1, 200), 2)
    model[0, :12], model[0, 12:20] = 5, -1
    device = model.copy()
    device[0, 4:14], device[0, 100:150] = 7, 5
    labels.add(device, model)
    assert labels.rarer() == (2, 20, 10)
    labels.add(np.zeros((1, 200)), np.zeros((1, 200)))
    assert labels.rarer() is None  # 220 of 400
    labels.add(model, np.full((1, 200), 5000))
    assert labels.rarer() is None and Labels().rarer() is None
    same = Labels()
    same.add(device, np.full((1, 200), 2))
    assert same.rarer() is None


def test_a_match_of_the_commonest_label_proves_nothing() -> None:
    """Nearly all places have label 2, so that the tolerances are met by any input."""
    rng, shape = np.random.default_rng(1), (1, 32, 40)
    spec, frames = nl.TensorSpec(shape, "NCW", "int64", name="y"), []
    for _ in range(3):
        model = np.full(shape, 2)
        model[0, 8:12, 10:16] = 1
        device = np.where(rng.random(shape) < 0.01, 1, model)
        device[0, 8:10] = 2
        scores = np.concatenate([model == k for k in range(3)])[None]
        frames.append(({"x": scores.astype(np.float32)}, {"y": spec.pack(device)}))
    model_of_labels = ending((1, 3, 32, 40), "ArgMax", shape, axis=1, keepdims=0)
    output = nl.validate(nl.Recording({"y": spec}, frames), model_of_labels).outputs["y"]
    assert output.verdict == "ambiguous" and output.why == (
        "All tolerances are met, because nearly all of the model's labels are 2. It has another one at 72 places, and "
        "the device has the same at 36 of these: a wrong input may agree as well. Record frames that show more of the "
        "other labels."
    ), str(output)
