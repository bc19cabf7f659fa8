"""What every backend has to read in the same way: the number of rows, backgrounds, labels, integers of 32 bits."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.arithmetic.exponential import fifth_root
from npu_layout.decode.decoders.compiling import compiled
from npu_layout.decode.decoders.decoder import use_backend
from npu_layout.decode.outputs.fitting import fit
from tests.support import random_heads, scenes
from tests.support.backends import decoders

SIZE = (32, 32)

pytestmark = [pytest.mark.once, scenes.NO_PROBABILITIES]  # numpy is one of the backends beside the compiled ones


def of_rows(parts: tuple[decode.Part, ...], rows: int, **how: Any) -> tuple[decode.Head, list[nl.TensorSpec]]:
    """A head of rows with these parts, an output each, and the specs of float32."""
    form = decode.Form("rows", parts, decode.Boxes("xyxy", unit="input"), "rows")
    head = decode.Head("any", 3, (1,), (form,), suppression=decode.Suppression("none"), **how)
    shapes = [(1,) if p.role == "count" else (1, rows, p.count) if p.count > 1 else (1, rows) for p in parts]
    return head, [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), name=p.role) for s, p in zip(shapes, parts)]


def named(specs: list[nl.TensorSpec]) -> dict[str, list[str]]:
    return {spec.name: [spec.name] for spec in specs if spec.name != "count"}


@pytest.mark.parametrize("scales, zeros", [((0.02, 0.1, 0.1), (0, 0, 0)), ((0.1, 0.1, 0.1), (60, 0, 0))])
def test_a_softmax_reads_the_background_with_its_own_scale(scales: Any, zeros: Any) -> None:
    """The classes' scales are equal, and the background has another scale, or another zero point."""
    parts = (decode.Part("box", 4), decode.Part("score", 3, "softmax"))
    head = decode.Head("any", 2, (8,), (decode.Form("maps", parts, decode.Boxes("xyxy", unit="pixel")),), background=0)
    q = nl.Quantization(list(scales), list(zeros), axis=1)
    specs = [
        nl.TensorSpec((1, 4, 1, 1), name="box"),
        nl.TensorSpec((1, 3, 1, 1), "NCHW", "int8", quantization=q, name="score"),
    ]
    codes = np.array([100, 40, 10], np.int8)
    powers = [math.exp((int(c) - z) * s) for c, z, s in zip(codes, zeros, scales)]
    for decoder in decoders(head, specs, (8, 8), outputs=named(specs)):
        found = decoder([np.zeros(4, np.float32), codes], 0.05, limit=1)
        assert len(found) == 1 and found.confidence[0] == pytest.approx(powers[1] / sum(powers), rel=1e-6)


def shares(cell: list[float], background: int | None) -> list[float]:
    powers = [math.exp(v - max(cell)) for v in cell]
    return [power / math.fsum(powers) for i, power in enumerate(powers) if i != background]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "NCHW8w"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int16", "int32", "int8"])
@pytest.mark.parametrize("classes, background", [(2, None), (3, 0), (17, 9), (80, None), (80, 80)])
def test_a_softmax_is_computed_where_it_can_reach_the_threshold(
    dtype: str, classes: int, background: int | None, layout: str
) -> None:
    """Just below the share of each of some cells that cell is found, and just above it it is not."""
    rng, channels = np.random.default_rng(classes), classes + (background is not None)
    form = decode.Form("maps", (decode.Part("box", 4), decode.Part("score", channels, "softmax")), decode.Boxes("xyxy"))
    rule = decode.Suppression("none")
    head = decode.Head("any", classes, (8,), (form,), background=background, suppression=rule)
    spread = np.array([0.01, 0.5, 2, 8, 60]).repeat(4).reshape(4, 5)  # of the logits of each cell
    real = rng.normal(0, 1, (1, channels, 4, 5)) * np.minimum(spread, 8 if dtype == "int8" else 60)
    made = scenes.output(rng, real.shape, real, layout, dtype, 0.004 if dtype == "int16" else 0.1, 3, name="score")
    specs = [nl.TensorSpec((1, 4, 4, 5), name="box"), made.spec]
    buffers = [np.zeros(80, np.float32), made.buffer]
    each = [shares(made.values[0, :, y, x].astype(float).tolist(), background) for y in range(4) for x in range(5)]
    for decoder in decoders(head, specs, (32, 40), outputs={"box": ["box"], "score": ["score"]}):
        for cell in range(0, 20, 3):
            share = max(each[cell])
            below, above = (share * (1 - 1e-9), share * (1 + 1e-9))
            assert cell in decoder(buffers, below, limit=20).cell.tolist()
            if above < decoder.largest_score:
                wanted = {i for i, other in enumerate(each) if max(other) >= above}
                assert set(decoder(buffers, above, limit=20).cell.tolist()) == wanted


