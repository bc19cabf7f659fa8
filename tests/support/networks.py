"""Networks whose heads are known: shapes of outputs, and their formulas as loops over cells in plain numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.decoders.decoder import use_backend
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


def compare(network: Network, name: str, seed: int) -> None:
    """Decode random outputs of a network with every backend, and compare with its loop; the order of choices is that of
    `name` and `seed`."""
    rng, choose = np.random.default_rng(seed), random.Random(f"{name} {seed}")
    outputs = outputs_of(network, rng, choose)
    values = {o.spec.name: o.values for o in outputs}
    confidence = (0.2, 0.6)[seed % 2]
    found, points = candidates(network, values, confidence)
    wanted = scenes.kept(found, 0.45, 40, extra=network.extra) if network.suppress else found[:40]
    assert wanted
    decoder = decode.Decoder(network.head, [o.spec for o in outputs], SIZE)
    for backend in kernels.backends():
        use_backend(decoder, backend)
        assert (decoder._work.detector is None) == (backend == "numpy" or decoder._made is None)
        got = decoder([o.buffer for o in outputs], confidence=confidence, limit=40)
        scenes.same(got, wanted)
        assert (got.keypoints is None) == (network.head.keypoints is None)
        for k, one in enumerate(wanted if got.keypoints is not None else []):
            assert got.keypoints is not None
            expected = np.array(points[one.level, one.cell, one.anchor], np.float32)
            np.testing.assert_array_max_ulp(got.keypoints[k], expected, 1)
