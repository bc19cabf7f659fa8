"""Try boxes in another format than the model's: two corners, a centre and a size, or a corner and a size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations

import numpy as np

from ...comparison import decibels
from ...support import finite
from ..scoring.evidence import Evidence
from ..scoring.thresholds import MARGIN
from ..scoring.trials import Trial
from ..stored.channel_ends import other_end
from .changed import Changed

_SIDES = 4  # the first numbers of each box
_ORDERLY = 0.75  # of the model's boxes have no size below 0
_CORNERS = "two corners"

Convert = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]  # two numbers of an axis into two
# {format: (into the lower and the upper end, and back)}
_FORMATS: dict[str, tuple[Convert, Convert]] = {
    _CORNERS: (lambda low, high: (low, high), lambda low, high: (low, high)),
    "a centre and a size": (lambda c, n: (c - n / 2, c + n / 2), lambda low, high: ((low + high) / 2, high - low)),
    "a corner and a size": (lambda low, n: (low, low + n), lambda low, high: (low, high - low)),
}


def box_formats(evidence: Evidence) -> Iterator[Trial]:
    """Yield the model's boxes in each other format that they may be in, if that explains more of the first frame.

    The numbers of a box are the channels, or along the other axis that these may be along.
    """
    references, channels = evidence.references, evidence.channel_axis
    shape = references[0].shape
    if not evidence.fits or evidence.settled or channels is None or len(shape) not in (2, 3):
        return
    for axis in (channels, other_end(evidence)):
        if axis is not None and shape[axis] >= _SIDES and references[0].dtype.kind == "f":
            yield from _along(evidence, axis)


def _along(evidence: Evidence, axis: int) -> Iterator[Trial]:
    """Yield the formats of boxes whose numbers are along an axis."""
    references = evidence.references
    orderly = {form: float(np.mean([_orderly(one, form, axis) for one in references])) for form in _FORMATS}
    for own, other in permutations(_FORMATS, 2):
        convert = partial(_converted, own=own, other=other, axis=axis)
        if orderly[own] >= _ORDERLY and _explains(evidence, convert, axis):
            left = evidence.codes - evidence.predicted(
                np.stack([evidence.samples.of(convert(reference)) for reference in references])
            )
            text = f"boxes are {other}, and the model's are {own}"
            yield evidence.tried("activation", text, left)._replace(answers=Changed(references, convert))


def _explains(evidence: Evidence, convert: Callable[[np.ndarray], np.ndarray], axis: int) -> bool:
    """Whether the first frame's boxes are explained better, by MARGIN, than as declared."""
    of_boxes = evidence.samples.index[axis] < _SIDES
    wanted = evidence.samples.of(convert(evidence.references[0]))[None]
    left, before = (x[:, of_boxes] for x in (evidence.codes[:1] - evidence.predicted(wanted), evidence.left[:1]))
    errors = (max(float(np.square(x).mean()), 1e-300) if x.size else 1.0 for x in (before, left))
    return decibels(*errors) >= MARGIN


def _orderly(boxes: np.ndarray, form: str, axis: int) -> float:
    """Return the share of the boxes that have sizes of 0 and more in this format."""
    x, y, u, v = (finite(boxes).take(i, axis) for i in range(_SIDES))
    wide, high = (u - x, v - y) if form == _CORNERS else (u, v)
    return float(((wide >= 0) & (high >= 0)).mean())


def _converted(boxes: np.ndarray, own: str, other: str, axis: int) -> np.ndarray:
    """Return boxes of one format, beside whatever follows them, in another one."""
    ends, back = _FORMATS[own][0], _FORMATS[other][1]
    made = np.array(np.moveaxis(boxes, axis, 0), np.float64)
    for first, second in ((0, 2), (1, 3)):
        made[first], made[second] = back(*ends(made[first], made[second]))
    return np.moveaxis(made, 0, axis).astype(boxes.dtype)
