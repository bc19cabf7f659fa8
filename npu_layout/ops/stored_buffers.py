"""Walk stored buffers of any layout in place: views of whole blocks, and the same pixels of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import check_distinct
from ..support import plain_array, shown
from .registry import CORE

_AXES = "NCHW"
_WORDS = "a TensorSpec with the axes N, C, H and W, and its buffer"
_DTYPES = {
    **dict.fromkeys(CORE - {"bool"}),
    "bfloat16": "bfloat16",
}  # what the kernels need beside a buffer's dtype


class Loop(NamedTuple):
    """A digit of an index: the axis (0 .. 3: N, C, H, W), its extent, its step in that axis, its stride in storage."""

    axis: int
    extent: int
    step: int
    stride: int


class Region(NamedTuple):
    """Elements that loops reach: the index of the first one, its place in storage, and the loops over pixels."""

    first: tuple[int, int, int, int]
    offset: int
    loops: tuple[Loop, ...]

    def of(self, out: np.ndarray, *rest: int) -> np.ndarray:
        """Return the region in an array (N, any, H, W): an axis for each loop, then the axes `rest`; a view."""
        steps = out.strides
        strides = [steps[loop.axis] * loop.step for loop in self.loops] + [steps[axis] for axis in rest]
        shape = [loop.extent for loop in self.loops] + [out.shape[axis] for axis in rest]
        if out.flags.c_contiguous:  # numpy checks that the view is inside, at a third of as_strided's time
            return np.ndarray(shape, out.dtype, out, sum(map(mul, self.first, steps)), strides)
        part = out[tuple(slice(first, None) for first in self.first)]
        return np.lib.stride_tricks.as_strided(part, shape, strides)

    def cut(self, most: int) -> Iterator[Region]:
        """Yield parts of the region of about `most` pixels, cut along its longest loop."""
        place = max(range(len(self.loops)), key=lambda i: self.loops[i].extent)
        loop = self.loops[place]
        others = max(1, prod(k.extent for k in self.loops) // loop.extent)
        each = max(1, most // others)
        for at in range(0, loop.extent, each):
            first = list(self.first)
            first[loop.axis] += at * loop.step
            part = loop._replace(extent=min(each, loop.extent - at))
            n, c, h, w = first
            yield Region(
                (n, c, h, w), self.offset + at * loop.stride, (*self.loops[:place], part, *self.loops[place + 1 :])
            )


class Walk(NamedTuple):
    """How the kernels walk a spec: regions that cover every pixel once, and the digits of the channel.

    dtype: what the kernels need beside the buffer's own dtype.
    """

    regions: tuple[Region, ...]
    channels: int
    digits: tuple[Loop, ...]
    dtype: str | None

    def source(self, region: Region, flat: np.ndarray) -> np.ndarray:
        """Return the region of the buffer: an axis for each of its loops, then the channel's digits; a view."""
        loops, size = (*region.loops, *self.digits), flat.itemsize
        return np.ndarray(
            [k.extent for k in loops], flat.dtype, flat, region.offset * size, [k.stride * size for k in loops]
        )


def is_stored(x: Any, buffer: Any, what: str, quantization: Any = None) -> bool:
    """Whether an operator was given a spec and its buffer; NpuLayoutError if only one, or a quantization beside it."""
    if isinstance(x, TensorSpec):
        if buffer is None:
            raise NpuLayoutError(f"{what}: buffer: expected {_WORDS}, got no buffer; give buffer=")
        if quantization is not None:
            raise NpuLayoutError(
                f"{what}: quantization: expected none beside {x.describe()}, whose own is {x.quantization}, got "
                f"{shown(quantization)}; give spec.replace(quantization=...)"
            )
        return True
    if buffer is not None:
        raise NpuLayoutError(f"{what}: buffer: expected {_WORDS}; an array has no buffer")
    return False


def extents(spec: TensorSpec, what: str) -> tuple[int, int, int, int]:
    """Return N, C, H and W of a spec; NpuLayoutError if it has other axes, or elements that are packed."""
    if sorted(spec.axes) != sorted(_AXES):
        hint = "; decode.classify reads scores of a whole image" if sorted(spec.axes) == ["C", "N"] else ""
        raise NpuLayoutError(f"{what}: {spec.describe()}: expected the axes N, C, H and W, got {spec.axes}{hint}")
    if spec.element.nibbles:
        raise NpuLayoutError(f"{what}: {spec.describe()}: elements of 4 bits; unpack them first")
    n, c, h, w = (spec.shape[spec.axes.index(letter)] for letter in _AXES)
    return n, c, h, w