@pytest.mark.parametrize("count", [4.0, 0.0, 3.5, 16.0, 99.0, float("nan")])
@pytest.mark.parametrize("labels", ["best", "all"])
@pytest.mark.parametrize("activation", ["none", "softmax"])
@pytest.mark.parametrize("rule", ["class", "objectness", "root", "weighted"])
def test_rows_behind_the_number_of_rows_do_not_count(rule: str, activation: str, labels: str, count: float) -> None:
    beside = (decode.Part("objectness", 1),) if rule != "class" else ()
    parts = (decode.Part("box", 4), decode.Part("score", 3, activation), *beside, decode.Part("count", 1))
    head, specs = of_rows(parts, 16, score=rule, labels=labels)
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(0.6, 1, spec.size).astype(np.float32) for spec in specs[:-1]]
    buffers = [*drawn, np.array([count], np.float32)]
    wanted = [row for row in range(16) if row < count]
    for decoder in decoders(head, specs, SIZE, outputs=named(specs)):
        assert sorted(set(decoder(buffers, 0.05).cell.tolist())) == wanted


@pytest.mark.parametrize("rule, activation", [("class", "none"), ("class", "sigmoid"), ("objectness", "none")])
def test_int32_classes_are_compared_by_what_they_mean(rule: str, activation: str) -> None:
    """Neighbouring integers above 2**24 are one float32: the first class with the largest value wins."""
    parts = [decode.Part("box", 4), decode.Part("score", 3, activation)]
    parts += [decode.Part("objectness", 1)] * (rule != "class")
    form = decode.Form("maps", tuple(parts), decode.Boxes("xyxy", unit="pixel"))
    specs = [nl.TensorSpec((1, part.count, 1, 1), name=part.role) for part in parts]
    specs[1] = specs[1].replace(dtype="int32", quantization=nl.Quantization(2.0**-30, 0))
    codes = np.array([800000000, 800000001, 5], np.int32)
    assert np.float32(codes[0]) == np.float32(codes[1])
    buffers = [np.ones(4, np.float32), codes, np.ones(1, np.float32)][: len(parts)]
    for decoder in decoders(decode.Head("any", 3, (8,), (form,), (), rule), specs, (8, 8), outputs=named(specs)):
        assert decoder(buffers, 0.3).class_id.tolist() == [0]


