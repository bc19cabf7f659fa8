"""Try another resize at the end of the network: nearest, or linear with another rule for the corners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ...support import finite
from ..scoring.evidence import Evidence
from ..scoring.thresholds import MARGIN
from ..scoring.trials import Trial
from .changed import Changed
from .geometries import WORTH, axes_of

_FACTORS = (32, 16, 8, 4, 2)
_ROWS, _CHANNELS = 4, 4  # frames that are resized, and channels of one that show whether the model resizes
_EXACT = 1e-7  # of the variance, as error: the rounding of float32 is less
_MOST = 512  # places along an axis, of which a quarter or less has to be enough
_LARGEST = 2048  # places along an axis: the time is their third power, and vocabularies are no maps


def _of_sizes(count: int, factor: int) -> int:
    """Return how many places were enlarged to `count` by a factor; 0 if none can have been."""
    return count // factor if count % factor == 0 and count >= 2 * factor else 0


def _of_corners(count: int, factor: int) -> int:
    """Return the same where the corners stay corners, so that the steps between places are enlarged."""
    if count % 2 and (count - 1) % factor == 0:
        return (count - 1) // factor + 1 if count > factor + 1 else 0
    return _of_sizes(count, factor)


class Mode(NamedTuple):
    """A rule of a resize: its words, where each of `to` places is in `count`, and from how many places it comes."""

    words: str
    place: Callable[[np.ndarray, int, int], np.ndarray]  #: of the numbers of the places, `count` and `to`
    source: Callable[[int, int], int] = _of_sizes  #: of the places and a factor


MODES = {
    "half_pixel": Mode("linear resize with half_pixel", lambda i, count, to: (i + 0.5) * count / to - 0.5),
    "align_corners": Mode(
        "linear resize with align_corners", lambda i, count, to: i * ((count - 1) / (to - 1)), _of_corners
    ),
    "asymmetric": Mode("linear resize with asymmetric coordinates", lambda i, count, to: i * count / to),
    "nearest": Mode("nearest-neighbour resize", lambda i, count, to: np.floor(i * count / to)),
    "nearest_rounded": Mode(
        "nearest-neighbour resize that rounds the place", lambda i, count, to: np.floor(i * count / to + 0.5)
    ),
}


class _Resize(NamedTuple):
    """A resize from so many rows and columns."""

    mode: str
    height: int
    width: int


def resizes(evidence: Evidence) -> Iterator[Trial]:
    """Yield other resizes, if the model's maps are resized ones, that explain more than the declared reading."""
    down, across = axes_of(evidence) or (None, 0)
    if not evidence.fits or down is None or evidence.settled:
        return
    axes = down, across
    own = _last_resize(evidence, axes)
    if own is None:
        return
    rows = sorted({int(i) for i in np.linspace(0, len(evidence.references) - 1, _ROWS).round()})
    declared = evidence.as_declared(rows)
    before, choices, trials = evidence.score(declared), float(np.log(len(MODES))), []
    for mode in MODES:
        change = partial(_resized, axes=axes, own=own, other=own._replace(mode=mode))
        wanted = np.stack([evidence.samples.of(change(evidence.references[k])) for k in rows])
        left = declared.codes - evidence.predicted(wanted)
        text = f"the maps end in a {MODES[mode].words}, and the model's in a {MODES[own.mode].words}"
        answers = Changed(evidence.references, change)
        trials.append(evidence.tried("geometry", text, left, rows=rows)._replace(answers=answers, choices=choices))
    scores = [evidence.score(trial) for trial in trials]
    for trial, mode, score in zip(trials, MODES, scores):
        if mode != own.mode and score > before + WORTH and score > max(scores) - MARGIN:
            yield trial


def _last_resize(evidence: Evidence, axes: tuple[int, int]) -> _Resize | None:
    """Return the resize that the model's maps come from, the largest that leaves nothing of them.

    None if none does, or an axis is long.
    """
    reference = max(evidence.references, key=lambda r: float(finite(r).var()))
    x = np.moveaxis(finite(reference), axes, (-2, -1))
    planes = x.reshape(-1, *x.shape[-2:]).astype(np.float64)
    spread = planes.var((1, 2))
    planes = planes[np.argsort(-spread, kind="stable")[:_CHANNELS]]
    power = planes.var()
    if not power:
        return None
    tall, wide = planes.shape[1:]
    if max(tall, wide) > _LARGEST:
        return None
    for factor in _FACTORS:
        for mode in MODES:
            height, width = (MODES[mode].source(n, factor) for n in (tall, wide))
            if not (height and width) or ((tall > _MOST or wide > _MOST) and factor < 4):
                continue
            low = _reduced(planes, mode, height, width)
            left = planes - _enlarged(low, mode, tall, wide)
            if float((left * left).mean()) <= _EXACT * power:
                return _Resize(mode, height, width)
    return None


def _resized(reference: np.ndarray, axes: tuple[int, int], own: _Resize, other: _Resize) -> np.ndarray:
    """Return the model's output as another resize of what was resized would be."""
    x = np.moveaxis(finite(reference), axes, (-2, -1)).astype(np.float64)
    resized = _enlarged(_reduced(x, own.mode, own.height, own.width), other.mode, *x.shape[-2:])
    return np.asarray(np.moveaxis(resized, (-2, -1), axes))


def _reduced(x: np.ndarray, mode: str, height: int, width: int) -> np.ndarray:
    down, across = _inverse(mode, height, x.shape[-2]), _inverse(mode, width, x.shape[-1])
    return np.asarray(down @ x @ across.T)


def _enlarged(x: np.ndarray, mode: str, height: int, width: int) -> np.ndarray:
    down, across = matrix(mode, x.shape[-2], height), matrix(mode, x.shape[-1], width)
    return np.asarray(down @ x @ across.T)


@lru_cache(maxsize=64)
def matrix(mode: str, count: int, to: int) -> np.ndarray:
    """Return the weights (to, count) of a resize along one axis.

    >>> matrix("half_pixel", 2, 4).tolist()
    [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]
    """
    i, place = np.arange(to), _places(mode, count, to)
    first = np.minimum(np.floor(place).astype(int), count - 2)
    weights = np.zeros((to, count))
    weights[i, first] = 1 - (place - first)
    weights[i, first + 1] += place - first
    return weights


def _places(mode: str, count: int, to: int) -> np.ndarray:
    """Return where in `count` places each of `to` places is."""
    return np.asarray(np.clip(MODES[mode].place(np.arange(to), count, to), 0, count - 1))


@lru_cache(maxsize=64)
def _inverse(mode: str, count: int, to: int) -> np.ndarray:
    return np.asarray(np.linalg.pinv(matrix(mode, count, to)))
