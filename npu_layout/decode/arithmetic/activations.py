"""Activations of stored values in float64, and the score that objectness and a class make."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .exponential import exponential, fifth_root, sigmoid


def activated(kind: str, x: np.ndarray, axis: int = 1) -> np.ndarray:
    """Return float64 values after an activation, over the classes on `axis`."""
    with np.errstate(invalid="ignore"):  # signalling NaN
        return _ACTIVATIONS[kind](x.astype(np.float64), axis)


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = exponential(x - x.max(axis, keepdims=True))
    shares: np.ndarray = e / ordered_sum(e, axis)
    return shares


def ordered_sum(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the sum in order, one after the other, as a loop adds; the axis is kept."""
    return np.take(np.add.accumulate(x, axis), [-1], axis)


_ACTIVATIONS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "none": lambda x, axis: x,
    "sigmoid": lambda x, axis: sigmoid(x),
    "softmax": _softmax,
    "tanh": lambda x, axis: 2.0 * sigmoid(2.0 * x) - 1.0,
}


#: The score, from objectness and that of a class, by the head's rule.
COMBINED: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "objectness": lambda objectness, score: objectness * score,
    "root": lambda objectness, score: np.sqrt(objectness * score),
    "weighted": lambda objectness, score: np.where(
        score < 0, np.nan, fifth_root(objectness * objectness * objectness * (score * score))
    ),
}
