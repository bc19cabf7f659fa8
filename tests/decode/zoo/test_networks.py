"""The heads of YOLO networks against their formulas, written down as loops over cells in plain numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support import scenes
from tests.support.backends import decoders
from tests.support.networks import (
    CLASSES,
    SIZE,
    STRIDES,
    Network,
    Values,
    cells,
    compare,
    corners,
    count,
    distances,
    grid,
    of_maps,
    sigmoid,
)


def yolox(v: Values) -> Iterator[Any]:
    for c in cells():
        e = [float(n) for n in v[f"out_{c.stride}"][0, :, c.y, c.x]]
        box = corners((e[0] + c.x) * c.stride, (e[1] + c.y) * c.stride, *(math.exp(n) * c.stride for n in e[2:4]))
        yield c, [sigmoid(e[4]) * sigmoid(n) for n in e[5:]], box, []


def yolox_list(v: Values) -> Iterator[Any]:
    for c in cells():
        e = [float(n) for n in v["out"][0, c.whole]]
        box = corners((e[0] + c.x) * c.stride, (e[1] + c.y) * c.stride, *(math.exp(n) * c.stride for n in e[2:4]))
        yield c, [e[4] * n for n in e[5:]], box, []


def tflite(v: Values) -> Iterator[Any]:
    for c in cells():
        x, y, w, h, *scores = v["out"][0, :, c.whole].astype(float).tolist()
        yield c, scores, corners(x * SIZE[1], y * SIZE[0], w * SIZE[1], h * SIZE[0]), []


def v5_apart(v: Values) -> Iterator[Any]:
    """Hailo's: centres, sizes, objectness and scores of three anchors, each in an output of its own."""
    for c in cells(anchors=3):
        halves = [v[f"{name}_{c.stride}"][0, 2 * c.anchor :][:2, c.y, c.x] for name in ("center", "scale")]
        x, y, w, h = (2 * sigmoid(n) for half in halves for n in half)
        wide, high = ANCHORS[c.level][c.anchor]
        box = corners((x - 0.5 + c.x) * c.stride, (y - 0.5 + c.y) * c.stride, w * w * wide, h * h * high)
        first = CLASSES * c.anchor
        scores = v[f"probs_{c.stride}"][0, first : first + CLASSES, c.y, c.x]
        objectness = sigmoid(v[f"obj_{c.stride}"][0, c.anchor, c.y, c.x])
        yield c, [objectness * sigmoid(n) for n in scores], box, []


def v26_pose(v: Values) -> Iterator[Any]:
    """Points are strides from the centre of the cell, as the sides are."""
    for c in cells():
        left, top, right, bottom, *e = (
            float(n) for name in ("box", "points") for n in v[f"{name}_{c.stride}"][0, :, c.y, c.x]
        )
        cx, cy = c.x + 0.5, c.y + 0.5
        box = tuple(n * c.stride for n in (cx - left, cy - top, cx + right, cy + bottom))
        points = [((cx + e[k]) * c.stride, (cy + e[k + 1]) * c.stride, sigmoid(e[k + 2])) for k in (0, 3, 6)]
        yield c, [sigmoid(v[f"raw_{c.stride}"][0, 0, c.y, c.x])], box, points


ANCHORS = (((10, 13), (16, 30), (33, 23)), ((30, 61), (62, 45), (59, 119)), ((116, 90), (156, 198), (373, 326)))
NETWORKS = {
    "v5 of Hailo": Network(
        decode.yolov5(CLASSES, activation="sigmoid"),
        of_maps(STRIDES, center=6, scale=6, obj=3, probs=3 * CLASSES),
        v5_apart,
        probabilities=False,
    ),
    "v6": Network(decode.yolov6(CLASSES), of_maps(STRIDES, box=4, score=CLASSES), distances("box")),
    "v6 sums": Network(decode.yolov6(CLASSES), of_maps(STRIDES, box=4, score=CLASSES, sum=1), distances("box")),
    "v9 7 bins": Network(
        decode.yolov8(CLASSES, bins=7), of_maps(STRIDES, box=28, score=CLASSES), distances("box", bins=7), spread=2
    ),
    "v10": Network(
        decode.yolov10(CLASSES),
        of_maps(STRIDES, box=64, score=CLASSES),
        distances("box", bins=16),
        labels="all",
        suppress=False,
    ),
    "26": Network(
        decode.yolo26(CLASSES), of_maps(STRIDES, box=4, score=CLASSES), distances("box"), labels="all", suppress=False
    ),
    "26-pose": Network(
        decode.yolo26(1, activation="sigmoid", keypoints=3),
        of_maps(STRIDES, box=4, raw=1, points=9),
        v26_pose,
        labels="all",
        suppress=False,
        probabilities=False,
    ),
    "x": Network(
        decode.yolox(CLASSES, activation="sigmoid"), of_maps(STRIDES, out=5 + CLASSES), yolox, probabilities=False
    ),
    "x list": Network(decode.yolox(CLASSES), {"out": (1, count(), 5 + CLASSES)}, yolox_list),
    "v8 tflite": Network(decode.yolov8(CLASSES, unit="input"), {"out": (1, 4 + CLASSES, count())}, tflite),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str, seed: int) -> None:
    compare(NETWORKS[name], name, seed)


