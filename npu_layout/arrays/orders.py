"""The order of an array's axes in memory: read it from strides, and bring an array into another.

The axes of the array are the logical axes of the layout, such as (N,C,H,W), whatever their order in memory; a plain
layout is one order of them, outermost first. An axis of extent 1 fits anywhere, so that several layouts may fit one
array.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Callable, NamedTuple

import numpy as np

from ..errors import LayoutError, NpuLayoutError
from ..layouts import (
    FASTEST_FIRST,
    Layout,
    LayoutLike,
    Plan,
    Shape,
    Span,
    Storage,
    as_layout,
    bind_span,
    moving_axes,
    plan_move,
    span_of,
)
from ..support import array_of, checked_call, integers, shown

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NAMED_RANKS = 5  # above, axes are only letters, and an axis of extent 1 gets one place


class AxisOrder(NamedTuple):
    """A plain layout as arguments of numpy's transpose."""

    layout: Layout
    stored: Shape  # from logical axes to stored ones, outermost first
    back: Shape  # from stored axes to logical ones


def axis_order(layout: LayoutLike) -> AxisOrder:
    """Return the order of a plain layout. LayoutError for a blocked one, which no strides can express."""
    if not isinstance(layout, (str, Layout)):
        raise LayoutError(f"layout: expected a tag such as 'NHWC' or a Layout, got {shown(layout)}")
    return _axis_order(layout)


@lru_cache(maxsize=512)
def _axis_order(layout: LayoutLike) -> AxisOrder:
    known = as_layout(layout)
    if known.is_blocked:
        split = next(known.axes[dim.axis] for dim in known.dims if dim.block)
        raise LayoutError(
            f"layout {known} is blocked: axis {split} has no single stride, so that no array with the axes "
            f"{known.axes} can have it; expected a plain layout such as NHWC, or use TensorSpec(shape, "
            f"{str(known)!r}), whose pack and unpack move it"
        )
    stored = tuple(dim.axis for dim in known.dims)
    return AxisOrder(known, stored, tuple(stored.index(i) for i in range(len(stored))))


def check_rank(what: str, shape: Shape, order: AxisOrder) -> None:
    """Raise LayoutError that names the argument `what` if a shape has another number of axes than the order."""
    if len(shape) != len(order.stored):
        raise LayoutError(
            f"{what}: layout {order.layout} has {len(order.stored)} axes ({order.layout.axes}), "
            f"got a shape with {len(shape)}: {shape}"
        )


def _extents(shape: Any, order: AxisOrder) -> Shape:
    checked = integers(f"shape of layout {order.layout}", shape, error=LayoutError)
    if any(n < 0 for n in checked):
        raise LayoutError(f"shape of layout {order.layout}: every extent must be 0 or more, got {checked}")
    check_rank("shape", checked, order)
    return checked


def strides(shape: Sequence[int], layout: LayoutLike) -> Shape:
    """Return the strides of a contiguous array in `layout`.

    Parameters
    ----------
    shape
        Logical shape, in the order of the layout's axes; extents of 0 count as 1 here.
    layout
        A plain tag or Layout, of any rank.

    Returns
    -------
    One stride for each logical axis, in elements; multiply by the itemsize for numpy's strides in bytes.

    Raises
    ------
    LayoutError
        On a blocked layout, and on a shape of another rank.

    Examples
    --------
    >>> strides((1, 64, 5, 4), "NCHW"), strides((1, 64, 5, 4), "NHWC")
    ((1280, 20, 4, 1), (1280, 1, 256, 64))
    """
    order = axis_order(layout)
    extents = _extents(shape, order)
    result, step = [0] * len(extents), 1
    for axis in reversed(order.stored):
        result[axis] = step
        step *= max(extents[axis], 1)
    return tuple(result)


