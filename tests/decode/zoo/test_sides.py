"""The heads whose boxes are four sides against their formulas, written down as loops over cells in plain numbers."""

from __future__ import annotations

import json
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
    Network,
    Values,
    cells,
    compare,
    count,
    distances,
    grid,
    means,
    of_maps,
    sides,
    sigmoid,
)
from tests.support.scenes import NO_PROBABILITIES


def rtmdet(v: Values) -> Iterator[Any]:
    """Sides in pixels from the corner of the cell."""
    for c in cells():
        left, top, right, bottom = (float(n) for n in v[f"box_{c.stride}"][0, :, c.y, c.x])
        box = c.x * c.stride - left, c.y * c.stride - top, c.x * c.stride + right, c.y * c.stride + bottom
        yield c, [sigmoid(n) for n in v[f"score_{c.stride}"][0, :, c.y, c.x]], box, []


def ppyoloe_list(v: Values) -> Iterator[Any]:
    for c in cells():
        yield c, v["scores"][0, :, c.whole].astype(float).tolist(), tuple(v["boxes"][0, c.whole].astype(float)), []


def nanodet(v: Values) -> Iterator[Any]:
    for c in cells((8, 16, 32, 64)):
        e = v["out"][0, c.whole]
        yield c, e[:CLASSES].astype(float).tolist(), sides(c, means(e[CLASSES:], 8), 0.0), []


def of_an_oak(v: Values) -> Iterator[Any]:
    """Sides, a number that says nothing more, and scores."""
    for c in cells():
        e = v[f"out_{c.stride}"][0, :, c.y, c.x].astype(float).tolist()
        yield c, e[5:], sides(c, e[:4], 0.5), []


def sides_of_list(v: Values) -> Iterator[Any]:
    """AXERA's PP-YOLOE: the coarsest cells first."""
    for c in cells((32, 16, 8)):
        scores = v["scores"][0, c.whole].astype(float).tolist()
        yield c, scores, sides(c, v["boxes"][0, c.whole].astype(float), 0.5), []


def damoyolo(v: Values) -> Iterator[Any]:
    """The last score is no class, and sides are those from the corner of the cell."""
    for c in cells():
        scores = [sigmoid(n) for n in v[f"raw_{c.stride}"][0, :CLASSES, c.y, c.x]]
        yield c, scores, sides(c, means(v[f"box_{c.stride}"][0, :, c.y, c.x], 17), 0.0), []


NETWORKS = {
    "yolov8 of an OAK": Network(
        decode.depthai_yolo(CLASSES), of_maps(STRIDES, out=5 + CLASSES), of_an_oak, probabilities=False
    ),
    "rtmdet of MMYOLO": Network(
        decode.rtmdet(CLASSES, activation="none", unit="stride"),
        of_maps(STRIDES, box=4, score=CLASSES),
        distances("box", 0.0),
        spread=2,
    ),
    "rtmdet": Network(
        decode.rtmdet(CLASSES), of_maps(STRIDES, box=4, score=CLASSES), rtmdet, probabilities=False, spread=20
    ),
    "pp": Network(
        decode.ppyoloe(CLASSES), of_maps(STRIDES, box=68, score=CLASSES), distances("box", bins=17), spread=2
    ),
    "pp list": Network(
        decode.ppyoloe(CLASSES), {"boxes": (1, count(), 4), "scores": (1, CLASSES, count())}, ppyoloe_list, spread=40
    ),
    "nanodet": Network(decode.nanodet(CLASSES), {"out": (1, count((8, 16, 32, 64)), CLASSES + 32)}, nanodet, spread=2),
    "pp of AXERA": Network(
        decode.ppyoloe(CLASSES, (32, 16, 8), listed="sides"),
        {"boxes": (1, count(), 4), "scores": (1, count(), CLASSES)},
        sides_of_list,
        spread=2,
    ),
    "damo of Hailo": Network(
        decode.damoyolo(CLASSES, activation="sigmoid"),
        of_maps(STRIDES, box=68, raw=CLASSES + 1),
        damoyolo,
        probabilities=False,
        spread=2,
    ),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NETWORKS)
@NO_PROBABILITIES
def test_sides(name: str, seed: int) -> None:
    compare(NETWORKS[name], name, seed)


@pytest.mark.parametrize("head", [n.head for n in NETWORKS.values()], ids=list(NETWORKS))
def test_heads_are_data(head: decode.Head) -> None:
    assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head


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
        (lambda: decode.ppyoloe(labels="every"), "labels: expected best or all"),
        (lambda: decode.nanodet(bins=0), "bins"),
        (lambda: decode.nanodet(strides=()), "strides"),
        (
            lambda: decode.ppyoloe(listed="corners"),
            "listed: expected edges or sides",
        ),
        (lambda: decode.damoyolo(activation="softmax"), "activation: expected none or sigmoid"),
    ],
)
def test_bad_arguments(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        make()
