"""Turn a fitted head into the description that the compiled kernels run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import kernels
from ..buffers import TensorSpec, kernel_name
from .activations import activated
from .box_encodings import ENCODINGS
from .encodings import spread_of
from .gathering import are_steps
from .head import Boxes, Head
from .places import Fitted, Level, Place, offsets_along
from .ranges import scaled_along, values_of
from .reference import point_encoding

_DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "float16", "bfloat16", "float32")


def compiled(
    head: Head, fitted: Fitted, specs: Sequence[TensorSpec], input_hw: tuple[int, int]
) -> kernels.Detection | None:
    """Return the description, or None if the kernels have no loops for the head or a dtype: then numpy decodes.

    Of a head that is not `decoded_whole` it finds the candidates alone, or their boxes too, see `has_boxes`.
    """
    whole, rule = decoded_whole(head, fitted, specs), head.suppression
    roles = [role for role in (_READ if whole else _READ[:3]) if role not in _unread(head)]
    places = [level.places[role] for level in fitted.levels for role in roles if role in level.places]
    if fitted.form.part("label") is not None and not _labels(head, fitted):
        return None
    if not all(_runs(place, specs[place.output]) for place in places):
        return None
    filled = None if fitted.filled is None else specs[fitted.filled]
    if filled is not None and not _reads(filled):
        return None
    part = fitted.form.part("keypoints") if head.keypoints and whole else None
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
        tuple(_grid(head, fitted, number, specs, input_hw) for number in range(len(fitted.levels))),
        None if filled is None else _single(fitted.filled or 0, filled),
        _coefficients(head, fitted, specs),
    )


def _coefficients(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> int:
    """Return how many coefficients of masks the kernels read beside a box."""
    part = fitted.form.part("coefficients")
    if head.prototypes is None or part is None or not decoded_whole(head, fitted, specs):
        return 0
    places = [level.places[part.role] for level in fitted.levels]
    return part.count if all(_runs(place, specs[place.output]) for place in places) else 0


def in_steps(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether the coefficients of masks are counted in steps, each level in its own: the sign of a sum is exact."""
    places = [level.places["coefficients"] for level in fitted.levels if "coefficients" in level.places]
    known = head.prototypes is not None and head.prototypes.rule != "probabilities"
    return known and all(are_steps(place, specs[place.output]) for place in places)


_READ = ("score", "objectness", "label", "box", "keypoints", "angle", "offset")


def _labels(head: Head, fitted: Fitted) -> bool:
    """Whether the kernels read classes as numbers beside scores like the head's."""
    score = fitted.form.part("score")
    shared = score is not None and score.activation == "softmax"
    return head.score == "class" and head.suppression.kind != "peaks" and not shared


def _unread(head: Head) -> tuple[str, ...]:
    """Return the roles that the head's rules do not use."""
    return ("objectness",) * (head.score == "class") + ("keypoints",) * (head.keypoints is None)


