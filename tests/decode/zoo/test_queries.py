"""The heads of DETR and RT-DETR against their post-processing, written down as loops over queries in plain numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.backends import decoders
from tests.support.networks import CLASSES, SIZE, Cell, Network, Values, compare, corners, sigmoid

QUERIES = 40


def query(i: int) -> Cell:
    return Cell(0, 1, 0, i, i, 0, i, i)


def box_of(v: Any) -> tuple[float, ...]:
    x, y, w, h = (float(n) for n in v)
    return corners(x * SIZE[1], y * SIZE[0], w * SIZE[1], h * SIZE[0])


def queries(v: Values) -> Iterator[Any]:
    for i in range(QUERIES):
        yield query(i), [sigmoid(n) for n in v["logits"][0, i]], box_of(v["pred_boxes"][0, i]), []


def one_output(v: Values) -> Iterator[Any]:
    for i, row in enumerate(v["out"][0]):
        yield query(i), [float(n) for n in row[4:]], box_of(row[:4]), []


def detr(v: Values) -> Iterator[Any]:
    for i, row in enumerate(v["logits"][0].astype(float)):
        powers = [math.exp(n - max(row)) for n in row]
        yield query(i), [p / sum(powers) for p in powers[:-1]], box_of(v["pred_boxes"][0, i]), []


BOXES = {"pred_boxes": (1, QUERIES, 4)}
NETWORKS = {
    "rtdetr": Network(
        decode.rtdetr(CLASSES),
        {"logits": (1, QUERIES, CLASSES), **BOXES},
        queries,
        labels="all",
        suppress=False,
        probabilities=False,
        spread=2,
    ),
    "rtdetr of ultralytics": Network(
        decode.rtdetr(CLASSES, activation="none", labels="best"),
        {"out": (1, QUERIES, 4 + CLASSES)},
        one_output,
        suppress=False,
    ),
    "detr": Network(
        decode.detr(CLASSES),
        {"logits": (1, QUERIES, CLASSES + 1), **BOXES},
        detr,
        suppress=False,
        probabilities=False,
        spread=2,
    ),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str, seed: int) -> None:
    compare(NETWORKS[name], name, seed)


def test_heads_are_data() -> None:
    for network in NETWORKS.values():
        assert decode.Head.from_dict(json.loads(json.dumps(network.head.to_dict()))) == network.head


def test_rows_behind_the_post_processing() -> None:
    """labels, boxes and scores, as RT-DETR's and D-FINE's export scripts name them."""
    rng = np.random.default_rng(1)
    specs = [
        nl.TensorSpec((1, 30), "NC", "int32", name="labels"),
        nl.TensorSpec((1, 30, 4), "NCW", name="boxes"),
        nl.TensorSpec((1, 30), "NC", name="scores"),
    ]
    labels, scores = rng.integers(0, 80, 30).astype(np.int32), np.sort(rng.random(30).astype(np.float32))[::-1].copy()
    boxes = rng.uniform(0, 60, (30, 4)).astype(np.float32)
    for decoder in decoders(decode.rtdetr(), specs, SIZE):
        found = decoder({"labels": labels, "boxes": boxes.ravel(), "scores": scores}, 0.5)
        n = int((scores >= 0.5).sum())
        assert len(found) == n > 5 and np.array_equal(found.confidence, scores[:n])
        assert np.array_equal(found.class_id, labels[:n]) and np.array_equal(found.xyxy, boxes[:n])


def test_what_is_refused() -> None:
    for make, says in (
        (lambda: decode.rtdetr(activation="softmax"), "activation: expected none or sigmoid"),
        (lambda: decode.rtdetr(unit="stride"), "unit: expected pixel or input"),
        (lambda: decode.detr(activation="sigmoid"), "activation: expected softmax or none"),
        (lambda: decode.detr(0), "classes"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            make()


def test_boxes_and_four_scores_are_known_by_their_names() -> None:
    shape, rng = (1, QUERIES, 4), np.random.default_rng(0)
    for boxes, scores in (("pred_boxes", "pred_logits"), ("boxes", "scores")):
        values = {scores: rng.normal(0, 2, shape).astype(np.float32), boxes: rng.random(shape, np.float32)}
        specs = [nl.TensorSpec(shape, "NCW", name=name) for name in values]
        found = decode.Decoder(decode.rtdetr(4), specs, SIZE)({n: v.ravel() for n, v in values.items()}, 0.9)
        assert len(found) and all(
            value == pytest.approx(sigmoid(values[scores][0, cell, label]))
            for value, cell, label in zip(found.confidence, found.cell, found.class_id)
        )
    with pytest.raises(nl.LayoutError, match="extents do not distinguish"):
        decode.Decoder(decode.rtdetr(4), [nl.TensorSpec(shape, "NCW", name=name) for name in "ab"], SIZE)
