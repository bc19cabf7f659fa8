"""Describe what a head does beside boxes, as records: keypoints, masks, suppression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

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
    """Points beside each box.

    `count` points of `values` channels: x, y and, if there are three, the confidence, with `activation`. encoding:
    "cells": (2 v + cell) stride (YOLOv8-pose); "shifted": (2 v - 0.5 + cell) stride (YOLOv5- and v7-pose); "pixels":
    decoded already; "priors": centre + v variance size (RetinaFace); "distances": centre + v stride (SCRFD). order: of
    the channels, "xy" (x, y and confidence of a point, then those of the next), "yx" (MoveNet), or "apart" (x of all
    points, then y of all, then confidence). across: what one output beside maps has for the cells of all levels:
    "axes", pixels, with an axis of points and one of their values, (1, 17, 3, 8400); "pixels"; or "encoded", with one
    axis, (1, 51, 8400), which has what `encoding` and `activation` say. Raises NpuLayoutError on other words and
    counts.
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
        """The channels of x, y and confidence of each point, one point after the other."""
        return _ORDERS[self.order](self.count, self.values)

    def _check(self) -> None:
        values = count_of("Keypoints: values", self.values)
        if values not in (2, 3):
            raise NpuLayoutError(f"Keypoints: values: expected 2 or 3, got {self.values}")
        self._set(count=count_of("Keypoints: count", self.count), values=values)


@checked_call
@dataclass(frozen=True)
class Prototypes(Record):
    """The output that masks are made of: `channels` maps, `stride` pixels of the input a cell, rounded up.

    rule: "logits", "probabilities" or "cells", see `npu_layout.decode.masks`. Raises NpuLayoutError on anything else.
    """

    channels: int = 32
    stride: int = 4
    rule: str = "logits"
    _words: ClassVar[dict[str, tuple[str, ...]]] = {"rule": tuple(MASK_RULES)}

    def _check(self) -> None:
        self._set(**{n: count_of(f"Prototypes: {n}", getattr(self, n)) for n in ("channels", "stride")})


@checked_call
@dataclass(frozen=True)
class Suppression(Record):
    """Which boxes are dropped beside a better one; see `npu_layout.decode.nms`.

    kind: "greedy", "none", "probiou" (greedy, by the ProbIoU of turned boxes, see `npu_layout.decode.oriented_nms`),
    "polygons" (greedy, by the areas that turned boxes share, as in airockchip/rknn_model_zoo), or "peaks" (a cell goes
    if a neighbour, of the eight around it, has a larger score of the same class; CenterNet). per_class: boxes of other
    classes do not count. inclusive: a box goes if its IoU is equal to the threshold too. extra: pixels added to each
    side's length (1 in older code). epsilon: added to the union. The last two are of "greedy" alone. Raises
    NpuLayoutError on anything else.
    """

    kind: str = "greedy"
    per_class: bool = True
    inclusive: bool = False
    extra: float = 0.0
    epsilon: float = 0.0
    _words: ClassVar[dict[str, tuple[str, ...]]] = {"kind": ("greedy", "none", "probiou", "polygons", "peaks")}

    def _check(self) -> None:
        for name in ("per_class", "inclusive"):
            if not isinstance(getattr(self, name), bool):
                raise NpuLayoutError(f"Suppression: {name}: expected True or False, got {shown(getattr(self, name))}")
        extra, epsilon = (real_number(f"Suppression: {n}", getattr(self, n), least=0.0) for n in ("extra", "epsilon"))
        self._set(extra=extra, epsilon=epsilon)
        for name, usual in _USUAL.items():
            if getattr(self, name) != usual and name not in _OPTIONS[self.kind]:
                known = f"has {' and '.join(_OPTIONS[self.kind])} alone" if _OPTIONS[self.kind] else "has no options"
                raise NpuLayoutError(
                    f"Suppression: {name}: no effect on kind {self.kind!r}, which {known}; expected {usual}, got "
                    f"{getattr(self, name)}"
                )


_USUAL = {"per_class": True, "inclusive": False, "extra": 0.0, "epsilon": 0.0}
_OPTIONS = {  # what a rule of suppression uses
    "greedy": tuple(_USUAL),
    "probiou": ("per_class", "inclusive"),
    "polygons": ("per_class", "inclusive"),
    "none": (),
    "peaks": (),
}
