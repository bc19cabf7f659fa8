"""Networks with public detectors' heads, exported, quantised by onnxruntime, run, and decoded from stored buffers.

What is stored in each layout gives the answers of the same numbers as floats; and those are the answers of the public
formulas, written down here in numpy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.decoders.decoder import use_backend
from tests.support import exports, quantizing, scenes
from tests.support.exports import ANCHORS, CLASSES, EXPORTS, FACES, POINTS, SIDE, SSD_CLASSES, STRIDES, V2_ANCHORS

LAYOUTS = {4: ("NCHW", "NHWC", "NCHW16c"), 3: ("NCW", "NWC", "NCW16c"), 2: ("NC", "CN"), 1: ("N",)}
IMAGES = [exports.image(seed) for seed in range(3)]  # that calibrate
Values = dict[str, np.ndarray]


class Models(NamedTuple):
    """A network as it was exported, and quantised: {output: scale and zero point} of those that are."""

    whole: bytes
    small: bytes
    scales: dict[str, tuple[float, int]]


@functools.cache
def models(export: exports.Export, folder: Path) -> Models:
    net = exports.Net(3)
    export.build(net)
    whole = net.bytes()
    small = quantizing.quantized(whole, folder, IMAGES, export.quantized)
    return Models(whole, small, quantizing.scales(small))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exports")


def axes_of(name: str, rank: int) -> str:
    """The order of an output's axes: names that end in "nhwc" have channels last."""
    return "NHWC" if name.endswith("nhwc") else LAYOUTS[rank][0]


def specs_of(shapes: dict[str, tuple[int, ...]], number: int, scales: dict[str, tuple[float, int]]) -> list[Any]:
    """What an accelerator stores: int8 where there is a scale, each output in the layout of that number."""
    found = []
    for name, shape in shapes.items():
        of = LAYOUTS[len(shape)]
        q = nl.Quantization(*scales[name]) if name in scales else None
        layout = nl.Layout(of[number % len(of)], axes_of(name, len(shape)))
        found.append(nl.TensorSpec(shape, layout, "float32" if q is None else "int8", quantization=q, name=name))
    return found


def plain(values: Values) -> list[nl.TensorSpec]:
    return [nl.TensorSpec(a.shape, nl.Layout(*[axes_of(name, a.ndim)] * 2), name=name) for name, a in values.items()]


def decoded(head: decode.Head, values: Values, *call: Any) -> decode.Detections:
    specs = plain(values)
    return decode.Decoder(head, specs, (SIDE, SIDE))([a.ravel() for a in values.values()], *call)


@pytest.mark.parametrize("small", [True, False], ids=["int8", "float"])
@pytest.mark.parametrize("name", EXPORTS)
def test_stored_bytes_give_the_answers_of_their_values(name: str, small: bool, folder: Path) -> None:
    check_stored_bytes(EXPORTS[name], small, folder)


def check_stored_bytes(export: exports.Export, small: bool, folder: Path) -> None:
    head, made, least = export.head, models(export, folder), export.confidence
    engine = nl.OnnxRuntimeEngine(made.small if small else made.whole, threads=1)
    scales = made.scales if small else {}
    for number in range(3):
        npu = nl.SimulatedNpu(engine, specs_of(engine.output_shapes, number, scales))
        buffers = npu.infer(exports.image(50 + number))
        values = {spec.name: spec.unpack(buffers[spec.name]) for spec in npu.output_specs}
        for key, value in npu.last_float.items():  # a board's bytes are the quantised network's own numbers
            np.testing.assert_allclose(values[key], value, rtol=1e-6, atol=1e-5)
        wanted = decoded(head, values, least)
        assert len(wanted) > 1
        decoder = decode.Decoder(head, npu.output_specs[::-1], (SIDE, SIDE))
        for backend in (kernels.backends()[0], "numpy"):
            use_backend(decoder, backend)
            found = decoder(buffers, least)
            compared = decode.same(found, wanted)
            assert compared and len(compared.matched) == len(found) == len(wanted), compared
            assert compared.pixels == 0 and compared.score == 0
            assert np.array_equal(found.xyxy, wanted.xyxy) and np.array_equal(found.class_id, wanted.class_id)


