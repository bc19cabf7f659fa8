"""Turn a fitted head into the description that the compiled kernels run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import kernels
from ..buffers import TensorSpec, kernel_name
from .head import Head
from .places import Fitted, Level, Place, offsets_along
from .ranges import values_of
from .reference import activated, point_encoding

_DTYPES = ("int8", "uint8", "int16", "uint16", "float16", "bfloat16", "float32")


def compiled(
    head: Head, fitted: Fitted, specs: Sequence[TensorSpec], input_hw: tuple[int, int]
) -> kernels.Detection | None:
    """Return the description, or None if the kernels have no loops for the head or a dtype: then numpy decodes.

    Of a head that is not `decoded_whole` it finds the candidates alone, or their boxes too, see `has_boxes`.
    """
    whole = decoded_whole(head, fitted)
    places = [
        place
        for level in fitted.levels
        for role, place in level.places.items()
        if whole or role in ("score", "objectness")
    ]
    if fitted.form.part("label") is not None:
        return None
    if not all(_runs(place, specs[place.output]) for place in places):
        return None
    rule, part = head.suppression, fitted.form.part("keypoints") if head.keypoints and whole else None
    return kernels.Detection(
        tuple(spec.nbytes for spec in specs),
        head.score,
        head.classes,
        0 if part is None else part.count,
        head.labels == "all",
        whole and rule.kind == "greedy",
        rule.per_class,
        rule.inclusive,
        rule.extra,
        rule.epsilon,
        tuple(_grid(head, fitted, level, specs, input_hw) for level in fitted.levels),
    )


def decoded_whole(head: Head, fitted: Fitted) -> bool:
    """Whether the kernels have loops for the boxes and their suppression; else they find candidates alone."""
    how = fitted.form.boxes
    return how.angle == "none" and how.encoding != "center_size" and head.suppression.kind in ("greedy", "none")


def has_boxes(fitted: Fitted, specs: Sequence[TensorSpec]) -> bool:
    """Whether the kernels have loops for the boxes of candidates, upright, beside what else is done with them."""
    places = [level.places["box"] for level in fitted.levels]
    return fitted.form.boxes.encoding != "center_size" and all(_runs(place, specs[place.output]) for place in places)


def _runs(place: Place, spec: TensorSpec) -> bool:
    """Whether the kernels read the part: a monotone activation, one positive scale, a dtype that they have."""
    quantization = spec.quantization
    one = quantization is None or quantization.axis is None or has_tables(place, spec)
    name = kernel_name(spec.stored) if spec.dtype != "bfloat16" else "bfloat16"
    return place.part.activation != "softmax" and one and name in _DTYPES and not spec.element.nibbles


def has_tables(place: Place, spec: TensorSpec) -> bool:
    """Whether each channel of a part has a scale of its own, and codes so few that each can have a table."""
    axis = None if spec.quantization is None else spec.quantization.axis
    return axis is not None and axis == place.channel and place.inner is None and spec.stored.itemsize == 1


def _grid(
    head: Head, fitted: Fitted, level: Level, specs: Sequence[TensorSpec], input_hw: tuple[int, int]
) -> kernels.Grid:
    how = fitted.form.boxes
    unit = {"stride": (1.0, 1.0), "pixel": (1.0, 1.0), "input": (float(input_hw[1]), float(input_hw[0]))}[how.unit]
    whole, boxed = decoded_whole(head, fitted), has_boxes(fitted, specs)
    points = _points(head, fitted) if whole else None
    anchors = []
    for a in range(level.turns):
        sources = {
            role: _source(head, level, level.places[role], a, specs, how.order)
            for role in ("score", "objectness", "box")
            if role in level.places and (role != "objectness" or head.score != "class") and (boxed or role != "box")
        }
        sources.setdefault("box", _stand_in(sources["score"]))
        size = level.anchors[a] if level.anchors else (1.0, 1.0)
        made = kernels.Anchor(sources["score"], sources.get("objectness"), sources["box"], size)
        if points is not None:
            source = _source(head, level, level.places["keypoints"], a, specs, how.order)
            heats = None if source.values is None else activated(points.activation, source.values[None])[0]
            made = made._replace(points=source, heats=heats)
        anchors.append(made)
    strides = how.unit == "stride"
    if strides and how.encoding in ("xywh", "xyxy"):
        unit = (float(level.stride), float(level.stride))
    return kernels.Grid(
        level.grid[1],
        how.encoding if boxed else "xyxy",
        how.bins,
        strides,
        how.center,
        unit,
        how.variances,
        float(level.stride),
        tuple(anchors),
        level.priors,
        points,
    )


def _stand_in(score: kernels.AnchorPart) -> kernels.AnchorPart:
    """Return a part of four channels, for kernels that want a box: nobody reads what they make of it."""
    values = None if score.values is None else score.values.reshape(-1, score.values.shape[-1])[0]
    places = score.map._replace(channels=np.repeat(score.map.channels[:1], 4))
    return score._replace(map=places, values=values, reals=None)


def _points(head: Head, fitted: Fitted) -> kernels.Points | None:
    how = head.keypoints
    if how is None or fitted.form.part("keypoints") is None:
        return None
    encoding, activation = point_encoding(head, fitted)
    return kernels.Points(encoding, how.values, activation, fitted.form.boxes.variances[0])


def _source(
    head: Head, level: Level, place: Place, a: int, specs: Sequence[TensorSpec], order: tuple[int, ...]
) -> kernels.AnchorPart:
    spec, part = specs[place.output], place.part
    dtype = spec.dtype if spec.dtype == "bfloat16" else kernel_name(spec.stored)
    values, reals = meanings(spec, dtype, part.activation), None
    if has_tables(place, spec):
        reals = _tables(spec, _picked(head, place, place.numbers(a), order), dtype)
        values = activated(part.activation, reals[None])[0]
        if len(reals) == 1:
            values, reals = values[0], None
    made = _map(head, level, place, a, spec, dtype, order)
    return kernels.AnchorPart(place.output, made, part.activation, values, reals)


def _tables(spec: TensorSpec, numbers: np.ndarray, dtype: str) -> np.ndarray:
    """Return what all codes of some channels mean, float64 (channels, codes), the lowest code first."""
    given, stored = spec.quantization, kernels.codes(dtype)
    assert given is not None and stored is not None
    scales, zeros = (np.asarray(v)[numbers] for v in (given.scale, given.zero_point))
    each = type(given)(scales, zeros, 0)
    means: np.ndarray = each.dequantize(np.broadcast_to(stored, (len(numbers), len(stored)))).astype(np.float64)
    return means


def _picked(head: Head, place: Place, channels: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """Return a part's channels as the kernels want them: scores without the background, boxes in the usual order."""
    if place.part.role == "score" and head.background is not None:
        return np.delete(channels, head.background)
    return channels.reshape(4, -1)[list(order)].reshape(-1) if place.part.role == "box" else channels


