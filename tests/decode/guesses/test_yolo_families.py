"""The YOLO networks that guesses try: each row makes the head of its strides, points and anchors."""

from __future__ import annotations

import pytest

from npu_layout.decode.guesses.yolo_families import YOLOS

STRIDES = [
    ("a list of strides from 4 (YOLOv8 with P2)", (4, 8, 16, 32)),
    ("a list of strides to 64 (YOLOv8 with P6)", (8, 16, 32, 64)),
    ("the anchors of YOLOv5, strides to 64 (YOLOv5s6, YOLOv7-w6; anchors= of yours)", (8, 16, 32, 64)),
    ("a list of boxes, objectness and scores, strides to 64 (YOLOv6Lite)", (8, 16, 32, 64)),
]


@pytest.mark.parametrize(("word", "strides"), STRIDES, ids=[word for word, _ in STRIDES])
def test_strides(word: str, strides: tuple[int, ...]) -> None:
    (family,) = (family for family in YOLOS if family.word == word)
    head = family.make(7, family.activations[0])
    assert head.strides == strides and head.classes == 7
    assert not head.anchors or head.anchors[0][0] == (19.0, 27.0)  # models/hub/yolov5s6.yaml


def test_points_are_those_of_the_words() -> None:
    counted = [(family, points) for family in YOLOS if (points := family.word.split(" keypoints")[0]).isdigit()]
    assert len(counted) >= 6
    for family, points in counted:
        keypoints = family.make(1, "none").keypoints
        assert keypoints is not None and keypoints.count == int(points)
