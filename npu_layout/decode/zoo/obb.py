"""Make the heads of networks whose boxes are turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...support import checked_call, one_of
from ..heads.form import ACTIVATIONS, ANGLES, HINTS, UNITS, Boxes, Form, Part
from ..heads.head import Head
from ..heads.records import count_of
from ..heads.rules import Suppression
from .networks import STRIDES, listed_boxes, sizes


@checked_call
def yolov8_obb(
    classes: int = 15,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    angle_activation: str = "none",
    angle: str = "shifted",
    labels: str = "best",
    bins: int = 16,
    unit: str = "pixel",
    listed: str = "centers",
    name: str = "yolov8_obb",
) -> Head:
    """Return the head of YOLOv8-OBB and YOLO11-OBB: boxes that are turned.

    Outputs are maps of boxes, scores and an angle for each stride, or those maps and one list (1, 1, cells) of angles
    (airockchip's export), or one list (1, 4 + classes + 1, cells) of boxes in pixels, scores and an angle in radians,
    or one list of the channels that maps have (AXERA's YOLOv8-OBB: activation="sigmoid", angle="radians"). With
    listed="sides" a list has sides in strides, and angles as maps have them (MaixCAM; see `yolov8`). A box is
    turned around its cell: the middle of its sides, seen from the cell, is turned by the angle
    (ultralytics/nn/modules/head.py, class OBB). Suppression is greedy, within each class: a box is dropped if its
    ProbIoU with a better one is `iou` or greater.

    classes, strides, activation, labels, bins, unit, listed, name: as for `yolov8`. angle: what an angle v in a map
    means: "shifted", (v - 0.25) pi radians, or "radians". angle_activation: what the decoder applies to v before,
    "none" or "sigmoid".
    Raises NpuLayoutError on anything else.

    >>> yolov8_obb().suppression.kind
    'probiou'
    """
    (classes, strides), bins = sizes(classes, strides), count_of("bins", bins)
    score = Part("score", classes, activation)
    turn = Part("angle", 1, one_of("angle_activation", angle_activation, ACTIVATIONS[:2]), hint=HINTS["angle"])
    box, bound = Part("box", 4 * bins), Part("bound", 1, optional=True, hint=HINTS["bound"])
    boxes = Boxes("dfl", bins, angle=one_of("angle", angle, ANGLES[1:]))
    rows = listed_boxes(listed, unit, angle)
    last = turn if rows.encoding == "distances" else Part("angle", 1)
    forms = (
        Form("maps", (box, score, turn), boxes),
        Form("angles across levels", (box, score, bound, replace(turn, across=True)), boxes),
        Form("list", (Part("box", 4), score, last), rows, "list"),
        Form("list of bins", (box, score, turn), boxes, "list"),
    )
    return Head(name, classes, strides, forms, labels=labels, suppression=Suppression("probiou", inclusive=True))


@checked_call
def yolo26_obb(
    classes: int = 15,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    unit: str = "pixel",
    name: str = "yolo26_obb",
) -> Head:
    """Return the head of YOLO26-OBB: turned boxes of four sides without bins, an angle in radians, no suppression.

    Outputs are maps of sides, scores and an angle for each stride, or rows (1, 300, 7): centre, size, score, class and
    angle (ultralytics/nn/modules/head.py, class OBB26, whose angle has no sigmoid; AXERA-TECH/ax-samples,
    examples/base/detection.hpp). Boxes in maps are turned as those of `yolov8_obb`, boxes in rows around their centres.

    classes, strides, activation, name: as for `yolov8`. unit: of rows, as for `yolov10`. Raises NpuLayoutError on
    anything else.

    >>> yolo26_obb(3).forms[0].boxes.angle
    'radians'
    """
    classes, strides = sizes(classes, strides)
    score, turn = Part("score", classes, activation), Part("angle", 1, hint=HINTS["angle"])
    row = (Part("box", 4), Part("score", 1), Part("label", 1), Part("angle", 1))
    forms = (
        Form("maps", (Part("box", 4), score, turn), Boxes("distances", angle="radians")),
        Form("rows", row, Boxes("xywh", unit=one_of("unit", unit, UNITS[1:]), angle="radians"), "rows"),
    )
    return Head(name, classes, strides, forms, labels="all", suppression=Suppression("none"))
