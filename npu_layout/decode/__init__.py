"""Heads: from an accelerator's stored outputs to answers, boxes, keypoints, masks and classes.

A head is a record that says what each cell of a network's outputs means; `Decoder` checks it against the outputs' specs
once, and then reads detections from stored buffers in any layout and dtype.

Imports buffers, frames, kernels, layouts and support.
"""

from typing import TYPE_CHECKING

from ..support import late

if TYPE_CHECKING:
    from .decoders.decoder import Decoder
    from .decoders.decoder import use_backend as use_backend  # of the benchmark, and of no user
    from .decoders.oriented import OrientedDecoder, OrientedDetections, oriented_nms
    from .decoders.suppressed import detection_output, hailo_nms
    from .guesses.guessing import Guess, guess
    from .heads.form import Boxes, Form, Part
    from .heads.head import Head
    from .heads.rules import Keypoints, Prototypes, Suppression
    from .other_answers.answers import Classes, Text, classify, ctc
    from .other_answers.centers import centernet
    from .other_answers.joints import heatmap_points, landmarks, simcc_points
    from .other_answers.limbs import OPENPOSE, Skeleton, people
    from .other_answers.regions import Regions, dbnet
    from .other_answers.roads import lanes
    from .results.crops import Masks
    from .results.detections import Detections
    from .results.mask_crops import masks
    from .results.matching import Comparison, same
    from .results.overlay import draw
    from .results.suppression import nms
    from .zoo.darknet import yolov2, yolov3, yolov4
    from .zoo.dense import efficientdet, fcos, retinanet
    from .zoo.detectors import centernet_head, fastestdet, labelled_rows, ssd, ssd_postprocessed, yolofastestv2
    from .zoo.faces import blazeface, face_det_lite, retinaface, scrfd, ultraface, yolov5_face, yunet
    from .zoo.networks import yolo26, yolov5, yolov6, yolov7, yolov8, yolov10, yolox
    from .zoo.obb import yolo26_obb, yolov8_obb
    from .zoo.poses import movenet, yolov7_pose
    from .zoo.queries import detr, rtdetr
    from .zoo.sides import damoyolo, depthai_yolo, nanodet, ppyoloe, rtmdet
    from .zoo.yolacts import yolact

__all__ = [
    "OPENPOSE",
    "Boxes",
    "Classes",
    "Comparison",
    "Decoder",
    "Detections",
    "Form",
    "Guess",
    "Head",
    "Keypoints",
    "Masks",
    "OrientedDecoder",
    "OrientedDetections",
    "Part",
    "Prototypes",
    "Regions",
    "Skeleton",
    "Suppression",
    "Text",
    "blazeface",
    "centernet",
    "centernet_head",
    "classify",
    "ctc",
    "damoyolo",
    "dbnet",
    "depthai_yolo",
    "detection_output",
    "detr",
    "draw",
    "efficientdet",
    "face_det_lite",
    "fastestdet",
    "fcos",
    "guess",
    "hailo_nms",
    "heatmap_points",
    "labelled_rows",
    "landmarks",
    "lanes",
    "masks",
    "movenet",
    "nanodet",
    "nms",
    "oriented_nms",
    "people",
    "ppyoloe",
    "retinaface",
    "retinanet",
    "rtdetr",
    "rtmdet",
    "same",
    "scrfd",
    "simcc_points",
    "ssd",
    "ssd_postprocessed",
    "ultraface",
    "yolact",
    "yolo26",
    "yolo26_obb",
    "yolofastestv2",
    "yolov2",
    "yolov3",
    "yolov4",
    "yolov5",
    "yolov5_face",
    "yolov6",
    "yolov7",
    "yolov7_pose",
    "yolov8",
    "yolov8_obb",
    "yolov10",
    "yolox",
    "yunet",
]

