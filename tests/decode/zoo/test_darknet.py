"""The heads of YOLOv2, v3 and v4 against Darknet's formulas, written down as loops over cells in plain numbers."""

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
    Network,
    Values,
    cells,
    compare,
    corners,
    grid,
    of_maps,
    sigmoid,
)

# yolov2-tiny-voc.cfg and yolov2.cfg in cells; yolov3.cfg and yolov3-tiny.cfg in pixels, mask by mask.
VOC = "1.08,1.19, 3.42,4.41, 6.63,11.38, 9.42,5.11, 16.62,10.52"
COCO = "0.57273, 0.677385, 1.87446, 2.06253, 3.33843, 5.47434, 7.88282, 3.52778, 9.77052, 9.16828"
THREE = "10,13, 16,30, 33,23, 30,61, 62,45, 59,119, 116,90, 156,198, 373,326"
TINY = "23,27, 37,58, 81,82, 81,82, 135,169, 344,319"  # masks 1,2,3 and 3,4,5, of the published weights
FOUR = "12, 16, 19, 36, 40, 28, 36, 75, 76, 55, 72, 146, 142, 110, 192, 243, 459, 401"  # yolov4.cfg
OWN = ((1.5, 2.0), (3.25, 0.5))  # of a network of two anchors, in cells


def of_cfg(text: str) -> list[tuple[float, float]]:
    numbers = [float(n) for n in text.split(",")]
    return list(zip(numbers[::2], numbers[1::2]))


def region(
    strides: tuple[int, ...],
    pairs: list[tuple[float, float]],
    in_cells: bool,
    shares: bool,
    scale_x_y: dict[int, float] | None = None,
) -> Callable[[Values], Any]:
    """Boxes and scores of `out_STRIDE`, an output with the channels of one anchor after the other."""
    each = len(pairs) // len(strides)

    def loop(v: Values) -> Iterator[Any]:
        for c in cells(strides, each):
            n = 5 + CLASSES
            e = [float(x) for x in v[f"out_{c.stride}"][0, c.anchor * n : (c.anchor + 1) * n, c.y, c.x]]
            w, h = pairs[c.level * each + c.anchor]
            unit = c.stride if in_cells else 1
            size = math.exp(e[2]) * w * unit, math.exp(e[3]) * h * unit
            scale = scale_x_y[c.stride] if scale_x_y else 1.0
            x, y = (sigmoid(v) * scale - 0.5 * (scale - 1) for v in e[:2])
            box = corners((x + c.x) * c.stride, (y + c.y) * c.stride, *size)
            scores = [sigmoid(x) for x in e[5:]]
            if shares:
                powers = [math.exp(x - max(e[5:])) for x in e[5:]]
                scores = [p / sum(powers) for p in powers]
            yield c, [sigmoid(e[4]) * s for s in scores], box, []

    return loop


def joined(v: Values) -> Values:
    """The one map of each stride whose channels Hailo's compiler puts in outputs of their own."""
    found = {}
    for s in STRIDES:
        parts = []
        for a in range(3):
            for name, n in (("center", 2), ("scale", 2), ("obj", 1), ("probs", CLASSES)):
                parts.append(v[f"{name}_{s}"][:, a * n : (a + 1) * n])
        found[f"out_{s}"] = np.concatenate(parts, 1)
    return found


def maps(strides: tuple[int, ...], anchors: int) -> dict[str, tuple[int, ...]]:
    return of_maps(strides, out=anchors * (5 + CLASSES))


