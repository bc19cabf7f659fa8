"""The heads of RetinaNet, EfficientDet and FCOS against their sources, as loops over anchors in plain numbers."""

from __future__ import annotations

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
    Network,
    Values,
    cells,
    compare,
    corners,
    count,
    of_maps,
    sides,
    sigmoid,
)
from tests.support.scenes import NO_PROBABILITIES

LEVELS = (8, 16, 32, 64, 128)
THREE = (8, 16, 32)
OCTAVES = [2 ** (i / 3) for i in range(3)]


def retinanet(strides: tuple[int, ...], shapes: Callable[[int], list[tuple[float, float]]], center: float) -> Any:
    """Boxes and scores of anchors whose width and height in pixels are those of a stride: maps, or lists."""

    def loop(v: Values) -> Iterator[Any]:
        for c in cells(strides, 9):
            w, h = shapes(c.stride)[c.anchor]
            if "box" in v:
                box, scores = v["box"][0, c.whole], v["scores"][0, c.whole]
            else:
                box = v[f"box_{c.stride}"][0, 4 * c.anchor : 4 * c.anchor + 4, c.y, c.x]
                first = CLASSES * c.anchor
                scores = v[f"raw_{c.stride}"][0, first : first + CLASSES, c.y, c.x]
            dx, dy, dw, dh = (float(n) for n in box)
            cx, cy = (c.x + center) * c.stride + dx * w, (c.y + center) * c.stride + dy * h
            yield c, [sigmoid(n) for n in scores], corners(cx, cy, w * math.exp(dw), h * math.exp(dh)), []

    return loop


def of_mmdetection(stride: int) -> list[tuple[float, float]]:
    return [(4 * stride * s / math.sqrt(r), 4 * stride * s * math.sqrt(r)) for r in (0.5, 1, 2) for s in OCTAVES]


def of_detectron(stride: int) -> list[tuple[float, float]]:
    found = []
    for scale in OCTAVES:
        for ratio in (0.5, 1, 2):
            area = (4 * stride * scale) ** 2
            width = math.sqrt(area / ratio)
            found.append((width, width * ratio))
    return found


