"""OpenPose's output, 19 heatmaps and 38 part-affinity fields, becomes people by `npu_layout.decode.people`.

The network sees 368x368 pixels and answers on a grid of 46x46 cells of 8x8 pixels: 18 joints and the background, then
an (x, y) field for each of 19 limbs (Cao et al., "Realtime Multi-Person 2D Pose Estimation using Part Affinity
Fields", 2017). All coordinates are pixel centres: cell i is at pixel 8 * i + 3.5.
"""

from __future__ import annotations

import cv2
import numpy as np

from npu_layout import ops
from npu_layout.decode import OPENPOSE
from npu_layout.decode import people as people_in

JOINTS = [
    "nose",
    "neck",
    "right_shoulder",
    "right_elbow",
    "right_wrist",
    "left_shoulder",
    "left_elbow",
    "left_wrist",
    "right_hip",
    "right_knee",
    "right_ankle",
    "left_hip",
    "left_knee",
    "left_ankle",
    "right_eye",
    "left_eye",
    "right_ear",
    "left_ear",
]

LIMBS = OPENPOSE.limbs
CELL = 8
GRID = 46

# How a frame becomes the network's input, in the terms of npu_layout.Preprocessor.
PREPROCESS = {"color": "RGB", "mean": 128.0, "std": 256.0}

PEAK = OPENPOSE.peak  # least heat of a joint
_HUES = cv2.applyColorMap(np.arange(0, 256, 13, np.uint8), cv2.COLORMAP_HSV).reshape(-1, 3)
_COLOURS = [tuple(int(v) for v in hue) for hue in _HUES]


def peaks(heat: np.ndarray, threshold: float = PEAK) -> list[np.ndarray]:
    """Local maxima of each map of `heat` (joints, H, W): arrays (n, 3) of x, y in cells and the score."""
    found = ops.peaks(np.nan_to_num(heat, nan=0.0, posinf=0.0, neginf=0.0)[None], threshold)
    return np.split(found[:, 2:], np.searchsorted(found[:, 1], np.arange(1, len(heat))))


def decode(maps: np.ndarray) -> list[np.ndarray]:
    """People in `maps`, (57, 46, 46) or (1, 57, 46, 46) float32: arrays (18, 3) of x, y in the network's input
    pixels (centres) and the score; NaN and 0 where a joint was not found."""
    return list(people_in(np.asarray(maps, np.float32).reshape(57, GRID, GRID)))


def draw(frame: np.ndarray, people: list[np.ndarray]) -> np.ndarray:
    """Draw skeletons, arrays (18, 2 or 3) in the frame's own pixels, onto `frame` (H, W, 3) uint8 BGR; returns it."""
    thick = max(1, round(min(frame.shape[:2]) / 160))
    for person in people:
        points = [None if not np.isfinite(p[:2]).all() else (round(float(p[0])), round(float(p[1]))) for p in person]
        for limb, (a, b) in enumerate(LIMBS):
            if points[a] is not None and points[b] is not None:
                cv2.line(frame, points[a], points[b], _COLOURS[limb % len(_COLOURS)], thick, cv2.LINE_AA)
        for joint, point in enumerate(points):
            if point is not None:
                cv2.circle(frame, point, thick + 1, _COLOURS[joint % len(_COLOURS)], -1, cv2.LINE_AA)
    return frame
