"""Make the heads of face detectors, which have five landmarks each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ...errors import NpuLayoutError
from ...support import checked_call, one_of
from ..heads.form import ACTIVATIONS, HINTS, UNITS, Boxes, Form, Part
from ..heads.head import Head
from ..heads.records import count_of, counts_of, height_and_width
from ..heads.rules import Keypoints, Suppression
from .anchors import anchors_for, anchors_of
from .networks import STRIDES, sizes

RETINAFACE_ANCHORS = (  # biubug6/Pytorch_Retinaface, data/config.py, min_sizes: pixels
    ((16, 16), (32, 32)),
    ((64, 64), (128, 128)),
    ((256, 256), (512, 512)),
)
YOLOV5_FACE_ANCHORS = (  # deepcam-cn/yolov5-face, models/yolov5s.yaml: pixels
    ((4, 5), (8, 10), (13, 16)),
    ((23, 29), (43, 55), (73, 105)),
    ((146, 217), (231, 300), (335, 433)),
)
ULTRAFACE_SIDES = {8: (10, 16, 24), 16: (32, 48), 32: (64, 96), 64: (128, 192, 256)}  # fd_config.py, min_boxes: pixels
_PRIORS = 2**20  # MediaPipe's detectors have up to 2,304
_ADDED = Suppression(extra=1.0)  # both scripts measure sides with one pixel more


@checked_call
def retinaface(
    strides: Sequence[int] = STRIDES,
    anchors: Any = RETINAFACE_ANCHORS,
    *,
    keypoints: int = 5,
    activation: str = "none",
) -> Head:
    """Return the head of RetinaFace: priors, the background's score first, five landmarks.

    Outputs are boxes (1, n, 4), scores (1, n, 2) and landmarks (1, n, 10), the priors of a cell one after the other
    (biubug6/Pytorch_Retinaface, utils/box_utils.py), or maps of the three for each stride, prior by prior (Hailo).

    strides: pixels from one cell to the next. anchors: width and height in pixels of the priors of each stride.
    keypoints: 5, or 0 for networks without. activation: what the decoder applies to scores, "none" or "softmax". Raises
    NpuLayoutError on anything else. As in the source, the IoU counts sides as one pixel longer.
    """
    _, strides = sizes(1, strides)
    given, count = anchors_for(strides, anchors, {}), count_of("keypoints", keypoints, 0)
    beside = (Part("keypoints", 2 * count),) if count else ()
    parts = (Part("box", 4), Part("score", 2, activation), *beside)
    boxes = Boxes("variances")
    forms = tuple(Form(name, parts, boxes, cells, True) for name, cells in (("list", "list"), ("maps", "grid")))
    points = Keypoints(count, 2, "priors") if count else None
    return Head("retinaface", 1, strides, forms, given, background=0, keypoints=points, suppression=_ADDED)


@checked_call
def ultraface(
    input_shape: Sequence[int] = (240, 320),
    strides: Sequence[int] = (8, 16, 32, 64),
    *,
    activation: str = "none",
    listed: str = "edges",
    name: str = "ultraface",
) -> Head:
    """Return the head of the Ultra-Light-Fast-Generic-Face-Detector: slim and RFB, of 320 or 640 pixels.

    Outputs are scores (1, n, 2), the background's first, and boxes (1, n, 4), or maps of both for each stride, prior by
    prior (Hailo's lightface_slim, activation="softmax"). Priors are no larger than the input
    (Linzaer/Ultra-Light-Fast-Generic-Face-Detector-1MB, vision/ssd/config/fd_config.py; vision/utils/box_utils.py).

    input_shape: height and width of the network's input, in pixels. strides: 8, 16, 32 and 64 in any order. activation:
    what the decoder applies to scores, "none" or "softmax". listed: what boxes in a list are, "edges", the whole input
    being 1 (the published ONNX files), or "offsets" from priors, as in maps. name: of the head. Raises NpuLayoutError
    on anything else.

    >>> ultraface().anchors[3][2]
    (256.0, 240.0)
    """
    _, strides = sizes(1, strides)
    height, width = height_and_width(input_shape)
    published = anchors_of(
        strides, {tuple(sorted(ULTRAFACE_SIDES)): tuple(v for _, v in sorted(ULTRAFACE_SIDES.items()))}
    )
    anchors = tuple(tuple((min(side, width), min(side, height)) for side in sides) for sides in published)
    boxes, listing = Boxes("variances"), one_of("listed", listed, ("edges", "offsets"))
    parts = (Part("score", 2, one_of("activation", activation, ("none", "softmax"))), Part("box", 4))
    of_list = Boxes("xyxy", unit="input") if listing == "edges" else boxes
    forms = (Form("maps", parts, boxes, interleaved=True), Form("list", parts, of_list, "list", interleaved=True))
    return Head(name, 1, strides, forms, anchors, background=0)


@checked_call
def scrfd(strides: Sequence[int] = STRIDES, *, keypoints: int = 5, activation: str = "none") -> Head:
    """Return the head of SCRFD: two anchors a cell, sides and landmarks in strides from the cell's corner.

    Outputs are scores (n, 1), sides (n, 4) and landmarks (n, 10) for each stride, or maps (deepinsight/insightface,
    detection/scrfd/tools/scrfd.py).

    strides: pixels from one cell to the next. keypoints: 5, or 0 for networks without. activation: what the decoder
    applies to scores, "none" or "sigmoid". Raises NpuLayoutError on anything else. As in the source, the IoU counts
    sides as one pixel longer.
    """
    _, strides = sizes(1, strides)
    keypoints = count_of("keypoints", keypoints, 0)
    beside = (Part("keypoints", 2 * keypoints),) if keypoints else ()
    parts = (Part("score", 1, activation), Part("box", 4), *beside)
    anchors = tuple(((2.0 * s, 2.0 * s), (4.0 * s, 4.0 * s)) for s in strides)
    points = Keypoints(keypoints, 2, "distances") if keypoints else None
    form = Form("maps", parts, Boxes("distances", center=0.0), interleaved=True)
    return Head("scrfd", 1, strides, (form,), anchors, keypoints=points, suppression=_ADDED)


@checked_call
def face_det_lite(
    stride: int = 8, *, keypoints: int = 5, activation: str = "sigmoid", name: str = "face_det_lite"
) -> Head:
    """Return the head of Qualcomm AI Hub's face_det_lite: heat of centres, four sides, and landmarks.

    Outputs are maps of 1, 4 and 10 channels: heat; four sides; x of all landmarks, then y of all. Sides and landmarks
    are in strides from the cell's corner. A cell is dropped if a neighbour has a larger score; Decoder's `iou` has no
    effect (quic/ai-hub-models, qai_hub_models/models/face_det_lite/utils.py, detect).

    stride: pixels from one cell to the next. keypoints: 5, or 0 for networks without. activation: what the decoder
    applies to heat, "sigmoid" or "none". name: of the head. Raises NpuLayoutError on anything else.

    >>> face_det_lite().keypoints.order
    'apart'
    """
    _, strides = sizes(1, counts_of("stride", [stride], 1))
    keypoints = count_of("keypoints", keypoints, 0)
    beside = (Part("keypoints", 2 * keypoints),) if keypoints else ()
    parts = (Part("score", 1, one_of("activation", activation, ACTIVATIONS[:2])), Part("box", 4), *beside)
    points = Keypoints(keypoints, 2, "distances", order="apart") if keypoints else None
    form = Form("maps", parts, Boxes("distances", center=0.0))
    return Head(name, 1, strides, (form,), labels="all", keypoints=points, suppression=Suppression("peaks"))


@checked_call
def yunet(strides: Sequence[int] = STRIDES, *, activation: str = "none") -> Head:
    """Return the head of YuNet: centre and logarithm of the size, the root of class times objectness, five landmarks.

    Outputs are cls, obj (1, n, 1), bbox (1, n, 4) and kps (1, n, 10) for each stride (opencv/opencv,
    modules/objdetect/src/face_detect.cpp). The names of cls and obj distinguish them.

    strides: pixels from one cell to the next. activation: what the decoder applies to scores and objectness, "none" or
    "sigmoid". Raises NpuLayoutError on anything else.
    """
    _, strides = sizes(1, strides)
    parts = (
        Part("score", 1, activation, hint=HINTS["score"]),
        Part("objectness", 1, activation, hint=HINTS["objectness"]),
        Part("box", 4),
        Part("keypoints", 10),
    )
    form = Form("maps", parts, Boxes("center_exp", center=0.0))
    return Head("yunet", 1, strides, (form,), score="root", keypoints=Keypoints(5, 2, "distances"))


@checked_call
def yolov5_face(
    strides: Sequence[int] = STRIDES,
    anchors: Any = None,
    *,
    activation: str = "none",
    labels: str = "best",
    unit: str = "pixel",
    name: str = "yolov5_face",
) -> Head:
    """Return the head of YOLOv5-face: boxes of YOLOv5, and five landmarks in anchors from the cell's corner.

    Outputs are maps of 48 channels for each stride, anchor by anchor (or an axis of anchors): box, objectness, ten
    numbers of landmarks, score; or one list (1, cells, 16) in pixels (deepcam-cn/yolov5-face, models/yolo.py, Detect).
    The score is objectness times class.

    strides: pixels from one cell to the next, for each level. anchors: width and height in pixels of each stride's
    anchors, in the order of `strides`; None: yolov5s.yaml's, if the strides are 8, 16 and 32 in any order. activation:
    what the decoder applies to boxes and scores, "none" or "sigmoid"; landmarks have none. labels, name: as for
    `yolov8`. unit: of a list, "pixel", or "input" if the whole input is 1. Raises NpuLayoutError on anything else.

    >>> yolov5_face().anchors[0][0]
    (4.0, 5.0)
    """
    _, strides = sizes(1, strides)
    given = anchors_for(strides, anchors, {STRIDES: YOLOV5_FACE_ANCHORS})
    known = one_of("activation", activation, ACTIVATIONS[:2])
    beside = (Part("objectness", 1, known), Part("keypoints", 10), Part("score", 1, known))
    forms = (
        Form("maps", (Part("box", 4, known), *beside), Boxes("center_power", center=0.0, variances=(1.0, 1.0))),
        Form("list", (Part("box", 4), *beside), Boxes("xywh", unit=one_of("unit", unit, UNITS[1:])), "list"),
    )
    return Head(name, 1, strides, forms, given, "objectness", labels, keypoints=Keypoints(5, 2, "priors"))


@checked_call
def blazeface(
    side: int = 128,
    strides: Sequence[int] = (8, 16, 16, 16),
    *,
    keypoints: int = 6,
    anchors: int = 2,
    activation: str = "sigmoid",
    name: str = "blazeface",
) -> Head:
    """Return the head of MediaPipe's detectors of faces (BlazeFace), palms and persons.

    Outputs are boxes with keypoints (1, n, 4 + 2 keypoints) and scores (1, n, 1), or both for each stride, as lists or
    maps. Centre, size and points are in pixels of the input, relative to a prior (google/mediapipe,
    mediapipe/calculators/tflite/ssd_anchors_calculator.cc and tflite_tensors_to_detections_calculator.cc). MediaPipe
    averages boxes that overlap; here the best one stays.

    Parameters
    ----------
    side
        Height and width of the square input in pixels: 128 (faces, short range), 256 (with strides 16, 32, 32, 32), 192
        (palms), 224 (persons, with strides 8, 16, 32, 32, 32).
    strides
        For each layer, the pixels of the input from one cell to the next. Layers of equal strides that follow each
        other share their cells, which have the priors of all of them.
    keypoints
        The number of points: 6 of a face, 7 of a palm, 4 of a person.
    anchors
        The number of priors of a cell in each layer: 2, or 1 for faces at full range (side 192, strides (4,)).
    activation
        What the decoder applies to scores, "sigmoid" or "none".
    name
        The name of the head, which messages show.

    Raises NpuLayoutError on anything else.

    >>> len(blazeface().priors), len(blazeface(192, keypoints=7).priors)
    (896, 2016)
    """
    _, strides = sizes(1, strides)
    side, each = count_of("side", side), count_of("anchors", anchors)
    keypoints = count_of("keypoints", keypoints, 0)
    layers = [(stride, each * len(list(same))) for stride, same in itertools.groupby(strides)]
    levels = [(-(-side // stride), count) for stride, count in layers]
    if (total := sum(cells * cells * count for cells, count in levels)) > _PRIORS:
        raise NpuLayoutError(
            f"blazeface: expected side, strides and anchors of at most {_PRIORS} priors; side {side}, strides "
            f"{strides} and {each} anchors make {total}"
        )
    priors = []
    for cells, count in levels:
        centers = [(i + 0.5) / cells for i in range(cells)]
        priors += [(x, y, 1.0, 1.0) for y in centers for x in centers for _ in range(count)]
    beside = (Part("keypoints", 2 * keypoints),) if keypoints else ()
    parts = (Part("box", 4), *beside, Part("score", 1, activation))
    boxes = Boxes("linear", center=0.0, variances=(1 / side, 1 / side))
    forms = tuple(Form(cells, parts, boxes, form, True) for cells, form in (("list", "list"), ("maps", "grid")))
    points = Keypoints(keypoints, 2, "priors") if keypoints else None
    anchors_of = tuple(((1.0, 1.0),) * count for _, count in layers)  # priors have the sizes
    made = tuple(stride for stride, _ in layers)
    return Head(name, 1, made, forms, anchors_of, keypoints=points, priors=tuple(priors))
