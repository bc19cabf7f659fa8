"""Find the columns, rows or slices of a map of labels in another order, which the labels prove by their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import log

import numpy as np

from ...comparison import listed
from ..scoring.evidence import Evidence
from ..scoring.thresholds import NEIGHBOURS, RATE
from ..scoring.trials import Trial
from ..stored.channel_orders import FoundOrder, likely, orders_along
from .changed import Changed

Change = Callable[[np.ndarray], np.ndarray]

_LEAST, _MOST = 4, 4096  # places along an axis
_CLEAR = 0.5  # of what another filling of the places that a shift frees leaves there: less is said
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
            trials = [t for order in orders_along(evidence, axis) for t in _trials(evidence, axis, words, order)]
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


def _trials(evidence: Evidence, axis: int, words: str, order: FoundOrder) -> Iterator[Trial]:
    """Yield an order; of one that is a shift, what explains most of the places that are free then."""
    stands_for = order.stands_for
    count, at = len(stands_for), np.argsort(stands_for)
    by = set(((at - np.arange(count)) % count).tolist())
    if len(by) > 1:
        moved = int((at != np.arange(count)).sum())
        places = f"{moved} of {count} are in other places (the model's are at {listed(at, 12)})"
        text = f"{words} are in another order: {places}"
        yield _trial(evidence, text, partial(np.take, indices=stands_for, axis=axis), order.choices)
        return
    shift = next(iter(by))
    shift -= count if 2 * shift > count else 0
    text = f"{words} are shifted by {abs(shift)} of {count} places{' towards the first' if shift < 0 else ''}"
    free = slice(0, shift) if shift > 0 else slice(count + shift, count)
    fills = list(_fills(stands_for, shift, free, axis))
    trials = [_trial(evidence, text, change, order.choices + log(len(fills))) for _, change in fills]
    there = np.isin(evidence.samples.index[axis].ravel(), np.arange(count)[free])
    left = [float(np.square(trial.left[:, there]).sum()) for trial in trials]
    best, second, *_ = np.argsort(left)
    is_clear = left[best] < _CLEAR * left[second]
    yield trials[best]._replace(text=f"{trials[best].text}, and {fills[best][0]}" if is_clear else trials[best].text)


def _fills(stands_for: np.ndarray, shift: int, free: slice, axis: int) -> Iterator[tuple[str, Change]]:
    """Yield what may be at the places that a shift frees, in words, and the change that makes it."""
    (last, beside), count = (("first", "next") if shift > 0 else ("last", "one before")), len(stands_for)
    one = f"the {last} one is" if abs(shift) == 1 else f"the {last} {abs(shift)} are"
    kept = np.clip(np.arange(count) - shift, 0, count - 1)
    yield "go on at the other end", partial(np.take, indices=stands_for, axis=axis)
    yield f"{one} like the {beside}", partial(np.take, indices=kept, axis=axis)
    yield f"{one} 0", partial(_without, indices=kept, free=free, axis=axis)


def _without(x: np.ndarray, indices: np.ndarray, free: slice, axis: int) -> np.ndarray:
    moved = np.take(x, indices, axis)
    np.moveaxis(moved, axis, 0)[free] = 0
    return moved


def _trial(evidence: Evidence, text: str, change: Change, choices: float) -> Trial:
    left = evidence.codes - evidence.predicted(np.stack([evidence.samples.of(change(r)) for r in evidence.references]))
    trial = evidence.tried("geometry", f"the maps' {text}", left)
    return trial._replace(choices=choices, answers=Changed(evidence.references, change))