@pytest.mark.parametrize("values", [3, 2])
def test_points_of_lists_have_the_unit_of_boxes(values: int) -> None:
    """TFLite's export of YOLOv8-pose: x and y of points are shares of the input too; rows of YOLO26-pose alike."""
    rng = np.random.default_rng(1)
    for unit, sides in (("pixel", (1.0, 1.0)), ("input", (float(SIZE[1]), float(SIZE[0])))):
        row = rng.uniform(0.2, 0.4, 4).tolist(), rng.uniform(0, 1, (3, values))
        listed = np.zeros((1, 5 + 3 * values, count()), np.float32)
        listed[0, :, 7] = [*row[0], 0.9, *row[1].ravel()]
        rows = np.zeros((1, 5, 6 + 3 * values), np.float32)
        rows[0, 2] = [*row[0], 0.9, 0, *row[1].ravel()]
        for head, array in (
            (decode.yolov8(1, keypoints=3, unit=unit, point_values=values), listed),
            (decode.yolo26(1, keypoints=3, unit=unit, point_values=values), rows),
        ):
            for decoder in decoders(head, [nl.TensorSpec(array.shape, nl.Layout.of_rank(3), name="out")], SIZE):
                found = decoder([array.ravel()], 0.5)
                wanted = row[1].astype(np.float32) * np.float32([*sides, 1][:values])
                np.testing.assert_allclose(found.keypoints, wanted[None], rtol=1e-6)
                if array is rows:
                    np.testing.assert_allclose(found.xyxy[0], np.float32(row[0]) * np.float32(sides * 2), rtol=1e-6)


