"""Make the heads of RetinaNet, EfficientDet and FCOS: five levels, and a box for each anchor or cell of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import NpuLayoutError
from ...support import check_used, checked_call, flag, numbers_of, one_of, real_number
from ..heads.form import ACTIVATIONS, Boxes, Form, Part
from ..heads.grids import grid_of
from ..heads.head import Head
from ..heads.records import height_and_width
from .networks import sizes

LEVELS = (8, 16, 32, 64, 128)
_OCTAVES = (1.0, 2 ** (1 / 3), 2 ** (2 / 3))
_HALVES = (0.5, 1.0, 2.0)
_EFFICIENT = ((1.0, 1.0), (1.4, 0.7), (0.7, 1.4))  # width and height
_MOST_PRIORS = 2**20

Pairs = Sequence[tuple[float, float]]


@checked_call
def retinanet(
    classes: int = 80,
    strides: Sequence[int] = LEVELS,
    *,
    size: float = 4.0,
    scales: Sequence[float] = _OCTAVES,
    ratios: Sequence[float] = _HALVES,
    scales_first: bool = False,
    anchors: Any = None,
    center: float = 0.0,
    variances: tuple[float, float] = (1.0, 1.0),
    yx: bool = False,
    activation: str = "sigmoid",
    labels: str = "best",
    name: str = "retinanet",
) -> Head:
    """Return the head of RetinaNet: offsets from anchors that scales and ratios make, and scores of each anchor.

    Outputs are maps of 4 and of `classes` channels for each anchor, or lists (1, n, 4) and (1, n, classes), the anchors
    of a cell one after the other (open-mmlab/mmdetection, mmdet/models/task_modules/prior_generators,
    anchor_generator.py; coders, delta_xywh_bbox_coder.py).

    Parameters
    ----------
    classes, strides
        The number of classes; for each level, the pixels of the input from one cell to the next.
    size
        Side of an anchor of scale 1 and ratio 1, in strides.
    scales, ratios
        Factors of the sides; height divided by width. A cell has one anchor of each scale and ratio: all scales of the
        first ratio, then all of the second, and so on.
    scales_first
        Whether the order is all ratios of the first scale, then all of the second (Detectron2).
    anchors
        Width and height in pixels of the anchors of each stride, instead of `size`, `scales` and `ratios`. torchvision
        needs them: it rounds half of a side to whole pixels.
    center
        Where in a cell its centre is, in cells: 0 (MMDetection, Detectron2, torchvision), or 0.5.
    variances, yx
        As for `ssd`.
    activation, labels, name
        As for `yolov8`.

    Raises NpuLayoutError on anything else.

    >>> retinanet(3).anchors[0][0], retinanet(3).anchors[4][8]
    ((45.254..., 22.627...), (574.700..., 1149.401...))
    """
    classes, strides = sizes(classes, strides)
    shapes = [(1 / math.sqrt(ratio), math.sqrt(ratio)) for ratio in _positive_numbers("ratios", ratios)]
    side, octaves = real_number("size", size, 0.0), _positive_numbers("scales", scales)
    outer = flag("scales_first", scales_first)
    if anchors is not None:
        why = "beside anchors=, which are in their place"
        for what, number, usual in (
            ("size", side, 4.0),
            ("scales", tuple(octaves), _OCTAVES),
            ("ratios", tuple(ratios), _HALVES),
            ("scales_first", outer, False),
        ):
            check_used(what, number, usual, why)
    made = tuple(_sides(side * stride, octaves, shapes, outer) for stride in strides)
    order = (1, 0, 3, 2) if flag("yx", yx) else (0, 1, 2, 3)
    boxes = Boxes("variances", center=real_number("center", center), variances=variances, order=order)
    given = made if anchors is None else anchors
    return Head(name, classes, strides, _forms(classes, activation, boxes), given, labels=labels)


@checked_call
def efficientdet(
    classes: int = 90,
    input_shape: Sequence[int] = (512, 512),
    strides: Sequence[int] = LEVELS,
    *,
    size: float = 4.0,
    aspects: Any = _EFFICIENT,
    activation: str = "sigmoid",
    labels: str = "best",
    name: str = "efficientdet",
) -> Head:
    """Return the head of EfficientDet without its post-processing: nine anchors a cell, scores of each.

    Outputs are maps of 36 and of 9 `classes` channels for each stride (three scales of three shapes), or lists (1, n,
    4) and (1, n, classes). A box is stored as y, x, height, width (google/automl, efficientdet/tf2/anchors.py). Cells
    are equal shares of the input: of 320 pixels, each of the 3 cells of the last level has 106.7. If TFLite's
    post-process operator is in the graph, use `ssd_postprocessed`.

    Parameters
    ----------
    classes
        The number of classes.
    input_shape
        Height and width of the network's input, in pixels: 512 (D0), 640, 768, ...; 320 (Lite0), 384, 448, 512, 640.
    strides
        Powers of 2, one for each level.
    size
        The side of an anchor of scale 1, in cells, anchor_scale in the source: 4 (D0 to D6, Lite4), 5 (D7), or 3 (Lite0
        to Lite3).
    aspects
        Pairs of width and height of the anchors of scale 1, aspect_ratios in the source. Later configurations have
        numbers instead, 1.0, 2.0 and 0.5: give (1, 1), (2**0.5, 0.5**0.5) and (0.5**0.5, 2**0.5).
    activation, labels, name
        As for `yolov8`.

    Raises NpuLayoutError on anything else.

    >>> efficientdet(90, (320, 320), size=3).priors[-1][:2]
    (0.8333333333333334, 0.8333333333333334)
    """
    (classes, strides), extents = sizes(classes, strides), height_and_width(input_shape)
    side, shapes = real_number("size", size, 0.0), _pairs("aspects", aspects)
    grids = [grid_of(extents, stride) for stride in strides]
    each_cell = len(_OCTAVES) * len(shapes)
    if (total := each_cell * sum(rows * columns for rows, columns in grids)) > _MOST_PRIORS:
        raise NpuLayoutError(
            f"efficientdet: expected at most {_MOST_PRIORS} anchors; input {extents} with strides {strides} has {total}"
        )
    anchors, priors = [], []
    for rows, columns in grids:
        each = np.array(_sides(side, _OCTAVES, shapes, True)) / (columns, rows)
        y, x = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns, indexing="ij")
        centers = np.repeat(np.stack([x, y], -1).reshape(-1, 2), len(each), 0)
        priors += np.concatenate([centers, np.tile(each, (rows * columns, 1))], 1).tolist()
        anchors.append(tuple(map(tuple, (each * extents[::-1]).tolist())))
    if not any(extent % stride for extent in extents for stride in strides):
        priors = []  # cells say as much, and a number of them that JSON need not list
    boxes = Boxes("variances", center=0.0 if priors else 0.5, variances=(1.0, 1.0), order=(1, 0, 3, 2))
    forms, made = _forms(classes, activation, boxes), tuple(map(tuple, priors))
    return Head(name, classes, strides, forms, tuple(anchors), labels=labels, priors=made)


@checked_call
def fcos(
    classes: int = 80,
    strides: Sequence[int] = LEVELS,
    *,
    score: str = "root",
    center: float = 0.5,
    unit: str = "stride",
    activation: str = "sigmoid",
    labels: str = "best",
    name: str = "fcos",
) -> Head:
    """Return the head of FCOS: scores, four sides, and how central a cell is in its box.

    Outputs are three maps for each stride, of `classes`, 4 and 1 channels (tianzhi0549/FCOS,
    fcos_core/modeling/rpn/fcos/inference.py). If there is one class, scores and centrality are distinguished by names
    with "cls" and "center", or by Decoder's ``outputs=``.

    Parameters
    ----------
    classes, strides
        The number of classes; for each level, the pixels of the input from one cell to the next.
    score
        A detection's score: "root", the square root of the class's score times centrality (FCOS, torchvision, Horizon's
        and D-Robotics' samples), or "objectness", the product itself (MMDetection).
    center
        Where in a cell its centre is, in cells: 0.5, or 0 (torchvision).
    unit
        The unit of the sides: "stride" (Horizon, torchvision), or "pixel" (MMDetection multiplies them in the graph).
    activation
        What the decoder applies to scores and centrality: "sigmoid", or "none".
    labels, name
        As for `yolov8`.

    Raises NpuLayoutError on anything else.

    >>> fcos(3).score
    'root'
    """
    classes, strides = sizes(classes, strides)
    known = one_of("activation", activation, ACTIVATIONS[:2])
    boxes = Boxes("distances", center=real_number("center", center), unit=one_of("unit", unit, ("stride", "pixel")))
    parts = (
        Part("score", classes, known, hint="cls|score"),
        Part("box", 4),
        Part("objectness", 1, known, hint="center|ctr"),
    )
    rule = one_of("score", score, ("root", "objectness"))
    return Head(name, classes, strides, (Form("maps", parts, boxes),), score=rule, labels=labels)


def _forms(classes: int, activation: str, boxes: Boxes) -> tuple[Form, ...]:
    """Return maps and lists of boxes and scores; anchors of a cell follow each other in lists of one level too."""
    parts = (Part("box", 4), Part("score", classes, one_of("activation", activation, ACTIVATIONS[:2])))
    return tuple(Form(name, parts, boxes, cells, True) for name, cells in (("maps", "grid"), ("list", "list")))


def _sides(side: float, scales: Sequence[float], shapes: Pairs, scales_first: bool) -> tuple[tuple[float, float], ...]:
    """Return width and height of the anchors of a cell; shapes: those of an anchor of side 1."""
    turns = (
        [(scale, shape) for scale in scales for shape in shapes]
        if scales_first
        else [(scale, shape) for shape in shapes for scale in scales]
    )
    return tuple((side * scale * w, side * scale * h) for scale, (w, h) in turns)


def _pairs(what: str, given: Any) -> list[tuple[float, float]]:
    """Return pairs of numbers above 0; NpuLayoutError if there are none, and on others."""
    numbers = numbers_of(what, given)
    if numbers.ndim != 2 or numbers.shape[1] != 2 or not numbers.size:
        raise NpuLayoutError(f"{what}: expected pairs of width and height, got shape {numbers.shape}")
    return [(real_number(what, w, 0.0), real_number(what, h, 0.0)) for w, h in numbers.tolist()]


def _positive_numbers(what: str, given: Any) -> list[float]:
    """Return numbers above 0 as floats; NpuLayoutError if there are none, and on others."""
    numbers = numbers_of(what, given)
    if numbers.ndim != 1 or not numbers.size:
        raise NpuLayoutError(f"{what}: expected a sequence of numbers, got shape {numbers.shape}")
    return [real_number(what, number, 0.0) for number in numbers.tolist()]
