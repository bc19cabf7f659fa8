"""Outputs of another input than was said: a guess names the sizes that they fit, and no other."""

from __future__ import annotations

import re

import pytest

from npu_layout import decode
from npu_layout.decode.guesses.input_sizes import input_sizes
from tests.support.output_specs import of_shapes

Size = tuple[int, int]


def maps(size: Size, strides: tuple[int, ...], *channels: int) -> list[tuple[int, ...]]:
    return [(1, n, size[0] // s, size[1] // s) for s in strides for n in channels]


def cells(size: Size, anchors: int = 1) -> int:
    return sum(anchors * (size[0] // s) * (size[1] // s) for s in (8, 16, 32))


@pytest.mark.parametrize(
    ("shapes", "said", "real"),
    [
        (maps((640, 640), (8, 16, 32), 64, 80), (320, 320), (640, 640)),
        (maps((384, 640), (8, 16, 32), 64, 80), (640, 384), (384, 640)),
        (maps((416, 416), (8, 16, 32), 255), (640, 640), (416, 416)),
        (maps((1280, 1280), (8, 16, 32, 64), 32, 80), (640, 640), (1280, 1280)),
        ([(1, 84, cells((640, 640)))], (416, 416), (640, 640)),
        ([(1, cells((416, 416), 3), 85)], (640, 640), (416, 416)),
        ([(1, 84, cells((384, 640)))], (640, 640), (384, 640)),
        ([(1, 84, cells((288, 512)))], (576, 1024), (288, 512)),
        ([(1, cells((320, 320)), 4), (1, cells((320, 320)), 80)], (640, 640), (320, 320)),
    ],
    ids=str,
)
def test_the_size_is_named(shapes: list[tuple[int, ...]], said: Size, real: Size) -> None:
    specs = of_shapes(shapes)
    found = decode.guess(specs, said)
    assert found.head is None
    words = re.search(r"; these outputs fit an input of ([0-9x or]+): decode\.guess\(specs, (.*?)\) says", found.why)
    assert words is not None, found.why
    assert words[1].split(" or ")[0] == f"{real[0]}x{real[1]}" and words[2] == str(real)
    for one in words[1].split(" or "):  # each of them is true
        rows, columns = map(int, one.split("x"))
        assert decode.guess(specs, (rows, columns)).others, one
    assert "these outputs fit" not in decode.guess(specs, real).why


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ([(1, 1000)], (224, 224)),
        ([(1, 21, 65, 65)], (513, 513)),
        ([(1, 21, 64, 64)], (512, 512)),  # a single map could be anything
        ([(1, 19, 46, 46), (1, 38, 46, 46)], (368, 368)),
        ([(1, 77, 13, 13), (1, 91, 26, 26)], (640, 640)),
        ([(1, 84, 8399)], (640, 640)),
    ],
    ids=str,
)
def test_no_size_is_made_up(shapes: list[tuple[int, ...]], said: Size) -> None:
    assert "these outputs fit an input" not in decode.guess(of_shapes(shapes), said).why


def test_sizes_of_the_same_form_come_first() -> None:
    assert list(input_sizes(of_shapes([(1, 84, cells((384, 640)))]), (640, 640)))[:2] == [(384, 640), (640, 384)]
    assert next(input_sizes(of_shapes(maps((96, 160), (8,), 64)), (640, 640))) == (48, 80)
    assert (640, 640) not in input_sizes(of_shapes(maps((640, 640), (8, 16), 64)), (640, 640))


def test_the_finest_of_four_levels_of_8_bins() -> None:
    """YOLOv8 with P6 and reg_max 8 is among what eight maps can be, beside NanoDet-Plus and PicoDet."""
    specs = of_shapes(maps((640, 640), (8, 16, 32, 64), 32, 80))
    found = decode.guess(specs, (640, 640))
    heads = [(head.name, head.strides, head.forms[0].boxes.bins) for head in found.others]
    assert ("yolov8", (8, 16, 32, 64), 8) in heads and ("nanodet", (8, 16, 32, 64), 8) in heads
    assert decode.yolov8(80, (8, 16, 32, 64), bins=8) in found.others and "YOLOv8 with P6 and bins=8" in found.why
