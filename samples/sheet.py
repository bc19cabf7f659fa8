"""A contact sheet for webcam.py: a frame, its result, and heatmaps where they lie on the frame."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
import pose

import npu_layout as nl

HEATMAPS = ("nose", "right_wrist", "left_ankle")


class Best(NamedTuple):
    """The frame that the sheet shows: the first with the most joints found."""

    joints: int
    frame: np.ndarray
    maps: np.ndarray
    geometry: nl.Geometry
    drawn: np.ndarray


def caption(image: np.ndarray, text: str, width: int) -> np.ndarray:
    height = round(image.shape[0] * width / image.shape[1])
    image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    bar = np.full((30, width, 3), 32, np.uint8)
    cv2.putText(bar, text, (8, 21), cv2.FONT_HERSHEY_SIMPLEX, 0.55, (235, 235, 235), 1, cv2.LINE_AA)
    return np.vstack([bar, image])


def contact_sheet(best: Best, spec: nl.TensorSpec) -> np.ndarray:
    """Frame and result over three heatmaps, which are laid on the frame where the geometry says they belong."""
    gap = 8
    height, width = best.frame.shape[:2]
    panels = []
    for name in HEATMAPS:
        heat = best.maps[0, pose.JOINTS.index(name)]
        mask = best.geometry.mask_to_frame(heat, interpolation="linear")
        colour = cv2.applyColorMap((np.clip(mask, 0, 1) * 255).astype(np.uint8), cv2.COLORMAP_INFERNO)
        panels.append(cv2.addWeighted(best.frame, 0.35, colour, 0.9, 0))
    third = (1280 - 4 * gap) // 3
    half = (1280 - 3 * gap) // 2
    stored = f"{spec.dtype} {spec.layout}, {spec.nbytes} bytes"
    rows = [
        [caption(best.frame, f"frame {width}x{height}", half), caption(best.drawn, f"result, from {stored}", half)],
        [caption(panel, f"heatmap: {name.replace('_', ' ')}", third) for name, panel in zip(HEATMAPS, panels)],
    ]
    lines = []
    for row in rows:
        column = np.full((row[0].shape[0], gap, 3), 255, np.uint8)
        line = np.hstack([part for image in row for part in (column, image)] + [column])
        lines.append(np.pad(line, ((gap, 0), (0, 1280 - line.shape[1]), (0, 0)), constant_values=255))
    return np.pad(np.vstack(lines), ((0, gap), (0, 0), (0, 0)), constant_values=255)
