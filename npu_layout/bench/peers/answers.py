"""Decode detectors, and suppress boxes, with numpy and with other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..answer_cases import IOU, LIMIT, DetectCase, NmsCase, rows
from ..detector_outputs import CLASSES, POINTS, STRIDES, priors
from ..instance_cases import INPUT
from .registry import Call, peer
from .stored import passing_cells, real, some

Suppress = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]
Found = tuple[np.ndarray, ...]  # boxes, scores and classes of candidates, and the points of each if there are some


def _v8_candidates(case: DetectCase) -> Found:
    """Return boxes, scores and classes in the order of levels and cells; only candidates are dequantised."""
    found: list[Found] = []
    parts = len(case.specs) // len(STRIDES)
    for n, stride in enumerate(STRIDES):
        level = slice(parts * n, parts * n + parts)
        (box, score, *more), (steps, stored, *places) = case.specs[level], case.buffers[level]
        table = real(score, np.arange(-128, 128).astype(np.int8))
        least = int(np.searchsorted(table, case.scene.confidence)) - 128
        cells = passing_cells(score, stored, least)
        each = some(score, stored, cells, 0, score.shape[1])
        if case.scene.labels == "all":
            at, label = np.nonzero(each >= least)
        else:
            at, label = np.arange(len(cells)), each.argmax(1)
        scores = real(score, each[at, label])
        bins = real(box, some(box, steps, cells, 0, 64)).reshape(-1, 4, 16)
        powers = np.exp(bins - bins.max(2, keepdims=True))
        sides = ((powers @ np.arange(16.0)) / powers.sum(2))[at]
        side = 640 // stride
        x, y = cells[at] % side + 0.5, cells[at] // side + 0.5
        edges = np.stack([x - sides[:, 0], y - sides[:, 1], x + sides[:, 2], y + sides[:, 3]], 1) * stride
        beside = [_points(*part, cells[at], np.stack([x, y], 1), stride) for part in zip(more, places)]
        found.append((edges, scores, label, *beside))
    edges, scores, label, *rest = (np.concatenate(column) for column in zip(*found))
    return edges.astype(np.float32), scores.astype(np.float32), label, *rest


def _points(spec: Any, buffer: np.ndarray, cells: np.ndarray, center: np.ndarray, stride: int) -> np.ndarray:
    """Return x, y in pixels and the confidence of the points of some cells."""
    points = real(spec, some(spec, buffer, cells, 0, 3 * POINTS)).reshape(-1, POINTS, 3)
    points[..., :2] = (2 * points[..., :2] + center[:, None] - 0.5) * stride
    points[..., 2] = 1 / (1 + np.exp(-points[..., 2]))
    return points


def _ssd_candidates(case: DetectCase) -> Found:
    """Return boxes, scores and classes in the order of the priors; the logit that makes the threshold is compared."""
    (box, score), (offsets, stored) = case.specs, case.buffers
    table = 1 / (1 + np.exp(-real(score, np.arange(-128, 128).astype(np.int8))))
    least = np.full(1 + CLASSES, int(np.searchsorted(table, case.scene.confidence)) - 128)
    least[0] = 128  # the background
    cells = passing_cells(score, stored, least)
    logits = some(score, stored, cells, 1, CLASSES)
    label = logits.argmax(1)
    y, x, h, w = real(box, some(box, offsets, cells, 0, 4)).T
    cx, cy, width, height = priors()[cells].T * INPUT
    cx, cy = cx + x * 0.1 * width, cy + y * 0.1 * height
    half_w, half_h = np.exp(0.2 * w) * width / 2, np.exp(0.2 * h) * height / 2
    edges = np.stack([cx - half_w, cy - half_h, cx + half_w, cy + half_h], 1)
    scores = table[logits[np.arange(len(cells)), label].astype(int) + 128]
    return edges.astype(np.float32), scores.astype(np.float32), label


def _v5_candidates(case: DetectCase) -> Found:
    """Return boxes, scores and classes in the order of levels, cells and anchors; objectness is compared first."""
    found = []
    for n, stride in enumerate(STRIDES):
        spec, stored, side = case.specs[n], case.buffers[n], 640 // stride
        table = real(spec, np.arange(-128, 128).astype(np.int8))
        least = int(np.searchsorted(table, case.scene.confidence / table[-1] * (1 - 1e-9))) - 128
        every = np.arange(side * side)
        hits = []
        for a in range(3):
            object_ = some(spec, stored, every, 85 * a + 4, 1)[:, 0]
            cells = np.flatnonzero(object_ >= least)
            each = real(spec, some(spec, stored, cells, 85 * a, 85))
            if case.scene.labels == "all":
                at, label = np.nonzero(each[:, 4:5] * each[:, 5:] >= case.scene.confidence)
            else:
                at, label = np.arange(len(cells)), each[:, 5:].argmax(1)
            score = each[at, 4] * each[at, 5 + label]
            passing = score >= case.scene.confidence
            cells, each = cells[at[passing]], each[at[passing]]
            center = (2 * each[:, :2] - 0.5 + np.stack([cells % side, cells // side], 1)) * stride
            half = (2 * each[:, 2:4]) ** 2 * np.array(case.head.anchors[n][a]) / 2
            edges = np.concatenate([center - half, center + half], 1)
            hits.append((cells, np.full(len(cells), a), edges, score[passing], label[passing]))
        cells, anchor, edges, score, label = (np.concatenate(column) for column in zip(*hits))
        order = np.lexsort((anchor, cells))
        found.append((edges[order], score[order], label[order]))
    edges, scores, label = (np.concatenate(column) for column in zip(*found))
    return edges.astype(np.float32), scores.astype(np.float32), label


_CANDIDATES = {"v8": _v8_candidates, "v5": _v5_candidates, "pose": _v8_candidates, "ssd": _ssd_candidates}


def _decoder(case: DetectCase, suppress: Suppress) -> Call:
    out = case.out()

    def run() -> np.ndarray:
        found = _CANDIDATES[case.family](case)
        order = np.argsort(-found[1], kind="stable")
        edges, scores, label = (column[order] for column in found[:3])
        kept = np.sort(suppress(edges, scores, label))[:LIMIT]
        return rows(out, edges[kept], scores[kept], label[kept], *(column[order[kept]] for column in found[3:]))

    return run


def suppressed_by_numpy(boxes: np.ndarray, scores: np.ndarray, class_id: np.ndarray) -> np.ndarray:
    """Return indices that stay, of boxes in the order of their scores: one box against all that are left."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    left, kept = np.arange(len(boxes)), []
    while len(left):
        i, left = left[0], left[1:]
        kept.append(int(i))
        low, high = np.maximum(boxes[i, :2], boxes[left, :2]), np.minimum(boxes[i, 2:], boxes[left, 2:])
        shared = (high - low).clip(0).prod(1)
        with np.errstate(invalid="ignore", divide="ignore"):
            overlap = shared / (areas[i] + areas[left] - shared)
        left = left[(overlap.astype(np.float64) <= IOU) | (class_id[left] != class_id[i])]
    return np.array(kept, np.int64)


