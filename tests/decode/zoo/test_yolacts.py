"""YOLACT against its formulas, written down as loops over priors, prototypes and pixels in plain numbers."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support import scenes
from tests.support.backends import decoders
from tests.support.scenes import NO_PROBABILITIES

SIZE, STRIDES = (70, 54), (8, 16)  #: 9x7 and 5x4 cells, and 18x14 of prototypes, none of whole strides
CLASSES, WEIGHTS = 6, 5
SCALES, RATIOS = ((10.0, 13.0), (24.0, 30.0)), (1.0, 0.5, 2.0)
Prior = tuple[int, int, int, float, float, float, float]  # level, cell, anchor, centre x and y, width and height


def priors(square: bool) -> Iterator[Prior]:
    """Centres are those of cells that share the input, whatever the stride (dbolya/yolact, yolact.py, make_priors)."""
    for level, (stride, scales) in enumerate(zip(STRIDES, SCALES)):
        rows, columns = math.ceil(SIZE[0] / stride), math.ceil(SIZE[1] / stride)
        for y in range(rows):
            for x in range(columns):
                for a, (scale, ratio) in enumerate((s, r) for s in scales for r in RATIOS):
                    width = scale * math.sqrt(ratio)
                    height = width if square else scale / math.sqrt(ratio)
                    yield (
                        level,
                        y * columns + x,
                        a,
                        (x + 0.5) / columns * SIZE[1],
                        (y + 0.5) / rows * SIZE[0],
                        width,
                        height,
                    )


def mask(
    prototypes: np.ndarray, weights: list[float], box: tuple[float, ...], size: tuple[int, int] = SIZE
) -> np.ndarray:
    """Probabilities, enlarged with half-pixel centres, above 0.5 inside the box; nan where too near to 0.5 to say."""
    rows, columns, _ = prototypes.shape
    share = [
        [1 / (1 + math.exp(-sum(w * float(p) for w, p in zip(weights, prototypes[y, x])))) for x in range(columns)]
        for y in range(rows)
    ]
    found = np.zeros(size)
    for y in range(size[0]):
        for x in range(size[1]):
            if not (box[0] <= x < box[2] and box[1] <= y < box[3]):
                continue
            v, u = ((i + 0.5) * n / side - 0.5 for i, n, side in ((y, rows, size[0]), (x, columns, size[1])))
            total = 0.0
            for yy in (math.floor(v), math.floor(v) + 1):
                for xx in (math.floor(u), math.floor(u) + 1):
                    near = (1 - abs(v - yy)) * (1 - abs(u - xx))
                    total += near * share[min(max(yy, 0), rows - 1)][min(max(xx, 0), columns - 1)]
            found[y, x] = float(total > 0.5) if abs(total - 0.5) > 1e-9 else math.nan
    return found


def made(rng: np.random.Generator, form: str, total: int, dtype: str) -> tuple[list[nl.TensorSpec], list[np.ndarray]]:
    """Specs of a form's outputs, and what they mean, by the rows of the priors: boxes, scores, coefficients."""
    values = [rng.normal(0, s, (total, n)).astype(np.float32) for n, s in ((4, 1.5), (1 + CLASSES, 3), (WEIGHTS, 1.0))]
    prototypes = rng.normal(0, 1, (18, 14, WEIGHTS)).astype(np.float32)
    specs, arrays, start = [], [], 0
    if form == "list":
        for name, array in zip(("loc", "conf", "mask"), values):
            specs.append(nl.TensorSpec(array[None].shape, "NHW", name=name))
            arrays.append(array[None])
    for stride in STRIDES if form == "maps" else ():
        rows, columns = math.ceil(SIZE[0] / stride), math.ceil(SIZE[1] / stride)
        for name, array in zip(("loc", "conf", "mask"), values):
            part = array[start : start + 6 * rows * columns].reshape(1, rows, columns, -1)
            specs.append(nl.TensorSpec.of_storage(part.shape, "NHWC", name=f"{name}{stride}"))
            arrays.append(part)
        start += 6 * rows * columns
    specs.append(nl.TensorSpec.of_storage((1, 18, 14, WEIGHTS), "NHWC", name="proto"))
    arrays.append(prototypes[None])
    if dtype != "float32":
        specs = [spec.replace(dtype=dtype, quantization=nl.Quantization(1 / 16, 3)) for spec in specs]
    return specs, arrays


