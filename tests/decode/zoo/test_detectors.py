"""The heads of SSD, FastestDet and rows against their formulas, written down as loops over cells in plain numbers."""

from __future__ import annotations

import itertools
import json
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
    Cell,
    Network,
    Values,
    cells,
    compare,
    corners,
    grid,
    of_maps,
    sigmoid,
)

PRIORS = np.random.default_rng(5).uniform(0.1, 0.9, (150, 4))


def one_row(i: int) -> Cell:
    return Cell(0, 1, 0, i, i, 0, i, i)


def ssd(v: Values) -> Iterator[Any]:
    for i, (cx, cy, w, h) in enumerate(PRIORS.tolist()):
        cx, cy, w, h = cx * SIZE[1], cy * SIZE[0], w * SIZE[1], h * SIZE[0]
        ty, tx, th, tw = (float(n) for n in v["boxes"][0, i])
        box = corners(cx + tx * 0.1 * w, cy + ty * 0.1 * h, math.exp(tw * 0.2) * w, math.exp(th * 0.2) * h)
        yield one_row(i), [sigmoid(n) for n in v["scores"][0, i, 1:]], box, []


def ssd_shares(v: Values) -> Iterator[Any]:
    """The same of scores before softmax, whose background is the first of them."""
    for (c, _, box, points), scores in zip(ssd(v), v["scores"][0].astype(float)):
        powers = [math.exp(n - max(scores)) for n in scores]
        yield c, [power / sum(powers) for power in powers[1:]], box, points


COUNTS = (3, 2, 1)  # priors of a cell of each level
ON_MAPS = [
    (level, s, y, x, a)
    for level, s in enumerate(STRIDES)
    for y in range(grid(s)[0])
    for x in range(grid(s)[1])
    for a in range(COUNTS[level])
]
PRIORS_OF_MAPS = np.random.default_rng(6).uniform(0.1, 0.9, (len(ON_MAPS), 4))


def ssd_on_maps(v: Values) -> Iterator[Any]:
    """Hailo's SSD: maps of boxes and of scores of each level, or the same numbers as lists."""
    for i, (level, s, y, x, a) in enumerate(ON_MAPS):
        cx, cy, w, h = (float(n) * side for n, side in zip(PRIORS_OF_MAPS[i], SIZE[::-1] * 2))
        if "boxes" in v:
            box, scores = v["boxes"][0, i], v["raw"][0, i]
        else:
            box, scores = v[f"box_{s}"][0, 4 * a : 4 * a + 4, y, x], v[f"raw_{s}"][0, 6 * a : 6 * a + 6, y, x]
        ty, tx, th, tw = (float(n) for n in box)
        edges = corners(cx + tx * 0.1 * w, cy + ty * 0.1 * h, math.exp(tw * 0.2) * w, math.exp(th * 0.2) * h)
        cell = Cell(level, s, y, x, y * grid(s)[1] + x, a, 0, i)
        yield cell, [sigmoid(n) for n in scores[1:]], edges, []


def fastestdet(raw: bool) -> Any:
    def loop(v: Values) -> Iterator[Any]:
        for c in cells((16,)):
            e = [float(n) for n in v["out"][0, :, c.y, c.x]]
            objectness, classes = e[0], e[5:]
            if raw:
                powers = [math.exp(n - max(classes)) for n in classes]
                objectness, classes = sigmoid(objectness), [p / sum(powers) for p in powers]
            cx, cy = (c.x + math.tanh(e[1])) / grid(16)[1] * SIZE[1], (c.y + math.tanh(e[2])) / grid(16)[0] * SIZE[0]
            box = corners(cx, cy, sigmoid(e[3]) * SIZE[1], sigmoid(e[4]) * SIZE[0])
            yield c, [objectness**0.6 * n**0.4 for n in classes], box, []

    return loop


WIDE = (((12.64, 19.39), (37.88, 51.48), (55.71, 138.31)), ((126.91, 78.23), (131.57, 214.55), (279.92, 258.87)))


