"""Make the heads of SSD, CenterNet, FastestDet and Yolo-FastestV2, and of rows that graphs make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import NpuLayoutError
from ...support import checked_call, flag, numbers_of, one_of
from ..heads.form import ACTIVATIONS, HINTS, UNITS, Boxes, Form, Part
from ..heads.head import Head
from ..heads.records import count_of, counts_of
from ..heads.rules import Keypoints, Prototypes, Suppression
from .anchors import anchors_for
from .networks import sizes


@checked_call
def ssd(
    priors: Any,
    classes: int = 90,
    *,
    activation: str = "sigmoid",
    labels: str = "best",
    variances: tuple[float, float] = (0.1, 0.2),
    yx: bool = True,
    strides: Sequence[int] = (),
    anchors: Sequence[int] = (),
) -> Head:
    """Return the head of SSD with boxes that are offsets from priors, and the background's score first.

    Outputs are boxes (1, n, 4) and scores (1, n, 1 + classes) of n priors (tensorflow/models,
    research/object_detection/box_coders/faster_rcnn_box_coder.py, whose scales 10 and 5 are variances 0.1 and 0.2); or,
    with `strides`, a map of boxes and a map of scores for each stride, anchor by anchor (Hailo).

    Parameters
    ----------
    priors
        Centre x, y, width and height of each prior, (n, 4), the whole input being 1.
    classes
        The number of classes without the background.
    activation
        What the decoder applies to scores: "sigmoid" (TensorFlow), "softmax" (Caffe, PyTorch) or "none".
    labels
        "best": one detection for each prior, of its best class; "all": one for each class that passes.
    variances
        The factors of centre and of size.
    yx
        Whether a box is stored as y, x, height, width (TensorFlow); False: x, y, width, height.
    strides, anchors
        For outputs that are maps: for each level the pixels of the input from one cell to the next, rounded up to a
        power of 2, and the number of priors of a cell. SSD MobileNet at 300x300 has (16, 32, 64, 128, 256, 512), which
        are 19, 10, 5, 3, 2 and 1 cells a side, and (3, 6, 6, 6, 6, 6). `priors` are then in the order of levels, in a
        level cell by cell, row by row, in a cell anchor by anchor. (): outputs are lists.

    Raises NpuLayoutError on anything else.
    """
    classes, _ = sizes(classes, (1,))
    array = numbers_of("priors", priors)
    if array.ndim != 2 or array.shape[1] != 4:
        raise NpuLayoutError(f"priors: expected (n, 4) numbers, got {array.shape}")
    given = tuple(map(tuple, array.astype(np.float64).tolist()))
    steps, counts = (counts_of(n, v) for n, v in (("strides", strides), ("anchors", anchors)))
    if len(steps) != len(counts):
        raise NpuLayoutError(f"anchors: expected a number of priors for each of {len(steps)} strides, got {counts}")
    if sum(counts) > len(given):
        raise NpuLayoutError(
            f"anchors: expected numbers of priors that add up to at most {len(given)}, as priors= has, got {counts}"
        )
    boxes = Boxes("variances", center=0.0, variances=variances, order=(1, 0, 3, 2) if flag("yx", yx) else (0, 1, 2, 3))
    parts = (Part("box", 4), Part("score", classes + 1, activation))
    listed = Form("list", parts, boxes, "list", interleaved=bool(steps))
    forms = (listed, Form("maps", parts, boxes, interleaved=True)) if steps else (listed,)
    sized = tuple(((1.0, 1.0),) * count for count in counts)  # priors have the sizes
    return Head("ssd", classes, steps or (1,), forms, sized, labels=labels, background=0, priors=given)


@checked_call
def ssd_postprocessed(classes: int = 90, *, yx: bool = True, unit: str = "input") -> Head:
    """Return the head of SSD with TFLite's post-process operator in the graph: rows that are detections.

    Outputs are boxes (1, n, 4), which are top, left, bottom and right, the whole input being 1; classes (1, n), scores
    (1, n), and the number of detections (1,). Classes and scores have the same shape. They are distinguished by names
    with "class" and "score", by Decoder's ``outputs=``, or by TFLite's own names: TFLite_Detection_PostProcess:1 and :2
    from TensorFlow 1, StatefulPartitionedCall:2 and :1 from TensorFlow 2 (tensorflow/tensorflow, issue 44481), :32 and
    :33 in EfficientDet-Lite. TensorRT's EfficientNMS has the classes in int32, which distinguishes them without names.
    TensorFlow's own graph has the same outputs, but its classes count from 1 (tensorflow/models,
    research/object_detection/exporter.py): its head is ``dataclasses.replace(head, background=0)``.

    classes: the number of classes; a stored class that is not below it is an error. yx: False if edges are left, top,
    right, bottom. unit: of the edges, "input", or "pixel" (ultralytics' export for the IMX500, with yx=False). Raises
    NpuLayoutError on anything else.
    """
    classes, _ = sizes(classes, (1,))
    order = (1, 0, 3, 2) if flag("yx", yx) else (0, 1, 2, 3)
    boxes = Boxes("xyxy", unit=one_of("unit", unit, UNITS[1:]), order=order)
    parts = (
        Part("box", 4),
        Part("label", 1, hint="class|label|PostProcess:1|Call:2|Call:32"),
        Part("score", 1, hint="score|conf|PostProcess:2|Call:1|Call:33"),
        Part("count", 1, hint="num|count|PostProcess:3|Call:0|Call:34"),
    )
    form = Form("rows", parts, boxes, "rows")
    return Head("ssd_postprocessed", classes, (1,), (form,), suppression=Suppression("none"))


@checked_call
def labelled_rows(
    classes: int = 80, *, coefficients: int = 0, unit: str = "pixel", name: str = "labelled_rows"
) -> Head:
    """Return the head of a graph that picks the best class of each box, but does not apply NMS.

    Outputs are boxes (1, n, 4), which are edges, scores (1, n) and the numbers of the classes (1, n). Models of
    Qualcomm AI Hub return these for YOLOv5 to v11 and YOLOX (quic/ai-hub-models,
    qai_hub_models/models/_shared/yolo/model.py). Scores and classes are distinguished by names with "score" and "class"
    or "label", or by Decoder's ``outputs={"score": [...], "label": [...]}``.

    classes: the number of classes; a stored class that is not below it is an error. coefficients: how many mask
    coefficients each box has, (1, n, 32), 0 for none; their prototypes are one more output, a cell every 4 pixels.
    unit: of the edges, "pixel", or "input" if the whole input is 1. name: of the head. Raises NpuLayoutError on
    anything else.

    >>> labelled_rows().suppression.kind
    'greedy'
    """
    classes, _ = sizes(classes, (1,))
    weights = count_of("coefficients", coefficients, 0)
    boxes = Boxes("xyxy", unit=one_of("unit", unit, UNITS[1:]))
    parts = [Part("box", 4, hint="box"), Part("score", 1, hint="score|conf"), Part("label", 1, hint="class|label")]
    parts += [Part("coefficients", weights)] if weights else []
    form = Form("rows", tuple(parts), boxes, "rows")
    return Head(name, classes, (1,), (form,), prototypes=Prototypes(weights) if weights else None)


@checked_call
def centernet_head(
    classes: int = 80,
    stride: int = 4,
    *,
    activation: str = "none",
    size_unit: str = "stride",
    keypoints: int = 0,
    name: str = "centernet",
) -> Head:
    """Return the head of CenterNet: heat, sizes, and offsets of centres. A cell is dropped only beside a neighbour.

    Outputs are heat (1, classes, H, W), sizes (1, 2, H, W) and offsets (1, 2, H, W). The offsets may be missing; then
    centres are in the middle of cells (xingyizhou/CenterNet, src/lib/models/decode.py). Sizes and offsets are
    distinguished by their names ("wh" or "size", "reg" or "off"), or by Decoder's ``outputs={"box": [...], "offset":
    [...]}``. A cell gives a detection of each class whose score no neighbour exceeds; Decoder's `iou` has no effect.

    classes: the number of classes. stride: pixels of the input from one cell to the next. activation: what the decoder
    applies to heat, "none" or "sigmoid". size_unit: of sizes, "stride" (cells) or "pixel". keypoints: the number of
    CenterPose's joints (17), 0 for none; their x and y, in cells from the cell's corner, are one more output (1, 34, H,
    W). Leave out the specs of CenterPose's heatmaps of joints and of their offsets. name: of the head. Raises
    NpuLayoutError on anything else.

    >>> centernet_head(3).labels
    'all'
    """
    classes, strides = sizes(classes, counts_of("stride", [stride], 1))
    boxes = Boxes("center_size", unit=one_of("size_unit", size_unit, ("stride", "pixel")))
    parts = (Part("score", classes, activation), Part("box", 2, hint="wh|size"), Part("offset", 2, hint="reg|off"))
    joints = count_of("keypoints", keypoints, 0)
    beside = (Part("keypoints", 2 * joints),) if joints else ()
    corner = replace(boxes, center=0.0)  # from which joints are measured
    forms = [Form("offsets", (*parts, *beside), corner if joints else boxes)]
    if not joints:
        forms.append(Form("sizes alone", parts[:2], boxes))
    points = Keypoints(joints, 2, "distances") if joints else None
    rule = Suppression("peaks")
    return Head(name, classes, strides, tuple(forms), labels="all", keypoints=points, suppression=rule)


@checked_call
def fastestdet(
    classes: int = 80, stride: int = 16, *, activation: str = "none", labels: str = "best", name: str = "fastestdet"
) -> Head:
    """Return the head of FastestDet: the hyperbolic tangent of the centre, the sigmoid of the size, and two scores.

    The output is one map of 5 + classes channels, objectness, centre and size, scores, or a map for each of the three.
    Sizes are shares of the whole input. A detection's score is objectness to the power of 0.6 times the class's score
    to the power of 0.4 (dog-qiuqiu/FastestDet, utils/tool.py, handle_preds).

    classes: the number of classes. stride: pixels of the input from one cell to the next. activation: "none": the
    sigmoid of objectness and the softmax of the classes are in the graph, as the network exports them; "sigmoid": the
    decoder applies both. labels: as for `yolov8`. name: of the head. Raises NpuLayoutError on anything else.

    >>> fastestdet(3).score
    'weighted'
    """
    classes, strides = sizes(classes, counts_of("stride", [stride], 1))
    known = one_of("activation", activation, ACTIVATIONS[:2])
    shares = "none" if known == "none" else "softmax"
    parts = (Part("objectness", 1, known, hint=HINTS["objectness"]), Part("box", 4), Part("score", classes, shares))
    form = Form("maps", parts, Boxes("tanh_sigmoid", center=0.0, unit="input"))
    return Head(name, classes, strides, (form,), score="weighted", labels=labels)


@checked_call
def yolofastestv2(
    classes: int = 80,
    strides: Sequence[int] = (16, 32),
    anchors: Any = None,
    *,
    activation: str = "none",
    labels: str = "best",
    name: str = "yolofastestv2",
) -> Head:
    """Return the head of Yolo-FastestV2: boxes of YOLOv5, and classes that the anchors of a cell share.

    Outputs are a map of 3 (4 + 1) + classes channels for each stride: boxes of all anchors, then their objectness, then
    the classes; or a map for each of the three. A detection's score is objectness times the class's score
    (dog-qiuqiu/Yolo-FastestV2, model/detector.py; utils/utils.py, handel_preds).

    Parameters
    ----------
    classes, strides
        The number of classes; for each level, the pixels of the input from one cell to the next.
    anchors
        Width and height in pixels of the anchors of each stride, in the order of `strides`. None: those of
        data/coco.data, if the strides are 16 and 32 in any order.
    activation
        "none": the sigmoid of boxes and objectness and the softmax of the classes are in the graph, as the network
        exports them; "sigmoid": the decoder applies both.
    labels
        "best": one detection for each anchor, of its best class; "all": one for each class that passes.
    name
        The name of the head, which messages show.

    Raises NpuLayoutError on anything else.

    >>> yolofastestv2(3).forms[0].parts[2].shared
    True
    """
    classes, strides = sizes(classes, strides)
    given = anchors_for(strides, anchors, {(16, 32): _FASTEST_ANCHORS})
    known = one_of("activation", activation, ACTIVATIONS[:2])
    shares = "none" if known == "none" else "softmax"
    parts = (
        Part("box", 4, known),
        Part("objectness", 1, known, hint=HINTS["objectness"]),
        Part("score", classes, shares, shared=True),
    )
    form = Form("maps", parts, Boxes("center_power"), grouped=True)
    return Head(name, classes, strides, (form,), given, "objectness", labels)


_FASTEST_ANCHORS = (  # dog-qiuqiu/Yolo-FastestV2, data/coco.data: pixels of an input of 352
    ((12.64, 19.39), (37.88, 51.48), (55.71, 138.31)),
    ((126.91, 78.23), (131.57, 214.55), (279.92, 258.87)),
)
