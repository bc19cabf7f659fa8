"""Name what decodes outputs that are no detector's: classes, pixels, text, joints; a row for each kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ...buffers import TensorSpec
from ..heads.grids import grid_of
from ..other_answers.roads import ROWS

Shapes = Sequence[tuple[int, ...]]
Size = tuple[int, int]


class _OtherCall(NamedTuple):
    """The call that decodes, what it finds, and whether the outputs of an input of this height and width are its.

    maps: shapes are asked in the order N, C, H, W, whatever the order of an output's axes. rival: no extent, name or
    range tells the outputs from those of heads that fit them.
    """

    call: str
    finds: str
    fits: Callable[[Shapes, Size], bool]
    maps: bool = False
    rival: bool = False


_IMAGE = frozenset("NCHW")
_SPLITS = 8  # elements of a line for each pixel, at most; RTMPose has 2
_QUERIES = 300  # of RT-DETR: longer lists may have priors
_PADDED = 300  # rows, which YOLOv10's graph always returns
_LANES = 8  # of a road, at most
_JOINTS_AND_FIELDS = [
    (19, 8),
    (38, 8),
]  # OpenPose's channels of 18 joints and the background, and of fields; pixels a cell
_ANCHORS = range(2, 7)  # of a cell of SSD
_LISTS = ((3,), (4, 1))  # axes of a list of boxes, and what is between its cells and its channels
_CLASSES, _JOINTS = range(2, 1000), range(5, 150)  # maps of pixels, and of joints


def _grid(shape: tuple[int, ...], size: Size) -> tuple[int, int]:
    """Return the channels of a map (1, channels, h, w) and the pixels of a cell; 0, 0 if it is none."""
    if len(shape) != 4 or shape[0] != 1:
        return 0, 0
    cell = -(-size[0] // shape[2])  # 65 of 513 rows are cells of 8, the last one in part
    return (shape[1], cell) if grid_of(size, cell) == shape[2:] else (0, 0)


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
    return shapes[0][1] == shapes[1][1] and ends[0] == ends[1] and 1 <= ends[0] <= _SPLITS


def _of_priors(boxes: int, scores: int) -> bool:
    """Whether maps of so many channels are boxes and scores of as many anchors of a cell."""
    return boxes % 4 == 0 and boxes // 4 in _ANCHORS and scores % (boxes // 4) == 0


def _priors(shapes: Shapes, size: Size) -> bool:
    """Two lists (1, n, 4) or (1, n, 1, 4), and (1, n, channels), or such maps for each level, of so many anchors."""
    lists = [(*shape[:2], shape[-1]) for shape in shapes if shape[0] == 1 and (len(shape), *shape[2:-1]) in _LISTS]
    if len(shapes) == len(lists) == 2:
        return lists[0][1] == lists[1][1] > _QUERIES and 4 in (lists[0][2], lists[1][2])
    levels: dict[tuple[int, ...], list[int]] = {}
    for shape in shapes:
        levels.setdefault(shape[2:] if len(shape) == 4 and shape[0] == 1 else (), []).append(shape[1 % len(shape)])
    return len(levels) > 1 and all(
        cells and len(parts) == 2 and any(_of_priors(*pair) for pair in (parts, parts[::-1]))
        for cells, parts in levels.items()
    )


def _people(shapes: Shapes, size: Size) -> bool:
    """One output of 300 rows: edges, score, class, and two or three numbers of each point."""
    numbers = shapes[0][2] - 6 if len(shapes) == 1 and shapes[0][:2] == (1, 300) and len(shapes[0]) == 3 else 0
    return 0 < numbers <= 3 * max(_JOINTS) and not (numbers % 3 and numbers % 2)


def _lanes(shapes: Shapes, size: Size) -> bool:
    """One output of Ultra-Fast-Lane-Detection: (1, columns and none, rows, lanes), of a known number of rows."""
    known = len(shapes) == 1 and len(shapes[0]) == 4 and shapes[0][0] == 1
    return known and shapes[0][2] in ROWS and shapes[0][3] <= _LANES


def _joints_and_fields(shapes: Shapes, size: Size) -> bool:
    """Two maps, of the joints and of the fields of a person."""
    return len(shapes) == 2 and sorted(_grid(shape, size) for shape in shapes) == _JOINTS_AND_FIELDS


def _list(shapes: Shapes, size: Size) -> bool:
    """One output that has all its numbers along one axis."""
    return len(shapes) == 1 and 1 < max(shapes[0]) == math.prod(shapes[0])


def _steps(shapes: Shapes, size: Size) -> bool:
    """One output of some rows of numbers, a step each."""
    known = len(shapes) == 1 and len(shapes[0]) in (2, 3) and not _pixels(shapes, size)
    return known and sorted(shapes[0])[-2] > 1 and math.prod(shapes[0][:-2]) == 1


def _pixels(shapes: Shapes, size: Size) -> bool:
    """One output of a number for each pixel of the input."""
    return list(shapes) == [(1, *size)]


def _detections(shapes: Shapes, size: Size) -> bool:
    """One output of rows of seven numbers, as DetectionOutput writes them."""
    return len(shapes) == 1 and len(shapes[0]) == 4 and shapes[0][:2] == (1, 1) and shapes[0][3] == 7


def _found_rows(shapes: Shapes, size: Size) -> bool:
    """One output of rows of six numbers, as many as ncnn's DetectionOutput found."""
    rows = shapes[0] if len(shapes) == 1 else ()
    return 1 < len(rows) <= 4 and math.prod(rows[:-2]) == 1 and rows[-1] == 6 and rows[-2] != _PADDED