def test_int32_neighbours_are_compared_by_what_they_mean() -> None:
    """Of two neighbours that are one float32, neither exceeds the other: both are peaks."""
    specs = [nl.TensorSpec((1, n, 2, 2), "NCHW", name=name) for n, name in ((1, "hm"), (2, "wh"), (2, "reg"))]
    specs[0] = specs[0].replace(dtype="int32", quantization=nl.Quantization(2.0**-30, 0))
    buffers = [np.array([800000000, 800000001, 5, 6], np.int32), np.ones(8, np.float32), np.ones(8, np.float32)]
    for decoder in decoders(decode.centernet_head(1, activation="none"), specs, (8, 8)):
        assert sorted(decoder(buffers, 0.3).cell.tolist()) == [0, 1]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize(
    "dtype, zero, axis",
    [("int32", 0, None), ("int32", 0, 1), ("int32", 0, 2), ("int8", 1 << 29, None), ("uint16", -(2.0**40), None)]
    + [("int16", 1 << 28, axis) for axis in (1, 2, 3)],
)
def test_of_codes_that_mean_the_same_the_first_class_counts(
    dtype: str, zero: float, axis: int | None, layout: str
) -> None:
    """float32 holds 24 bits: codes far from zero, or from the zero point, share a value. The oracle compares floats."""
    rng, (c, h, w) = np.random.default_rng(0), (19, 4, 4)
    form = decode.Form("maps", (decode.Part("box", 4), decode.Part("score", c, "sigmoid")), decode.Boxes("distances"))
    head = decode.Head("any", c, (8,), (form,), suppression=decode.Suppression("none"))
    q = nl.Quantization(np.full((c, h, w)[axis - 1], 2.0**-28) if axis else 2.0**-28, zero, axis=axis)
    specs = [nl.TensorSpec((1, n, h, w), layout, name=name) for n, name in ((4, "box"), (c, "score"))]
    specs[1] = specs[1].replace(dtype=dtype, quantization=q)
    info = np.iinfo(dtype)
    top = min(int(info.max), 1 << 28)
    codes = rng.integers(top - 40, top + 1, (c, h, w))
    real = (codes.astype(np.float32) - np.float32(zero)) * np.float32(2.0**-28)
    buffers = [np.zeros(specs[0].size, np.float32), np.zeros(specs[1].size, dtype)]
    for index in np.ndindex(c, h, w):
        buffers[1][specs[1].offset(0, *index)] = codes[index]
    apart = sum(np.argmax(codes[:, y, x]) != np.argmax(real[:, y, x]) for y in range(h) for x in range(w))
    assert apart > 3
    for decoder in decoders(head, specs, SIZE):
        found = decoder(buffers, 0)
        assert len(found) == h * w
        for cell, class_id in zip(found.cell.tolist(), found.class_id.tolist()):
            assert class_id == int(np.argmax(real[:, cell // w, cell % w]))


@pytest.mark.parametrize("axis", [0, 1])
def test_int32_beside_scores_has_scales_along_any_axis(axis: int) -> None:
    """One scale along N, and one for each anchor along an axis of anchors, for boxes of several channels."""
    form = decode.Form("maps", (decode.Part("box", 4), decode.Part("score", 3)), decode.Boxes("xywh", unit="pixel"))
    head = decode.Head("any", 3, (8,), (form,), (((1, 1), (2, 2)),), suppression=decode.Suppression("none"))
    scales = [0.5] if axis == 0 else [0.5, 0.25]
    specs = [nl.TensorSpec((1, 2, n, 4, 4), "NACHW", name=name) for n, name in ((4, "box"), (3, "score"))]
    specs[0] = specs[0].replace(dtype="int32", quantization=nl.Quantization(scales, 3, axis=axis))
    rng = np.random.default_rng(0)
    box, score = rng.integers(0, 40, (2, 4, 4, 4)), rng.random((2, 3, 4, 4)).astype(np.float32)
    for decoder in decoders(head, specs, SIZE, outputs=named(specs)):
        found = decoder([box.astype(np.int32).ravel(), score.ravel()], 0.5)
        assert len(found) > 9 and set(found.anchor.tolist()) == {0, 1}
        for edges, cell, anchor in zip(found.xyxy, found.cell, found.anchor):
            x, y, w, h = (box[anchor, :, cell // 4, cell % 4] - 3) * scales[min(anchor, len(scales) - 1)]
            assert edges.tolist() == [x - w / 2, y - h / 2, x + w / 2, y + h / 2]


def test_labels_beside_a_softmax_are_decoded_by_numpy() -> None:
    head, specs = of_rows((decode.Part("box", 4), decode.Part("label", 1), decode.Part("score", 1, "softmax")), 5)
    assert compiled(head, fit(head, specs, SIZE, named(specs)), specs) is None
    label = np.array([0, 1, 2, 1, 0], np.float32)
    found = decode.Decoder(head, specs, SIZE, outputs=named(specs))([np.zeros(20, np.float32), label, label + 1], 0.5)
    assert found.class_id.tolist() == [0, 1, 2, 1, 0]


def test_a_label_that_is_written_meanwhile_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels saw a label that is no class, and numpy does not: there is no number of detections."""

    class Racing:
        def run(self, *given: Any) -> int:
            return -2

    head, specs = of_rows((decode.Part("box", 4), decode.Part("label", 1), decode.Part("score", 1)), 5)
    decoder = decode.Decoder(head, specs, SIZE, outputs=named(specs))
    monkeypatch.setattr(decoder, "_made", compiled(head, decoder._fitted, specs))
    monkeypatch.setattr(decoder._work, "detector", Racing())
    with pytest.raises(nl.NpuLayoutError, match=r"label: expected whole numbers below 3 \(classes\)"):
        decoder([np.zeros(20, np.float32), np.zeros(5, np.float32), np.ones(5, np.float32)], 0.5)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("classes, dtype", [(80, "int8"), (7, "uint8"), (33, "int16"), (80, "float32")])
def test_the_first_best_class_of_large_maps(classes: int, dtype: str, joined: bool, layout: str) -> None:
    """Maps that are read in pieces, with ties in most cells that pass, and NaN; the oracle is numpy's argmax."""
    rng, (h, w) = np.random.default_rng(classes), (40, 52)
    form = decode.Form("maps", (decode.Part("box", 4), decode.Part("score", classes)), decode.Boxes("distances"))
    head = decode.Head("any", classes, (8,), (form,), suppression=decode.Suppression("none"))
    q = None if dtype == "float32" else nl.Quantization(1 / 64, 0)
    counts = (4 + classes,) if joined else (4, classes)
    specs = [nl.TensorSpec((1, n, h, w), layout, dtype, quantization=q, name=str(n)) for n in counts]
    for share in (0.0, 0.003, 0.05, 0.6):
        codes = rng.integers(0, 20, (4 + classes, h, w))
        some = rng.random((h, w)) < share
        codes[4:, some] = rng.integers(10, 34, (classes, int(some.sum())))
        real = codes / 64
        if q is None:
            real[4 + int(rng.integers(classes)), rng.random((h, w)) < 0.01] = np.nan
        stored = codes if q else real
        parts = (stored,) if joined else (stored[:4], stored[4:])
        buffers = []
        for spec, part in zip(specs, parts):
            buffer = np.full(spec.size, 99, spec.stored)
            at = np.asarray(spec.offset(0, *(np.indices(part.shape))))
            buffer[at] = part.astype(spec.stored)
            buffers.append(buffer)
        best = real[4:].max(0).ravel()
        cells = np.flatnonzero(best >= 0.5)
        cells = cells[np.argsort(-best[cells], kind="stable")]
        for decoder in decoders(head, specs, (8 * h, 8 * w)):
            found = decoder(buffers, 0.5, limit=h * w)
            assert found.cell.tolist() == cells.tolist()
            assert found.class_id.tolist() == real[4:].reshape(classes, -1).argmax(0)[cells].tolist()
            assert found.confidence.tolist() == best[cells].tolist()


def bits(column: Any) -> Any:
    """What is equal where every bit is, but for the sign and the payload of NaN."""
    if column is None or column.dtype.kind != "f":
        return column
    return np.where(np.isnan(column), np.float32(np.nan), column).view(np.uint32)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "NHCW"])
@pytest.mark.parametrize("labels", ["best", "all"])
@pytest.mark.parametrize("scales", [None, 0.5])
def test_anchors_beside_each_other_have_thresholds_of_their_own(layout: str, labels: str, scales: float | None) -> None:
    """Three anchors in one output, with one scale, or of which the second one's objectness has a larger one."""
    rng, (h, w) = np.random.default_rng(0), (7, 5)
    each = np.full(3 * 8, 1 / 255)
    each[8 + 4] *= 2
    q = nl.Quantization(1 / 255, -128) if scales is None else nl.Quantization(each, np.full(24, -128), axis=1)
    spec = nl.TensorSpec((1, 24, h, w), layout, "int8", quantization=q, name="map")
    head = decode.yolov5(3, (8,), (((10, 13), (16, 30), (33, 23)),), labels=labels)
    stored = rng.integers(-128, 128, (24, h, w)).astype(np.int8)
    real = (stored.astype(np.float32) + 128) * (
        np.float32(1 / 255) if scales is None else each.astype(np.float32)[:, None, None]
    )
    buffer = np.zeros(spec.size, np.int8)
    for index in np.ndindex(24, h, w):
        buffer[spec.offset(0, *index)] = stored[index]
    wanted = []
    for y, x, a in np.ndindex(h, w, 3):
        scores = [float(real[8 * a + 4, y, x]) * float(real[8 * a + 5 + c, y, x]) for c in range(3)]
        first = [int(np.argmax(scores))] if labels == "best" else range(3)
        wanted += [(y * w + x, a, c) for c in first if scores[c] >= 0.3]
    assert len(wanted) > 20
    for decoder in decoders(head, [spec], (8 * h, 8 * w)):
        found = decoder([buffer], 0.3, iou=1.0)
        assert sorted(zip(found.cell.tolist(), found.anchor.tolist(), found.class_id.tolist())) == wanted


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float32"])
@pytest.mark.parametrize("rule", ["objectness", "root", "weighted"])
def test_of_all_labels_each_class_has_a_threshold_of_its_own(rule: str, dtype: str, layout: str) -> None:
    """At the very score of a class it is found, with all that are not below it; just above that it is not."""
    rng, (h, w), n = np.random.default_rng(5), (4, 5), 19
    parts = [decode.Part("box", 4), decode.Part("score", n), decode.Part("objectness", 1)]
    form = decode.Form("maps", tuple(parts), decode.Boxes("xyxy", unit="input"))
    none = decode.Suppression("none")
    head = decode.Head("any", n, (8,), (form,), score=rule, labels="all", suppression=none)
    zero, step = {"int8": (-100, 0.004), "uint8": (20, 0.004), "int16": (-999, 1e-4), "float32": (None, 1.0)}[dtype]
    made = [
        scenes.output(rng, (1, part.count, h, w), real, layout, dtype, step, zero, name=part.role)
        for part, real in zip(parts, (rng.uniform(-0.1, 0.9, (1, part.count, h, w)) for part in parts))
    ]
    values = [one.values.astype(np.float64).reshape(-1, h * w) for one in made]
    how: Any = {
        "objectness": lambda o, s: o * s,
        "root": lambda o, s: math.sqrt(o * s) if o * s >= 0 else math.nan,
        "weighted": lambda o, s: (o**3 * s**2) ** 0.2 if s >= 0 else math.nan,
    }[rule]
    scores = {
        (cell, c): how(float(values[2][0, cell]), float(values[1][c, cell])) if values[2][0, cell] >= 0 else math.nan
        for cell, c in np.ndindex(h * w, n)
    }
    known = sorted(score for score in scores.values() if score > 0.1)
    buffers, specs = [one.buffer for one in made], [one.spec for one in made]
    for decoder in decoders(head, specs, (8 * h, 8 * w), outputs=named(specs)):
        for threshold in (known[0], known[len(known) // 2], known[-1], -0.5, 0.0):
            exact = rule != "weighted" or threshold <= 0  # a fifth root is rounded otherwise than pow
            for least in (threshold, np.nextafter(threshold, 2)) if exact else (threshold * 0.999, threshold * 1.001):
                found = decoder(buffers, float(least), limit=1000)
                wanted = [key for key, score in scores.items() if score >= least]
                assert sorted(zip(found.cell.tolist(), found.class_id.tolist())) == wanted


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_of_all_labels_a_weighted_score_at_the_threshold_is_found(dtype: str) -> None:
    """Newton's steps round otherwise than pow, and not always upwards with their argument: no backend may lose one."""
    parts = [decode.Part("box", 4), decode.Part("score", 128), decode.Part("objectness", 1)]
    form = decode.Form("maps", tuple(parts), decode.Boxes("xyxy", unit="input"))
    none = decode.Suppression("none")
    head = decode.Head("any", 128, (8,), (form,), score="weighted", labels="all", suppression=none)
    q = nl.Quantization(1 / 255, -128) if dtype == "int8" else nl.Quantization(1 / 255, 0)
    specs = [nl.TensorSpec((1, part.count, 1, 1), "NCHW", dtype, quantization=q, name=part.role) for part in parts]
    low = np.iinfo(dtype).min if dtype == "int8" else 0
    score = (low + np.arange(128) + 90).astype(dtype)
    made = [*decoders(head, specs, (8, 8), outputs=named(specs))]
    for beside in range(low + 120, low + 255, 19):
        buffers = [np.zeros(4, dtype), score, np.array([beside], dtype)]
        o, s = (q.dequantize(x).astype(np.float64) for x in (buffers[2], score))
        exact = fifth_root(o * o * o * (s * s))
        for c in range(0, 128, 9):
            for decoder in made:
                found = decoder(buffers, float(exact[c]), limit=1000)
                assert sorted(found.class_id.tolist()) == np.flatnonzero(exact >= exact[c]).tolist()


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "NCHW8c"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float32"])
@pytest.mark.parametrize("bins", [1, 7, 8, 16, 17])
def test_means_of_bins_are_softmaxes_wherever_bins_are(bins: int, dtype: str, layout: str) -> None:
    rng, (h, w), n = np.random.default_rng(bins), (5, 9), 4 * bins
    specs = [nl.TensorSpec((1, c, h, w), layout, name=name) for c, name in ((n, "box"), (3, "score"), (6, "points"))]
    zero = {"uint8": 100, "float32": None}.get(dtype, 0)
    if zero is not None:
        specs[0] = specs[0].replace(dtype=dtype, quantization=nl.Quantization(0.06, zero))
    codes = rng.integers(0, 100, (n, h, w)) if zero is not None else rng.normal(0, 3, (n, h, w))
    real = codes if zero is None else (codes - zero) * float(np.float32(0.06))
    parts = [codes, rng.random((3, h, w)), rng.normal(0, 3, (6, h, w))]
    buffers = [np.zeros(spec.size, spec.stored) for spec in specs]
    for spec, buffer, part in zip(specs, buffers, parts):
        for index in np.ndindex(*part.shape):
            buffer[spec.offset(0, *index)] = part[index]
    form = decode.Form(
        "maps",
        tuple(decode.Part(r, c) for r, c in (("box", n), ("score", 3), ("keypoints", 6))),
        decode.Boxes("dfl", bins=bins),
    )
    head = decode.Head(
        "any", 3, (8,), (form,), keypoints=decode.Keypoints(3, 2, "pixels"), suppression=decode.Suppression("none")
    )
    for decoder in decoders(head, specs, (8 * h, 8 * w), outputs={"keypoints": ["points"]}):
        for confidence in (0.0, 0.9, 0.97, 0.99):
            found = decoder(buffers, confidence)
            assert len(found) == (parts[1].astype(np.float32).max(0) >= confidence).sum()
            for edges, points, cell in zip(found.xyxy, found.keypoints, found.cell.tolist()):  # type: ignore[arg-type]
                y, x = divmod(cell, w)
                sides = []
                for side in range(4):
                    values = [float(real[side * bins + i, y, x]) for i in range(bins)]
                    powers = [math.exp(v - max(values)) for v in values]
                    sides.append(sum(p * i for i, p in enumerate(powers)) / sum(powers))
                expected = [x + 0.5 - sides[0], y + 0.5 - sides[1], x + 0.5 + sides[2], y + 0.5 + sides[3]]
                np.testing.assert_allclose(edges, 8 * np.array(expected), rtol=1e-5, atol=1e-4)
                assert points.reshape(-1).tolist() == parts[2][:, y, x].astype(np.float32).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_random_heads_are_decoded_alike(seed: int) -> None:
    """Any record, layout, dtype, scales, threshold and limit; `out=` of another call is the same call."""
    choose = random.Random(seed)
    found = 0
    for _ in range(6):
        head, specs, size, outputs = random_heads.case(choose)
        buffers = [random_heads.buffer_of(choose, spec) for spec in specs]
        confidence, iou = choose.choice((0.0, 0.001, 0.25, 0.5, 0.9, -1.0)), choose.choice((0.0, 0.45, 1.0))
        limit, wanted = choose.choice((1, 5, 300)), None
        for backend in (kernels.backends()[0], choose.choice(kernels.backends()), "numpy"):
            decoder = decode.Decoder(head, specs, size, outputs=outputs)
            use_backend(decoder, backend)
            try:
                got = decoder(buffers, confidence, iou, limit)
            except nl.NpuLayoutError as error:
                assert "no stored value reaches" in str(error)
                break
            again = decoder(buffers, confidence, iou, limit, out=decoder(buffers, confidence, iou, 300))
            wanted = got if wanted is None else wanted
            for name in ("xyxy", "confidence", "class_id", "level", "cell", "anchor", "keypoints", "xywha"):
                for other in (got, again):
                    np.testing.assert_array_equal(
                        bits(getattr(other, name)), bits(getattr(wanted, name)), f"{name} {backend} {head}"
                    )
            found += len(got)
    assert found


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("kind", ["points", "peaks", "turned"])
def test_a_limit_leaves_the_first_rows(kind: str, layout: str) -> None:
    """Few candidates are read in the order of memory, many one by one: either way the best rows stay as they are."""
    heads = {
        "points": (decode.yolov8(3, keypoints=5), (64, 3, 15), (8, 4, 2)),
        "peaks": (decode.centernet_head(3, 4), (3, 2, 2), (16,)),
        "turned": (decode.yolov8_obb(3), (64, 3, 1), (8, 4, 2)),
    }
    head, parts, sides = heads[kind]
    rng, bins, shares = np.random.default_rng(5), nl.Quantization(0.1, -128), nl.Quantization(1 / 255, -128)
    specs = [
        nl.TensorSpec((1, n, side, side), layout, "int8", quantization=bins if n == 64 else shares, name=f"{i}/{side}")
        for side in sides
        for i, n in enumerate(parts)
    ]
    outputs = {"box": ["1/16"], "offset": ["2/16"]} if kind == "peaks" else None
    buffers = [rng.integers(-128, 128, spec.size, np.int8) for spec in specs]
    for decoder in decoders(head, specs, (64, 64), outputs=outputs):
        every = decoder(buffers, 0.3, 0.8, 5000)
        assert len(every) > 20
        for limit in (1, 7, len(every) // 3, len(every) - 1, len(every), len(every) + 1):
            some = decoder(buffers, 0.3, 0.8, limit)
            assert len(some) == min(limit, len(every))
            for name in ("xyxy", "confidence", "class_id", "level", "cell", "anchor", "keypoints", "xywha"):
                wanted = getattr(every, name)
                wanted = None if wanted is None else wanted[:limit]
                np.testing.assert_array_equal(bits(getattr(some, name)), bits(wanted), f"{name} {limit}")


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_bins_that_are_no_usual_numbers_have_equal_bits(share: float) -> None:
    """Powers of several numbers go on side by side: infinities, NaN and what has no power beside usual ones."""
    rng, far = np.random.default_rng(1), [np.inf, -np.inf, np.nan, -708.0, -708.1, 709.0, 709.1, -3e38, 3e38]
    specs = [nl.TensorSpec((1, 64, 9, 7), name="box"), nl.TensorSpec((1, 1, 9, 7), name="score")]
    box = rng.normal(0, 3, specs[0].size).astype(np.float32)
    odd = rng.random(box.size) < share
    box[odd] = rng.choice(np.array(far, np.float32), int(odd.sum()))
    head = decode.yolov8(1, (8,))
    results = []
    for decoder in decoders(head, specs, (72, 56)):
        with np.errstate(all="ignore"):
            found = decoder([box, np.linspace(0.3, 1, 63, dtype=np.float32)], 0.25, iou=1.0)
        results.append((bits(found.xyxy), found.cell))
    first, *others = results
    backends = 1 if kernels.active() == "numpy" else 2  # the half on numpy has no second one
    assert len(first[1]) == 63 and len(results) >= backends
    for xyxy, cell in others:
        np.testing.assert_array_equal(cell, first[1])
        np.testing.assert_array_equal(xyxy, first[0])


@pytest.mark.parametrize("background", [None, 0, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "uint8"])
def test_the_background_among_the_numbers_of_classes(background: int | None, dtype: str) -> None:
    """Its rows are left out before the best are chosen, and the classes after it are numbered from there."""
    parts = (decode.Part("box", 4), decode.Part("score", 1), decode.Part("label", 1))
    head, specs = of_rows(parts, 6, background=background)
    specs[2] = specs[2].replace(dtype=dtype)
    labels, scores = [0, 3, 2, 1, 0, 2], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    stored = [np.zeros(24, np.float32), np.float32(scores), np.array(labels, dtype)]
    if background is None:
        stored[2][1] = 2  # of three classes 3 is none
    kept = [(i, int(label)) for i, label in enumerate(stored[2]) if label != background]
    numbered = [label - (background is not None and label > background) for _, label in kept]
    for decoder in decoders(head, specs, SIZE, outputs=named(specs)):
        for limit in (6, 2):
            found = decoder(stored, 0.3, limit=limit)
            assert found.class_id.tolist() == numbered[:limit]
            assert found.cell.tolist() == [i for i, _ in kept][:limit]
        stored[2][5] = 4
        count = "3 .classes." if background is None else "4 .classes and background."
        with pytest.raises(nl.NpuLayoutError, match=f"label: expected whole numbers below {count}, got 4"):
            decoder(stored, 0.3)
        assert len(decoder(stored, 0.45)) == len([i for i, _ in kept if scores[i] >= 0.45])
        stored[2][5] = 2
