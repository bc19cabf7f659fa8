"""Outputs of detectors, and a second decoder of them: plain loops in float64 that share no code with the library."""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

import npu_layout as nl
from tests.support import oracle

LAYOUTS = ("NCHW", "NHWC", "NCHW16c", "NCHW32c", "CNHW4c", "NHWC8c", "NHCW8w4c", "NHWC8h4w", "NHCW", "CHWN", "NCHW8w")
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "float16", "float32", "bfloat16")

#: Of tests whose scores are any numbers: a score above 1 is no fault of theirs.
NO_PROBABILITIES = pytest.mark.filterwarnings("ignore:head .*, and a probability is at most 1:UserWarning")


class Output(NamedTuple):
    """An output: its spec, its buffer with noise in the padding, and the values of its elements, float32."""

    spec: nl.TensorSpec
    buffer: np.ndarray
    values: np.ndarray


def output(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    real: np.ndarray,
    layout: Any = "NCHW",
    dtype: str = "int8",
    scale: float = 0.1,
    zero_point: int = 0,
    pitch: int = 0,
    **more: Any,
) -> Output:
    """Store `real` numbers of a logical shape, rounded to the dtype; each element is put in its place one by one."""
    floating = dtype in ("float16", "float32", "bfloat16")
    quantization = None if floating else nl.Quantization(scale, zero_point)
    given = nl.Layout(layout) if isinstance(layout, str) else layout  # whatever the shape looks like
    spec = nl.TensorSpec(shape, given, dtype, quantization=quantization, **more)
    if pitch:  # elements of a gap behind each row of the storage
        steps, total = [1], 1
        for extent in reversed(spec.storage_shape[1:]):
            total = total * extent + pitch
            steps.insert(0, total)
        spec = spec.replace(storage_strides=steps)
    noise = rng.integers(0, 256, spec.nbytes, np.uint8).view(spec.stored).copy()
    if floating:
        codes = real.astype(np.float32)
        if dtype == "float16":
            codes = codes.astype(np.float16)
        values = codes.astype(np.float32)
        if dtype == "bfloat16":
            codes = (codes.view(np.uint32) >> 16).astype(np.uint16)
            values = (codes.astype(np.uint32) << 16).view(np.float32)
    else:
        info = np.iinfo(dtype)
        codes = np.clip(np.rint(real / scale) + zero_point, info.min, info.max).astype(dtype)
        values = (codes.astype(np.float32) - np.float32(zero_point)) * np.float32(scale)
    index = {letter: at for letter, at in zip(spec.axes, np.indices(shape))}
    place = oracle.place(str(spec.layout), spec.storage_shape, index, spec.storage_strides)
    noise[np.broadcast_to(place, shape)] = codes
    return Output(spec, noise, values)


class Found(NamedTuple):
    score: float
    class_id: int
    level: int
    cell: int
    anchor: int
    box: tuple[float, ...]


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def _single(x: float) -> float:
    return float(np.float32(x))


def _dfl(bins: list[float]) -> float:
    top = max(bins)
    weights = [math.exp(b - top) for b in bins]
    return sum(i * w for i, w in enumerate(weights)) / sum(weights)


def _scores(values: Any, activation: str, labels: str) -> list[tuple[int, float]]:
    """Pairs of class and score of a cell."""
    act = _sigmoid if activation == "sigmoid" else float
    if labels == "all":
        return [(i, act(float(v))) for i, v in enumerate(values)]
    best = max(range(len(values)), key=lambda i: float(values[i]))
    return [(best, act(float(values[best])))]


def yolov8(
    box: list[np.ndarray], score: list[np.ndarray], strides: Any, confidence: float, activation: str, labels: str
) -> list[Found]:
    """Candidates of maps (channels, rows, columns), in order."""
    found = []
    for level, (boxes, scores, stride) in enumerate(zip(box, score, strides)):
        _, height, width = scores.shape
        bins = len(boxes) // 4
        for y in range(height):
            for x in range(width):
                for label, s in _scores(scores[:, y, x], activation, labels):
                    if not s >= confidence:
                        continue
                    sides = [_dfl([float(boxes[k * bins + i, y, x]) for i in range(bins)]) for k in range(4)]
                    cx, cy = x + 0.5, y + 0.5
                    edges = (cx - sides[0], cy - sides[1], cx + sides[2], cy + sides[3])
                    found.append(Found(_single(s), label, level, y * width + x, 0, tuple(e * stride for e in edges)))
    return sorted(found, key=lambda f: -f.score)


