"""The heads of face detectors against their formulas, written down as loops over cells in plain numbers."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support import scenes
from tests.support.backends import decoders
from tests.support.networks import (
    SIZE,
    STRIDES,
    Cell,
    Network,
    Values,
    cells,
    compare,
    corners,
    count,
    grid,
    sides,
    sigmoid,
)


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


def retinaface_maps(v: Values) -> Iterator[Any]:
    """Hailo's: the channels of each map prior by prior."""
    for c in cells(anchors=2):
        size = decode.retinaface().anchors[c.level][c.anchor][0]
        t, conf, m = (
            v[f"{name}_{c.stride}"][0, n * c.anchor : n * c.anchor + n, c.y, c.x].astype(float)
            for name, n in (("loc", 4), ("conf", 2), ("landms", 10))
        )
        cx, cy = (c.x + 0.5) * c.stride, (c.y + 0.5) * c.stride
        box = corners(cx + t[0] * 0.1 * size, cy + t[1] * 0.1 * size, *(size * math.exp(n * 0.2) for n in t[2:]))
        points = [(cx + m[2 * i] * 0.1 * size, cy + m[2 * i + 1] * 0.1 * size) for i in range(5)]
        yield c, [1 / (1 + math.exp(conf[0] - conf[1]))], box, points


MIN_BOXES = {8: (10, 16, 24), 16: (32, 48), 32: (64, 96), 64: (128, 192, 256)}


def ultraface_list(v: Values) -> Iterator[Any]:
    """Edges, the whole input being 1, and both scores."""
    i = 0
    for level, (s, sides_of) in enumerate(MIN_BOXES.items()):
        for cell, a in itertools.product(range(math.prod(grid(s))), range(len(sides_of))):
            box = tuple(float(n) * side for n, side in zip(v["boxes"][0, i], SIZE[::-1] * 2))
            yield Cell(level, s, 0, 0, cell, a, 0, 0), [float(v["scores"][0, i, 1])], box, []
            i += 1


PRIORS_OF_FACES = sum(len(v) * math.prod(grid(s)) for s, v in MIN_BOXES.items())
SIDE, LAYERS = 64, (8, 16, 16)  # of BlazeFace: a layer has two priors in each cell