NETWORKS = {
    "v2": Network(
        decode.yolov2(CLASSES), maps((32,), 5), region((32,), of_cfg(COCO), True, True), probabilities=False, spread=1.5
    ),
    "v2 of a K210": Network(
        decode.yolov2(CLASSES, 16, OWN, labels="all"),
        maps((16,), 2),
        region((16,), list(OWN), True, True),
        labels="all",
        probabilities=False,
        spread=2,
    ),
    "v3": Network(
        decode.yolov3(CLASSES), maps(STRIDES, 3), region(STRIDES, of_cfg(THREE), False, False), probabilities=False
    ),
    "v4": Network(
        decode.yolov4(CLASSES),
        maps(STRIDES, 3),
        region(STRIDES, of_cfg(FOUR), False, False, scale_x_y={8: 1.2, 16: 1.1, 32: 1.05}),
        probabilities=False,
    ),
    "v4 of its own": Network(
        decode.yolov4(CLASSES, (32, 16), anchors=[[(20, 30)], [(9, 9)]], spreads=[1.5, 0.75]),
        maps((32, 16), 1),
        region((32, 16), [(20, 30), (9, 9)], False, False, {32: 1.5, 16: 0.75}),
        probabilities=False,
        spread=2,
    ),
    "v4-tiny": Network(
        decode.yolov4(CLASSES, (16, 32)),
        maps((16, 32), 3),
        region((16, 32), of_cfg(TINY), False, False, scale_x_y={16: 1.05, 32: 1.05}),
        probabilities=False,
        spread=2,
    ),
    "v3 of Hailo": Network(
        decode.yolov3(CLASSES),
        of_maps(STRIDES, center=6, scale=6, obj=3, probs=3 * CLASSES),
        lambda v: region(STRIDES, of_cfg(THREE), False, False)(joined(v)),
        probabilities=False,
    ),
    "v4 of Hailo": Network(
        decode.yolov4(CLASSES),
        of_maps(STRIDES, center=6, scale=6, obj=3, probs=3 * CLASSES),
        lambda v: region(STRIDES, of_cfg(FOUR), False, False, scale_x_y={8: 1.2, 16: 1.1, 32: 1.05})(joined(v)),
        probabilities=False,
    ),
    "v3-tiny": Network(
        decode.yolov3(CLASSES, (16, 32)),
        maps((16, 32), 3),
        region((16, 32), of_cfg(TINY), False, False),
        probabilities=False,
        spread=2,
    ),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", NETWORKS)
def test_network(name: str, seed: int) -> None:
    compare(NETWORKS[name], name, seed)


@pytest.mark.parametrize("make", [decode.yolov2, decode.yolov3, decode.yolov4])
def test_activations_in_the_graph(make: Callable[..., decode.Head]) -> None:
    """What the decoder applies to raw maps gives the same detections if the network applies it, in float64's bits."""
    rng, raw, done = np.random.default_rng(4), make(CLASSES), make(CLASSES, activation="none")
    anchors, n = len(raw.anchors[0]), 5 + CLASSES
    outputs, activated = {}, {}
    for s in raw.strides:
        x = rng.normal(0, 2, (1, anchors, n, *grid(s))).astype(np.float32)
        y = x.astype(np.float64)
        y[:, :, [0, 1, 4]] = 1 / (1 + np.exp(-y[:, :, [0, 1, 4]]))
        powers = np.exp(y[:, :, 5:])
        y[:, :, 5:] = powers / powers.sum(2, keepdims=True) if make is decode.yolov2 else powers / (1 + powers)
        outputs[f"o{s}"], activated[f"o{s}"] = x.ravel(), y.astype(np.float32).ravel()
    specs = [nl.TensorSpec((1, anchors * n, *grid(s)), "NCHW", name=f"o{s}") for s in raw.strides]
    found, again = (
        decode.Decoder(head, specs, SIZE)(given, 0.3) for head, given in ((raw, outputs), (done, activated))
    )
    assert len(found) > 3 and decode.same(found, again, pixels=0.01, score=1e-5)


def test_anchors_are_those_of_cfg_files() -> None:
    """In pixels; given as pairs, or as the one list that cfg files and boards' scripts have."""
    pixels = {
        decode.yolov2(20): [(w * 32, h * 32) for w, h in of_cfg(VOC)],
        decode.yolov2(80): [(w * 32, h * 32) for w, h in of_cfg(COCO)],
        decode.yolov3(): of_cfg(THREE),
        decode.yolov3(80, (16, 32)): of_cfg(TINY),
        decode.yolov4(): of_cfg(FOUR),
        decode.yolov7(): of_cfg(FOUR),
        decode.yolov7(80, (32, 8, 16)): of_cfg(FOUR)[6:] + of_cfg(FOUR)[:6],
    }
    for head, pairs in pixels.items():
        np.testing.assert_allclose([pair for level in head.anchors for pair in level], pairs, rtol=1e-12)
    flat = [n for pair in OWN for n in pair]
    assert decode.yolov2(3, 16, flat) == decode.yolov2(3, 16, OWN) == decode.yolov2(3, 16, np.array(OWN))
    assert decode.yolov2(3, 16, OWN).anchors == (((24.0, 32.0), (52.0, 8.0)),)


@pytest.mark.parametrize("make", [decode.yolov3, decode.yolov5])
@pytest.mark.parametrize("strides", [*itertools.permutations((8, 16, 32)), (32, 16), (16, 32)])
def test_anchors_are_those_of_their_strides(make: Callable[..., decode.Head], strides: tuple[int, ...]) -> None:
    """cfg files list stride 32 first; the anchors of a stride do not depend on where it stands."""
    if make is decode.yolov5 and len(strides) == 2:
        with pytest.raises(nl.NpuLayoutError, match="anchors: expected width and height in pixels"):
            make(3, strides)
        return
    text = THREE if len(strides) == 3 else TINY
    pairs = of_cfg(text)
    wanted = {s: tuple(pairs[3 * i : 3 * i + 3]) for i, s in enumerate(sorted(strides))}
    assert dict(zip(strides, make(3, strides).anchors)) == wanted


def test_anchors_that_are_no_numbers_of_pixels(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(nl.NpuLayoutError, match="anchors"):
        decode.yolov2(anchors=[[1e308, 1.0]])
    assert not recwarn.list


@pytest.mark.parametrize("head", [n.head for n in NETWORKS.values()], ids=list(NETWORKS))
def test_heads_are_data(head: decode.Head) -> None:
    assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: decode.yolov2(anchors=[1.0, 2.0, 3.0]), "anchors: expected pairs of width and height in cells"),
        (lambda: decode.yolov2(anchors=[[1.0, 2.0, 3.0]]), "anchors: expected pairs of width and height in cells"),
        (lambda: decode.yolov2(anchors=[]), "anchors: expected pairs"),
        (lambda: decode.yolov2(anchors="cfg"), "anchors: expected"),
        (lambda: decode.yolov2(anchors=[(0.0, 1.0)]), "anchors: expected a number above 0"),
        (lambda: decode.yolov2(stride=0), "stride: expected"),
        (lambda: decode.yolov2(activation="softmax"), "activation: expected none or sigmoid, got 'softmax'"),
        (lambda: decode.yolov3(activation="softmax"), "activation: expected none or sigmoid, got 'softmax'"),
        (
            lambda: decode.yolov3(80, (8,)),
            "anchors: expected width and height in pixels of some for each of the strides 8;",
        ),
        (lambda: decode.yolov3(80, (16, 32, 64)), r"of the strides 16, 32, 64; .* for 8, 16, 32 and for 16, 32"),
        (lambda: decode.yolov5(80, (8, 16, 32, 64)), "of the strides 8, 16, 32, 64; .* for 8, 16, 32$"),
        (lambda: decode.yolov3(80, (8, 16), [[(1, 2)]]), "anchors: expected some for each of 2 strides"),
        (lambda: decode.yolov3(labels="every"), "labels: expected best or all"),
    ],
)
def test_bad_arguments(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        make()


def test_spreads_are_numbers_of_each_stride_and_of_two_encodings() -> None:
    head = decode.yolov4(3, (32, 8, 16))
    assert head.forms[0].boxes.spreads == (1.05, 1.2, 1.1)
    assert decode.Head.from_dict(json.loads(json.dumps(head.to_dict()))) == head
    for spreads, says in (
        ([1.2], "spreads: expected one for each of 3 strides"),
        ("text", "spreads"),
        ([1.0, -1.0, 1.0], "Boxes: spreads"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            decode.yolov4(3, spreads=spreads)
    with pytest.raises(nl.NpuLayoutError, match="spreads: expected a number for each of the strides 8, 16; those that"):
        decode.yolov4(3, (8, 16), [[(1, 1)], [(2, 2)]])
    with pytest.raises(
        nl.NpuLayoutError, match="Boxes: spreads: 'center_exp' and 'sigmoid_exp' have some, 'dfl' has none"
    ):
        decode.Boxes("dfl", spreads=(1.0,))
    boxes = decode.Boxes("center_exp", spreads=(1.0, 2.0))
    form = decode.Form("maps", (decode.Part("box", 4), decode.Part("score", 1)), boxes)
    with pytest.raises(nl.NpuLayoutError, match="Boxes: spreads: expected one for each of 1 strides"):
        decode.Head("any", 1, (8,), (form,))


@pytest.mark.parametrize("head", [decode.yolov2(20), decode.yolov2(20, activation="none")])
def test_cells_that_are_no_whole_pixels_are_refused(head: decode.Head) -> None:
    """Of 240 rows 8 cells have 30 each, by Darknet's (row + y) / rows; a frame padded to 256 has 32."""
    spec = nl.TensorSpec((1, 125, 8, 10), name="y")
    with pytest.raises(
        nl.LayoutError, match=r"need an input of \(256, 320\), got \(240, 320\): .*\(256, 320\);.* y by 240/256"
    ):
        decode.Decoder(head, [spec], (240, 320))
    assert decode.Decoder(head, [spec], (256, 320)).specs == (spec,)
