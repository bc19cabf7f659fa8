"""Read anchors as other code lists them, and refuse those that are shares or cells, or of the levels in reverse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import NpuLayoutError
from ...support import iterates, real_numbers

_ENOUGH = 9  # anchors, of which each is smaller than those of smaller strides: no chance
_Levels = tuple[tuple[tuple[float, float], ...], ...]


def anchors_for(strides: tuple[int, ...], given: Any, published: Mapping[tuple[int, ...], Any]) -> Any:
    """Return the anchors of each stride: those given, in pairs, or if that is None the published ones.

    Given are pairs for each stride, or numbers for each stride (yaml files of ultralytics). What is none of them is
    returned as it is, and a Head refuses it: one row of numbers, as in cfg files of Darknet, does not say which masks
    the strides have. NpuLayoutError on numbers that are no pixels, or in the order of other strides.
    """
    if given is None:
        return anchors_of(strides, published)
    given = list(given) if isinstance(given, Iterator) else given
    levels = _paired(given, len(strides))
    if levels is None:
        return given
    _check(strides, levels)
    return levels


def _paired(given: Any, count: int) -> _Levels | None:
    """Return a pair for each anchor of `count` levels; None if that is not what `given` can be."""
    if isinstance(given, (str, bytes, Mapping)) or not iterates(given):
        return None
    rows = list(given)
    if len(rows) != count:
        return None
    levels = []
    for level in map(real_numbers, rows):
        if level is None or not level.size or level.size % 2 or (level.ndim != 1 and level.shape[1:] != (2,)):
            return None
        levels.append(tuple((float(w), float(h)) for w, h in level.reshape(-1, 2).tolist()))
    return tuple(levels)


def _check(strides: tuple[int, ...], levels: _Levels) -> None:
    """Raise NpuLayoutError on anchors that cannot be pixels of these strides."""
    sides = [np.array(level) for level in levels]
    anyway = "if they are meant, dataclasses.replace(head, anchors=...) takes them"
    if max(side.max() for side in sides) <= 1:
        raise NpuLayoutError(
            f"anchors: expected width and height in pixels, got numbers up to {max(side.max() for side in sides):g}: "
            f"shares of the input have to be multiplied by its width and height; {anyway}"
        )
    if len(strides) > 2 and all(side.max() < stride for side, stride in zip(sides, strides)):
        raise NpuLayoutError(
            f"anchors: expected width and height in pixels, got no number as large as the stride of its level, "
            f"{', '.join(map(str, strides))}: cells have to be multiplied by the stride (the model that "
            f"ultralytics loads has them in cells); {anyway}"
        )
    areas = [side.prod(1) for _, side in sorted(zip(strides, sides), key=lambda pair: pair[0])]
    reverse = len(areas) > 1 and all(later.max() < earlier.min() for earlier, later in zip(areas, areas[1:]))
    if reverse and sum(area.size for area in areas) >= _ENOUGH:
        raise NpuLayoutError(
            f"anchors: expected them in the order of the strides {', '.join(map(str, strides))}, got smaller ones for "
            f"larger strides: give strides= or anchors= in the reverse order; {anyway}"
        )


def anchors_of(strides: tuple[int, ...], published: Mapping[tuple[int, ...], Any]) -> tuple[Any, ...]:
    """Return the published anchors of the strides, in their order; NpuLayoutError if there are none."""
    return of_strides("anchors: expected width and height in pixels of some", strides, published)


def of_strides(what: str, strides: Sequence[int], published: Mapping[tuple[int, ...], Any]) -> tuple[Any, ...]:
    """Return what is published for each of the strides, in their order; NpuLayoutError if there is nothing."""
    ordered = tuple(sorted(strides))
    if ordered not in published:
        known = " and for ".join(", ".join(map(str, each)) for each in published)
        raise NpuLayoutError(
            f"{what} for each of the strides {', '.join(map(str, strides))}; those that are published are for {known}"
        )
    each = dict(zip(ordered, published[ordered]))
    return tuple(each[stride] for stride in strides)
