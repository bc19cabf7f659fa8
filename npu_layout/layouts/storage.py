"""Bind a layout to a logical shape: the storage shape, strides, offset and size of its buffer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import LayoutError
from ..support import integers, whole_number
from .layout import Layout, Shape, c_strides, check_extents, element_offset

_ENUMERABLE = 1 << 22
_MOST = int(np.iinfo(np.int64).max)  # elements or bytes of a buffer


class Link(NamedTuple):
    """One storage dimension of one axis: it counts ``(i // step) % block`` (block 0: no end) at `stride`."""

    step: int
    block: int
    extent: int
    stride: int


Chain = tuple[Link, ...]


def overlaps(extents: Shape, strides: Shape) -> bool | None:
    """Return whether two storage indices share an element; None if finding out would be too slow."""
    dims = sorted((abs(s), n) for n, s in zip(extents, strides) if n > 1)
    reach = 0
    for stride, extent in dims:
        if stride <= reach:
            break
        reach += stride * (extent - 1)
    else:
        return False
    furthest = sum(stride * (extent - 1) for stride, extent in dims)
    if math.prod(n for _, n in dims) > _ENUMERABLE or furthest > _MOST:
        return None
    offsets = np.zeros(1, np.int64)
    for stride, extent in dims:
        offsets = (offsets[:, None] + np.arange(extent, dtype=np.int64) * stride).ravel()
    offsets.sort()
    return bool((offsets[1:] == offsets[:-1]).any())


def _stored_shape(layout: Layout, logical: Shape, given: Sequence[int] | None) -> Shape:
    needed = layout.storage_shape(logical)
    if given is None:
        return needed
    stored = check_extents(f"storage_shape of layout {layout}", given)
    if len(stored) != len(needed) or any(
        n < least or (dim.block and n != least) for n, least, dim in zip(stored, needed, layout.dims)
    ):
        raise LayoutError(
            f"storage_shape {stored} does not fit layout {layout} of {logical}: "
            f"expected {needed}, or more in a dimension that is no inner block"
        )
    return stored


def _strides(layout: Layout, stored: Shape, given: Sequence[int] | None) -> Shape:
    if given is None:
        return c_strides(stored)
    strides = integers(f"storage_strides of layout {layout}", given, "integers", LayoutError)
    if len(strides) != len(stored):
        raise LayoutError(
            f"storage_strides {strides} of layout {layout}: expected {len(stored)}, one for each dimension "
            f"of the storage shape {stored}, got {len(strides)}"
        )
    clash = 0 in strides or overlaps(stored, strides)
    if clash is not False:
        why = "elements overlap" if clash else "too irregular to prove that no elements overlap"
        raise LayoutError(
            f"storage_strides {strides} of layout {layout}, storage shape {stored}: {why}; "
            f"expected strides that give each element a place of its own, such as {c_strides(stored)}"
        )
    return strides


def _size(layout: Layout, logical: Shape, start: int, end: int, given: int | None) -> int:
    size = end if given is None else whole_number(f"size of layout {layout}", given, "an integer", LayoutError)
    if size < end:
        place = f" behind storage_offset {start}" if start else ""
        raise LayoutError(f"size {size} is too small: layout {layout} of {logical}{place} needs {end} elements")
    if size > _MOST:
        raise LayoutError(f"size: layout {layout} of {logical} needs {size} elements, more than int64 can count")
    return size


@dataclass(frozen=True)
class Storage:
    """The place of each element of a tensor of logical `shape` in a flat buffer of `size` elements.

    `strides` are in elements, one for each dimension of `storage_shape`; `start` is the element of index 0.
    """

    layout: Layout
    shape: Shape
    storage_shape: Shape
    strides: Shape
    start: int
    size: int

    @classmethod
    def bind(
        cls,
        layout: Layout,
        shape: Sequence[int],
        storage_shape: Sequence[int] | None = None,
        storage_strides: Sequence[int] | None = None,
        storage_offset: int = 0,
        size: int | None = None,
    ) -> Storage:
        """Check and complete a description. Raises LayoutError, naming the layout and what was expected."""
        logical = layout.check_shape(shape)
        stored = _stored_shape(layout, logical, storage_shape)
        strides = _strides(layout, stored, storage_strides)
        start = whole_number(f"storage_offset of layout {layout}", storage_offset, "an integer", LayoutError)
        lowest = start + sum((n - 1) * s for n, s in zip(stored, strides) if s < 0)
        if lowest < 0:
            raise LayoutError(
                f"layout {layout} of {logical} reaches {-lowest} elements before the buffer: "
                f"storage_offset {start}, strides {strides}"
            )
        end = start + sum((n - 1) * s for n, s in zip(stored, strides) if s > 0) + 1
        count = _size(layout, logical, start, end, size)
        return cls(layout, logical, stored, strides, start, count)

    def check_bytes(self, itemsize: int) -> None:
        """Raise LayoutError if a buffer of elements of `itemsize` bytes has more bytes than int64 can count."""
        if self.size * itemsize > _MOST:
            raise LayoutError(
                f"size: {self.describe()} needs {self.size} elements of {itemsize} bytes, more bytes than int64 can "
                f"count; expected {_MOST // itemsize} elements at most"
            )

    @property
    def is_dense(self) -> bool:
        """Whether the buffer is exactly the C array `storage_shape`: no gaps, no other order."""
        return self.start == 0 and self.strides == c_strides(self.storage_shape) and self.size == self.count

    @property
    def count(self) -> int:
        """Elements of the storage shape, pad lanes included, gaps not."""
        return math.prod(self.storage_shape)

    @property
    def padding(self) -> int:
        """Elements of the buffer that contain no logical element."""
        return self.size - math.prod(self.shape)

    def offset(self, *index: Any) -> Any:
        """Return the element offset of a logical index in this buffer, as Layout.offset."""
        return element_offset(self.layout, self.shape, self.strides, self.start, index)

    def chain(self, letter: str) -> Chain:
        """Return the storage dimensions of one axis, largest step first."""
        axis = self.layout.axes.index(letter)
        links = [
            Link(dim.step, dim.block, extent, stride)
            for dim, extent, stride in zip(self.layout.dims, self.storage_shape, self.strides)
            if dim.axis == axis
        ]
        # A block of 1 shares its step with the dimension around it and never moves.
        return tuple(sorted(links, key=lambda link: (-link.step, link.block > 0)))

    def extent(self, letter: str) -> int:
        """Return the logical extent of one axis."""
        return self.shape[self.layout.axes.index(letter)]

    def view_strides(self) -> Shape:
        """Return the element strides of the logical axes in the buffer. LayoutError if an axis has no single stride."""
        result = []
        for letter, extent in zip(self.layout.axes, self.shape):
            links = [link for link in self.chain(letter) if link.step < extent and link.extent > 1]
            stride = links[-1].stride if links else 1
            if any(link.stride * links[-1].step != stride * link.step for link in links):
                raise LayoutError(
                    f"layout {self.layout} of {self.shape}: axis {letter} has no single stride, "
                    f"so it cannot be viewed without a copy; use unpack"
                )
            result.append(stride // links[-1].step if links else 1)
        return tuple(result)

    def describe(self) -> str:
        """Return ``layout NCHW16c of (1,17,5,4)``, as messages name it."""
        return f"layout {self.layout} of {str(self.shape).replace(' ', '')}"

    def padding_words(self) -> str:
        """Return what is padded, in words; empty if nothing is."""
        words = []
        for letter, extent in zip(self.layout.axes, self.shape):
            padded = math.prod(link.extent for link in self.chain(letter))
            if padded > extent:
                words.append(f"{letter} padded from {extent} to {padded}")
        if self.size > self.count:
            words.append(f"{self.size - self.count} elements of gaps")
        return f" ({', '.join(words)})" if words else ""
