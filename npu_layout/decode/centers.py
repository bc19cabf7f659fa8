"""Objects as points, CenterNet, and text as regions of a map, DBNet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError, NpuLayoutError
from ..support import checked_call, instance, naming, one_of, real_number
from .batches import refuse_batch
from .decoder import MOST, Decoder
from .detections import Detections
from .detectors import centernet_head
from .head import ACTIVATIONS
from .ranges import largest_value
from .records import count_of

_IMAGE = frozenset("NCHW")
_LEAST_SIDE = 3.0  # cells; regions that are less are noise, as in the source


@checked_call
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

    There is no suppression beside that of the eight neighbours (xingyizhou/CenterNet, src/lib/models/decode.py). A
    Decoder of `centernet_head` is made at each call: for many inputs keep one.

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
        The number of detections, at most: the best ones, of 30,000.
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
        On missing outputs and other words, and a `confidence` that no stored value reaches; LayoutError on other axes
        and extents; BufferSizeError.

    Examples
    --------
    >>> specs = {name: TensorSpec((1, n, 4, 4)) for name, n in (("heat", 1), ("size", 2))}
    >>> heat, size = np.zeros((1, 1, 4, 4), np.float32), np.full((1, 2, 4, 4), 2, np.float32)
    >>> heat[0, 0, 1, 2] = 0.9
    >>> centernet(specs, {"heat": heat.ravel(), "size": size.ravel()}).xyxy.tolist()
    [[6.0, 2.0, 14.0, 10.0]]
    """
    least, most, stride = real_number("confidence", confidence), count_of("limit", limit), count_of("stride", stride)
    one_of("activation", activation, ACTIVATIONS[:2])
    _check_names("specs", specs, ("heat", "size"))
    roles = {"heat": "score", "size": "box", "offset": "offset"}
    outputs = {role: [name] for name, role in roles.items() if name in specs}
    _check_names("buffers", buffers, [name for (name,) in outputs.values()])
    classes, rows, columns = _shape("specs['heat']", specs["heat"], "centernet")
    for (name,) in outputs.values():
        _check_shape(name, specs[name], (classes if name == "heat" else 2, rows, columns))
    head = centernet_head(classes, stride, activation=activation)
    given = [specs[name].replace(name=name) for (name,) in outputs.values()]
    decoder = Decoder(head, given, (rows * stride, columns * stride), outputs=outputs)
    found = decoder({spec.name: buffers[spec.name] for spec in given}, least, limit=MOST)
    return found[np.lexsort((found.cell, found.class_id, -found.confidence))[:most]]


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
        The number of regions, at most: those of the best scores.

    Returns
    -------
    Regions in the order in which OpenCV finds their contours. As in the source, a hole of a region is one too, if its
    rectangle scores enough.

    Raises
    ------
    NpuLayoutError
        On numbers that do not fit, and a `threshold` or `confidence` beyond all stored values; LayoutError if the
        output has other axes or channels; BufferSizeError.

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
    channels, _, _ = _shape("spec", spec, "dbnet")
    if channels != 1:
        raise LayoutError(f"dbnet: {spec.describe()}: expected one channel, got {channels}")
    most = largest_value(spec)
    if cut >= most or least > most:  # cells are above the threshold, means may be equal
        why = f"threshold: no stored value is above {cut:g}" if cut >= most else f"confidence: none reaches {least:g}"
        raise NpuLayoutError(f"{why}; the largest that one means is {most:g}")
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
    return Regions(found * np.float32(step), np.array(scores, np.float32)[kept])


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


def _shape(what: str, spec: Any, reader: str) -> tuple[int, int, int]:
    """Return channels, rows and columns of an output with one image; LayoutError if it is none."""
    refuse_batch(instance(what, spec, TensorSpec), reader)
    axes = spec.axes
    if set(axes) != _IMAGE or spec.shape[axes.index("N")] != 1:
        raise LayoutError(f"{what}: {spec.describe()}: expected one image with the axes N, C, H and W")
    channels, rows, columns = (spec.shape[axes.index(letter)] for letter in "CHW")
    return channels, rows, columns


def _check_names(what: str, given: Any, names: Sequence[str]) -> None:
    for name in names:
        if not isinstance(given, Mapping) or name not in given:
            got = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
            raise NpuLayoutError(f"{what}: expected {{name: ...}} with {name!r}, got {got or 'none'}")


def _check_shape(name: str, spec: Any, expected: tuple[int, int, int]) -> None:
    """Raise LayoutError if an output has other extents, or axes in an order that a Decoder does not read."""
    got = _shape(f"specs[{name!r}]", spec, "centernet")
    if got != expected:
        raise LayoutError(f"specs[{name!r}]: expected {expected} as the heat, got {got}")
    if spec.axes.replace("C", "") != "NHW" or spec.axes.index("C") == 2:
        raise LayoutError(f"specs[{name!r}]: {spec.describe()}: expected channels before or behind rows and columns")
