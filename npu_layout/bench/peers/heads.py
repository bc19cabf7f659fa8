"""Decode YOLOv8 with a scale for each channel, turned boxes and CenterNet, with numpy: as scripts do, and the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..answer_cases import IOU, LIMIT, DetectCase, rows
from ..detector_outputs import STRIDE, STRIDES
from ..instance_cases import INPUT
from .answers import Suppress, suppressed_by_cv2, suppressed_by_numpy
from .registry import Call, peer
from .stored import STORED, passing, passing_cells, real, size_of, stored_steps

_SCRIPT = "as scripts do: everything dequantised and decoded"
_BEST = "threshold on stored integers, candidates only"


def _every(case: DetectCase, n: int) -> np.ndarray:
    """Return an output as stored integers, (cells, channels)."""
    return stored_steps(case.specs[n], case.buffers[n])


def _some(case: DetectCase, n: int, cells: np.ndarray) -> np.ndarray:
    """Return what some cells of an output mean, float64 (n, channels)."""
    spec = case.specs[n]
    channels = np.arange(spec.shape[1])
    return real(spec, STORED[spec.layout.tag].some(case.buffers[n], size_of(spec), cells, channels))


def _sides(bins: np.ndarray) -> np.ndarray:
    """Return four sides of boxes, from the bins of their cells."""
    each = bins.reshape(-1, 4, 16)
    powers = np.exp(each - each.max(2, keepdims=True))
    sides: np.ndarray = (powers @ np.arange(16.0)) / powers.sum(2)
    return sides


def _least(spec: Any, confidence: float) -> np.ndarray:
    """Return the least code of each channel, or of all, that means `confidence` or more: int16; 128 if none does."""
    codes = np.arange(-128, 128).astype(np.int8)
    count = np.size(spec.quantization.scale)
    means = real(spec, np.repeat(codes[:, None], count, 1))
    found: np.ndarray = np.where(means[-1] >= confidence, (means >= confidence).argmax(0) - 128, 128).astype(np.int16)
    return found[0] if count == 1 else found


def _passing(case: DetectCase, n: int, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return cells whose best score passes, and what their scores mean; whole: dequantise all first."""
    if whole:
        scores = real(case.specs[n], _every(case, n))
        cells = np.flatnonzero(scores.max(1) >= case.scene.confidence)
        return cells, scores[cells]
    spec = case.specs[n]
    cells = passing_cells(spec, case.buffers[n], _least(spec, case.scene.confidence))
    return cells, _some(case, n, cells)


