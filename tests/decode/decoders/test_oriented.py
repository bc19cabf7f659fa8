"""Turned boxes: against loops from the formulas, Gaussians integrated by numbers, and OpenCV's corners."""

from __future__ import annotations

import math
import random

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.results.turned import suppressed

STRIDES = (8, 16, 32)


def probiou(a: list[float], b: list[float]) -> float:
    """1 - sqrt(1 - integral of sqrt(p q)) of the boxes' normal distributions, added up on a grid."""
    span = 6 * max(*a[2:4], *b[2:4])
    x = np.linspace(min(a[0], b[0]) - span / 2, max(a[0], b[0]) + span / 2, 700)
    y = np.linspace(min(a[1], b[1]) - span / 2, max(a[1], b[1]) + span / 2, 700)
    grid = np.stack(np.meshgrid(x, y), -1)
    root = 1.0
    for cx, cy, w, h, angle in (a, b):
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        covariance = turn @ np.diag([w * w / 12, h * h / 12]) @ turn.T
        away = grid - [cx, cy]
        power = np.einsum("...i,ij,...j", away, np.linalg.inv(covariance), away)
        root = root * np.exp(-power / 4) / (2 * math.pi * math.sqrt(np.linalg.det(covariance))) ** 0.5
    shared = float(root.sum()) * (x[1] - x[0]) * (y[1] - y[0])
    return 1 - math.sqrt(max(0.0, 1 - shared))


def test_suppression_is_by_the_gaussians() -> None:
    choose = random.Random(1)
    for _ in range(15):
        a = [
            choose.uniform(-5, 5),
            choose.uniform(-5, 5),
            choose.uniform(4, 20),
            choose.uniform(4, 20),
            choose.uniform(-2, 2),
        ]
        b = [v + choose.uniform(-2, 2) for v in a[:2]] + [v * choose.uniform(0.7, 1.4) for v in a[2:4]] + [a[4] + 0.2]
        wanted = probiou(a, b)
        assert decode.oriented_nms([a, b], [0.9, 0.8], iou=wanted - 1e-3).tolist() == [0]
        assert decode.oriented_nms([a, b], [0.9, 0.8], iou=wanted + 1e-3).tolist() == [0, 1]
        assert decode.oriented_nms([a, b], [0.9, 0.8], iou=0.0, class_id=[1, 2]).tolist() == [0, 1]


def test_suppression_is_greedy() -> None:
    """The second goes by the first; the third overlaps the second alone, and stays."""
    boxes = [[0, 0, 20, 10, 0.0], [7, 0, 20, 10, 0.0], [14, 0, 20, 10, 0.0]]
    near, far = probiou(boxes[0], boxes[1]), probiou(boxes[0], boxes[2])
    assert far < near
    middle = (near + far) / 2
    assert decode.oriented_nms(boxes, [3, 2, 1], iou=middle).tolist() == [0, 2]
    assert decode.oriented_nms(boxes, [1, 2, 1], iou=middle).tolist() == [1]
    assert decode.oriented_nms(boxes, [1, 1, 1], iou=1.0, limit=2).tolist() == [0, 1]
    assert decode.oriented_nms([], [], iou=0.5).tolist() == []
    for wrong in (45, -0.1):
        with pytest.raises(nl.NpuLayoutError, match="iou: expected"):
            decode.oriented_nms(boxes, [3, 2, 1], iou=wrong)


@pytest.mark.parametrize("size", [(0, 0), (0, 4), (1e-200, 1e-200), (1e-90, 3)])
@pytest.mark.parametrize("backend", nl.kernels.backends())
def test_of_equal_boxes_without_area_one_stays(size: tuple[float, float], backend: str) -> None:
    boxes = np.array([[5, 5, *size, 0.3], [5, 5, *size, 0.3], [6, 5, *size, 0.3]])
    assert suppressed(boxes, None, 0.5, True, 3, backend=backend).tolist() == [0, 2]
    assert suppressed(boxes, np.array([0, 1, 0]), 0.5, True, 3, backend=backend).tolist() == [0, 1, 2]
    if backend == nl.kernels.active():
        assert decode.oriented_nms(boxes, [3, 2, 1], iou=0.5).tolist() == [0, 2]