@pytest.mark.parametrize("layout", LAYOUTS[4])
def test_heatmaps(layout: str, folder: Path) -> None:
    """HRNet's end: a map for each joint, a quarter of the input; the formula is get_final_preds of its source."""
    net = exports.Net(5)
    net.out(net.head(4, exports.POINTS), "maps")
    whole = net.bytes()
    small = quantizing.quantized(whole, folder, IMAGES)
    engine = nl.OnnxRuntimeEngine(small, threads=1)
    npu = nl.SimulatedNpu(
        engine, [specs_of(engine.output_shapes, LAYOUTS[4].index(layout), quantizing.scales(small))[0]]
    )
    assert npu.output_specs[0].dtype == "int8"
    buffer = npu.infer(exports.image(9))["maps"]
    found = decode.heatmap_points(npu.output_specs[0], buffer)
    heat = npu.output_specs[0].unpack(buffer)[0]
    for (x, y, score), one in zip(found[0].tolist(), heat):
        row, column = np.unravel_index(int(one.argmax()), one.shape)
        assert score == one[row, column]
        if score > 0:
            inside = 1 < column < one.shape[1] - 1 and 1 < row < one.shape[0] - 1
            across = np.sign(one[row, column + 1] - one[row, column - 1]) / 4 if inside else 0
            down = np.sign(one[row + 1, column] - one[row - 1, column]) / 4 if inside else 0
            assert (x, y) == (4 * (column + across), 4 * (row + down))


# The public formulas: scores (n, classes) and boxes (n, 4 or 5) of all cells, in the order of levels, cells, anchors.


def sigmoid(x: Any) -> np.ndarray:
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def softmax(x: Any, axis: int) -> np.ndarray:
    power = np.exp(x - x.max(axis, keepdims=True))
    return power / power.sum(axis, keepdims=True)


def listed(v: Values, name: str, anchors: int = 1, strides: Sequence[int] = STRIDES) -> np.ndarray:
    """Maps of all levels as rows of cells, the anchors of a cell one after the other: (n, channels of one anchor)."""
    rows = []
    for s in strides:
        one = v[f"{name}_{s}"][0].astype(np.float64)
        each = one.reshape(anchors, -1, one.shape[1] * one.shape[2])
        rows.append(each.transpose(2, 0, 1).reshape(-1, each.shape[1]))
    return np.concatenate(rows)


