"""The heads of turned boxes against their formula, written down as loops over cells in plain numbers."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support import scenes
from tests.support.backends import decoders
from tests.support.networks import CLASSES, SIZE, STRIDES, Cell, Values, cells, count, means, of_maps, sigmoid


def around(c: Cell, sides: Any, angle: float) -> tuple[float, ...]:
    """The box of four sides, in strides from the centre of a cell, that is turned around that centre."""
    left, top, right, bottom = (float(n) * c.stride for n in sides)
    x, y = (right - left) / 2, (bottom - top) / 2
    cx = (c.x + 0.5) * c.stride + x * math.cos(angle) - y * math.sin(angle)
    cy = (c.y + 0.5) * c.stride + x * math.sin(angle) + y * math.cos(angle)
    return cx, cy, left + right, top + bottom, angle


def of_26(v: Values) -> Iterator[Any]:
    """YOLO26-OBB: sides without bins, angles in radians, every class that passes."""
    for c in cells():
        angle = float(v[f"angle_{c.stride}"][0, 0, c.y, c.x])
        scores = [sigmoid(n) for n in v[f"raw_{c.stride}"][0, :, c.y, c.x]]
        yield c, scores, around(c, v[f"box_{c.stride}"][0, :, c.y, c.x], angle)


def of_8(v: Values) -> Iterator[Any]:
    """AXERA's YOLOv8-OBB: the channels of the maps on one axis of cells, angles in radians."""
    for c in cells():
        e = v["out"][0, c.whole]
        scores = [sigmoid(n) for n in e[64 : 64 + CLASSES]]
        best = max(range(CLASSES), key=lambda i: scores[i])
        scores = [s if i == best else -1.0 for i, s in enumerate(scores)]
        yield c, scores, around(c, means(e[:64], 16), float(e[64 + CLASSES]))


NETWORKS = {
    "26": (
        decode.yolo26_obb(CLASSES, activation="sigmoid"),
        of_maps(STRIDES, box=4, raw=CLASSES, angle=1),
        of_26,
    ),
    "v8 of AXERA": (
        decode.yolov8_obb(CLASSES, activation="sigmoid", angle="radians"),
        {"out": (1, count(), 65 + CLASSES)},
        of_8,
    ),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NETWORKS)
def test_turned_boxes(name: str, seed: int) -> None:
    """Candidates of random outputs, without suppression."""
    head, shapes, loop = NETWORKS[name]
    rng, choose = np.random.default_rng(seed), random.Random(f"{name} {seed}")
    outputs = []
    for part, shape in shapes.items():
        layout, dtype = scenes.pick(choose)
        layout = layout if len(shape) == 4 else nl.Layout.of_rank(len(shape))
        outputs.append(scenes.output(rng, shape, rng.normal(0, 1, shape), layout, dtype, 0.05, 3, name=part))
    values = {o.spec.name: o.values for o in outputs}
    found = [
        (float(np.float32(s)), c.level, c.cell, k, box)
        for c, scores, box in loop(values)
        for k, s in enumerate(scores)
        if s >= 0.6
    ]
    found.sort(key=lambda f: (-f[0], *f[1:4]))
    assert len(found) > 20
    for decoder in decoders(head, [o.spec for o in outputs], SIZE):
        got = decoder([o.buffer for o in outputs], 0.6, 1.0, 1000)
        if head.suppression.kind != "none":  # at 1 only equal boxes go
            assert len(got) <= len(found)
            wanted = {f[1:4]: f for f in found}
            rows = [wanted[int(a), int(b), int(k)] for a, b, k in zip(got.level, got.cell, got.class_id)]
            assert len(rows) >= len(found) - 2
        else:
            rows = found
        assert got.confidence.tolist() == [f[0] for f in rows]
        assert list(zip(got.level.tolist(), got.cell.tolist(), got.class_id.tolist())) == [f[1:4] for f in rows]
        np.testing.assert_allclose(got.xywha, [f[4] for f in rows], rtol=1e-5, atol=1e-4)


def test_rows_of_26() -> None:
    """Centre, size, score, class and angle, of pixels or of an input of 1."""
    for unit, (x, y) in (("pixel", (1.0, 1.0)), ("input", (float(SIZE[1]), float(SIZE[0])))):
        rows = np.float32([[[0.5, 0.4, 0.2, 0.1, 0.9, 2, 0.7], [0.1, 0.2, 0.3, 0.4, 0.3, 0, -0.2], [0] * 7]])
        spec = nl.TensorSpec(rows.shape, nl.Layout.of_rank(3), name="out")
        for decoder in decoders(decode.yolo26_obb(3, unit=unit), [spec], SIZE):
            found = decoder([rows.ravel()], 0.25)
            assert found.class_id.tolist() == [2, 0] and found.cell.tolist() == [0, 1]
            sides = np.float32([x, y, x, y, 1])
            np.testing.assert_allclose(found.xywha, rows[0, :2][:, [0, 1, 2, 3, 6]] * sides, rtol=1e-6)


@pytest.mark.parametrize("head", [head for head, _, _ in NETWORKS.values()], ids=list(NETWORKS))
def test_heads_are_data(head: decode.Head) -> None:
    assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head
