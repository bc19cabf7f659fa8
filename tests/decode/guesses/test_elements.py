"""How many classes outputs can have, by the number of their elements."""

from __future__ import annotations

import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.guesses.elements import class_counts, counted_outputs, head_elements
from npu_layout.decode.guesses.families import FAMILIES, QUERIES, Family

EVERY = [*FAMILIES, *QUERIES]


def of_shapes(*shapes: tuple[int, ...]) -> list[nl.TensorSpec]:
    return [nl.TensorSpec(shape, nl.Layout.of_rank(len(shape))) for shape in shapes]


def maps(*channels: int, strides: tuple[int, ...] = (8, 16, 32), side: int = 640) -> list[nl.TensorSpec]:
    return of_shapes(*((1, n, side // s, side // s) for s in strides for n in channels))


# The number that a person counts; others have as many elements too, in exports that nobody makes.
@pytest.mark.parametrize(
    ("head", "specs", "side", "classes", "labelled"),
    [
        (decode.yolov8(1), maps(64, 80), 640, 80, False),
        (decode.yolov8(1), maps(64, 80, 1), 640, 80, False),
        (decode.yolov8(3), maps(64, 2, side=416), 416, 2, False),
        (decode.yolov8(1), of_shapes((1, 84, 8400)), 640, 80, False),
        (decode.yolov8(1, coefficients=32), of_shapes((1, 116, 8400), (1, 32, 160, 160)), 640, 80, False),
        (decode.yolov8(1, keypoints=17), [*maps(64, 1), *of_shapes((1, 17, 3, 8400))], 640, 1, False),
        (decode.yolov5(1), maps(255), 640, 80, False),
        (decode.yolov5(1), of_shapes((1, 25200, 85)), 640, 80, False),
        (decode.yolofastestv2(1), maps(95, strides=(16, 32), side=352), 352, 80, False),
        (decode.damoyolo(1), maps(68, 81), 640, 80, False),
        (decode.blazeface(), of_shapes((1, 896, 16), (1, 896, 1)), 128, 1, False),
        (decode.blazeface(), of_shapes((1, 32, 16, 16), (1, 96, 8, 8), (1, 2, 16, 16), (1, 6, 8, 8)), 128, 1, False),
        (decode.rtdetr(1), of_shapes((1, 300, 80), (1, 300, 4)), 640, 80, False),
        (decode.yolov10(1), of_shapes((1, 300, 6)), 640, None, True),
        (decode.ssd_postprocessed(1), of_shapes((1, 10, 4), (1, 10), (1, 10), (1,)), 300, None, True),
        (decode.yolov8(1), maps(64), 640, 60, False),  # as the list (1, 64, 8400) has
        (decode.yolov8(1), of_shapes((1, 1000)), 224, None, False),
    ],
)
def test_counts(head: decode.Head, specs: list[nl.TensorSpec], side: int, classes: int | None, labelled: bool) -> None:
    found, rows = class_counts(head_elements(head, (side, side)), counted_outputs(specs))
    assert rows == labelled
    assert classes in found if classes else labelled or not found


@pytest.mark.parametrize("family", [f for f in EVERY if not f.one], ids=[f.word for f in EVERY if not f.one])
def test_each_class_adds_a_channel_of_scores(family: Family) -> None:
    """Heads of one class and of seven say the same of any outputs: nothing else depends on the number of classes."""
    for specs in (maps(255), maps(64, 80, 1), of_shapes((1, 116, 8400), (1, 32, 160, 160)), of_shapes((1, 300, 11))):
        given = counted_outputs(specs)
        of_seven, of_one = (class_counts(head_elements(family.tried(n), (640, 640)), given) for n in (7, 1))
        assert of_seven == of_one == class_counts(family.elements((640, 640)), given)


def test_the_elements_of_a_family_are_counted_once() -> None:
    """A guess asks for them up to a hundred times, with other outputs left out each time."""
    family = FAMILIES[0]
    assert family.elements((640, 640)) is family.elements((640, 640))
    assert family.elements((640, 640)) != family.elements((320, 320))
