"""Turn a fitted head into the description that the compiled kernels run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ... import kernels
from ...buffers import TensorSpec
from ..arithmetic.activations import activated
from ..heads.box_encodings import ENCODINGS
from ..heads.head import Head
from ..heads.rules import KINDS
from ..outputs.places import Fitted, Level, Place
from .anchor_parts import reads, single, source_of, stand_in, words_of
from .encodings import spread_of
from .gathering import are_steps
from .reference import point_encoding

#: The roles of parts that the kernels read: those that say whether a cell has something, then what it is.
_SCORES = ("score", "objectness", "label")
_READ = (*_SCORES, "box", "keypoints", "angle", "offset")
#: What the kernels count at most: outputs; of a level cells and anchors; bins of a side; channels beside a box.
_OUTPUTS, _CELLS, _ANCHORS, _BINS, _BESIDE = 64, 1 << 24, 64, 64, 1 << 12


class _Read(NamedTuple):
    """What the kernels read of a fitted head, the same for all its levels.

    whole: see `decoded_whole`. boxed: see `has_boxes`. roles: of parts. coefficients: how many of masks beside a box.
    """

    head: Head
    fitted: Fitted
    specs: Sequence[TensorSpec]
    whole: bool
    boxed: bool
    roles: Sequence[str]
    coefficients: int
    points: kernels.Points | None


def compiled(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> kernels.Detection | None:
    """Return the description, or None if the kernels have no loops for the head or a dtype: then numpy decodes.

    Of a head that is not `decoded_whole` it finds the candidates alone, or their boxes too, see `has_boxes`.
    """
    whole, rule = decoded_whole(head, fitted, specs), head.suppression
    roles = [role for role in (_READ if whole else _SCORES) if role not in _unread(head)]
    if fitted.form.part("label") is not None and not _has_loops_for_labels(head, fitted):
        return None
    if not _are_read(roles, fitted, specs):
        return None
    if _is_beyond(head, fitted, specs):
        return None
    filled = None if fitted.filled is None else specs[fitted.filled]
    if filled is not None and not reads(filled):
        return None
    part = fitted.form.part("keypoints") if head.keypoints and whole else None
    boxed = has_boxes(fitted, specs)
    every = _READ if whole else (*_SCORES, "box", "offset") if boxed else _SCORES
    coefficients = _coefficients(head, fitted, specs) if whole else 0
    read = _Read(head, fitted, specs, whole, boxed, every, coefficients, _points(head, fitted) if whole else None)
    return kernels.Detection(
        tuple(spec.nbytes for spec in specs),
        head.score,
        head.classes,
        0 if part is None else part.count,
        head.labels == "all",
        rule.kind if whole else "none",
        rule.per_class,
        rule.inclusive,
        rule.extra,
        rule.epsilon,
        tuple(_grid(read, number) for number in range(len(fitted.levels))),
        None if filled is None else single(fitted.filled or 0, filled),
        coefficients,
    )


def _is_beyond(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether the kernels do not count so far."""
    cells = max(rows * columns for rows, columns in (level.grid for level in fitted.levels))
    anchors = max(level.turns for level in fitted.levels)
    beside = max((part.count for part in fitted.form.parts if part.role in ("keypoints", "coefficients")), default=0)
    counted = (len(specs), cells, anchors, fitted.form.boxes.bins, beside)
    return any(n > most for n, most in zip(counted, (_OUTPUTS, _CELLS, _ANCHORS, _BINS, _BESIDE)))


