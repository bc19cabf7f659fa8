"""Explain whether a reshape is a view or a copy, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import LayoutError
from ..layouts import Shape
from ..support import array_of, integers


def why_copy(x: np.ndarray, shape: Any) -> str:
    """Explain in a sentence whether ``x.reshape(shape)`` is a view or a copy, and which axis makes it a copy.

    numpy can merge two neighbouring axes without a copy if one step of the outer axis is as long as the whole inner
    axis: outer stride = inner extent * inner stride. Splitting axes, and adding or dropping axes of extent 1, never
    copies.

    Parameters
    ----------
    x
        Any array; the sentence names a Tensor's axes by their letters too.
    shape
        As for reshape: an int or ints, of which one may be -1.

    Returns
    -------
    A sentence that begins with "view:" or "copy:". Its strides are in elements, or in bytes if they are not whole
    elements.

    Raises
    ------
    NpuLayoutError, LayoutError
        If x is no array, or `shape` has another number of elements.

    Examples
    --------
    >>> x = np.zeros((3, 4))
    >>> why_copy(x, 12)
    'view: (3, 4) -> (12,) merges only axes that run on into each other in memory'
    >>> why_copy(x.T, 12)  # doctest: +NORMALIZE_WHITESPACE
    'copy: (4, 3) -> (12,) merges axes 0 and 1, but a step along axis 0 is 1 element and all 3 of axis 1 take 12
     (3 x 4)'
    """
    array = array_of(x, "why_copy: x")
    target = _target(array, shape)
    head = f"{array.shape} -> {target}"
    if not array.size:
        return f"view: {head} moves nothing, there are no elements"
    kept = [(i, n, s) for i, (n, s) in enumerate(zip(array.shape, array.strides)) if n != 1]
    merges = 0
    for first, last in _groups([n for _, n, _ in kept], [n for n in target if n != 1]):
        merges += last - first - 1
        for (i, _, step), (j, extent, inner) in zip(kept[first:last], kept[first + 1 : last]):
            if step != extent * inner:
                return f"copy: {head} {_gap(x, i, j)}"
    if merges:
        return f"view: {head} merges only axes that run on into each other in memory"
    return f"view: {head} merges no axes"


def _gap(x: np.ndarray, outer: int, inner: int) -> str:
    """Return why two axes cannot be merged: a step along the outer one is not as long as the whole inner one."""
    size, step, next_step, extent = x.itemsize, x.strides[outer], x.strides[inner], x.shape[inner]
    unit = "element"
    if step % size or next_step % size:
        unit, size = "byte", 1
    letters = getattr(getattr(x, "_layout", None), "axes", None)
    first, second = (f"{outer} ({letters[outer]})", f"{inner} ({letters[inner]})") if letters else (outer, inner)
    step, next_step = step // size, next_step // size
    return (
        f"merges axes {first} and {second}, but a step along axis {first} is {step} {unit}{'s' * (abs(step) != 1)} "
        f"and all {extent} of axis {second} take {extent * next_step} ({extent} x {next_step})"
    )


def _target(x: np.ndarray, shape: Any) -> Shape:
    one = not isinstance(shape, (tuple, list))
    extents = [*integers("shape", (shape,) if one else shape, "an int or ints", LayoutError)]
    known = math.prod(n for n in extents if n != -1)
    if extents.count(-1) == 1 and known > 0 and x.size % known == 0:
        extents[extents.index(-1)] = x.size // known
    if any(n < 0 for n in extents) or math.prod(extents) != x.size:
        raise LayoutError(f"shape {shape}: expected {x.size} elements, as the array x of shape {x.shape} has")
    return tuple(extents)


def _groups(old: list[int], new: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the shortest runs old[first:last] that have as many elements as a run of `new`."""
    first, at = 0, 0
    while first < len(old):
        last, have, want = first + 1, old[first], new[at]
        at += 1
        while have != want:
            if have < want:
                have *= old[last]
                last += 1
            else:
                want *= new[at]
                at += 1
        yield first, last
        first = last
