"""Turn one part of an output into what the kernels read: where its elements are, and what its codes mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ... import kernels
from ...buffers import Quantization, TensorSpec, kernel_name
from ...support import widened
from ..arithmetic.activations import activated
from ..heads.form import Boxes
from ..heads.head import Head, scored_background
from ..outputs.places import Level, Place, offsets_along
from ..outputs.ranges import scaled_along, values_of

_DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "float16", "bfloat16", "float32")


def dtype_of(spec: TensorSpec) -> str:
    """Return the kernels' name of what an output stores."""
    return spec.dtype if spec.dtype == "bfloat16" else kernel_name(spec.stored)


def reads(spec: TensorSpec) -> bool:
    """Whether the kernels read the dtype."""
    return dtype_of(spec) in _DTYPES and not spec.element.nibbles


def words_of(spec: TensorSpec) -> int:
    """Return how many words of 32 bits a plain integer is that kernels read as such, the lowest first; 0: none."""
    return 0 if spec.quantization is not None else {"uint32": 1, "int64": 2, "uint64": 2}.get(spec.dtype, 0)


def single(output: int, spec: TensorSpec) -> kernels.AnchorPart:
    """Return the part that is an output's one element."""
    scales, first = None, np.zeros(1, np.int64)
    place = kernels.FeatureMap(dtype_of(spec), first + int(spec.offset(*[0] * len(spec.shape))), first, first)
    if spec.quantization is not None:
        numbers = (np.full(1, v, np.float32) for v in (spec.quantization.scale, spec.quantization.zero_point))
        scales = kernels.Scales("channels", *numbers)
    values = None if scales is not None else meanings(spec, dtype_of(spec), "none")
    return kernels.AnchorPart(output, place, "none", values, scales)


def stand_in(score: kernels.AnchorPart) -> kernels.AnchorPart:
    """Return a part of four channels, for kernels that want a box: nobody reads what they make of it."""
    places = score.map._replace(channels=np.repeat(score.map.channels[:1], 4))
    scales = score.scales
    if scales is not None and scales.each == "channels":
        scales = kernels.Scales("channels", *(np.repeat(numbers[:1], 4) for numbers in scales[1:]))
    return score._replace(map=places, scales=scales)


def source_of(
    head: Head,
    level: Level,
    place: Place,
    a: int,
    specs: Sequence[TensorSpec],
    how: Boxes,
    background: bool = False,
) -> kernels.AnchorPart:
    """Return a part of an anchor; background: that score alone, in place of the others."""
    spec, part, dtype = specs[place.output], place.part, dtype_of(specs[place.output])
    if part.role == "label" and (words := words_of(spec)):
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
        spec = spec.replace(quantization=Quantization(float(scales.scale[0]), float(scales.zero[0])))
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
    if place.part.role == "score" and (aside := scored_background(head, place.part)) is not None:
        return np.delete(channels, aside)
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
    real = widened(floats)
    real[: len(real) // 2][np.isnan(real[: len(real) // 2])] = -np.inf
    return real
