"""The families of heads with keypoints whose number follows from the channels of the outputs, for guesses."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

from ...buffers import TensorSpec
from ...support import many
from ..zoo.networks import yolo26, yolov8
from .family import Family

_MOST = 150  # of a person's whole body there are 133
_ROWS = 300  # YOLO26's detections: max_det
_BINS, _SIDES, _ROW = 64, 4, 6  # a row of YOLO26: edges, score and class


def point_families(specs: Sequence[TensorSpec], known: int | None) -> Iterator[Family]:
    """Yield families with as many keypoints as an output's channels can have, beside those that `FAMILIES` has.

    Channels are those of keypoints alone, or of a box and `known` scores too; None: one score. A point has three
    numbers, or two without visibility (ultralytics, kpt_shape).
    """
    classes = 1 if known is None else known
    beside = (0, classes + _SIDES, classes + _BINS) + (_ROW,) * (known == 1)
    for values in (3, 2):
        for count in keypoint_counts(specs, values, beside):
            if (count, values) != (17, 3):
                yield from _families_of(count, values, classes == 1, known == 1)


def keypoint_counts(specs: Sequence[TensorSpec], values: int, beside: Iterable[int]) -> list[int]:
    """Return how many keypoints of so many values an output's channels can have, beside some numbers of others.

    Channels are an axis, or the two axes (keypoints, values) of an output for keypoints alone.
    """
    channels = {extent for spec in specs for extent in spec.shape}
    channels |= {spec.shape[1] * spec.shape[2] for spec in specs if len(spec.shape) == 4 and spec.shape[2] in (2, 3)}
    found = {divmod(n - other, values) for n in channels for other in beside}
    return sorted(count for count, rest in found if not rest and 0 < count <= _MOST)


def keypoint_words(count: int, values: int) -> str:
    """Return a number of keypoints in words, as a family's name has it."""
    return f"{many(count, 'keypoint')}{' of x and y alone' * (values == 2)}"


@functools.cache
def _families_of(count: int, values: int, one: bool, rows: bool) -> tuple[Family, ...]:
    """Return the families with so many keypoints, of one class or any, with rows or without.

    Cached, as what is known of a family is.
    """
    points = keypoint_words(count, values)
    made = [] if one and values == 3 and count in (5, 21) else [
        Family(
            lambda n, act: yolov8(n, activation=act, keypoints=count, point_values=values),
            f"{points} (YOLOv8-pose)",
            units=True,
            one=one,
        )
    ]  # fmt: skip
    made.append(
        Family(
            lambda n, act: yolov8(n, activation=act, keypoints=count, point_values=values, across="encoded"),
            f"{points} beside maps, as the network has them (YOLOv8-pose of MaixCAM2)",
            one=one,
            form="points or coefficients across levels",
            asked="whether those keypoints are pixels (across='pixels')",
            unsure=True,
        )
    )
    made.append(
        Family(
            lambda n, act: yolo26(n, activation=act, keypoints=count, point_values=values),
            f"{points} and sides without bins (YOLO26-pose)",
            one=one,
            form="maps",
        )
    )
    of_rows = Family(
        lambda n, act: yolo26(n, activation=act, keypoints=count, point_values=values),
        f"rows with {points} (YOLO26-pose)",
        activations=("none",),
        units=True,
        rows=1,
        asked=f"whether rows are detections with {points}",
        unsure=True,
        one=True,
        form="rows",
        most=_ROWS,
    )
    return (*made, of_rows) if rows else tuple(made)