@lru_cache(maxsize=256)
def walk(spec: TensorSpec) -> Walk | None:
    """Return how to walk a spec; None: its dtype or its scales are not those of the kernels.

    The channel's digits are separate from the regions, with their padding; pixels of the padding are not reached.
    """
    if spec.dtype not in _DTYPES or (spec.quantization is not None and spec.quantization.axis is not None):
        return None
    each = [_digits(spec, axis) for axis in range(4)]
    pixels = [0, 2, 3]
    start = int(spec.offset(0, 0, 0, 0))
    regions = []
    for boxes in product(*(list(_boxes(each[axis], spec.shape[spec.axes.index(_AXES[axis])])) for axis in pixels)):
        first = [0] * 4
        for axis, (at, _) in zip(pixels, boxes):
            first[axis] = at
        offset = start + sum(_place(each[axis], at) for axis, (at, _) in zip(pixels, boxes))
        n, c, h, w = first
        regions.append(Region((n, c, h, w), offset, tuple(loop for _, loops in boxes for loop in loops)))
    return Walk(tuple(regions), spec.shape[spec.axes.index("C")], tuple(each[1]), _DTYPES[spec.dtype])


@lru_cache(maxsize=256)
def codes(spec: TensorSpec) -> TensorSpec:
    """Return a spec whose values are the stored ones."""
    return spec if spec.quantization is None else spec.replace(quantization=None)


def one_scale(spec: TensorSpec) -> tuple[float, float]:
    """Return scale and zero point of a spec that `walk` accepts; 1 and 0 if its values are real ones."""
    q = spec.quantization
    return (1.0, 0.0) if q is None else (float(q.scale), float(q.zero_point))


def _digits(spec: TensorSpec, axis: int) -> list[Loop]:
    """Return the storage dimensions of an axis, those of the largest steps first; a block of 1 has no part in it."""
    own = spec.axes.index(_AXES[axis])
    found = [
        Loop(axis, dim.block or -(-spec.shape[own] // dim.step), dim.step, stride)
        for dim, stride in zip(spec.layout.dims, spec.storage_strides)
        if dim.axis == own and dim.block != 1
    ]
    return sorted(found, key=lambda loop: -loop.step)


def _boxes(digits: Sequence[Loop], left: int) -> Iterator[tuple[int, list[Loop]]]:
    """Yield boxes of digits that count 0 .. left - 1: as many whole blocks as there are, then what is left of one."""
    at = 0
    for place, loop in enumerate(digits):
        whole, left = divmod(left, loop.step)
        if whole:
            yield at, [loop._replace(extent=whole), *digits[place + 1 :]]
        at += whole * loop.step


def _place(digits: Sequence[Loop], index: int) -> int:
    """Return where an index of an axis is, from its first element on."""
    place = 0
    for loop in digits:
        digit, index = divmod(index, loop.step)
        place += digit * loop.stride
    return place


class Target(NamedTuple):
    """Where results are written: the array that the caller gets, the one that is written to, whether it is another."""

    out: np.ndarray
    written: np.ndarray
    apart: bool = False

    def finished(self) -> np.ndarray:
        """Return the array that the caller gets, with what was written."""
        if self.apart:
            self.out[...] = self.written
        return self.out


def target(what: str, out: Any, shape: tuple[int, ...], dtype: Any, flat: np.ndarray) -> Target:
    """Return `out`, or a new array, to write results of the buffer `flat` to; NpuLayoutError if it is another.

    They are written to a temporary array if `out` overlaps the buffer.
    """
    if out is None:
        made = np.empty(shape, dtype)
        return Target(made, made)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype or not out.flags.writeable:
        got = f"{out.shape} {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
        raise NpuLayoutError(f"out for {what}: expected {shape} {np.dtype(dtype)} that can be written, got {got}")
    plain = out if type(out) is np.ndarray else plain_array(f"out for {what}", out)
    apart = np.may_share_memory(check_distinct(plain, lambda: what), flat)
    return Target(out, np.empty(shape, dtype) if apart else plain, apart)
