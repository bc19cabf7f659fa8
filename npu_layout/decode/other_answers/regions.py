"""Read regions of text from a map of probabilities, DBNet's, as turned rectangles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import checked_call, naming, real_number
from ..heads.batches import one_image
from ..heads.records import count_of, share_of
from ..outputs.ranges import largest_value

_LEAST_SIDE = 3.0  # cells; regions that are less are noise, as in the source


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions of text, each a turned rectangle.

    Attributes
    ----------
    corners
        float32 (n, 4, 2): x, y of each region's corners in pixels of the network's input, clockwise on the screen from
        the upper left one on; `Geometry.points_to_frame` maps them into the frame.
    confidence
        float32 (n,): the mean score in the rectangle before it was enlarged.

    Raises nothing: `dbnet` makes them.
    """

    corners: np.ndarray
    confidence: np.ndarray

    def __len__(self) -> int:
        return len(self.corners)


@checked_call
def dbnet(
    spec: TensorSpec,
    buffer: Any,
    confidence: float = 0.6,
    *,
    threshold: float = 0.3,
    unclip: float = 1.5,
    stride: float = 1.0,
    limit: int = 1000,
) -> Regions:
    """Return the regions of text in DBNet's probability map.

    Cells above `threshold` that touch each other are a region. The smallest turned rectangle around it is enlarged,
    because DBNet learns shrunken regions: each side moves outwards by area * `unclip` / perimeter (Liao et al.,
    "Real-time Scene Text Detection with Differentiable Binarization", 2020). PaddleOCR's rectangle is the same
    (ppocr/postprocess/db_postprocess.py, box_type quad).

    Parameters
    ----------
    spec, buffer
        The map as stored, in any layout and dtype, and its spec: (1, 1, H, W).
    confidence
        The least mean score in the rectangle before it is enlarged.
    threshold
        A cell belongs to a region if its score is above this.
    unclip
        How much regions are enlarged: 0 is not at all.
    stride
        Pixels of the input from one cell to the next.
    limit
        The largest number of regions to return: those with the best scores.

    Returns
    -------
    Regions in the order in which OpenCV finds their contours. As in PaddleOCR, a hole in a region is returned too, if
    its rectangle scores enough.

    Raises
    ------
    NpuLayoutError
        If no stored value reaches `threshold` or `confidence`; if one of them is outside 0 .. 1 and the map has floats;
        if another argument is wrong.
    LayoutError
        If the output has other axes, or several channels.
    BufferSizeError
        If the buffer has another size than its spec.

    Examples
    --------
    >>> heat = np.zeros((1, 1, 20, 40), np.float32)
    >>> heat[0, 0, 5:15, 10:31] = 1
    >>> dbnet(TensorSpec(heat.shape), heat.ravel(), unclip=0.0).corners.tolist()
    [[[10.0, 5.0], [30.0, 5.0], [30.0, 14.0], [10.0, 14.0]]]
    """
    import cv2

    least, cut = real_number("confidence", confidence), real_number("threshold", threshold)
    more, step, limit = (
        real_number("unclip", unclip, least=0.0),
        real_number("stride", stride, 0.0),
        count_of("limit", limit),
    )
    channels, _, _ = one_image("spec", spec, "dbnet")
    if channels != 1:
        raise LayoutError(f"dbnet: {spec.describe()}: expected one channel, got {channels}")
    most = largest_value(spec)
    if most == np.inf:
        share_of("threshold", cut, ": the map has probabilities")
        share_of("confidence", least, ": the map has probabilities")
    if cut >= most or least > most:  # cells are above the threshold, means may be equal
        asked = f"threshold: no stored value is above {cut:g}"
        asked = asked if cut >= most else f"confidence: no stored value reaches {least:g}"
        raise NpuLayoutError(f"{asked}: stored values mean at most {most:g}")
    with naming("buffer"):
        values = spec.unpack(buffer).transpose([spec.axes.index(letter) for letter in "NCHW"])
    heat = np.ascontiguousarray(values[0], np.float32)
    contours, _ = cv2.findContours((heat[0] > cut).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    corners, scores = [], []
    for contour in contours:
        (x, y), (w, h), angle = cv2.minAreaRect(contour)
        if min(w, h) < _LEAST_SIDE:
            continue
        box = cv2.boxPoints(((x, y), (w, h), angle))
        score = _mean_inside(heat[0], box)
        away = w * h * more / (2 * (w + h))
        if score >= least and min(w, h) + 2 * away >= _LEAST_SIDE + 2:
            corners.append(_ordered(cv2.boxPoints(((x, y), (w + 2 * away, h + 2 * away), angle))))
            scores.append(score)
    kept = np.sort(np.argsort(-np.array(scores), kind="stable")[:limit])
    found = np.array(corners, np.float32).reshape(-1, 4, 2)[kept]
    with np.errstate(over="ignore"):
        return Regions((found * step).astype(np.float32), np.array(scores, np.float32)[kept])


def _mean_inside(heat: np.ndarray, box: np.ndarray) -> float:
    """Return the mean of the cells in a polygon."""
    import cv2

    low = np.maximum(np.floor(box.min(0)), 0).astype(int)
    high = np.minimum(np.ceil(box.max(0)), np.array(heat.shape[::-1]) - 1).astype(int)
    mask = np.zeros((high[1] - low[1] + 1, high[0] - low[0] + 1), np.uint8)
    cv2.fillPoly(mask, [(box - low).astype(np.int32).reshape(1, -1, 2)], 1)
    return float(cv2.mean(heat[low[1] : high[1] + 1, low[0] : high[0] + 1], mask)[0])


def _ordered(box: np.ndarray) -> np.ndarray:
    """Return corners clockwise on the screen, from the upper left one on."""
    middle = box.mean(0)
    around = sorted(box.tolist(), key=lambda p: math.atan2(p[1] - middle[1], p[0] - middle[0]))
    first = min(range(4), key=lambda i: around[i][0] + around[i][1])
    return np.array(around[first:] + around[:first], np.float32)
