"""Compute the edges of boxes, and points beside them, from the channels of cells, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arithmetic.activations import ordered_sum
from ..arithmetic.exponential import exponential, sigmoid
from ..heads.form import Boxes


def spread_of(how: Boxes, n: int) -> float:
    """Return the factor by which centres of level `n` move from the middles of their cells."""
    return how.spreads[n] if how.spreads else 1.0


class Cells(NamedTuple):
    """Cells of candidates: columns and rows, the stride, anchors in pixels, and the unit of their channels."""

    how: Boxes
    cell: np.ndarray
    stride: float
    anchor: np.ndarray
    unit: np.ndarray
    spread: float


def _dfl(at: Cells, x: np.ndarray) -> np.ndarray:
    bins = x.reshape(len(x), 4, at.how.bins)
    e = exponential(bins - bins.max(2, keepdims=True))
    sides = ordered_sum(e * np.arange(at.how.bins), 2)[..., 0] / ordered_sum(e, 2)[..., 0]
    return _distances(at, sides)


def _distances(at: Cells, sides: np.ndarray) -> np.ndarray:
    if at.how.unit == "stride":
        center = at.cell + at.how.center
        return np.concatenate([center - sides[:, :2], center + sides[:, 2:]], 1) * at.stride
    center = (at.cell + at.how.center) * at.stride
    return np.concatenate([center - sides[:, :2] * at.unit, center + sides[:, 2:] * at.unit], 1)


def _center_power(at: Cells, x: np.ndarray) -> np.ndarray:
    center = (2.0 * x[:, :2] - 0.5 + at.cell) * at.stride
    double = 2.0 * x[:, 2:]
    return _corners(center, double * double * at.anchor)


def _center_exp(at: Cells, x: np.ndarray) -> np.ndarray:
    size = exponential(x[:, 2:]) * (at.anchor if at.how.unit == "pixel" else at.stride)
    return _corners((_spread(at, x[:, :2]) + at.cell + at.how.center) * at.stride, size)


def _spread(at: Cells, share: np.ndarray) -> np.ndarray:
    """Return the place of a centre in its cell, from where it is without the factor."""
    return share * at.spread - (at.spread - 1.0) / 2.0


def _sigmoid_exp(at: Cells, x: np.ndarray) -> np.ndarray:
    center = _spread(at, sigmoid(x[:, :2])) + at.cell + at.how.center
    return _corners(center * at.stride, exponential(x[:, 2:]) * at.anchor)


def _variances(at: Cells, x: np.ndarray) -> np.ndarray:
    of_center, of_size = at.how.variances
    center = (at.cell + at.how.center) * at.stride + x[:, :2] * of_center * at.anchor
    return _corners(center, exponential(x[:, 2:] * of_size) * at.anchor)


def _linear(at: Cells, x: np.ndarray) -> np.ndarray:
    of_center, of_size = at.how.variances
    center = (at.cell + at.how.center) * at.stride + x[:, :2] * of_center * at.anchor
    return _corners(center, x[:, 2:] * of_size * at.anchor)


def _tanh_sigmoid(at: Cells, x: np.ndarray) -> np.ndarray:
    tangent = 2.0 * sigmoid(2.0 * x[:, :2]) - 1.0
    return _corners((tangent + at.cell + at.how.center) * at.stride, sigmoid(x[:, 2:]) * at.unit)


def _center_size(at: Cells, x: np.ndarray) -> np.ndarray:
    return _corners((x[:, :2] + at.cell) * at.stride, x[:, 2:] * at.unit)


def _corners(center: np.ndarray, size: np.ndarray) -> np.ndarray:
    half = size / 2.0
    return np.concatenate([center - half, center + half], 1)


#: By the names of `box_encodings`: the edges of boxes in pixels, of cells and of what is stored.
EDGES: dict[str, Callable[[Cells, np.ndarray], np.ndarray]] = {
    "dfl": _dfl,
    "distances": _distances,
    "center_power": _center_power,
    "center_exp": _center_exp,
    "sigmoid_exp": _sigmoid_exp,
    "variances": _variances,
    "linear": _linear,
    "tanh_sigmoid": _tanh_sigmoid,
    "center_size": _center_size,
    "xywh": lambda at, x: _corners(x[:, :2] * at.unit, x[:, 2:] * at.unit),
    "xyxy": lambda at, x: x * np.tile(at.unit, 2),
}


#: Of values, cells, centres of cells, strides, anchors and the variance of centres: x and y in pixels.
POINTS: dict[str, Callable[..., np.ndarray]] = {
    "cells": lambda x, cell, center, stride, anchor, variance: (2.0 * x + cell) * stride,
    "shifted": lambda x, cell, center, stride, anchor, variance: (2.0 * x - 0.5 + cell) * stride,
    "pixels": lambda x, cell, center, stride, anchor, variance: x,
    "inputs": lambda x, cell, center, stride, anchor, variance: x,
    "priors": lambda x, cell, center, stride, anchor, variance: center + x * variance * anchor,
    "distances": lambda x, cell, center, stride, anchor, variance: center + x * stride,
}