_ROOMS = {  # name: the module that defines it, imported at its first use
    **dict.fromkeys(("Decoder", "use_backend"), "decoders.decoder"),
    **dict.fromkeys(("OrientedDecoder", "OrientedDetections", "oriented_nms"), "decoders.oriented"),
    **dict.fromkeys(("detection_output", "hailo_nms"), "decoders.suppressed"),
    **dict.fromkeys(("Guess", "guess"), "guesses.guessing"),
    **dict.fromkeys(("Boxes", "Form", "Part"), "heads.form"),
    **dict.fromkeys(("Head",), "heads.head"),
    **dict.fromkeys(("Keypoints", "Prototypes", "Suppression"), "heads.rules"),
    **dict.fromkeys(("Classes", "Text", "classify", "ctc"), "other_answers.answers"),
    **dict.fromkeys(("centernet",), "other_answers.centers"),
    **dict.fromkeys(("heatmap_points", "landmarks", "simcc_points"), "other_answers.joints"),
    **dict.fromkeys(("OPENPOSE", "Skeleton", "people"), "other_answers.limbs"),
    **dict.fromkeys(("Regions", "dbnet"), "other_answers.regions"),
    **dict.fromkeys(("lanes",), "other_answers.roads"),
    **dict.fromkeys(("Masks",), "results.crops"),
    **dict.fromkeys(("Detections",), "results.detections"),
    **dict.fromkeys(("masks",), "results.mask_crops"),
    **dict.fromkeys(("Comparison", "same"), "results.matching"),
    **dict.fromkeys(("draw",), "results.overlay"),
    **dict.fromkeys(("nms",), "results.suppression"),
    **dict.fromkeys(("yolov2", "yolov3", "yolov4"), "zoo.darknet"),
    **dict.fromkeys(("efficientdet", "fcos", "retinanet"), "zoo.dense"),
    **dict.fromkeys(
        ("centernet_head", "fastestdet", "labelled_rows", "ssd", "ssd_postprocessed", "yolofastestv2"), "zoo.detectors"
    ),
    **dict.fromkeys(
        ("blazeface", "face_det_lite", "retinaface", "scrfd", "ultraface", "yolov5_face", "yunet"), "zoo.faces"
    ),
    **dict.fromkeys(("yolo26", "yolov5", "yolov6", "yolov7", "yolov8", "yolov10", "yolox"), "zoo.networks"),
    **dict.fromkeys(("yolo26_obb", "yolov8_obb"), "zoo.obb"),
    **dict.fromkeys(("movenet", "yolov7_pose"), "zoo.poses"),
    **dict.fromkeys(("detr", "rtdetr"), "zoo.queries"),
    **dict.fromkeys(("damoyolo", "depthai_yolo", "nanodet", "ppyoloe", "rtmdet"), "zoo.sides"),
    **dict.fromkeys(("yolact",), "zoo.yolacts"),
}
_ELSEWHERE = {
    **dict.fromkeys(("YOLOv8", "YOLO", "yolo", "yolov8n", "yolov8s", "yolov9", "yolov11", "yolov12"), "yolov8"),
    **dict.fromkeys(("yolo8", "yolo9", "yolo11", "yolo12", "yolov8_seg", "yolov8_pose", "yolov8n_seg"), "yolov8"),
    **dict.fromkeys(("YOLOv2", "yolo2", "tiny_yolo", "yolov2_tiny", "region"), "yolov2"),
    **dict.fromkeys(("YOLOv3", "yolo3", "yolov3_tiny", "darknet"), "yolov3"),
    **dict.fromkeys(("YOLOv4", "yolo4", "yolov4_tiny"), "yolov4"),
    **dict.fromkeys(("YOLOv5", "yolo5", "yolov5s", "yolov5_seg", "yolov7_tiny"), "yolov5"),
    **dict.fromkeys(("YOLOv7", "yolo7", "yolov7x"), "yolov7"),
    **dict.fromkeys(("yolov5face", "yolo5face", "yolo5_face"), "yolov5_face"),
    **dict.fromkeys(("yolov5_pose", "yolov7_face", "yolo7_pose", "edgeai"), "yolov7_pose"),
    **dict.fromkeys(("lightface", "slim", "RFB", "rfb_320", "ultra_light"), "ultraface"),
    **dict.fromkeys(("yolov10n", "yolo10"), "yolov10"),
    **dict.fromkeys(("yolov26", "yolo26n"), "yolo26"),
    **dict.fromkeys(("yolov11_obb", "yolo11_obb", "yolo_obb"), "yolov8_obb"),
    **dict.fromkeys(("yolov26_obb", "OBB26"), "yolo26_obb"),
    **dict.fromkeys(("RTDETR", "rt_detr", "dfine", "deim", "rfdetr", "deformable_detr"), "rtdetr"),
    **dict.fromkeys(("mediapipe", "palm", "blazepalm", "blazepose"), "blazeface"),
    **dict.fromkeys(("efficientdet_lite", "EfficientDet", "efficientdet_d0"), "efficientdet"),
    **dict.fromkeys(("Yolo-FastestV2", "yolo_fastestv2", "yolo_fastest_v2", "yolo_fastest"), "yolofastestv2"),
    **dict.fromkeys(("DAMO-YOLO", "damo_yolo"), "damoyolo"),
    **dict.fromkeys(("yolo_nas", "yolonas", "pp_yoloe"), "ppyoloe"),
    **dict.fromkeys(("luxonis", "oak", "yolov6r2"), "depthai_yolo"),
    **dict.fromkeys(("aihub", "qai_hub", "class_idx"), "labelled_rows"),
    **dict.fromkeys(("YOLACT", "yolact_base", "yolact_plus", "yolactedge"), "yolact"),
    **dict.fromkeys(("DetectionOutput", "mobilenet_ssd"), "detection_output"),
    **dict.fromkeys(("hailo_nms_by_class", "nms_by_class", "nms_by_score"), "hailo_nms"),
    **dict.fromkeys(("NMS", "non_max_suppression", "batched_nms"), "nms"),
    **dict.fromkeys(("hand_landmarks", "face_mesh", "pfld", "keypoints"), "landmarks"),
    **dict.fromkeys(("ufld", "ultra_fast_lane", "lane"), "lanes"),
    **{"softmax": "classify(..., activation='softmax')", "top_k": "classify", "openpose": "people"},
}
if not TYPE_CHECKING:
    __getattr__, __dir__ = late(__name__, _ROOMS, _ELSEWHERE)
