"""The families of heads that outputs can be, for guesses: how each is made, and what extents leave open."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from .darknet import yolov2, yolov3, yolov4
from .dense import fcos, retinanet
from .detectors import centernet_head, fastestdet, labelled_rows, ssd_postprocessed, yolofastestv2
from .faces import blazeface, face_det_lite, retinaface, scrfd, yolov5_face, yunet
from .head import Head
from .networks import yolo26, yolov5, yolov6, yolov8, yolov10, yolox
from .obb import yolo26_obb, yolov8_obb
from .poses import movenet, yolov7_pose
from .queries import detr, rtdetr
from .sides import damoyolo, nanodet, ppyoloe
from .yolacts import yolact

_MOST = 20000  # classes


class Family(NamedTuple):
    """A family of heads: how one is made of a number of classes and an activation, and how it differs from others.

    beside: channels that an output may have beside those of classes, from which their number follows; anchors: outputs
    have them this often. activations: those with which networks are exported. units: boxes of a list, or of rows, may
    be in pixels or of an input of 1. rows: classes, if outputs are rows of detections, which do not say their number.
    asked: what extents leave open where the number of classes is not known, or another call can decode the outputs;
    unsure: always. apart: each part is an output of its own (of its level); whole: one output has all of them. form:
    the only one of the head that counts. one: heads have one class, whatever the extents. most: rows that outputs have
    at most; 0: any number. side: pixels of the square input, for which priors are made; 0: any input.
    """

    make: Callable[[int, str], Head]
    word: str
    beside: tuple[int, ...] = (0,)
    anchors: int = 1
    activations: tuple[str, ...] = ("none", "sigmoid")
    units: bool = False
    rows: int = 80
    asked: str = ""
    unsure: bool = False
    apart: bool = False
    whole: bool = False
    form: str = ""
    one: bool = False
    most: int = 0
    side: int = 0

    @functools.cache  # noqa: B019  # families are few, and live as long as the process
    def pattern(self) -> Head:
        """Return the head of one class."""
        return self.tried(1)

    def counts(self, extents: Iterable[int], known: int | None = None) -> set[int]:
        """Return the numbers of classes that outputs can have, of which some extents are channels; `known` alone."""
        if self.one:
            return {1} if known in (None, 1) else set()
        if known is not None:
            return {known}
        channels = [n for e in extents for n in (e, e / self.anchors)]
        return {int(n) - b for n in channels if n == int(n) for b in self.beside if n - b <= _MOST}

    def tried(self, n: int) -> Head:
        """Return the head of `n` classes that outputs are fitted to."""
        head = self.make(n, "none")
        forms = tuple(form for form in head.forms if self.form in ("", form.name))
        whole = tuple(replace(form, whole=True) for form in forms) if self.whole else forms
        return head if whole == head.forms else replace(head, forms=whole)


# ultralytics/yolov3, models/yolov3-tiny.yaml: width and height in pixels
_TWO_LEVELS = (((10, 14), (23, 27), (37, 58)), ((81, 82), (135, 169), (344, 319)))
# hailo-ai/hailo_model_zoo, hailo_model_zoo/cfg/base/yolact.yaml: pixels
_NINE = tuple(tuple(s * 2 ** (k / 3) for k in range(3)) for s in (24, 48, 96, 192, 384))
FAMILIES = (
    Family(lambda n, act: yolov8(n, activation=act), "suppression (YOLOv8, 9, 11, 12)", (0, 4, 64, 68), units=True),
    Family(
        lambda n, act: yolov8(n, activation=act, scores_first=True),
        "suppression, scores before bins (YOLOv8 of Khadas)",
        (64,),
        form="maps",
        whole=True,
    ),
    Family(lambda n, act: yolov10(n, activation=act), "no suppression (YOLOv10)", (0, 64), units=True),
    Family(
        lambda n, act: yolov8(n, activation=act, keypoints=17), "17 keypoints (YOLOv8-pose)", (0, 4, 64, 55), units=True
    ),
    Family(
        lambda n, act: yolov8(n, activation=act, keypoints=17, across="encoded"),
        "17 keypoints beside maps, as the network has them (YOLOv8-pose of MaixCAM2)",
        (0, 64),
        form="points or coefficients across levels",
        asked="whether those keypoints are pixels (across='pixels')",
        unsure=True,
    ),
    Family(lambda n, act: yolov8(n, activation=act, coefficients=32), "masks (YOLOv8-seg)", (0, 4, 64, 36), units=True),
    Family(lambda n, act: yolov8_obb(n, activation=act), "turned boxes (YOLOv8-OBB)", (0, 5, 64, 65), units=True),
    Family(
        lambda n, act: yolov8(n, activation=act, keypoints=17, listed="sides"),
        "a list of sides, in strides, and 17 keypoints (YOLOv8-pose of MaixCAM)",
        apart=True,
        form="list",
    ),
    Family(
        lambda n, act: yolov8(n, activation=act, coefficients=32, listed="sides"),
        "a list of sides, in strides, and masks (YOLOv8-seg of MaixCAM)",
        apart=True,
        form="list",
    ),
    Family(
        lambda n, act: yolov8_obb(n, activation=act, listed="sides"),
        "a list of sides, in strides, and angles (YOLOv8-OBB of MaixCAM)",
        apart=True,
        form="list",
    ),
    Family(
        lambda n, act: yolov5(n, activation=act),
        "the anchors of YOLOv5 (yolov7() has its own; anchors= of yours)",
        (5,),
        3,
        units=True,
    ),
    Family(
        lambda n, act: yolov5(n, activation=act, coefficients=32),
        "anchors and masks (YOLOv5-seg)",
        (37,),
        3,
        units=True,
    ),
    Family(
        lambda n, act: yolov3(n, activation=act),
        "sizes that are exponentials (YOLOv3 of Darknet; anchors= of your own)",
        (5,),
        3,
        ("sigmoid",),
    ),
    Family(
        lambda n, act: yolov3(n, (16, 32), activation=act),
        "two levels, sizes that are exponentials (YOLOv3-tiny of Darknet; anchors= of your own)",
        (5,),
        3,
        ("sigmoid",),
    ),
    Family(
        lambda n, act: yolov4(n, activation=act),
        "exponentials, and centres that are spread (YOLOv4 of Darknet; anchors= and spreads= of your own)",
        (5,),
        3,
        ("sigmoid",),
    ),
    Family(
        lambda n, act: yolov4(n, (16, 32), activation=act),
        "two levels, exponentials, and centres that are spread (YOLOv4-tiny of Darknet; anchors= of your own)",
        (5,),
        3,
        ("sigmoid",),
    ),
    Family(
        lambda n, act: yolov5(n, (16, 32), _TWO_LEVELS, activation=act),
        "two levels, boxes of YOLOv5 (YOLOv3-tiny of ultralytics; anchors= of your own)",
        (5,),
        3,
        units=True,
    ),
    Family(
        lambda n, act: yolov2(n, activation=act),
        "five anchors (YOLOv2 of Darknet; anchors= of your own)",
        (5,),
        5,
        ("sigmoid",),
        asked="whether the outputs are of YOLOv2 at all: any map of stride 32 with a multiple of 5 channels has these "
        "extents (classes= says more)",
    ),
    Family(
        lambda n, act: yolov7_pose(classes=n, activation=act),
        "17 keypoints and anchors, strides to 64 (YOLOv7-pose, YOLOv5-pose; anchors= of your own)",
        (56,),
        3,
        units=True,
    ),
    Family(
        lambda n, act: yolov7_pose(5, (8, 16, 32), classes=n, activation=act),
        "5 keypoints with a confidence, and anchors (YOLOv7-face; anchors= of your own)",
        (20,),
        3,
        units=True,
    ),
    Family(lambda n, act: yolov6(n, activation=act), "suppression and sides of a number each (YOLOv6)", (0, 4, 5)),
    Family(lambda n, act: yolo26(n, activation=act), "no suppression and sides of a number each (YOLO26)", units=True),
    Family(
        lambda n, act: yolo26(n, activation=act, keypoints=17),
        "17 keypoints and sides of a number each (YOLO26-pose)",
        units=True,
        rows=1,
    ),
    Family(
        lambda n, act: yolo26(n, activation=act, coefficients=32),
        "masks and sides of a number each (YOLO26-seg)",
        units=True,
    ),
    Family(
        lambda n, act: yolo26_obb(n, activation=act),
        "turned boxes and sides of a number each (YOLO26-OBB)",
        apart=True,
        form="maps",
    ),
    Family(lambda n, act: yolox(n, activation=act), "exponentials of sizes (YOLOX)", (0, 4, 5)),
    Family(lambda n, act: ppyoloe(n, activation=act), "17 bins a side (PP-YOLOE)", (0, 68), form="maps"),
    Family(
        lambda n, act: ppyoloe(n, activation=act),
        "a list of edges (PP-YOLOE, YOLO-NAS, DAMO-YOLO)",
        (0, 4),
        form="list",
    ),
    Family(
        lambda n, act: ppyoloe(n, activation=act, listed="sides"),
        "a list of sides, in strides (YOLO-NAS of AXERA, YOLOv8 of MaixCAM)",
        apart=True,
        form="list",
    ),
    Family(
        lambda n, act: ppyoloe(n, (32, 16, 8), activation=act, listed="sides"),
        "a list of sides that begins with the cells of stride 32 (PP-YOLOE of AXERA)",
        apart=True,
        form="list",
    ),
    Family(lambda n, act: damoyolo(n, activation=act), "17 bins a side, and a last score of none (DAMO-YOLO)", (1,)),
    Family(lambda n, act: nanodet(n, activation=act), "8 bins a side, strides to 64 (NanoDet-Plus)", (0, 32)),
    Family(lambda n, act: retinaface(activation=act), "priors (RetinaFace)", one=True, activations=("none", "softmax")),
    Family(
        lambda n, act: yolact(n, activation=act),
        "priors and prototypes of 550 pixels (YOLACT; coefficients_activation= if they are beyond -1 .. 1)",
        (1,),
        activations=("none", "softmax"),
        side=550,
    ),
    Family(
        lambda n, act: yolact(n, (512, 512), scales=_NINE, square=False, activation=act),
        "nine priors a cell and prototypes (YOLACT of Hailo; coefficients_activation= if they are beyond -1 .. 1)",
        (1,),
        9,
        ("softmax", "none"),
        side=512,
    ),
    Family(lambda n, act: scrfd(activation=act), "two anchors a cell (SCRFD)", one=True),
    Family(lambda n, act: face_det_lite(activation=act), "heat of faces (face_det_lite of AI Hub)", one=True),
    Family(lambda n, act: yunet(activation=act), "the root of class and objectness (YuNet)", one=True),
    Family(
        lambda n, act: yolov5_face(activation=act),
        "anchors and five landmarks (YOLOv5-face; anchors= of your own)",
        (15,),
        3,
        units=True,
        one=True,
    ),
    Family(
        lambda n, act: yolofastestv2(n, activation=act),
        "classes that three anchors share (Yolo-FastestV2; anchors= of your own)",
        (0, 15),
    ),
    Family(
        lambda n, act: fastestdet(n, activation=act),
        "one map of stride 16 (FastestDet)",
        (0, 5),
        asked="whether the outputs are of FastestDet at all: any map of stride 16 has these extents (classes= says "
        "more)",
    ),
    Family(
        lambda n, act: blazeface(activation=act), "MediaPipe's faces, of 128 pixels (BlazeFace)", one=True, side=128
    ),
    Family(
        lambda n, act: blazeface(256, (16, 32, 32, 32), activation=act),
        "MediaPipe's faces, of 256 pixels (BlazeFace)",
        one=True,
        side=256,
    ),
    Family(
        lambda n, act: blazeface(192, (4,), anchors=1, activation=act),
        "MediaPipe's faces at full range",
        one=True,
        side=192,
    ),
    Family(lambda n, act: blazeface(192, keypoints=7, activation=act), "MediaPipe's palms", one=True, side=192),
    Family(
        lambda n, act: blazeface(224, (8, 16, 32, 32, 32), keypoints=4, activation=act),
        "MediaPipe's persons",
        one=True,
        side=224,
    ),
    Family(
        lambda n, act: retinanet(n, activation=act),
        "nine anchors a cell (RetinaNet)",
        (0,),
        9,
        asked="whether the outputs are of RetinaNet or of EfficientDet, whose anchors are others (efficientdet())",
        unsure=True,
    ),
    Family(lambda n, act: fcos(n, activation=act), "sides and centrality, strides to 128 (FCOS)"),
    Family(
        lambda n, act: labelled_rows(n),
        "rows with their best class, not suppressed (AI Hub)",
        activations=("none",),
        apart=True,
    ),
    Family(
        lambda n, act: movenet(),
        "rows of 17 points and a box (MoveNet MultiPose)",
        activations=("none",),
        one=True,
        most=32,
    ),
    Family(lambda n, act: centernet_head(n, activation=act), "heat of centres (CenterNet)"),
    Family(lambda n, act: ssd_postprocessed(n), "rows after TFLite's post-process", activations=("none",), rows=90),
)
# Any number of rows fits them: they are tried if nothing else fits.
QUERIES = (
    Family(lambda n, act: rtdetr(n, activation=act), "queries (RT-DETR, D-FINE, RF-DETR)", (0, 4)),
    Family(
        lambda n, act: detr(n, activation=act), "queries and a last score of none (DETR)", (1,), 1, ("none", "softmax")
    ),
)
