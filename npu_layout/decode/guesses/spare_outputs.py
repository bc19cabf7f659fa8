"""Choose outputs that a head may not need, so that a guess can try the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from ...buffers import TensorSpec

_MOST, _PAIRS = 24, 40  # outputs among which some are sought, and pairs of choices


def _by_length(chosen: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return len(chosen), chosen


def spare_outputs(specs: Sequence[TensorSpec]) -> Iterator[list[tuple[int, ...]]]:
    """Yield two lists of choices of outputs to leave out, by their numbers, the smallest first in each.

    One output, or all of a kind, as sums of scores are, or the maps of a network that is decoded in a list beside
    them: those that differ in rows and columns alone, or those of as many axes; then two of these choices. No output of
    one element is left out, which says how many detections there are, and none without all others of its shape.
    """
    numbers = range(len(specs) if 1 < len(specs) <= _MOST else 0)
    kinds: dict[tuple[object, ...], list[int]] = {}
    for i in numbers:
        spec = specs[i]
        same = tuple(n for letter, n in zip(spec.axes, spec.shape) if letter not in "HW")
        for kind in ((len(spec.shape),), (len(spec.shape), same)):
            kinds.setdefault(kind, []).append(i)
    chosen = [(i,) for i in numbers] + sorted({tuple(kind) for kind in kinds.values() if len(kind) > 1}, key=_by_length)
    chosen = [one for one in chosen if _is_spare(one, specs)]
    both = {tuple(sorted({*a, *b})) for a, b in itertools.combinations(chosen, 2)} - set(chosen)
    pairs = [one for one in sorted(both, key=_by_length) if _is_spare(one, specs)][:_PAIRS]
    yield from (chosen, pairs)


def _is_spare(chosen: tuple[int, ...], specs: Sequence[TensorSpec]) -> bool:
    left_out = {tuple(specs[i].shape) for i in chosen}
    kept = {tuple(spec.shape) for i, spec in enumerate(specs) if i not in chosen}
    return bool(kept) and not left_out & kept and all(math.prod(shape) > 1 for shape in left_out)
