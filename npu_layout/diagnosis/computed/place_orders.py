"""Find the columns, rows or slices of a map of labels in another order, which the labels prove by their number."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ...comparison import listed
from ..scoring.evidence import Evidence
from ..scoring.thresholds import NEIGHBOURS, RATE
from ..scoring.trials import Trial
from ..stored.channel_orders import FoundOrder, likely, orders_along
from .changed import Changed

_LEAST, _MOST = 4, 4096  # places along an axis
_WORDS = ("columns", "rows", "slices")  # of the last axis, the one before it, and the one before that


def place_orders(evidence: Evidence) -> Iterator[Trial]:
    """Yield the order of the places along each axis that fits best, if it is not the declared one.

    Of an output with channels that is not looked for: a picture is moved, but not torn apart.
    """
    shape = evidence.references[0].shape
    if not evidence.fits or evidence.settled or not _has_labels(evidence):
        return
    axes = [axis for axis in range(1, len(shape)) if shape[axis] > 1][: -len(_WORDS) - 1 : -1]
    for words, axis in zip(_WORDS, axes):
        if _LEAST <= shape[axis] <= _MOST:
            trials = [_trial(evidence, axis, words, order) for order in orders_along(evidence, axis)]
            best = max(trials, key=likely(evidence), default=None)
            if best is not None and _is_no_chance(evidence, best):
                yield best


def _has_labels(evidence: Evidence) -> bool:
    """Whether the output is a map of whole numbers, without channels or with one."""
    shape, axis = evidence.references[0].shape, evidence.named_axis
    return evidence.is_whole and len(shape) > 2 and (axis is None or shape[axis] == 1)


def _is_no_chance(evidence: Evidence, trial: Trial) -> bool:
    """Whether an order explains more than the best of so many explains of noise, of which neighbours have the same."""
    before, after = (max(float(np.square(left).mean()), 1e-300) for left in (evidence.left, trial.left))
    return bool(trial.left.size / NEIGHBOURS / 2 * np.log(before / after) > trial.choices - np.log(RATE))


def _trial(evidence: Evidence, axis: int, words: str, order: FoundOrder) -> Trial:
    change = partial(np.take, indices=order.stands_for, axis=axis)
    left = evidence.codes - evidence.predicted(np.stack([evidence.samples.of(change(r)) for r in evidence.references]))
    trial = evidence.tried("geometry", f"the maps' {_places(words, order.stands_for)}", left)
    return trial._replace(choices=order.choices, answers=Changed(evidence.references, change))


def _places(words: str, stands_for: np.ndarray) -> str:
    """Return where the columns, rows or slices are, in words."""
    count, at = len(stands_for), np.argsort(stands_for)
    by = set(((at - np.arange(count)) % count).tolist())
    if len(by) == 1:
        return f"{words} are shifted by {by.pop()} of {count} places, and go on at the other end"
    moved = int((at != np.arange(count)).sum())
    return f"{words} are in another order: {moved} of {count} are in other places (the model's are at {listed(at, 12)})"
