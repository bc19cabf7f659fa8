"""Count the cells of an input: of a stride, and of the levels of a head with their anchors."""

from __future__ import annotations

from collections.abc import Sequence

from .head import Head

Grid = tuple[int, int]  #: rows, columns


def grid_of(size: Sequence[int], stride: int) -> Grid:
    """Return rows and columns of cells with `stride` pixels a side; the last ones may be beyond the input in part."""
    height, width = size
    return -(-height // stride), -(-width // stride)


def grids_of(head: Head, size: Sequence[int]) -> list[Grid]:
    """Return rows and columns of each level of a head, for an input of this height and width."""
    return [grid_of(size, stride) for stride in head.strides]


def anchor_counts(head: Head) -> list[int]:
    """Return how many anchors a cell of each level has, 1 or more."""
    return [max(1, len(level)) for level in head.anchors] or [1] * len(head.strides)


def cells_of(head: Head, size: Sequence[int]) -> int:
    """Return how many anchors the cells of all levels of a head have, for an input of this height and width."""
    return sum(rows * columns * many for (rows, columns), many in zip(grids_of(head, size), anchor_counts(head)))
