"""Heads: JSON both ways, and bad records refused by name."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

import npu_layout as nl
from npu_layout import decode

HEADS = [
    decode.yolov8(),
    decode.yolov8(3, (8, 16), activation="sigmoid", labels="all", keypoints=17),
    decode.yolov8(2, coefficients=32),
    decode.yolov5(),
    decode.yolov5(1, activation="sigmoid", coefficients=32),
    decode.yolov8_obb(2, angle="radians"),
    decode.centernet_head(3, size_unit="pixel"),
]


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_json_both_ways(head: decode.Head) -> None:
    text = json.dumps(head.to_dict())
    assert decode.Head.from_dict(json.loads(text)) == head
    assert hash(decode.Head.from_dict(json.loads(text))) == hash(head)
    with pytest.raises(dataclasses.FrozenInstanceError):
        head.classes = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    "change, words",
    [
        (dict(classes=0), "Head: classes: expected a whole number of at least 1, got 0"),
        (dict(classes=81), "part 'score' has 80 channels, classes need 81"),
        (dict(strides=()), "strides: expected one for each level"),
        (dict(strides=(8, 0)), "strides"),
        (dict(score="product"), "score: expected one of class, objectness, root, weighted"),
        (dict(score="objectness"), "needs a part 'objectness'"),
        (dict(labels="some"), "labels: expected best or all"),
        (dict(anchors=((1, 2),)), "got 1 in the place of a pair"),
        (dict(anchors=(10, 13, 16)), "anchors: expected pairs .*, got 10 in the place of the anchors of a level"),
        (dict(anchors=(((10, 13),), ((3, 4),), ((5, -6),))), "anchors: expected a number above 0"),
        (dict(anchors=(((10, 13),),)), "anchors: expected some for each of 3 strides"),
        (dict(forms=()), "forms: expected one or more, got none"),
        (dict(name=3), "Head: name: expected text"),
        (dict(background=81), r"Head: background: expected 0 \.\. 80, got 81"),
        (dict(background=80), "part 'score' has 80 channels, classes and background need 81"),
    ],
)
def test_bad_heads(change: dict[str, Any], words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        dataclasses.replace(decode.yolov8(), **change)


ONE = {"name": "x", "classes": 1, "strides": [8]}


@pytest.mark.parametrize(
    "d, words",
    [
        (None, "Head: expected a dict"),
        ([], "Head: expected a dict"),
        ({}, "Head: name, classes, strides, forms missing"),
        ({"name": "x", "colour": 3}, "Head: expected a dict with any of name, classes"),
        ({"name": "x", "classes": 1, "strides": [8], "forms": 3}, "a sequence of Form"),
        ({"name": "x", "classes": 1, "strides": [8], "forms": [3]}, "Form: expected a dict"),
        (
            {
                "name": "x",
                "classes": 1,
                "strides": [8],
                "forms": [{"name": "y", "parts": [{"role": "legs", "count": 1}]}],
            },
            "role: expected one of",
        ),
    ],
)
def test_bad_dicts(d: Any, words: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=words):
        decode.Head.from_dict(d)


def test_what_a_peak_or_an_angle_needs() -> None:
    """Peaks compare stored scores, so that these have to be in the order of the scores; angles are in every output."""
    peaks = decode.Suppression("peaks")
    for wrong in (decode.retinaface(activation="softmax"), decode.yolox(2)):
        with pytest.raises(nl.NpuLayoutError, match="suppression 'peaks' needs score='class' without softmax"):
            dataclasses.replace(wrong, suppression=peaks)
    turned = decode.Boxes("xywh", unit="pixel", angle="radians")
    parts = decode.Part("box", 4), decode.Part("score", 2), decode.Part("angle", 1, optional=True)
    with pytest.raises(nl.NpuLayoutError, match="need a part 'angle' of 1 channels, got one of 1 channels, optional"):
        decode.Form("list", parts, boxes=turned)


def test_an_axis_of_anchors_has_no_part_that_they_share() -> None:
    """Classes that every anchor has are none of an axis of anchors."""
    head = decode.yolofastestv2(2, (16,), (((4, 5), (6, 7)),))
    shapes = {"reg": (1, 8, 2, 3), "obj": (1, 2, 2, 3), "cls": (1, 2, 2, 2, 3)}
    specs = [nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)), name=name) for name, shape in shapes.items()]
    with pytest.raises(nl.LayoutError, match="expected box of 8, objectness of 2, score of 2 channels"):
        decode.Decoder(head, specs, (32, 48))


def test_too_many_classes_are_refused() -> None:
    assert decode.yolov8(1 << 20).classes == 1 << 20
    with pytest.raises(nl.NpuLayoutError, match="Head: classes: expected at most 1048576, got 1048577"):
        decode.labelled_rows((1 << 20) + 1)
