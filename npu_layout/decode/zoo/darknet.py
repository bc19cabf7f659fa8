"""Make the heads of YOLOv2, v3 and v4, as Darknet defines them: exponentials of sizes, times anchors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import NpuLayoutError
from ...support import checked_call, numbers_of, one_of, shown
from ..heads.form import ACTIVATIONS, HINTS, Boxes, Form, Part
from ..heads.head import Head
from ..heads.records import counts_of
from .anchors import anchors_for, of_strides
from .networks import STRIDES, YOLOV5_ANCHORS, YOLOV7_ANCHORS, sizes, split_form

# pjreddie/darknet, cfg/yolov2.cfg (of COCO) and cfg/yolov2-tiny-voc.cfg: width and height in cells.
YOLOV2_ANCHORS = ((0.57273, 0.677385), (1.87446, 2.06253), (3.33843, 5.47434), (7.88282, 3.52778), (9.77052, 9.16828))
YOLOV2_VOC_ANCHORS = ((1.08, 1.19), (3.42, 4.41), (6.63, 11.38), (9.42, 5.11), (16.62, 10.52))
_VOC_CLASSES = 20
# cfg/yolov3.cfg; cfg/yolov3-tiny.cfg with the masks 1,2,3 and 3,4,5 of the published weights: width, height in pixels.
# Later versions of that file say 0,1,2, with which those weights were not trained (AlexeyAB/darknet#1341).
YOLOV3_ANCHORS = {
    STRIDES: YOLOV5_ANCHORS,
    (16, 32): (((23, 27), (37, 58), (81, 82)), ((81, 82), (135, 169), (344, 319))),
}
# AlexeyAB/darknet, cfg/yolov4.cfg and cfg/yolov4-tiny.cfg (masks 1,2,3 and 3,4,5), with the scale_x_y of each level.
YOLOV4_ANCHORS = {
    STRIDES: YOLOV7_ANCHORS,
    (16, 32): YOLOV3_ANCHORS[16, 32],
}
_YOLOV4_SPREADS = {STRIDES: (1.2, 1.1, 1.05), (16, 32): (1.05, 1.05)}


@checked_call
def yolov2(
    classes: int = 80,
    stride: int = 32,
    anchors: Any = None,
    *,
    activation: str = "sigmoid",
    labels: str = "best",
    name: str = "yolov2",
) -> Head:
    """Return the head of YOLOv2 and YOLOv2-tiny, as boards with a Kendryte K210 run it.

    The output is one map with 5 + classes channels for each anchor, anchor by anchor: centre, logarithm of the size,
    objectness, scores. A detection's score is objectness times the softmax of the classes (pjreddie/darknet,
    src/region_layer.c; kendryte/nncase, examples/20classes_yolo, k210, region_layer.c). Cells are equal shares of the
    input: a Decoder refuses an `input_shape` that is no multiple of `stride`.

    Parameters
    ----------
    classes
        The number of classes.
    stride
        Pixels of the input from one cell to the next.
    anchors
        Width and height of each anchor in cells, as pairs or as one list of numbers like cfg files have. None: those of
        yolov2-tiny-voc.cfg for 20 classes, else those of yolov2.cfg.
    activation
        "sigmoid": the map is that of the last convolution, and the decoder applies the sigmoid to centres and
        objectness, and softmax to the classes; "none": these are in the graph. The decoder always applies the
        exponentials of the sizes.
    labels
        "best": one detection for each anchor, of its best class; "all": one for each class that passes.
    name
        The name of the head, which messages show.

    Raises NpuLayoutError on anything else.

    >>> yolov2(20).anchors[0][0]
    (34.56, 38.08)
    """
    classes, strides = sizes(classes, counts_of("stride", [stride], 1))
    given = anchors if anchors is not None else YOLOV2_VOC_ANCHORS if classes == _VOC_CLASSES else YOLOV2_ANCHORS
    pairs = numbers_of("anchors", given)
    if pairs.ndim not in (1, 2) or not pairs.size or pairs.size % 2 or (pairs.ndim == 2 and pairs.shape[1] != 2):
        raise NpuLayoutError(f"anchors: expected pairs of width and height in cells, got {shown(given)}")
    with np.errstate(over="ignore"):  # the Head refuses what is not finite
        pixels = tuple(map(tuple, (pairs.reshape(-1, 2).astype(np.float64) * strides[0]).tolist()))
    return _head(name, classes, strides, (pixels,), activation, "softmax", labels)


@checked_call
def yolov3(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    anchors: Any = None,
    *,
    activation: str = "sigmoid",
    labels: str = "best",
    name: str = "yolov3",
) -> Head:
    """Return the head of YOLOv3, and of YOLOv3-tiny with `strides` (16, 32), as Darknet defines them.

    Outputs are maps of 3 (5 + classes) channels for each stride, anchor by anchor (or with an axis of anchors): centre,
    logarithm of the size, objectness, scores. A detection's score is objectness times the class's score
    (pjreddie/darknet, src/yolo_layer.c). For ultralytics' YOLOv3, and for lists of boxes in pixels, use `yolov5`.

    Parameters
    ----------
    classes, strides
        The number of classes; for each level, the pixels of the input from one cell to the next.
    anchors
        Width and height in pixels of the anchors of each stride, in the order of `strides`, as the mask of each level
        in the cfg file picks them. None: those of yolov3.cfg, if the strides are 8, 16 and 32 in any order; if they are
        16 and 32, those of the published yolov3-tiny weights, keras-yolo3 and Kneron (masks 1,2,3 and 3,4,5). The
        present yolov3-tiny.cfg has the masks 0,1,2 and 3,4,5: for a network trained with it, give stride 16 the anchors
        (10, 14), (23, 27) and (37, 58).
    activation
        "sigmoid": maps are those of the last convolutions, and the decoder applies the sigmoid to centres, objectness
        and scores; "none": it is in the graph. The decoder always applies the exponentials of the sizes.
    labels
        "best": one detection for each anchor, of its best class; "all": one for each class that passes.
    name
        The name of the head, which messages show.

    Raises NpuLayoutError on anything else.

    >>> yolov3(80, (32, 16)).anchors[1]
    ((23.0, 27.0), (37.0, 58.0), (81.0, 82.0))
    """
    classes, strides = sizes(classes, strides)
    anchors = anchors_for(strides, anchors, YOLOV3_ANCHORS)
    return _head(name, classes, strides, anchors, activation, "sigmoid", labels)


@checked_call
def yolov4(
    classes: int = 80,
    strides: Sequence[int] = STRIDES,
    anchors: Any = None,
    *,
    spreads: Any = None,
    activation: str = "sigmoid",
    labels: str = "best",
    name: str = "yolov4",
) -> Head:
    """Return the head of YOLOv4, and of YOLOv4-tiny with `strides` (16, 32), as Darknet defines them.

    Outputs and scores are those of `yolov3`. The place of a centre in its cell is sigmoid(v) * s - (s - 1) / 2, s being
    the `spreads` of the level (AlexeyAB/darknet, src/yolo_layer.c, forward_yolo_layer). Networks whose cfg files have
    new_coords=1 and scale_x_y=2.0 (Scaled-YOLOv4: yolov4-csp, yolov4x-mish, p5, p6; YOLOv7-tiny of Darknet) are decoded
    as YOLOv5, with these anchors: ``yolov5(80, anchors=yolov4().anchors)``.

    Parameters
    ----------
    classes, strides
        The number of classes; for each level, the pixels of the input from one cell to the next.
    anchors
        As for `yolov3`. None: those of yolov4.cfg, if the strides are 8, 16 and 32 in any order, and of yolov4-tiny.cfg
        (masks 1,2,3 and 3,4,5), if they are 16 and 32.
    spreads
        The cfg file's scale_x_y for each stride, in the order of `strides`. None: those of the same files, 1.2, 1.1 and
        1.05 for strides 8, 16 and 32, and 1.05 for both strides of tiny.
    activation
        As for `yolov3`. With "none" the graph has the sigmoid of the centres, but has not applied the spreads.
    labels, name
        As for `yolov3`.

    Raises NpuLayoutError on anything else.

    >>> yolov4(80, (32, 16, 8)).forms[0].boxes.spreads
    (1.05, 1.1, 1.2)
    """
    classes, strides = sizes(classes, strides)
    anchors = anchors_for(strides, anchors, YOLOV4_ANCHORS)
    given = (
        of_strides("spreads: expected a number", strides, _YOLOV4_SPREADS)
        if spreads is None
        else numbers_of("spreads", spreads)
    )
    factors = np.asarray(given, np.float64)
    if factors.shape != (len(strides),):
        raise NpuLayoutError(f"spreads: expected one for each of {len(strides)} strides, got {shown(spreads)}")
    return _head(name, classes, strides, anchors, activation, "sigmoid", labels, tuple(factors.tolist()))


def _head(
    name: str,
    classes: int,
    strides: tuple[int, ...],
    anchors: Any,
    activation: str,
    of_classes: str,
    labels: str,
    spreads: tuple[float, ...] = (),
) -> Head:
    """Return the record; of_classes: their activation, if the decoder applies them."""
    raw = one_of("activation", activation, ACTIVATIONS[:2]) == "sigmoid"
    score = Part("score", classes, of_classes if raw else "none")
    encoding, unit = ("sigmoid_exp", "stride") if raw else ("center_exp", "pixel")
    boxes = Boxes(encoding, center=0.0, unit=unit, spreads=spreads)
    scores = (Part("objectness", 1, activation, hint=HINTS["objectness"]), score)
    forms = (Form("maps", (Part("box", 4), *scores), boxes), split_form("none", scores, boxes))
    return Head(name, classes, strides, forms, anchors, "objectness", labels)
