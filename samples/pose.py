"""OpenPose's output, decoded: 19 heatmaps and 38 part-affinity fields -> people. numpy and OpenCV only.

The network sees 368x368 pixels and answers on a grid of 46x46 cells of 8x8 pixels: 18 joints and the background, then
an (x, y) field for each of 19 limbs (Cao et al., "Realtime Multi-Person 2D Pose Estimation using Part Affinity
Fields", 2017). All coordinates are pixel centres: cell i lies at pixel 8 * i + 3.5.
"""

from __future__ import annotations

import cv2
import numpy as np

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

# Limbs, in the order of their fields, which follow the 19 heatmaps as x, y pairs.
LIMBS = (
    (1, 8), (8, 9), (9, 10), (1, 11), (11, 12), (12, 13), (1, 2), (2, 3), (3, 4), (2, 16), (1, 5), (5, 6), (6, 7),
    (5, 17), (1, 0), (0, 14), (0, 15), (14, 16), (15, 17),
)  # fmt: skip
CELL = 8
GRID = 46

# How a frame becomes the network's input, in the terms of npu_layout.Preprocessor.
PREPROCESS = {"color": "RGB", "mean": 128.0, "std": 256.0}

PEAK = 0.3  # least heat of a joint
_SAMPLES = np.linspace(0, 1, 10)
_LEAST_FIELD = 0.05  # least alignment of one sample with its limb
_LEAST_TOTAL = 6.0  # sum of the limbs' scores of a person; 19 limbs with 1 each at best
_HUES = cv2.applyColorMap(np.arange(0, 256, 13, np.uint8), cv2.COLORMAP_HSV).reshape(-1, 3)
_COLOURS = [tuple(int(v) for v in hue) for hue in _HUES]


def peaks(heat: np.ndarray, threshold: float = PEAK) -> list[np.ndarray]:
    """Local maxima of each map of `heat` (joints, H, W): arrays (n, 3) of x, y in cells and the score.

    A parabola through each maximum and its neighbours refines it to within half a cell.
    """
    count, height, width = heat.shape
    around = np.full((count, height + 2, width + 2), -np.inf, np.float32)
    inner = around[:, 1:-1, 1:-1]
    inner[...] = np.nan_to_num(heat, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
    left, right = around[:, 1:-1, :-2], around[:, 1:-1, 2:]
    above, below = around[:, :-2, 1:-1], around[:, 2:, 1:-1]
    # `>` on one side and `>=` on the other: a plateau of two cells is one maximum.
    top = (inner > threshold) & (inner > left) & (inner >= right) & (inner > above) & (inner >= below)
    joint, y, x = np.nonzero(top)
    score = inner[joint, y, x]

    def refined(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        low, high = before[joint, y, x], after[joint, y, x]
        known = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(known, low, 0), np.where(known, high, 0)
        bend = 2 * score - low - high
        return np.where(known & (bend > 1e-6), 0.5 * (high - low) / np.maximum(bend, 1e-6), 0).clip(-0.5, 0.5)

    found = np.stack([x + refined(left, right), y + refined(above, below), score], axis=1)
    return np.split(found, np.searchsorted(joint, np.arange(1, count)))


def _pairs(fields: np.ndarray, first: np.ndarray, second: np.ndarray) -> list[tuple[int, int, float]]:
    """The limbs between two kinds of joints: each joint used once, the best aligned first."""
    if not len(first) or not len(second):
        return []
    vector = second[None, :, :2] - first[:, None, :2]
    length = np.linalg.norm(vector, axis=2)
    unit = vector / np.maximum(length, 1e-6)[..., None]
    at = first[:, None, None, :2] + vector[:, :, None] * _SAMPLES[:, None]
    x = np.rint(at[..., 0]).astype(int).clip(0, fields.shape[2] - 1)
    y = np.rint(at[..., 1]).astype(int).clip(0, fields.shape[1] - 1)
    along = fields[0, y, x] * unit[..., None, 0] + fields[1, y, x] * unit[..., None, 1]
    score = along.mean(axis=2) * np.sqrt(first[:, None, 2] * second[None, :, 2])
    enough = ((along > _LEAST_FIELD).mean(axis=2) >= 0.7) & (length > 0)
    result = []
    score = np.where(enough, score, -1.0)
    while score.max() > 0:
        i, j = np.unravel_index(int(score.argmax()), score.shape)
        result.append((int(i), int(j), float(score[i, j])))
        score[i, :] = -1
        score[:, j] = -1
    return result


def decode(maps: np.ndarray) -> list[np.ndarray]:
    """People in `maps`, (57, 46, 46) or (1, 57, 46, 46) float32: arrays (18, 3) of x, y in the network's input
    pixels (centres) and the score; NaN and 0 where a joint was not found."""
    maps = np.asarray(maps, np.float32).reshape(57, GRID, GRID)
    found = peaks(maps[:18])
    fields = np.nan_to_num(maps[19:], nan=0.0, posinf=0.0, neginf=0.0).reshape(19, 2, GRID, GRID)
    people: list[dict[int, int]] = []
    scores: list[float] = []
    for limb, (a, b) in enumerate(LIMBS):
        for i, j, score in _pairs(fields[limb], found[a], found[b]):
            holders = [k for k, person in enumerate(people) if person.get(a) == i or person.get(b) == j]
            if not holders:
                people.append({a: i, b: j})
                scores.append(score)
            elif len(holders) == 1:
                person = people[holders[0]]
                if person.setdefault(a, i) == i and person.setdefault(b, j) == j:
                    scores[holders[0]] += score
            elif not people[holders[0]].keys() & people[holders[1]].keys():
                people[holders[0]].update(people[holders[1]])
                scores[holders[0]] += scores[holders[1]] + score
                del people[holders[1]], scores[holders[1]]
    result = []
    for person, score in zip(people, scores):
        if score < _LEAST_TOTAL:
            continue
        joints = np.full((18, 3), np.nan, np.float32)
        joints[:, 2] = 0
        for joint, index in person.items():
            x, y, heat = found[joint][index]
            joints[joint] = CELL * x + (CELL - 1) / 2, CELL * y + (CELL - 1) / 2, heat
        result.append(joints)
    return result


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
