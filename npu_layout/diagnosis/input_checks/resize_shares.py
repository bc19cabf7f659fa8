"""Distinguish another resize from noise: which share of a difference other resizes make.

Another resize weighs the same pixels in another way. What it changes is near a sum of what other interpolations change,
and of the first and second derivatives of the picture, with one weight each: a shift by part of a pixel is the first
derivative, more or less blur the second. Noise is near no such sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .input_pairs import InputPair

NOISE = 0.03  # share: PIL's resizes have 0.3 or more, JPEG 0.1 or more, noise less than 0.01
_MOST = 40_000  # values that are compared


def share_of_resizes(pair: InputPair, made: np.ndarray, others: Sequence[np.ndarray]) -> float:
    """Return the share of the squared difference of the recorded input from `made` that is near other resizes.

    made: what was declared; others: what other interpolations make, of the same shape.
    """
    axes = [pair.spec.axes.index(letter) for letter in "HW"]
    axes = [axis for axis in axes if made.shape[axis] > 1]
    first = [np.gradient(made, axis=axis) for axis in axes]
    second = [np.gradient(x, axis=axis) for x, axis in zip(first, axes)]
    changes = [pair.in_steps(x).ravel() for x in (*(other - made for other in others), *first, *second)]
    off = pair.in_steps(pair.recorded - made).ravel()
    picked = slice(None) if off.size <= _MOST else np.random.default_rng(0).integers(0, off.size, _MOST)
    basis, wanted = np.stack([x[picked] for x in changes], 1).astype(np.float64), off[picked].astype(np.float64)
    weights = np.linalg.lstsq(basis, wanted, rcond=None)[0]
    power = float(wanted @ wanted)
    return 1 - float(np.square(wanted - basis @ weights).sum()) / power if power else 0.0
