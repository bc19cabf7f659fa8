"""Networks whose boxes are of anchors, priors and queries, and faces: exported, quantised, run, and decoded.

As in test_exports.py; each network and the formula of its answers, by its public definition, stand together here.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from npu_layout import decode
from tests.decode.test_exports import (
    EXPORTS,
    Values,
    around,
    beside,
    check_answers,
    check_stored_bytes,
    folder,
    listed,
    means,
    of_labels,
    places,
    sigmoid,
    softmax,
    v5,
)
from tests.support import exports
from tests.support.exports import ANCHORS, CLASSES, FEATURES, LISTED, POINTS, SIDE, SSD_CLASSES, STRIDES, Export, Net

__all__ = ["folder"]  # a fixture
LEVELS = (8, 16, 32, 64)
OCTAVES = [2 ** (i / 3) for i in range(3)]
SCALES, QUERIES, WEIGHTS = (24, 48, 96, 192), 30, 8  # of YOLACT's first levels
Formula = Callable[[Values], Any]


def grids(strides: Sequence[int], each: int) -> list[int]:
    return [each * (SIDE // s) ** 2 for s in strides]


def shaped(v: Values, name: str, anchors: int, strides: Sequence[int] = LEVELS) -> np.ndarray:
    """Rows of all anchors, of maps of each level or of one list."""
    return v[name][0].astype(np.float64) if name in v else listed(v, name, anchors, strides)


def offset(t: np.ndarray, middle: np.ndarray, size: np.ndarray, variances: tuple[float, float] = (1.0, 1.0)) -> Any:
    """Boxes that are offsets from priors: SSD's, RetinaNet's and YOLACT's own formula."""
    return around(middle + t[:, :2] * variances[0] * size, size * np.exp(t[:, 2:] * variances[1]))


# RetinaNet: open-mmlab/mmdetection's maps, torchvision's lists; EfficientDet: google/automl.


def retina_parts(net: Net, each: int, lists: bool) -> None:
    for name, n, gain, bias in (("box", 4, 0.5, 0.0), ("cls", CLASSES, 4.0, -1.0)):
        maps = [net.head(s, each * n, gain, bias) for s in LEVELS]
        for s, one in zip(LEVELS, maps) if not lists else ():
            net.out(one, f"{name}_{s}")
        if lists:
            net.out(net.concat([net.rows(one, n, 1) for one in maps], 1), name)