def blazeface(v: Values) -> Iterator[Any]:
    i = 0
    for stride, priors in ((8, 2), (16, 4)):
        for y, x, _ in itertools.product(range(SIDE // stride), range(SIDE // stride), range(priors)):
            cx, cy = (x + 0.5) * stride / SIDE, (y + 0.5) * stride / SIDE
            t = v["regressors"][0, i].astype(float) / SIDE
            box = corners((cx + t[0]) * SIZE[1], (cy + t[1]) * SIZE[0], t[2] * SIZE[1], t[3] * SIZE[0])
            points = [((cx + t[k]) * SIZE[1], (cy + t[k + 1]) * SIZE[0]) for k in range(4, 16, 2)]
            yield Cell(0, 1, 0, i, i, 0, i, i), [sigmoid(v["classificators"][0, i, 0])], box, points
            i += 1


@pytest.mark.parametrize("form", ["maps", "lists of each stride", "one list"])
def test_blazeface_of_each_stride(form: str) -> None:
    """The same numbers as maps (Hailo), as lists of each stride (AI Hub), and as one list."""
    rng, size = np.random.default_rng(2), (SIDE, SIDE)
    values = {"regressors": rng.normal(0, 4, (1, 192, 16)), "classificators": rng.normal(0, 4, (1, 192, 1))}
    values = {name: array.astype(np.float32) for name, array in values.items()}
    given: dict[str, np.ndarray] = dict(values)
    if form != "one list":
        given, start = {}, 0
        for stride, priors in ((8, 2), (16, 4)):
            side, end = SIDE // stride, start + priors * (SIDE // stride) ** 2
            for name, array in values.items():
                n, part = array.shape[2], array[:, start:end]
                shaped = part.reshape(1, side, side, priors * n).transpose(0, 3, 1, 2)
                given[f"{name}_{stride}"] = shaped if form == "maps" else part
            start = end
    specs = [nl.TensorSpec(x.shape, nl.Layout.of_rank(x.ndim), name=name) for name, x in given.items()]
    wanted = sorted(_of_square(values), key=lambda row: -row[0])
    head = decode.blazeface(SIDE, LAYERS)
    for decoder in decoders(dataclasses.replace(head, suppression=decode.Suppression("none")), specs, size):
        found = decoder([np.ascontiguousarray(x).ravel() for x in given.values()], 0.5, limit=300)
        assert len(found) == len(wanted) > 50
        for k, (score, place, box, points) in enumerate(wanted):
            assert found.confidence[k] == np.float32(score)
            assert (found.level[k], found.cell[k], found.anchor[k]) == place
            np.testing.assert_allclose(found.xyxy[k], box, rtol=1e-5, atol=1e-4)
            np.testing.assert_allclose(found.keypoints[k], points, rtol=1e-5, atol=1e-4)


def _of_square(v: Values) -> Iterator[Any]:
    """Scores of at least 0.5 with level, cell and anchor, boxes and points, of an input of SIDE pixels."""
    i = 0
    for level, (stride, priors) in enumerate(((8, 2), (16, 4))):
        for y, x, a in itertools.product(range(SIDE // stride), range(SIDE // stride), range(priors)):
            t, score = v["regressors"][0, i].astype(float), sigmoid(v["classificators"][0, i, 0])
            cx, cy, i = (x + 0.5) * stride, (y + 0.5) * stride, i + 1
            points = [(cx + t[k], cy + t[k + 1]) for k in range(4, 16, 2)]
            if score >= 0.5:
                yield score, (level, y * SIDE // stride + x, a), corners(cx + t[0], cy + t[1], t[2], t[3]), points


FACES = (((4, 5), (8, 10), (13, 16)), ((23, 29), (43, 55), (73, 105)), ((146, 217), (231, 300), (335, 433)))


def yolov5_face(v: Values) -> Iterator[Any]:
    """Landmarks of the last convolution: times the anchor, from the corner of the cell."""
    for c in cells(anchors=3):
        e = [float(n) for n in v[f"out_{c.stride}"][0, 16 * c.anchor : 16 * c.anchor + 16, c.y, c.x]]
        (w, h), (bx, by, bw, bh) = FACES[c.level][c.anchor], (2 * sigmoid(n) for n in e[:4])
        box = corners((bx - 0.5 + c.x) * c.stride, (by - 0.5 + c.y) * c.stride, bw * bw * w, bh * bh * h)
        points = [(e[k] * w + c.x * c.stride, e[k + 1] * h + c.y * c.stride) for k in range(5, 15, 2)]
        yield c, [sigmoid(e[4]) * sigmoid(e[15])], box, points


def yolov5_face_list(v: Values) -> Iterator[Any]:
    """The list has all cells of an anchor, then those of the next."""
    start, rows = 0, v["out"][0].astype(float)
    for level, s in enumerate(STRIDES):
        n = math.prod(grid(s))
        for cell, a in itertools.product(range(n), range(3)):
            e = rows[start + a * n + cell]
            y, x = divmod(cell, grid(s)[1])
            points = [(e[k], e[k + 1]) for k in range(5, 15, 2)]
            yield Cell(level, s, y, x, cell, a, 0, 0), [e[4] * e[15]], corners(*e[:4]), points
        start += 3 * n


NETWORKS = {
    "blazeface": Network(
        decode.blazeface(SIDE, LAYERS),
        {"regressors": (1, 192, 16), "classificators": (1, 192, 1)},
        blazeface,
        probabilities=False,
        spread=4,
    ),
    "yolov5-face": Network(
        decode.yolov5_face(activation="sigmoid"),
        {f"out_{s}": (1, 48, *grid(s)) for s in STRIDES},
        yolov5_face,
        probabilities=False,
    ),
    "yolov5-face, a list": Network(decode.yolov5_face(), {"out": (1, count(anchors=3), 16)}, yolov5_face_list),
    "retinaface": Network(
        decode.retinaface(activation="softmax"),
        {"loc": (1, count(anchors=2), 4), "conf": (1, count(anchors=2), 2), "landms": (1, count(anchors=2), 10)},
        retinaface,
        extra=1,
        probabilities=False,
    ),
    "retinaface of Hailo": Network(
        decode.retinaface(activation="softmax"),
        {f"{name}_{s}": (1, 2 * n, *grid(s)) for name, n in (("loc", 4), ("conf", 2), ("landms", 10)) for s in STRIDES},
        retinaface_maps,
        extra=1,
        probabilities=False,
    ),
    "ultraface": Network(
        decode.ultraface(SIZE),
        {"boxes": (1, PRIORS_OF_FACES, 4), "scores": (1, PRIORS_OF_FACES, 2)},
        ultraface_list,
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
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NETWORKS)
def test_faces(name: str, seed: int) -> None:
    compare(NETWORKS[name], name, seed)


@pytest.mark.parametrize("seed", range(3))
def test_ultraface_on_maps(seed: int) -> None:
    """Hailo's: another number of priors at each level, none of them larger than the input, of 128x192 pixels."""
    size, rng, outputs, found = (128, 192), np.random.default_rng(seed), [], []
    for level, (s, sides_of) in enumerate(MIN_BOXES.items()):
        rows, columns = size[0] // s, size[1] // s
        shapes = ((f"{name}_{s}", (1, n * len(sides_of), rows, columns)) for name, n in (("box", 4), ("raw", 2)))
        pair = [scenes.output(rng, x, rng.normal(0, 2, x), "NHWC", "int8", 0.05, 3, name=name) for name, x in shapes]
        outputs += pair
        for y, x, (a, side) in itertools.product(range(rows), range(columns), enumerate(sides_of)):
            w, h = min(side, size[1]), min(side, size[0])
            t = pair[0].values[0, 4 * a : 4 * a + 4, y, x].astype(float)
            none, face = pair[1].values[0, 2 * a : 2 * a + 2, y, x].astype(float)
            cx, cy = (x + 0.5) * s + t[0] * 0.1 * w, (y + 0.5) * s + t[1] * 0.1 * h
            box = corners(cx, cy, math.exp(t[2] * 0.2) * w, math.exp(t[3] * 0.2) * h)
            score = float(np.float32(sigmoid(face - none)))
            found.append(scenes.Found(score, 0, level, y * columns + x, a, box))
    wanted = scenes.kept(sorted((f for f in found if f.score >= 0.6), key=lambda f: -f.score), 0.9, 900)
    assert 200 < len(wanted) < 900 and {f.level for f in wanted} == {0, 1, 2, 3}
    head = decode.ultraface(size, activation="softmax")
    for decoder in decoders(head, [o.spec for o in outputs][::-1], size):
        scenes.same(decoder([o.buffer for o in outputs][::-1], 0.6, 0.9, 900), wanted)


@pytest.mark.parametrize("head", [n.head for n in NETWORKS.values()], ids=list(NETWORKS))
def test_heads_are_data(head: decode.Head) -> None:
    assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head


def test_scrfds_maps_are_its_rows() -> None:
    """The same numbers as rows (n, k), two anchors a cell, and as maps, the channels anchor by anchor."""
    rng, rows, maps = np.random.default_rng(1), {}, {}
    for s in STRIDES:
        high, wide = grid(s)
        for name, k in {"score": 1, "bbox": 4, "kps": 10}.items():
            values = rng.random((high * wide * 2, k)).astype(np.float32)
            rows[f"{name}_{s}"] = values
            planes = np.empty((1, 2 * k, high, wide), np.float32)
            for row in range(len(values)):
                cell, anchor = divmod(row, 2)
                planes[0, anchor * k : (anchor + 1) * k, cell // wide, cell % wide] = values[row]
            maps[f"{name}_{s}"] = planes
    found = []
    for given in (rows, maps):
        specs = [nl.TensorSpec(a.shape, nl.Layout.of_rank(a.ndim), name=n) for n, a in given.items()]
        decoder = decode.Decoder(decode.scrfd(), specs, SIZE)
        found.append(decoder({n: a.ravel() for n, a in given.items()}, confidence=0.8))
    one, two = found
    assert len(one) > 5 and set(one.anchor.tolist()) == {0, 1}
    for field in ("xyxy", "confidence", "keypoints", "level", "cell", "anchor"):
        assert np.array_equal(getattr(one, field), getattr(two, field)), field


def test_scrfd_without_landmarks() -> None:
    rng = np.random.default_rng(2)
    values = {
        f"{name}_{s}": rng.random((2 * math.prod(grid(s)), k)).astype(np.float32)
        for name, k in {"score": 1, "bbox": 4}.items()
        for s in STRIDES
    }
    specs = [nl.TensorSpec(a.shape, nl.Layout.of_rank(2), name=n) for n, a in values.items()]
    found = decode.Decoder(decode.scrfd(keypoints=0), specs, SIZE)({n: a.ravel() for n, a in values.items()}, 0.9)
    assert len(found) and found.keypoints is None and set(found.class_id.tolist()) == {0}


def test_yunets_outputs_are_known_by_their_names() -> None:
    """cls and obj have one shape: without the hints in their names nobody knows which is which, unless it is said."""
    network = NETWORKS["yunet"]
    values = {name: np.random.default_rng(len(name)).random(s).astype(np.float32) for name, s in network.shapes.items()}
    specs = [nl.TensorSpec(a.shape, nl.Layout.of_rank(3), name=n) for n, a in values.items()]
    wanted = decode.Decoder(network.head, specs, SIZE)({n: a.ravel() for n, a in values.items()}, 0.5)
    unnamed = [spec.replace(name=f"t{i}") for i, spec in enumerate(specs)]
    with pytest.raises(nl.LayoutError, match="extents do not distinguish parts"):
        decode.Decoder(network.head, unnamed, SIZE)
    own = {spec.name: new.name for spec, new in zip(specs, unnamed)}
    said = {"score": [own[f"cls_{s}"] for s in STRIDES], "objectness": [own[f"obj_{s}"] for s in STRIDES]}
    got = decode.Decoder(network.head, unnamed, SIZE, outputs=said)([a.ravel() for a in values.values()], 0.5)
    assert len(wanted) and np.array_equal(got.confidence, wanted.confidence) and np.array_equal(got.xyxy, wanted.xyxy)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: decode.retinaface(anchors=[[(16, 16)]]), "anchors: expected some for each of 3 strides"),
        (lambda: decode.retinaface(strides=(0,)), "strides"),
        (lambda: decode.scrfd(keypoints=-1), "keypoints: expected"),
        (lambda: decode.scrfd(activation="relu"), "activation: expected one of"),
        (lambda: decode.yunet(strides=8), "strides"),
    ],
)
def test_bad_arguments(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        make()


def test_blazefaces_priors_are_those_of_mediapipe() -> None:
    """Their number for the published networks, and the first and last of each layer."""
    for given, keypoints, count_ in (
        ((128, (8, 16, 16, 16)), 6, 896),
        ((256, (16, 32, 32, 32)), 6, 896),
        ((192, (8, 16, 16, 16)), 7, 2016),
        ((224, (8, 16, 32, 32, 32)), 4, 2254),
    ):
        assert len(decode.blazeface(*given, keypoints=keypoints).priors) == count_
    assert len(decode.blazeface(192, (4,), anchors=1).priors) == 2304
    priors = decode.blazeface().priors
    assert priors[0] == priors[1] == (0.5 / 16, 0.5 / 16, 1, 1) and priors[2][:2] == (1.5 / 16, 0.5 / 16)
    assert priors[511][:2] == (15.5 / 16, 15.5 / 16) and priors[512] == priors[517] == (0.5 / 8, 0.5 / 8, 1, 1)
    assert priors[518][:2] == (1.5 / 8, 0.5 / 8)
    with pytest.raises(nl.NpuLayoutError, match="side"):
        decode.blazeface(0)
    plain = decode.blazeface(keypoints=0)
    assert plain.keypoints is None and plain.forms[0].part("keypoints") is None


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_face_det_lite(dtype: str) -> None:
    """Peaks of the heat; sides and landmarks from the corners of their cells, x of all landmarks first."""
    rng, (rows, columns) = np.random.default_rng(6), (9, 13)
    heat, box, land = (
        scenes.output(rng, x, rng.normal(0, 2, x), "NHWC", dtype, 0.05, 3, name=name)
        for name, x in (("heatmap", (1, 1, 9, 13)), ("bbox", (1, 4, 9, 13)), ("landmark", (1, 10, 9, 13)))
    )
    h, wanted = heat.values[0, 0].astype(float), []
    for y, x in itertools.product(range(rows), range(columns)):
        around = h[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
        if h[y, x] == around.max() and sigmoid(h[y, x]) >= 0.55:
            left, top, right, bottom = box.values[0, :, y, x].astype(float)
            m = land.values[0, :, y, x].astype(float)
            edges = ((x - left) * 8, (y - top) * 8, (x + right) * 8, (y + bottom) * 8)
            points = [((x + m[i]) * 8, (y + m[5 + i]) * 8) for i in range(5)]
            wanted.append((np.float32(sigmoid(h[y, x])), y * columns + x, edges, points))
    wanted.sort(key=lambda row: (-row[0], row[1]))
    assert len(wanted) > 5
    specs = [land.spec, heat.spec, box.spec]
    for decoder in decoders(decode.face_det_lite(), specs, (72, 104)):
        found = decoder([land.buffer, heat.buffer, box.buffer], 0.55)
        assert found.cell.tolist() == [cell for _, cell, _, _ in wanted]
        np.testing.assert_array_max_ulp(found.confidence, np.array([row[0] for row in wanted]), 1)
        np.testing.assert_allclose(found.xyxy, [row[2] for row in wanted], rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(found.keypoints, [row[3] for row in wanted], rtol=1e-5, atol=1e-4)
    plain = decode.face_det_lite(keypoints=0)
    assert plain.keypoints is None and len(decode.Decoder(plain, [heat.spec, box.spec], (72, 104)).specs) == 2


def test_foot_track_net_has_a_decoder_for_each_class() -> None:
    """Each class has a box of its own (quic/ai-hub-models, foot_track_net/app.py, detect_images_multiclass_fb)."""
    rng = np.random.default_rng(7)
    rows, columns, stride = 16, 24, 4
    heat = rng.random((3, rows, columns)).astype(np.float32) ** 4
    tlrb = rng.uniform(0.5, 4, (12, rows, columns)).astype(np.float32)
    landmark = rng.normal(0, 3, (34, rows, columns)).astype(np.float32)
    for k, least, iou, joints in ((0, 0.6, 0.2, 0), (1, 0.7, 0.5, 17)):
        passing = []
        for cell, (y, x) in enumerate(itertools.product(range(rows), range(columns))):
            left, top, right, bottom = (float(n) for n in tlrb[4 * k : 4 * k + 4, y, x])
            box = ((x - left) * stride, (y - top) * stride, (x + right) * stride, (y + bottom) * stride)
            if heat[k, y, x] >= least:
                passing.append(scenes.Found(float(heat[k, y, x]), 0, 0, cell, 0, box))
        wanted = scenes.kept(sorted(passing, key=lambda f: -f.score), iou, 100)
        assert 10 < len(wanted) < len(passing)
        parts = {"heat": heat[k : k + 1], "box": tlrb[4 * k : 4 * k + 4], "landmark": landmark}
        given = {name: part for name, part in parts.items() if joints or name != "landmark"}
        specs = [nl.TensorSpec((1, *part.shape), "NCHW", name=name) for name, part in given.items()]
        head = decode.face_det_lite(stride, keypoints=joints, activation="none")
        for decoder in decoders(dataclasses.replace(head, suppression=decode.Suppression()), specs, (64, 96)):
            found = decoder([part.ravel() for part in given.values()], least, iou, 100)
            scenes.same(found, wanted)
            for f, points in zip(wanted, found.keypoints if joints else ()):
                y, x = divmod(f.cell, columns)
                expected = [
                    [(x + landmark[i, y, x]) * stride, (y + landmark[17 + i, y, x]) * stride] for i in range(17)
                ]
                assert np.allclose(points, expected, rtol=1e-6)