def yolofastestv2(raw: bool, whole: bool) -> Any:
    """Boxes of three anchors, their objectness, and classes that they share; in one map, or in three."""

    def loop(v: Values) -> Iterator[Any]:
        act = sigmoid if raw else float
        for c in cells((16, 32), 3):
            names = [f"out_{c.stride}"] if whole else [f"{n}_{c.stride}" for n in ("reg", "obj", "cls")]
            e = [float(n) for name in names for n in v[name][0, :, c.y, c.x]]
            x, y, w, h = (2 * act(n) for n in e[4 * c.anchor : 4 * c.anchor + 4])
            wide, high = WIDE[c.level][c.anchor]
            classes = e[15:]
            if raw:
                powers = [math.exp(n - max(classes)) for n in classes]
                classes = [p / sum(powers) for p in powers]
            box = corners((x - 0.5 + c.x) * c.stride, (y - 0.5 + c.y) * c.stride, w * w * wide, h * h * high)
            yield c, [act(e[12 + c.anchor]) * n for n in classes], box, []

    return loop


def labelled(unit: tuple[float, ...]) -> Any:
    """What a graph picked: edges, scores and classes of each row; `unit`: pixels of 1, in x and y."""

    def loop(v: Values) -> Iterator[Any]:
        for i in range(90):
            scores = [-1.0] * CLASSES
            scores[int(v["class_idx"][0, i])] = float(v["scores"][0, i])
            yield one_row(i), scores, tuple(float(n) * u for n, u in zip(v["boxes"][0, i], unit * 2)), []

    return loop


NETWORKS = {
    "ssd of Hailo": Network(
        decode.ssd(PRIORS_OF_MAPS, 5, strides=STRIDES, anchors=COUNTS),
        {
            f"{name}_{s}": (1, n * count, *grid(s))
            for s, count in zip(STRIDES, COUNTS)
            for name, n in (("box", 4), ("raw", 6))
        },
        ssd_on_maps,
        probabilities=False,
    ),
    "ssd of Hailo, lists": Network(
        decode.ssd(PRIORS_OF_MAPS, 5, strides=STRIDES, anchors=COUNTS),
        {"boxes": (1, len(ON_MAPS), 4), "raw": (1, len(ON_MAPS), 6)},
        ssd_on_maps,
        probabilities=False,
    ),
    "fastestdet": Network(decode.fastestdet(CLASSES), {"out": (1, 5 + CLASSES, *grid(16))}, fastestdet(False)),
    "fastestdet before its activations": Network(
        decode.fastestdet(CLASSES, activation="sigmoid"),
        {"out": (1, 5 + CLASSES, *grid(16))},
        fastestdet(True),
        probabilities=False,
        spread=2,
    ),
    "yolo-fastestv2": Network(
        decode.yolofastestv2(CLASSES), of_maps((16, 32), reg=12, obj=3, cls=CLASSES), yolofastestv2(False, False)
    ),
    "yolo-fastestv2 before its activations": Network(
        decode.yolofastestv2(CLASSES, activation="sigmoid"),
        of_maps((16, 32), out=15 + CLASSES),
        yolofastestv2(True, True),
        probabilities=False,
        spread=2,
    ),
    "ssd": Network(
        decode.ssd(PRIORS, 5),
        {"boxes": (1, 150, 4), "scores": (1, 150, 6)},
        ssd,
        probabilities=False,
    ),
    "ssd softmax": Network(
        decode.ssd(PRIORS, 5, activation="softmax"),
        {"boxes": (1, 150, 4), "scores": (1, 150, 6)},
        ssd_shares,
        probabilities=False,
        spread=3.0,
    ),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NETWORKS)
def test_detector(name: str, seed: int) -> None:
    compare(NETWORKS[name], name, seed)


