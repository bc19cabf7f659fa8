"""The heads of networks against their formulas, written down as loops over cells in plain numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from tests.support import scenes
from tests.support.scenes import Found

STRIDES = (8, 16, 32)
SIZE = (64, 96)  #: height and width of the input
CLASSES = 3

Values = dict[str, np.ndarray]


class Cell(NamedTuple):
    """A cell of one anchor: its level, its place, and its number in its level and in the whole list."""

    level: int
    stride: int
    y: int
    x: int
    cell: int
    anchor: int
    row: int
    whole: int


def cells(strides: tuple[int, ...] = STRIDES, anchors: int = 1) -> Iterator[Cell]:
    """Cells of all levels, the anchors of a cell one after the other."""
    whole = 0
    for level, stride in enumerate(strides):
        height, width = -(-SIZE[0] // stride), -(-SIZE[1] // stride)
        row = 0
        for y in range(height):
            for x in range(width):
                for a in range(anchors):
                    yield Cell(level, stride, y, x, y * width + x, a, row, whole)
                    row, whole = row + 1, whole + 1


def count(strides: tuple[int, ...] = STRIDES, anchors: int = 1) -> int:
    return sum(1 for _ in cells(strides, anchors))


def grid(stride: int) -> tuple[int, int]:
    return -(-SIZE[0] // stride), -(-SIZE[1] // stride)


def corners(cx: float, cy: float, w: float, h: float) -> tuple[float, ...]:
    return cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2


def sides(c: Cell, v: Any, center: float) -> tuple[float, ...]:
    cx, cy = c.x + center, c.y + center
    return tuple(e * c.stride for e in (cx - v[0], cy - v[1], cx + v[2], cy + v[3]))


def means(v: np.ndarray, bins: int) -> list[float]:
    found = []
    for k in range(4):
        each = [float(n) for n in v[k * bins : (k + 1) * bins]]
        weights = [math.exp(n - max(each)) for n in each]
        found.append(sum(i * w for i, w in enumerate(weights)) / sum(weights))
    return found


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-float(x)))


class Network(NamedTuple):
    """A head, the shapes of its outputs, and a loop that finds candidates: score of each class, box, and points."""

    head: decode.Head
    shapes: dict[str, tuple[int, ...]]
    loop: Callable[[Values], Iterator[tuple[Cell, list[float], tuple[float, ...], list[tuple[float, float]]]]]
    labels: str = "best"
    suppress: bool = True
    extra: float = 0
    spread: float = 1.0  #: of the boxes' numbers
    probabilities: bool = True  #: scores are stored as such


def of_maps(strides: tuple[int, ...], **channels: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}_{s}": (1, n, *grid(s)) for s in strides for name, n in channels.items()}


def distances(name: str, center: float = 0.5, bins: int = 0) -> Callable[[Values], Any]:
    """Boxes of sides, of maps `name` and `score`."""

    def loop(v: Values) -> Iterator[Any]:
        for c in cells():
            box = v[f"{name}_{c.stride}"][0, :, c.y, c.x]
            four = means(box, bins) if bins else box.astype(float)
            yield c, v[f"score_{c.stride}"][0, :, c.y, c.x].astype(float).tolist(), sides(c, four, center), []

    return loop


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


def retinaface(v: Values) -> Iterator[Any]:
    for c in cells(anchors=2):
        size = decode.retinaface().anchors[c.level][c.anchor][0]
        cx, cy = (c.x + 0.5) * c.stride, (c.y + 0.5) * c.stride
        t = v["loc"][0, c.whole].astype(float)
        box = corners(cx + t[0] * 0.1 * size, cy + t[1] * 0.1 * size, *(size * math.exp(n * 0.2) for n in t[2:]))
        a, b = (float(n) for n in v["conf"][0, c.whole])
        m = v["landms"][0, c.whole].astype(float)
        points = [(cx + m[2 * i] * 0.1 * size, cy + m[2 * i + 1] * 0.1 * size) for i in range(5)]
        yield c, [math.exp(b - max(a, b)) / (math.exp(a - max(a, b)) + math.exp(b - max(a, b)))], box, points


def scrfd(v: Values) -> Iterator[Any]:
    for c in cells(anchors=2):
        m = v[f"kps_{c.stride}"][c.row].astype(float) * c.stride
        points = [(c.x * c.stride + m[2 * i], c.y * c.stride + m[2 * i + 1]) for i in range(5)]
        box = sides(c, v[f"bbox_{c.stride}"][c.row].astype(float), 0.0)
        yield c, [float(v[f"score_{c.stride}"][c.row, 0])], box, points


def yunet(v: Values) -> Iterator[Any]:
    for c in cells():
        t, m = (v[f"{name}_{c.stride}"][0, c.row].astype(float) for name in ("bbox", "kps"))
        box = corners((c.x + t[0]) * c.stride, (c.y + t[1]) * c.stride, *(math.exp(n) * c.stride for n in t[2:]))
        score = math.sqrt(float(v[f"cls_{c.stride}"][0, c.row, 0]) * float(v[f"obj_{c.stride}"][0, c.row, 0]))
        yield c, [score], box, [((m[2 * i] + c.x) * c.stride, (m[2 * i + 1] + c.y) * c.stride) for i in range(5)]


PRIORS = np.random.default_rng(5).uniform(0.1, 0.9, (150, 4))


def one_row(i: int) -> Cell:
    return Cell(0, 1, 0, i, i, 0, i, i)


def ssd(v: Values) -> Iterator[Any]:
    for i, (cx, cy, w, h) in enumerate(PRIORS.tolist()):
        cx, cy, w, h = cx * SIZE[1], cy * SIZE[0], w * SIZE[1], h * SIZE[0]
        ty, tx, th, tw = (float(n) for n in v["boxes"][0, i])
        box = corners(cx + tx * 0.1 * w, cy + ty * 0.1 * h, math.exp(tw * 0.2) * w, math.exp(th * 0.2) * h)
        yield one_row(i), [sigmoid(n) for n in v["scores"][0, i, 1:]], box, []


def ppyoloe_list(v: Values) -> Iterator[Any]:
    for c in cells():
        yield c, v["scores"][0, :, c.whole].astype(float).tolist(), tuple(v["boxes"][0, c.whole].astype(float)), []


def nanodet(v: Values) -> Iterator[Any]:
    for c in cells((8, 16, 32, 64)):
        e = v["out"][0, c.whole]
        yield c, e[:CLASSES].astype(float).tolist(), sides(c, means(e[CLASSES:], 8), 0.0), []


def tflite(v: Values) -> Iterator[Any]:
    for c in cells():
        x, y, w, h, *scores = v["out"][0, :, c.whole].astype(float).tolist()
        yield c, scores, corners(x * SIZE[1], y * SIZE[0], w * SIZE[1], h * SIZE[0]), []


NETWORKS = {
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
    "x": Network(
        decode.yolox(CLASSES, activation="sigmoid"), of_maps(STRIDES, out=5 + CLASSES), yolox, probabilities=False
    ),
    "x list": Network(decode.yolox(CLASSES), {"out": (1, count(), 5 + CLASSES)}, yolox_list),
    "retinaface": Network(
        decode.retinaface(activation="softmax"),
        {"loc": (1, count(anchors=2), 4), "conf": (1, count(anchors=2), 2), "landms": (1, count(anchors=2), 10)},
        retinaface,
        extra=1,
        probabilities=False,
    ),
    "scrfd": Network(
        decode.scrfd(),
        {
            f"{name}_{s}": (2 * math.prod(grid(s)), n)
            for name, n in {"score": 1, "bbox": 4, "kps": 10}.items()
            for s in STRIDES
        },
        scrfd,
        extra=1,
    ),
    "yunet": Network(
        decode.yunet(),
        {
            f"{name}_{s}": (1, math.prod(grid(s)), n)
            for name, n in {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}.items()
            for s in STRIDES
        },
        yunet,
    ),
    "ssd": Network(
        decode.ssd(PRIORS, 5),
        {"boxes": (1, 150, 4), "scores": (1, 150, 6)},
        ssd,
        probabilities=False,
    ),
    "pp": Network(
        decode.ppyoloe(CLASSES), of_maps(STRIDES, box=68, score=CLASSES), distances("box", bins=17), spread=2
    ),
    "pp list": Network(
        decode.ppyoloe(CLASSES), {"boxes": (1, count(), 4), "scores": (1, CLASSES, count())}, ppyoloe_list, spread=40
    ),
    "nanodet": Network(decode.nanodet(CLASSES), {"out": (1, count((8, 16, 32, 64)), CLASSES + 32)}, nanodet, spread=2),
    "v8 tflite": Network(decode.yolov8(CLASSES, unit="input"), {"out": (1, 4 + CLASSES, count())}, tflite),
}


def outputs_of(network: Network, rng: np.random.Generator, choose: random.Random) -> list[scenes.Output]:
    """Outputs of random numbers, each in a layout and a dtype of its own."""
    found = []
    for name, shape in network.shapes.items():
        layout: Any = nl.Layout.of_rank(len(shape))
        dtype = choose.choice(scenes.DTYPES)
        if len(shape) == 4:
            layout, dtype = scenes.pick(choose)
        real = rng.normal(0, network.spread, shape)
        scale, zero = network.spread / 30, 3
        scores = name.startswith(("score", "cls", "obj", "sum"))
        if scores and network.probabilities:
            real, scale, zero = rng.random(shape) ** 3, 1 / 255, -128 if dtype == "int8" else 0
        elif network.probabilities and name == "out" and len(network.shapes) == 1:
            dtype = choose.choice(("float32", "float16", "bfloat16"))
            real = rng.random(shape) if network.head.name != "nanodet" else real
        found.append(scenes.output(rng, shape, real, layout, dtype, scale, zero, name=name))
    choose.shuffle(found)
    return found


def candidates(network: Network, values: Values, confidence: float) -> tuple[list[Found], dict[Any, Any]]:
    found, points = [], {}
    for c, scores, box, beside in network.loop(values):
        best = [max(range(len(scores)), key=lambda i: scores[i])] if network.labels == "best" else range(len(scores))
        for label in best:
            if scores[label] >= confidence:
                single = float(np.float32(scores[label]))
                found.append(Found(single, label, c.level, c.cell, c.anchor, tuple(map(float, box))))
                points[c.level, c.cell, c.anchor] = beside
    return sorted(found, key=lambda f: -f.score), points


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str, seed: int) -> None:
    network = NETWORKS[name]
    rng, choose = np.random.default_rng(seed), random.Random(f"{name} {seed}")
    outputs = outputs_of(network, rng, choose)
    values = {o.spec.name: o.values for o in outputs}
    confidence = (0.2, 0.6)[seed % 2]
    found, points = candidates(network, values, confidence)
    wanted = scenes.kept(found, 0.45, 40, extra=network.extra) if network.suppress else found[:40]
    assert wanted
    decoder = decode.Decoder(network.head, [o.spec for o in outputs], SIZE)
    for backend in kernels.backends():
        if decoder._made is not None:
            decoder._detector = kernels.detector(decoder._made, backend)
        got = decoder([o.buffer for o in outputs], confidence=confidence, limit=40)
        scenes.same(got, wanted)
        assert (got.keypoints is None) == (network.head.keypoints is None)
        for k, one in enumerate(wanted if got.keypoints is not None else []):
            assert got.keypoints is not None
            expected = np.array(points[one.level, one.cell, one.anchor], np.float32)
            np.testing.assert_array_max_ulp(got.keypoints[k], expected, 1)


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


def test_tflites_post_process() -> None:
    """Boxes top, left, bottom, right of 0 .. 1, classes, scores, and how many rows are detections."""
    names = [f"TFLite_Detection_PostProcess{end}" for end in ("", ":1", ":2", ":3")]
    shapes: list[tuple[int, ...]] = [(1, 5, 4), (1, 5), (1, 5), (1,)]
    specs = [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), name=n) for s, n in zip(shapes, names)]
    boxes = np.array(
        [[[0.5, 0.25, 1, 0.5], [0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0], [0, 0, 1, 1]]], np.float32
    )
    classes, scores = np.array([[2, 0, 1, 0, 0]], np.float32), np.array([[0.9, 0.8, 0.3, 0.2, 0.99]], np.float32)
    buffers = [a.ravel() for a in (boxes, classes, scores, np.array([4], np.float32))]
    decoder = decode.Decoder(decode.ssd_postprocessed(CLASSES), specs, SIZE)
    found = decoder(buffers, confidence=0.25)
    assert found.class_id.tolist() == [2, 0, 1] and np.array_equal(found.confidence, scores[0, :3])
    height, width = SIZE
    assert found.xyxy[0].tolist() == [0.25 * width, 0.5 * height, 0.5 * width, height]
    unnamed = [spec.replace(name="abcd"[i]) for i, spec in enumerate(specs)]
    with pytest.raises(nl.LayoutError, match="extents do not distinguish parts"):
        decode.Decoder(decode.ssd_postprocessed(CLASSES), unnamed, SIZE)
    named = decode.Decoder(decode.ssd_postprocessed(CLASSES), unnamed, SIZE, outputs={"label": ["b"], "score": ["c"]})
    assert np.array_equal(named(buffers).xyxy, found.xyxy)


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