def meanings(spec: TensorSpec, dtype: str, activation: str) -> np.ndarray | None:
    """Return what all codes of a dtype mean, activated, float64, the lowest code first; None of float32.

    None too of channels with scales of their own.
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


def _map(
    head: Head, level: Level, place: Place, a: int, spec: TensorSpec, dtype: str, order: tuple[int, ...]
) -> kernels.FeatureMap:
    channels, rows, columns = offsets_along(place, level, spec, a)
    return kernels.FeatureMap(dtype, _picked(head, place, channels, order), rows, columns)


def thresholds(head: Head, made: kernels.Detection, confidence: float) -> bytes:
    """Return the least code that can pass, of each anchor of each level, int32; whatever has it is compared."""
    found = [_threshold(head, anchor, confidence) for level in made.levels for anchor in level.anchors]
    return np.array(found, np.int32).tobytes()


def _threshold(head: Head, anchor: kernels.Anchor, confidence: float) -> int:
    source, bound = anchor.score, confidence
    if anchor.objectness is not None:
        source = anchor.objectness
        scores = anchor.score.values
        most = 1.0 if scores is None and anchor.score.activation == "sigmoid" else np.inf
        if scores is not None:
            most = float(np.nanmax(scores))
        target = confidence * confidence if head.score == "root" else confidence
        bound = 0.0 if confidence <= 0 else target / most * (1 - 1e-9) if most > 0 else np.inf
    if source.values is not None:
        rows = source.values.reshape(-1, source.values.shape[-1])
        return min(kernels.least_code(row, bound) for row in rows)
    if source.activation == "sigmoid":
        if bound >= 1:
            return kernels.least_float(16.0)
        bound = -np.inf if bound <= 0 else float(np.log(bound) - np.log1p(-bound)) - 1e-6 * (1 + abs(np.log(bound)))
    return kernels.least_float(bound)
