"""The heads of boxes with anchors and points against their formulas, written down as loops in plain numbers."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support import scenes
from tests.support.backends import decoders
from tests.support.networks import SIZE, STRIDES, Cell, Network, Values, cells, compare, corners, count, grid, sigmoid

FACES = (((4, 5), (6, 8), (10, 12)), ((15, 19), (23, 30), (39, 52)), ((72, 97), (123, 164), (209, 297)))


def faces(v: Values) -> Iterator[Any]:
    """Of the last convolution: box, objectness, one class, and x, y and confidence of five points."""
    for c in cells(anchors=3):
        e = [float(n) for n in v[f"out_{c.stride}"][0, 21 * c.anchor : 21 * c.anchor + 21, c.y, c.x]]
        (w, h), (bx, by, bw, bh) = FACES[c.level][c.anchor], (2 * sigmoid(n) for n in e[:4])
        box = corners((bx - 0.5 + c.x) * c.stride, (by - 0.5 + c.y) * c.stride, bw * bw * w, bh * bh * h)
        points = [
            ((2 * e[k] - 0.5 + c.x) * c.stride, (2 * e[k + 1] - 0.5 + c.y) * c.stride, sigmoid(e[k + 2]))
            for k in range(6, 21, 3)
        ]
        yield c, [sigmoid(e[4]) * sigmoid(e[5])], box, points


def people(v: Values) -> Iterator[Any]:
    """The list has all cells of an anchor, then those of the next; all numbers are decoded."""
    start, rows = 0, v["out"][0].astype(float)
    for level, s in enumerate((*STRIDES, 64)):
        n = math.prod(grid(s))
        for a in range(3):
            for cell in range(n):
                e = rows[start + a * n + cell]
                y, x = divmod(cell, grid(s)[1])
                points = [tuple(e[k : k + 3]) for k in range(6, 57, 3)]
                yield Cell(level, s, y, x, cell, a, 0, 0), [e[4] * e[5]], corners(*e[:4]), points
        start += 3 * n


def ordered(loop: Any) -> Any:
    """Equal scores are in the order of levels, then cells, then anchors."""
    return lambda v: iter(sorted(loop(v), key=lambda row: (row[0].level, row[0].cell, row[0].anchor)))


NETWORKS = {
    "yolov7-face": Network(
        decode.yolov7_pose(5, STRIDES), {f"out_{s}": (1, 63, *grid(s)) for s in STRIDES}, faces, probabilities=False
    ),
    "yolov7-pose, a list": Network(decode.yolov7_pose(), {"out": (1, count((*STRIDES, 64), 3), 57)}, ordered(people)),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NETWORKS)
def test_poses(name: str, seed: int) -> None:
    compare(NETWORKS[name], name, seed)


@pytest.mark.parametrize("head", [n.head for n in NETWORKS.values()], ids=list(NETWORKS))
def test_heads_are_data(head: decode.Head) -> None:
    assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_movenet_of_several_people(dtype: str) -> None:
    """Each row: y, x and score of each point, edges top, left, bottom, right, and the person's score."""
    rng = np.random.default_rng(3)
    out = scenes.output(rng, (1, 6, 56), rng.random((1, 6, 56)), nl.Layout.of_rank(3), dtype, 1 / 255, 0, name="out")
    rows = sorted(enumerate(out.values[0].astype(float)), key=lambda row: -row[1][55])
    wanted = [(i, row) for i, row in rows if row[55] >= 0.25]
    assert 1 < len(wanted) <= 6
    for decoder in decoders(decode.movenet(), [out.spec], SIZE):
        found = decoder([out.buffer], 0.25)
        assert found.cell.tolist() == [i for i, _ in wanted] and found.class_id.tolist() == [0] * len(wanted)
        for k, (_, row) in enumerate(wanted):
            top, left, bottom, right = row[51:55]
            box = [left * SIZE[1], top * SIZE[0], right * SIZE[1], bottom * SIZE[0]]
            np.testing.assert_allclose(found.xyxy[k], box, rtol=1e-6)
            points = [(row[i + 1] * SIZE[1], row[i] * SIZE[0], row[i + 2]) for i in range(0, 51, 3)]
            np.testing.assert_allclose(found.keypoints[k], points, rtol=1e-6)


@pytest.mark.parametrize("values", [2, 3])
def test_points_in_other_orders(values: int) -> None:
    """The same points as x and y of each, as y and x, and as x of all, then y of all."""
    head, rng = decode.yolov8(1, (8,), keypoints=4), np.random.default_rng(4)
    points = rng.normal(0, 1, (1, 4, values, 2, 3)).astype(np.float32)  # of a map of 2x3 cells
    box, score = rng.normal(0, 1, (1, 64, 2, 3)).astype(np.float32), np.full((1, 1, 2, 3), 0.9, np.float32)
    part = decode.Part("keypoints", 4 * values)
    form = dataclasses.replace(head.forms[0], parts=(*head.forms[0].parts[:3], part))
    stored = {
        "xy": points.reshape(1, -1, 2, 3),
        "yx": points[:, :, [1, 0, 2][:values]].reshape(1, -1, 2, 3),
        "apart": points.transpose(0, 2, 1, 3, 4).reshape(1, -1, 2, 3),
    }
    found = []
    for order, array in stored.items():
        how = decode.Keypoints(4, values, order=order)
        other = dataclasses.replace(head, forms=(form,), keypoints=how)
        arrays = {"box": box, "score": score, "points": array}
        specs = [nl.TensorSpec(x.shape, name=name) for name, x in arrays.items()]
        for decoder in decoders(other, specs, (16, 24)):
            found.append(decoder([np.ascontiguousarray(x).ravel() for x in arrays.values()], 0.5, 1.0).keypoints)
    assert len(found[0]) == 6 and all(np.array_equal(found[0], one) for one in found)


def test_anchors_go_by_stride() -> None:
    assert decode.yolov7_pose(strides=(64, 8, 32, 16)).anchors[0][2] == (925, 792)
    assert decode.yolov7_pose(5, (32, 8, 16)).anchors[1] == FACES[0]
    with pytest.raises(nl.NpuLayoutError, match="those that are published are for 8, 16, 32, 64 and for 8, 16, 32"):
        decode.yolov7_pose(strides=(8, 16))
    with pytest.raises(nl.NpuLayoutError, match="keypoints"):
        decode.yolov7_pose(0)


def test_outputs_that_the_network_joins_are_refused() -> None:
    """Anchors are counted over 18 and 153 channels together: those of anchor 0 would be in two outputs."""
    shapes = [(1, n, 640 // s, 640 // s) for s in (8, 16, 32, 64) for n in (18, 153)]
    apart = [nl.TensorSpec(shape, name=f"{shape[1]}/{shape[2]}") for shape in shapes]
    with pytest.raises(nl.LayoutError, match=r"one output; got 18/80 \(1, 18, 80, 80\) and 153/80 .*, in this order"):
        decode.Decoder(decode.yolov7_pose(), apart, (640, 640))
    joined = [spec.replace(shape=(1, 171, *spec.shape[2:])) for spec in apart[::2]]
    assert len(decode.Decoder(decode.yolov7_pose(), joined, (640, 640)).specs) == 4