def yolov5(
    maps: list[np.ndarray], anchors: Any, strides: Any, confidence: float, activation: str, labels: str
) -> list[Found]:
    """Candidates of maps (anchors, 5 + classes, rows, columns), in order."""
    act = _sigmoid if activation == "sigmoid" else float
    found = []
    for level, (each, sizes, stride) in enumerate(zip(maps, anchors, strides)):
        _, _, height, width = each.shape
        for y in range(height):
            for x in range(width):
                for a, (w, h) in enumerate(sizes):
                    v = [float(n) for n in each[a, :, y, x]]
                    for label, s in _scores(v[5:], activation, labels):
                        product = act(v[4]) * s
                        if not product >= confidence:
                            continue
                        cx, cy = (2 * act(v[0]) - 0.5 + x) * stride, (2 * act(v[1]) - 0.5 + y) * stride
                        bw, bh = (2 * act(v[2])) ** 2 * w, (2 * act(v[3])) ** 2 * h
                        edges = (cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2)
                        found.append(Found(_single(product), label, level, y * width + x, a, edges))
    return sorted(found, key=lambda f: -f.score)


@np.errstate(invalid="ignore", divide="ignore")
def kept(found: list[Found], iou: float, limit: int, per_class: bool = True, extra: float = 0) -> list[Found]:
    """Greedy suppression in float32, as torchvision writes it; `extra` pixels are added to each side."""
    f = np.float32
    stay: list[tuple[Found, list[Any], Any]] = []
    none, more = f(0), f(extra)
    for one in found:
        x0, y0, x1, y1 = (f(v) for v in one.box)
        area = (x1 - x0 + more) * (y1 - y0 + more)
        for other, (u0, v0, u1, v1), its in stay:
            if per_class and other.class_id != one.class_id:
                continue
            w = (u1 if u1 < x1 else x1) - (u0 if u0 > x0 else x0) + more  # as min and max, at half of their cost
            h = (v1 if v1 < y1 else y1) - (v0 if v0 > y0 else y0) + more
            shared = (w if w > none else none) * (h if h > none else none)
            if float(shared / (its + area - shared)) > iou:
                break
        else:
            stay.append((one, [x0, y0, x1, y1], area))
            if len(stay) == limit:
                break
    return [one for one, _, _ in stay]


def same(found: nl.decode.Detections, wanted: list[Found]) -> None:
    """Assert that they are the same, in order; boxes within the last bit of float32."""
    assert len(found) == len(wanted)
    assert found.confidence.dtype == found.xyxy.dtype == np.float32 and found.class_id.dtype == np.int64
    assert found.xyxy.shape == (len(wanted), 4)
    assert found.confidence.tolist() == [f.score for f in wanted]
    for name in ("class_id", "level", "cell", "anchor"):
        assert getattr(found, name).tolist() == [getattr(f, name) for f in wanted], name
    if wanted:
        boxes = np.array([f.box for f in wanted]).astype(np.float32)
        np.testing.assert_array_max_ulp(found.xyxy, boxes, 1)
        assert (found.xyxy == boxes).mean() > 0.999 or found.xyxy.size < 1000


def logits(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
    """Logits of scores: background, and a share of the cells with an object."""
    background = rng.normal(-6, 1.5, shape)
    return np.where(rng.random(shape) < share, rng.normal(1, 2, shape), background)


def pick(rng: random.Random) -> tuple[str, str]:
    """A layout and a dtype."""
    return rng.choice(LAYOUTS), rng.choice(DTYPES)


Gaussian = tuple[np.ndarray, np.ndarray, float]


def gaussian(box: Any) -> Gaussian:
    """The mean, the covariance and its determinant of a turned box."""
    turn = np.array([[math.cos(box[4]), -math.sin(box[4])], [math.sin(box[4]), math.cos(box[4])]])
    covariance = turn @ np.diag([box[2] ** 2 / 12, box[3] ** 2 / 12]) @ turn.T
    return np.array([box[0], box[1]]), covariance, float(np.linalg.det(covariance))


def probiou(a: Gaussian, b: Gaussian) -> float:
    """1 less the Hellinger distance of the normal distributions of two turned boxes, by matrices."""
    away, mean = a[0] - b[0], (a[1] + b[1]) / 2
    distance = float(away @ np.linalg.inv(mean) @ away) / 8
    distance += 0.5 * math.log(np.linalg.det(mean) / math.sqrt(a[2] * b[2]))
    return 1 - math.sqrt(max(0.0, 1 - math.exp(-distance)))


def kept_turned(boxes: Any, classes: Any, iou: float) -> list[int]:
    """Rows of turned boxes, the best first, that greedy suppression by ProbIoU keeps."""
    stay: list[int] = []
    shapes = [gaussian(box) for box in boxes]
    for i, shape in enumerate(shapes):
        others = [j for j in stay if classes is None or classes[j] == classes[i]]
        if all(probiou(shapes[j], shape) < iou for j in others):
            stay.append(i)
    return stay
