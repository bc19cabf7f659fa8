"""Find the least codes that can pass a confidence, so that a scan compares integers alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import kernels
from ..arithmetic.activations import activated
from ..heads.head import Head


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
