"""The heads of SSD, PP-YOLOE and NanoDet against their formulas, written down as loops over cells in plain numbers."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
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
    count,
    distances,
    grid,
    means,
    of_maps,
    sides,
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


def ppyoloe_list(v: Values) -> Iterator[Any]:
    for c in cells():
        yield c, v["scores"][0, :, c.whole].astype(float).tolist(), tuple(v["boxes"][0, c.whole].astype(float)), []


def nanodet(v: Values) -> Iterator[Any]:
    for c in cells((8, 16, 32, 64)):
        e = v["out"][0, c.whole]
        yield c, e[:CLASSES].astype(float).tolist(), sides(c, means(e[CLASSES:], 8), 0.0), []


NETWORKS = {
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
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NETWORKS)
def test_detector(name: str, seed: int) -> None:
    compare(NETWORKS[name], name, seed)


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


def test_nanodets_maps_are_its_list() -> None:
    strides, rng = (8, 16, 32, 64), np.random.default_rng(4)
    head = decode.nanodet(CLASSES)
    maps = [rng.random((1, CLASSES + 32, *grid(s))).astype(np.float32) for s in strides]
    listed = np.concatenate([m.reshape(CLASSES + 32, -1).T for m in maps])[None]
    by_maps = decode.Decoder(head, [nl.TensorSpec(m.shape, name=f"m{m.shape[2]}") for m in maps], SIZE)
    by_list = decode.Decoder(head, [nl.TensorSpec(listed.shape, nl.Layout.of_rank(3), name="all")], SIZE)
    one = by_maps([m.ravel() for m in maps], confidence=0.9)
    two = by_list([np.ascontiguousarray(listed).ravel()], confidence=0.9)
    assert len(one) > 5 and set(one.level.tolist()) > {0}
    for field in ("xyxy", "confidence", "class_id", "level", "cell"):
        assert np.array_equal(getattr(one, field), getattr(two, field)), field


def test_sums_of_scores_are_not_read() -> None:
    """airockchip's export of PP-YOLOE has a third map for each stride; what is in it changes nothing."""
    rng = np.random.default_rng(5)
    shapes = of_maps(STRIDES, box=68, score=CLASSES, sum=1)
    specs = [nl.TensorSpec(shape, name=name) for name, shape in shapes.items()]
    decoder = decode.Decoder(decode.ppyoloe(CLASSES), specs, SIZE)
    values = {name: rng.random(shape).astype(np.float32).ravel() for name, shape in shapes.items()}
    first = decoder(values, confidence=0.8)
    again = decoder({k: v * 0 if k.startswith("sum") else v for k, v in values.items()}, confidence=0.8)
    assert len(first) and np.array_equal(first.xyxy, again.xyxy) and np.array_equal(first.confidence, again.confidence)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: decode.ssd([[0.5, 0.5, 0.1]]), r"priors: expected \(n, 4\) numbers, got \(1, 3\)"),
        (lambda: decode.ssd("priors"), "priors: expected"),
        (lambda: decode.ssd(PRIORS, 0), "classes: expected"),
        (lambda: decode.ssd(PRIORS, activation="tanh"), "activation: expected one of"),
        (lambda: decode.ssd(PRIORS, yx=2), "yx: expected"),
        (lambda: decode.ssd(PRIORS, variances=(0.1,)), "variances"),
        (lambda: decode.ssd_postprocessed(1.5), "classes: expected"),
        (lambda: decode.ppyoloe(labels="every"), "labels: expected best or all"),
        (lambda: decode.nanodet(bins=0), "bins"),
        (lambda: decode.nanodet(strides=()), "strides"),
    ],
)
def test_bad_arguments(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        make()
