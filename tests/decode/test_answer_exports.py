"""Networks whose answers are no boxes, exported, quantised by onnxruntime, run, and read from stored buffers.

Answers are those of the public formulas, written down here in loops over floats of 64 bits.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support import exports, poses, quantizing
from tests.support.exports import FEATURES, POINTS, SIDE, Net

ALPHABET, CLASSES, COLUMNS = "0123456789abcdefghij", 21, 30
CULANE = (121, 131, 141, 150, 160, 170, 180, 189, 199, 209, 219, 228, 238, 248, 258, 267, 277, 287)
STORED = {4: ("NCHW", "NHWC", "NCHW16c"), 3: ("NCW", "NWC", "NCW16c"), 2: ("NC", "CN")}


def simcc(net: Net) -> None:
    """RTMPose's end: a row of features for each joint, and a fully connected layer for x and for y."""
    rows = net.reshape(net.head(8, POINTS), 1, POINTS, 64)
    for name in ("x", "y"):
        weights = net.const(net.rng.normal(0, 0.2, (64, 2 * SIDE)))
        net.out(net.op("MatMul", rows, weights), name)


def openpose(net: Net) -> None:
    net.out(net.head(4, 57, 1.0, np.repeat([0.0, 0.5], [19, 38])), "maps")


def text(net: Net, *, first: bool) -> None:
    """A recogniser's end: features of columns, classes of each; first: time before classes, after a softmax."""
    columns = net.reshape(net.op("ReduceMax", net.features[4], axes=[2], keepdims=0), 1, FEATURES, SIDE // 4)
    steps = net.op("MatMul", net.transpose(columns, 0, 2, 1), net.const(net.rng.normal(0, 2.5, (FEATURES, CLASSES))))
    net.out(net.op("Softmax", steps, axis=2) if first else net.transpose(steps, 0, 2, 1), "text")


def dbnet(net: Net) -> None:
    """Two transposed convolutions, which enlarge by 2 each, and a sigmoid."""
    wide = net.features[4]
    for given, n in ((FEATURES, FEATURES), (FEATURES, 1)):
        weights = net.const(net.rng.normal(0, 2.5 / np.sqrt(given), (given, n, 2, 2)))
        wide = net.op("ConvTranspose", wide, weights, net.const(np.full(n, 0.3)), strides=[2, 2])
    net.out(net.sigmoid(wide), "map")


def classifier(net: Net, *, softmax: bool) -> None:
    pooled = net.reshape(net.op("GlobalAveragePool", net.features[8]), 1, FEATURES)
    scores = net.op("MatMul", pooled, net.const(net.rng.normal(0, 4, (FEATURES, CLASSES))))
    net.out(net.op("Softmax", scores, axis=1) if softmax else scores, "scores")


def segmenter(net: Net) -> None:
    net.out(net.scores(4, 5), "classes")


def road(net: Net) -> None:
    """Ultra-Fast-Lane-Detection's end: a fully connected layer, and its numbers as columns, rows and lanes."""
    pooled = net.reshape(net.conv(net.features[16], FEATURES, 4, relu=True), 1, 64)
    numbers = net.op("MatMul", pooled, net.const(net.rng.normal(0, 1, (64, (COLUMNS + 1) * 18 * 2))))
    net.out(net.reshape(numbers, 1, COLUMNS + 1, 18, 2), "lanes")


def hand(net: Net) -> None:
    """PFLD's end, and that of MediaPipe's hands: a fully connected layer."""
    pooled = net.reshape(net.op("GlobalAveragePool", net.features[8]), 1, FEATURES)
    net.out(net.op("MatMul", pooled, net.const(net.rng.normal(0, 40, (FEATURES, 3 * 21)))), "points")


BUILDS: dict[str, Callable[[Net], None]] = {
    "simcc": simcc,
    "openpose": openpose,
    "text": functools.partial(text, first=True),
    "text, classes first": functools.partial(text, first=False),
    "dbnet": dbnet,
    "classifier": functools.partial(classifier, softmax=True),
    "classifier of logits": functools.partial(classifier, softmax=False),
    "segmenter": segmenter,
    "road": road,
    "hand": hand,
}


class Run:
    """Outputs of a network as an accelerator stores them, and their real values as floats of 64 bits."""

    def __init__(self, name: str, small: bool, order: int, folder: Path) -> None:
        net = Net(11)
        BUILDS[name](net)
        model = net.bytes()
        scales = {}
        if small:
            model = quantizing.quantized(model, folder, [exports.image(seed) for seed in range(3)])
            scales = quantizing.scales(model)
        engine = nl.OnnxRuntimeEngine(model, threads=1)
        specs = []
        for key, shape in engine.output_shapes.items():
            of = STORED[len(shape)]
            q = nl.Quantization(*scales[key]) if key in scales else None
            layout = nl.Layout(of[order % len(of)], of[0])
            specs.append(nl.TensorSpec(shape, layout, "float32" if q is None else "int8", quantization=q, name=key))
        npu = nl.SimulatedNpu(engine, specs)
        self.buffers = npu.infer(exports.image(70 + order))
        assert not small or all(spec.dtype == "int8" for spec in npu.output_specs)
        self.specs = {spec.name: spec for spec in npu.output_specs}
        self.values = {name: spec.unpack(self.buffers[name])[0].astype(float) for name, spec in self.specs.items()}
        for key, value in npu.last_float.items():  # what is stored are the network's own numbers
            np.testing.assert_allclose(self.values[key], value[0], rtol=1e-6, atol=1e-5)

    def of(self, name: str) -> tuple[nl.TensorSpec, np.ndarray]:
        return self.specs[name], self.buffers[name]


RUNS = pytest.mark.parametrize(
    ("small", "order"), list(itertools.product((True, False), range(3))), ids=lambda v: str(v)
)


@RUNS
def test_simcc(small: bool, order: int, tmp_path: Path) -> None:
    run = Run("simcc", small, order, tmp_path)
    found = decode.simcc_points(*run.of("x"), *run.of("y"))
    assert found.shape == (1, POINTS, 3)
    for joint, (x, y, score) in enumerate(found[0].tolist()):
        rows = [run.values[name][joint].tolist() for name in ("x", "y")]
        assert score == np.float32(min(map(max, rows))) > 0
        assert (x, y) == tuple(row.index(max(row)) / 2 for row in rows)


@RUNS
def test_openpose(small: bool, order: int, tmp_path: Path) -> None:
    run = Run("openpose", small, order, tmp_path)
    heat = max(np.median(run.values["maps"][:18]), 0.05)
    skeleton = dataclasses.replace(decode.OPENPOSE, cell=4, peak=float(heat), field=0.0, aligned=0.6, total=0.2)
    found, wanted = decode.people(*run.of("maps"), skeleton), poses.plain_people(run.values["maps"], skeleton)
    assert len(found) == len(wanted) > 1
    for person, joints in zip(found, wanted):
        assert set(np.flatnonzero(person[:, 2]).tolist()) == set(joints)
        for joint, (x, y, score) in joints.items():
            np.testing.assert_allclose(person[joint], (4 * x + 1.5, 4 * y + 1.5, score), rtol=1e-5)


@RUNS
@pytest.mark.parametrize("name", ["text", "text, classes first"])
@pytest.mark.parametrize("blank", [0, -1])
def test_text(name: str, small: bool, order: int, blank: int, tmp_path: Path) -> None:
    run = Run(name, small, order, tmp_path)
    first = name == "text"
    (found,) = decode.ctc(
        *run.of("text"), ALPHABET, blank=blank, time=1 if first else 2, activation="none" if first else "softmax"
    )
    steps = run.values["text"] if first else run.values["text"].T
    letters = ["", *ALPHABET] if blank == 0 else [*ALPHABET, ""]
    best = [row.index(max(row)) for row in steps.tolist()]
    new = [i for i, c in enumerate(best) if letters[c] and (i == 0 or best[i - 1] != c)]
    assert found.text == "".join(letters[best[i]] for i in new) and len(new) > 2
    assert found.steps == tuple(new)
    scores = [max(steps[i]) if first else 1 / math.fsum(math.exp(v - max(steps[i])) for v in steps[i]) for i in new]
    assert found.scores == pytest.approx(scores, rel=1e-9)
    assert found.confidence == pytest.approx(math.fsum(scores) / len(scores), rel=1e-9)


def regions(heat: np.ndarray, threshold: float) -> list[list[tuple[int, int]]]:
    """The cells, x and y, of each region: those above the threshold that touch at a side or a corner."""
    left = {(x, y) for y, x in zip(*np.nonzero(heat > threshold))}
    found = []
    while left:
        start = left.pop()
        region, queue = [start], deque([start])
        while queue:
            x, y = queue.popleft()
            for near in itertools.product((x - 1, x, x + 1), (y - 1, y, y + 1)):
                if near in left:
                    left.remove(near)
                    region.append(near)
                    queue.append(near)
        found.append(region)
    return found


def smallest_rectangle(points: list[tuple[int, int]]) -> tuple[float, float]:
    """The short and the long side of the smallest turned rectangle: one of its sides goes through two of the points."""
    best = (math.inf, math.inf, math.inf)
    for (ax, ay), (bx, by) in itertools.combinations(hull(points), 2):
        length = math.hypot(bx - ax, by - ay)
        u, v = (bx - ax) / length, (by - ay) / length
        along = [x * u + y * v for x, y in points]
        across = [y * u - x * v for x, y in points]
        w, h = max(along) - min(along), max(across) - min(across)
        best = min(best, (w * h, min(w, h), max(w, h)))
    return best[1:]


def hull(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The corners of the smallest convex polygon around points, by Andrew's monotone chain."""
    ordered = sorted(points)
    half: list[list[tuple[int, int]]] = []
    for way in (ordered, ordered[::-1]):
        chain: list[tuple[int, int]] = []
        for x, y in way:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        half.append(chain[:-1])
    return half[0] + half[1]


@RUNS
def test_regions(small: bool, order: int, tmp_path: Path) -> None:
    """Each region of cells is in a rectangle as large as the smallest one around it, enlarged by the paper's rule."""
    run = Run("dbnet", small, order, tmp_path)
    heat = run.values["map"][0]
    count = 0
    for share in (0.5, 0.8, 0.9, 0.97):
        count += check_regions(run, heat, float(np.quantile(heat, share)), 1.5)
    assert count > 2


def check_regions(run: Run, heat: np.ndarray, threshold: float, unclip: float) -> int:
    """Compare regions above a threshold; return how many there are."""
    found = decode.dbnet(*run.of("map"), 0.0, threshold=threshold, unclip=unclip)
    wanted = []
    for cells in regions(heat, threshold):
        if len(hull(cells)) < 3:
            continue
        short, long = smallest_rectangle(cells)
        away = short * long * unclip / (2 * (short + long))  # area * r' / length
        if short >= 3 and short + 2 * away >= 5:
            wanted.append((short + 2 * away, long + 2 * away, cells))
    sides = []
    for corners in found.corners.astype(float):
        two = [math.hypot(*(corners[k] - corners[k + 1])) for k in (0, 1)]
        sides.append((min(two), max(two)))
    assert len(found) >= len(wanted)  # holes of regions are some, too
    for short, long, cells in wanted:
        near = [k for k, (a, b) in enumerate(sides) if abs(a * b - short * long) < 1e-3 * short * long]
        assert any(all(holds(found.corners[k].astype(float), cell) for cell in cells) for k in near), (short, long)
    return len(wanted)


def holds(corners: np.ndarray, cell: tuple[int, int]) -> bool:
    """Whether a cell is inside a rectangle whose corners go round."""
    turns = []
    for (ax, ay), (bx, by) in zip(corners.tolist(), np.roll(corners, -1, 0).tolist()):
        turns.append((bx - ax) * (cell[1] - ay) - (by - ay) * (cell[0] - ax))
    return min(turns) > -1e-3 or max(turns) < 1e-3


@RUNS
@pytest.mark.parametrize("name", ["classifier", "classifier of logits"])
def test_classes(name: str, small: bool, order: int, tmp_path: Path) -> None:
    run = Run(name, small, order, tmp_path)
    softmax = name != "classifier"
    found = decode.classify(*run.of("scores"), 5, activation="softmax" if softmax else "none")
    scores = run.values["scores"].tolist()
    best = sorted(range(CLASSES), key=lambda c: (-scores[c], c))[:5]
    total = math.fsum(math.exp(v) for v in scores)
    assert found.class_id.tolist() == [best]
    shares = [math.exp(scores[c]) / total if softmax else scores[c] for c in best]
    assert found.confidence[0].tolist() == pytest.approx(shares, rel=1e-6)


@RUNS
def test_segments(small: bool, order: int, tmp_path: Path) -> None:
    run = Run("segmenter", small, order, tmp_path)
    found = nl.ops.argmax_channels(*run.of("classes"))
    scores = run.values["classes"]
    for y, x in np.ndindex(scores.shape[1:]):
        column = scores[:, y, x].tolist()
        assert found[0, 0, y, x] == column.index(max(column))
    assert len(np.unique(found)) > 2


@RUNS
def test_lanes(small: bool, order: int, tmp_path: Path) -> None:
    """Of each lane and row the mean of the columns, weighted by their softmax, where no lane is not the best score."""
    run = Run("road", small, order, tmp_path)
    found = decode.lanes(*run.of("lanes"), (SIDE, SIDE))
    for lane, points in enumerate(found):
        wanted = []
        for row, place in enumerate(CULANE):
            scores = run.values["lanes"][:, row, lane].tolist()
            if scores.index(max(scores)) < COLUMNS:
                powers = [math.exp(n - max(scores)) for n in scores[:-1]]
                mean = math.fsum((k + 1) * p for k, p in enumerate(powers)) / math.fsum(powers)
                wanted.append((mean * (SIDE - 1) / (COLUMNS - 1) - 1, place * SIDE / 288 - 1))
        assert len(points) == len(wanted) > 3
        np.testing.assert_allclose(points, wanted, rtol=1e-5, atol=1e-5)


@RUNS
def test_landmarks(small: bool, order: int, tmp_path: Path) -> None:
    run = Run("hand", small, order, tmp_path)
    found = decode.landmarks(*run.of("points"))
    assert found.shape == (1, 21, 3) and len(np.unique(found)) > 10
    for point, (x, y, z) in enumerate(found[0].tolist()):
        assert [x, y, z] == run.values["points"][3 * point : 3 * point + 3].tolist()
