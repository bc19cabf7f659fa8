"""The memory that an array spans, as one axis: what kernels take. All that a shape and strides say is remembered."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .layout import Layout, Shape
from .storage import Storage, overlaps


class Span(NamedTuple):
    """How to come by that memory, and where in it the array lies."""

    axes: Shape | None  # in this order they are contiguous; None: in none
    mirrored: Shape  # the axes with negative strides
    copied: bool  # elements overlap, or lie between others of their size: only a copy can be walked
    start: int  # where index 0 is
    strides: Shape  # in elements; none: C order
    size: int

    def flat(self, x: np.ndarray) -> np.ndarray:
        """The memory of `x`, whose span this is: (size,), a view unless it is `copied`."""
        if self.axes is not None:
            return x.transpose(self.axes).reshape(-1)
        if self.copied:
            return np.ascontiguousarray(x).reshape(-1)
        ascending = np.flip(x, self.mirrored) if self.mirrored else x
        return np.lib.stride_tricks.as_strided(ascending, (self.size,), (x.itemsize,))


def span_of(x: np.ndarray) -> Span:
    """The span of an array of any shape and strides."""
    return span(x.shape, x.strides, x.itemsize)


@lru_cache(maxsize=1024)
def span(shape: Shape, strides: Shape, itemsize: int) -> Span:
    """The same, of arrays that lie so (strides in bytes)."""
    rank, count = len(shape), math.prod(shape)
    moving = moving_axes(shape, strides, itemsize)
    upwards = all(s >= 0 for n, s in zip(shape, strides) if n > 1)
    if moving is not None and upwards and _reach(shape, strides, itemsize) == count * itemsize:
        if moving == tuple(sorted(moving)):
            return Span(tuple(range(rank)), (), False, 0, (), count)
        axes = (*moving, *(i for i in range(rank) if i not in moving))
    else:
        axes = None
    copy = Span(None, (), True, 0, (), count)
    if any(s % itemsize or not s for n, s in zip(shape, strides) if n > 1):
        return copy
    steps = tuple(s // itemsize if n > 1 else 1 for n, s in zip(shape, strides))
    if moving is None and overlaps(shape, steps) is not False:
        return copy
    mirrored = tuple(i for i, (n, s) in enumerate(zip(shape, steps)) if n > 1 and s < 0)
    start = sum((1 - shape[i]) * steps[i] for i in mirrored)
    return Span(axes, mirrored, False, start, steps, _reach(shape, steps, 1))


def _reach(shape: Shape, strides: Shape, itemsize: int) -> int:
    """From the first element to the end of the last one; nothing where there are none."""
    return 0 if 0 in shape else itemsize + sum((n - 1) * abs(s) for n, s in zip(shape, strides))


@lru_cache(maxsize=1024)
def moving_axes(shape: Shape, strides: Shape, itemsize: int) -> Shape | None:
    """The axes of more than one element, outermost first; None where one does not lie within the next: overlapping,
    expanded and interleaved arrays. The sign of a stride has no say."""
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
    """Whether no two elements of such an array overlap, as far as strides tell."""
    return moving_axes(shape, strides, itemsize) is not None or not span(shape, strides, itemsize).copied


def bind_array(layout: Layout, shape: Shape, x: np.ndarray) -> tuple[Storage, np.ndarray]:
    """The storage of `layout` as the array `x` really lies in memory, and that memory as a flat array (of a copy
    where its elements overlap)."""
    known = span_of(x)
    return bind_span(layout, shape, x.shape, known), known.flat(x)


@lru_cache(maxsize=512)
def bind_span(layout: Layout, shape: Shape, storage_shape: Shape, span: Span) -> Storage:
    """Storage.bind of arrays with that span, remembered."""
    return Storage.bind(layout, shape, storage_shape, span.strides or None, span.start, span.size)
