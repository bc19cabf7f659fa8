"""What the sample's detector finds, and how its frames and outputs are read: a record for each."""

from __future__ import annotations

from npu_layout import decode

CLASSES = ("front", "behind")  # figures that face the camera, and figures that do not
JOINTS = 18  # as samples/pose.py names them
INPUT_HW = (320, 320)

# How a frame becomes the network's input, in the terms of npu_layout.Preprocessor.
PREPROCESS = {"color": "RGB", "std": 255.0}

# YOLOv8's head with the parts of its pose and its segmentation variant: boxes by distances in 8 bins, scores behind a
# sigmoid, 18 points and 16 mask coefficients a cell, on grids of 8, 16 and 32 pixels; 16 prototypes of 4 pixels a cell.
HEAD = decode.yolov8(classes=len(CLASSES), bins=8, keypoints=JOINTS, coefficients=16, name="stick figures")
