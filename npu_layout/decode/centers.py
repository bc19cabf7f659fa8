"""Objects as points, CenterNet, and text as regions of a map, DBNet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError, NpuLayoutError
from ..support import instance, naming, one_of, real_number, whole_number
from .detections import Detections, memory_for
from .head import ACTIVATIONS
from .reference import activated

_IMAGE = frozenset("NCHW")
_LEAST_SIDE = 3.0  # cells; regions that are less are noise, as in the source


def centernet(
    specs: Mapping[str, TensorSpec],
    buffers: Mapping[str, Any],
    confidence: float = 0.3,
    limit: int = 100,
    *,
    stride: int = 4,
    activation: str = "none",
) -> Detections:
    """Return the detections of CenterNet: cells that no neighbour exceeds, with a size and an offset.

    There is no suppression beside that of the eight neighbours (xingyizhou/CenterNet, src/lib/models/decode.py).

    Parameters
    ----------
    specs
        {"heat": scores (1, classes, H, W), "size": (1, 2, H, W), width and height in cells, "offset": (1, 2, H, W), of
        the centre in its cell}, in any layout and dtype; without "offset" centres are in the middle of cells.
    buffers
        The outputs, by the same names.
    confidence
        The least score.
    limit
        The number of detections, at most: the best ones.
    stride
        Pixels of the input from one cell to the next.
    activation
        What is applied to scores: "none" (the sigmoid is in the graph) or "sigmoid".

    Returns
    -------
    Detections, the best first; of equal scores the lower class, then the first cell.

    Raises
    ------
    NpuLayoutError
        On missing outputs and other words; LayoutError on other axes and extents; BufferSizeError.

    Examples
    --------
    >>> specs = {name: TensorSpec((1, n, 4, 4)) for name, n in (("heat", 1), ("size", 2))}
    >>> heat, size = np.zeros((1, 1, 4, 4), np.float32), np.full((1, 2, 4, 4), 2, np.float32)
    >>> heat[0, 0, 1, 2] = 0.9
    >>> centernet(specs, {"heat": heat.ravel(), "size": size.ravel()}).xyxy.tolist()
    [[6.0, 2.0, 14.0, 10.0]]
    """
    least, most = real_number("confidence", confidence), whole_number("limit", limit)
    if most < 1 or whole_number("stride", stride) < 1:
        raise NpuLayoutError(f"limit, stride: expected 1 or more, got {limit}, {stride}")
    one_of("activation", activation, ACTIVATIONS[:2])
    heat = _map("heat", specs, buffers)
    classes, rows, columns = heat.shape
    size = _map("size", specs, buffers, (2, rows, columns))
    offset = _map("offset", specs, buffers, (2, rows, columns)) if "offset" in specs else None
    values = activated(activation, heat)
    edged = np.full((classes, rows + 2, columns + 2), -np.inf)
    edged[:, 1:-1, 1:-1] = np.nan_to_num(heat.astype(np.float64), nan=np.inf)
    around = [edged[:, dy : dy + rows, dx : dx + columns] for dy in range(3) for dx in range(3)]
    good = (edged[:, 1:-1, 1:-1] == np.maximum.reduce(around)) & (values >= least)
    label, y, x = np.nonzero(good)
    score = values[good].astype(np.float32)
    order = np.argsort(-score, kind="stable")[:most]
    label, y, x, score = label[order], y[order], x[order], score[order]
    middle = np.stack([x, y], 1) + (0.5 if offset is None else offset[:, y, x].T.astype(np.float64))
    half = size[:, y, x].T.astype(np.float64) / 2
    memory = memory_for(len(order))
    memory.xyxy[:] = np.concatenate([middle - half, middle + half], 1) * stride
    memory.confidence[:], memory.class_id[:], memory.cell[:] = score, label, y * columns + x
    memory.level[:] = memory.anchor[:] = 0
    return Detections(*memory)


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions of text, each a turned rectangle.

    Attributes
    ----------
    corners
        float32 (n, 4, 2): x, y in pixels of the network's input, in order around each; `Geometry.points_to_frame` maps
        them.
    confidence
        float32 (n,): the mean score inside.

    Raises nothing: `dbnet` makes them.
    """

    corners: np.ndarray
    confidence: np.ndarray

    def __len__(self) -> int:
        return len(self.corners)


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

    Cells above `threshold` that touch each other are a region. Its smallest turned rectangle is enlarged on each side
    by area times `unclip` over perimeter, because DBNet learns shrunken regions (Liao et al., "Real-time Scene Text
    Detection with Differentiable Binarization", 2020; PaddleOCR, ppocr/postprocess/db_postprocess.py, box_type quad,
    whose polygon, offset round, has this very rectangle).

    Parameters
    ----------
    spec, buffer
        The map: (1, 1, H, W), in any layout and dtype.
    confidence
        The least mean score in the rectangle before it is enlarged.
    threshold
        The least score of a cell.
    unclip
        How much regions are enlarged.
    stride
        Pixels of the input from one cell to the next.
    limit
        The number of regions, at most.

    Returns
    -------
    Regions in the order in which OpenCV finds their contours.

    Raises
    ------
    NpuLayoutError
        On numbers that do not fit; LayoutError if the output has other axes or channels; BufferSizeError.

    Examples
    --------
    >>> heat = np.zeros((1, 1, 20, 40), np.float32)
    >>> heat[0, 0, 5:15, 10:31] = 1
    >>> dbnet(TensorSpec(heat.shape), heat.ravel(), unclip=0.0).corners.tolist()
    [[[10.0, 5.0], [30.0, 5.0], [30.0, 14.0], [10.0, 14.0]]]
    """
    import cv2

    least, cut = real_number("confidence", confidence), real_number("threshold", threshold)
    more, step = real_number("unclip", unclip), real_number("stride", stride, 0.0)
    if more < 0 or whole_number("limit", limit) < 1:
        raise NpuLayoutError(f"unclip, limit: expected 0 or more and 1 or more, got {unclip}, {limit}")
    heat = np.ascontiguousarray(_map("spec", {"spec": spec}, {"spec": buffer}), np.float32)
    if len(heat) != 1:
        raise LayoutError(f"dbnet: {spec.describe()}: expected one channel, got {len(heat)}")
    contours, _ = cv2.findContours((heat[0] > cut).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    corners, scores = [], []
    for contour in contours[:limit]:
        (x, y), (w, h), angle = cv2.minAreaRect(contour)
        if min(w, h) < _LEAST_SIDE:
            continue
        box = cv2.boxPoints(((x, y), (w, h), angle))
        score = _mean_inside(heat[0], box)
        away = w * h * more / (2 * (w + h))
        if score >= least and min(w, h) + 2 * away >= _LEAST_SIDE + 2:
            corners.append(_ordered(cv2.boxPoints(((x, y), (w + 2 * away, h + 2 * away), angle))))
            scores.append(score)
    found = np.array(corners, np.float32).reshape(-1, 4, 2)
    return Regions(found * np.float32(step), np.array(scores, np.float32))


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


def _map(name: str, specs: Any, buffers: Any, expected: tuple[int, ...] | None = None) -> np.ndarray:
    """Return an output as (channels, rows, columns) of real values."""
    for what, given in (("specs", specs), ("buffers", buffers)):
        if not isinstance(given, Mapping) or name not in given:
            got = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
            raise NpuLayoutError(f"{what}: expected {{name: ...}} with {name!r}, got {got or 'none'}")
    spec = instance(name if name == "spec" else f"specs[{name!r}]", specs[name], TensorSpec)
    if set(spec.axes) != _IMAGE or spec.shape[spec.axes.index("N")] != 1:
        raise LayoutError(f"{name}: {spec.describe()}: expected one image with the axes N, C, H and W")
    with naming("buffer" if name == "spec" else f"buffers[{name!r}]"):
        values = spec.unpack(buffers[name])
    image: np.ndarray = values.transpose([spec.axes.index(letter) for letter in "NCHW"])[0]
    if expected is not None and image.shape != expected:
        raise LayoutError(f"specs[{name!r}]: expected {expected} as the heat, got {image.shape}")
    return image
