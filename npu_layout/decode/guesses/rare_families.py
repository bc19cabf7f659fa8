"""The families of YOLOv8 with parts that few networks have, for guesses: other bins, and keypoints beside masks."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from ...buffers import TensorSpec
from ..arithmetic.mask_logits import planes_of
from ..heads.grids import grid_of
from ..outputs.output_axes import Size
from ..zoo.networks import yolov8
from .family import Family
from .point_families import keypoint_counts, keypoint_words

_BINS, _COEFFICIENTS = 16, 32  # of YOLOv8 as it is trained by default: reg_max, and those of masks
_FEWEST, _MOST_BINS = 4, 32
_SIDES, _CELL = 4, 4  # of a box, and pixels of a cell of prototypes


def families_of_parts(specs: Sequence[TensorSpec], size: Size, known: int | None) -> Iterator[Family]:
    """Yield families with masks of other than 32 coefficients, or beside as many keypoints as channels can be.

    There are none without prototypes.

    known: the number of classes; None: any, where keypoints have outputs of their own, else one.
    """
    for coefficients in _prototypes(specs, size):
        if coefficients != _COEFFICIENTS:
            yield _family(_BINS, 0, 3, coefficients, False)
        yield from _with_points(specs, known, _BINS, coefficients)


def families_of_bins(specs: Sequence[TensorSpec], size: Size, known: int | None) -> Iterator[Family]:
    """Yield families of other numbers of bins than 16, as outputs of boxes have, alone or with the parts of variants.

    known: the number of classes, with which an output that has boxes and scores says its bins too.
    """
    channels = {spec.shape[spec.axes.index("C")] for spec in specs if "C" in spec.axes and len(spec.shape) > 3}
    found = {divmod(n - other, _SIDES) for n in channels for other in {0, known or 0}}
    for bins in sorted(n for n, rest in found if not rest and _FEWEST <= n <= _MOST_BINS and n != _BINS):
        for coefficients in (0, *_prototypes(specs, size)):
            yield _family(bins, 0, 3, coefficients, False)
            yield from _with_points(specs, known, bins, coefficients)


def _prototypes(specs: Sequence[TensorSpec], size: Size) -> list[int]:
    """Return the numbers of coefficients for which an output has prototypes."""
    cells = grid_of(size, _CELL)
    planes = [planes_of(spec) for spec in specs]
    return sorted({shape[0] for shape in planes if shape is not None and shape[1:] == cells})


def _with_points(specs: Sequence[TensorSpec], known: int | None, bins: int, coefficients: int) -> Iterator[Family]:
    """Yield families with so many bins and coefficients, and each number of keypoints that channels can be."""
    joined = {(known or 1) + coefficients + box for box in (_SIDES, _SIDES * bins)}
    for values in (3, 2):
        for beside in ({0}, joined):
            for count in keypoint_counts(specs, values, beside):
                yield _family(bins, count, values, coefficients, known is None and 0 not in beside)


def _masks(coefficients: int) -> str:
    return (
        f"masks of {coefficients} coefficients"
        if coefficients not in (0, _COEFFICIENTS)
        else "masks" * bool(coefficients)
    )


@functools.cache  # what is known of a family is kept as long as it
def _family(bins: int, count: int, values: int, coefficients: int, one: bool) -> Family:
    """Return the family of so many bins, keypoints of some values and coefficients; one: of one class alone."""
    alone = (_SIDES + coefficients, _SIDES * bins + coefficients) * (count == 0)
    of_boxes = f"{bins} bins a side" * (bins != _BINS)
    points = keypoint_words(count, values) * (count > 0)
    parts = [part for part in (of_boxes, points, _masks(coefficients)) if part]
    return Family(
        lambda n, act: yolov8(
            n, activation=act, bins=bins, keypoints=count, coefficients=coefficients, point_values=values
        ),
        f"{' and '.join(parts)} (YOLOv8{' of one class' * one})",
        (0, _SIDES * bins, *alone),
        units=True,
        one=one,
        asked=f"whether a side has {bins} bins (bins=)" * (bins != _BINS),
        unsure=bins != _BINS,
    )
