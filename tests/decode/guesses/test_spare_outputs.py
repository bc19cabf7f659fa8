"""Outputs that a head does not need: a guess names them, and no head is certain then."""

from __future__ import annotations

import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.guesses.spare_outputs import spare_outputs
from tests.support.output_specs import of_shapes

PROTOTYPES = (1, 32, 160, 160)


def maps(*channels: int) -> list[tuple[int, ...]]:
    return [(1, n, 640 // s, 640 // s) for s in (8, 16, 32) for n in channels]


@pytest.mark.parametrize(
    ("shapes", "without", "head"),
    [
        ([*maps(64, 80), PROTOTYPES], "without y6 (1, 32, 160, 160) these fit", decode.yolov8(80)),
        ([PROTOTYPES, (1, 29, 8400)], "without y0 (1, 32, 160, 160) these fit", decode.yolov8(25)),
        (
            [(1, 84, 8400), *maps(144)],
            "or without y1 (1, 144, 80, 80), y2 (1, 144, 40, 40), y3 (1, 144, 20, 20) these fit",
            decode.yolov8(80),
        ),
        ([(1, 25200, 85), *((1, 3, k, k, 85) for k in (80, 40, 20))], "without y0 (1, 25200, 85)", decode.yolov5(80)),
        (
            [*maps(64, 1, 36), (1, 1000)],
            "12 keypoints (YOLOv8-pose), 1 class; 18 keypoints of x and y alone",
            decode.yolov8(1, keypoints=12),
        ),
        ([(1, 300, 6), (1, 84, 8400)], "without y1 (1, 84, 8400) these fit: no suppression", decode.yolov10(80)),
        ([(1, 100, 92), (1, 100, 4), (1, 256, 25, 25)], "without y2 (1, 256, 25, 25) these fit", decode.detr(91)),
        ([(1, 300, 80), (1, 300, 4), (6, 1, 300, 80)], "without y2 (6, 1, 300, 80) these fit", decode.rtdetr(80)),
        (
            [*((1, n, k, k) for k in (80, 40, 20) for n in (64, 80)), (1, 1000), (1, 19, 160, 160)],
            "without y6 (1, 1000), y7 (1, 19, 160, 160) these fit",
            decode.yolov8(80),
        ),
    ],
)
def test_what_to_leave_out_is_named(shapes: list[tuple[int, ...]], without: str, head: decode.Head) -> None:
    found = decode.guess(of_shapes(shapes), (640, 640))
    assert found.head is None and without in found.why, found.why
    assert found.why.endswith("give the specs of the other outputs alone") and head in found.others


def test_no_head_is_certain_without_an_output() -> None:
    """Ranges would leave one head."""
    done = {"dtype": "int8", "quantization": nl.Quantization(1 / 255, -128)}
    shapes = [(1, 116, 8400), PROTOTYPES]
    assert decode.guess(of_shapes(shapes, **done), (640, 640), 80).head is not None
    more = decode.guess(of_shapes([*shapes, (1, 77, 20, 20)], **done), (640, 640), 80)
    assert more.head is None and more.others == (decode.yolov8(80, coefficients=32, unit="input"),)


@pytest.mark.parametrize(
    "shapes",
    [
        [(1, 84, 8400), (1, 84, 8400)],  # which of the two?
        [(100, 6), (1,)],  # a number of detections is no spare output
        [(1, 125, 20, 20), (1, 1000)],  # any map of stride 32
        [(1, 77, 768), (1, 768)],
        [(1, 512, 7, 7), (1, 1000)],
        [(1, 6), (1, 1129)],  # one row
    ],
)
def test_nothing_is_left_out_for_what_fits_anything(shapes: list[tuple[int, ...]]) -> None:
    found = decode.guess(of_shapes(shapes), (640, 640))
    assert found.head is None and not found.others and "without" not in found.why


def test_choices() -> None:
    """Single ones, kinds, and pairs; an output goes with all others of its shape."""
    first, pairs = spare_outputs(of_shapes([(1, 84, 8400), *maps(144), (1, 9), (1, 9), (1, 1)]))
    assert first[:4] == [(0,), (1,), (2,), (3,)] and (4, 5) in first
    assert all((4 in one) == (5 in one) and 6 not in one for one in [*first, *pairs]) and (1, 2, 3) in first
    assert not [one for choices in spare_outputs(of_shapes([(1, 9)])) for one in choices]
    assert not [one for choices in spare_outputs(of_shapes([(1, 2 + n) for n in range(30)])) for one in choices]
