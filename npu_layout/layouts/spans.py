"""Find the memory range of a strided array, as one flat array for the kernels; results are cached."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .layout import Layout, Shape
from .storage import Storage, overlaps


class Span(NamedTuple):
    """How to view the memory of a strided array as a flat one, and the array's place in it."""

    axes: Shape | None  # in this order they are contiguous; None: in none
    mirrored: Shape  # the axes with negative strides
    copied: bool  # elements overlap, or are between others of their size: only a copy can be walked
    start: int  # the place of index 0
    strides: Shape  # in elements; none: C order
    size: int

    def flat(self, x: np.ndarray) -> np.ndarray:
        """Return the memory of `x`, whose span this is: (size,), a view unless it is `copied`."""
        if self.axes is not None:
            return x.transpose(self.axes).reshape(-1)
        if self.copied:
            return np.ascontiguousarray(x).reshape(-1)
        ascending = np.flip(x, self.mirrored) if self.mirrored else x
        return np.lib.stride_tricks.as_strided(ascending, (self.size,), (x.itemsize,))


def span_of(x: np.ndarray) -> Span:
    """Return the span of an array of any shape and strides."""
    return span(x.shape, x.strides, x.itemsize)


@lru_cache(maxsize=1024)
def span(shape: Shape, strides: Shape, itemsize: int) -> Span:
    """Return the span of arrays of these strides (in bytes)."""
    count = math.prod(shape)
    moving = moving_axes(shape, strides, itemsize)
    axes = _contiguous_order(shape, strides, itemsize, moving)
    if axes is not None and moving == tuple(sorted(moving or ())):
        return Span(tuple(range(len(shape))), (), False, 0, (), count)
    copy = Span(None, (), True, 0, (), count)
    if any(s % itemsize or not s for n, s in zip(shape, strides) if n > 1):
        return copy
    steps = tuple(s // itemsize if n > 1 else 1 for n, s in zip(shape, strides))
    if moving is None and overlaps(shape, steps) is not False:
        return copy
    mirrored = tuple(i for i, (n, s) in enumerate(zip(shape, steps)) if n > 1 and s < 0)
    start = sum((1 - shape[i]) * steps[i] for i in mirrored)
    return Span(axes, mirrored, False, start, steps, _reach(shape, steps, 1))


def _contiguous_order(shape: Shape, strides: Shape, itemsize: int, moving: Shape | None) -> Shape | None:
    """Return the order of all axes in which such arrays are contiguous; None if there is none."""
    upwards = all(s >= 0 for n, s in zip(shape, strides) if n > 1)
    if moving is None or not upwards or _reach(shape, strides, itemsize) != math.prod(shape) * itemsize:
        return None
    return (*moving, *(i for i in range(len(shape)) if i not in moving))


def _reach(shape: Shape, strides: Shape, itemsize: int) -> int:
    """Return the length from the first element to the end of the last one; 0 if there are none."""
    return 0 if 0 in shape else itemsize + sum((n - 1) * abs(s) for n, s in zip(shape, strides))


@lru_cache(maxsize=1024)
def moving_axes(shape: Shape, strides: Shape, itemsize: int) -> Shape | None:
    """Return the axes of more than one element, outermost first, whatever the signs of their strides.

    None if one axis does not fit within a step of the next: overlapping, expanded and interleaved arrays.
    """
    if 0 in shape:
        return ()
    steps = [abs(s) for s in strides]
    order = sorted((i for i, n in enumerate(shape) if n > 1), key=lambda i: -steps[i])
    reach = itemsize
    for axis in reversed(order):
        if steps[axis] < reach:
            return None
        reach += steps[axis] * (shape[axis] - 1)
    return tuple(order)


def distinct(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Return whether it is certain from the strides that no two elements of such an array overlap."""
    return moving_axes(shape, strides, itemsize) is not None or not span(shape, strides, itemsize).copied


def bind_array(layout: Layout, shape: Shape, x: np.ndarray) -> tuple[Storage, np.ndarray]:
    """Return the storage of `layout` as `x` really is in memory, and that memory as a flat array.

    The memory is that of a copy if elements of `x` overlap.
    """
    known = span_of(x)
    return bind_span(layout, shape, x.shape, known), known.flat(x)


@lru_cache(maxsize=512)
def bind_span(layout: Layout, shape: Shape, storage_shape: Shape, span: Span) -> Storage:
    """Return the cached Storage.bind of arrays with that span."""
    return Storage.bind(layout, shape, storage_shape, span.strides or None, span.start, span.size)
