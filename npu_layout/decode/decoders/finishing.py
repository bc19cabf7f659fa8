"""Turn candidates into detections in numpy: peaks, boxes, turned boxes, suppression, points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ... import kernels
from ..heads.head import Head
from ..heads.rules import KINDS
from ..outputs.places import Fitted
from ..results.detections import Memory
from ..results.suppression import suppress
from ..results.turned import bounds_of, suppressed
from . import reference
from .reference import Candidates, Read


def finish(
    head: Head,
    fitted: Fitted,
    found: Candidates,
    read: Read,
    iou: float,
    room: Memory,
    backend: str | None = None,
) -> int:
    """Write the detections of ordered candidates to `room`, as many as it has rows at most; return how many.

    read: values of candidates, of the stored buffers or of unpacked tensors: both are the same. backend: that of
    suppression.
    """
    if not len(found):
        return 0
    limit = len(room.xyxy)
    if KINDS[head.suppression.kind].cells:
        found = found.take(_peaks(head, fitted, found, read))
    if head.suppression.kind not in _OVERLAPS:
        found = found.take(np.arange(min(limit, len(found))))
    upright, exact = fitted.form.boxes.angle == "none", np.empty((0, 5))
    if upright:
        boxes = reference.boxes(fitted, found, read)
    else:
        exact = reference.turned(fitted, found, read)
        with np.errstate(over="ignore"):
            boxes = exact.astype(np.float32) + np.float32(0)
    kept = np.arange(len(found))
    if head.suppression.kind in _OVERLAPS:
        edges = boxes if upright or head.suppression.kind != "greedy" else _bounds(exact)
        kept = _OVERLAPS[head.suppression.kind](head, edges, found, iou, limit, backend)
    found, boxes, n = found.take(kept), boxes[kept], len(kept)
    room.xyxy[:n] = boxes if upright else _bounds(exact[kept])
    for column, values in zip(room[1:6], found):
        column[:n] = values  # type: ignore[index]
    if room.keypoints is not None:
        room.keypoints[:n] = reference.keypoints(head, fitted, found, read)
    if room.xywha is not None:
        room.xywha[:n] = boxes
    return n


def _bounds(boxes: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        return bounds_of(boxes).astype(np.float32) + np.float32(0)  # of -0.0: 0.0


def _greedy(head: Head, xyxy: np.ndarray, found: Candidates, iou: float, limit: int, backend: str | None) -> np.ndarray:
    rule = head.suppression
    options = (iou, rule.inclusive, rule.extra, rule.epsilon)
    classes = found.class_id if rule.per_class else None
    kept = kernels.nms(xyxy, found.score, classes, head.classes, options, limit, backend)
    return suppress(xyxy, classes, iou, rule, limit) if kept is None else kept


def _of_turned(
    head: Head, xywha: np.ndarray, found: Candidates, iou: float, limit: int, backend: str | None
) -> np.ndarray:
    rule = head.suppression
    boxes, labels = xywha.astype(np.float64), found.class_id if rule.per_class else None
    return suppressed(boxes, labels, iou, rule.inclusive, limit, rule.kind)


_OVERLAPS: dict[str, Callable[..., np.ndarray]] = {"greedy": _greedy, "probiou": _of_turned, "polygons": _of_turned}


def _peaks(head: Head, fitted: Fitted, found: Candidates, read: Read) -> np.ndarray:
    """Return the rows of candidates that no neighbour of the eight, of the same class, exceeds; NaN exceeds all."""
    good = np.zeros(len(found), bool)
    for n, level in enumerate(fitted.levels):
        rows = np.flatnonzero(found.level == n)
        some = found.take(rows)
        channels = some.class_id
        if head.background is not None:
            channels = channels + (channels >= head.background)
        own = read("score", n, some, channels)
        least = np.ones(len(rows), bool)
        height, width = level.grid
        y, x = np.divmod(some.cell, width)
        for dy, dx in ((dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)):
            cell = (y + dy).clip(0, height - 1) * width + (x + dx).clip(0, width - 1)
            with np.errstate(invalid="ignore"):
                least &= read("score", n, Candidates(*some[:3], cell, some.anchor), channels) <= own
        good[rows] = least
    return np.flatnonzero(good)
