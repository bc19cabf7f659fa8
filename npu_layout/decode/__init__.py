"""Heads: from an accelerator's stored outputs to answers, boxes, keypoints, masks and classes.

A head is a record that says what each cell of a network's outputs means; `Decoder` checks it against the outputs' specs
once, and then reads detections from stored buffers in any layout and dtype.

Imports buffers, frames, kernels, layouts and support.
"""

from .answers import Classes, Text, classify, ctc, heatmap_points, simcc_points
from .centers import Regions, centernet, dbnet
from .decoder import Decoder
from .detections import Detections
from .detectors import centernet_head, nanodet, ppyoloe, ssd, ssd_postprocessed
from .faces import retinaface, scrfd, yunet
from .guessing import Guess, guess
from .head import Boxes, Form, Head, Keypoints, Part, Prototypes, Suppression
from .limbs import OPENPOSE, Skeleton, people
from .mask_crops import Masks, masks
from .matching import Comparison, same
from .networks import yolo26, yolov5, yolov6, yolov8, yolov8_obb, yolov10, yolox
from .oriented import OrientedDecoder, OrientedDetections, oriented_nms
from .overlay import draw
from .suppression import nms

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
    "centernet",
    "centernet_head",
    "classify",
    "ctc",
    "dbnet",
    "draw",
    "guess",
    "heatmap_points",
    "masks",
    "nanodet",
    "nms",
    "oriented_nms",
    "people",
    "ppyoloe",
    "retinaface",
    "same",
    "scrfd",
    "simcc_points",
    "ssd",
    "ssd_postprocessed",
    "yolo26",
    "yolov5",
    "yolov6",
    "yolov8",
    "yolov8_obb",
    "yolov10",
    "yolox",
    "yunet",
]
