"""The families of heads that outputs can be, for guesses: a row for each, in the order in which they are offered."""

from __future__ import annotations

from dataclasses import replace

from ..zoo.dense import fcos, retinanet
from ..zoo.detectors import centernet_head, fastestdet, labelled_rows, ssd_postprocessed, yolofastestv2
from ..zoo.faces import blazeface, face_det_lite, retinaface, scrfd, ultraface, yolov5_face, yunet
from ..zoo.networks import STRIDES, yolov8, yolov10
from ..zoo.poses import POSE_STRIDES, movenet
from ..zoo.queries import detr, rtdetr
from ..zoo.sides import damoyolo, depthai_yolo, nanodet, ppyoloe
from ..zoo.yolacts import yolact
from .family import Family
from .yolo_families import YOLOS

# hailo-ai/hailo_model_zoo, hailo_model_zoo/cfg/base/yolact.yaml: pixels
_NINE = tuple(tuple(s * 2 ** (k / 3) for k in range(3)) for s in (24, 48, 96, 192, 384))
FAMILIES = (
    *YOLOS,
    Family(lambda n, act: ppyoloe(n, activation=act), "17 bins a side (PP-YOLOE)", (0, 68), form="maps"),
    Family(
        lambda n, act: ppyoloe(n, activation=act),
        "a list of edges (PP-YOLOE, YOLO-NAS, DAMO-YOLO)",
        (0, 4),
        form="list",
    ),
    Family(
        lambda n, act: ppyoloe(n, POSE_STRIDES, activation=act),
        "a list of edges, strides to 64 (PicoDet)",
        apart=True,
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
    Family(
        lambda n, act: nanodet(n, center=0.5, activation=act),
        "8 bins a side from the cells' middles, strides to 64 (PicoDet)",
        apart=True,
    ),
    Family(
        lambda n, act: yolov8(n, POSE_STRIDES, activation=act, bins=8),
        "8 bins a side and suppression, strides to 64 (YOLOv8 with P6 and bins=8)",
        apart=True,
        form="maps",
        plain=True,
    ),
    Family(
        lambda n, act: yolov10(n, POSE_STRIDES, activation=act, bins=8),
        "8 bins a side and no suppression, strides to 64 (YOLOv10 with P6 and bins=8)",
        apart=True,
        form="maps",
        plain=True,
    ),
    Family(
        lambda n, act: nanodet(n, STRIDES, center=0.5, activation=act),
        "8 bins a side, strides to 32 (NanoDet; the boxes of YOLOv8 with bins=8 are the same)",
        apart=True,
    ),
    Family(
        lambda n, act: yolov8(n, activation=act, bins=8),
        "8 bins a side and suppression (YOLOv8 with bins=8)",
        apart=True,
        form="maps",
        plain=True,
    ),
    Family(
        lambda n, act: yolov10(n, activation=act, bins=8),
        "8 bins a side and no suppression (YOLOv10 with bins=8)",
        apart=True,
        form="maps",
        plain=True,
    ),
    Family(
        lambda n, act: nanodet(n, STRIDES, activation=act),
        "8 bins a side from the cells' corners, strides to 32 (NanoDet-Plus of three levels)",
        apart=True,
    ),
    Family(
        lambda n, act: nanodet(n, STRIDES, bins=11, center=0.5, activation=act),
        "11 bins a side, strides to 32 (NanoDet of Hailo)",
        (44,),
        like="nanodet",
    ),
    Family(
        lambda n, act: depthai_yolo(n),
        "sides, and a largest score that is not read (YOLOs of Luxonis' tools)",
        (5,),
        activations=("none",),
        like="yolov6r2",
    ),
    Family(lambda n, act: retinaface(activation=act), "priors (RetinaFace)", one=True, activations=("none", "softmax")),
    Family(
        lambda n, act: yolact(n, activation=act),
        "priors and prototypes of 550 pixels (YOLACT; coefficients_activation= if they are beyond -1 .. 1)",
        (1,),
        activations=("none", "softmax"),
        size=(550, 550),
    ),
    Family(
        lambda n, act: yolact(n, (512, 512), scales=_NINE, square=False, activation=act),
        "nine priors a cell and prototypes (YOLACT of Hailo; coefficients_activation= if they are beyond -1 .. 1)",
        (1,),
        9,
        ("softmax", "none"),
        size=(512, 512),
    ),
    Family(
        lambda n, act: ultraface(activation=act),
        "faces of 240x320 pixels (Ultra-Light; listed='offsets' if boxes are from priors)",
        activations=("none", "softmax"),
        one=True,
        size=(240, 320),
    ),
    Family(
        lambda n, act: ultraface((480, 640), activation=act),
        "faces of 480x640 pixels (Ultra-Light; listed='offsets' if boxes are from priors)",
        activations=("none", "softmax"),
        one=True,
        size=(480, 640),
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
        lambda n, act: blazeface(activation=act),
        "MediaPipe's faces, of 128 pixels (BlazeFace)",
        one=True,
        size=(128, 128),
    ),
    Family(
        lambda n, act: blazeface(256, (16, 32, 32, 32), activation=act),
        "MediaPipe's faces, of 256 pixels (BlazeFace)",
        one=True,
        size=(256, 256),
    ),
    Family(
        lambda n, act: blazeface(192, (4,), anchors=1, activation=act),
        "MediaPipe's faces at full range",
        one=True,
        size=(192, 192),
    ),
    Family(lambda n, act: blazeface(192, keypoints=7, activation=act), "MediaPipe's palms", one=True, size=(192, 192)),
    Family(
        lambda n, act: blazeface(224, (8, 16, 32, 32, 32), keypoints=4, activation=act),
        "MediaPipe's persons",
        one=True,
        size=(224, 224),
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
        units=True,
        apart=True,
    ),
    Family(
        lambda n, act: labelled_rows(n, coefficients=32),
        "rows with their best class and masks, not suppressed (AI Hub)",
        activations=("none",),
        units=True,
        apart=True,
    ),
    Family(
        lambda n, act: rtdetr(n),
        "rows after the post-processing of queries (RT-DETR, D-FINE, DEIM)",
        activations=("none",),
        apart=True,
        form="rows",
        most=1000,
    ),
    Family(
        lambda n, act: movenet(),
        "rows of 17 points and a box (MoveNet MultiPose)",
        activations=("none",),
        one=True,
        most=32,
    ),
    Family(lambda n, act: centernet_head(n, activation=act), "heat of centres (CenterNet)"),
    Family(
        lambda n, act: ssd_postprocessed(n),
        "rows of edges of 0 to 1, y before x (TFLite's post-process, EfficientNMS of TensorFlow's networks)",
        activations=("none",),
        rows=90,
        apart=True,
    ),
    Family(
        lambda n, act: replace(ssd_postprocessed(n), background=0),
        "rows of edges of 0 to 1, y before x, whose classes count from 1 (TensorFlow's own graph)",
        activations=("none",),
        rows=90,
        apart=True,
        single=True,
        unlike="PostProcess|StatefulPartitionedCall",
    ),
    Family(
        lambda n, act: ssd_postprocessed(n, yx=False, unit="pixel"),
        "rows of edges in pixels, x before y, and their number (TensorRT's EfficientNMS, IMX500)",
        activations=("none",),
        apart=True,
        single=False,
        unlike="PostProcess|StatefulPartitionedCall",
    ),
)
_PRIORS = "whether rows are queries, and not boxes from priors"
# Any number of rows fits them: they are tried if nothing else fits, or rows alone. DINO has 900 queries; SSD's lists,
# which look alike, are longer.
QUERIES = (
    Family(
        lambda n, act: rtdetr(n, activation=act),
        "queries (RT-DETR, D-FINE, RF-DETR)",
        (0, 4),
        units=True,
        form="queries",
        asked=_PRIORS,
        doubted=True,
        most=1000,
    ),
    Family(
        lambda n, act: detr(n, activation=act),
        "queries and a last score of none (DETR)",
        (1,),
        1,
        ("none", "softmax"),
        asked=_PRIORS,
        doubted=True,
        most=1000,
    ),
)