# Numbers of MoveNet's person, MediaPipe's hand, pose (in the image and in metres) and face, and of faces of 68, 98 and
# 106 points.
_POINTS = (51, 63, 195, 117, 1404, 1434, 136, 196, 212)


def _points(shapes: Shapes, size: Size) -> bool:
    """One output or more of as many numbers as known networks have for their points; beside them there may be maps."""
    lists = [shape for shape in shapes if math.prod(shape[:-2]) == 1]
    maps = [shape for shape in shapes if len(shape) == 4 and shape not in lists]
    known = all(shape[0] == 1 and math.prod(shape) in _POINTS for shape in lists)
    return bool(lists) and known and len(lists) + len(maps) == len(shapes)


_ANSWERS = (
    _OtherCall("decode.classify(spec, buffer)", "classes", _list),
    _OtherCall(
        "ops.argmax_channels(spec, buffer)", "a class of each pixel", _one_map(_CLASSES, (1, 2, 4, 8, 16)), True
    ),
    _OtherCall("spec.unpack(buffer)", "a class of each pixel, if its numbers are whole", _pixels),
    _OtherCall("decode.dbnet(spec, buffer)", "regions of text (DBNet)", _one_map((1,), (1,)), True),
    _OtherCall("decode.people(spec, buffer)", "joints and fields (OpenPose)", _one_map((57,), (8,)), True),
    _OtherCall("decode.people([heat, fields], buffers)", "joints and fields (OpenPose)", _joints_and_fields, True),
    _OtherCall("decode.lanes(spec, buffer, size)", "lanes of a road (Ultra-Fast-Lane-Detection)", _lanes),
    _OtherCall("decode.ssd(priors, classes), a head", "boxes from priors (SSD)", _priors, True),
    _OtherCall(
        "decode.heatmap_points(spec, buffer)",
        "a map for each joint (HRNet, ViTPose)",
        _one_map(_JOINTS, (4,)),
        True,
    ),
    _OtherCall("decode.movenet(), a head", "several people (MoveNet)", lambda shapes, _: shapes == [(1, 6, 56)]),
    _OtherCall("decode.yolo26(1, keypoints=...), a head", "people with points (YOLO26-pose)", _people),
    _OtherCall("decode.landmarks(spec, buffer, size)", "numbers of each point (MoveNet, hands, faces)", _points),
    _OtherCall("decode.simcc_points(x, ..., y, ...)", "two lines a joint (RTMPose)", _lines),
    _OtherCall("decode.detection_output(spec, buffer, size)", "rows of detections (DetectionOutput)", _detections),
    _OtherCall(
        "decode.detection_output(spec, buffer, size, layer='ncnn')",
        "rows of class, score and edges (DetectionOutput of ncnn)",
        _found_rows,
        rival=True,
    ),
    _OtherCall("decode.ctc(spec, buffer, alphabet)", "text, a step a row", _steps),
)


def _channels_first(spec: TensorSpec) -> tuple[int, ...]:
    """Return the shape of an output, that of a map in the order N, C, H and W."""
    extents = dict(zip(spec.axes, spec.shape))
    return tuple(extents[letter] for letter in "NCHW") if extents.keys() == _IMAGE else tuple(spec.shape)


def other_answers(specs: Sequence[TensorSpec], size: Size, rivals: bool = False) -> str:
    """Return the calls that can decode the outputs, in words: "a: what it finds; b: ..."; "" if there are none.

    rivals: those alone that nothing tells from heads that fit.
    """
    known = [spec for spec in specs if math.prod(spec.shape) > 1] or specs  # one number says whether there is a hand
    shapes = {False: [tuple(spec.shape) for spec in known], True: [_channels_first(spec) for spec in known]}
    return "; ".join(
        f"{answer.call}: {answer.finds}"
        for answer in _ANSWERS
        if rivals <= answer.rival and answer.fits(shapes[answer.maps], size)
    )
