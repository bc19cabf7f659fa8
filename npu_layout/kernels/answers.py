"""Find candidates, suppress boxes, and compute masks and skeletons, by the kernels of a backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import fallback
from .choice import LEVELS
from .choice import answer_core as _core  # an import: Python calls functions of an imported name faster (30 ns)
from .detecting import Detection, FeatureMap


def detector(made: Detection, backend: str | None = None) -> Any:
    """Return the compiled detector: ``run(buffers, thresholds, ...)``; None if there is none for the backend."""
    level = LEVELS[backend]
    return None if level is None else _core.detector(made, level)


def nms(
    boxes: np.ndarray,
    scores: np.ndarray,
    class_id: np.ndarray | None,
    classes: int,
    rule: tuple[float, bool, float, float],
    limit: int,
    backend: str | None = None,
) -> np.ndarray | None:
    """Return the indices of boxes that stay, best first; None if it is not compiled for the backend.

    boxes, scores: float32 (n, 4), (n,); class_id: int64 (n,), from 0 to `classes` - 1, or None; rule: the threshold of
    the IoU, whether it is inclusive, what is added to sides and to unions.
    """
    level = LEVELS[backend]
    return None if level is None else _core.nms(boxes, scores, class_id, classes, rule, limit, level)


def turned_nms(
    shapes: np.ndarray, class_id: np.ndarray | None, iou: float, inclusive: bool, limit: int, backend: str | None = None
) -> np.ndarray | None:
    """Return the rows of Gaussians, in the order of their scores, that stay; None: not compiled for the backend.

    shapes: float64 (n, 5), x, y and the covariance a, b, c; class_id: (n,) or None. For the rule see
    decode/results/turned.py.
    """
    known = LEVELS[backend] is not None
    return _core.turned_nms(shapes, class_id, iou, inclusive, limit) if known else None


def scan(made: FeatureMap, data: np.ndarray, least: int, backend: str | None = None) -> np.ndarray | None:
    """Return the elements whose codes are `least` or more: int32 (count, 3), the cell, the channel, the code.

    made: where the elements are in `data`, a C-contiguous buffer of int8, uint8, int16, uint16, float16, bfloat16 or
    float32. Codes are integers that sort as values do, see `codes` and `least_float`; every NaN is the largest. Rows
    are in the order of cells. None: not compiled for the backend. ValueError if an element is outside the buffer.
    """
    level = LEVELS[backend]
    return None if level is None else _core.scan(made, data, least, level)


def masks(
    made: FeatureMap,
    data: np.ndarray,
    zero: int,
    coefficients: np.ndarray,
    windows: np.ndarray,
    factor: int,
    out: np.ndarray,
    backend: str | None = None,
) -> bool:
    """Write masks of instances, bytes 0 or 1, one after the other; False if they are not compiled for the backend.

    made, data, zero: prototypes, int8 or uint8, where they are stored, and the code that means 0; coefficients: int16
    (n, channels), without their zero point; windows: int32 (n, 4), left, top, right, bottom in pixels of the
    prototypes enlarged `factor` times; out: uint8, as long as the windows have pixels. A pixel is 1 if the sum is above
    0. False too if a sum could overflow.
    """
    level = LEVELS[backend]
    if level is None or made.dtype not in ("int8", "uint8"):
        return False
    return bool(_core.masks(made, data, zero, coefficients, windows, factor, out, level))


def skeletons(
    fields: np.ndarray,
    limbs: np.ndarray,
    peaks: np.ndarray,
    ends: np.ndarray,
    line: tuple[int, int, float],
    total: float,
    backend: str | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Join peaks by limbs, each limb by the field along the line between its peaks; return skeletons and their sums.

    fields: float32 (2 limbs, H, W), C-contiguous, x and y of each; a value that is not finite counts as 0. limbs: int64
    (n, 2), joints. peaks: float64 (count, 3), x, y in cells and the score, joint after joint; ends: int64 (joints + 1),
    the first of each joint, then their number. line: at how many points the field is read, at how many of them its part
    along the line must be above the least, and that least.

    A limb's score is the mean of the field's part along it times the root of its peaks' scores. Each peak is in one
    limb of a kind, the best scores first, of equals the first. Limbs are added in their order: to the skeleton that has
    one of their peaks, or both; two without a joint in common become one, at the place of the first. Returns int64
    (k, joints), rows of peaks or -1, and float64 (k,), the sums of their limbs, those of `total` or more.
    """
    core = fallback.limbs if LEVELS[backend] is None else _core
    found: tuple[np.ndarray, np.ndarray] = core.skeletons(fields, limbs, peaks, ends, line, total)
    return found