def rows_of(rng: np.random.Generator, choose: random.Random, unit: float) -> list[scenes.Output]:
    """AI Hub's outputs of a network whose numbers are stored as uint8, or as floats."""
    real = {
        "boxes": rng.uniform(0, 1, (1, 90, 2)).repeat(2, 2) * unit + np.array([0, 0, 0.2, 0.3]) * unit,
        "scores": rng.random((1, 90)),
        "class_idx": rng.integers(0, CLASSES, (1, 90)),
    }
    scales = {"boxes": unit * 1.3 / 255, "scores": 1 / 255, "class_idx": 1.0}
    dtypes = {name: choose.choice(("uint8", "float32", "int32")) for name in real}
    return [
        scenes.output(rng, x.shape, x, nl.Layout.of_rank(x.ndim), dtypes[name], scales[name], 0, name=name)
        for name, x in real.items()
    ]


@pytest.mark.parametrize("seed", range(6))
def test_rows_whose_class_is_picked(seed: int) -> None:
    """Each row has one class; rows of other classes do not suppress it."""
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    unit = ("pixel", "input")[seed % 2]
    outputs = rows_of(rng, choose, 90.0 if unit == "pixel" else 1.0)
    sides_of = (1.0, 1.0) if unit == "pixel" else (float(SIZE[1]), float(SIZE[0]))
    loop = labelled(sides_of)({o.spec.name: o.values for o in outputs})
    found = [scenes.Found(float(np.float32(s[k])), k, 0, c.cell, 0, box) for c, s, box, _ in loop for k in [argmax(s)]]
    wanted = scenes.kept(sorted((f for f in found if f.score >= 0.3), key=lambda f: -f.score), 0.45, 40)
    assert 10 < len(wanted) < sum(f.score >= 0.3 for f in found)
    for decoder in decoders(decode.labelled_rows(CLASSES, unit=unit), [o.spec for o in outputs][::-1], SIZE):
        scenes.same(decoder([o.buffer for o in outputs][::-1], 0.3, 0.45, 40), wanted)


def argmax(numbers: list[float]) -> int:
    return max(range(len(numbers)), key=lambda i: numbers[i])


