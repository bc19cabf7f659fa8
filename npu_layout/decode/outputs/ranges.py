"""Compute which scores stored integers can mean, so that a threshold out of their reach is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...buffers import TensorSpec
from ...support import warn_caller
from ..arithmetic.activations import COMBINED, activated
from ..heads.box_encodings import ENCODINGS
from ..heads.head import Head, scored_background
from .places import Fitted, Level, Place

UNIT_RANGE = 2.0  #: boxes that are never larger are of an input of 1, of which parts may be outside
_SCORED = frozenset({"score", "objectness"})
COARSE = 0.5  #: a larger step leaves at most one stored score between 0 and 1


def codes(spec: TensorSpec) -> np.ndarray | None:
    """Return all stored values of an integer output of at most 16 bits; None of other dtypes."""
    kind = spec.element.unpacked
    if kind.kind not in "iu" or kind.itemsize > 2:
        return None
    limits = (-8, 7) if spec.dtype.startswith("int4") else (0, 15) if spec.dtype.startswith("uint4") else None
    low, high = limits or (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    return np.arange(low, high + 1).astype(kind)


def values_of(spec: TensorSpec, stored: np.ndarray) -> np.ndarray:
    """Return what stored values mean, as `TensorSpec.unpack` returns them; a row for each scale."""
    quantization = spec.quantization
    if quantization is None:
        return stored[None]
    if quantization.axis is None:
        return quantization.dequantize(stored)[None]
    each = np.broadcast_to(stored, (quantization.count, len(stored)))
    return type(quantization)(quantization.scale, quantization.zero_point, 0).dequantize(each)


def scaled_along(level: Level, place: Place, a: int, spec: TensorSpec) -> tuple[str, np.ndarray]:
    """Return along what a part of anchor `a` has scales, "channels", "rows" or "columns", and their numbers."""
    rows, columns = level.grid
    outer, inner = np.divmod(place.numbers(a), 1 if place.inner is None else spec.shape[place.inner])
    same = np.zeros(place.part.count, np.int64)
    axis = None if spec.quantization is None else spec.quantization.axis
    if axis is None:
        return "channels", same
    numbers: dict[int | None, tuple[str, np.ndarray]] = {
        place.inner: ("channels", inner),
        place.channel: ("channels", outer),
        place.anchor: ("channels", same + a),
        place.rows: ("rows", np.arange(rows)),
        place.columns: ("columns", np.arange(columns) if place.rows is not None else place.cells(a, rows * columns)),
    }
    return numbers.get(axis % len(spec.shape), ("channels", same))


def largest_score(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> float:
    """Return the largest score that any stored values mean; infinity if the dtype does not bound it."""
    return max(_of_anchor(head, level, a, specs) for level in fitted.levels for a in range(level.turns))


def _of_anchor(head: Head, level: Level, a: int, specs: Sequence[TensorSpec]) -> float:
    score = _largest(level, level.places["score"], a, specs, scored_background(head, level.places["score"].part))
    if head.score == "class":
        return score
    objectness = _largest(level, level.places["objectness"], a, specs, None)
    with np.errstate(invalid="ignore"):  # infinity times 0
        return float(COMBINED[head.score](np.asarray(objectness), np.asarray(score)))


def _largest(level: Level, place: Place, a: int, specs: Sequence[TensorSpec], background: int | None) -> float:
    """Return the largest that a part of an anchor means, but for the background."""
    spec, kind, count = specs[place.output], place.part.activation, place.part.count
    ends = _ends(spec)
    if ends is None:
        return math.inf if kind == "none" else 1.0
    each, numbers = scaled_along(level, place, a, spec)
    low, high = values_of(spec, ends).astype(np.float64)[numbers].T
    classes = np.arange(count) if background is None else np.delete(np.arange(count), background)
    if kind == "softmax":
        return _largest_share(low, high, classes if each == "channels" else None, count)
    return float(activated(kind, high[classes] if each == "channels" else high).max())  # all others are monotone


def _largest_share(low: np.ndarray, high: np.ndarray, classes: np.ndarray | None, count: int) -> float:
    """Return the largest softmax: one class has its largest value, and all others the least.

    low, high: of each channel, and `classes` those that count; None: of each row or column, alike for all classes.
    """
    with np.errstate(over="ignore", under="ignore"):
        if classes is None:
            others = (count - 1) * np.exp(low - high)
        else:
            others = np.array([np.exp(np.delete(low, c) - high[c]).sum() for c in classes])
    return float(1 / (1 + others.min()))


def span_of(level: Level, place: Place, spec: TensorSpec) -> tuple[float, float] | None:
    """Return the least and the largest value that a part's integers of at most 16 bits mean; None without a scale."""
    stored = codes(spec)
    if stored is None or spec.quantization is None:
        return None
    numbers = np.concatenate([scaled_along(level, place, a, spec)[1] for a in range(level.turns)])
    found = values_of(spec, stored[[0, -1]])[numbers]
    return float(found.min()), float(found.max())