def retinanet(v: Values) -> Any:
    cell, stride = places(LEVELS, 9)
    ratios = np.repeat(np.sqrt([0.5, 1.0, 2.0]), 3)
    each = np.stack([np.tile(OCTAVES, 3) / ratios, np.tile(OCTAVES, 3) * ratios], 1)
    size = 4 * stride * np.tile(each, (len(cell) // 9, 1))
    return sigmoid(shaped(v, "cls", 9)), offset(shaped(v, "box", 9), cell * stride, size)


def of_torchvision(s: int) -> list[tuple[float, float]]:
    """AnchorGenerator: all sizes of a ratio's, corners that are rounded to whole pixels, half to even."""
    sides = [4 * s * octave for octave in OCTAVES]
    pairs = [(round(a / math.sqrt(r) / 2) * 2.0, round(a * math.sqrt(r) / 2) * 2.0) for r in (0.5, 1, 2) for a in sides]
    return pairs


def torchvision(v: Values) -> Any:
    cell, stride = places(LEVELS, 9)
    sizes = [np.tile(of_torchvision(s), (n // 9, 1)) for s, n in zip(LEVELS, grids(LEVELS, 9))]
    return sigmoid(shaped(v, "cls", 9)), offset(shaped(v, "box", 9), cell * stride, np.concatenate(sizes))


def efficientdet(v: Values) -> Any:
    cell, stride = places(LEVELS, 9)
    shapes = [(o * x, o * y) for o in OCTAVES for x, y in ((1.0, 1.0), (1.4, 0.7), (0.7, 1.4))]
    size = 4 * stride * np.tile(shapes, (len(cell) // 9, 1))
    return sigmoid(shaped(v, "cls", 9)), offset(shaped(v, "box", 9)[:, [1, 0, 3, 2]], (cell + 0.5) * stride, size)


# YOLACT: dbolya/yolact, yolact.py.


def yolact_parts(net: Net) -> None:
    for name, n in (("loc", 4), ("conf", 1 + SSD_CLASSES), ("mask", WEIGHTS)):
        maps = [net.head(s, 3 * n, 2.0 if n == 4 else 3.0) for s in LEVELS]
        whole = net.concat([net.rows(one, n, 1) for one in maps], 1)
        whole = net.op("Softmax", whole, axis=2) if name == "conf" else whole
        net.out(net.op("Tanh", whole) if name == "mask" else whole, name)
    net.out(net.transpose(net.conv(net.features[4], FEATURES, WEIGHTS, relu=True), 0, 2, 3, 1), "proto_nhwc")


def yolact(v: Values) -> Any:
    cell, stride = places(LEVELS, 3)
    scales = np.concatenate([np.full(n, a) for a, n in zip(SCALES, grids(LEVELS, 3))])
    size = (scales * np.tile(np.sqrt([1, 0.5, 2]), len(cell) // 3))[:, None]  # as high as wide
    return v["conf"][0][:, 1:].astype(np.float64), offset(v["loc"][0], (cell + 0.5) * stride, size, (0.1, 0.2))


# DETR: facebookresearch/detr, models/detr.py: queries that attend to the cells, and two small networks on each.


def dense(net: Net, x: str, given: int, n: int, gain: float) -> str:
    return net.op("MatMul", x, net.const(net.rng.normal(0, gain / np.sqrt(given), (given, n))))


def detr_parts(net: Net) -> None:
    cells = net.op("Transpose", net.reshape(net.features[8], FEATURES, -1), perm=[1, 0])
    middle = net.op("ReduceMean", cells, axes=[0], keepdims=1)
    asked = net.op("Add", net.const(net.rng.normal(0, 2, (QUERIES, FEATURES))), middle)
    keys, values = (dense(net, cells, FEATURES, FEATURES, 1.0) for _ in range(2))
    weights = net.op("Softmax", net.op("MatMul", asked, net.op("Transpose", keys, perm=[1, 0])), axis=1)
    hidden = net.reshape(net.op("Add", net.op("MatMul", weights, values), asked), 1, QUERIES, FEATURES)
    net.out(dense(net, hidden, FEATURES, CLASSES + 1, 1.5), "pred_logits")
    for _ in range(2):
        hidden = net.op("Relu", dense(net, hidden, FEATURES, FEATURES, 1.4))
    net.out(net.sigmoid(dense(net, hidden, FEATURES, 4, 1.0)), "pred_boxes")


def detr(v: Values) -> Any:
    x = v["pred_boxes"][0].astype(np.float64) * SIDE
    return softmax(v["pred_logits"][0].astype(np.float64), 1)[:, :-1], around(x[:, :2], x[:, 2:])


# Sides: DAMO-YOLO of Hailo, YOLO26-OBB; anchors: YOLOv7, YOLOv7-pose; shared classes: Yolo-FastestV2; FastestDet.


def damoyolo(v: Values) -> Any:
    return listed(v, "score")[:, :-1], beside(means(listed(v, "box"), 17), 0.0)


def turned(v: Values) -> Any:
    four, angle = listed(v, "box"), listed(v, "angle")
    cell, stride = places()
    half = (four[:, 2:] - four[:, :2]) / 2
    cosine, sine = np.cos(angle), np.sin(angle)
    x = half[:, :1] * cosine - half[:, 1:] * sine + cell[:, :1] + 0.5
    y = half[:, :1] * sine + half[:, 1:] * cosine + cell[:, 1:] + 0.5
    boxes = np.concatenate([x, y, four[:, :2] + four[:, 2:]], 1) * stride
    return listed(v, "score"), np.concatenate([boxes, angle], 1)


def pose_part(net: Net, s: int) -> str:
    """Two convolutions, whose channels each anchor has one after the other."""
    n = 6 + 3 * POINTS
    return net.head(s, 3 * n, 2.0, np.tile([0.0] * 4 + [0.5] * 2 + [0.0] * 3 * POINTS, 3))


def with_anchors(x: np.ndarray, strides: Sequence[int], anchors: Any) -> Any:
    """Boxes of YOLOv5 of numbers behind the sigmoid; with the sizes of anchors, cells and strides."""
    cell, stride = places(strides, 3)
    size = np.concatenate([np.tile(sizes, ((SIDE // s) ** 2, 1)) for s, sizes in zip(strides, anchors)]).astype(float)
    return around((2 * x[:, :2] - 0.5 + cell) * stride, (2 * x[:, 2:4]) ** 2 * size), size, cell, stride


def pose(v: Values) -> Any:
    raw = listed(v, "out", 3)
    x = sigmoid(raw[:, :6])
    boxes, _, cell, stride = with_anchors(x, STRIDES, ANCHORS)
    points = raw[:, 6:].reshape(-1, POINTS, 3)
    moved = (2 * points[..., :2] - 0.5 + cell[:, None]) * stride[:, None]
    return x[:, 4:5] * x[:, 5:], boxes, np.concatenate([moved, sigmoid(points[..., 2:])], 2)


def face_part(net: Net, s: int) -> str:
    """YOLOv5-face: the sigmoid of all but landmarks (deepcam-cn/yolov5-face, models/yolo.py)."""
    parts = []
    for _ in range(3):
        parts += [net.sigmoid(net.head(s, 5, 3.0, 0.3)), net.head(s, 10), net.sigmoid(net.head(s, 1, 3.0, 0.5))]
    return net.concat(parts, 1)


def yolov5_face(v: Values) -> Any:
    x = listed(v, "out", 3)
    boxes, size, cell, stride = with_anchors(x, STRIDES, ANCHORS)
    points = x[:, 5:15].reshape(-1, 5, 2) * size[:, None] + (cell * stride)[:, None]
    return x[:, 4:5] * x[:, 15:], boxes, points


def fastest_parts(net: Net) -> None:
    """dog-qiuqiu/Yolo-FastestV2, model/detector.py: channels last; boxes, objectness, and classes of the cell."""
    for s in STRIDES[1:]:
        shares = net.op("Softmax", net.scores(s), axis=1)
        parts = [net.sigmoid(net.head(s, 12)), net.sigmoid(net.head(s, 3, 3.0, 1.0)), shares]
        net.out(net.transpose(net.concat(parts, 1), 0, 2, 3, 1), f"out_{s}_nhwc")


def yolofastestv2(v: Values) -> Any:
    scores, numbers = [], []
    for s in STRIDES[1:]:
        for row in v[f"out_{s}_nhwc"][0].reshape(-1, 15 + CLASSES).astype(np.float64):
            scores += [row[12 + a] * row[15:] for a in range(3)]
            numbers += [row[4 * a : 4 * a + 4] for a in range(3)]
    return np.array(scores), with_anchors(np.array(numbers), STRIDES[1:], ANCHORS[1:])[0]


def fastestdet_part(net: Net) -> None:
    """dog-qiuqiu/FastestDet, module/detector.py: objectness, box, classes."""
    shares = net.op("Softmax", net.scores(16), axis=1)
    net.out(net.concat([net.sigmoid(net.scores(16, 1, 1.0)), net.head(16, 4), shares], 1), "out_16")


def fastestdet(v: Values) -> Any:
    x, (cell, stride) = listed(v, "out", 1, (16,)), places((16,))
    boxes = around((np.tanh(x[:, 1:3]) + cell) * stride, sigmoid(x[:, 3:5]) * SIDE)
    return x[:, :1] ** 0.6 * x[:, 5:] ** 0.4, boxes


# Faces: Ultra-Light, MediaPipe's, AI Hub's.

ULTRA = {8: (10, 16, 24), 16: (32, 48), 32: (64, 96), 64: (128, 192, 256)}
BLAZE = (8, 16, 16, 16)


def ultra_parts(net: Net, shares: bool) -> None:
    for s, sides in ULTRA.items():
        scores = net.head(s, 2 * len(sides), 3.0)
        net.out(net.head(s, 4 * len(sides)), f"box_{s}")
        if shares:  # of each prior
            split = net.reshape(scores, 1, len(sides), 2, SIDE // s, SIDE // s)
            scores = net.reshape(net.op("Softmax", split, axis=2), 1, -1, SIDE // s, SIDE // s)
        net.out(scores, f"score_{s}")


def ultraface(v: Values) -> Any:
    scores, boxes = [], []
    for s, sides in ULTRA.items():
        n = len(sides)
        cell, stride = places((s,), n)
        size = np.tile([[min(a, SIDE)] * 2 for a in sides], (len(cell) // n, 1)).astype(float)
        boxes.append(offset(listed(v, "box", n, (s,)), (cell + 0.5) * stride, size, (0.1, 0.2)))
        scores.append(softmax(listed(v, "score", n, (s,)), 1)[:, 1:])
    return np.concatenate(scores), np.concatenate(boxes)


def blaze_parts(net: Net) -> None:
    """A convolution for each of the two strides; six priors in a cell of the second."""
    for name, n, gain in (("regressors", 16, 4.0), ("classificators", 1, 3.0)):
        each = [net.rows(net.head(s, k * n, gain), n, 1) for s, k in ((8, 2), (16, 6))]
        net.out(net.concat(each, 1), name)


def blazeface(v: Values) -> Any:
    cells = [places((s,), k) for s, k in ((8, 2), (16, 6))]
    middle = np.concatenate([(cell + 0.5) * stride for cell, stride in cells])
    x = v["regressors"][0].astype(np.float64)
    return (
        sigmoid(v["classificators"][0]),
        around(x[:, :2] + middle, x[:, 2:4]),
        x[:, 4:].reshape(-1, 6, 2) + middle[:, None],
    )


def lite_parts(net: Net) -> None:
    for name, n, gain, bias in (("hm", 1, 4.0, -1.0), ("box", 4, 1.0, 1.0), ("landmark", 10, 1.0, 0.0)):
        net.out(net.head(8, n, gain, bias), f"{name}_8")


def face_det_lite(v: Values) -> Any:
    """Cells that a neighbour exceeds have no score; x of all landmarks, then y of all."""
    heat = v["hm_8"][0, 0].astype(np.float64)
    wide = np.pad(heat, 1, constant_values=-np.inf)
    side = len(heat)
    most = np.max([wide[y : y + side, x : x + side] for y, x in itertools.product(range(3), repeat=2)], 0)
    (cell, stride), points = places((8,)), listed(v, "landmark", 1, (8,))
    points = (np.stack([points[:, :5], points[:, 5:]], 2) + cell[:, None]) * stride[:, None]
    boxes = beside(listed(v, "box", 1, (8,)), 0.0, (8,))
    return np.where(heat == most, sigmoid(heat), 0).reshape(-1, 1), boxes, points


# Rows that the graph makes: MoveNet, AI Hub.


def movenet_rows(net: Net) -> None:
    rows = net.rows(net.head(8, FEATURES), FEATURES, 1)
    net.out(net.sigmoid(dense(net, net.part(rows, 0, 6), FEATURES, 56, 2.0)), "out")


def movenet(v: Values) -> Any:
    x = v["out"][0].astype(np.float64)
    points = x[:, : 3 * POINTS].reshape(-1, POINTS, 3)[..., [1, 0, 2]] * (SIDE, SIDE, 1)
    return x[:, 55:], x[:, [52, 51, 54, 53]] * SIDE, points


def labelled_parts(net: Net) -> None:
    edges = net.op("Mul", net.concat(exports.edges_of(net), 1), net.const(exports.points_of()[1]))
    scores = exports.all_scores(net)
    net.out(net.transpose(edges, 0, 2, 1), "boxes")
    net.out(net.op("ReduceMax", scores, axes=[1], keepdims=0), "scores")
    net.out(net.op("Cast", net.op("ArgMax", scores, axis=1, keepdims=0), to=1), "class_idx")


def labelled_rows(v: Values) -> Any:
    return of_labels(v["scores"][0].astype(np.float64), v["class_idx"][0], CLASSES), v["boxes"][0].astype(np.float64)


class Case(NamedTuple):
    """What is exported, and the formula of its answers."""

    export: Export
    formula: Formula


def case(
    head: decode.Head, build: Callable[[Net], None], formula: Formula, kinds: Any = (), least: float = 0.4
) -> Case:
    return Case(Export(head, build, kinds, least), formula)


ULTRAFACE = decode.ultraface((SIDE, SIDE), activation="softmax")
CASES = {
    "retinanet": case(decode.retinanet(CLASSES, LEVELS), lambda net: retina_parts(net, 9, False), retinanet),
    "retinanet, lists": case(decode.retinanet(CLASSES, LEVELS), lambda net: retina_parts(net, 9, True), retinanet),
    "retinanet of torchvision": case(
        decode.retinanet(CLASSES, LEVELS, anchors=[of_torchvision(s) for s in LEVELS]),
        lambda net: retina_parts(net, 9, True),
        torchvision,
    ),
    "efficientdet": case(
        decode.efficientdet(CLASSES, (SIDE, SIDE), LEVELS), lambda net: retina_parts(net, 9, False), efficientdet
    ),
    "efficientdet, lists": case(
        decode.efficientdet(CLASSES, (SIDE, SIDE), LEVELS), lambda net: retina_parts(net, 9, True), efficientdet
    ),
    "yolact": case(
        decode.yolact(SSD_CLASSES, (SIDE, SIDE), LEVELS, scales=SCALES, coefficients=WEIGHTS), yolact_parts, yolact
    ),
    "detr": case(decode.detr(CLASSES), detr_parts, detr),
    "damoyolo": case(
        decode.damoyolo(CLASSES),
        exports.maps(box=lambda net, s: net.head(s, 68), score=lambda net, s: net.sigmoid(net.scores(s, CLASSES + 1))),
        damoyolo,
    ),
    "26-obb": case(
        decode.yolo26_obb(CLASSES),
        exports.maps(box=exports.relu_sides, score=exports.probabilities, angle=lambda net, s: net.head(s, 1)),
        turned,
    ),
    "v7": case(decode.yolov7(CLASSES, anchors=ANCHORS), exports.maps(out=exports.v5_part()), v5),
    "v7-pose": case(decode.yolov7_pose(POINTS, STRIDES, ANCHORS), exports.maps(out=pose_part), pose),
    "fastestv2": case(decode.yolofastestv2(CLASSES, STRIDES[1:], ANCHORS[1:]), fastest_parts, yolofastestv2, least=0.3),
    "fastestdet": case(decode.fastestdet(CLASSES), fastestdet_part, fastestdet),
    "v5-face": case(decode.yolov5_face(anchors=ANCHORS), exports.maps(out=face_part), yolov5_face),
    "ultraface": case(ULTRAFACE, lambda net: ultra_parts(net, False), ultraface),
    "blazeface": case(decode.blazeface(SIDE, BLAZE), blaze_parts, blazeface),
    "face_det_lite": case(decode.face_det_lite(), lite_parts, face_det_lite),
    "movenet": case(decode.movenet(), movenet_rows, movenet),
    "labelled rows": case(decode.labelled_rows(CLASSES), labelled_parts, labelled_rows, LISTED),
}
KINDS = pytest.mark.parametrize("small", [True, False], ids=["int8", "float"])


@KINDS
@pytest.mark.parametrize("name", CASES)
def test_stored_bytes_give_the_answers_of_their_values(name: str, small: bool, folder: Path) -> None:
    check_stored_bytes(CASES[name].export, small, folder)


@KINDS
@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_the_formula(name: str, small: bool, folder: Path) -> None:
    found, rows, v = check_answers(*CASES[name], small, folder)
    if name == "yolact":
        check_masks(found, rows, v)


def check_masks(found: decode.Detections, rows: np.ndarray, v: Values) -> None:
    """Probabilities, enlarged four times with half-pixel centres, above 0.5 inside the box."""
    assert found.masks is not None
    at = (np.arange(SIDE) + 0.5) / 4 - 0.5
    low = np.floor(at).astype(int)
    turn = np.zeros((SIDE, SIDE // 4))
    for near, share in ((low, 1 - (at - low)), (low + 1, at - low)):
        np.add.at(turn, (np.arange(SIDE), near.clip(0, SIDE // 4 - 1)), share)
    for i, row in enumerate(rows):
        share = sigmoid(np.einsum("hwc,c", v["proto_nhwc"][0].astype(np.float64), v["mask"][0, row].astype(np.float64)))
        wide = turn @ share @ turn.T
        y, x = np.mgrid[:SIDE, :SIDE]
        left, top, right, bottom = found.xyxy[i].astype(float)
        wanted = (wide > 0.5) & (x >= left) & (x < right) & (y >= top) & (y < bottom)
        sure = abs(wide - 0.5) > 1e-9
        assert np.array_equal(found.masks.full(i)[sure], wanted[sure])
    assert sum(int(crop.sum()) for crop in found.masks) > SIDE


def test_every_head_is_exported() -> None:
    """Each function of `npu_layout.decode` that makes a Head has a network, here or in test_exports.py."""
    makers = [getattr(decode, name) for name in decode.__all__ if inspect.isfunction(getattr(decode, name))]
    names = {f.__name__.removesuffix("_head") for f in makers if inspect.signature(f).return_annotation == "Head"}
    exported = {export.head.name for export in (*EXPORTS.values(), *(one.export for one in CASES.values()))}
    assert names == exported and len(names) > 35
