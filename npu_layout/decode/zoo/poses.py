"""Make the heads of people with points, each with a confidence: YOLOv5- and v7-pose, MoveNet of several people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...support import checked_call, one_of
from ..heads.form import ACTIVATIONS, HINTS, UNITS, Boxes, Form, Part
from ..heads.head import Head
from ..heads.records import count_of
from ..heads.rules import Keypoints, Suppression
from .anchors import anchors_for
from .networks import STRIDES, sizes

POSE_STRIDES = (8, 16, 32, 64)
POSE_ANCHORS = {
    POSE_STRIDES: (  # WongKinYiu/yolov7, cfg/yolov7-w6-pose.yaml; ultralytics/yolov5, models/hub/yolov5s6.yaml: pixels
        ((19, 27), (44, 40), (38, 94)),
        ((96, 68), (86, 152), (180, 137)),
        ((140, 301), (303, 264), (238, 542)),
        ((436, 615), (739, 380), (925, 792)),
    ),
    STRIDES: (  # derronqi/yolov7-face, cfg/yolov7-tiny-face.yaml; AXERA-TECH/ax-samples, ax_yolov7_tiny_face_steps.cc
        ((4, 5), (6, 8), (10, 12)),
        ((15, 19), (23, 30), (39, 52)),
        ((72, 97), (123, 164), (209, 297)),
    ),
}


@checked_call
def yolov7_pose(
    keypoints: int = 17,
    strides: Sequence[int] = POSE_STRIDES,
    anchors: Any = None,
    *,
    classes: int = 1,
    activation: str = "sigmoid",
    labels: str = "best",
    unit: str = "pixel",
    name: str = "yolov7_pose",
) -> Head:
    """Return the head of YOLOv7-pose, YOLOv5-pose (TI) and YOLOv7-face: boxes of YOLOv5 with points beside each.

    Outputs are maps of 3 (5 + classes + 3 keypoints) channels for each stride, anchor by anchor (or an axis of
    anchors): box, objectness, scores, then x, y and confidence of each point; or one list (1, cells, 5 + classes + 3
    keypoints), decoded, in pixels. A point is (2 v - 0.5 + cell) strides (WongKinYiu/yolov7, branch pose,
    models/yolo.py, IKeypoint; TexasInstruments/edgeai-yolov5, branch yolo-pose, models/yolo.py, Detect;
    AXERA-TECH/ax-samples, examples/base/detection.hpp). The score is objectness times class. Two convolutions make the
    channels of a map, 18 and 153 for 17 points, and anchors are counted over both together: their outputs are refused
    if they are not joined.

    Parameters
    ----------
    keypoints
        The number of points: 17 of a person, 5 of a face.
    strides
        For each level, the pixels of the input from one cell to the next.
    anchors
        Width and height in pixels of the anchors of each stride, in the order of `strides`. None: those of
        yolov7-w6-pose and yolov5s6, if the strides are 8, 16, 32 and 64 in any order; of yolov7-tiny-face, if they are
        8, 16 and 32.
    classes
        The number of classes.
    activation
        What the decoder applies to boxes, scores and the points' confidence in maps, "sigmoid" or "none"; x and y of
        points have none.
    labels, unit, name
        As for `yolov5`.

    Raises NpuLayoutError on anything else.

    >>> yolov7_pose(5, (8, 16, 32)).anchors[0][0]
    (4.0, 5.0)
    """
    classes, strides = sizes(classes, strides)
    count = count_of("keypoints", keypoints)
    given = anchors_for(strides, anchors, POSE_ANCHORS)
    known = one_of("activation", activation, ACTIVATIONS[:2])
    raw, decoded = (
        (
            Part("box", 4, act),
            Part("objectness", 1, act, hint=HINTS["objectness"]),
            Part("score", classes, act),
            Part("keypoints", 3 * count),
        )
        for act in (known, "none")
    )
    of_list = Boxes("xywh", unit=one_of("unit", unit, UNITS[1:]))
    forms = (Form("maps", raw, Boxes("center_power"), whole=True), Form("list", decoded, of_list, "list"))
    how = Keypoints(count, 3, "shifted", known)
    return Head(name, classes, strides, forms, given, "objectness", labels, keypoints=how)


@checked_call
def movenet(keypoints: int = 17, *, name: str = "movenet") -> Head:
    """Return the head of MoveNet MultiPose: rows of points and a box, and no suppression.

    The output is (1, 6, 56): y, x and score of each of 17 points, then top, left, bottom, right and score of the
    person, the whole input being 1 (TensorFlow Hub, google/movenet/multipose/lightning). MoveNet SinglePose, (1, 1, 17,
    3), has no boxes: `landmarks` reads it.

    keypoints: the points of each person. name: of the head. Raises NpuLayoutError on anything else.

    >>> movenet().keypoints.order
    'yx'
    """
    count = count_of("keypoints", keypoints)
    parts = (Part("keypoints", 3 * count), Part("box", 4), Part("score", 1))
    form = Form("rows", parts, Boxes("xyxy", unit="input", order=(1, 0, 3, 2)), "rows")
    points = Keypoints(count, 3, "pixels", "none", "yx")
    return Head(name, 1, (1,), (form,), keypoints=points, suppression=Suppression("none"))