def _coefficients(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> int:
    """Return how many coefficients of masks the kernels read beside a box of a head that is `decoded_whole`."""
    part = fitted.form.part("coefficients")
    if head.prototypes is None or part is None:
        return 0
    return part.count if _are_read(("coefficients",), fitted, specs) else 0


def in_steps(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether the coefficients of masks are counted in steps, each level in its own: the sign of a sum is exact."""
    places = _places_of(("coefficients",), fitted)
    known = head.prototypes is not None and head.prototypes.rule != "probabilities"
    return known and all(are_steps(place, specs[place.output]) for place in places)


def _has_loops_for_labels(head: Head, fitted: Fitted) -> bool:
    """Whether the kernels read classes as numbers beside scores like the head's."""
    score = fitted.form.part("score")
    shared = score is not None and score.activation == "softmax"
    return head.score == "class" and not KINDS[head.suppression.kind].cells and not shared


def _unread(head: Head) -> tuple[str, ...]:
    """Return the roles that the head's rules do not use."""
    return ("objectness",) * (head.score == "class") + ("keypoints",) * (head.keypoints is None)


def decoded_whole(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether the kernels have loops for the head's suppression and read all parts beside scores.

    Else they find candidates, or their boxes, alone.
    """
    beside = [role for role in _READ[len(_SCORES) :] if role not in _unread(head)]
    return head.suppression.kind in kernels.SUPPRESSIONS and _are_read(beside, fitted, specs)


def has_boxes(fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether the kernels have loops for the boxes of candidates, upright, beside what else is done with them."""
    return _are_read(("box", "offset"), fitted, specs)


def _places_of(roles: Sequence[str], fitted: Fitted) -> list[Place]:
    """Return the places of the parts with these roles, of all levels that have them."""
    return [level.places[role] for level in fitted.levels for role in roles if role in level.places]


def _are_read(roles: Sequence[str], fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether the kernels read the parts with these roles, in all levels that have them."""
    return all(_is_read(place, specs[place.output]) for place in _places_of(roles, fitted))


def _is_read(place: Place, spec: TensorSpec) -> bool:
    """Whether the kernels read the part: a monotone activation or that of scores, a dtype that they have."""
    if place.part.role == "label" and words_of(spec):
        return True
    known = place.part.activation in ("none", "sigmoid") or place.part.role == "score"
    return known and reads(spec)


def _grid(read: _Read, number: int) -> kernels.Grid:
    level, how = read.fitted.levels[number], read.fitted.form.boxes
    height, width = map(float, read.fitted.input_hw)
    unit = {"stride": (1.0, 1.0), "pixel": (1.0, 1.0), "input": (width, height)}[how.unit]
    strides = how.unit == "stride"
    if strides and ENCODINGS[how.encoding].scaled:
        unit = (float(level.stride), float(level.stride))
    return kernels.Grid(
        level.grid[1],
        how.encoding if read.boxed else "xyxy",
        how.bins,
        strides,
        how.center,
        unit,
        how.variances,
        level.step,
        tuple(_anchor(read, level, a) for a in range(level.turns)),
        level.priors,
        read.points,
        how.angle if read.whole else "none",
        spread_of(how, number),
    )


def _anchor(read: _Read, level: Level, a: int) -> kernels.Anchor:
    """Return the parts of an anchor: those of the roles that the head reads, and what it has beside them."""
    head, specs, points, how = read.head, read.specs, read.points, read.fitted.form.boxes
    sources = {
        role: source_of(head, level, level.places[role], a, specs, how)
        for role in read.roles
        if role in level.places and role not in _unread(head)
    }
    size = level.anchors[a] if level.anchors else (1.0, 1.0)
    box = sources.get("box") or stand_in(sources["score"])
    made = kernels.Anchor(sources["score"], sources.get("objectness"), box, size)
    made = made._replace(angle=sources.get("angle"), offset=sources.get("offset"), label=sources.get("label"))
    if head.background is not None:
        made = made._replace(aside=head.background)
    if sources["score"].activation == "softmax" and head.background is not None:
        beside = source_of(head, level, level.places["score"], a, specs, how, background=True)
        made = made._replace(background=beside)
    if read.coefficients:
        made = made._replace(coefficients=_of_masks(head, read.fitted, level, a, specs))
    if points is not None:
        source = sources["keypoints"]
        heats = None if source.values is None else activated(points.activation, source.values[None])[0]
        made = made._replace(points=source, heats=heats)
    return made


def _of_masks(head: Head, fitted: Fitted, level: Level, a: int, specs: Sequence[TensorSpec]) -> kernels.AnchorPart:
    """Return the coefficients of an anchor: what they mean, or the steps from their zero point."""
    place = level.places["coefficients"]
    source = source_of(head, level, place, a, specs, fitted.form.boxes)
    if not in_steps(head, fitted, specs):
        return source
    given, one = specs[place.output].quantization, np.ones(place.part.count, np.float32)
    zero = 0.0 if given is None else float(given.zero_point)
    return source._replace(values=None, scales=kernels.Scales("channels", one, one * np.float32(zero)))


def _points(head: Head, fitted: Fitted) -> kernels.Points | None:
    how = head.keypoints
    if how is None or fitted.form.part("keypoints") is None:
        return None
    encoding, activation = point_encoding(head, fitted)
    return kernels.Points(encoding, how.values, activation, fitted.form.boxes.variances[0])