def is_contiguous(x: np.ndarray, layout: LayoutLike) -> bool:
    """Return whether the elements of `x`, taken in the order of `layout`, are contiguous in memory.

    x: array of any dtype with the layout's logical axes. The strides of axes of extent 1 are ignored, and an array
    without elements is contiguous in every layout, as in numpy's own flags. Raises LayoutError on a blocked layout and
    on another rank, NpuLayoutError if x is no array.

    >>> is_contiguous(np.zeros((1, 5, 4, 64)).transpose(0, 3, 1, 2), "NHWC")
    True
    """
    order = axis_order(layout)
    array = array_of(x, "is_contiguous: x")
    check_rank("x", array.shape, order)
    return array.transpose(order.stored).flags.c_contiguous


def empty(shape: Sequence[int], dtype: Any, layout: LayoutLike) -> np.ndarray:
    """Return an array of logical `shape`, not initialised, that is contiguous in `layout`.

    dtype: any dtype of numpy. The result is a plain array; ``Tensor(empty(...), layout)`` carries the layout. Raises
    LayoutError on a blocked layout, on a shape that is too large or of another rank, and on what is no dtype.

    >>> empty((10, 3, 32, 32), "float32", "NHWC").strides
    (12288, 4, 384, 12)
    """
    order = axis_order(layout)
    return empty_in(_extents(shape, order), dtype, order)


def empty_in(shape: Shape, dtype: Any, order: AxisOrder) -> np.ndarray:
    """Return the same for a checked shape and an order."""
    try:
        stored = np.empty(tuple(map(shape.__getitem__, order.stored)), dtype)
    except (TypeError, ValueError) as error:
        raise LayoutError(
            f"empty array of layout {order.layout}, shape {shape} and dtype {shown(dtype)}: {error}"
        ) from None
    return stored.transpose(order.back)


def follows(x: np.ndarray, order: AxisOrder) -> bool:
    """Return whether the axes of `x` are in that order in memory; gaps and negative strides are allowed."""
    moving = moving_axes(x.shape, x.strides, x.itemsize)
    return moving is not None and moving == tuple(i for i in order.stored if i in moving)


def letters_of(x: np.ndarray, axes: str | None) -> str:
    """Return the letters of the axes of `x`: those given, or the usual ones of its rank. LayoutError on others."""
    try:
        letters = Layout.of_rank(x.ndim).axes if axes is None else axis_order(axes).layout.tag
    except LayoutError as error:
        raise LayoutError(f"axes: {error}" if axes is not None else f"x: {error}") from None
    if len(letters) != x.ndim:
        raise LayoutError(f"axes {letters}: expected one letter for each axis of x, an array of shape {x.shape}")
    return letters


@checked_call
def fitting_formats(x: np.ndarray, axes: str | None = None) -> tuple[Layout, ...]:
    """Return every plain layout whose order of axes is that of `x` in memory, the usual ones first.

    Parameters
    ----------
    x
        Any array. Gaps (a slice of a larger array) and negative strides (a flipped one) do not change the order;
        :func:`is_contiguous` reports whether there are any.
    axes
        The letters of its axes; default: N, NC, NCW, NCHW, NCDHW by rank, then A B C ...

    Returns
    -------
    One layout; several if extents of 1 leave the order open (all of them if x has no elements); none if axes are not
    nested in memory: overlapping, expanded (stride 0) or interleaved. Above 5 axes, an axis of extent 1 counts as
    stored right inside the axis before it. A column-major (N,C,H,W) array is ``Layout("DCBA", axes="ABCD")``, because
    vendors read the tag WHCN the other way round.

    Raises
    ------
    NpuLayoutError, LayoutError
        If x is no array, and if axes do not fit it; above 26 axes there are no letters.

    Examples
    --------
    >>> fitting_formats(np.zeros((4, 1, 4, 4)))
    (Layout('NCHW'), Layout('NHWC'), Layout('NHCW'), Layout('CNHW'))
    >>> fitting_formats(np.zeros((4, 3), order="F")), fitting_formats(np.broadcast_to(0.0, (4, 3)))
    ((Layout('CN'),), ())
    """
    array = array_of(x, "fitting_formats: x")
    letters = letters_of(array, axes)
    return tuple(layout for group in fitting_groups(array, letters) for layout in group)


