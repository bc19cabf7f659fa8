"""The YOLO networks that outputs can be, for guesses: a row for each family of heads."""

from __future__ import annotations

from ..zoo.darknet import yolov2, yolov3, yolov4
from ..zoo.networks import STRIDES, yolo26, yolov5, yolov6, yolov8, yolov10, yolox
from ..zoo.obb import yolo26_obb, yolov8_obb
from ..zoo.poses import POSE_ANCHORS, POSE_STRIDES, yolov7_pose
from ..zoo.sides import rtmdet
from .family import Family

# ultralytics/yolov3, models/yolov3-tiny.yaml: width and height in pixels
_TWO_LEVELS = (((10, 14), (23, 27), (37, 58)), ((81, 82), (135, 169), (344, 319)))
YOLOS = (
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
        lambda n, act: yolov8(activation=act, classes=1, keypoints=5),
        "5 keypoints (YOLOv8-face; keypoints= of your own)",
        units=True,
        one=True,
    ),
    Family(
        lambda n, act: yolov8(activation=act, classes=1, keypoints=21),
        "21 keypoints (YOLOv8-pose of hands; keypoints= of your own)",
        units=True,
        one=True,
    ),
    Family(
        lambda n, act: yolov8(n, (4, *STRIDES), activation=act),
        "a list of strides from 4 (YOLOv8 with P2)",
        (4,),
        units=True,
        form="list",
    ),
    Family(
        lambda n, act: yolov8(n, (*STRIDES, 64), activation=act),
        "a list of strides to 64 (YOLOv8 with P6)",
        (4,),
        units=True,
        form="list",
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
        (0, 5),
        3,
        units=True,
    ),
    Family(
        lambda n, act: yolov5(n, POSE_STRIDES, POSE_ANCHORS[POSE_STRIDES], activation=act),
        "the anchors of YOLOv5, strides to 64 (YOLOv5s6, YOLOv7-w6; anchors= of yours)",
        (0, 5),
        3,
        units=True,
    ),
    Family(
        lambda n, act: yolov5(n, activation=act, coefficients=32),
        "anchors and masks (YOLOv5-seg)",
        (0, 5, 37),
        3,
        units=True,
    ),
    Family(
        lambda n, act: yolov3(n, activation=act),
        "sizes that are exponentials (YOLOv3 of Darknet; anchors= of your own)",
        (0, 5),
        3,
        ("sigmoid",),
    ),
    Family(
        lambda n, act: yolov3(n, (16, 32), activation=act),
        "two levels, sizes that are exponentials (YOLOv3-tiny of Darknet; anchors= of your own)",
        (0, 5),
        3,
        ("sigmoid",),
    ),
    Family(
        lambda n, act: yolov4(n, activation=act),
        "exponentials, and centres that are spread (YOLOv4 of Darknet; anchors= and spreads= of your own)",
        (0, 5),
        3,
        ("sigmoid",),
    ),
    Family(
        lambda n, act: yolov4(n, (16, 32), activation=act),
        "two levels, exponentials, and centres that are spread (YOLOv4-tiny of Darknet; anchors= of your own)",
        (0, 5),
        3,
        ("sigmoid",),
    ),
    Family(
        lambda n, act: yolov5(n, (16, 32), _TWO_LEVELS, activation=act),
        "two levels, boxes of YOLOv5 (YOLOv3-tiny of ultralytics; anchors= of your own)",
        (0, 5),
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
    Family(lambda n, act: yolov6(n, activation=act), "suppression and sides without bins (YOLOv6)", (0, 4, 5)),
    Family(
        lambda n, act: yolov6(n, POSE_STRIDES, activation=act),
        "a list of boxes, objectness and scores, strides to 64 (YOLOv6Lite)",
        (5,),
        activations=("none",),
        form="list",
    ),
    Family(
        lambda n, act: rtmdet(n, activation=act),
        "suppression and sides without bins from the cell's corner (RTMDet)",
        asked="whether sides of RTMDet are in strides (unit=)",
        unsure=True,
        apart=True,
    ),
    Family(lambda n, act: yolo26(n, activation=act), "no suppression and sides without bins (YOLO26)", units=True),
    Family(
        lambda n, act: yolo26(n, activation=act, keypoints=17),
        "17 keypoints and sides without bins (YOLO26-pose)",
        units=True,
        rows=1,
    ),
    Family(
        lambda n, act: yolo26(n, activation=act, coefficients=32),
        "masks and sides without bins (YOLO26-seg)",
        units=True,
    ),
    Family(
        lambda n, act: yolo26_obb(n, activation=act),
        "turned boxes and sides without bins (YOLO26-OBB)",
        apart=True,
        form="maps",
    ),
    Family(
        lambda n, act: yolo26_obb(n, activation=act),
        "rows of turned boxes (YOLO26-OBB)",
        activations=("none",),
        units=True,
        rows=15,
        asked="whether rows of 7 numbers are turned boxes",
        doubted=True,
        form="rows",
    ),
    Family(lambda n, act: yolox(n, activation=act), "exponentials of sizes (YOLOX)", (0, 4, 5)),
)