def test_masks_beside_rows_whose_class_is_picked() -> None:
    shapes = {"boxes": (1, 9, 4), "scores": (1, 9), "mask_coeffs": (1, 9, 32), "class_idx": (1, 9)}
    specs = [nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)), name=name) for name, shape in shapes.items()]
    specs.append(nl.TensorSpec((1, 32, SIZE[0] // 4, SIZE[1] // 4), name="protos"))
    values = {spec.name: np.zeros(spec.shape, np.float32) for spec in specs}
    values["boxes"][0, 4], values["scores"][0, 4] = (8, 8, 40, 40), 0.9
    values["mask_coeffs"][0, 4, 5] = 1
    values["protos"][0, 5, :5] = 1  # 20 rows of pixels
    values["protos"][0, 5, 5:] = -1
    for decoder in decoders(decode.labelled_rows(CLASSES, coefficients=32), specs, SIZE):
        found = decoder([values[spec.name].ravel() for spec in specs])
        assert len(found) == 1 and found.masks is not None
        rows = np.flatnonzero(found.masks.full(0).any(1))
        assert rows.tolist() == list(range(8, 20))


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
    for ends in (
        ("Call:3", "Call:2", "Call:1", "Call:0"),
        ("Call:31", "Call:32", "Call:33", "Call:34"),
    ):  # TensorFlow 2
        renamed = [spec.replace(name=f"StatefulPartitioned{end}") for spec, end in zip(specs, ends)]
        for order in itertools.permutations(range(4)):
            other = decode.Decoder(decode.ssd_postprocessed(CLASSES), [renamed[i] for i in order], SIZE)
            again = other([buffers[i] for i in order], confidence=0.25)
            assert np.array_equal(again.xyxy, found.xyxy) and np.array_equal(again.class_id, found.class_id)
    first = [
        nl.TensorSpec(s, nl.Layout.of_rank(len(s)), name=n) for s, n in zip([(1, 1, 4), (1, 1), (1, 1), (1,)], names)
    ]
    one = decode.Decoder(decode.ssd_postprocessed(CLASSES), first[::-1], SIZE)
    alone = one([np.float32([n]) for n in (1, 0.9, 2)] + [boxes[0, 0]])
    assert alone.class_id.tolist() == [2] and alone.xyxy[0].tolist() == found.xyxy[0].tolist()
    unnamed = [spec.replace(name="abcd"[i]) for i, spec in enumerate(specs)]
    with pytest.raises(nl.LayoutError, match="extents do not distinguish parts"):
        decode.Decoder(decode.ssd_postprocessed(CLASSES), unnamed, SIZE)
    named = decode.Decoder(decode.ssd_postprocessed(CLASSES), unnamed, SIZE, outputs={"label": ["b"], "score": ["c"]})
    assert np.array_equal(named(buffers).xyxy, found.xyxy)


@pytest.mark.parametrize("names", [("num_dets", "det_boxes", "det_scores", "det_classes"), ("a", "b", "c", "d")])
def test_rows_in_pixels(names: tuple[str, ...]) -> None:
    """EfficientNMS, and ultralytics' export for the IMX500: edges left, top, right, bottom."""
    shapes: tuple[tuple[int, ...], ...] = ((1, 1), (1, 3, 4), (1, 3), (1, 3))
    specs = [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), name=n) for s, n in zip(shapes, names)]
    boxes = np.float32([[1, 2, 30, 40], [5, 6, 7, 8], [9, 9, 9, 9]])
    given = [np.float32([2]), boxes.ravel(), np.float32([0.9, 0.8, 0.7]), np.float32([2, 0, 1])]
    outputs = {} if names[0] == "num_dets" else {"score": ["c"], "label": ["d"]}
    for decoder in decoders(decode.ssd_postprocessed(3, yx=False, unit="pixel"), specs, SIZE, outputs=outputs):
        found = decoder(given, 0.1)
        assert found.xyxy.tolist() == boxes[:2].tolist() and found.class_id.tolist() == [2, 0]


@pytest.mark.parametrize("seed", range(12))
def test_rows_of_any_dtype(seed: int) -> None:
    """Labels and their number as any dtype stores them; rows behind that number may have anything."""
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    n, count_of = 60, choose.choice((0, 7, 60, 61))
    shapes = {"box": (1, n, 4), "label": (1, n), "score": (1, n), "count": (1,)}
    real = {
        "box": rng.uniform(0, 1, (1, n, 4)),
        "label": np.where(np.arange(n) < count_of, rng.integers(0, 5, n), 77)[None],
        "score": rng.random((1, n)),
        "count": np.array([count_of]),
    }
    outputs = []
    for name, shape in shapes.items():
        dtype = choose.choice(("int32", "float32", "float16", "uint8", "int16"))
        scale = 1.0 if name in ("label", "count") else 1 / 200
        outputs.append(scenes.output(rng, shape, real[name], nl.Layout.of_rank(len(shape)), dtype, scale, 0, name=name))
    names = {name: [name] for name in ("box", "label", "score")}
    values = {o.spec.name: o.values for o in outputs}
    rows = [i for i in range(n) if i < count_of and float(values["score"][0, i]) >= 0.4]
    rows.sort(key=lambda i: -float(values["score"][0, i]))
    for decoder in decoders(decode.ssd_postprocessed(5), [o.spec for o in outputs], SIZE, outputs=names):
        found = decoder([o.buffer for o in outputs], confidence=0.4)
        assert found.cell.tolist() == rows and found.class_id.tolist() == real["label"][0, rows].tolist()
        assert found.confidence.tolist() == values["score"][0, rows].tolist()
        for k, i in enumerate(rows):
            top, left, bottom, right = values["box"][0, i].astype(float)
            box = np.float32([left * SIZE[1], top * SIZE[0], right * SIZE[1], bottom * SIZE[0]])
            assert np.array_equal(found.xyxy[k], box)


@pytest.mark.parametrize("layout", ["NC", "CN", "NC4c"])
@pytest.mark.parametrize("dtype", ["int64", "uint64", "uint32"])
def test_labels_of_more_bits(dtype: str, layout: str) -> None:
    """RT-DETR's: read by the kernels; a number whose low word alone is a class is none."""
    names = {"boxes": (1, 7, 4), "scores": (1, 7), "labels": (1, 7)}
    specs = [nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)), name=name) for name, shape in names.items()]
    specs[2] = nl.TensorSpec((1, 7), nl.Layout(layout, "NC"), dtype, name="labels")
    scores = np.float32([0.9, 0.2, 0.8, 0.7, 0.1, 0.6, 0.3])
    labels = np.array([4, 9, 0, 3, 2, 1, 4], dtype)[None]
    rest = [np.arange(28, dtype=np.float32), scores]
    head = decode.rtdetr(5)
    for decoder in decoders(head, specs, SIZE):
        assert decoder._made is not None
        found = decoder([*rest, specs[2].pack(labels)], 0.25)
        assert found.class_id.tolist() == [4, 0, 3, 1, 4] and found.cell.tolist() == [0, 2, 3, 5, 6]
        info = np.iinfo(dtype)
        for wrong in (5, info.max, info.min, 2**31, *((2**32 + 1, 2**63) if info.bits == 64 else ())):
            if not (info.min <= wrong <= info.max) or 0 <= wrong < 5:
                continue
            other = labels.copy()
            other[0, 3] = wrong
            with pytest.raises(nl.NpuLayoutError, match="label: expected whole numbers below 5"):
                decoder([*rest, specs[2].pack(other)], 0.25)
            assert len(decoder([*rest, specs[2].pack(other)], 0.75)) == 2


