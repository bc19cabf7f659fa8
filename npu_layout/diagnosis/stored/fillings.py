"""List the layouts that a buffer of a given size may have: dense, with a gap at the end, or with one longer pitch.

Offsets are linear in i // b and i % b of each index i, so one matrix product computes those of all fillings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...layouts import FASTEST_FIRST, NAMED, Layout

BLOCKS = (2, 4, 8, 16, 32, 64)
_EACH = 1 + 2 * len(BLOCKS)  # features of one axis
_FEW_AXES = 4


class Filling(NamedTuple):
    """A layout in a buffer, with its strides in elements.

    The strides are given for each storage dimension, and for each axis as (block, stride of i // block, stride of
    i % block).
    """

    layout: Layout
    axes: tuple[tuple[int, int, int], ...]
    strides: tuple[int, ...]


@lru_cache(maxsize=16)
def _layouts(letters: str, shape: tuple[int, ...]) -> tuple[Layout, ...]:
    """Return every axis order, plain and with one blocked axis, and named layouts; axes of length 1 come first."""
    named = (e.tag.format(block=e.block or 16) for e in NAMED.values() if e.tag.count("{") == 0)
    made = {}
    for tag in dict.fromkeys(itertools.chain(_tags(letters, shape), named)):
        if tag in FASTEST_FIRST:  # a vendor's tag with another meaning
            made[tag] = Layout.plain(tag)
        elif set(filter(str.isupper, tag)) == set(letters):
            made[tag] = Layout(tag, letters)
    return tuple(made.values())


def _tags(letters: str, shape: tuple[int, ...]) -> Iterator[str]:
    """Yield the tags of all axis orders, plain ones first, then with each axis in blocks of each size."""
    active = [letter for letter, n in zip(letters, shape) if n > 1]
    idle = [letter for letter, n in zip(letters, shape) if n == 1]
    yield from ("".join([*idle, *order]) for order in itertools.permutations(active))
    for letter in letters:
        front = [k for k in idle if k != letter]
        moved = [letter, *active] if letter in idle else active
        for block in BLOCKS:
            for order in itertools.permutations(moved):
                yield "".join([*front, *order]) + f"{block}{letter.lower()}"


def fillings(shape: tuple[int, ...], letters: str, size: int) -> Iterator[Filling]:
    """Yield every layout of axes `letters` as it fills `size` elements."""
    for layout in _layouts(letters, shape):
        mine = [letters.index(layout.axes[dim.axis]) for dim in layout.dims]
        blocks = [(dim.block, axis) for dim, axis in zip(layout.dims, mine)]
        if any(sum(block > 1 for block, a in blocks if a == axis) > 1 for axis in mine):
            continue  # two blocks of one axis: only weights have these, not outputs
        inner = [math.prod(block for block, a in blocks if block and a == axis) for axis in mine]
        extents = [block or -(-shape[axis] // n) for (block, axis), n in zip(blocks, inner)]
        for strides in _pitched(extents, size):
            axes = [(1, 0, 0)] * len(shape)
            for (block, axis), n, stride in zip(blocks, inner, strides):
                _, outer, within = axes[axis]
                axes[axis] = (n, outer, stride) if block else (n, stride, within)
            yield Filling(layout, tuple(axes), strides)


def _pitched(extents: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Yield the strides of storage dimensions: dense, then with each pitch that fills the buffer."""
    natural = tuple(math.prod(extents[i + 1 :]) for i in range(len(extents)))
    total = math.prod(extents)
    if total > size:
        return
    yield natural
    for i in range(len(extents) - 1 if total < size else 0):  # the innermost elements have no gaps
        pitch, rest = divmod(size, math.prod(extents[: i + 1]))
        if rest or pitch == natural[i] or extents[i] == 1:
            continue
        yield (*(pitch * math.prod(extents[k + 1 : i + 1]) for k in range(i + 1)), *natural[i + 1 :])


def features(index: np.ndarray) -> np.ndarray:
    """Return for each sample and axis: i, and i // b and i % b for every block."""
    columns = []
    for i in index.T:
        columns.append(i)
        for block in BLOCKS:
            columns += [i // block, i % block]
    return np.stack(columns, 1).astype(np.float64)


def places(index: np.ndarray, shape: tuple[int, ...], moves: np.ndarray) -> np.ndarray:
    """Return the offset of each sample in each filling, (fillings, samples), given the strides of the features.

    The part of an offset that an axis has is worked out once for each index of a short axis.
    """
    found = np.zeros((moves.shape[1], len(index)), np.int64)
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        short, own = extent < len(index), index[:, axis]
        each = features(np.arange(extent)[:, None] if short else own[:, None])
        parts = (moves[axis * _EACH : (axis + 1) * _EACH].T @ each.T).astype(np.int64)
        found += parts.take(own, 1) if short else parts
    return found


def weighted(shape: tuple[int, ...], letters: str, size: int) -> tuple[tuple[Filling, ...], np.ndarray]:
    """Return all fillings, and the stride in elements of each feature in each of them."""
    return (_of_few_axes if len(shape) <= _FEW_AXES else _of_many_axes)(shape, letters, size)


def _weighted(shape: tuple[int, ...], letters: str, size: int) -> tuple[tuple[Filling, ...], np.ndarray]:
    orders = tuple(fillings(shape, letters, size))
    return orders, weights(orders, len(shape))


_of_few_axes = lru_cache(maxsize=24)(_weighted)  # a buffer has one for each size of elements: up to 1 MB each
_of_many_axes = lru_cache(maxsize=4)(_weighted)  # of six axes each has 100 MB


def weights(orders: Sequence[Filling], rank: int) -> np.ndarray:
    """Return the stride in elements of each feature in each filling."""
    moves = np.zeros((rank * _EACH, len(orders)))
    for k, order in enumerate(orders):
        for axis, (block, outer, inner) in enumerate(order.axes):
            at = axis * _EACH
            if block > 1:
                at += 1 + 2 * BLOCKS.index(block)
                moves[at + 1, k] = inner
            moves[at, k] = outer
    return moves