def suppressed_by_cv2(boxes: np.ndarray, scores: np.ndarray, class_id: np.ndarray) -> Any:
    """Return indices that stay, by OpenCV."""
    import cv2

    if not len(boxes):
        return np.zeros(0, np.int64)
    xywh = boxes.copy()
    xywh[:, 2:] -= xywh[:, :2]
    return np.asarray(cv2.dnn.NMSBoxesBatched(xywh.tolist(), scores.tolist(), class_id.tolist(), 0.0, IOU), np.int64)


def _onnxruntime_nms() -> Suppress:
    import onnxruntime as ort
    from onnx import TensorProto, helper

    types = {
        "boxes": TensorProto.FLOAT,
        "scores": TensorProto.FLOAT,
        "most": TensorProto.INT64,
        "iou": TensorProto.FLOAT,
        "least": TensorProto.FLOAT,
    }
    shapes = {"boxes": [1, None, 4], "scores": [1, None, None], "most": [1], "iou": [1], "least": [1]}
    node = helper.make_node("NonMaxSuppression", list(types), ["kept"])
    graph = helper.make_graph(
        [node],
        "nms",
        [helper.make_tensor_value_info(name, types[name], shapes[name]) for name in types],
        [helper.make_tensor_value_info("kept", TensorProto.INT64, [None, 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    most, iou, least = np.array([1 << 20], np.int64), np.array([IOU], np.float32), np.zeros(1, np.float32)

    def suppress(boxes: np.ndarray, scores: np.ndarray, class_id: np.ndarray) -> Any:
        classes, place = np.unique(class_id, return_inverse=True)
        each = np.zeros((1, len(classes), len(boxes)), np.float32)  # what is not above 0 is no box of that class
        each[0, place, np.arange(len(boxes))] = scores
        feeds = {"boxes": boxes[None], "scores": each, "most": most, "iou": iou, "least": least}
        return session.run(None, feeds)[0][:, 2]

    return suppress


def _torch_nms(boxes: np.ndarray, scores: np.ndarray, class_id: np.ndarray) -> Any:
    import torch
    from torchvision.ops import batched_nms

    return batched_nms(*(torch.from_numpy(a) for a in (boxes, scores, class_id)), IOU).numpy()


def _supervision_nms(boxes: np.ndarray, scores: np.ndarray, class_id: np.ndarray) -> Any:
    import supervision

    if not len(boxes):
        return np.zeros(0, np.int64)
    found = supervision.box_non_max_suppression(np.column_stack([boxes, scores, class_id]), IOU)
    return np.flatnonzero(found)


@peer("detect", "numpy", "threshold on stored integers, candidates only, suppression in numpy")
def numpy_detect(case: DetectCase) -> Call:
    """Compare stored scores, and dequantise what passes: the best that numpy can do."""
    return _decoder(case, suppressed_by_numpy)


@peer("detect", "cv2", "the same, NMSBoxesBatched")
def cv2_detect(case: DetectCase) -> Call:
    """Suppress with OpenCV."""
    return _decoder(case, suppressed_by_cv2)


@peer("detect", "onnxruntime", "the same, NonMaxSuppression")
def onnxruntime_detect(case: DetectCase) -> Call:
    """Suppress with onnxruntime."""
    return _decoder(case, _onnxruntime_nms())


@peer("detect", "torchvision", "the same, batched_nms")
def torchvision_detect(case: DetectCase) -> Call:
    """Suppress with torchvision."""
    return _decoder(case, _torch_nms)


@peer("detect", "supervision", "the same, box_non_max_suppression")
def supervision_detect(case: DetectCase) -> Call:
    """Suppress with supervision."""
    return _decoder(case, _supervision_nms)


def _ordered(case: NmsCase, suppress: Suppress) -> Call:
    def run() -> np.ndarray:
        order = np.argsort(-case.scores, kind="stable")
        kept = np.sort(suppress(case.boxes[order], case.scores[order], case.class_id[order]))
        return case.filled(order[kept])

    return run


@peer("nms", "numpy", "one box against all that are left")
def numpy_nms(case: NmsCase) -> Call:
    """Suppress in numpy."""
    return _ordered(case, suppressed_by_numpy)


@peer("nms", "cv2", "NMSBoxesBatched")
def cv2_nms(case: NmsCase) -> Call:
    """Suppress with OpenCV."""
    return _ordered(case, suppressed_by_cv2)


@peer("nms", "onnxruntime", "NonMaxSuppression, a class a row")
def onnxruntime_nms(case: NmsCase) -> Call:
    """Suppress with onnxruntime."""
    return _ordered(case, _onnxruntime_nms())


@peer("nms", "torchvision", "batched_nms")
def torchvision_nms(case: NmsCase) -> Call:
    """Suppress with torchvision."""
    return _ordered(case, _torch_nms)


@peer("nms", "supervision", "box_non_max_suppression")
def supervision_nms(case: NmsCase) -> Call:
    """Suppress with supervision."""
    return _ordered(case, _supervision_nms)
