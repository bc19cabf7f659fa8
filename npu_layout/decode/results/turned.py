"""Turned boxes: their corners and bounds, and their suppression by ProbIoU or by the areas that they share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ... import kernels
from ..arithmetic.exponential import exponential
from ..arithmetic.sines import sine_and_cosine

_Overlap = Callable[[np.ndarray, np.ndarray], np.ndarray]
_BLOCK, _PAIRS = 64, 1 << 18  # boxes that are compared with all others at once, and their pairs


def _turn(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and sines of the angles; NaN of those that are not finite."""
    sine, cosine = sine_and_cosine(boxes[:, 4])
    return cosine, sine


def corners_of(boxes: np.ndarray) -> np.ndarray:
    """Return the corners of (n, 5) turned boxes: (n, 4, 2), in order around each."""
    cosine, sine = _turn(boxes)
    middle = boxes[:, :2]
    with np.errstate(invalid="ignore", over="ignore"):
        along = np.stack([cosine, sine], 1) * boxes[:, 2:3] / 2
        across = np.stack([-sine, cosine], 1) * boxes[:, 3:4] / 2
        return np.stack(
            [middle - along - across, middle + along - across, middle + along + across, middle - along + across], 1
        )


def bounds_of(boxes: np.ndarray) -> np.ndarray:
    """Return the edges (n, 4) of the upright boxes around (n, 5) turned ones."""
    wide, high = map(np.abs, _turn(boxes))
    with np.errstate(invalid="ignore", over="ignore"):
        w, h = np.abs(boxes[:, 2]) / 2, np.abs(boxes[:, 3]) / 2
        half = np.stack([wide * w + high * h, high * w + wide * h], 1)
        return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], 1)


def suppressed(
    boxes: np.ndarray,
    classes: np.ndarray | None,
    iou: float,
    inclusive: bool,
    limit: int,
    kind: str = "probiou",
    backend: str | None = None,
) -> np.ndarray:
    """Return which turned boxes stay; they, and their classes, are in the order of their scores.

    kind: "probiou", or "polygons", the area of their intersection over that of their union. backend: of the kernels,
    which have the same bits.
    """
    prepare, overlap = _KINDS[kind]
    shapes = prepare(boxes)
    if kind == "probiou":
        found = kernels.turned_nms(shapes, classes, iou, inclusive, limit, backend)
        if found is not None:
            return found
    return _suppressed(shapes, classes, iou, inclusive, limit, overlap)


def _suppressed(
    shapes: np.ndarray, classes: np.ndarray | None, iou: float, inclusive: bool, limit: int, overlap: _Overlap
) -> np.ndarray:
    """Compare a block of boxes with all others at a time."""
    kept: list[int] = []
    left = np.arange(len(shapes))
    while len(left) and len(kept) < limit:
        block = left[: max(1, min(_BLOCK, _PAIRS // len(left)))]
        found = overlap(shapes[block], shapes[left])
        near = found >= iou if inclusive else found > iou
        if classes is not None:
            near &= classes[block, None] == classes[left]
        gone = np.zeros(len(left), bool)
        for i in range(len(block)):
            if not gone[i] and len(kept) < limit:
                kept.append(block[i])
                gone |= near[i]
        gone[: len(block)] = True
        left = left[~gone]
    return np.array(kept, np.int64)


def _gaussians(boxes: np.ndarray) -> np.ndarray:
    """Return x, y and the covariance a, b, c of the Gaussian of each box: that of points spread over it evenly."""
    cosine, sine = _turn(boxes)
    with np.errstate(invalid="ignore", over="ignore"):
        w, h = boxes[:, 2] ** 2 / 12, boxes[:, 3] ** 2 / 12
        a, b = w * cosine**2 + h * sine**2, w * sine**2 + h * cosine**2
        return np.column_stack([boxes[:, :2], a, b, (w - h) * cosine * sine])


def probiou(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return 1 less the Hellinger distances of n Gaussians and m others, (n, m).

    Of boxes without area it is 1 if they are equal, else 0.
    """
    one = some.T[:, :, None]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        x, y = one[0] - others[:, 0], one[1] - others[:, 1]
        a, b, c = (one[k] + others[:, k] for k in (2, 3, 4))
        area = a * b - c**2
        exponent = ((a * y**2 + b * x**2) / 4 - c * x * y / 2) / area
        own = np.sqrt((one[2] * one[3] - one[4] ** 2) * (others[:, 2] * others[:, 3] - others[:, 4] ** 2))
        near = exponential(-exponent) * np.sqrt(4 * own / area)
        unknown = np.isnan(near)  # a box without area, or no finite one
        if unknown.any():
            near[unknown] = (one == others.T[:, None]).all(0)[unknown]
        return np.asarray(1 - np.sqrt(np.clip(1 - np.nan_to_num(near), 0, 1)))


def polygon_ious(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return intersections over unions of n turned boxes and m others, (n, m)."""
    return np.array([polygon_iou(one, others) for one in some]).reshape(len(some), len(others))


def polygon_iou(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return intersections over unions of a turned box and others; 0 of boxes without area."""
    (cosine,), (sine,) = _turn(one[None])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        x, y, angles = (others[:, k] - one[k] for k in (0, 1, 4))
        seen = np.column_stack([x * cosine + y * sine, y * cosine - x * sine, others[:, 2:4], angles])
        shared = _inside(corners_of(seen), one[2] / 2, one[3] / 2)
        ious: np.ndarray = np.nan_to_num(shared / (one[2] * one[3] + others[:, 2] * others[:, 3] - shared))
    return ious


def _between(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return values kept between two bounds; NaN where a bound is NaN, which `clip` of numpy before 1.25 ignores."""
    return np.asarray(np.minimum(np.maximum(values, low), high))


def _inside(corners: np.ndarray, x: float, y: float) -> np.ndarray:
    """Return the areas of convex polygons (n, corners, 2) between -x and x, and -y and y.

    The area is the integral around the polygon of its height, kept between -y and y, over its x, kept between -x and x.
    """
    start, end = corners, np.roll(corners, -1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.nan_to_num((end[..., 1] - start[..., 1]) / (end[..., 0] - start[..., 0]), posinf=0, neginf=0)
        first, last = _between(start[..., 0], -x, x), _between(end[..., 0], -x, x)
        heights = [start[..., 1] + (at - start[..., 0]) * slope for at in (first, last)]
        low, high = np.minimum(*heights), np.maximum(*heights)
        below, above = (np.nan_to_num(((edge - low) / (high - low)).clip(0, 1)) for edge in (-y, y))
        mean = -y * below + (_between(low, -y, y) + _between(high, -y, y)) / 2 * (above - below) + y * (1 - above)
        mean = np.where(high == low, _between(low, -y, y), mean)
        return np.asarray(np.abs(((last - first) * mean).sum(1)))


_KINDS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], _Overlap]] = {
    "probiou": (_gaussians, probiou),
    "polygons": (lambda boxes: boxes, polygon_ious),
}