def warn_of_unit(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> None:
    """Warn where boxes are said to be in pixels, and no stored integer means more than a pixel or two.

    They are of an input of 1 then, as TFLite's exports have them, and all would be in the corner.
    """
    how = fitted.form.boxes
    if how.unit != "pixel" or not ENCODINGS[how.encoding].decoded:
        return
    places = [(level, level.places["box"]) for level in fitted.levels]
    spans = [span_of(level, place, specs[place.output]) for level, place in places]
    most = max(math.inf if span is None else span[1] for span in spans)
    if most <= UNIT_RANGE:
        warn_caller(
            f"head {head.name!r}: its boxes are in pixels, but the stored values of "
            f"{specs[places[0][1].output].describe()} mean at most {most:.3g}; if the whole input is 1, as in TFLite's "
            "exports, give the head unit='input'"
        )


def warn_of_scores(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> None:
    """Warn where scores of 0 to 1 share the scale of boxes in pixels: nearly all of them are stored as 0."""
    how, places = fitted.form.boxes, fitted.levels[0].places
    score, box = places["score"], places.get("box")
    if box is None or box.output != score.output or score.part.activation != "none":
        return
    spec = specs[score.output]
    span, stored = span_of(fitted.levels[0], score, spec), codes(spec)
    if how.unit != "pixel" or not ENCODINGS[how.encoding].decoded or span is None or stored is None:
        return
    step = (span[1] - span[0]) / (len(stored) - 1)
    if span[1] > UNIT_RANGE and step > COARSE:
        warn_caller(
            f"head {head.name!r}: {spec.describe()} has one scale for boxes in pixels and scores of 0 to 1, which are "
            f"lost in steps of {step:.3g}: export the maps that the list is made of, boxes and scores as two outputs, "
            "or boxes of 0 to 1 (unit='input')"
        )


def most_probable(fitted: Fitted, specs: Sequence[TensorSpec]) -> float:
    """Return the largest score that a probability can have as devices round it: two steps and a twentieth above 1."""
    outputs = {level.places[role].output for level in fitted.levels for role in _SCORED & level.places.keys()}
    scales = [specs[i].quantization for i in outputs]
    return 1.05 + 2 * max((float(np.max(scale.scale)) for scale in scales if scale is not None), default=0.0)


def warn_of_improbable(head: Head, fitted: Fitted, specs: Sequence[TensorSpec], score: float) -> None:
    """Warn of a score that is no probability, and say what its output lacks: a quantization, or an activation."""
    places = [(role, level.places[role]) for level in fitted.levels for role in sorted(_SCORED & level.places.keys())]

    def is_raw(place: Place) -> bool:
        return specs[place.output].quantization is None and specs[place.output].element.unpacked.kind in "iu"

    role, place = min(places, key=lambda each: (not is_raw(each[1]), each[1].part.activation != "none"))
    spec, activation = specs[place.output], place.part.activation
    warn_caller(
        f"head {head.name!r}: a score is {score:.4g}, and a probability is at most 1; the {role} of {spec.describe()} "
        + (
            "has no quantization, so that its integers are read as they are stored: give the spec the "
            "quantization=(scale, zero_point) that the device's runtime reports"
            if is_raw(place)
            else f"is read with activation={activation!r}: give the head activation='sigmoid' if the "
            f"network's sigmoid is not in the graph, or check the scale"
        )
    )


def largest_value(spec: TensorSpec) -> float:
    """Return the largest value that an output can mean; infinity of floats."""
    ends = _ends(spec)
    return math.inf if ends is None else float(values_of(spec, ends).max())


def _ends(spec: TensorSpec) -> np.ndarray | None:
    """Return the least and the greatest integer that an output stores; None of floats."""
    stored = codes(spec)
    if stored is not None:
        return stored[[0, -1]]
    kind = spec.element.unpacked
    if kind.kind == "b":
        return np.array([False, True])
    return np.array([np.iinfo(kind).min, np.iinfo(kind).max], kind) if kind.kind in "iu" else None
