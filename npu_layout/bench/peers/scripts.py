"""Decode detectors as post-processing scripts do: everything is dequantised and decoded, then compared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..answer_cases import LIMIT, DetectCase, rows
from ..detector_outputs import CLASSES, POINTS, STRIDES, priors
from ..instance_cases import INPUT
from .answers import suppressed_by_numpy
from .registry import Call, peer
from .stored import real, stored_steps

_Every = tuple[np.ndarray, ...]  # edges (n, 4) and scores (n, classes) of all cells, and their points if there are some


def _values(case: DetectCase, n: int) -> np.ndarray:
    """Return what an output means, (cells, channels)."""
    return real(case.specs[n], stored_steps(case.specs[n], case.buffers[n]))


def _grid(stride: int) -> np.ndarray:
    """Return columns and rows of the cells of a level, (n, 2)."""
    side = INPUT // stride
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    return np.stack([x.ravel(), y.ravel()], 1)


def _v8(case: DetectCase) -> _Every:
    found: list[_Every] = []
    parts = len(case.specs) // len(STRIDES)
    for n, stride in enumerate(STRIDES):
        bins, scores, *more = (_values(case, parts * n + k) for k in range(parts))
        bins = bins.reshape(-1, 4, 16)
        powers = np.exp(bins - bins.max(2, keepdims=True))
        sides = (powers / powers.sum(2, keepdims=True) * np.arange(16)).sum(2)
        center = _grid(stride) + 0.5
        points = [_points(part, center, stride) for part in more]
        edges = np.concatenate([center - sides[:, :2], center + sides[:, 2:]], 1) * stride
        found.append((edges, scores, *points))
    return tuple(np.concatenate(column) for column in zip(*found))


def _points(values: np.ndarray, center: np.ndarray, stride: int) -> np.ndarray:
    points = values.reshape(-1, POINTS, 3)
    points[..., :2] = (2 * points[..., :2] + center[:, None] - 0.5) * stride
    points[..., 2] = 1 / (1 + np.exp(-points[..., 2]))
    return points


def _v5(case: DetectCase) -> _Every:
    found: list[_Every] = []
    for n, stride in enumerate(STRIDES):
        each = _values(case, n).reshape(-1, 3, 5 + CLASSES)
        center = (2 * each[..., :2] - 0.5 + _grid(stride)[:, None]) * stride
        half = (2 * each[..., 2:4]) ** 2 * np.array(case.head.anchors[n]) / 2
        edges = np.concatenate([center - half, center + half], 2)
        found.append((edges.reshape(-1, 4), (each[..., 4:5] * each[..., 5:]).reshape(-1, CLASSES)))
    return tuple(np.concatenate(column) for column in zip(*found))


def _ssd(case: DetectCase) -> _Every:
    offsets, logits = (_values(case, n) for n in (0, 1))
    scores = 1 / (1 + np.exp(-logits[:, 1:]))
    center = priors()[:, :2] + offsets[:, 1::-1] * 0.1 * priors()[:, 2:]
    half = np.exp(0.2 * offsets[:, :1:-1]) * priors()[:, 2:] / 2
    return np.concatenate([center - half, center + half], 1) * INPUT, scores


_EVERY: dict[str, Callable[[DetectCase], _Every]] = {"v8": _v8, "pose": _v8, "v5": _v5, "ssd": _ssd}


@peer("detect", "numpy", "as scripts do: everything dequantised and decoded")
def numpy_script_detect(case: DetectCase) -> Call:
    """Dequantise all outputs, decode all boxes and points, then compare."""
    out = case.out()

    def run() -> np.ndarray:
        edges, scores, *points = _EVERY[case.family](case)
        if case.scene.labels == "all":
            at, label = np.nonzero(scores >= case.scene.confidence)
        else:
            at = np.flatnonzero(scores.max(1) >= case.scene.confidence)
            label = scores.argmax(1)[at]
        boxes, values = edges[at].astype(np.float32), scores[at, label].astype(np.float32)
        order = np.argsort(-values, kind="stable")
        at, boxes, values, label = at[order], boxes[order], values[order], label[order]
        kept = np.sort(suppressed_by_numpy(boxes, values, label))[:LIMIT]
        return rows(out, boxes[kept], values[kept], label[kept], *(part[at[kept]] for part in points))

    return run
