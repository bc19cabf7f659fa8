"""Name what decodes outputs that are no detector's: classes, pixels, text, joints; a row for each kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..buffers import TensorSpec

Shapes = Sequence[tuple[int, ...]]
Size = tuple[int, int]


class _Answer(NamedTuple):
    """The call that decodes, what it finds, and whether the outputs of an input of this height and width are its."""

    call: str
    finds: str
    fits: Callable[[Shapes, Size], bool]


def _grid(shape: tuple[int, ...], size: Size) -> tuple[int, int]:
    """Return the channels of a map (1, channels, h, w) and the pixels of a cell; 0, 0 if it is none."""
    if len(shape) != 4 or shape[0] != 1:
        return 0, 0
    cell = size[0] // shape[2]
    return (shape[1], cell) if cell and (shape[2] * cell, shape[3] * cell) == size else (0, 0)


def _one_map(channels: Iterable[int], cells: Iterable[int]) -> Callable[[Shapes, Size], bool]:
    """Return whether there is one output, a map of so many channels and so many pixels a cell."""
    return lambda shapes, size: (
        len(shapes) == 1 and ((found := _grid(shapes[0], size))[0] in channels and found[1] in cells)
    )


def _lines(shapes: Shapes, size: Size) -> bool:
    """Two outputs (1, joints, columns) and (1, joints, rows), the input's sides times the same factor."""
    if len(shapes) != 2 or any(len(shape) != 3 or shape[0] != 1 for shape in shapes):
        return False
    ends = sorted(shape[2] / side for shape, side in zip(sorted(shapes), sorted(size)))
    return shapes[0][1] == shapes[1][1] and ends[0] == ends[1] >= 1


def _list(shapes: Shapes, size: Size) -> bool:
    return len(shapes) == 1 and 1 < max(shapes[0]) == math.prod(shapes[0])


def _steps(shapes: Shapes, size: Size) -> bool:
    return (
        len(shapes) == 1 and len(shapes[0]) in (2, 3) and sorted(shapes[0])[-2] > 1 and math.prod(shapes[0][:-2]) == 1
    )


def _detections(shapes: Shapes, size: Size) -> bool:
    return len(shapes) == 1 and len(shapes[0]) == 4 and shapes[0][:2] == (1, 1) and shapes[0][3] == 7


# Numbers of MoveNet's person, MediaPipe's hand, pose and face, and of faces of 68, 98 and 106 points.
_POINTS = (51, 63, 195, 1404, 1434, 136, 196, 212)


def _points(shapes: Shapes, size: Size) -> bool:
    return len(shapes) == 1 and shapes[0][0] == 1 and math.prod(shapes[0]) in _POINTS and math.prod(shapes[0][:-2]) == 1


_ANSWERS = (
    _Answer("decode.classify(spec, buffer)", "classes", _list),
    _Answer("ops.argmax_channels(spec, buffer)", "a class of each pixel", _one_map(range(2, 1000), (1, 2, 4, 8, 16))),
    _Answer("decode.dbnet(spec, buffer)", "regions of text (DBNet)", _one_map((1,), (1,))),
    _Answer("decode.people(spec, buffer)", "joints and fields (OpenPose)", _one_map((57,), (8,))),
    _Answer(
        "decode.heatmap_points(spec, buffer)", "a map for each joint (HRNet, ViTPose)", _one_map(range(5, 150), (4,))
    ),
    _Answer("decode.movenet(), a head", "several people (MoveNet)", lambda shapes, _: shapes == [(1, 6, 56)]),
    _Answer("decode.landmarks(spec, buffer, size)", "numbers of each point (MoveNet, hands, faces)", _points),
    _Answer("decode.simcc_points(x, ..., y, ...)", "two lines a joint (RTMPose)", _lines),
    _Answer("decode.detection_output(spec, buffer, size)", "rows of detections (DetectionOutput)", _detections),
    _Answer("decode.ctc(spec, buffer, alphabet)", "text, a step a row", _steps),
)


def other_answers(specs: Sequence[TensorSpec], size: Size) -> str:
    """Return the calls that can decode the outputs, in words: "a: what it finds; b: ..."; "" if there are none."""
    shapes = [tuple(spec.shape) for spec in specs]
    return "; ".join(f"{answer.call}: {answer.finds}" for answer in _ANSWERS if answer.fits(shapes, size))
