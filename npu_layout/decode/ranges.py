"""Compute which scores stored integers can mean, so that a threshold out of their reach is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..buffers import TensorSpec
from .activations import COMBINED, activated
from .head import Head
from .places import Fitted, Place


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


def largest_score(head: Head, fitted: Fitted, specs: Sequence[TensorSpec]) -> float:
    """Return the largest score that any stored values mean; infinity if the dtype does not bound it."""
    return max(_of_level(head, level.places, specs) for level in fitted.levels)


def _of_level(head: Head, places: dict[str, Place], specs: Sequence[TensorSpec]) -> float:
    score = _largest(places["score"], specs)
    if head.score == "class":
        return score
    objectness = _largest(places["objectness"], specs)
    with np.errstate(invalid="ignore"):  # infinity times 0
        return float(COMBINED[head.score](np.asarray(objectness), np.asarray(score)))


def _largest(place: Place, specs: Sequence[TensorSpec]) -> float:
    stored = codes(specs[place.output])
    if stored is None:
        return math.inf if place.part.activation == "none" else 1.0
    if place.part.activation == "softmax":  # one class has the largest value, and all others the least
        values = values_of(specs[place.output], stored).astype(np.float64)
        return float(1 / (1 + (place.part.count - 1) * math.exp(values.min() - values.max())))
    return float(activated(place.part.activation, values_of(specs[place.output], stored)).max())
