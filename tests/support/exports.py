"""Small networks with the heads of public detectors: a stem of convolutions, and each head as its definition shapes,
activates and concatenates its outputs; weights are random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper, shape_inference

from npu_layout import decode

SIDE, CLASSES, POINTS = 64, 3, 17
STRIDES = (8, 16, 32)
ANCHORS = (((6, 9), (10, 8), (14, 20)), ((18, 14), (20, 30), (33, 25)), ((40, 30), (30, 50), (60, 60)))
V2_ANCHORS = ((0.6, 0.9), (1.2, 0.7), (1.5, 1.6), (2.2, 1.1), (1.1, 2.4))  # in cells
FACES = (((8, 8), (16, 16)), ((24, 24), (32, 32)), ((48, 48), (60, 60)))
FEATURES, SSD_CLASSES = 16, 5


def image(seed: int) -> np.ndarray:
    """Squares of one color each, and noise."""
    rng = np.random.default_rng(seed)
    colors = np.kron(rng.random((3, SIDE // 8, SIDE // 8)), np.ones((8, 8)))
    return (colors + rng.normal(0, 0.1, colors.shape))[None].astype(np.float32)


class Net:
    """An ONNX graph that grows by a node a call; each call returns the name of its result."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.outputs: list[str] = []
        self.features: dict[int, str] = {}
        last = self.conv("image", 3, FEATURES, 3, 4, relu=True)
        for stride in (4, 8, 16, 32, 64):
            self.features[stride] = last
            last = self.conv(last, FEATURES, FEATURES, 3, 2, relu=True)

    def op(self, kind: str, *inputs: str, name: str = "", count: int = 1, **attributes: Any) -> str:
        made = name or f"t{len(self.nodes)}"
        names = [made, *(f"{made}_{i}" for i in range(1, count))]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"n{len(self.nodes)}", **attributes))
        return made

    def const(self, values: Any, dtype: Any = np.float32) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def conv(
        self, x: str, given: int, n: int, kernel: int = 1, stride: int = 1, *, relu: bool = False, gain: float = 2.0,
        bias: Any = 0.0, weights: Any = None,
    ) -> str:  # fmt: skip
        if weights is None:
            weights = self.rng.normal(0, gain / np.sqrt(given * kernel * kernel), (n, given, kernel, kernel))
        shifts = np.broadcast_to(np.asarray(bias, np.float32), (n,))
        pads = [kernel // 2] * 4
        made = self.op("Conv", x, self.const(weights), self.const(shifts), strides=[stride] * 2, pads=pads)
        return self.op("Relu", made) if relu else made

    def head(self, stride: int, n: int, gain: float = 2.0, bias: Any = 0.0) -> str:
        """A 1x1 convolution of a level's features."""
        return self.conv(self.features[stride], FEATURES, n, gain=gain, bias=bias)

    def scores(self, stride: int, n: int = CLASSES, bias: float = -1.0) -> str:
        return self.head(stride, n, 4.0, bias)

    def sigmoid(self, x: str) -> str:
        return self.op("Sigmoid", x)

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("Reshape", x, self.const(shape, np.int64))

    def transpose(self, x: str, *axes: int) -> str:
        return self.op("Transpose", x, perm=axes)

    def concat(self, parts: Sequence[str], axis: int) -> str:
        return self.op("Concat", *parts, axis=axis) if len(parts) > 1 else parts[0]

    def part(self, x: str, first: int, end: int, axis: int = 1, step: int = 1) -> str:
        return self.op("Slice", x, *(self.const([v], np.int64) for v in (first, end, axis, step)))

    def rows(self, x: str, n: int, *lead: int) -> str:
        """A map (1, k n, h, w) as (lead, cells k, n): what `permute(0, 2, 3, 1).reshape(-1, n)` makes."""
        return self.reshape(self.transpose(x, 0, 2, 3, 1), *lead, -1, n)

    def cells(self, x: str, n: int) -> str:
        return self.reshape(x, 1, n, -1)

    def out(self, x: str, name: str) -> None:
        self.outputs.append(self.op("Identity", x, name=name))

    def bytes(self) -> bytes:
        graph = helper.make_graph(
            self.nodes,
            "head",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        return bytes(shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).SerializeToString())


def points_of(strides: Sequence[int] = STRIDES, center: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Centres (2, cells) in cells, and strides (cells,): `make_anchors` of ultralytics."""
    centers, each = [], []
    for s in strides:
        y, x = np.mgrid[: SIDE // s, : SIDE // s]
        centers.append(np.stack([x, y]).reshape(2, -1) + center)
        each.append(np.full(centers[-1].shape[1], s))
    return np.concatenate(centers, 1), np.concatenate(each)


def maps(**parts: Callable[[Net, int], str]) -> Callable[[Net], None]:
    """A map of each part for each stride."""

    def build(net: Net) -> None:
        for s in STRIDES:
            for name, part in parts.items():
                net.out(part(net, s), f"{name}_{s}")

    return build


def probabilities(net: Net, s: int) -> str:
    return net.sigmoid(net.scores(s))


def v8_sums(net: Net) -> None:
    """airockchip's nine outputs: the third is the sum of the scores, clipped."""
    for s in STRIDES:
        score = probabilities(net, s)
        total = net.op("ReduceSum", score, net.const([1], np.int64), keepdims=1)
        net.out(net.head(s, 64), f"box_{s}")
        net.out(score, f"score_{s}")
        net.out(net.op("Clip", total, net.const(0.0), net.const(1.0)), f"sum_{s}")


def sides_of(net: Net, bins: int = 16) -> tuple[str, str]:
    """Left and top, right and bottom of every cell, (1, 2, cells) each: DFL."""
    box = net.concat([net.cells(net.head(s, 4 * bins), 4 * bins) for s in STRIDES], 2)
    shares = net.op("Softmax", net.transpose(net.reshape(box, 1, 4, bins, -1), 0, 2, 1, 3), axis=1)
    means = net.conv(shares, bins, 1, weights=np.arange(bins).reshape(1, bins, 1, 1))
    sides = net.reshape(means, 1, 4, -1)
    return net.part(sides, 0, 2), net.part(sides, 2, 4)


def edges_of(net: Net, bins: int = 16) -> tuple[str, str]:
    """The first and the last corner of boxes in cells: `dist2bbox`."""
    near, far = sides_of(net, bins)
    middle = net.const(points_of()[0][None])
    return net.op("Sub", middle, near), net.op("Add", middle, far)


def centered(net: Net, near: str, far: str) -> str:
    middle = net.op("Mul", net.op("Add", near, far), net.const(0.5))
    return net.op("Mul", net.concat([middle, net.op("Sub", far, near)], 1), net.const(points_of()[1]))


def all_scores(net: Net, n: int = CLASSES) -> str:
    return net.sigmoid(net.concat([net.cells(net.scores(s, n), n) for s in STRIDES], 2))


def v8_list(net: Net) -> None:
    net.out(net.concat([centered(net, *edges_of(net)), all_scores(net)], 1), "out")


def pose_list(net: Net) -> None:
    """`kpts_decode`: (2 v + centre - 0.5) stride, and the sigmoid of visibility."""
    boxes, scores = centered(net, *edges_of(net)), all_scores(net, 1)
    joints = net.concat([net.cells(net.head(s, 3 * POINTS), 3 * POINTS) for s in STRIDES], 2)
    each = net.reshape(joints, 1, POINTS, 3, -1)
    place, strides = points_of()
    moved = net.op("Add", net.op("Mul", net.part(each, 0, 2, 2), net.const(2.0)), net.const(place[None, None] - 0.5))
    both = [net.op("Mul", moved, net.const(strides)), net.sigmoid(net.part(each, 2, 3, 2))]
    net.out(net.concat([boxes, scores, net.reshape(net.concat(both, 2), 1, 3 * POINTS, -1)], 1), "out")


def obb_list(net: Net) -> None:
    """`dist2rbox`: the middle of the sides turned around the cell; the angle (sigmoid - 0.25) pi comes last."""
    near, far = sides_of(net)
    turn = net.sigmoid(net.concat([net.cells(net.head(s, 1), 1) for s in STRIDES], 2))
    angle = net.op("Mul", net.op("Sub", turn, net.const(0.25)), net.const(np.pi))
    cosine, sine = net.op("Cos", angle), net.op("Sin", angle)
    half = net.op("Mul", net.op("Sub", far, near), net.const(0.5))
    x, y = net.part(half, 0, 1), net.part(half, 1, 2)
    turned = [
        net.op("Sub", net.op("Mul", x, cosine), net.op("Mul", y, sine)),
        net.op("Add", net.op("Mul", x, sine), net.op("Mul", y, cosine)),
    ]
    place, strides = points_of()
    middle = net.op("Add", net.concat(turned, 1), net.const(place[None]))
    boxes = net.op("Mul", net.concat([middle, net.op("Add", near, far)], 1), net.const(strides))
    net.out(net.concat([boxes, all_scores(net), angle], 1), "out")


def with_prototypes(build: Callable[[Net], None]) -> Callable[[Net], None]:
    def both(net: Net) -> None:
        build(net)
        net.out(net.conv(net.features[4], FEATURES, 32, relu=True), "prototypes")

    return both


def v5_part(beside: int = 0, activated: bool = True) -> Callable[[Net, int], str]:
    def part(net: Net, s: int) -> str:
        each = 5 + CLASSES + beside
        bias = np.tile([0.0] * 4 + [0.5] + [0.5] * CLASSES + [0.0] * beside, 3)
        raw = net.conv(net.features[s], FEATURES, 3 * each, gain=3.0, bias=bias)
        return net.sigmoid(raw) if activated else raw

    return part


def darknet(strides: Sequence[int], anchors: int) -> Callable[[Net], None]:
    """What is before the region and yolo layers of Darknet: a convolution for each stride."""

    def build(net: Net) -> None:
        bias = np.tile([0.0] * 4 + [0.5] * (1 + CLASSES), anchors)
        gain = np.tile([2.0, 2.0, 0.5, 0.5] + [3.0] * (1 + CLASSES), anchors)[:, None, None, None]
        for s in strides:
            weights = net.rng.normal(0, 1 / np.sqrt(FEATURES), (len(bias), FEATURES, 1, 1)) * gain
            net.out(net.conv(net.features[s], FEATURES, len(bias), bias=bias, weights=weights), f"out_{s}")

    return build


def v5_list(net: Net) -> None:
    """`Detect.forward`: anchors have an axis, then every number gets a sigmoid, and boxes are decoded to pixels."""
    listed = []
    for s, sizes in zip(STRIDES, ANCHORS):
        raw = net.reshape(v5_part(activated=False)(net, s), 1, 3, 5 + CLASSES, SIDE // s, SIDE // s)
        y = net.sigmoid(net.transpose(raw, 0, 1, 3, 4, 2))
        row, column = np.mgrid[: SIDE // s, : SIDE // s]
        grid = np.broadcast_to(np.stack([column, row], 2) - 0.5, (1, 3, SIDE // s, SIDE // s, 2))
        double = [net.op("Mul", net.part(y, *ends, 4), net.const(2.0)) for ends in ((0, 2), (2, 4))]
        middle = net.op("Mul", net.op("Add", double[0], net.const(grid)), net.const(float(s)))
        size = net.op("Mul", net.op("Mul", double[1], double[1]), net.const(np.reshape(sizes, (1, 3, 1, 1, 2))))
        each = net.concat([middle, size, net.part(y, 4, 5 + CLASSES, 4)], 4)
        listed.append(net.reshape(each, 1, -1, 5 + CLASSES))
    net.out(net.concat(listed, 1), "out")


def x_part(activated: bool) -> Callable[[Net, int], str]:
    def part(net: Net, s: int) -> str:
        scores = [net.scores(s, n, 0.5) for n in (1, CLASSES)]
        return net.concat([net.head(s, 4, 1.0), *(map(net.sigmoid, scores) if activated else scores)], 1)

    return part


def x_list(net: Net) -> None:
    n = 5 + CLASSES
    net.out(net.transpose(net.concat([net.cells(x_part(True)(net, s), n) for s in STRIDES], 2), 0, 2, 1), "out")


def nanodet(net: Net) -> None:
    listed = [net.cells(net.concat([probabilities(net, s), net.head(s, 32)], 1), CLASSES + 32) for s in (*STRIDES, 64)]
    net.out(net.transpose(net.concat(listed, 2), 0, 2, 1), "out")


def ppyoloe_list(net: Net) -> None:
    edges = net.op("Mul", net.concat(edges_of(net, 17), 1), net.const(points_of()[1]))
    net.out(net.transpose(edges, 0, 2, 1), "boxes")
    net.out(all_scores(net), "scores")


def best_rows(net: Net) -> None:
    """YOLOv10's end: the best scores of all cells and classes, as rows of edges, score and class."""
    edges = net.op("Mul", net.concat(edges_of(net), 1), net.const(points_of()[1]))
    flat = net.reshape(net.transpose(all_scores(net), 0, 2, 1), 1, -1)
    values = net.op("TopK", flat, net.const([30], np.int64), count=2, axis=1)
    row = net.reshape(net.op("Div", f"{values}_1", net.const(CLASSES, np.int64)), -1)
    label = net.op("Cast", net.op("Mod", f"{values}_1", net.const(CLASSES, np.int64)), to=TensorProto.FLOAT)
    boxes = net.op("Gather", net.transpose(edges, 0, 2, 1), row, axis=1)
    net.out(net.concat([boxes, *(net.reshape(x, 1, 30, 1) for x in (values, label))], 2), "out")


def priors() -> np.ndarray:
    """Three for each cell of two levels: centre x, y, width and height, of 1."""
    found = []
    for s, size in ((16, 0.3), (32, 0.6)):
        y, x = np.mgrid[: SIDE // s, : SIDE // s].reshape(2, -1, 1)
        ratios = np.sqrt([1.0, 2.0, 0.5])
        whole = np.broadcast_arrays((x + 0.5) * s / SIDE, (y + 0.5) * s / SIDE, size * ratios, size / ratios)
        found.append(np.stack(whole, 2).reshape(-1, 4))
    return np.concatenate(found)


def ssd_parts(net: Net) -> tuple[str, str]:
    boxes, scores = (
        net.concat([net.rows(net.head(s, 3 * n, gain, bias), n, 1) for s in (16, 32)], 1)
        for n, gain, bias in ((4, 2.0, 0.0), (SSD_CLASSES + 1, 4.0, -1.0))
    )
    return boxes, scores


def ssd(net: Net) -> None:
    for name, part in zip(("boxes", "scores"), ssd_parts(net)):
        net.out(part, name)


def tflite(net: Net) -> None:
    """The four outputs of TFLite's post-process: boxes top, left, bottom, right, classes, scores, and their number."""
    offsets, logits = ssd_parts(net)
    x, y, w, h = priors().T
    column = lambda i: net.part(offsets, i, i + 1, 2)  # noqa: E731
    tenth, fifth = net.const(0.1), net.const(0.2)
    edges = []
    for i, (place, size) in enumerate(((y, h), (x, w))):
        move, power = net.op("Mul", column(i), tenth), net.op("Exp", net.op("Mul", column(i + 2), fifth))
        middle = net.op("Add", net.op("Mul", move, net.const(size[None, :, None])), net.const(place[None, :, None]))
        half = net.op("Mul", power, net.const(size[None, :, None] / 2))
        edges.append((net.op("Sub", middle, half), net.op("Add", middle, half)))
    boxes = net.concat([edges[0][0], edges[1][0], edges[0][1], edges[1][1]], 2)
    scores = net.sigmoid(net.part(logits, 1, SSD_CLASSES + 1, 2))
    most = net.op("ReduceMax", scores, axes=[2], keepdims=0)
    label = net.op("ArgMax", scores, axis=2, keepdims=0)
    values = net.op("TopK", most, net.const([12], np.int64), count=2, axis=1)
    at = net.reshape(f"{values}_1", -1)
    labels = net.op("Cast", net.op("Gather", label, at, axis=1), to=TensorProto.FLOAT)
    name = "TFLite_Detection_PostProcess"
    net.out(net.op("Gather", boxes, at, axis=1), name)
    net.out(labels, f"{name}:1")
    net.out(values, f"{name}:2")
    net.out(net.const([10.0]), f"{name}:3")


def retinaface(net: Net) -> None:
    for name, n in (("loc", 4), ("conf", 2), ("landms", 10)):
        listed = net.concat([net.rows(net.head(s, 2 * n, 3.0), n, 1) for s in STRIDES], 1)
        net.out(net.op("Softmax", listed, axis=2) if name == "conf" else listed, name)


def scrfd(net: Net) -> None:
    for s in STRIDES:
        net.out(net.rows(net.sigmoid(net.scores(s, 2)), 1), f"score_{s}")
        for name, n in (("bbox", 4), ("kps", 10)):
            net.out(net.rows(net.op("Relu", net.head(s, 2 * n, bias=1.0)), n), f"{name}_{s}")


def yunet(net: Net) -> None:
    for s in STRIDES:
        for name, n in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)):
            part = net.sigmoid(net.scores(s, n, 0.0)) if n == 1 else net.head(s, n, 1.0)
            net.out(net.rows(part, n, 1), f"{name}_{s}")


def centernet(net: Net) -> None:
    net.out(net.sigmoid(net.scores(4)), "hm")
    net.out(net.op("Relu", net.head(4, 2, bias=3.0)), "wh")
    net.out(net.sigmoid(net.head(4, 2)), "reg")


def depthai(net: Net) -> None:
    """Luxonis' DetectV8: sides, the largest score, scores."""
    for s in STRIDES:
        scores = probabilities(net, s)
        best = net.op("ReduceMax", scores, axes=[1], keepdims=1)
        net.out(net.concat([relu_sides(net, s), best, scores], 1), f"out_{s}")


def relu_sides(net: Net, s: int) -> str:
    return net.op("Relu", net.head(s, 4, bias=1.0))


def queries(net: Net) -> None:
    """RT-DETR's end: scores before the sigmoid, boxes behind it, of each query."""
    rows = net.rows(net.head(8, FEATURES), FEATURES, 1)
    logits, boxes = (net.op("MatMul", rows, net.const(net.rng.normal(0, 0.5, (FEATURES, n)))) for n in (CLASSES, 4))
    net.out(logits, "logits")
    net.out(net.sigmoid(boxes), "boxes")


class Export(NamedTuple):
    """A head, what builds its network, and which operators are quantised: () is all, others stay float.

    Boxes in pixels beside scores in one output have no use in 8 bits of one scale: such lists stay float.
    """

    head: decode.Head
    build: Callable[[Net], None]
    quantized: tuple[str, ...] = ()
    confidence: float = 0.4


def box(net: Net, s: int) -> str:
    return net.head(s, 64)


def raw(n: int, gain: float = 2.0) -> Callable[[Net, int], str]:
    return lambda net, s: net.head(s, n, gain)


def one_class(net: Net, s: int) -> str:
    return net.sigmoid(net.scores(s, 1))


LISTED = ("Conv", "Relu")
EXPORTS = {
    "v8, 6 outputs": Export(decode.yolov8(CLASSES), maps(box=box, score=probabilities)),
    "v8, 6 outputs of logits": Export(
        decode.yolov8(CLASSES, activation="sigmoid"), maps(box=box, score=lambda net, s: net.scores(s))
    ),
    "v8, 9 outputs": Export(decode.yolov8(CLASSES), v8_sums),
    "v8, a list": Export(decode.yolov8(CLASSES), v8_list, LISTED),
    "v8-pose": Export(decode.yolov8(1, keypoints=POINTS), maps(box=box, score=one_class, joints=raw(3 * POINTS))),
    "v8-pose, a list": Export(decode.yolov8(1, keypoints=POINTS), pose_list, LISTED),
    "v8-seg": Export(
        decode.yolov8(CLASSES, coefficients=32), with_prototypes(maps(box=box, score=probabilities, weights=raw(32)))
    ),
    "v8-obb": Export(
        decode.yolov8_obb(CLASSES, angle_activation="sigmoid"), maps(box=box, score=probabilities, angle=raw(1))
    ),
    "v8-obb, a list": Export(decode.yolov8_obb(CLASSES), obb_list, LISTED),
    "v5": Export(decode.yolov5(CLASSES, anchors=ANCHORS), maps(out=v5_part())),
    "v5, logits": Export(
        decode.yolov5(CLASSES, anchors=ANCHORS, activation="sigmoid"), maps(out=v5_part(activated=False))
    ),
    "v5, a list": Export(decode.yolov5(CLASSES, anchors=ANCHORS), v5_list, LISTED),
    "v5-seg": Export(
        decode.yolov5(CLASSES, anchors=ANCHORS, activation="sigmoid", coefficients=32),
        with_prototypes(maps(out=v5_part(32, activated=False))),
    ),
    "v2": Export(decode.yolov2(CLASSES, 16, V2_ANCHORS), darknet((16,), len(V2_ANCHORS)), confidence=0.3),
    "v3": Export(decode.yolov3(CLASSES, anchors=ANCHORS), darknet(STRIDES, 3)),
    "v4": Export(decode.yolov4(CLASSES, anchors=ANCHORS), darknet(STRIDES, 3)),
    "v6": Export(
        decode.yolov6(CLASSES), maps(box=lambda net, s: net.op("Relu", net.head(s, 4, bias=1.0)), score=probabilities)
    ),
    "v10": Export(decode.yolov10(CLASSES), maps(box=box, score=probabilities)),
    "v10, rows": Export(decode.yolov10(CLASSES), best_rows, LISTED),
    "26": Export(
        decode.yolo26(CLASSES), maps(box=lambda net, s: net.op("Relu", net.head(s, 4, bias=1.0)), score=probabilities)
    ),
    "26-pose": Export(
        decode.yolo26(1, keypoints=POINTS), maps(box=relu_sides, score=one_class, joints=raw(3 * POINTS))
    ),
    "depthai": Export(decode.depthai_yolo(CLASSES), depthai),
    "fcos": Export(
        decode.fcos(CLASSES, STRIDES),
        maps(cls=lambda net, s: net.scores(s), box=relu_sides, center=lambda net, s: net.scores(s, 1, 1.0)),
    ),
    "rt-detr": Export(decode.rtdetr(CLASSES), queries),
    "x": Export(decode.yolox(CLASSES, activation="sigmoid"), maps(out=x_part(False))),
    "x, a list": Export(decode.yolox(CLASSES), x_list),
    "rtmdet": Export(
        decode.rtmdet(CLASSES, activation="none", unit="stride"),
        maps(box=lambda net, s: net.op("Relu", net.head(s, 4, bias=1.0)), score=probabilities),
    ),
    "ppyoloe": Export(decode.ppyoloe(CLASSES), maps(box=raw(68), score=probabilities)),
    "ppyoloe, a list": Export(decode.ppyoloe(CLASSES), ppyoloe_list, LISTED),
    "nanodet": Export(decode.nanodet(CLASSES), nanodet),
    "ssd": Export(decode.ssd(priors(), SSD_CLASSES), ssd),
    "ssd, post-processed": Export(decode.ssd_postprocessed(SSD_CLASSES), tflite, LISTED),
    "retinaface": Export(decode.retinaface(anchors=FACES), retinaface, confidence=0.7),
    "scrfd": Export(decode.scrfd(), scrfd),
    "yunet": Export(decode.yunet(), yunet),
    "centernet": Export(decode.centernet_head(CLASSES), centernet),
}
