"""Describe what a head does beside boxes, as records: keypoints, masks, suppression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

from ...errors import NpuLayoutError
from ...support import checked_call, real_number, shown
from ..arithmetic.mask_logits import MASK_RULES
from .records import Record, count_of

_ORDERS: dict[str, Callable[[int, int], tuple[int, ...]]] = {
    "xy": lambda count, values: tuple(range(count * values)),
    "yx": lambda count, values: tuple(values * i + k for i in range(count) for k in (1, 0, 2)[:values]),
    "apart": lambda count, values: tuple(count * k + i for i in range(count) for k in range(values)),
}
POINTS = ("cells", "shifted", "pixels", "priors", "distances")
POINTS_ACROSS = ("axes", "pixels", "encoded")


@checked_call
@dataclass(frozen=True)
class Keypoints(Record):
    """The points that a head has beside each box.

    count: the number of points. values: the channels of a point, 2 (x, y) or 3 (x, y, confidence). activation: what the
    decoder applies to the confidence, "none" or "sigmoid". encoding: how stored values v are a coordinate in pixels:
    "cells": (2 v + cell) stride (YOLOv8-pose); "shifted": (2 v - 0.5 + cell) stride (YOLOv5- and v7-pose); "pixels":
    decoded already; "priors": centre + v variance size of the prior (RetinaFace); "distances": cell's centre + v stride
    (SCRFD). order: of the channels: "xy" (x, y and confidence of a point, then those of the next), "yx" (y, x and
    confidence; MoveNet), or "apart" (x of all points, then y of all, then all confidences). across: what an output
    beside the maps has, if it has the points of all levels: "axes": pixels, with an axis of points and one of their
    values, (1, 17, 3, 8400); "pixels": pixels, on one axis, (1, 51, 8400), or on two; "encoded": one axis of values
    that `encoding` and `activation` describe. Raises NpuLayoutError on other words and counts.
    """

    count: int
    values: int = 3
    encoding: str = "cells"
    activation: str = "sigmoid"
    order: str = "xy"
    across: str = "axes"
    _words: ClassVar[dict[str, tuple[str, ...]]] = {
        "encoding": POINTS,
        "activation": ("none", "sigmoid"),
        "order": tuple(_ORDERS),
        "across": POINTS_ACROSS,
    }

    @property
    def channels(self) -> tuple[int, ...]:
        """Which channels are x, y and confidence of each point, one point after the other."""
        return _ORDERS[self.order](self.count, self.values)

    def _check(self) -> None:
        values = count_of("Keypoints: values", self.values)
        if values not in (2, 3):
            raise NpuLayoutError(f"Keypoints: values: expected 2 or 3, got {self.values}")
        self._set(count=count_of("Keypoints: count", self.count), values=values)


@checked_call
@dataclass(frozen=True)
class Prototypes(Record):
    """The output of which masks are made: maps that each instance's coefficients add up.

    channels: the number of maps. stride: pixels of the input from one cell to the next; height and width in cells are
    rounded up. rule: how a mask is made of them, "logits", "probabilities" or "cells", see `npu_layout.decode.masks`.
    Raises NpuLayoutError on anything else.
    """

    channels: int = 32
    stride: int = 4
    rule: str = "logits"
    _words: ClassVar[dict[str, tuple[str, ...]]] = {"rule": tuple(MASK_RULES)}

    def _check(self) -> None:
        self._set(**{n: count_of(f"Prototypes: {n}", getattr(self, n)) for n in ("channels", "stride")})


class SuppressionKind(NamedTuple):
    """What is so of every suppression of one kind."""

    options: tuple[str, ...] = ()  #: the fields of Suppression that it uses
    turned: bool = False  #: it compares turned boxes
    cells: bool = False  #: it compares the scores of neighbouring cells, and no boxes


KINDS = {
    "greedy": SuppressionKind(("per_class", "inclusive", "extra", "epsilon")),
    "none": SuppressionKind(),
    "probiou": SuppressionKind(("per_class", "inclusive"), turned=True),
    "polygons": SuppressionKind(("per_class", "inclusive"), turned=True),
    "peaks": SuppressionKind(cells=True),
}


@checked_call
@dataclass(frozen=True)
class Suppression(Record):
    """Which boxes are dropped because a better one overlaps them; see `npu_layout.decode.nms`.

    kind: "greedy", "none", "probiou" (greedy, by the ProbIoU of turned boxes, see `npu_layout.decode.oriented_nms`),
    "polygons" (greedy, by the areas that turned boxes share, as in airockchip/rknn_model_zoo), or "peaks" (a cell is
    dropped if one of its eight neighbours has a larger score of the same class; CenterNet). per_class: whether a box is
    dropped only for boxes of its own class. inclusive: whether a box whose IoU is equal to the threshold is dropped
    too. extra: pixels that are added to widths and heights (1 in older code). epsilon: added to the union. Only
    "greedy" has `extra` and `epsilon`. Raises NpuLayoutError on anything else.
    """

    kind: str = "greedy"
    per_class: bool = True
    inclusive: bool = False
    extra: float = 0.0
    epsilon: float = 0.0
    _words: ClassVar[dict[str, tuple[str, ...]]] = {"kind": tuple(KINDS)}

    def _check(self) -> None:
        for name in ("per_class", "inclusive"):
            if not isinstance(getattr(self, name), bool):
                raise NpuLayoutError(f"Suppression: {name}: expected True or False, got {shown(getattr(self, name))}")
        extra, epsilon = (real_number(f"Suppression: {n}", getattr(self, n), least=0.0) for n in ("extra", "epsilon"))
        self._set(extra=extra, epsilon=epsilon)
        options = KINDS[self.kind].options
        for each in fields(self)[1:]:
            given = getattr(self, each.name)
            if given != each.default and each.name not in options:
                known = f"has {' and '.join(options)} alone" if options else "has no options"
                raise NpuLayoutError(
                    f"Suppression: {each.name}: no effect on kind {self.kind!r}, which {known}; expected "
                    f"{each.default}, got {given}"
                )