def _columns(case: DetectCase, whole: bool, parts: int) -> list[np.ndarray]:
    """Return column, row, stride, sides (4), angle or 0, score and class of candidates, each (n,) or (n, 4)."""
    found = []
    for k, pixels in enumerate(STRIDES):
        first, side = parts * k, INPUT // pixels
        cells, scores = _passing(case, first + 1, whole)
        bins = real(case.specs[first], _every(case, first)) if whole else _some(case, first, cells)
        each = _sides(bins)[cells] if whole else _sides(bins)
        turn = _some(case, first + 2, cells)[:, 0] if parts == 3 else np.zeros(len(cells))
        best, place = scores.max(1), (cells % side, cells // side, np.full(len(cells), pixels))
        keep = best >= case.scene.confidence
        found.append([column[keep] for column in (*place, each, turn, best, scores.argmax(1))])
    x, y, stride, sides, angle, score, label = (np.concatenate(part) for part in zip(*found))
    order = np.argsort(-score.astype(np.float32), kind="stable")
    return [part[order] for part in (x + 0.5, y + 0.5, stride, sides, angle, score, label)]


def _channels(case: DetectCase, whole: bool, suppress: Suppress = suppressed_by_numpy) -> Call:
    out = case.out()

    def run() -> np.ndarray:
        x, y, stride, sides, _, score, label = _columns(case, whole, 2)
        edges = np.stack([x - sides[:, 0], y - sides[:, 1], x + sides[:, 2], y + sides[:, 3]], 1) * stride[:, None]
        edges = edges.astype(np.float32)
        kept = np.sort(suppress(edges, score.astype(np.float32), label))[:LIMIT]
        return rows(out, edges[kept], score[kept], label[kept])

    return run


def _probious(boxes: np.ndarray) -> np.ndarray:
    """Return 1 less the Hellinger distance of every two turned boxes, (n, n)."""
    w, h, cosine, sine = boxes[:, 2] ** 2 / 12, boxes[:, 3] ** 2 / 12, np.cos(boxes[:, 4]), np.sin(boxes[:, 4])
    one = np.stack([w * cosine**2 + h * sine**2, w * sine**2 + h * cosine**2, (w - h) * cosine * sine])
    a, b, c = one[:, :, None] + one[:, None]
    x, y = (boxes[:, None, :2] - boxes[None, :, :2]).transpose(2, 0, 1)
    area, own = a * b - c * c, one[0] * one[1] - one[2] ** 2
    exponent = ((a * y * y + b * x * x) / 4 - c * x * y / 2) / area
    near = np.exp(-exponent) * np.sqrt(4 * np.sqrt(own[:, None] * own) / area)
    return np.asarray(1 - np.sqrt((1 - near).clip(0, 1)))


def _turned(case: DetectCase, whole: bool) -> Call:
    out = case.out()

    def run() -> np.ndarray:
        x, y, stride, sides, value, score, label = _columns(case, whole, 3)
        angle = (value - 0.25) * np.pi
        cosine, sine = np.cos(angle), np.sin(angle)
        across, down = (sides[:, 2:] - sides[:, :2]).T / 2
        middle = np.stack([x + across * cosine - down * sine, y + across * sine + down * cosine], 1)
        boxes = np.concatenate([middle, sides[:, :2] + sides[:, 2:]], 1) * stride[:, None]
        boxes = np.column_stack([boxes, angle])
        near = (_probious(boxes) >= IOU) & (label[:, None] == label)
        gone, kept = np.zeros(len(boxes), bool), []
        for i in range(len(boxes)):
            if not gone[i]:
                kept.append(i)
                gone |= near[i]
        kept = kept[:LIMIT]
        return rows(out, boxes[kept, :4], score[kept], label[kept], boxes[kept, 4:])

    return run


def _maxima(heat: np.ndarray) -> np.ndarray:
    """Return the largest of each cell and its eight neighbours, of (rows, columns, channels)."""
    wide = np.pad(heat, ((1, 1), (1, 1), (0, 0)), constant_values=-1)
    high, across = heat.shape[:2]
    return np.maximum.reduce([wide[y : y + high, x : x + across] for y in range(3) for x in range(3)])


def _centers(case: DetectCase, whole: bool) -> Call:
    out, side = case.out(), INPUT // STRIDE

    def peaks() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if whole:
            heat = real(case.specs[0], _every(case, 0)).reshape(side, side, -1)
            y, x, label = np.nonzero((heat == _maxima(heat)) & (heat >= case.scene.confidence))
            return y * side + x, label, heat[y, x, label]
        spec, heat = case.specs[0], case.buffers[0]
        cell, label = passing(spec, heat, _least(spec, case.scene.confidence))
        order = np.lexsort((label, cell))
        cell, label = cell[order], label[order]
        at, (y, x) = STORED[spec.layout.tag].place, np.divmod(cell, side)
        own, good = heat[at(cell, label, spec.shape[1], size_of(spec))], np.ones(len(cell), bool)
        for dy, dx in ((dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)):
            beside = (y + dy).clip(0, side - 1) * side + (x + dx).clip(0, side - 1)
            good &= heat[at(beside, label, spec.shape[1], size_of(spec))] <= own
        return cell[good], label[good], real(spec, own[good])

    def run() -> np.ndarray:
        cell, label, score = peaks()
        order = np.argsort(-score, kind="stable")[:LIMIT]
        cell, label, score = cell[order], label[order], score[order]
        size, offset = (_some(case, n, cell) for n in (1, 2))
        middle = (np.stack([cell % side, cell // side], 1) + offset) * STRIDE
        half = size * STRIDE / 2
        return rows(out, np.concatenate([middle - half, middle + half], 1), score, label)

    return run


@peer("channels", "numpy", f"{_BEST}, suppression in numpy")
def numpy_channels(case: DetectCase) -> Call:
    """Compare stored scores with the least code of each channel: the best that numpy can do."""
    return _channels(case, False)


@peer("channels", "cv2", "the same, NMSBoxesBatched")
def cv2_channels(case: DetectCase) -> Call:
    """Suppress with OpenCV."""
    return _channels(case, False, suppressed_by_cv2)


@peer("channels", "numpy", _SCRIPT)
def numpy_script_channels(case: DetectCase) -> Call:
    """Dequantise all outputs and decode all boxes."""
    return _channels(case, True)


@peer("turned", "numpy", f"{_BEST}, ProbIoU of all pairs")
def numpy_turned(case: DetectCase) -> Call:
    """Compare stored scores, and dequantise what passes."""
    return _turned(case, False)


@peer("turned", "numpy", _SCRIPT)
def numpy_script_turned(case: DetectCase) -> Call:
    """Dequantise all outputs and decode all sides."""
    return _turned(case, True)


@peer("centers", "numpy", f"{_BEST} and their neighbours")
def numpy_centers(case: DetectCase) -> Call:
    """Compare stored heat, and look at the neighbours of what passes."""
    return _centers(case, False)


@peer("centers", "numpy", _SCRIPT)
def numpy_script_centers(case: DetectCase) -> Call:
    """Dequantise the heat, and compare it with the largest of nine cells."""
    return _centers(case, True)
