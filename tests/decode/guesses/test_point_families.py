"""Keypoints whose number follows from the channels: every number that they allow, and no other."""

from __future__ import annotations

import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.guesses.point_families import point_families
from tests.support.output_specs import of_shapes

MAPS = [(1, n, 640 // s, 640 // s) for s in (8, 16, 32) for n in (64, 1)]


def points_of(found: decode.Guess) -> set[tuple[int, int]]:
    heads = [found.head] if found.head else list(found.others)
    return {(head.keypoints.count, head.keypoints.values) for head in heads if head.keypoints}


@pytest.mark.parametrize("values", [3, 2])
@pytest.mark.parametrize("count", [1, 2, 4, 8, 12, 13, 17, 18, 24, 26, 33, 68, 133])
def test_each_number_of_keypoints_is_said(count: int, values: int) -> None:
    """Maps, a list, one output beside maps and rows, of one class; ultralytics' datasets have 12, 17, 21 and 24."""
    n = count * values
    for shapes in (
        [(1, 5 + n, 8400)],
        [*MAPS, *((1, n, 640 // s, 640 // s) for s in (8, 16, 32))],
        [*MAPS, (1, n, 8400)],
        [*MAPS, (1, count, values, 8400)],
        [(1, 300, 6 + n)],
    ):
        found = decode.guess(of_shapes(shapes), (640, 640), 1)
        assert (count, values) in points_of(found), (shapes, found.why)
        assert found.head is None or points_of(found) == {(count, values)}
        heads = [found.head] if found.head else found.others
        for head in heads:
            decode.Decoder(head, of_shapes(shapes), (640, 640))


def test_channels_are_classes_or_keypoints() -> None:
    """36 channels beside a score: YOLOv8 of 36 classes and sums, or 12 keypoints, or 18 of x and y alone."""
    maps = [(1, n, 640 // s, 640 // s) for s in (8, 16, 32) for n in (64, 1, 36)]
    found = decode.guess(of_shapes(maps), (640, 640))
    assert found.head is None and {head.classes for head in found.others} == {36}
    assert "whether channels are no scores but keypoints (keypoints=, point_values=): 12 keypoints (" in found.why
    assert "18 keypoints of x and y alone (YOLOv8-pose), 1 class" in found.why
    done = [spec.replace(dtype="int8", quantization=nl.Quantization(1 / 255, -128)) for spec in of_shapes(maps)]
    assert decode.guess(done, (640, 640), 1).head is None
    coco = [(1, n, 640 // s, 640 // s) for s in (8, 16, 32) for n in (64, 1, 80)]
    assert "keypoints" not in decode.guess(of_shapes(coco), (640, 640)).why


def test_a_number_that_is_the_only_one_is_certain() -> None:
    """33 channels are 11 points of three numbers, and the range of scores shows that the sigmoid is in the graph."""
    maps = [(1, n, 640 // s, 640 // s) for s in (8, 16, 32) for n in (64, 1, 33)]
    done = [spec.replace(dtype="int8", quantization=nl.Quantization(1 / 255, -128)) for spec in of_shapes(maps)]
    assert decode.guess(done, (640, 640), 1).head == decode.yolov8(1, keypoints=11)


def test_families_are_made_once() -> None:
    """What is known of a family is cached for ever: there are no more of them than numbers of points."""
    specs = of_shapes([(1, 41, 8400)])
    first, again = (list(point_families(specs, known)) for known in (None, None))
    assert first == again and len({family.word for family in first}) == len(first)
    assert not [f for f in point_families(of_shapes([(1, 56, 8400)]), None) if f.word == "17 keypoints (YOLOv8-pose)"]
    assert list(point_families(specs, 7)) == list(point_families(specs, 7))
