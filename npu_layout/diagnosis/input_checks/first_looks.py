"""Look at some values of an input first: what differs too much there differs too much, whatever the others are.

The squares of some differences add up to no more than those of all. So what is refused by some values would be refused
by all, and nothing that is named depends on which were looked at.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .input_changes import Change
from .input_pairs import FrameInput, InputPair

_EVERY = (6, 2)  # every sixth row and column, then every second
_FEWEST = 1024  # values of a look: fewer cost as much as all
_MARGIN = 4  # rows and columns at each end that are not looked at: changes that move a picture do not count there
_ROUNDING = 1e-5  # of a sum of squares in float32


def is_near(pair: InputPair, made: FrameInput, change: Change, most: float) -> bool:
    """Whether what a change made of a pair differs from what was recorded by no more than `most` steps."""
    for look in _looks(pair.spec.axes, pair.spec.shape):
        if pair.power_at(made, look) > most**2 * pair.recorded.size * (1 + _ROUNDING):
            return False
    return pair.off(made.values, where=change.where) <= most


@lru_cache(maxsize=64)
def _looks(axes: str, shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Return the places of each look at an input."""
    if min(shape[axes.index(letter)] for letter in "HW") <= 2 * _MARGIN:
        return []
    looks = [
        tuple(slice(_MARGIN, -_MARGIN, every) if letter in "HW" else slice(None) for letter in axes) for every in _EVERY
    ]
    return [look for look in looks if np.empty(shape, np.bool_)[look].size >= _FEWEST]
