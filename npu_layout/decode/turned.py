"""Turned boxes: their corners and bounds, and their suppression by ProbIoU."""

from __future__ import annotations

import numpy as np


def corners_of(boxes: np.ndarray) -> np.ndarray:
    """Return the corners of (n, 5) turned boxes: (n, 4, 2), in order around each."""
    cosine, sine = np.cos(boxes[:, 4]), np.sin(boxes[:, 4])
    along = np.stack([cosine, sine], 1) * boxes[:, 2:3] / 2
    across = np.stack([-sine, cosine], 1) * boxes[:, 3:4] / 2
    middle = boxes[:, :2]
    return np.stack(
        [middle - along - across, middle + along - across, middle + along + across, middle - along + across], 1
    )


def bounds_of(boxes: np.ndarray) -> np.ndarray:
    """Return the edges (n, 4) of the upright boxes around (n, 5) turned ones."""
    corners = corners_of(boxes)
    return np.concatenate([corners.min(1), corners.max(1)], 1)


def suppressed(boxes: np.ndarray, classes: np.ndarray | None, iou: float, inclusive: bool, limit: int) -> np.ndarray:
    """Return which turned boxes stay, by ProbIoU; they, and their classes, are in the order of their scores."""
    alive, kept = np.ones(len(boxes), bool), []
    gauss = _gaussians(boxes)
    for i in range(len(boxes)):
        if not alive[i]:
            continue
        kept.append(i)
        if len(kept) == limit:
            break
        rest = np.flatnonzero(alive[i + 1 :]) + i + 1
        if classes is not None:
            rest = rest[classes[rest] == classes[i]]
        near = probiou(gauss[i], gauss[rest])
        alive[rest[near >= iou if inclusive else near > iou]] = False
    return np.array(kept, np.int64)


def _gaussians(boxes: np.ndarray) -> np.ndarray:
    """Return x, y and the covariance a, b, c of the Gaussian of each box: that of points spread over it evenly."""
    w, h = boxes[:, 2] ** 2 / 12, boxes[:, 3] ** 2 / 12
    cosine, sine = np.cos(boxes[:, 4]), np.sin(boxes[:, 4])
    a, b = w * cosine**2 + h * sine**2, w * sine**2 + h * cosine**2
    return np.column_stack([boxes[:, :2], a, b, (w - h) * cosine * sine])


def probiou(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return 1 less the Hellinger distance of a Gaussian and others."""
    x, y = one[0] - others[:, 0], one[1] - others[:, 1]
    a, b, c = (one[k] + others[:, k] for k in (2, 3, 4))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        area = a * b - c**2
        exponent = ((a * y**2 + b * x**2) / 4 - c * x * y / 2) / area
        own = np.sqrt((one[2] * one[3] - one[4] ** 2) * (others[:, 2] * others[:, 3] - others[:, 4] ** 2))
        near = np.exp(-exponent) * np.sqrt(4 * own / area)
        return np.asarray(1 - np.sqrt(np.clip(1 - np.nan_to_num(near), 0, 1)))