def efficientdet(strides: tuple[int, ...], anchor_scale: float) -> Any:
    """The anchors of automl's anchors.py: the strides of a level are the input's sides by its cells."""

    def loop(v: Values) -> Iterator[Any]:
        for c in cells(strides, 9):
            step_y, step_x = (side / -(-side // c.stride) for side in SIZE)
            octave, aspect = divmod(c.anchor, 3)
            ax, ay = ((1.0, 1.0), (1.4, 0.7), (0.7, 1.4))[aspect]
            w, h = anchor_scale * step_x * 2 ** (octave / 3) * ax, anchor_scale * step_y * 2 ** (octave / 3) * ay
            if "box" in v:
                box, scores = v["box"][0, c.whole], v["scores"][0, c.whole]
            else:
                box = v[f"box_{c.stride}"][0, 4 * c.anchor : 4 * c.anchor + 4, c.y, c.x]
                scores = v[f"raw_{c.stride}"][0, CLASSES * c.anchor : CLASSES * (c.anchor + 1), c.y, c.x]
            ty, tx, th, tw = (float(n) for n in box)
            cx, cy = step_x * (c.x + 0.5) + tx * w, step_y * (c.y + 0.5) + ty * h
            yield c, [sigmoid(n) for n in scores], corners(cx, cy, w * math.exp(tw), h * math.exp(th)), []

    return loop


def fcos(root: bool, center: float, pixels: bool) -> Any:
    def loop(v: Values) -> Iterator[Any]:
        for c in cells(LEVELS):
            four = [float(n) / (c.stride if pixels else 1) for n in v[f"box_{c.stride}"][0, :, c.y, c.x]]
            central = sigmoid(v[f"center_{c.stride}"][0, 0, c.y, c.x])
            scores = [sigmoid(n) * central for n in v[f"raw_{c.stride}"][0, :, c.y, c.x]]
            yield c, [math.sqrt(s) if root else s for s in scores], sides(c, four, center), []

    return loop


def maps(strides: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return of_maps(strides, box=36, raw=9 * CLASSES)


def lists(strides: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    n = count(strides, 9)
    return {"box": (1, n, 4), "scores": (1, n, CLASSES)}


def network(head: decode.Head, shapes: dict[str, tuple[int, ...]], loop: Any) -> Network:
    return Network(head, shapes, loop, probabilities=False)


DETECTRON = decode.retinanet(CLASSES, scales_first=True)
NETWORKS = {
    "retinanet": network(decode.retinanet(CLASSES), maps(LEVELS), retinanet(LEVELS, of_mmdetection, 0.0)),
    "retinanet, lists": network(decode.retinanet(CLASSES), lists(LEVELS), retinanet(LEVELS, of_mmdetection, 0.0)),
    "retinanet of detectron2": network(DETECTRON, maps(LEVELS), retinanet(LEVELS, of_detectron, 0.0)),
    "retinanet around middles": network(
        decode.retinanet(CLASSES, THREE, anchors=[of_mmdetection(s) for s in THREE], center=0.5),
        maps(THREE),
        retinanet(THREE, of_mmdetection, 0.5),
    ),
    "efficientdet": network(decode.efficientdet(CLASSES, SIZE, size=3), maps(LEVELS), efficientdet(LEVELS, 3)),
    "efficientdet, lists": network(decode.efficientdet(CLASSES, SIZE), lists(LEVELS), efficientdet(LEVELS, 4)),
    "efficientdet of whole strides": network(
        decode.efficientdet(CLASSES, SIZE, THREE), maps(THREE), efficientdet(THREE, 4)
    ),
    "fcos": network(decode.fcos(CLASSES), of_maps(LEVELS, raw=CLASSES, box=4, center=1), fcos(True, 0.5, False)),
    "fcos of mmdetection": network(
        decode.fcos(CLASSES, score="objectness", unit="pixel"),
        of_maps(LEVELS, raw=CLASSES, box=4, center=1),
        fcos(False, 0.5, True),
    ),
    "fcos of torchvision": network(
        decode.fcos(CLASSES, center=0), of_maps(LEVELS, raw=CLASSES, box=4, center=1), fcos(True, 0.0, False)
    ),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str, seed: int) -> None:
    compare(NETWORKS[name], name, seed)


def test_efficientdet_lists_anchors_where_strides_divide_the_input() -> None:
    whole, rest = decode.efficientdet(2, (512, 512)), decode.efficientdet(2, (320, 320), size=3)
    assert not whole.priors and len(rest.priors) == 9 * (40**2 + 20**2 + 10**2 + 5**2 + 3**2) == 19206
    assert whole.anchors[0][0] == (32.0, 32.0)
    np.testing.assert_allclose(rest.priors[-9], [5 / 6, 5 / 6, 1.0, 1.0])  # 3 cells of 106.7 pixels: anchors of 320


def test_shapes_of_efficientdet_are_given() -> None:
    """Later configurations have ratios of areas of 1: their anchors are 1 % wider."""
    head = decode.efficientdet(2, (64, 64), (8,), aspects=[(1, 1), (2**0.5, 0.5**0.5)])
    assert len(head.anchors[0]) == 6 and head.anchors[0][1] == pytest.approx((32 * 2**0.5, 32 * 0.5**0.5))
    with pytest.raises(nl.NpuLayoutError, match="aspects: expected pairs of width and height"):
        decode.efficientdet(2, aspects=(1.0, 2.0, 0.5))


def test_heads_are_data() -> None:
    for head in (decode.retinanet(3), decode.efficientdet(3, (40, 72), (8, 16)), decode.fcos(3)):
        assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head


def test_scores_and_centrality_of_one_class_are_distinguished_by_their_names() -> None:
    def specs(score: str, central: str) -> list[nl.TensorSpec]:
        each = ((score, 1), ("reg", 4), (central, 1))
        return [nl.TensorSpec((1, n, 8, 8), name=f"{what}8") for what, n in each]

    head = decode.fcos(1, (8,))
    for pair in (("cls", "centerness"), ("score", "ctr")):
        decoder = decode.Decoder(head, specs(*pair), (64, 64))
        assert decoder._fitted.levels[0].places["objectness"].output == 2
    with pytest.raises(nl.LayoutError, match="outputs="):
        decode.Decoder(head, specs("a", "b"), (64, 64))
    decode.Decoder(head, specs("a", "b"), (64, 64), outputs={"score": ["b8"]})


@pytest.mark.parametrize(
    ("make", "arguments", "words"),
    [
        (decode.retinanet, dict(ratios=(0.5, 0)), "ratios: expected a number above 0"),
        (decode.retinanet, dict(scales=()), "scales: expected a sequence of numbers"),
        (decode.retinanet, dict(size=-1), "size: expected a number above 0"),
        (decode.retinanet, dict(activation="softmax"), "activation"),
        (decode.efficientdet, dict(input_shape=(40000, 40000), strides=(8,)), "at most 1048576 anchors"),
        (decode.efficientdet, dict(input_shape=640), "give"),
        (decode.fcos, dict(score="class"), "score"),
    ],
)
def test_refused(make: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        make(3, **arguments)


@pytest.mark.parametrize("strides", ((8,), (8, 16)))
@pytest.mark.parametrize(
    "make",
    (
        lambda steps: decode.retinanet(3, steps),
        lambda steps: decode.efficientdet(3, SIZE, steps),
        lambda steps: decode.retinaface(steps, [[(16, 16), (32, 32)]] * len(steps), keypoints=0),
    ),
)
@NO_PROBABILITIES
def test_anchors_of_a_cell_follow_each_other_in_a_list_of_each_level(
    make: Callable[[tuple[int, ...]], decode.Head], strides: tuple[int, ...]
) -> None:
    head = make(strides)
    many, scores = len(head.anchors[0]), head.classes + (head.background is not None)
    specs, buffers, expected = [], [], []
    for level, stride in enumerate(strides):
        cells = -(-SIZE[0] // stride) * -(-SIZE[1] // stride)
        values = np.full((1, cells * many, scores), -9, np.float32)
        for n in (many, 3 * many - 1):
            values[0, n, -1] = 5 - n / 64 - level
            expected.append((level, n // many, n % many))
        for name, array in (("score", values), ("box", np.zeros((1, cells * many, 4), np.float32))):
            specs.append(nl.TensorSpec(array.shape, "NWC", axes="NWC", name=f"{name}{stride}"))
            buffers.append(array.ravel())
    found = decode.Decoder(head, specs, SIZE)(buffers, iou=1.0)
    assert list(zip(found.level.tolist(), found.cell.tolist(), found.anchor.tolist())) == expected


@pytest.mark.parametrize("side", [33, 64])
def test_levels_of_one_grid_need_names(side: int) -> None:
    """Strides 64 and 128 have one cell each: which output is of which, only names say."""
    head = decode.retinanet(3)
    grids = [-(-side // stride) for stride in head.strides]
    specs = [
        nl.TensorSpec((1, n, k, k), name=f"{role}{level}")
        for level, k in enumerate(grids)
        for role, n in (("box", 36), ("score", 27))
    ]
    wanted = r"strides 64 and 128 have 1x1 cells each: .*box3 .*score4 .*outputs={role: names} .*8, 16, 32, 64, 128"
    with pytest.raises(nl.LayoutError, match=wanted):
        decode.Decoder(head, specs, (side, side))
    assert "retinanet" in {one.name for one in decode.guess(specs, (side, side), 3).others}
    names = {role: [f"{role}{level}" for level in range(5)] for role in ("box", "score")}
    values = {spec.name: np.full(spec.size, -9 + 9 * (spec.name == "score4"), np.float32) for spec in specs}
    found = decode.Decoder(head, specs, (side, side), outputs=names)(values, 0.4)
    assert len(found) and set(found.level.tolist()) == {4}


@pytest.mark.parametrize(
    "option", [{"size": 3.0}, {"scales": [1.0]}, {"ratios": np.ones(1)}, {"scales_first": True}], ids=str
)
def test_anchors_take_the_place_of_what_makes_them(option: dict[str, Any]) -> None:
    anchors = [[(8.0 * k, 4.0 * k)] * 9 for k in (1, 2, 4, 8, 16)]
    made = decode.retinanet(3, anchors=anchors, size=4, scales=np.array([1, 2 ** (1 / 3), 2 ** (2 / 3)]))
    assert made.anchors[1][0] == (16.0, 8.0)
    (name,) = option
    with pytest.raises(nl.NpuLayoutError, match=rf"{name}: no effect beside anchors=, .*; expected .*, got"):
        decode.retinanet(3, anchors=anchors, **option)
