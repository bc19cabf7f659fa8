"""nms: bit by bit the rule that is stated, against a loop, onnxruntime and OpenCV."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cv2
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout import decode, kernels
from tests.support.scenes import Found, kept

BACKENDS = kernels.backends()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, activate: Callable[[str], None]) -> str:
    """The suite's kernels, one after the other."""
    activate(request.param)
    return request.param


def boxes_of(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """Clustered boxes: of floats, of whole numbers (whose IoUs tie, and are on thresholds), or of one size."""
    centers = rng.uniform(50, 590, (max(1, n // 6), 2))
    xy = centers[rng.integers(0, len(centers), n)] + rng.normal(0, 12, (n, 2))
    wh = np.exp(rng.normal(3.6, 0.5, (n, 2)))
    if kind == "one size":
        wh[:] = 40
    boxes = np.concatenate([xy - wh / 2, xy + wh / 2], 1)
    return (np.rint(boxes / 8) * 8 if kind == "whole" else boxes).astype(np.float32)


def loop(boxes: np.ndarray, scores: np.ndarray, iou: float, class_id: Any = None) -> list[int]:
    """Indices that a plain loop keeps."""
    order = sorted(range(len(boxes)), key=lambda i: -float(scores[i]))
    found = [
        Found(float(scores[i]), 0 if class_id is None else int(class_id[i]), 0, i, 0, tuple(boxes[i].tolist()))
        for i in order
    ]
    return [f.cell for f in kept(found, iou, len(boxes) + 1)]


Looped = tuple[np.ndarray, np.ndarray, Any, dict[float, list[int]]]


@cache  # the same for each backend: all seeds run on one, then on the next
def looped(seed: int) -> Looped:
    """Boxes, scores, classes, and for some thresholds the indices that a plain loop keeps."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 7, 60, 250]))
    boxes = boxes_of(rng, n, ("float", "whole", "one size")[seed % 3])
    scores = (rng.integers(0, 40, n) / 255).astype(np.float32)  # many ties
    class_id = None if seed % 4 == 0 else rng.integers(0, (1, 3, 80)[seed % 3], n)
    stay = {iou: loop(boxes, scores, iou, class_id) for iou in (0.0, 0.25, 0.45, 0.5, 1.0)}
    return boxes, scores, class_id, stay


@pytest.mark.parametrize("seed", range(24))
def test_as_a_loop(seed: int, backend: str) -> None:
    boxes, scores, class_id, stay = looped(seed)
    for iou, expected in stay.items():
        found = decode.nms(boxes, scores, iou=iou, class_id=class_id)
        assert found.dtype == np.int64 and found.tolist() == expected
        assert decode.nms(boxes, scores, iou=iou, class_id=class_id, limit=3).tolist() == found[:3].tolist()


def test_exactly_on_the_threshold(backend: str) -> None:
    """A box of IoU 1/2, 1/3 ... with another stays at that threshold, and goes a little below it."""
    for part in (1, 2, 3, 4, 5, 7, 8, 10, 16):
        boxes = np.array([[0, 0, 16 * part, 10], [0, 0, 16, 10]], np.float32)
        exact = np.float64(np.float32(160) / np.float32(160 * part))
        assert decode.nms(boxes, [1, 0.5], iou=exact).tolist() == [0, 1]
        assert decode.nms(boxes, [1, 0.5], iou=np.nextafter(exact, 0)).tolist() == [0]
        assert decode.nms(boxes, [1, 0.5], iou=exact, inclusive=True).tolist() == [0]
        if exact < 1:
            assert decode.nms(boxes, [1, 0.5], iou=np.nextafter(exact, 2), inclusive=True).tolist() == [0, 1]


def test_other_rules(backend: str) -> None:
    boxes = [[0, 0, 9, 9], [5, 0, 14, 9]]  # 36 of 126; with a pixel more on each side 50 of 150
    assert decode.nms(boxes, [1, 0.5], iou=0.3).tolist() == [0, 1]
    assert decode.nms(boxes, [1, 0.5], iou=0.3, extra=1).tolist() == [0]
    same = [[0, 0, 2, 2], [0, 0, 2, 2]]
    assert decode.nms(same, [1, 1], iou=0.9).tolist() == [0]
    assert decode.nms(same, [1, 1], iou=0.9, epsilon=1).tolist() == [0, 1]


def _onnx_nms() -> onnxruntime.InferenceSession:
    names = ("boxes", "scores", "most", "iou")
    node = helper.make_node("NonMaxSuppression", [*names], ["kept"], center_point_box=0)
    kinds = (TensorProto.FLOAT, TensorProto.FLOAT, TensorProto.INT64, TensorProto.FLOAT)
    shapes = ([1, None, 4], [1, None, None], [1], [1])
    inputs = [helper.make_tensor_value_info(n, k, s) for n, k, s in zip(names, kinds, shapes)]
    output = helper.make_tensor_value_info("kept", TensorProto.INT64, [None, 3])
    graph = helper.make_graph([node], "nms", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_as_onnxruntime(backend: str) -> None:
    """Class by class; ties of scores left out, whose order it does not state."""
    session, rng = _onnx_nms(), np.random.default_rng(5)
    for n in (1, 30, 400):
        boxes, scores = boxes_of(rng, n, "float"), rng.permutation(n).astype(np.float32)
        for iou in (0.3, 0.5, 0.7):
            feeds = {
                "boxes": boxes[None],
                "scores": scores[None, None],
                "most": np.array([n]),
                "iou": np.array([iou], np.float32),
            }
            (theirs,) = session.run(None, feeds)
            assert decode.nms(boxes, scores, iou=float(np.float32(iou))).tolist() == theirs[:, 2].tolist()


def test_as_opencv(backend: str) -> None:
    rng = np.random.default_rng(6)
    for n in (5, 200):
        boxes, scores = boxes_of(rng, n, "whole"), (rng.permutation(n) + 1).astype(np.float32)
        rects = [[x0, y0, x1 - x0, y1 - y0] for x0, y0, x1, y1 in boxes.tolist()]
        theirs = cv2.dnn.NMSBoxes(rects, scores.tolist(), 0.0, 0.37)
        assert decode.nms(boxes, scores, iou=0.37).tolist() == np.ravel(theirs).tolist()


def test_strange_boxes(backend: str) -> None:
    """Points, corners exchanged, infinities and NaN overlap nothing; they stay."""
    nan, inf = np.nan, np.inf
    boxes = np.array([[0, 0, 10, 10], [5, 5, 5, 5], [nan, 0, 10, 10], [-inf, 0, inf, 10], [9, 9, 1, 1]], np.float32)
    assert decode.nms(boxes, [5, 4, 3, 2, 1], iou=0.1).tolist() == [0, 1, 2, 3, 4]
    assert decode.nms(boxes[::-1], [1, 2, 3, 4, 5], iou=0.1).tolist() == [4, 3, 2, 1, 0]


def least(a: np.float32, b: np.float32) -> np.float32:
    """C++'s std::min, of whose operands the first is returned if one is NaN."""
    return b if b < a else a


def most(a: np.float32, b: np.float32) -> np.float32:
    return b if a < b else a


def as_torchvision(boxes: np.ndarray, iou: float) -> list[int]:
    """Of boxes in the order of scores: pytorch/vision, torchvision/csrc/ops/cpu/nms_kernel.cpp, pair by pair."""
    gone: set[int] = set()
    areas = [(x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in boxes]
    for i, a in enumerate(boxes):
        for j, b in enumerate(boxes):
            if i in gone or j <= i:
                continue
            width = most(np.float32(0), least(a[2], b[2]) - most(a[0], b[0]))
            height = most(np.float32(0), least(a[3], b[3]) - most(a[1], b[1]))
            if float(width * height / (areas[i] + areas[j] - width * height)) > iou:
                gone.add(j)
    return [i for i in range(len(boxes)) if i not in gone]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_boxes_that_are_none(backend: str) -> None:
    """Boxes of NaN, infinities, exchanged edges and no area among others, as in torchvision: they overlap none."""
    rng, edges = np.random.default_rng(7), np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0, 1, 9, 10, 11], np.float32)
    for _ in range(60):
        boxes = edges[rng.integers(0, len(edges), (24, 4))]
        boxes[::3] = boxes_of(rng, 8, "whole")
        boxes[1::3] = np.where(rng.random((8, 4)) < 0.3, boxes[1::3], np.float32([0, 0, 10, 10]))
        finite = np.isfinite(boxes).all(1)
        whole = finite & (boxes[:, 2:] > boxes[:, :2]).all(1)
        for iou in (0.0, 0.4, 1.0):
            found = decode.nms(boxes, np.arange(24, 0, -1), iou=iou).tolist()
            assert found == as_torchvision(boxes, iou)
            assert set(np.flatnonzero(~whole)) <= set(found)
            alone = decode.nms(boxes[whole], np.arange(whole.sum(), 0, -1), iou=iou)
            assert [i for i in found if whole[i]] == np.flatnonzero(whole)[alone].tolist()


def test_nothing_in_nothing_out(backend: str) -> None:
    for boxes in ([], np.empty((0, 4), np.float32)):
        found = decode.nms(boxes, [], iou=0.5, class_id=[])
        assert found.shape == (0,) and found.dtype == np.int64


def test_classes_of_any_number(backend: str) -> None:
    boxes = np.zeros((4, 4), np.float32) + np.array([0, 0, 8, 8], np.float32)
    assert decode.nms(boxes, [4, 3, 2, 1], iou=0.5, class_id=[-7, 10**12, -7, 10**12]).tolist() == [0, 1]
    assert decode.nms(boxes, [1, 2, 3, 4], iou=0.5, class_id=np.array([1, 1, 0, 0], np.uint8)).tolist() == [3, 1]


@pytest.mark.parametrize(
    "given, words",
    [
        (dict(boxes=[[0, 0, 1]], scores=[1]), r"boxes: expected numbers \(n, 4\)"),
        (dict(boxes=[[0, 0, 1, 1]], scores=[1, 2]), "scores: expected 1, one for each of boxes, got 2"),
        (dict(boxes=[[0, 0, 1, 1]], scores=[np.nan]), "scores: expected numbers, got NaN at 0"),
        (dict(boxes=[[0, 0, 1, 1]], scores=["a"]), "scores: expected numbers"),
        (dict(boxes=[[0, 0, 1, 1]], scores=[1], class_id=[0.5]), "class_id: expected 1 whole numbers"),
        (dict(boxes=[[0, 0, 1, 1]], scores=[1], class_id=[1, 2]), "class_id: expected 1 whole numbers"),
        (dict(boxes=[[0, 0, 1, 1]], scores=[1], limit=0), "limit: expected a whole number of 1 or more"),
        (dict(boxes=[[0, 0, 1, 1]], scores=[1], iou="x"), "iou: expected 0 .. 1, got 'x'"),
        (dict(boxes=[[0, 0, 1, 1]], scores=[1], iou=-0.1), "iou: expected 0 .. 1, got -0.1"),
        (dict(boxes=[[0, 0, 1, 1]], scores=[1], iou=45), "iou: expected 0 .. 1, got 45; 45 percent are 0.45"),
    ],
)
def test_bad_input(given: dict[str, Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        decode.nms(**{"iou": 0.5, **given})


def test_inputs_are_not_changed(backend: str) -> None:
    rng = np.random.default_rng(1)
    boxes, scores = boxes_of(rng, 50, "float"), rng.random(50).astype(np.float32)
    before = boxes.tobytes(), scores.tobytes()
    wide = np.repeat(boxes, 2, 0)[::2]
    assert decode.nms(wide, scores, iou=0.4).tolist() == decode.nms(boxes, scores, iou=0.4).tolist()
    assert (boxes.tobytes(), scores.tobytes()) == before


@pytest.mark.parametrize(
    "dtype, numbers",
    [
        ("int8", (-128, 0, 127)),
        ("int64", (-1, 0, 1 << 16)),
        ("int64", (-(1 << 63), (1 << 63) - 1, 5)),
        ("uint64", (0, (1 << 64) - 1, 1 << 63)),
        ("uint16", (65535, 0, 1)),
        (">i4", (7, 1 << 20, -3)),
    ],
)
def test_classes_are_any_whole_numbers(backend: str, dtype: str, numbers: tuple[int, ...]) -> None:
    """Of each class one box of three stays, whatever the classes' numbers are."""
    class_id = np.repeat(np.array(numbers, dtype), 3)[::-1]
    boxes = np.tile(np.array([[0, 0, 10, 10]], np.float32), (9, 1))
    found = decode.nms(boxes, np.arange(9) / 9, iou=0.5, class_id=class_id)
    assert found.tolist() == [8, 5, 2]
    assert decode.nms(boxes, np.arange(9) / 9, iou=0.5, class_id=class_id[::-1], extra=1, inclusive=True).tolist() == [
        8,
        5,
        2,
    ]
