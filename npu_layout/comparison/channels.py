"""Find the channel axis of a model's output: the axis whose indices are different quantities."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np

from ..layouts import Layout
from ..support import finite

_SHARE = 0.3  # of the variance, which the last axis has to account for; maps of a centred object reach 0.2
_WIDE = 4  # bytes of a label: ArgMax returns int64, a quantised layer 8 or 16 bits
_KEPT = (4, 5)  # axes of a map or volume of labels whose channels were last, and are one now
_SIDE = 8  # of a map of labels; boxes and keypoints have fewer numbers beside each other
_DIFFERENT, _HIGHEST = 1024, 1 << 16  # labels of a volume; sums of products have more
_NEXT = 0.5  # of the agreement that chance leaves, which labels have with the next place along each side
_MORE = 2.0  # times the variance that axis 1 accounts for


def channel_axis(reference: np.ndarray) -> int | None:
    """Return the axis of the channels of a model's output; None if it has fewer than two axes, or is a map of labels.

    It is axis 1 (C in the model's order), or the last axis if that has boxes and scores beside each other. That is so
    if the means of its indices differ, as in (1, 8400, 85), or if the axes before it are those of a square map and the
    means along axis 1 do not differ more, as in (1, 80, 80, 255) and (1, 3, 80, 80, 85). What an ArgMax makes of maps,
    (1, 80, 80) or (1, 80, 80, 1) whole numbers of 32 bits or more, none below 0, has rows there, and no channels. What
    it makes of volumes, (1, 64, 80, 80), has slices there: at most 1,024 different numbers, which mostly repeat along
    slices, rows and columns, beyond what chance repeats. Channels do not repeat each other. Similar frames, gray or of
    depths, do, but their rows and columns do not repeat: that is below 0.5 of what chance leaves there, in
    photographs of 32 to 400 pixels 0.01 to 0.45. Labels of 2 to 1,000 classes, in regions of some 100 places or more,
    have 0.6 to 0.98.

    reference: an output of the model, an array of any dtype.
    """
    letters, shape, last = Layout.of_rank(reference.ndim).axes, reference.shape, reference.ndim - 1
    if "C" not in letters or _are_labels(reference):
        return None
    usual = letters.index("C")
    if last < 2 or 0 in shape or (last > 2 and not shape[-3] == shape[-2] != shape[-1]):
        return usual
    here, there = (_between(finite(reference), axis) for axis in (last, usual))
    return last if (here >= there if last > 2 else here > max(_SHARE, _MORE * there)) else usual


def _are_labels(reference: np.ndarray) -> bool:
    """Whether an output is a map or volume with one whole number in each place, and not the integers of channels."""
    kept = reference.ndim in _KEPT and reference.shape[-1] == 1
    sides = reference.shape[1:-1] if kept else reference.shape[1:]
    if not 2 <= len(sides) <= 3 or min(sides) < _SIDE:
        return False
    if reference.dtype.kind not in "iu" or reference.dtype.itemsize < _WIDE or reference.min(initial=0) < 0:
        return False  # sums of 8-bit products are below 0, too
    return len(sides) == 2 or _are_regions(reference)


def _are_regions(volume: np.ndarray) -> bool:
    """Whether few whole numbers are mostly the same at the next place along axes 1, 2 and 3 (Cohen's kappa)."""
    if not volume.size or volume.max() >= _HIGHEST:
        return False
    share = np.bincount(volume.ravel().astype(np.int64)) / volume.size
    if np.count_nonzero(share) > _DIFFERENT:
        return False
    chance = float(share @ share)
    sides = (np.moveaxis(volume, axis, 0) for axis in (1, 2, 3))
    return all(float((side[1:] == side[:-1]).mean()) - chance > _NEXT * (1 - chance) for side in sides)


def listed(items: Iterable[object], most: int = 6) -> str:
    """Return the first of them as text.

    >>> listed(range(4, 20))
    '4, 5, 6, 7, 8, 9, ...'
    """
    shown = [str(item) for item in islice(items, most + 1)]
    return ", ".join([*shown[:most], *(["..."] if len(shown) > most else [])])


def _between(x: np.ndarray, axis: int) -> float:
    """Return the share of the variance that the index along `axis` accounts for.

    The ANOVA estimate of the component between groups, (mean square between - within) / count, which is about 0 if
    there is only noise.
    """
    groups = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1).astype(np.float64, copy=False)
    count, each = groups.shape
    if count < 2 or each < 2:
        return 0.0
    within = float(groups.var(1, ddof=1).mean())
    between = max(float(groups.mean(1).var(ddof=1)) - within / each, 0.0)
    return between / (between + within) if between else 0.0
