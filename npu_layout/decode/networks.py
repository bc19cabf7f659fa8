"""Make the heads of known networks: a function a family, which fills the rows of a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..support import whole_numbers
from .head import Boxes, Form, Head, Keypoints, Part

STRIDES = (8, 16, 32)
YOLOV5_ANCHORS = (  # ultralytics/yolov5, models/yolov5s.yaml: width and height in pixels
    ((10, 13), (16, 30), (33, 23)),
    ((30, 61), (62, 45), (59, 119)),
    ((116, 90), (156, 198), (373, 326)),
)


def yolov8(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    labels: str = "best",
    bins: int = 16,
    keypoints: int = 0,
    coefficients: int = 0,
    name: str = "yolov8",
) -> Head:
    """Return the head of YOLOv8, v9, v11 and v12.

    Outputs are 6 or 9 maps, boxes, scores and (airockchip's export) sums of scores for each stride, or one list
    (1, 4 + classes, cells) of boxes in pixels. Sides left, top, right and bottom are means of 16 bins, in strides, from
    the cell's centre (0.5). Suppression is class-aware; boxes are not clipped.

    Parameters
    ----------
    classes, strides
        Their number; pixels from one cell to the next, a level each.
    activation
        What the decoder has to apply to scores: "none" (stored scores are probabilities: the sigmoid is in the graph)
        or "sigmoid".
    labels
        "best" class of each cell, or "all" that pass, as for mAP.
    bins, keypoints, coefficients
        Bins of a side; points of the pose variant (17; x, y and visibility each); mask coefficients of the segmentation
        variant (32).
    name
        Of the head.

    Raises NpuLayoutError on other words and counts.

    >>> yolov8(classes=3).to_dict()["forms"][1]["name"]
    'list'
    """
    (classes, strides), bins = _sizes(classes, strides), _count("bins", bins)
    keypoints, coefficients = _count("keypoints", keypoints, 0), _count("coefficients", coefficients, 0)
    beside = []
    if keypoints:
        beside.append(Part("keypoints", 3 * keypoints))
    if coefficients:
        beside.append(Part("coefficients", coefficients))
    score = Part("score", classes, activation)
    maps = (Part("box", 4 * bins), score, Part("bound", 1, optional=True), *beside)
    decoded = Boxes("xywh", unit="pixel")
    forms = [Form("maps", maps, Boxes("dfl", bins)), Form("list", (Part("box", 4), score, *beside), decoded, "list")]
    points = Keypoints(keypoints) if keypoints else None
    return Head(name, classes, strides, tuple(forms), labels=labels, keypoints=points)


def yolov5(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    anchors: Any = YOLOV5_ANCHORS,
    *,
    activation: str = "none",
    labels: str = "best",
    coefficients: int = 0,
    name: str = "yolov5",
) -> Head:
    """Return the head of YOLOv5 and v7.

    Outputs are three maps of 3 (5 + classes) channels, anchor by anchor (or an axis of anchors), or one list
    (1, cells, 5 + classes) of boxes in pixels. The score is objectness times class.

    classes, strides, activation, labels, coefficients, name: as for `yolov8`; activation "sigmoid" is applied to boxes
    too. anchors: width and height in pixels of some anchors for each stride. Raises NpuLayoutError on anything else.
    """
    (classes, strides), coefficients = _sizes(classes, strides), _count("coefficients", coefficients, 0)
    box = Part("box", 4, activation)
    scores = (Part("objectness", 1, activation), Part("score", classes, activation))
    beside = (Part("coefficients", coefficients),) if coefficients else ()
    decoded = Boxes("xywh", unit="pixel")
    maps = Form("maps", (box, *scores, *beside), Boxes("center_power"))
    listed = Form("list", (Part("box", 4), *scores, *beside), decoded, "list")
    return Head(name, classes, strides, (maps, listed), anchors, "objectness", labels)


def _sizes(classes: Any, strides: Any) -> tuple[int, tuple[int, ...]]:
    """Return the number of classes, and the strides, checked."""
    return _count("classes", classes), whole_numbers("strides", strides, None, 1)


def _count(what: str, given: Any, least: int = 1) -> int:
    (number,) = whole_numbers(what, [given], 1, least)
    return number
