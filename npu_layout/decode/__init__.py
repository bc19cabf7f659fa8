"""Heads: from an accelerator's stored outputs to answers, boxes, keypoints, masks and classes.

A head is a record that says what each cell of a network's outputs means; `Decoder` checks it against the outputs' specs
once, and then reads detections from stored buffers in any layout and dtype.

Imports buffers, frames, kernels, layouts and support.
"""

from .decoder import Decoder
from .detections import Detections
from .detectors import nanodet, ppyoloe, ssd, ssd_postprocessed
from .faces import retinaface, scrfd, yunet
from .guessing import Guess, guess
from .head import Boxes, Form, Head, Keypoints, Part, Prototypes, Suppression
from .limbs import OPENPOSE, Skeleton, people
from .mask_crops import Masks, masks
from .matching import Comparison, same
from .networks import yolo26, yolov5, yolov6, yolov8, yolov10, yolox
from .overlay import draw
from .suppression import nms

__all__ = [
    "OPENPOSE",
    "Boxes",
    "Comparison",
    "Decoder",
    "Detections",
    "Form",
    "Guess",
    "Head",
    "Keypoints",
    "Masks",
    "Part",
    "Prototypes",
    "Skeleton",
    "Suppression",
    "draw",
    "guess",
    "masks",
    "nanodet",
    "nms",
    "people",
    "ppyoloe",
    "retinaface",
    "same",
    "scrfd",
    "ssd",
    "ssd_postprocessed",
    "yolo26",
    "yolov5",
    "yolov6",
    "yolov8",
    "yolov10",
    "yolox",
    "yunet",
]
