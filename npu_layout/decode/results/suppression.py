"""Drop boxes that overlap better ones: greedy non-maximum suppression with a stated rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import kernels
from ...errors import NpuLayoutError
from ...support import checked_call, counted, plain_array
from ..heads.records import share_of
from ..heads.rules import Suppression


@checked_call
def nms(
    boxes: Any,
    scores: Any,
    *,
    iou: float,
    class_id: Any = None,
    limit: int | None = None,
    inclusive: bool = False,
    extra: float = 0.0,
    epsilon: float = 0.0,
) -> np.ndarray:
    """Return the indices of the boxes that stay, best first: greedy non-maximum suppression.

    A box is dropped if its IoU with a box of its class that stays is greater than `iou`. Boxes of equal scores keep the
    order in which they came. The IoU is torchvision's: areas and intersection in float32, compared as float64. Without
    options the result is that of ``torchvision.ops.nms`` for each class, in the order of scores (``batched_nms``
    without the rounding of its offsets). As in torchvision, a box with NaN, an infinite edge, exchanged edges (x1 < x0)
    or no area is never dropped and drops no other: its IoU with any box is 0 or NaN.

    Parameters
    ----------
    boxes
        (n, 4) numbers x0, y0, x1, y1, rounded to float32; [] counts as (0, 4).
    scores
        (n,) numbers, rounded to float32; no NaN.
    iou
        The threshold, 0 to 1.
    class_id
        (n,) whole numbers; None: all boxes are of one class.
    limit
        The largest number of boxes that stay: the best ones. None: all.
    inclusive
        Whether a box whose IoU is equal to `iou` is dropped too, as in HailoRT.
    extra
        Pixels that are added to widths and heights: 1 in RetinaFace and in rknn_model_zoo's C++.
    epsilon
        A number that is added to the union, as some code does to avoid a division by 0.

    Returns
    -------
    int64 indices into `boxes`, a new array.

    Raises
    ------
    NpuLayoutError
        If shapes differ, if there is NaN in the scores or something that is no number, or if `iou` is outside 0 .. 1.

    Examples
    --------
    >>> nms([[0, 0, 10, 10], [1, 0, 10, 10], [20, 0, 30, 10]], [0.5, 0.9, 0.5], iou=0.5).tolist()
    [1, 2]
    """
    edges = _column("boxes", boxes, 4)
    values = _column("scores", scores, None)
    if len(values) != len(edges):
        raise NpuLayoutError(f"scores: expected {len(edges)}, one for each of boxes, got {len(values)}")
    if np.isnan(values).any():
        raise NpuLayoutError(f"scores: expected numbers, got NaN at {int(np.flatnonzero(np.isnan(values))[0])}")
    classes = None if class_id is None else classes_of(class_id, len(values))
    threshold, most = share_of("iou", iou), len(values) if limit is None else counted("limit", limit)
    rule = _PLAIN if _are_usual(inclusive, extra, epsilon) else Suppression("greedy", True, inclusive, extra, epsilon)
    classes, count = (classes, 1) if classes is None or not classes.size else _numbered(classes)
    options = (threshold, rule.inclusive, rule.extra, rule.epsilon)
    found = kernels.nms(edges, values, classes, count, options, most)
    if found is not None:
        return found
    order = np.argsort(-values, kind="stable")
    kept = suppress(edges[order], None if classes is None else classes[order], threshold, rule, most)
    result: np.ndarray = order[kept]
    return result


_PLAIN = Suppression("greedy")


def _are_usual(inclusive: Any, extra: Any, epsilon: Any) -> bool:
    """Whether options are those of `_PLAIN`, which need no check."""
    return inclusive is False and type(extra) is type(epsilon) is float and extra == epsilon == 0


def classes_of(class_id: Any, count: int) -> np.ndarray:
    """Return the classes of `count` boxes as an array of whole numbers; NpuLayoutError if they are none."""
    classes = plain_array("class_id", class_id)
    if classes.shape != (count,) or (classes.size and classes.dtype.kind not in "iu"):
        raise NpuLayoutError(
            f"class_id: expected {count} whole numbers, one for each box, got {classes.dtype} {classes.shape}"
        )
    return classes


def _numbered(classes: np.ndarray) -> tuple[np.ndarray, int]:
    """Return classes as int64 from 0 on, not much greater than there are, and one more than the greatest."""
    numbers = np.ascontiguousarray(classes, np.int64)
    most = int(numbers.view(np.uint64).max())  # a negative one is greater than all others
    if most >= 1 << 16:
        numbers = np.unique(classes, return_inverse=True)[1].reshape(-1).astype(np.int64)
        most = int(numbers.max())
    return numbers, most + 1


def _column(what: str, given: Any, width: int | None) -> np.ndarray:
    array = plain_array(what, given)
    if array.shape == (0,) and width:
        array = array.reshape(0, width)
    shape = "(n,)" if width is None else f"(n, {width})"
    if array.ndim != (1 if width is None else 2) or array.shape[1:] != ((width,) if width else ()):
        raise NpuLayoutError(f"{what}: expected numbers {shape}, got {array.dtype} {array.shape}")
    if array.dtype.kind not in "iuf" and array.size:
        raise NpuLayoutError(f"{what}: expected numbers {shape}, got {array.dtype} {array.shape}")
    if array.dtype == np.float32:
        return np.ascontiguousarray(array)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, np.float32)


def suppress(
    boxes: np.ndarray, class_id: np.ndarray | None, iou: float, rule: Suppression, limit: int | None
) -> np.ndarray:
    """Return the indices of boxes that stay; `boxes`, float32, and their classes are in the order of scores."""
    if rule.kind == "none":
        return np.arange(len(boxes) if limit is None else min(limit, len(boxes)))
    classes = class_id if rule.per_class else None
    alive = np.ones(len(boxes), bool)
    extra, kept = np.float32(rule.extra), []
    with np.errstate(invalid="ignore", over="ignore"):
        areas = (boxes[:, 2] - boxes[:, 0] + extra) * (boxes[:, 3] - boxes[:, 1] + extra)
        for i in range(len(boxes)):
            if not alive[i]:
                continue
            kept.append(i)
            if len(kept) == limit:
                break
            rest = np.flatnonzero(alive[i + 1 :]) + i + 1
            if classes is not None:
                rest = rest[classes[rest] == classes[i]]
            found = _iou(boxes[i], areas[i], boxes[rest], areas[rest], extra, rule.epsilon)
            alive[rest[found >= iou if rule.inclusive else found > iou]] = False
    return np.array(kept, np.int64)


def _iou(
    box: np.ndarray, area: np.float32, others: np.ndarray, areas: np.ndarray, extra: np.float32, epsilon: float
) -> np.ndarray:
    """Return intersections over unions, float32 as torchvision computes them, as float64."""
    zero = np.float32(0)
    width = np.maximum(zero, np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0]) + extra)
    height = np.maximum(zero, np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1]) + extra)
    shared = width * height
    union = area + areas - shared
    if epsilon:
        union = union + np.float32(epsilon)
    return np.asarray(shared / union, np.float64)
