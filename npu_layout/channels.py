"""Channels: the axis of a model's output whose places are quantities of their own, each of its own unit."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np

from .layout import Layout

_SHARE = 0.3  # of what varies, that the places of the last axis have to tell: maps of an object in the middle tell 0.2
_MORE = 2.0  # times what the places of axis 1 tell


def channel_axis(reference: np.ndarray) -> int | None:
    """C in the model's own letters (axis 1), or the last axis, where heads have boxes and scores beside each other:
    (1, 80, 80, 255) and (1, 3, 80, 80, 85), whose axes before it are those of a square map; and (1, 8400, 85), where
    the means of its places differ. None where there are fewer than two axes.

    reference: an output of the model, any dtype.
    """
    letters, shape = Layout.of_rank(reference.ndim).axes, reference.shape
    if "C" not in letters:
        return None
    last, usual = reference.ndim - 1, letters.index("C")
    if last > 2:
        return last if shape[-3] == shape[-2] != shape[-1] else usual
    if last == 2:
        with np.errstate(all="ignore"):
            finite = np.nan_to_num(reference.astype(np.float64), posinf=0.0, neginf=0.0)
        told = _told(finite, last)
        return last if told > max(_SHARE, _MORE * _told(finite, usual)) else usual
    return usual


def listed(items: Iterable[object], most: int = 6) -> str:
    """The first of them: "4, 5, 6, 7, 8, 9, ..." """
    shown = [str(item) for item in islice(items, most + 1)]
    return ", ".join([*shown[:most], *(["..."] if len(shown) > most else [])])


def _told(x: np.ndarray, axis: int) -> float:
    """The share of the variance that the index along `axis` tells: the component between groups of a one-way analysis
    of variance (Searle, Casella, McCulloch, Variance Components, 3.6), which is about 0 where there is only noise."""
    groups = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    count, each = groups.shape
    if count < 2 or each < 2:
        return 0.0
    within = float(groups.var(1, ddof=1).mean())
    between = max(float(groups.mean(1).var(ddof=1)) - within / each, 0.0)
    return between / (between + within) if between else 0.0