def test_masks_of_rows() -> None:
    """YOLO26-seg: coefficients behind the class."""
    rows = np.zeros((1, 6, 6 + 32), np.float32)
    rows[0, 3, :6], rows[0, 3, 9] = (8, 8, 40, 40, 0.9, 1), 2
    protos = np.full((1, 32, SIZE[0] // 4, SIZE[1] // 4), -1, np.float32)
    protos[0, 3, :5] = 1
    specs = [nl.TensorSpec(rows.shape, nl.Layout.of_rank(3), name="out"), nl.TensorSpec(protos.shape, name="protos")]
    for decoder in decoders(decode.yolo26(2, coefficients=32), specs, SIZE):
        found = decoder([rows.ravel(), protos.ravel()], 0.5)
        assert found.class_id.tolist() == [1] and found.masks is not None
        assert np.flatnonzero(found.masks.full(0).any(1)).tolist() == list(range(8, 20))


def test_rows_that_are_detections() -> None:
    """YOLOv10's and 26's end: edges, score, class in each row."""
    rng = np.random.default_rng(0)
    rows = np.zeros((1, 30, 6), np.float32)
    rows[0, :, :4] = rng.uniform(0, 60, (30, 4))
    rows[0, :, 4] = np.sort(rng.random(30))[::-1]
    rows[0, :, 5] = rng.integers(0, CLASSES, 30)
    for head in (decode.yolov10(CLASSES), decode.yolo26(CLASSES)):
        decoder = decode.Decoder(head, [nl.TensorSpec((1, 30, 6), nl.Layout.of_rank(3), name="out")], SIZE)
        found = decoder([rows.ravel()], confidence=0.5)
        n = int((rows[0, :, 4] >= 0.5).sum())
        assert 0 < n < 30 and np.array_equal(found.xyxy, rows[0, :n, :4])
        assert np.array_equal(found.confidence, rows[0, :n, 4]) and found.class_id.tolist() == rows[0, :n, 5].tolist()
        wrong = rows.copy()
        wrong[0, 0, 5] = CLASSES
        with pytest.raises(nl.NpuLayoutError, match=r"label: expected whole numbers below 3 \(classes\), got 3"):
            decoder([wrong.ravel()], confidence=0.5)


@pytest.mark.parametrize("head", [n.head for n in NETWORKS.values()], ids=list(NETWORKS))
def test_heads_are_data(head: decode.Head) -> None:
    assert decode.Head.from_dict(head.to_dict()) == head


def test_masks_come_with_detections() -> None:
    """YOLOv8-seg: coefficients of three levels, each of another scale, and prototypes."""
    rng, choose = np.random.default_rng(2), random.Random(2)
    outputs, values = [], {}
    for s in STRIDES:
        for name, n in {"box": 64, "score": CLASSES, "weights": 8}.items():
            real, scale, zero = rng.normal(0, 2, (1, n, *grid(s))), 0.05 + s / 100, 7
            if name == "score":
                real, scale, zero = rng.random(real.shape) ** 4, 1 / 255, -128
            layout, _ = scenes.pick(choose)
            outputs.append(scenes.output(rng, real.shape, real, layout, "int8", scale, zero, name=f"{name}{s}"))
            values[name, s] = outputs[-1].values[0]
    shape = (1, 8, SIZE[0] // 4, SIZE[1] // 4)
    outputs.append(scenes.output(rng, shape, rng.normal(0, 1, shape), "NCHW16c", "int8", 0.03, -5, name="prototypes"))
    prototypes = outputs[-1].values[0].astype(np.float64)
    choose.shuffle(outputs)
    decoder = decode.Decoder(decode.yolov8(CLASSES, coefficients=8), [o.spec for o in outputs], SIZE)
    found = decoder([o.buffer for o in outputs], confidence=0.3, limit=12)
    assert len(found) == 12 == len(found.masks) and len(set(found.level.tolist())) > 1
    for k in range(12):
        s = STRIDES[found.level[k]]
        width = grid(s)[1]
        weights = values["weights", s][:, found.cell[k] // width, found.cell[k] % width].astype(np.float64)
        logits = np.tensordot(weights, prototypes, 1)
        full = np.zeros(SIZE, bool)
        x0, y0, x1, y1 = found.xyxy[k]
        undecided = 0
        for y in range(SIZE[0]):
            for x in range(SIZE[1]):
                if x0 <= x < x1 and y0 <= y < y1:
                    v, u = (y + 0.5) / 4 - 0.5, (x + 0.5) / 4 - 0.5
                    i, j = math.floor(v), math.floor(u)
                    a, b = v - i, u - j
                    at = lambda r, c: logits[min(max(r, 0), shape[2] - 1), min(max(c, 0), shape[3] - 1)]  # noqa: B023, E731
                    top = at(i, j) * (1 - b) + at(i, j + 1) * b
                    bottom = at(i + 1, j) * (1 - b) + at(i + 1, j + 1) * b
                    real = top * (1 - a) + bottom * a
                    undecided += abs(real) < 1e-5
                    full[y, x] = real > 0
        assert int((found.masks.full(k) != full).sum()) <= undecided
    assert found.fields()["mask"].shape == (12, *SIZE)


def test_rows_of_mmdeploy() -> None:
    """MMDeploy's dets, edges and score in one output, and labels: the rows of YOLOv10 in two outputs."""
    rng = np.random.default_rng(2)
    dets, labels = rng.random((1, 20, 5)).astype(np.float32) * 60, rng.integers(0, CLASSES, (1, 20))
    dets[..., 4] = rng.random((1, 20))
    specs = [nl.TensorSpec((1, 20, 5), nl.Layout.of_rank(3), name="dets")]
    specs.append(nl.TensorSpec((1, 20), "NC", "int64", name="labels"))
    wanted = [i for i in np.argsort(-dets[0, :, 4], kind="stable") if dets[0, i, 4] >= 0.5]
    for decoder in decoders(decode.yolov10(CLASSES), specs, SIZE):
        found = decoder([dets.ravel(), labels.ravel()], 0.5)
        assert found.cell.tolist() == wanted and found.class_id.tolist() == labels[0, wanted].tolist()
        assert np.array_equal(found.xyxy, dets[0, wanted, :4])


def test_sophgos_centernet_is_one_map() -> None:
    """Heat before the sigmoid, sizes and offsets in one output (1, 84, 128, 128)."""
    spec = nl.TensorSpec((1, CLASSES + 4, 16, 24), name="out")
    out = np.full(spec.shape, -9, np.float32)
    out[0, 1, 5, 7] = 2
    out[0, CLASSES:, 5, 7] = 4, 2, 0.25, 0.5
    for decoder in decoders(decode.centernet_head(CLASSES, activation="sigmoid"), [spec], SIZE):
        found = decoder([out.ravel()], 0.5)
        assert found.class_id.tolist() == [1] and found.xyxy.tolist() == [[21.0, 18.0, 37.0, 26.0]]


def test_names_in_the_place_of_a_number() -> None:
    with pytest.raises(
        nl.NpuLayoutError, match="classes: expected a number, got 2 names; give 2 here, and the names to draw"
    ):
        decode.yolov8(["person", "car"])  # type: ignore[arg-type]


@pytest.mark.parametrize("points", [0, 3])
def test_scores_before_bins(points: int) -> None:
    """One map has scores, bins and points: the same numbers in outputs of their own give the same detections."""
    rng = np.random.default_rng(8)
    counts = {"score": CLASSES, "box": 64, **({"points": 3 * points} if points else {})}
    arrays = {f"{what}{s}": rng.normal(0, 2, (1, n, *grid(s))) for s in STRIDES for what, n in counts.items()}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    joined = {f"y{s}": np.concatenate([arrays[f"{what}{s}"] for what in counts], 1) for s in STRIDES}
    found = []
    for first, given in ((False, arrays), (True, joined)):
        head = decode.yolov8(CLASSES, activation="sigmoid", keypoints=points, scores_first=first)
        specs = [nl.TensorSpec(array.shape, name=name) for name, array in given.items()]
        for decoder in decoders(head, specs, SIZE):
            found.append(decoder({name: array.ravel() for name, array in given.items()}, 0.9))
    assert len(found[0]) > 5
    for one in found[1:]:
        assert np.array_equal(one.xyxy, found[0].xyxy) and np.array_equal(one.class_id, found[0].class_id)
        assert np.array_equal(one.confidence, found[0].confidence)
        assert not points or np.array_equal(one.keypoints, found[0].keypoints)


@pytest.mark.parametrize("make", [decode.yolov8, decode.yolo26])
def test_keypoints_without_visibility(make: Callable[..., decode.Head]) -> None:
    """kpt_shape: [12, 2]: maps have 24 channels, and a point is where it is with three numbers."""
    rng, found = np.random.default_rng(4), []
    sides, scores = rng.normal(0, 1, (1, 64 if make is decode.yolov8 else 4, 8, 12)), rng.random((1, 1, 8, 12))
    points = rng.normal(0, 1, (1, 12, 3, 8, 12)).astype(np.float32)
    for values in (3, 2):
        arrays = [abs(sides), scores, points[:, :, :values].reshape(1, 12 * values, 8, 12)]
        specs = [nl.TensorSpec(array.shape, name=name) for name, array in zip("abc", arrays)]
        head = make(1, (8,), keypoints=12, point_values=values)
        for decoder in decoders(head, specs, SIZE):
            found.append(decoder([array.astype(np.float32).ravel() for array in arrays], 0.9))
    assert len(found[0]) > 1 and found[0].keypoints.shape[2] == 3 and found[-1].keypoints.shape[2] == 2
    for one in found[1:]:
        np.testing.assert_allclose(one.keypoints[..., :2], found[0].keypoints[..., :2], rtol=1e-6)
    for values in (1, 4):
        with pytest.raises(nl.NpuLayoutError, match=f"point_values: expected 2 .x and y. or 3 .*, got {values}"):
            make(1, point_values=values)


def test_options_of_keypoints_without_keypoints() -> None:
    heads: tuple[Callable[..., decode.Head], ...] = (decode.yolov8, decode.yolo26)
    for head in heads:
        with pytest.raises(nl.NpuLayoutError, match=r"point_values: no effect where keypoints= is 0; .* got 2"):
            head(1, point_values=2)
        assert head(1, keypoints=5, point_values=2).keypoints == decode.Keypoints(
            5, 2, "cells" if head is decode.yolov8 else "distances"
        )
    with pytest.raises(nl.NpuLayoutError, match=r"across: no effect where keypoints= is 0; .* got 'encoded'"):
        decode.yolov8(1, across="encoded")
