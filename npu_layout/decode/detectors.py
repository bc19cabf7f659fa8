"""Make the heads of SSD, PP-YOLOE, RTMDet, CenterNet and NanoDet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import checked_call, flag, numbers_of, one_of, whole_numbers
from .head import HINTS, Boxes, Form, Head, Part
from .networks import STRIDES, sizes
from .rules import Suppression


@checked_call
def ssd(
    priors: Any,
    classes: int = 90,
    *,
    activation: str = "sigmoid",
    labels: str = "best",
    variances: tuple[float, float] = (0.1, 0.2),
    yx: bool = True,
) -> Head:
    """Return the head of SSD with boxes that are offsets from priors, and the background's score first.

    Outputs are boxes (1, n, 4) and scores (1, n, 1 + classes), n priors (tensorflow/models,
    research/object_detection/box_coders/faster_rcnn_box_coder.py: its scales 10 and 5 are variances 0.1 and 0.2).

    Parameters
    ----------
    priors
        Centre x, y, width and height of each, (n, 4), the whole input being 1.
    classes
        Without the background.
    activation
        What the decoder applies to scores: "sigmoid" (TensorFlow), "softmax" (Caffe, PyTorch) or "none".
    labels
        "best" class of each prior, or "all" that pass.
    variances
        Of centre and size.
    yx
        Stored are y, x, height, width (TensorFlow); False: x, y, width, height.

    Raises NpuLayoutError on anything else.
    """
    classes, _ = sizes(classes, (1,))
    array = numbers_of("priors", priors)
    if array.ndim != 2 or array.shape[1] != 4:
        raise NpuLayoutError(f"priors: expected (n, 4) numbers, got {array.shape}")
    given = tuple(map(tuple, array.astype(np.float64).tolist()))
    boxes = Boxes("variances", center=0.0, variances=variances, order=(1, 0, 3, 2) if flag("yx", yx) else (0, 1, 2, 3))
    form = Form("list", (Part("box", 4), Part("score", classes + 1, activation)), boxes, "list")
    return Head("ssd", classes, (1,), (form,), labels=labels, background=0, priors=given)


@checked_call
def ssd_postprocessed(classes: int = 90) -> Head:
    """Return the head of SSD with TFLite's post-process operator in the graph: rows that are detections.

    Outputs are boxes (1, n, 4) top, left, bottom, right, the whole input being 1, classes and scores (1, n) and their
    number (1,). Classes and scores have one shape: TFLite's names distinguish them, or ``outputs=`` does. These are
    TFLite_Detection_PostProcess:1 and :2 from TensorFlow 1, and StatefulPartitionedCall:2 and :1 from TensorFlow 2
    (tensorflow/tensorflow, issue 44481), :32 and :33 of EfficientDet-Lite.

    classes: those above it are an error. Raises NpuLayoutError on anything else.
    """
    classes, _ = sizes(classes, (1,))
    boxes = Boxes("xyxy", unit="input", order=(1, 0, 3, 2))
    parts = (
        Part("box", 4),
        Part("label", 1, hint="PostProcess:1|Call:2|Call:32"),
        Part("score", 1, hint="PostProcess:2|Call:1|Call:33"),
        Part("count", 1, hint="PostProcess:3|Call:0|Call:34"),
    )
    form = Form("rows", parts, boxes, "rows")
    return Head("ssd_postprocessed", classes, (1,), (form,), suppression=Suppression("none"))


@checked_call
def ppyoloe(
    classes: int = 80, strides: Sequence[int] = STRIDES, *, activation: str = "none", labels: str = "best"
) -> Head:
    """Return the head of PP-YOLOE.

    Outputs are maps of 4 sides of 17 bins, scores and (airockchip's export) sums of scores for each stride, or boxes
    (1, cells, 4), edges in pixels, and scores (1, classes, cells) (PaddlePaddle/PaddleDetection,
    ppdet/modeling/heads/ppyoloe_head.py, without its own suppression).

    classes: their number. strides: pixels from one cell to the next. activation: what the decoder applies to scores,
    "none" or "sigmoid". labels: "best" class of each cell, or "all". Raises NpuLayoutError on anything else.
    """
    classes, strides = sizes(classes, strides)
    score = Part("score", classes, activation)
    maps = Form(
        "maps", (Part("box", 68), score, Part("bound", 1, optional=True, hint=HINTS["bound"])), Boxes("dfl", 17)
    )
    listed = Form("list", (Part("box", 4), score), Boxes("xyxy", unit="pixel"), "list")
    return Head("ppyoloe", classes, strides, (maps, listed), labels=labels)


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
    """Return the head of RTMDet: scores, and sides of a number each from the cell's corner.

    Outputs are maps of scores and of four sides for each stride (open-mmlab/mmdetection,
    mmdet/models/dense_heads/rtmdet_head.py, whose priors have offset 0; without its own suppression).

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
def centernet_head(
    classes: int = 80, stride: int = 4, *, activation: str = "none", size_unit: str = "stride", name: str = "centernet"
) -> Head:
    """Return the head of CenterNet: heat, sizes, and offsets of centres, without suppression beside that of neighbours.

    Outputs are heat (1, classes, H, W), sizes (1, 2, H, W) and offsets (1, 2, H, W), or heat and sizes; then centres
    are in the middle of cells (xingyizhou/CenterNet, src/lib/models/decode.py). Sizes are told from offsets by their
    names ("wh" or "size", "reg" or "off"), else by Decoder's ``outputs={"box": [...], "offset": [...]}``. Every class
    of a cell counts that no neighbour exceeds; `iou` has no effect.

    classes: their number. stride: pixels from one cell to the next. activation: what the decoder applies to heat,
    "none" or "sigmoid". size_unit: of sizes, "stride" (cells) or "pixel". name: of the head. Raises NpuLayoutError on
    anything else.

    >>> centernet_head(3).labels
    'all'
    """
    classes, strides = sizes(classes, whole_numbers("stride", [stride], 1, 1))
    boxes = Boxes("center_size", unit=one_of("size_unit", size_unit, ("stride", "pixel")))
    parts = (Part("score", classes, activation), Part("box", 2, hint="wh|size"), Part("offset", 2, hint="reg|off"))
    forms = (Form("offsets", parts, boxes), Form("sizes alone", parts[:2], boxes))
    return Head(name, classes, strides, forms, labels="all", suppression=Suppression("peaks"))


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

    classes: their number. strides: pixels from one cell to the next. bins: of a side. center: in cells. activation:
    what the decoder applies to scores, "none" or "sigmoid". labels: "best" class of each cell, or "all". Raises
    NpuLayoutError on anything else.
    """
    classes, strides = sizes(classes, strides)
    boxes = Boxes("dfl", bins, center)
    parts = (Part("score", classes, activation), Part("box", 4 * boxes.bins))
    forms = (Form("list", parts, boxes, "list"), Form("maps", parts, boxes))
    return Head("nanodet", classes, strides, forms, labels=labels)
