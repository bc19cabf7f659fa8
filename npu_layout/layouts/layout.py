"""Describe the order of a tensor's elements in memory by a tag such as ``NCHW16c``.

A storage order splits some axes into (outer part, inner block), pads the outer part to whole blocks and permutes the
parts.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Union

import numpy as np

from ..errors import LayoutError
from ..support import checked_call, integers, shown, whole_number
from .tags import Dim, dimensions, letters_of
from .vendor_names import BY_RANK, FASTEST_FIRST, lists_vendor_names, resolve_name

Shape = tuple[int, ...]

_AXES = re.compile("[A-Z]*")


def check_extents(what: str, extents: Sequence[Any]) -> Shape:
    """Return `extents` as a tuple of positive ints, or raise LayoutError."""
    shape = integers(what, extents, error=LayoutError)
    if any(n < 1 for n in shape):
        raise LayoutError(f"{what}: every extent must be 1 or more, got {shape}")
    return shape


def c_strides(shape: Sequence[int]) -> Shape:
    """Return the strides, in elements, of a C-contiguous array of `shape`."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


@dataclass(frozen=True, init=False, repr=False)
class Layout:
    """A storage order, described by its tag. Frozen, hashable; ``str()`` returns the tag.

    Parameters
    ----------
    tag
        The order in memory, outermost first. An upper-case letter is an axis, or what remains of it after its blocks;
        a number with a lower-case letter is an inner block of that axis. Any letters, any number of axes.
    axes
        The logical order of the axes, if it is not the default: N C D H W for tags made of those letters
        (whatever the tag's own order), else the order of the tag's upper-case letters.

    Raises
    ------
    LayoutError
        On a tag that cannot be read, and on WHCN and CWHN, which vendors list fastest first (see :meth:`named`).

    Examples
    --------
    >>> layout = Layout("NCHW16c")
    >>> layout.axes, layout.storage_shape((1, 57, 46, 46))
    ('NCHW', (1, 4, 46, 46, 16))
    >>> layout.offset((1, 57, 46, 46), 0, 17, 2, 3)
    35377
    """

    tag: str
    axes: str

    @checked_call
    def __init__(self, tag: str, axes: str | None = None) -> None:
        if not isinstance(tag, str):
            raise LayoutError(f"layout: expected a tag such as 'NCHW' or 'NCHW16c', got {shown(tag)}")
        if tag in FASTEST_FIRST:
            raise LayoutError(
                f"layout {tag!r}: vendors list these axes fastest first; use Layout.named({tag!r}), "
                f"which is {FASTEST_FIRST[tag]} memory"
            )
        if axes is not None and not isinstance(axes, str):
            raise LayoutError(
                f"layout {tag!r}: axes must be an order of the letters {letters_of(tag)!r}, got {shown(axes)}"
            )
        order, dims = dimensions(tag, axes)
        object.__setattr__(self, "tag", tag)
        object.__setattr__(self, "axes", order)
        object.__setattr__(self, "_dims", dims)

    @staticmethod
    def plain(axes: str) -> Layout:
        """Return the C-order layout of a tensor with the logical `axes`, outermost first, even if they spell WHCN.

        Raises LayoutError if `axes` is anything but upper-case letters, each of them once.
        """
        if not isinstance(axes, str) or not _AXES.fullmatch(axes) or len(set(axes)) < len(axes):
            raise LayoutError(
                f"axes: expected upper-case letters, each of them once, such as 'NCHW', got {shown(axes)}"
            )
        return _plain(axes)

    @staticmethod
    def of_rank(rank: int) -> Layout:
        """Return the C-order layout of a tensor with unnamed axes: N, NC, NCW, NCHW, NCDHW, beyond that A B C ...

        Raises LayoutError if `rank` is not 0 to 26.

        >>> Layout.of_rank(3).axes, Layout.of_rank(6).axes
        ('NCW', 'ABCDEF')
        """
        axes = rank if type(rank) is int else whole_number("rank", rank)
        if not 0 <= axes <= 26:
            raise LayoutError(f"rank: layout of {axes} axes: expected 0 to 26, one letter for each axis")
        return _of_rank(axes)

    def __str__(self) -> str:
        return self.tag

    def __repr__(self) -> str:
        if self._is_refused_as_tag:
            return f"Layout.plain({self.tag!r})"
        default = Layout(self.tag).axes == self.axes
        return f"Layout({self.tag!r})" if default else f"Layout({self.tag!r}, axes={self.axes!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        kind = type(self)
        return (kind.plain, (self.tag,)) if self._is_refused_as_tag else (kind, (self.tag, self.axes))

    @property
    def _is_refused_as_tag(self) -> bool:
        """Whether only `plain` makes it: of no axes, or of axes that spell WHCN or CWHN."""
        return not self.tag or self.tag in FASTEST_FIRST

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The storage dimensions, outermost first, as records of axis, step and block; every conversion reads them."""
        return self._dims  # type: ignore[attr-defined, no-any-return]

    @property
    def letters(self) -> str:
        """The axes in storage order, blocks left out: ``NCHW`` for ``NCHW16c``."""
        return "".join(self.axes[dim.axis] for dim in self.dims if not dim.block)

    @property
    def is_blocked(self) -> bool:
        """Whether any axis is split into blocks."""
        return any(dim.block for dim in self.dims)

    def check_shape(self, shape: Sequence[int]) -> Shape:
        """Return the logical `shape` (in `axes` order) as a tuple, or raise LayoutError."""
        checked = check_extents(f"shape of layout {self}", shape)
        if len(checked) != len(self.axes):
            raise LayoutError(
                f"layout {self} has {len(self.axes)} axes ({self.axes}), got a shape with {len(checked)}: {checked}"
                + (self._stored_words(checked) or _usual_words(len(checked)))
            )
        return checked

    def _stored_words(self, shape: Shape) -> str:
        """Return the end of a message on a storage shape that was given as the logical one; empty if it is none."""
        if len(shape) != len(self.dims) or any(dim.block not in (0, n) for dim, n in zip(self.dims, shape)):
            return ""
        full = [math.prod(n for dim, n in zip(self.dims, shape) if dim.axis == axis) for axis in range(len(self.axes))]
        return f"; it is the storage shape of {tuple(full)}, padding included: expected the extents that are used"

    def storage_shape(self, shape: Sequence[int]) -> Shape:
        """Return the shape of the C array that stores a tensor of logical `shape`, padding included.

        Raises LayoutError on a shape that does not fit the layout.

        >>> Layout("NHCW8w").storage_shape((1, 3, 5, 13))
        (1, 5, 3, 2, 8)
        """
        checked = self.check_shape(shape)
        return tuple(dim.block or -(-checked[dim.axis] // dim.step) for dim in self.dims)

    def size(self, shape: Sequence[int]) -> int:
        """Return how many elements the C array of `storage_shape` has, padding included.

        Raises LayoutError on a shape that does not fit the layout.
        """
        return math.prod(self.storage_shape(shape))

    def offset(self, shape: Sequence[int], *index: Any) -> Any:
        """Return the element offset of a logical index: an int for ints, an int64 array for integer arrays (broadcast).

        Raises IndexError if an index is outside `shape` (negative ones too), and LayoutError on a shape that does not
        fit, or if arrays are given and the offsets of that shape do not fit int64.

        >>> Layout("CHWN").offset((8, 3, 4, 5), 1, 2, 3, 4)
        473
        """
        checked = self.check_shape(shape)
        return element_offset(self, checked, _contiguous(self, checked), 0, index)

    @classmethod
    @lists_vendor_names
    @checked_call
    def named(cls, name: str, block: int | None = None) -> Layout:
        """Return the layout that a vendor calls `name`; give `block` if its size depends on the chip or the dtype.

        Raises LayoutError on an unknown name (the known ones are listed), on a missing or superfluous `block`, and on
        forms that depend on shape or chip: describe those with ``TensorSpec(storage_shape=, storage_strides=)``.

        >>> Layout.named("NC1HWC2", block=16), Layout.named("WHCN")
        (Layout('NCHW16c'), Layout('NCHW'))
        """
        tag, axes = resolve_name(name, block)
        return cls(tag, axes)


@lru_cache(maxsize=64)  # loops ask for one offset after the other
def _contiguous(layout: Layout, shape: Shape) -> Shape:
    """Return the strides of the C array that stores a tensor of `shape`."""
    return c_strides(layout.storage_shape(shape))


@lru_cache(maxsize=64)  # every call of pack asks for one
def _plain(axes: str) -> Layout:
    layout = Layout.__new__(Layout)
    object.__setattr__(layout, "tag", str(axes))
    object.__setattr__(layout, "axes", str(axes))
    object.__setattr__(layout, "_dims", tuple(Dim(i, 1, 0) for i in range(len(axes))))
    return layout


@lru_cache(maxsize=64)
def _of_rank(rank: int) -> Layout:
    return Layout.plain(BY_RANK.get(rank, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:rank]))


LayoutLike = Union[str, Layout]


def as_layout(layout: LayoutLike, axes: str | None = None) -> Layout:
    """Return the Layout of a tag or a Layout, with the logical order `axes` if that is given."""
    if isinstance(layout, Layout):
        return layout if axes is None or axes == layout.axes else Layout(layout.tag, axes)
    return Layout(layout, axes)


def as_argument(layout: Layout) -> str:
    """Return Python text that `as_layout` reads as this layout: its tag, or the Layout if that does not suffice."""
    text = repr(layout)
    return repr(layout.tag) if text == f"Layout({layout.tag!r})" else text


def logical_shape(layout: Layout, storage_shape: Sequence[int]) -> Shape:
    """Return the logical shape that fills `storage_shape` without padding."""
    if len(storage_shape) != len(layout.dims):
        raise LayoutError(
            f"layout {layout} has {len(layout.dims)} storage dimensions, got an array with {len(storage_shape)}: "
            f"{tuple(storage_shape)}"
        )
    shape = [1] * len(layout.axes)
    for dim, extent in zip(layout.dims, storage_shape):
        shape[dim.axis] *= extent
    return tuple(shape)


def _check_reach(layout: Layout, shape: Shape, strides: Shape, start: int) -> None:
    """Raise LayoutError if int64, in which numpy computes offsets of arrays, may not contain each of them."""
    steps = (min((shape[dim.axis] - 1) // dim.step, (dim.block or shape[dim.axis]) - 1) for dim in layout.dims)
    reach = abs(start) + sum(step * abs(stride) for step, stride in zip(steps, strides))
    if max(reach, *strides, *(dim.step * max(dim.block, 1) for dim in layout.dims), 0) > np.iinfo(np.int64).max:
        raise LayoutError(
            f"layout {layout} of {shape}: offsets of arrays are int64, which cannot contain each of them; "
            f"expected integers, one index at a time"
        )


def element_offset(layout: Layout, shape: Shape, strides: Shape, start: int, index: Sequence[Any]) -> Any:
    """Return ``start + sum((i[axis] // step) % block * stride)``, summed over the storage dimensions."""
    if len(index) != len(shape):
        raise IndexError(f"layout {layout}: expected {len(shape)} indices ({layout.axes}), got {len(index)}")
    values: list[Any] = []
    reached = False
    for letter, extent, i in zip(layout.axes, shape, index):
        if type(i) is int and 0 <= i < extent:  # the usual case, which loops repeat
            values.append(i)
            continue
        if isinstance(i, (bool, np.bool_)):
            raise IndexError(f"layout {layout}: index {letter} must be an integer, got {i!r}")
        try:
            value: Any = operator.index(i)
        except TypeError:
            try:
                value = np.asarray(i)
            except ValueError:  # ragged
                value = np.empty(0, object)
            if value.dtype.kind not in "iu":
                raise IndexError(f"layout {layout}: index {letter} must be integers, got {value.dtype} {i!r}") from None
            inside = value.size == 0 or (value.min() >= 0 and value.max() < extent)
            value = value.astype(np.int64, copy=False)
            if not reached:
                _check_reach(layout, shape, strides, start)
            reached = True
        else:
            inside = 0 <= value < extent
        if not inside:
            raise IndexError(f"layout {layout}: index {letter} is outside 0..{extent - 1} of shape {shape}: {i!r}")
        values.append(value)
    total: Any = start
    for dim, stride in zip(layout.dims, strides):
        i = values[dim.axis] if dim.step == 1 else values[dim.axis] // dim.step
        total = total + (i % dim.block if dim.block else i) * stride
    return total


_OF_A_PICTURE = {3: "NCW or CHW"}  # a picture without its batch is as usual as a sequence with one


def _usual_words(rank: int) -> str:
    """Return the end of a message on a shape of another rank than the layout's: which layout such shapes have."""
    usual = BY_RANK.get(rank)
    return f"; expected one of {rank} axes, such as {_OF_A_PICTURE.get(rank, usual)}" if usual else ""
