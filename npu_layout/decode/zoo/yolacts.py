"""Make the head of YOLACT: priors as SSD has them, and masks of prototypes beside each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import NpuLayoutError
from ...support import checked_call, flag, iterates, one_of, real_number
from ..heads.form import Boxes, Form, Part
from ..heads.grids import grid_of
from ..heads.head import Head
from ..heads.records import count_of, height_and_width, items
from ..heads.rules import Prototypes
from .networks import sizes

YOLACT_STRIDES = (8, 16, 32, 64, 128)
_CELL = 4  # pixels of a cell of the prototypes
_PRIORS = 2**20  # yolact_plus has 57,744


@checked_call
def yolact(
    classes: int = 80,
    input_shape: Sequence[int] = (550, 550),
    strides: Sequence[int] = YOLACT_STRIDES,
    *,
    scales: Any = (24, 48, 96, 192, 384),
    ratios: Sequence[float] = (1.0, 0.5, 2.0),
    square: bool = True,
    coefficients: int = 32,
    activation: str = "none",
    coefficients_activation: str = "none",
    labels: str = "best",
    name: str = "yolact",
) -> Head:
    """Return the head of YOLACT: offsets from priors, the background's score first, and coefficients of masks.

    Outputs are lists, boxes (1, n, 4), scores (1, n, 1 + classes) and coefficients (1, n, 32), the priors of a cell one
    after the other, or maps of the three for each stride, prior by prior (Hailo); and prototypes, 138x138 cells of
    550x550 pixels. Their axes are rows, columns, channels: `TensorSpec.of_storage` with "NHWC"
    (dbolya/yolact, yolact.py, PredictionModule; data/config.py, yolact_base_config; layers/box_utils.py, decode).

    Suppression is greedy, within each class; YOLACT's own "Fast NMS" also drops a box for one that is dropped itself. A
    mask has the pixels inside the box whose probability, enlarged, is above 0.5; YOLACT's own mask ends a cell beyond
    the box.

    Parameters
    ----------
    classes
        The number of classes without the background.
    input_shape
        Height and width of the network's input, in pixels.
    strides
        For each level, the pixels from one cell to the next, rounded up to a power of 2: 69, 35, 18, 9 and 5 cells in
        550 pixels.
    scales
        The side of a prior in pixels, for each stride: a number, or several. Those of yolact_plus, and of Hailo's
        zoo, are [[s, s * 2 ** (1 / 3), s * 2 ** (2 / 3)] for s in (24, 48, 96, 192, 384)].
    ratios
        Width to height of the priors of each scale.
    square
        Priors are as high as wide, sqrt(ratio) times the scale: what the published weights were trained with
        (use_square_anchors). False: yolact_plus, and Hailo's zoo.
    coefficients
        The number of coefficients of a mask.
    activation
        What the decoder applies to scores: "none" (the softmax is in the graph) or "softmax" (Hailo's zoo).
    coefficients_activation
        What the decoder applies to coefficients: "none" (the hyperbolic tangent is in the graph) or "tanh"
        (hailo-ai/tappas, core/hailo/libs/postprocesses/instance_segmentation/yolact.cpp). If stored coefficients are
        beyond -1 .. 1, the tangent is not in the graph.
    labels
        "best": one detection for each prior, of its best class; "all": one for each class that passes.
    name
        The name of the head, which messages show.

    Raises NpuLayoutError on anything else.

    >>> len(yolact().priors), yolact().prototypes.rule
    (19248, 'probabilities')
    """
    (classes, strides), size = sizes(classes, strides), height_and_width(input_shape)
    weights = count_of("coefficients", coefficients)
    sides = _sides_of(scales, strides)
    shares = [real_number("ratios", ratio, 0.0) for ratio in items("ratios", ratios)]
    if not shares:
        raise NpuLayoutError("ratios: expected one or more, got none")
    grids = [grid_of(size, stride) for stride in strides]
    counts = [len(of_level) * len(shares) for of_level in sides]
    if (total := sum(math.prod(grid) * count for grid, count in zip(grids, counts))) > _PRIORS:
        raise NpuLayoutError(f"input_shape, scales, ratios: expected at most {_PRIORS} priors, got {total}")
    stretched = [
        (math.sqrt(ratio), math.sqrt(ratio) if flag("square", square) else 1 / math.sqrt(ratio)) for ratio in shares
    ]
    priors = []
    for (rows, columns), of_level in zip(grids, sides):
        each = [(s * w / size[1], s * h / size[0]) for s in of_level for w, h in stretched]
        centers = [((x + 0.5) / columns, (y + 0.5) / rows) for y in range(rows) for x in range(columns)]
        priors += [(*center, *prior) for center in centers for prior in each]
    parts = (
        Part("box", 4),
        Part("score", classes + 1, one_of("activation", activation, ("none", "softmax"))),
        Part("coefficients", weights, one_of("coefficients_activation", coefficients_activation, ("none", "tanh"))),
    )
    boxes = Boxes("variances", center=0.0)
    forms = tuple(Form(name, parts, boxes, cells, True) for name, cells in (("list", "list"), ("maps", "grid")))
    sized = tuple(((1.0, 1.0),) * count for count in counts)  # priors have the sizes
    made = Prototypes(weights, _CELL, "probabilities")
    return Head(
        name, classes, strides, forms, sized, labels=labels, background=0, prototypes=made, priors=tuple(priors)
    )


def _sides_of(given: Any, strides: Sequence[int]) -> list[list[float]]:
    """Return the sides of the priors of each level, in pixels."""
    levels = items("scales", given)
    if len(levels) != len(strides):
        raise NpuLayoutError(f"scales: expected one or several for each of {len(strides)} strides, got {len(levels)}")
    sides = [[real_number("scales", s, 0.0) for s in (level if iterates(level) else (level,))] for level in levels]
    if not all(sides):
        raise NpuLayoutError("scales: expected one or several for each stride, got none for one of them")
    return sides