@pytest.mark.parametrize("label", [5, -1, 1.5, np.nan, np.inf, 1e30])
def test_labels_that_are_no_classes(label: float) -> None:
    """Of a row that passes it is an error with each backend, of others not."""
    shapes = {"box": (1, 3, 4), "label": (1, 3), "score": (1, 3), "count": (1,)}
    specs = [nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)), name=name) for name, shape in shapes.items()]
    labels = np.float32([4, label, label])
    for decoder in decoders(decode.ssd_postprocessed(5), specs, SIZE, outputs={k: [k] for k in ("label", "score")}):
        given = [np.zeros(12, np.float32), labels, np.float32([0.9, 0.4, 0.9]), np.float32([2])]
        assert decoder(given, confidence=0.5).class_id.tolist() == [4]
        with pytest.raises(nl.NpuLayoutError, match=r"label: expected whole numbers below 5 \(classes\), got"):
            decoder(given, confidence=0.3)
        assert decoder(given, confidence=0.5).class_id.tolist() == [4]


@pytest.mark.parametrize("seed", range(30))
def test_softmax_has_the_same_bits_with_every_backend(seed: int) -> None:
    """Infinities, NaN, ties and scales along axes; the background anywhere, or none; times objectness."""
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    classes, dtype = choose.choice((1, 3, 20, 90)), choose.choice(scenes.DTYPES)
    background = choose.choice((None, 0, classes // 2, classes))
    product = choose.random() < 0.4
    n = classes + (background is not None)
    parts = [decode.Part("box", 4), decode.Part("score", n, "softmax")]
    parts += [decode.Part("objectness", 1, "sigmoid")] * product
    form = decode.Form("maps", tuple(parts), decode.Boxes("xyxy", unit="pixel"))
    rule, labels = "objectness" if product else "class", choose.choice(("best", "all"))
    head = decode.Head("any", classes, (8,), (form,), (), rule, labels, background)
    outputs = []
    for part in parts:
        real = rng.normal(0, 3, (1, part.count, 9, 16)).round(choose.choice((0, 6)))
        if dtype in ("float32", "float16") and part.role != "box":
            real[rng.random(real.shape) < 0.02] = choose.choice((np.inf, -np.inf, np.nan, 800, 3e4))
        layout = choose.choice(("NCHW", "NHWC", "NCHW16c"))
        outputs.append(scenes.output(rng, real.shape, real, layout, dtype, 0.05, 3, name=part.role))
    specs = [o.spec for o in outputs]
    axis = choose.choice((None, 1, 2, 3))
    if specs[1].quantization is not None and axis is not None:
        steps = np.linspace(0.01, 0.07, specs[1].shape[axis])
        specs[1] = specs[1].replace(quantization=nl.Quantization(steps, 3, axis=axis))
    results = [
        decoder([o.buffer for o in outputs], confidence, 0.7, 2000)
        for decoder in decoders(head, specs, (72, 128), outputs={part.role: [part.role] for part in parts})
        for confidence in (0.1, 0.5, 0.0)
    ]
    assert len(results[0]) > 0
    for i, found in enumerate(results):
        for field in ("xyxy", "confidence", "class_id", "level", "cell"):
            assert getattr(found, field).tobytes() == getattr(results[i % 3 - 3], field).tobytes(), (i, field)


@pytest.mark.parametrize("head", [n.head for n in NETWORKS.values()], ids=list(NETWORKS))
def test_heads_are_data(head: decode.Head) -> None:
    assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head


@pytest.mark.parametrize("yx", [True, False])
def test_ssd_of_other_conventions(yx: bool) -> None:
    """Softmax over classes and background, other variances, every class that passes, and x before y."""
    rng = np.random.default_rng(3)
    boxes, scores = (rng.normal(0, 1, (1, 150, n)).astype(np.float32) for n in (4, 6))
    head = decode.ssd(PRIORS, 5, activation="softmax", labels="all", variances=(0.2, 0.3), yx=yx)
    specs = [nl.TensorSpec(a.shape, nl.Layout.of_rank(3), name=n) for n, a in (("boxes", boxes), ("scores", scores))]
    found = decode.Decoder(head, specs, SIZE)([boxes.ravel(), scores.ravel()], confidence=0.4, iou=1.0, limit=1000)
    wanted = {}
    for i, (cx, cy, w, h) in enumerate(PRIORS.tolist()):
        first, second, third, fourth = (float(n) for n in boxes[0, i])
        x, y, wide, high = (second, first, fourth, third) if yx else (first, second, third, fourth)
        box = corners(cx + x * 0.2 * w, cy + y * 0.2 * h, math.exp(wide * 0.3) * w, math.exp(high * 0.3) * h)
        powers = [math.exp(float(n)) for n in scores[0, i]]
        for label, power in enumerate(powers[1:]):
            if power / sum(powers) >= 0.4:
                wanted[i, label] = [edge * (SIZE[1], SIZE[0])[k % 2] for k, edge in enumerate(box)]
    got = {(int(c), int(k)): box for c, k, box in zip(found.cell, found.class_id, found.xyxy)}
    assert set(got) == set(wanted) and len(wanted) > 20
    for key, box in wanted.items():
        np.testing.assert_allclose(got[key], box, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: decode.ssd([[0.5, 0.5, 0.1]]), r"priors: expected \(n, 4\) numbers, got \(1, 3\)"),
        (lambda: decode.ssd("priors"), "priors: expected"),
        (lambda: decode.ssd(PRIORS, 0), "classes: expected"),
        (lambda: decode.ssd(PRIORS, activation="gelu"), "activation: expected one of"),
        (lambda: decode.ssd(PRIORS, activation="tanh"), "activation: 'tanh' is of 'coefficients' alone"),
        (lambda: decode.ssd(PRIORS, yx=2), "yx: expected"),
        (lambda: decode.ssd(PRIORS, variances=(0.1,)), "variances"),
        (lambda: decode.ssd_postprocessed(1.5), "classes: expected"),
    ],
)
def test_bad_arguments(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        make()
