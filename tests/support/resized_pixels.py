"""What OpenCV's resize makes of pixels, written again in numpy from its rules: nothing of the library is used."""

from __future__ import annotations

import platform
from typing import Any

import cv2
import numpy as np

_ON_X86 = platform.machine() in ("x86_64", "AMD64")


def as_on_x86(pixels: np.ndarray, result_wh: tuple[int, int], flag: int = cv2.INTER_LINEAR) -> np.ndarray:
    """Return what cv2.resize of OpenCV's wheels for x86 returns for uint8; those for Arm round linear otherwise."""
    if _ON_X86 or flag != cv2.INTER_LINEAR:
        return np.asarray(cv2.resize(pixels, result_wh, interpolation=flag))
    made = linear(pixels.reshape(*pixels.shape[:2], -1), result_wh)
    return made[..., 0] if made.shape[2] == 1 else made


def linear(pixels: np.ndarray, result_wh: tuple[int, int]) -> np.ndarray:
    """Return uint8 (rows, columns, channels) by INTER_LINEAR's reference arithmetic in fixed point."""
    rows, columns = pixels.shape[:2]
    width, height = result_wh
    if (columns, rows) == (width, height):
        return pixels.copy()
    if (columns, rows) == (2 * width, 2 * height):
        four = pixels.astype(np.uint16).reshape(height, 2, width, 2, -1)
        return ((four.sum((1, 3)) + 2) // 4).astype(np.uint8)
    x, right = _places(columns, width)
    edge = (x < 0) | (x >= columns - 1)
    x, right = np.clip(x, 0, columns - 1), np.where(edge, np.float32(0), right)
    y, below = _places(rows, height)
    wide = pixels.astype(np.int64)
    lines = wide[:, x] * _weights(1 - right) + wide[:, np.minimum(x + 1, columns - 1)] * _weights(right)
    lines //= 16
    upper, lower = (np.clip(y + i, 0, rows - 1) for i in (0, 1))
    above, below = (_weights(w).reshape(-1, 1, 1) for w in (1 - below, below))
    return ((lines[upper] * above // 65536 + lines[lower] * below // 65536 + 2) // 4).astype(np.uint8)


def _places(size: int, results: int) -> tuple[np.ndarray, Any]:
    """Return the whole number and the float32 rest of each place between two source elements."""
    step = 1.0 / (float(results) / float(size))
    place = np.array([(i + 0.5) * step - 0.5 for i in range(results)], np.float32)
    whole = np.floor(place)
    return whole.astype(np.int64), place - whole


def _weights(share: np.ndarray) -> np.ndarray:
    return np.rint(np.float32(2048) * share.astype(np.float32)).astype(np.int64)[:, None]


def nearest_floor(pixels: np.ndarray, result_wh: tuple[int, int]) -> np.ndarray:
    """Return uint8 by INTER_NEAREST: the pixel whose number is the product with the scale, without its fraction."""
    places = []
    for size, results in zip(pixels.shape, result_wh[::-1]):
        step = 1.0 / (float(results) / float(size))
        places.append([min(int(i * step), size - 1) for i in range(results)])
    return pixels[places[0]][:, places[1]]


def nearest(pixels: np.ndarray, result_wh: tuple[int, int]) -> np.ndarray:
    """Return uint8 by INTER_NEAREST_EXACT of OpenCV 5: the pixel in the middle, places added up in double precision."""
    places = []
    for size, results in zip(pixels.shape, result_wh[::-1]):
        step, at, found = size / results, size / results / 2, []
        for _ in range(results):
            found.append(min(int(at), size - 1))
            at += step
        places.append(found)
    return pixels[places[0]][:, places[1]]


def area(pixels: np.ndarray, result_wh: tuple[int, int]) -> np.ndarray:
    """Return uint8 by INTER_AREA for whole boxes of pixels: the rounded mean, half to even, of 2 by 2 half up."""
    (rows, columns), (width, height) = pixels.shape[:2], result_wh
    boxes = pixels.astype(np.int64).reshape(height, rows // height, width, columns // width, -1).sum((1, 3))
    count = (rows // height) * (columns // width)
    if (columns, rows) == (2 * width, 2 * height):
        return ((boxes + 2) // 4).astype(np.uint8)
    return np.rint(boxes.astype(np.float32) * (np.float32(1) / np.float32(count))).astype(np.uint8)


METHODS = {"area": area, "linear": linear, "nearest": nearest, "nearest_floor": nearest_floor}