def places(strides: Sequence[int] = STRIDES, anchors: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Column and row of the cells of all levels, (n, 2), and strides, (n, 1), each `anchors` times."""
    cell, each = [], []
    for s in strides:
        for row in range(SIDE // s):
            for column in range(SIDE // s):
                cell += [[column, row]] * anchors
                each += [[s]] * anchors
    return np.array(cell, np.float64), np.array(each, np.float64)


def around(middle: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.concatenate([middle - size / 2, middle + size / 2], 1)


def means(x: np.ndarray, bins: int) -> np.ndarray:
    return np.asarray((softmax(x.reshape(len(x), 4, bins), 2) * np.arange(bins)).sum(2))


def beside(sides: np.ndarray, center: float, strides: Sequence[int] = STRIDES, anchors: int = 1) -> np.ndarray:
    cell, stride = places(strides, anchors)
    return np.concatenate([cell + center - sides[:, :2], cell + center + sides[:, 2:]], 1) * stride


def v8(v: Values) -> Any:
    return listed(v, "score"), beside(means(listed(v, "box"), 16), 0.5)


def v8_logits(v: Values) -> Any:
    return sigmoid(listed(v, "score")), beside(means(listed(v, "box"), 16), 0.5)


def v8_pose(v: Values) -> Any:
    scores, boxes = v8(v)
    cell, stride = places()
    joints = listed(v, "joints").reshape(-1, POINTS, 3)
    middle = (2 * joints[..., :2] + cell[:, None]) * stride[:, None]
    return scores, boxes, np.concatenate([middle, sigmoid(joints[..., 2:])], 2)


def pose_list(v: Values) -> Any:
    x = v["out"][0].T.astype(np.float64)
    return x[:, 4:5], around(x[:, :2], x[:, 2:4]), x[:, 5:].reshape(-1, POINTS, 3)


def middle_and_size(v: Values) -> Any:
    x = v["out"][0].T.astype(np.float64)
    return x[:, 4 : 4 + CLASSES], around(x[:, :2], x[:, 2:4])


def obb(v: Values) -> Any:
    sides, angle = means(listed(v, "box"), 16), (sigmoid(listed(v, "angle")) - 0.25) * np.pi
    cell, stride = places()
    half = (sides[:, 2:] - sides[:, :2]) / 2
    cosine, sine = np.cos(angle), np.sin(angle)
    turned = np.concatenate([half[:, :1] * cosine - half[:, 1:] * sine, half[:, :1] * sine + half[:, 1:] * cosine], 1)
    boxes = np.concatenate([turned + cell + 0.5, sides[:, :2] + sides[:, 2:]], 1) * stride
    return listed(v, "score"), np.concatenate([boxes, angle], 1)


def obb_list(v: Values) -> Any:
    x = v["out"][0].T.astype(np.float64)
    return x[:, 4 : 4 + CLASSES], x[:, [0, 1, 2, 3, -1]]


def v5(v: Values, activate: Callable[[Any], np.ndarray] = np.asarray) -> Any:
    x = activate(listed(v, "out", 3))
    cell, stride = places(anchors=3)
    size = np.concatenate([np.tile(sizes, ((SIDE // s) ** 2, 1)) for s, sizes in zip(STRIDES, ANCHORS)])
    boxes = around((2 * x[:, :2] - 0.5 + cell) * stride, (2 * x[:, 2:4]) ** 2 * size)
    return x[:, 4:5] * x[:, 5 : 5 + CLASSES], boxes


def v5_list(v: Values) -> Any:
    x = v["out"][0].astype(np.float64)
    order = []  # the list has all cells of an anchor, then those of the next
    start = 0
    for s in STRIDES:
        n = (SIDE // s) ** 2
        order += [start + a * n + cell for cell in range(n) for a in range(3)]
        start += 3 * n
    return (x[:, 4:5] * x[:, 5:])[order], around(x[:, :2], x[:, 2:4])[order]


def darknet(
    v: Values, strides: Sequence[int], anchors: Any, classes_of: Callable[[Any], np.ndarray], spreads: Any = (1, 1, 1)
) -> Any:
    """Anchors: width and height in pixels, some for each stride; spreads: scale_x_y of each."""
    many = len(anchors[0])
    x = listed(v, "out", many, strides)
    cell, stride = places(strides, many)
    size = np.concatenate([np.tile(sizes, ((SIDE // s) ** 2, 1)) for s, sizes in zip(strides, anchors)])
    spread = np.concatenate([np.full((many * (SIDE // s) ** 2, 1), by) for s, by in zip(strides, spreads)])
    middle = sigmoid(x[:, :2]) * spread - (spread - 1) / 2 + cell
    return sigmoid(x[:, 4:5]) * classes_of(x[:, 5:]), around(middle * stride, np.exp(x[:, 2:4]) * size)


def pose_26(v: Values) -> Any:
    cell, stride = places()
    joints = listed(v, "joints").reshape(-1, POINTS, 3)
    middle = (joints[..., :2] + cell[:, None] + 0.5) * stride[:, None]
    points = np.concatenate([middle, sigmoid(joints[..., 2:])], 2)
    return listed(v, "score"), beside(listed(v, "box"), 0.5), points


def depthai(v: Values) -> Any:
    x = listed(v, "out")
    return x[:, 5:], beside(x[:, :4], 0.5)


def fcos(v: Values) -> Any:
    return np.sqrt(sigmoid(listed(v, "cls")) * sigmoid(listed(v, "center"))), beside(listed(v, "box"), 0.5)


def rtdetr(v: Values) -> Any:
    x = v["boxes"][0].astype(np.float64) * SIDE
    return sigmoid(v["logits"][0]), around(x[:, :2], x[:, 2:])


def yolox(x: np.ndarray) -> Any:
    cell, stride = places()
    return x[:, 4:5] * x[:, 5:], around((x[:, :2] + cell) * stride, np.exp(x[:, 2:4]) * stride)


def x_maps(v: Values) -> Any:
    x = listed(v, "out")
    return yolox(np.concatenate([x[:, :4], sigmoid(x[:, 4:])], 1))


def nanodet(v: Values) -> Any:
    x, strides = v["out"][0].astype(np.float64), (*STRIDES, 64)
    return x[:, :CLASSES], beside(means(x[:, CLASSES:], 8), 0.0, strides)


def ssd(v: Values) -> Any:
    prior, t = exports.priors() * SIDE, v["boxes"][0].astype(np.float64)
    middle = prior[:, :2] + t[:, 1::-1] * 0.1 * prior[:, 2:]
    return sigmoid(v["scores"][0][:, 1:]), around(middle, np.exp(t[:, :1:-1] * 0.2) * prior[:, 2:])


def of_labels(scores: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """A row of scores for each number of a class: 0 of the others."""
    found = np.zeros((len(scores), classes))
    found[np.arange(len(scores)), labels.astype(int)] = scores
    return found


def v10_rows(v: Values) -> Any:
    x = v["out"][0].astype(np.float64)
    return of_labels(x[:, 4], x[:, 5], CLASSES), x[:, :4]


def post_processed(v: Values) -> Any:
    boxes, labels, scores, count = (
        v[f"TFLite_Detection_PostProcess{end}"].astype(np.float64) for end in ("", ":1", ":2", ":3")
    )
    n = int(count[0])
    return of_labels(scores[0, :n], labels[0, :n], SSD_CLASSES), boxes[0, :n][:, [1, 0, 3, 2]] * SIDE


def ppyoloe_list(v: Values) -> Any:
    return v["scores"][0].T.astype(np.float64), v["boxes"][0].astype(np.float64)


def yunet(v: Values) -> Any:
    """The steps of face_detect.cpp: the root of both scores, boxes and landmarks from the corner of their cell."""
    rows = {n: np.concatenate([v[f"{n}_{s}"][0] for s in STRIDES]).astype(np.float64) for n in ("cls", "obj", "bbox")}
    points = np.concatenate([v[f"kps_{s}"][0] for s in STRIDES]).astype(np.float64).reshape(-1, 5, 2)
    cell, stride = places()
    boxes = around((rows["bbox"][:, :2] + cell) * stride, np.exp(rows["bbox"][:, 2:]) * stride)
    return np.sqrt(rows["cls"] * rows["obj"]), boxes, (points + cell[:, None]) * stride[:, None]


def retinaface(v: Values) -> Any:
    cell, stride = places(anchors=2)
    size = np.concatenate([np.tile(sizes, ((SIDE // s) ** 2, 1)) for s, sizes in zip(STRIDES, FACES)]).astype(float)
    t, middle = v["loc"][0].astype(np.float64), (cell + 0.5) * stride
    boxes = around(middle + t[:, :2] * 0.1 * size, np.exp(t[:, 2:] * 0.2) * size)
    points = middle[:, None] + v["landms"][0].reshape(-1, 5, 2).astype(np.float64) * 0.1 * size[:, None]
    return v["conf"][0][:, 1:].astype(np.float64), boxes, points


def scrfd(v: Values) -> Any:
    rows = {n: np.concatenate([v[f"{n}_{s}"] for s in STRIDES]).astype(np.float64) for n in ("score", "bbox", "kps")}
    cell, stride = places(anchors=2)
    points = (cell[:, None] + rows["kps"].reshape(-1, 5, 2)) * stride[:, None]
    return rows["score"], beside(rows["bbox"], 0.0, anchors=2), points


def centernet(v: Values) -> Any:
    """Cells that a neighbour exceeds have no score."""
    heat = v["hm"][0].astype(np.float64)
    wide = np.pad(heat, ((0, 0), (1, 1), (1, 1)), constant_values=-1.0)
    side = heat.shape[1]
    most = np.max([wide[:, y : y + side, x : x + side] for y in range(3) for x in range(3)], 0)
    scores = np.where(heat == most, heat, 0).reshape(CLASSES, -1).T
    size, offset = (v[name][0].reshape(2, -1).T.astype(np.float64) for name in ("wh", "reg"))
    return scores, around(places((4,))[0] + offset, size) * 4


FORMULAS: dict[str, Callable[[Values], Any]] = {
    "v8, 6 outputs": v8,
    "v8, 6 outputs of logits": v8_logits,
    "v8, 9 outputs": v8,
    "v8, a list": middle_and_size,
    "v8-pose": v8_pose,
    "v8-pose, a list": pose_list,
    "v8-seg": v8,
    "v8-obb": obb,
    "v8-obb, a list": obb_list,
    "v2": lambda v: darknet(v, (16,), [np.array(V2_ANCHORS) * 16], lambda x: softmax(x, 1)),
    "v3": lambda v: darknet(v, STRIDES, ANCHORS, sigmoid),
    "v4": lambda v: darknet(v, STRIDES, ANCHORS, sigmoid, (1.2, 1.1, 1.05)),
    "v5": v5,
    "v5, logits": lambda v: v5(v, sigmoid),
    "v5, a list": v5_list,
    "v5-seg": lambda v: v5(v, sigmoid),
    "v6": lambda v: (listed(v, "score"), beside(listed(v, "box"), 0.5)),
    "v10": v8,
    "v10, rows": v10_rows,
    "26": lambda v: (listed(v, "score"), beside(listed(v, "box"), 0.5)),
    "26-pose": pose_26,
    "depthai": depthai,
    "fcos": fcos,
    "rt-detr": rtdetr,
    "x": x_maps,
    "x, a list": lambda v: yolox(v["out"][0].astype(np.float64)),
    "ppyoloe": lambda v: (listed(v, "score"), beside(means(listed(v, "box"), 17), 0.5)),
    "ppyoloe, a list": ppyoloe_list,
    "rtmdet": lambda v: (listed(v, "score"), beside(listed(v, "box"), 0.0)),
    "nanodet": nanodet,
    "ssd": ssd,
    "ssd, post-processed": post_processed,
    "retinaface": retinaface,
    "scrfd": scrfd,
    "yunet": yunet,
    "centernet": centernet,
}


def answers(
    head: decode.Head, scores: np.ndarray, boxes: np.ndarray, least: float, limit: int
) -> list[tuple[int, int]]:
    """Rows and classes of the detections, best first, by the rules that the head states."""
    single = scores.astype(np.float32)
    if head.labels == "best":
        rows = [(i, int(scores[i].argmax())) for i in range(len(scores))]
    else:
        rows = [(i, c) for i in range(len(scores)) for c in range(scores.shape[1])]
    rows = sorted((pair for pair in rows if scores[pair] >= least), key=lambda pair: -single[pair])
    labels = [c for _, c in rows]
    if head.suppression.kind == "probiou":
        return [rows[k] for k in scenes.kept_turned([boxes[i].tolist() for i, _ in rows], labels, 0.45)][:limit]
    if head.suppression.kind != "greedy":
        return rows[:limit]
    given = [scenes.Found(float(single[i, c]), c, 0, i, 0, tuple(boxes[i])) for i, c in rows]
    return [(f.cell, f.class_id) for f in scenes.kept(given, 0.45, limit, extra=head.suppression.extra)]


@pytest.mark.parametrize("small", [True, False], ids=["int8", "float"])
@pytest.mark.parametrize("name", FORMULAS)
def test_answers_are_those_of_the_formula(name: str, small: bool, folder: Path) -> None:
    check_answers(EXPORTS[name], FORMULAS[name], small, folder)


def check_answers(
    export: exports.Export, formula: Callable[[Values], Any], small: bool, folder: Path
) -> tuple[decode.Detections, np.ndarray, Values]:
    """Return what was found, the rows of the formula's answers that it is of, and what was stored, as real numbers."""
    head, made, least = export.head, models(export, folder), export.confidence
    engine = nl.OnnxRuntimeEngine(made.small if small else made.whole, threads=1)
    npu = nl.SimulatedNpu(engine, specs_of(engine.output_shapes, 2, made.scales if small else {}))
    buffers = npu.infer(exports.image(60))
    values = {s.name: s.unpack(buffers[s.name]) for s in npu.output_specs}
    scores, boxes, *points = formula(values)
    wanted = answers(head, scores, boxes, least, 100)
    found = decode.Decoder(head, npu.output_specs, (SIDE, SIDE))(buffers, least, 0.45, 100)
    assert len(found) == len(wanted) > 1
    rows, labels = (np.array(column) for column in zip(*wanted))
    assert np.array_equal(found.class_id, labels)
    np.testing.assert_array_max_ulp(found.confidence, scores[rows, labels].astype(np.float32), 1)
    own = found.xyxy if boxes.shape[1] == 4 else found.xywha
    np.testing.assert_allclose(own, boxes[rows], rtol=1e-5, atol=1e-4)
    for one in points:
        np.testing.assert_allclose(found.keypoints, one[rows], rtol=1e-5, atol=1e-4)
    return found, rows, values


def test_each_export_has_its_formula() -> None:
    """test_other_exports.py has the other networks, and finds those that have none."""
    assert FORMULAS.keys() == EXPORTS.keys()
    assert SSD_CLASSES + 1 != 4  # boxes and scores are compared apart by their channels
