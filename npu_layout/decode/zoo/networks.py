"""Make the heads of the YOLO family: a function for each formula, which fills the rows of a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import NpuLayoutError
from ...support import check_used, checked_call, flag, one_of
from ..heads.form import HINTS, UNITS, Boxes, Form, Part
from ..heads.head import Head
from ..heads.records import count_of, counts_of
from ..heads.rules import POINTS_ACROSS, Keypoints, Prototypes, Suppression
from .anchors import anchors_for

STRIDES = (8, 16, 32)
YOLOV5_ANCHORS = (  # ultralytics/yolov5, models/yolov5s.yaml: width and height in pixels
    ((10, 13), (16, 30), (33, 23)),
    ((30, 61), (62, 45), (59, 119)),
    ((116, 90), (156, 198), (373, 326)),
)
YOLOV7_ANCHORS = (  # WongKinYiu/yolov7, cfg/deploy/yolov7.yaml; AlexeyAB/darknet, cfg/yolov4.cfg
    ((12, 16), (19, 36), (40, 28)),
    ((36, 75), (76, 55), (72, 146)),
    ((142, 110), (192, 243), (459, 401)),
)


@checked_call
def yolov8(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    labels: str = "best",
    bins: int = 16,
    keypoints: int = 0,
    coefficients: int = 0,
    scores_first: bool = False,
    unit: str = "pixel",
    listed: str = "centers",
    across: str = "axes",
    point_values: int = 3,
    name: str = "yolov8",
) -> Head:
    """Return the head of YOLOv8, v9, v11 and v12.

    Outputs are maps of boxes and of scores for each stride, and of sums of scores in airockchip's export, or one list
    (1, 4 + classes, cells) of boxes in pixels and scores. In a map, a box is its distances to the left, top, right and
    bottom from the cell's centre, in strides, each the mean of 16 bins. Suppression is greedy, within each class; boxes
    are not clipped. Keypoints and coefficients are maps too, or one output for all levels: (1, 17, 3, cells) of pixels
    (airockchip's export), (1, 51, cells), (1, 32, cells).

    Parameters
    ----------
    classes, strides
        The number of classes; for each level, the pixels of the input from one cell to the next.
    activation
        What the decoder has to apply to scores: "none" (stored scores are probabilities: the sigmoid is in the graph)
        or "sigmoid".
    labels
        "best": one detection for each cell, of its best class; "all": one for each class that passes, as mAP needs.
    bins
        The number of bins of a side, reg_max in the source.
    keypoints
        The number of points of the pose variant (17, with x, y and visibility each), 0 for none.
    coefficients
        The number of mask coefficients of the segmentation variant (32), 0 for none. The prototypes are one more
        output, a cell every 4 pixels.
    scores_first
        Whether scores come before bins in a map that has both (khadas/ksnn, examples/yolov8n/yolov8n-picture.py).
        Extents do not show it.
    unit
        The unit of boxes and keypoints in a list: "pixel", or "input" if the whole input is 1 (TFLite exports).
    listed
        What boxes in a list are: "centers" and sizes in `unit`, or "sides", distances in strides from the cells'
        centres, after the means of the bins. Keypoints in a list of sides are encoded as in maps (MaixCAM:
        sipeed/MaixCDK, components/nn/include/maix_nn_yolo11.hpp).
    across
        How keypoints are stored if maps have one output with those of all levels: see `Keypoints`; "encoded" for
        MaixCAM2.
    point_values
        How many numbers a keypoint has: 3, or 2 if the network was trained without visibility (kpt_shape: [12, 2]).
        Without keypoints, another number than 3 and another `across` are refused.
    name
        The name of the head, which messages show.

    Raises NpuLayoutError on other words and counts.

    >>> yolov8(classes=3).to_dict()["forms"][1]["name"]
    'list'
    """
    (classes, strides), bins = sizes(classes, strides), count_of("bins", bins)
    one_of("across", across, POINTS_ACROSS)
    keypoints, coefficients = count_of("keypoints", keypoints, 0), count_of("coefficients", coefficients, 0)
    values, beside = _values_of(point_values, keypoints), []
    if not keypoints:
        check_used("across", across, POINTS_ACROSS[0], _POINTLESS)
    if keypoints:
        beside.append(Part("keypoints", values * keypoints))
    if coefficients:
        beside.append(Part("coefficients", coefficients))
    score = Part("score", classes, activation)
    box, bound = Part("box", 4 * bins), Part("bound", 1, optional=True, hint=HINTS["bound"])
    maps = (score, box, *beside) if flag("scores_first", scores_first) else (box, score, bound, *beside)
    parts, boxes = (Part("box", 4), score, *beside), listed_boxes(listed, unit)
    forms = [Form("maps", maps, Boxes("dfl", bins)), Form("list", parts, boxes, "list")]
    if beside:  # airockchip/rknn_model_zoo, examples/yolov8_pose; sipeed/MaixCDK
        apart = tuple(replace(part, across=True) if part in beside else part for part in maps)
        forms.append(Form("points or coefficients across levels", apart, Boxes("dfl", bins)))
    return Head(
        name,
        classes,
        strides,
        tuple(forms),
        labels=labels,
        keypoints=Keypoints(keypoints, values, across=across) if keypoints else None,
        prototypes=Prototypes(coefficients) if coefficients else None,
    )


_POINTLESS = "where keypoints= is 0"


def _values_of(point_values: Any, keypoints: int) -> int:
    """Return how many numbers a keypoint has; NpuLayoutError unless 2 or 3, which is the same without keypoints."""
    if (values := count_of("point_values", point_values)) not in (2, 3):
        raise NpuLayoutError(f"point_values: expected 2 (x and y) or 3 (and visibility), got {values}")
    if not keypoints:
        check_used("point_values", values, 3, _POINTLESS)
    return values


def listed_boxes(listed: str, unit: str, angle: str = "none") -> Boxes:
    """Return what a list of YOLOv8 has as boxes: "centers" in a unit, or "sides" in strides; angle: of sides."""
    centers = Boxes("xywh", unit=unit, angle="none" if angle == "none" else "radians")
    sides = one_of("listed", listed, ("centers", "sides")) == "sides"
    return Boxes("distances", angle=angle) if sides else centers


@checked_call
def yolov5(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    anchors: Any = None,
    *,
    activation: str = "none",
    labels: str = "best",
    coefficients: int = 0,
    unit: str = "pixel",
    name: str = "yolov5",
) -> Head:
    """Return the head of YOLOv5, and of YOLOv7-tiny.

    Outputs are three maps of 3 (5 + classes) channels, anchor by anchor (or with an axis of anchors), or one list
    (1, cells, 5 + classes) of boxes in pixels, objectness and scores. A detection's score is objectness times the
    class's score.

    classes, strides, activation, labels, coefficients, unit, name: as for `yolov8`; activation "sigmoid" is applied to
    boxes too. anchors: width and height in pixels of each stride's anchors, in the order of `strides`, as pairs or as
    one row of numbers like in yaml files; None: those of yolov5s.yaml, if the strides are 8, 16 and 32 in any order.
    Raises NpuLayoutError on anything else, and on anchors that are shares or cells, or in the reverse order.
    """
    (classes, strides), coefficients = sizes(classes, strides), count_of("coefficients", coefficients, 0)
    anchors = anchors_for(strides, anchors, {STRIDES: YOLOV5_ANCHORS})
    scores = (Part("objectness", 1, activation, hint=HINTS["objectness"]), Part("score", classes, activation))
    beside = (Part("coefficients", coefficients),) if coefficients else ()
    maps = Form("maps", (Part("box", 4, activation), *scores, *beside), Boxes("center_power"))
    listed = Form("list", (Part("box", 4), *scores, *beside), Boxes("xywh", unit=unit), "list")
    forms = (maps, listed, split_form(activation, (*scores, *beside), Boxes("center_power")))
    prototypes = Prototypes(coefficients) if coefficients else None
    return Head(name, classes, strides, forms, anchors, "objectness", labels, prototypes=prototypes)


def split_form(activation: str, beside: tuple[Part, ...], boxes: Boxes) -> Form:
    """Return maps with centres and sizes in outputs of their own (Hailo); activation: of both."""
    centers, shapes = Part("offset", 2, activation, hint="center|xy"), Part("box", 2, activation, hint="scale|size|wh")
    return Form("centres and sizes apart", (centers, shapes, *beside), boxes)


@checked_call
def yolov7(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    anchors: Any = None,
    *,
    activation: str = "none",
    labels: str = "best",
    unit: str = "pixel",
    name: str = "yolov7",
) -> Head:
    """Return the head of YOLOv7: that of YOLOv5 with other anchors.

    classes, strides, activation, labels, unit, name: as for `yolov5`. anchors: as for `yolov5`; None: those of
    yolov7.yaml and yolov7x.yaml, if the strides are 8, 16 and 32 in any order. Those of yolov7-tiny.yaml are YOLOv5's.
    Raises NpuLayoutError on anything else.

    >>> yolov7().anchors[0][0]
    (12.0, 16.0)
    """
    _, strides = sizes(classes, strides)
    given = anchors_for(strides, anchors, {STRIDES: YOLOV7_ANCHORS})
    return yolov5(classes, strides, given, activation=activation, labels=labels, unit=unit, name=name)


@checked_call
def yolov6(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    labels: str = "best",
    name: str = "yolov6",
) -> Head:
    """Return the head of YOLOv6.

    Outputs are maps of four sides in strides, scores and (airockchip's export) sums of scores for each stride, or one
    list (1, cells, 5 + classes) of boxes in pixels, whose objectness is 1 (meituan/YOLOv6,
    yolov6/models/effidehead.py).

    classes, strides, activation, labels, name: as for `yolov8`. Raises NpuLayoutError on anything else.
    """
    classes, strides = sizes(classes, strides)
    box, score = Part("box", 4), Part("score", classes, activation)
    maps = Form("maps", (box, score, Part("bound", 1, optional=True, hint=HINTS["bound"])), Boxes("distances"))
    listed = Form("list", (box, Part("objectness", 1), score), Boxes("xywh", unit="pixel"), "list")
    return Head(name, classes, strides, (maps, listed), labels=labels)


@checked_call
def yolov10(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    bins: int = 16,
    unit: str = "pixel",
    name: str = "yolov10",
) -> Head:
    """Return the head of YOLOv10: that of YOLOv8 without suppression, with a detection for each class that passes.

    Outputs are maps as for `yolov8`, or rows (1, 300, 6): edges in pixels, score, class. Rows do not say the number of
    classes; a stored class that is not below `classes` is an error.

    classes, strides, activation, bins, name: as for `yolov8`. unit: of rows, "pixel", or "input" if the whole input is
    1 (TFLite). Raises NpuLayoutError on anything else.
    """
    (classes, strides), bins = sizes(classes, strides), count_of("bins", bins)
    maps = (Part("box", 4 * bins), Boxes("dfl", bins))
    return _without_suppression(classes, strides, activation, maps, unit, name)


@checked_call
def yolo26(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    keypoints: int = 0,
    coefficients: int = 0,
    unit: str = "pixel",
    point_values: int = 3,
    name: str = "yolo26",
) -> Head:
    """Return the head of YOLO26: four sides in strides without bins, without suppression.

    Outputs are maps of sides and of scores for each stride, and of keypoints or of mask coefficients, or rows (1, 300,
    6): edges in pixels, score, class, then keypoints in the unit of the edges, or mask coefficients. In maps keypoints
    are in strides from the cell's centre, without the factor 2 of YOLOv8 (AXERA-TECH/ax-samples,
    examples/base/detection.hpp; D-Robotics/rdk_model_zoo, ultralytics_yolo26/runtime/python/yolo26_pose.py).

    classes, strides, activation, keypoints, coefficients, point_values, name: as for `yolov8`. unit: as for `yolov10`.
    Raises NpuLayoutError on anything else.
    """
    classes, strides = sizes(classes, strides)
    points, weights = count_of("keypoints", keypoints, 0), count_of("coefficients", coefficients, 0)
    values = _values_of(point_values, points)
    beside = [Part("keypoints", values * points)] if points else []
    beside += [Part("coefficients", weights)] if weights else []
    maps = (Part("box", 4), Boxes("distances"))
    how = Keypoints(points, values, encoding="distances") if points else None
    return _without_suppression(classes, strides, activation, maps, unit, name, beside, how)


def _without_suppression(
    classes: int,
    strides: tuple[int, ...],
    activation: str,
    maps: tuple[Part, Boxes],
    unit: str,
    name: str,
    beside: Sequence[Part] = (),
    points: Keypoints | None = None,
) -> Head:
    """Return the head of maps, of which the box and its encoding are given, and of rows.

    beside: parts of both; points: what keypoints among them are.
    """
    score, bound = Part("score", classes, activation), Part("bound", 1, optional=True, hint=HINTS["bound"])
    counts = {part.role: part.count for part in beside}
    edges = Boxes("xyxy", unit=one_of("unit", unit, UNITS[1:]))
    forms = (
        Form("maps", (maps[0], score, bound, *beside), maps[1]),
        Form("rows", (Part("box", 4), Part("score", 1), Part("label", 1), *beside), edges, "rows"),
    )
    return Head(
        name,
        classes,
        strides,
        forms,
        labels="all",
        keypoints=points,
        prototypes=Prototypes(counts["coefficients"]) if "coefficients" in counts else None,
        suppression=Suppression("none"),
    )


@checked_call
def yolox(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    labels: str = "best",
    name: str = "yolox",
) -> Head:
    """Return the head of YOLOX: centre and logarithm of the size in strides, objectness, scores.

    Outputs are a map of 5 + classes channels for each stride, or a map for each part, or one list (1, cells, 5 +
    classes) whose boxes are encoded as in maps (Megvii-BaseDetection/YOLOX, yolox/models/yolo_head.py, decode_outputs).

    classes, strides, activation, labels, name: as for `yolov8`; `activation` is applied to objectness and scores.
    Raises NpuLayoutError on anything else.
    """
    classes, strides = sizes(classes, strides)
    parts = (
        Part("box", 4),
        Part("objectness", 1, activation, hint=HINTS["objectness"]),
        Part("score", classes, activation),
    )
    boxes = Boxes("center_exp", center=0.0)
    forms = (Form("maps", parts, boxes), Form("list", parts, boxes, "list"))
    return Head(name, classes, strides, forms, score="objectness", labels=labels)


def sizes(classes: Any, strides: Any) -> tuple[int, tuple[int, ...]]:
    """Return the number of classes, and the strides, checked."""
    if isinstance(classes, (list, tuple)) and all(isinstance(name, str) for name in classes):
        raise NpuLayoutError(
            f"classes: expected a number, got {len(classes)} names; give {len(classes)} here, and the names to draw()"
        )
    return count_of("classes", classes), counts_of("strides", strides)
