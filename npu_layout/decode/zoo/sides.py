"""Make the heads whose boxes are four sides, as numbers or as bins: PP-YOLOE, NanoDet, DAMO-YOLO, RTMDet, DepthAI's."""

from __future__ import annotations

from collections.abc import Sequence

from ...support import checked_call, one_of
from ..heads.form import ACTIVATIONS, HINTS, Boxes, Form, Part
from ..heads.head import Head
from ..heads.records import count_of
from ..heads.rules import Prototypes
from .networks import STRIDES, sizes


@checked_call
def ppyoloe(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    labels: str = "best",
    listed: str = "edges",
) -> Head:
    """Return the head of PP-YOLOE, of YOLO-NAS's lists, and of YOLOv6 m and l, whose maps have 17 bins too.

    Outputs are maps of 4 sides of 17 bins, of scores and (airockchip's export) of sums of scores for each stride; or
    boxes (1, cells, 4) and scores (1, classes, cells) or (1, cells, classes) (PaddlePaddle/PaddleDetection,
    ppdet/modeling/heads/ppyoloe_head.py, without the NMS of the export).

    Parameters
    ----------
    classes
        The number of classes.
    strides
        For each level, the pixels of the input from one cell to the next, in the order of the levels in a list:
        PP-YOLOE's own lists begin with stride 32.
    activation
        What the decoder applies to scores, "none" or "sigmoid".
    labels
        "best": one detection for each cell, of its best class; "all": one for each class that passes.
    listed
        What boxes in a list are: "edges" in pixels, or "sides", distances in strides from the cells' centres, if the
        graph ends before the last step of the head (AXERA's PP-YOLOE, strides (32, 16, 8), and YOLO-NAS;
        AXERA-TECH/ax-samples, examples/ax650/ax_ppyoloe_steps.cc, ax_yolo_nas_steps.cc).

    Raises NpuLayoutError on anything else.

    >>> ppyoloe(3, (32, 16, 8), listed="sides").forms[1].boxes.encoding
    'distances'
    """
    classes, strides = sizes(classes, strides)
    score, bound = Part("score", classes, activation), Part("bound", 1, optional=True, hint=HINTS["bound"])
    maps = Form("maps", (Part("box", 68), score, bound), Boxes("dfl", 17))
    boxes = _LISTED[one_of("listed", listed, tuple(_LISTED))]
    return Head(
        "ppyoloe", classes, strides, (maps, Form("list", (Part("box", 4), score), boxes, "list")), labels=labels
    )


_LISTED = {"edges": Boxes("xyxy", unit="pixel"), "sides": Boxes("distances")}


@checked_call
def damoyolo(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "none",
    labels: str = "best",
    name: str = "damoyolo",
) -> Head:
    """Return the head of DAMO-YOLO: sides of 17 bins from the cell's corner, and a last score that is no class.

    Outputs are maps of 68 and of classes + 1 channels for each stride (Hailo's model zoo; tinyvision/DAMO-YOLO,
    damo/base_models/heads/zero_head.py; hailo-ai/hailo_model_zoo, cfg/base/damoyolo.yaml, whose scale_factors are
    those of centres). Lists of decoded boxes are those of `ppyoloe`.

    classes: their number without the last score. strides, activation, labels, name: as for `yolov8`. Raises
    NpuLayoutError on anything else.

    >>> damoyolo(3).background
    3
    """
    classes, strides = sizes(classes, strides)
    parts = (Part("box", 68), Part("score", classes + 1, one_of("activation", activation, ACTIVATIONS[:2])))
    form = Form("maps", parts, Boxes("dfl", 17, center=0.0))
    return Head(name, classes, strides, (form,), labels=labels, background=classes)


@checked_call
def nanodet(
    classes: int = 80,
    strides: Sequence[int] = (8, 16, 32, 64),
    *,
    bins: int = 8,
    center: float = 0.0,
    activation: str = "none",
    labels: str = "best",
) -> Head:
    """Return the head of NanoDet-Plus: scores, then 4 sides of 8 bins, in strides.

    Outputs are one list (1, cells, classes + 32), or maps for each stride (RangiLyu/nanodet,
    nanodet/model/head/nanodet_plus_head.py: centres are the cells' corners; the older GFL head has center 0.5, as has
    PicoDet).

    classes, strides, activation, labels: as for `yolov8`. bins: the number of bins of a side. center: where in a cell
    its centre is, in cells, 0 for the corner. Raises NpuLayoutError on anything else.
    """
    classes, strides = sizes(classes, strides)
    boxes = Boxes("dfl", bins, center)
    parts = (Part("score", classes, activation), Part("box", 4 * boxes.bins))
    forms = (Form("list", parts, boxes, "list"), Form("maps", parts, boxes))
    return Head("nanodet", classes, strides, forms, labels=labels)


@checked_call
def rtmdet(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    activation: str = "sigmoid",
    labels: str = "best",
    unit: str = "pixel",
    name: str = "rtmdet",
) -> Head:
    """Return the head of RTMDet: scores, and four sides without bins, from the cell's corner.

    Outputs are maps of scores and of four sides for each stride (open-mmlab/mmdetection,
    mmdet/models/dense_heads/rtmdet_head.py, whose priors have offset 0), without NMS in the graph.

    classes, strides, activation, labels, name: as for `yolov8`. unit: of sides, "pixel" (MMDetection multiplies them by
    the stride in the graph) or "stride" (MMYOLO does not). Raises NpuLayoutError on anything else.

    >>> rtmdet(3).forms[0].boxes.center
    0.0
    """
    classes, strides = sizes(classes, strides)
    boxes = Boxes("distances", center=0.0, unit=one_of("unit", unit, ("pixel", "stride")))
    form = Form("maps", (Part("score", classes, activation), Part("box", 4)), boxes)
    return Head(name, classes, strides, (form,), labels=labels)


@checked_call
def depthai_yolo(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    *,
    coefficients: int = 0,
    labels: str = "best",
    name: str = "depthai_yolo",
) -> Head:
    """Return the head of YOLOv6 and of YOLOv8 to v12 as Luxonis' tools export them for DepthAI.

    Outputs are a map of 4 + 1 + classes channels for each stride: sides in strides; one channel that is not read (the
    largest score, or 1); scores after the sigmoid (luxonis/tools, tools/modules/heads.py, DetectV8). For their YOLOv5
    and v7 use `yolov5` and `yolov7`.

    classes, strides, labels, name: as for `yolov8`. coefficients: the number of mask coefficients of the segmentation
    variant (32), in one more map for each stride; its prototypes are one more output. Raises NpuLayoutError on anything
    else.

    >>> depthai_yolo(3).forms[0].boxes.encoding
    'distances'
    """
    (classes, strides), weights = sizes(classes, strides), count_of("coefficients", coefficients, 0)
    beside = (Part("coefficients", weights, hint="mask"),) if weights else ()
    parts = (Part("box", 4), Part("bound", 1), Part("score", classes), *beside)
    masks = Prototypes(weights) if weights else None
    return Head(name, classes, strides, (Form("maps", parts, Boxes("distances")),), labels=labels, prototypes=masks)