@pytest.mark.parametrize("square", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("form", ["list", "maps"])
@pytest.mark.parametrize("raw", [True, False])
@NO_PROBABILITIES
def test_yolact(form: str, dtype: str, raw: bool, square: bool) -> None:
    """raw: the softmax and the hyperbolic tangent are the decoder's; else they are in the graph."""
    every = list(priors(square))
    specs, arrays = made(np.random.default_rng(len(form) + raw), form, len(every), dtype)
    buffers = [spec.pack(array) for spec, array in zip(specs, arrays)]
    stored = [spec.unpack(buffer) for spec, buffer in zip(specs, buffers)]
    rows: list[np.ndarray] = []
    for k in range(3):  # of each part, the channels of every prior, whatever the form
        own = stored[k:-1:3]
        if form == "list":
            rows.append(own[0][0])
        else:
            n = (4, 1 + CLASSES, WEIGHTS)[k]
            rows.append(np.concatenate([m[0].reshape(-1, n) for m in own]))
    candidates, weights_of = [], {}
    for (level, cell, anchor, cx, cy, width, height), t, s, c in zip(every, *rows):
        v = [float(n) for n in s]
        shares = [math.exp(n - max(v)) / sum(math.exp(m - max(v)) for m in v) for n in v] if raw else v
        k = max(range(CLASSES), key=lambda i: v[1 + i])
        x, y = cx + float(t[0]) * 0.1 * width, cy + float(t[1]) * 0.1 * height
        w, h = width * math.exp(0.2 * float(t[2])), height * math.exp(0.2 * float(t[3]))
        box = (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        candidates.append(scenes.Found(float(np.float32(shares[1 + k])), k, level, cell, anchor, box))
        weights_of[level, cell, anchor] = [math.tanh(float(n)) if raw else float(n) for n in c]
    least = 0.6 if raw else 1.0
    passing = sorted((f for f in candidates if f.score >= least), key=lambda f: -f.score)
    wanted = scenes.kept(passing, 0.45, 30)
    assert 3 < len(wanted) < len(passing)
    head = decode.yolact(
        CLASSES,
        SIZE,
        STRIDES,
        scales=SCALES,
        ratios=RATIOS,
        square=square,
        coefficients=WEIGHTS,
        activation="softmax" if raw else "none",
        coefficients_activation="tanh" if raw else "none",
    )
    prototypes = stored[-1][0]
    expected = [
        mask(prototypes, weights_of[f.level, f.cell, f.anchor], tuple(map(float, np.float32(f.box))))
        for f in wanted[:4]
    ]
    for decoder in decoders(head, specs, SIZE):
        found = decoder(buffers, least, 0.45, 30)
        scenes.same(found, wanted)
        assert found.masks is not None
        for i, full in enumerate(expected):
            known = ~np.isnan(full)
            assert np.array_equal(found.masks.full(i)[known], full[known])


class Drawn(NamedTuple):
    """A network drawn at random: the arguments of its head."""

    size: tuple[int, int]
    strides: tuple[int, ...]
    scales: tuple[Any, ...]
    ratios: tuple[float, ...]
    square: bool
    classes: int
    weights: int
    raw: bool

    def levels(self) -> list[tuple[int, int, int]]:
        """Rows, columns and priors of a cell."""
        sides = [scales if isinstance(scales, tuple) else (scales,) for scales in self.scales]
        return [
            (math.ceil(self.size[0] / s), math.ceil(self.size[1] / s), len(each) * len(self.ratios))
            for s, each in zip(self.strides, sides)
        ]

    def boxes(self, offsets: np.ndarray) -> Iterator[tuple[int, int, int, tuple[float, ...]]]:
        """Level, cell, anchor and edges of the box of each row."""
        rows = iter(offsets.astype(float).tolist())
        for level, (height, width, _) in enumerate(self.levels()):
            scales = self.scales[level] if isinstance(self.scales[level], tuple) else (self.scales[level],)
            for cell in range(height * width):
                y, x = divmod(cell, width)
                for anchor, (scale, ratio) in enumerate((s, r) for s in scales for r in self.ratios):
                    w = scale * math.sqrt(ratio)
                    h = w if self.square else scale / math.sqrt(ratio)
                    a, b, c, d = next(rows)
                    cx, cy = (x + 0.5) / width * self.size[1], (y + 0.5) / height * self.size[0]
                    cx, cy = cx + 0.1 * a * w, cy + 0.1 * b * h
                    w, h = w * math.exp(0.2 * c) / 2, h * math.exp(0.2 * d) / 2
                    yield level, cell, anchor, (cx - w, cy - h, cx + w, cy + h)


def drawn(choose: random.Random) -> Drawn:
    """One whose outputs' extents distinguish its parts."""
    while True:
        strides = tuple(sorted(choose.sample([8, 16, 32], choose.randint(1, 3))))
        pairs = [(choose.uniform(4, 20), choose.uniform(20, 50)) for _ in strides]
        scales = [choose.choice((pair[1], pair)) for pair in pairs]
        one = Drawn(
            (choose.randint(17, 70), choose.randint(17, 70)), strides, tuple(scales),
            choose.choice(((1.0, 0.5, 2.0), (1.0,), (2.0, 1.0))), choose.random() < 0.5,
            choose.choice((1, 2, 5, 6)), choose.choice((1, 5, 32, 33)), choose.random() < 0.5,
        )  # fmt: skip
        channels = {4, 1 + one.classes, one.weights}
        grids = {level[:2] for level in one.levels()}
        rows = sum(math.prod(level) for level in one.levels())
        if len(channels) == 3 and len(grids) == len(strides) and not channels & {rows, *(h * w for h, w in grids)}:
            return one


def stored(
    net: Drawn, rng: np.random.Generator, choose: random.Random
) -> tuple[list[scenes.Output], list[np.ndarray], np.ndarray]:
    """Outputs in layouts, pitches and a dtype at random; values by rows of priors, and prototypes (h, w, channels)."""
    levels, dtype, listed = net.levels(), choose.choice(scenes.DTYPES), choose.random() < 0.5
    total = sum(math.prod(level) for level in levels)
    scores = rng.normal(0, 3, (total, 1 + net.classes)) if net.raw else rng.random((total, 1 + net.classes)) ** 2
    reals = [rng.normal(0, 1.5, (total, 4)), np.round(scores * 8) / 8, rng.normal(0, 1, (total, net.weights))]
    outputs, rows = [], [np.zeros(real.shape) for real in reals]
    how = {"pitch": choose.choice((0, 3)), "dtype": dtype, "scale": 0.05, "zero_point": choose.choice((0, 3))}
    start = 0
    for height, width, each in [(1, 1, total)] if listed else levels:
        end = start + height * width * each
        for k, name in enumerate(("loc", "conf", "mask")):
            n = reals[k].shape[1]
            part = reals[k][start:end][None]
            axes = choose.choice(("NCW", "NWC", "NCW8c", "NWC4c"))
            if not listed:
                part = part.reshape(1, height, width, each * n).transpose(0, 3, 1, 2)
                axes = choose.choice(scenes.LAYOUTS)
            outputs.append(scenes.output(rng, part.shape, part, axes, name=f"{name}{height}", **how))
            values = outputs[-1].values if listed else outputs[-1].values.transpose(0, 2, 3, 1)
            rows[k][start:end] = values.reshape(-1, n)
        start = end
    shape = (1, *(math.ceil(side / 4) for side in net.size), net.weights)
    layout = nl.Layout(choose.choice(("NHWC", "NCHW", "NCHW16c", "NHWC8c")), "NHWC")
    outputs.append(scenes.output(rng, shape, rng.normal(0, 1, shape), layout, name="proto", **how))
    return outputs, rows, outputs[-1].values[0]


def check_drawn(seed: int) -> int:
    """Compare a network's detections and masks with the loops; return how many there were."""
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    net = drawn(choose)
    outputs, (offsets, scores, weights), prototypes = stored(net, rng, choose)
    labels = choose.choice(("best", "all"))
    found, weights_of = [], {}
    for (level, cell, anchor, box), row, given in zip(net.boxes(offsets), scores.tolist(), weights.tolist()):
        most = max(row)
        shares = [math.exp(n - most) / math.fsum(math.exp(m - most) for m in row) for n in row] if net.raw else row
        best = max(range(net.classes), key=lambda k: row[1 + k])
        for k in range(net.classes) if labels == "all" else [best]:
            if shares[1 + k] >= 0.4:
                found.append(scenes.Found(float(np.float32(shares[1 + k])), k, level, cell, anchor, box))
        weights_of[level, cell, anchor] = [math.tanh(n) if net.raw else n for n in given]
    wanted = scenes.kept(sorted(found, key=lambda f: -f.score), 0.5, 20)
    head = decode.yolact(
        net.classes, net.size, net.strides, scales=net.scales, ratios=net.ratios, square=net.square,
        coefficients=net.weights, activation="softmax" if net.raw else "none",
        coefficients_activation="tanh" if net.raw else "none", labels=labels,
    )  # fmt: skip
    choose.shuffle(outputs)
    for decoder in decoders(head, [o.spec for o in outputs], net.size):
        answers = decoder([o.buffer for o in outputs], 0.4, 0.5, 20)
        scenes.same(answers, wanted)
        for i, one in enumerate(wanted[:2]):
            edges = tuple(map(float, np.float32(one.box)))
            full = mask(prototypes, weights_of[one.level, one.cell, one.anchor], edges, net.size)
            known = ~np.isnan(full)
            assert answers.masks is not None and np.array_equal(answers.masks.full(i)[known], full[known])
    return len(wanted)


@pytest.mark.parametrize("seed", range(4))
def test_networks_at_random(seed: int) -> None:
    """Sizes, strides, priors, layouts, pitches and dtypes; scores that tie."""
    assert sum(check_drawn(10 * seed + i) for i in range(3)) > 3


@pytest.mark.slow
def test_many_networks_at_random() -> None:
    assert sum(check_drawn(seed) for seed in range(100, 900)) > 3000


def test_published_sizes() -> None:
    """yolact_base_config: 19,248 priors; yolact_plus and Hailo's zoo: nine a cell."""
    head = decode.yolact()
    assert len(head.priors) == 19248 and head.anchors_each == 3
    assert head.priors[0] == (0.5 / 69, 0.5 / 69, 24 / 550, 24 / 550)
    shapes = [(1, 19248, 4), (1, 19248, 81), (1, 19248, 32)]
    specs = [nl.TensorSpec(s, "NHW", name=str(i)) for i, s in enumerate(shapes)]
    proto = nl.TensorSpec.of_storage((1, 138, 138, 32), "NHWC", name="proto")
    assert len(decode.Decoder(head, [*specs, proto], (550, 550)).specs) == 4
    with pytest.raises(nl.LayoutError, match="prototypes"):  # its axes are not N, C, H, W
        decode.Decoder(head, [*specs, nl.TensorSpec((1, 138, 138, 32), "NCHW", name="proto")], (550, 550))
    scales = [[s, s * 2 ** (1 / 3), s * 2 ** (2 / 3)] for s in (24, 48, 96, 192, 384)]
    zoo = decode.yolact(80, (512, 512), scales=scales, square=False, activation="softmax")
    assert len(zoo.priors) == 49104 and zoo.priors[1] == (0.5 / 64, 0.5 / 64, 24 * 0.5**0.5 / 512, 24 / 0.5**0.5 / 512)
    maps = [
        nl.TensorSpec((1, n, side, side), "NHWC", "uint8", quantization=nl.Quantization(0.1, 90), name=f"{n}/{side}")
        for side in (64, 32, 16, 8, 4)
        for n in (36, 729, 288)
    ]
    maps.append(nl.TensorSpec((1, 32, 128, 128), "NHWC", "uint8", quantization=nl.Quantization(0.1, 90), name="proto"))
    assert len(decode.Decoder(zoo, maps, (512, 512)).specs) == 16
    assert decode.Head.from_dict(json.loads(json.dumps(zoo.to_dict()))) == zoo


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: decode.yolact(scales=(24, 48)), "scales: expected one or several for each of 5 strides, got 2"),
        (
            lambda: decode.yolact(scales=(24, 48, 96, 192, ())),
            "scales: expected one or several for each stride, got none",
        ),
        (lambda: decode.yolact(scales=(24, 48, 96, 192, 0)), "scales: expected a number above 0, got 0"),
        (lambda: decode.yolact(ratios=()), "ratios: expected one or more, got none"),
        (lambda: decode.yolact(ratios=(0,)), "ratios: expected a number above 0, got 0"),
        (lambda: decode.yolact(input_shape=(9000, 9000)), "at most 1048576 priors"),
        (lambda: decode.yolact(activation="sigmoid"), "activation"),
        (lambda: decode.yolact(coefficients_activation="sigmoid"), "coefficients_activation"),
        (lambda: decode.Part("score", 3, "tanh"), "'tanh' is of 'coefficients' alone"),
    ],
)
def test_bad_arguments(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        make()