def decoded_whole(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether the kernels have loops for the head's suppression and read all parts beside scores.

    Else they find candidates, or their boxes, alone.
    """
    beside = [role for role in _READ[3:] if role not in _unread(head)]
    places = [level.places[role] for level in fitted.levels for role in beside if role in level.places]
    return head.suppression.kind in kernels.SUPPRESSIONS and all(_runs(place, specs[place.output]) for place in places)


def has_boxes(fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether the kernels have loops for the boxes of candidates, upright, beside what else is done with them."""
    roles = ("box", "offset")
    places = [level.places[role] for level in fitted.levels for role in roles if role in level.places]
    return all(_runs(place, specs[place.output]) for place in places)


def _runs(place: Place, spec: TensorSpec) -> bool:
    """Whether the kernels read the part: a monotone activation or that of scores, a dtype that they have."""
    if place.part.role == "label" and _words(spec):
        return True
    known = place.part.activation in ("none", "sigmoid") or place.part.role == "score"
    return known and _reads(spec)


def _words(spec: TensorSpec) -> int:
    """Return how many words of 32 bits a plain integer is that kernels read as such, the lowest first; 0: none."""
    return 0 if spec.quantization is not None else {"uint32": 1, "int64": 2, "uint64": 2}.get(spec.dtype, 0)


def _reads(spec: TensorSpec) -> bool:
    """Whether the kernels read the dtype."""
    return _dtype(spec) in _DTYPES and not spec.element.nibbles


def _dtype(spec: TensorSpec) -> str:
    return spec.dtype if spec.dtype == "bfloat16" else kernel_name(spec.stored)


def _single(output: int, spec: TensorSpec) -> kernels.AnchorPart:
    """Return the part that is an output's one element."""
    scales, first = None, np.zeros(1, np.int64)
    place = kernels.FeatureMap(_dtype(spec), first + int(spec.offset(*[0] * len(spec.shape))), first, first)
    if spec.quantization is not None:
        numbers = (np.full(1, v, np.float32) for v in (spec.quantization.scale, spec.quantization.zero_point))
        scales = kernels.Scales("channels", *numbers)
    values = None if scales is not None else meanings(spec, _dtype(spec), "none")
    return kernels.AnchorPart(output, place, "none", values, scales)


def _grid(
    head: Head, fitted: Fitted, number: int, specs: Sequence[TensorSpec], input_hw: tuple[int, int]
) -> kernels.Grid:
    level, how = fitted.levels[number], fitted.form.boxes
    unit = {"stride": (1.0, 1.0), "pixel": (1.0, 1.0), "input": (float(input_hw[1]), float(input_hw[0]))}[how.unit]
    whole, boxed = decoded_whole(head, fitted, specs), has_boxes(fitted, specs)
    roles = (_READ if whole else _READ[:4] if boxed else _READ[:3]) + (("offset",) if boxed else ())
    points = _points(head, fitted) if whole else None
    anchors = []
    for a in range(level.turns):
        sources = {
            role: _source(head, level, level.places[role], a, specs, how)
            for role in roles
            if role in level.places and role not in _unread(head)
        }
        size = level.anchors[a] if level.anchors else (1.0, 1.0)
        box = sources.get("box") or _stand_in(sources["score"])
        made = kernels.Anchor(sources["score"], sources.get("objectness"), box, size)
        made = made._replace(angle=sources.get("angle"), offset=sources.get("offset"), label=sources.get("label"))
        if sources["score"].activation == "softmax" and head.background is not None:
            beside = _source(head, level, level.places["score"], a, specs, how, background=True)
            made = made._replace(background=beside, aside=head.background)
        if _coefficients(head, fitted, specs):
            made = made._replace(coefficients=_of_masks(head, fitted, level, a, specs))
        if points is not None:
            source = sources["keypoints"]
            heats = None if source.values is None else activated(points.activation, source.values[None])[0]
            made = made._replace(points=source, heats=heats)
        anchors.append(made)
    strides = how.unit == "stride"
    if strides and ENCODINGS[how.encoding].scaled:
        unit = (float(level.stride), float(level.stride))
    return kernels.Grid(
        level.grid[1],
        how.encoding if boxed else "xyxy",
        how.bins,
        strides,
        how.center,
        unit,
        how.variances,
        level.step,
        tuple(anchors),
        level.priors,
        points,
        how.angle if whole else "none",
        spread_of(how, number),
    )


def _of_masks(head: Head, fitted: Fitted, level: Level, a: int, specs: Sequence[TensorSpec]) -> kernels.AnchorPart:
    """Return the coefficients of an anchor: what they mean, or the steps from their zero point."""
    place = level.places["coefficients"]
    source = _source(head, level, place, a, specs, fitted.form.boxes)
    if not in_steps(head, fitted, specs):
        return source
    given, one = specs[place.output].quantization, np.ones(place.part.count, np.float32)
    zero = 0.0 if given is None else float(given.zero_point)
    return source._replace(values=None, scales=kernels.Scales("channels", one, one * np.float32(zero)))


def _stand_in(score: kernels.AnchorPart) -> kernels.AnchorPart:
    """Return a part of four channels, for kernels that want a box: nobody reads what they make of it."""
    places = score.map._replace(channels=np.repeat(score.map.channels[:1], 4))
    scales = score.scales
    if scales is not None and scales.each == "channels":
        scales = kernels.Scales("channels", *(np.repeat(numbers[:1], 4) for numbers in scales[1:]))
    return score._replace(map=places, scales=scales)


def _points(head: Head, fitted: Fitted) -> kernels.Points | None:
    how = head.keypoints
    if how is None or fitted.form.part("keypoints") is None:
        return None
    encoding, activation = point_encoding(head, fitted)
    return kernels.Points(encoding, how.values, activation, fitted.form.boxes.variances[0])


def _source(
    head: Head,
    level: Level,
    place: Place,
    a: int,
    specs: Sequence[TensorSpec],
    how: Boxes,
    background: bool = False,
) -> kernels.AnchorPart:
    """Return a part of an anchor; background: that score alone, in place of the others."""
    spec, part, dtype = specs[place.output], place.part, _dtype(specs[place.output])
    if part.role == "label" and (words := _words(spec)):
        channels, rows, columns = (words * offsets for offsets in offsets_along(place, level, spec, a))
        wide = kernels.FeatureMap("int32", channels[0] + np.arange(words), rows, columns)
        return kernels.AnchorPart(place.output, wide, "none", None)
    table = "none" if part.activation == "softmax" else part.activation  # of single values

    def picked(channels: np.ndarray) -> np.ndarray:
        return channels[head.background or 0 :][:1] if background else _picked(head, place, channels, how)

    channels, rows, columns = offsets_along(place, level, spec, a)
    places = kernels.FeatureMap(dtype, picked(channels), rows, columns)
    scales = _scales(level, place, a, spec, picked)
    if scales is not None and all((numbers == numbers[0]).all() for numbers in scales[1:]):
        one = type(spec.quantization)(float(scales.scale[0]), float(scales.zero[0]))  # type: ignore[misc,call-arg]
        spec = spec.replace(quantization=one)
        if part.role == "score":  # of all channels: none means more than that of the largest code
            scales = kernels.Scales("rows", *(np.repeat(numbers[:1], len(rows)) for numbers in scales[1:]))
    values = meanings(spec, dtype, table)
    if scales is not None and values is not None and part.role == "score" and not _distinct(spec, dtype):
        values = None
    scales = None if values is not None else scales
    return kernels.AnchorPart(place.output, places, part.activation, values, scales)


def _scales(
    level: Level, place: Place, a: int, spec: TensorSpec, picked: Callable[[np.ndarray], np.ndarray]
) -> kernels.Scales | None:
    """Return the scales and zero points along an axis, those of the part, of one anchor.

    None if there is no scale. picked: the channels that count.
    """
    given = spec.quantization
    if given is None or spec.stored.kind not in "iu":
        return None
    if given.axis is None:
        count = len(picked(place.numbers(a)))
        return kernels.Scales("channels", *(np.full(count, v, np.float32) for v in (given.scale, given.zero_point)))
    each, at = scaled_along(level, place, a, spec)
    at = picked(at) if each == "channels" else at
    scale, zero = (np.asarray(v, np.float32)[at] for v in (given.scale, given.zero_point))
    return kernels.Scales(each, scale, zero)


def _distinct(spec: TensorSpec, dtype: str) -> bool:
    """Whether no two codes of a dtype of 8 or 16 bits mean the same: with a far zero point, neighbours do."""
    stored = kernels.codes(dtype)
    return stored is None or bool((np.diff(_real(spec, stored, dtype)) > 0).all())


def _picked(head: Head, place: Place, channels: np.ndarray, how: Boxes) -> np.ndarray:
    """Return a part's channels as the kernels want them.

    Scores are without the background, boxes and points in the usual order.
    """
    if place.part.role == "score" and head.background is not None:
        return np.delete(channels, head.background)
    if place.part.role == "keypoints" and head.keypoints is not None:
        return channels[list(head.keypoints.channels)]
    boxes = place.part.role == "box" and place.part.count != 2
    return channels.reshape(4, -1)[list(how.order)].reshape(-1) if boxes else channels


def meanings(spec: TensorSpec, dtype: str, activation: str) -> np.ndarray | None:
    """Return what all codes of a dtype mean, activated, float64, the lowest code first; None of float32.

    None too of int32, and of channels with scales of their own.
    """
    stored = kernels.codes(dtype)
    if stored is None or (spec.quantization is not None and spec.quantization.axis is not None):
        return None
    means: np.ndarray = activated(activation, _real(spec, stored, dtype)[None])[0]
    return means


def _real(spec: TensorSpec, stored: np.ndarray, dtype: str) -> np.ndarray:
    """Return what codes mean, float64; those of floats by their bits, with -infinity for what is below it."""
    if dtype == "float16":
        floats: np.ndarray = stored.view(np.float16)
    elif dtype == "bfloat16":
        floats = (stored.astype(np.uint32) << 16).view(np.float32)
    else:
        means: np.ndarray = values_of(spec, stored)[0].astype(np.float64)
        return means
    with np.errstate(invalid="ignore"):  # signalling NaN
        real = floats.astype(np.float64)
    real[: len(real) // 2][np.isnan(real[: len(real) // 2])] = -np.inf
    return real


def thresholds(head: Head, made: kernels.Detection, confidence: float) -> bytes:
    """Return the least code that can pass, of each anchor of each level, int32; whatever has it is compared."""
    found = [_threshold(head, anchor, confidence) for level in made.levels for anchor in level.anchors]
    return np.minimum(found, np.iinfo(np.int32).max).astype(np.int32).tobytes()


#: The least objectness beside which a class can reach a confidence, from it and the most that a class has.
_LEAST: dict[str, Callable[[np.float64, float], Any]] = {
    "objectness": lambda confidence, most: confidence / most,
    "root": lambda confidence, most: confidence * confidence / most,
    "weighted": lambda confidence, most: np.cbrt(confidence**5) / np.cbrt(most) ** 2,
}


def _threshold(head: Head, anchor: kernels.Anchor, confidence: float) -> int:
    source, bound = anchor.score, confidence
    if anchor.objectness is not None:
        source = anchor.objectness
        most = _most(anchor.score)
        with np.errstate(over="ignore"):
            least = _LEAST[head.score](np.float64(confidence), most) if confidence > 0 and most > 0 else np.inf
        bound = 0.0 if confidence <= 0 else float(least) * (1 - 1e-9)
    if source.values is not None:
        return kernels.least_code(source.values, bound)
    if source.activation == "softmax":  # is not scanned
        return 0
    if source.scales is not None:
        return _least_scaled(source, bound)
    if source.activation == "sigmoid":
        bound = 16.0 if bound >= 1 else -np.inf if bound <= 0 else _logit(bound)
    if source.map.dtype == "int32":
        return int(np.floor(np.clip(bound, -(2.0**31), 2.0**31)))
    return kernels.least_float(bound)


def _logit(share: float) -> float:
    """Return a number that no float64 sorts below whose sigmoid is at least a share, above 0 and below 1."""
    return float(np.log(share) - np.log1p(-share) - 1e-6 * (1 + abs(np.log(share))))


def _most(score: kernels.AnchorPart) -> float:
    """Return the largest score that a class can have."""
    if score.activation == "softmax":
        return 1.0
    if score.values is not None:
        return float(np.nanmax(score.values))
    if score.scales is not None:
        half, _ = kernels.half_and_zero(score.map.dtype)
        return float(_scaled(score, half - 1).max())
    return 1.0 if score.activation == "sigmoid" else np.inf


def _least_scaled(source: kernels.AnchorPart, bound: float) -> int:
    """Return the least code that means `bound` or more with one of the scales, by halves."""
    half, _ = kernels.half_and_zero(source.map.dtype)
    low, high = np.full((2, len(source.scales.scale)), -half)  # type: ignore[union-attr]
    high += 2 * half
    while (low < high).any():
        middle = (low + high) // 2
        passing = _scaled(source, middle) >= bound
        low, high = np.where(passing, low, np.minimum(middle + 1, high)), np.where(passing, middle, high)
    return int(low.min())


def _scaled(source: kernels.AnchorPart, code: Any) -> np.ndarray:
    """Return what a code means with each of the scales, activated."""
    assert source.scales is not None
    means: np.ndarray = activated(source.activation, source.scales.real(source.map.dtype, np.asarray(code))[None])[0]
    return means