def network(
    rng: np.random.Generator, dtype: str, layout: str, listed: bool
) -> tuple[list[nl.TensorSpec], dict[str, np.ndarray]]:
    """Outputs of random boxes, scores and angles of a network of 64 x 96 pixels and 3 classes."""
    specs, reals = [], {}
    cells = [(64 // s, 96 // s) for s in STRIDES]
    for (h, w), s in zip(cells, STRIDES):
        for what, count in (("box", 64), ("score", 3)):
            real = rng.normal(0, 2, (1, count, h, w)) if what == "box" else rng.random((1, count, h, w)) ** 3
            reals[f"{what}{s}"] = real.astype(np.float32)
        if not listed:
            reals[f"angle{s}"] = rng.random((1, 1, h, w)).astype(np.float32)
    if listed:
        reals["angle"] = rng.random((1, 1, sum(h * w for h, w in cells))).astype(np.float32)
    for name, real in reals.items():
        q = None
        if dtype == "int8":
            scale = float(real.max() - min(0, real.min())) / 255
            q = nl.Quantization(scale, int(-128 - round(min(0.0, float(real.min())) / scale)))
        order = nl.Layout("NCW") if real.ndim == 3 else nl.Layout(layout, "NCHW")
        specs.append(nl.TensorSpec(real.shape, order, dtype, quantization=q, name=name))
    return specs, {spec.name: spec.pack(reals[spec.name]) for spec in specs}


def by_hand(values: dict[str, np.ndarray], listed: bool, activation: str, least: float) -> list[tuple[float, ...]]:
    """Every cell that passes: score, class, x, y, w, h, angle; the best first."""
    found, start = [], 0
    for level, s in enumerate(STRIDES):
        scores, sides = values[f"score{s}"][0], values[f"box{s}"][0]
        h, w = scores.shape[1:]
        for row in range(h):
            for column in range(w):
                best = max(range(3), key=lambda c: scores[c, row, column])
                if float(scores[best, row, column]) < least:
                    continue
                side = []
                for k in range(4):
                    bins = [float(v) for v in sides[16 * k : 16 * k + 16, row, column]]
                    e = [math.exp(v - max(bins)) for v in bins]
                    side.append(sum(i * v for i, v in enumerate(e)) / sum(e) * s)
                place = start + row * w + column
                v = float(values["angle"].ravel()[place]) if listed else float(values[f"angle{s}"][0, 0, row, column])
                angle = ((1 / (1 + math.exp(-v)) if activation == "sigmoid" else v) - 0.25) * math.pi
                fx, fy = (side[2] - side[0]) / 2, (side[3] - side[1]) / 2
                x = fx * math.cos(angle) - fy * math.sin(angle) + (column + 0.5) * s
                y = fx * math.sin(angle) + fy * math.cos(angle) + (row + 0.5) * s
                size = (side[0] + side[2], side[1] + side[3])
                found.append((float(scores[best, row, column]), best, x, y, *size, angle, level, row * w + column))
        start += h * w
    return sorted(found, key=lambda f: -f[0])


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize(("listed", "activation"), [(True, "none"), (False, "sigmoid")])
def test_decoding(dtype: str, layout: str, listed: bool, activation: str) -> None:
    rng = np.random.default_rng(4)
    specs, buffers = network(rng, dtype, layout, listed)
    names = ["angle"] if listed else [f"angle{s}" for s in STRIDES]
    head = decode.yolov8(classes=3)
    decoder = decode.OrientedDecoder(head, specs, (64, 96), angles=names, activation=activation)
    wanted = by_hand({s.name: s.unpack(buffers[s.name]) for s in specs}, listed, activation, 0.5)
    assert len(wanted) > 20
    everything = decoder(buffers, confidence=0.5, iou=1.0)
    assert len(everything) == len(wanted)
    for row, (score, label, *box, level, cell) in enumerate(wanted):
        assert (everything.class_id[row], everything.level[row], everything.cell[row]) == (label, level, cell)
        assert everything.confidence[row] == np.float32(score)
        np.testing.assert_allclose(everything.xywha[row], box, rtol=1e-5, atol=1e-4)
    some = decoder([buffers[s.name] for s in specs], confidence=0.5, iou=0.3)
    kept = decode.oriented_nms(
        [w[2:7] for w in wanted], [w[0] for w in wanted], iou=0.3, class_id=[w[1] for w in wanted]
    )
    assert some.cell.tolist() == [wanted[i][8] for i in kept] and 0 < len(some) < len(wanted)
    assert len(decoder(buffers, confidence=0.5, iou=1.0, limit=7)) == 7


def test_corners_are_opencvs() -> None:
    rng = np.random.default_rng(0)
    boxes = np.column_stack([rng.uniform(0, 50, (9, 2)), rng.uniform(1, 30, (9, 2)), rng.uniform(-3, 3, 9)]).astype(
        np.float32
    )
    empty = np.zeros(9, np.int64)
    found = decode.OrientedDetections(boxes, np.ones(9, np.float32), empty, empty, empty).corners
    for box, corners in zip(boxes.tolist(), found):
        wanted = cv2.boxPoints((box[:2], box[2:4], math.degrees(box[4])))
        pairs = np.abs(corners[:, None] - wanted[None]).max(-1)
        assert (pairs.min(1) < 1e-3).all() and (pairs.min(0) < 1e-3).all()


def test_bad_input() -> None:
    specs, buffers = network(np.random.default_rng(0), "float32", "NCHW", True)
    head = decode.yolov8(classes=3)
    decoder = decode.OrientedDecoder(head, specs, (64, 96), angles="angle")  # type: ignore[arg-type]
    short = [s if s.name != "angle" else nl.TensorSpec((1, 1, 5), "NCW", name="angle") for s in specs]
    for call, words in (
        (lambda: decode.OrientedDecoder(head, specs, (64, 96), angles=["turn"]), "angles: expected names of outputs"),
        (
            lambda: decode.OrientedDecoder(head, short, (64, 96), angles=["angle"]),
            "angles: expected one for each of 126 cells, got 5",
        ),
        (lambda: decode.OrientedDecoder(head, specs[1:], (64, 96), angles=["angle"]), "yolov8"),
        (
            lambda: decode.OrientedDecoder(decode.yolov5(3), specs, (64, 96), angles=["angle"]),
            "head: expected maps of 'dfl' or 'distances' without angles.*'maps' of 'center_power'",
        ),
        (lambda: decoder({}), "buffers: no output 'box8'"),
        (lambda: decoder([1]), "buffers: expected 7"),
        (lambda: decoder(buffers, limit=0), "limit: expected a whole number, 1"),
        (lambda: decoder(buffers, limit=True), "limit: expected a whole number, 1 .. 30000, got True"),
        (lambda: decoder({**buffers, "angle": np.zeros(3, np.float32)}), "buffers: .*12 bytes"),
        (lambda: decode.oriented_nms([[0, 0, 1, 1]], [1], iou=0.5), r"boxes: expected numbers \(1, 5\)"),
        (lambda: decode.oriented_nms([[0, 0, 1, 1, math.nan]], [1], iou=0.5), "boxes: expected numbers"),
        (lambda: decode.oriented_nms([[0, 0, 1, 1, 0]], [1], iou=0.5, class_id=[0.5]), "class_id: expected 1 whole"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            call()
