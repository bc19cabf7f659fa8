"""Judge whether the small and the large values ask for the scale that a trial has.

A scale that is fitted to values of which the device cuts the large ones is between what the others ask for and what
the cut ones do. The values are in two halves, the inner and the outer ones, of equal sums of their squares from the
zero point: as far as the fit is concerned, each is half of the data. By how much the scale is off in each is the slope
of what the trial leaves over what it predicts. Its variance is estimated from the squares that are left about that
slope, each over the square of the share that the value has not in it: noise in proportion is more where values are
large, and a value that decides a slope alone proves none.

See MacKinnon & White, "Some heteroskedasticity-consistent covariance matrix estimators with improved finite sample
properties", Journal of Econometrics 29 (1985).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..scoring.evidence import Evidence
from ..scoring.moments import smaller_half
from ..scoring.samples import arithmetic, ends
from ..scoring.trials import Trial

_CERTAIN = 3.0  # deviations
_ONE = 2  # numbers of a scale for all values: itself and a zero point
_APART = 1.1  # factor: of scales that noise moves by no more


class Slope(NamedTuple):
    """By how much of itself a scale is off, and the variance of that."""

    off: float
    variance: float

    @property
    def is_certain(self) -> bool:
        """Whether it is more than noise."""
        return self.off**2 > _CERTAIN**2 * self.variance


def is_of_two_scales(evidence: Evidence, trial: Trial) -> bool:
    """Whether the large values ask for clearly another scale than the small ones, of a trial with one scale for all."""
    if trial.parameters > _ONE:
        return False
    inner, outer = halves(evidence, trial)
    apart = abs(np.log(max(1 + outer.off, 1e-9) / max(1 + inner.off, 1e-9)))
    return apart > np.log(_APART) and Slope(outer.off - inner.off, inner.variance + outer.variance).is_certain


def halves(evidence: Evidence, trial: Trial) -> tuple[Slope, Slope]:
    """Return by how much the scale of a trial is off in the inner and the outer half of its values."""
    x = trial.codes - trial.left
    saturated = _saturated(trial.codes, x, *ends(trial.spec or evidence.spec)) if trial.steps else None
    x -= x.mean() if trial.spec is None or trial.line else arithmetic(trial.spec, evidence.samples)[1]
    if saturated is not None:
        x[saturated] = 0.0  # what is 0 is in no sum
    x = x.reshape(-1, 1 if trial.places else _alike(evidence))
    left = trial.left.reshape(x.shape)
    inner = x * smaller_half(abs(x))
    return _slope(inner, left), _slope(np.subtract(x, inner, out=x), left)


def halves_by_sums(evidence: Evidence, codes: np.ndarray, scale: float, zero_point: float) -> tuple[Slope, Slope]:
    """Return the same for a scale of all channels, with which nothing is saturated, stored or predicted.

    codes: the stored values at the samples, (channels, samples).
    """
    rows = -1, _alike(evidence)
    stored = codes.reshape(rows)
    found = []
    for half in evidence.halves:
        x = half.reshape(rows)
        squares = np.einsum("ij,ij->i", x, x) / scale**2
        products = (np.einsum("ij,ij->i", x, stored) - zero_point * x.sum(1)) / scale
        found.append(_of_sums(squares, products - squares))
    return found[0], found[1]


def _saturated(codes: np.ndarray, predicted: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return which values are stored as an end of the range, or predicted to be."""
    found = codes <= low
    for beyond in (codes >= high, predicted <= low, predicted >= high):
        found |= beyond
    return np.asarray(found)


def _slope(x: np.ndarray, left: np.ndarray) -> Slope:
    """Return the slope of what is left over what is predicted; values of one row may err alike."""
    return _of_sums(np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", x, left))


def _of_sums(squares: np.ndarray, products: np.ndarray) -> Slope:
    """Return the same, given each row's sum of the squares of what is predicted, and of its products with the rest."""
    power = float(squares.sum())
    if power <= 0:
        return Slope(0.0, np.inf)
    off = float(products.sum()) / power
    share = squares / power
    sums = (products - off * squares) / np.maximum(1 - share, 1e-9)
    return Slope(off, float((sums * sums).sum()) / power**2 if share.max() < 1 else np.inf)


def _alike(evidence: Evidence) -> int:
    """Return how many neighbouring samples may err alike: those of a channel of a map in one frame."""
    return 1 if len(evidence.references[0].shape) <= 3 else int(evidence.samples.count)