def fitting_groups(x: np.ndarray, axes: str) -> tuple[tuple[Layout, ...], ...]:
    """Return them in up to three groups: channels first and last, others with the batch outermost, the rest."""
    return _groups(axes, moving_axes(x.shape, x.strides, x.itemsize))


def fitting_best(shape: Shape, strides: Shape, itemsize: int, axes: str) -> Layout | None:
    """Return the layout of an array with these axes and strides; None if several fit equally well, or none does."""
    groups = _groups(axes, moving_axes(shape, strides, itemsize))
    return groups[0][0] if groups and len(groups[0]) == 1 else None


@lru_cache(maxsize=512)
def _groups(axes: str, moving: Shape | None) -> tuple[tuple[Layout, ...], ...]:
    if moving is None or not axes:
        return ()
    rank = len(axes)
    if rank > _NAMED_RANKS:
        order = list(moving)
        for i in sorted(set(range(rank)) - set(moving)):
            order.insert(order.index(i - 1) + 1 if i else 0, i)
        return ((_layout(order, axes),),)
    usual = (axes, axes.replace("C", "") + "C" if "C" in axes else axes)
    groups: tuple[list[Layout], ...] = ([], [], [])
    for places in itertools.permutations(range(rank)):
        if tuple(i for i in places if i in moving) == moving:
            tag = "".join(axes[i] for i in places)
            groups[0 if tag in usual else 1 if tag[0] == axes[0] == "N" else 2].append(_layout(places, axes))
    return tuple(tuple(group) for group in groups if group)


def _layout(order: Sequence[int], axes: str) -> Layout:
    if "".join(axes[i] for i in order) in FASTEST_FIRST:
        axes = _ALPHABET[: len(axes)]
    return Layout("".join(axes[i] for i in order), axes)


_repack_watcher: Callable[[np.ndarray, np.ndarray], None] | None = None


def watch_repacks(watcher: Callable[[np.ndarray, np.ndarray], None] | None) -> None:
    """Call `watcher(x, result)` after every `arranged`, until this is called with None.

    This is how a tracker learns of repacks; there is one watcher at a time.
    """
    global _repack_watcher
    _repack_watcher = watcher


def arranged(x: np.ndarray, order: AxisOrder, copy: bool | None = None) -> np.ndarray:
    """Return the plain array `x` contiguous in that order, with the strides of `strides`; `copy`: see asformat."""
    check_rank("x", x.shape, order)
    stored = x.transpose(order.stored)
    if copy is not True and stored.flags.c_contiguous:
        if not x.size or x.strides == tuple(s * x.itemsize for s in strides(x.shape, order.layout)):
            result = x
        else:
            result = stored.reshape(-1).reshape(stored.shape).transpose(order.back)
    elif copy is False:
        raise NpuLayoutError(
            f"array of shape {x.shape} and strides {x.strides} (bytes) is not contiguous in layout {order.layout}: "
            f"copy=False, but a copy is needed"
        )
    else:
        target = np.empty(stored.shape, x.dtype)
        known = span_of(x) if x.size and x.itemsize and not x.dtype.hasobject else None
        if known is None or known.copied:
            np.copyto(target, stored)
        else:
            _move(order.layout, x.shape, known, x.itemsize).run(known.flat(x), target.reshape(-1))
        result = target.transpose(order.back)
    watcher = _repack_watcher  # another thread may remove it
    if watcher is not None:
        watcher(x, result)
    return result


@lru_cache(maxsize=512)
def _move(layout: Layout, shape: Shape, known: Span, itemsize: int) -> Plan:
    """Return the plan from an array's memory to `layout`."""
    source = bind_span(Layout.plain(layout.axes), shape, shape, known)
    return plan_move(source, Storage.bind(layout, shape), f"V{itemsize}", f"V{itemsize}")
