"""Make the heads of YOLOv2 and YOLOv3, as Darknet defines them: exponentials of sizes, times anchors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import checked_call, numbers_of, one_of, shown, whole_numbers
from .head import ACTIVATIONS, Boxes, Form, Head, Part
from .networks import STRIDES, YOLOV5_ANCHORS, sizes

# pjreddie/darknet, cfg/yolov2.cfg (of COCO) and cfg/yolov2-tiny-voc.cfg: width and height in cells.
YOLOV2_ANCHORS = ((0.57273, 0.677385), (1.87446, 2.06253), (3.33843, 5.47434), (7.88282, 3.52778), (9.77052, 9.16828))
YOLOV2_VOC_ANCHORS = ((1.08, 1.19), (3.42, 4.41), (6.63, 11.38), (9.42, 5.11), (16.62, 10.52))
_VOC_CLASSES = 20
YOLOV3_ANCHORS = {  # cfg/yolov3.cfg, cfg/yolov3-tiny.cfg: width and height in pixels, by the number of levels
    3: YOLOV5_ANCHORS,
    2: (((10, 14), (23, 27), (37, 58)), ((81, 82), (135, 169), (344, 319))),
}


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

    The output is one map of 5 (5 + classes) channels, anchor by anchor: centre, logarithm of the size, objectness,
    scores. The score is objectness times the softmax of the classes (pjreddie/darknet, src/region_layer.c).

    Parameters
    ----------
    classes
        Their number.
    stride
        Pixels of the input from one cell to the next.
    anchors
        Width and height of each in cells, pairs or one list, as cfg files have them; None: those of yolov2-tiny-voc.cfg
        for 20 classes, else of yolov2.cfg.
    activation
        "sigmoid": the map is that of the last convolution, and the decoder applies the sigmoid to centres and
        objectness, and softmax to the classes; "none": all of that is in the graph, but not the exponentials.
    labels
        "best" class of each anchor, or "all" that pass.
    name
        Of the head.

    Raises NpuLayoutError on anything else.

    >>> yolov2(20).anchors[0][0]
    (34.56, 38.08)
    """
    classes, strides = sizes(classes, whole_numbers("stride", [stride], 1, 1))
    given = anchors if anchors is not None else YOLOV2_VOC_ANCHORS if classes == _VOC_CLASSES else YOLOV2_ANCHORS
    pairs = numbers_of("anchors", given)
    if pairs.ndim not in (1, 2) or not pairs.size or pairs.size % 2 or (pairs.ndim == 2 and pairs.shape[1] != 2):
        raise NpuLayoutError(f"anchors: expected pairs of width and height in cells, got {shown(given)}")
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

    Outputs are maps of 3 (5 + classes) channels for each stride, anchor by anchor (or an axis of anchors): centre,
    logarithm of the size, objectness, scores. The score is objectness times class (pjreddie/darknet,
    src/yolo_layer.c). ultralytics' YOLOv3 is decoded as its YOLOv5, and so are lists of boxes in pixels: `yolov5`.

    Parameters
    ----------
    classes, strides
        Their number; pixels from one cell to the next, a level each.
    anchors
        Width and height in pixels of some anchors for each stride, as the mask of each level in the cfg file picks
        them; None: those of yolov3.cfg for three strides, of yolov3-tiny.cfg for two.
    activation
        "sigmoid": maps are those of the last convolutions, and the decoder applies it to centres, objectness and
        scores; "none": that is in the graph, but not the exponentials.
    labels
        "best" class of each anchor, or "all" that pass.
    name
        Of the head.

    Raises NpuLayoutError on anything else.

    >>> yolov3(80, (16, 32)).anchors[1][2]
    (344.0, 319.0)
    """
    classes, strides = sizes(classes, strides)
    if anchors is None:
        anchors = YOLOV3_ANCHORS.get(len(strides))
    if anchors is None:
        raise NpuLayoutError(
            f"anchors: expected width and height in pixels of some for each of {len(strides)} strides; those of "
            f"Darknet's cfg files are for {' and '.join(map(str, sorted(YOLOV3_ANCHORS)))}"
        )
    return _head(name, classes, strides, anchors, activation, "sigmoid", labels)


def _head(
    name: str, classes: int, strides: tuple[int, ...], anchors: Any, activation: str, of_classes: str, labels: str
) -> Head:
    """Return the record; of_classes: their activation, if the decoder applies them."""
    raw = one_of("activation", activation, ACTIVATIONS[:2]) == "sigmoid"
    score = Part("score", classes, of_classes if raw else "none")
    boxes = Boxes("sigmoid_exp", center=0.0) if raw else Boxes("center_exp", center=0.0, unit="pixel")
    form = Form("maps", (Part("box", 4), Part("objectness", 1, activation), score), boxes)
    return Head(name, classes, strides, (form,), anchors, "objectness", labels)
