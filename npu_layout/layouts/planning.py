"""Plan a conversion: turn two stored layouts into nested loops, once, for the kernels to run.

A plan is a list of boxes. A box is a nest of loops (extent, source stride, destination stride, parameter stride).
Blocks that an axis does not fill become boxes of their own, so pad lanes are never read. Pad elements of the
destination are boxes too, filled with zeros.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..errors import LayoutError
from ..kernels import Affine, Arithmetic, Box
from .layout import Layout, Shape
from .spans import Span, bind_span, span
from .storage import Chain, Storage

_MANY = 8  # repetitions that are a loop within loops: fewer are faster as boxes of their own (measured)


class _Run(NamedTuple):
    """A stretch of one axis that is affine in both layouts: its loops, and its start in each."""

    loops: tuple[tuple[int, int, int, int], ...]
    src: int
    dst: int
    param: int


def _move(chain: Chain, index: int) -> int:
    return sum((index // k.step % k.block if k.block else index // k.step) * k.stride for k in chain)


def _runs(extent: int, src: Chain, dst: Chain) -> list[_Run]:
    """Cut an axis of `extent` elements into stretches that nested loops can walk in both layouts."""
    links = sorted({k.step for k in src + dst}, reverse=True)
    many = _MANY if any(big % small for big, small in zip(links, links[1:])) else 2

    def loop(step: int, count: int, at: int) -> tuple[int, int, int, int]:
        return count, _move(src, at + step) - _move(src, at), _move(dst, at + step) - _move(dst, at), step

    def walk(lo: int, hi: int, steps: Sequence[int]) -> Iterator[_Run]:
        """Yield the stretches from lo to hi, between which no block longer than steps[0] begins."""
        if not steps:
            yield _Run((), _move(src, lo), _move(dst, lo), lo)
            return
        period = math.lcm(*steps)  # behind so many elements, a block begins in both layouts
        first = -(-lo // period) * period
        whole = (hi - first) // period
        if whole < (many if 1 < period < links[0] else 2):
            yield from cut(lo, hi, steps)
            return
        yield from cut(lo, first, steps)
        for run in cut(first, first + period, steps):
            yield run._replace(loops=(loop(period, whole, first), *run.loops))
        yield from cut(first + whole * period, hi, steps)

    def cut(lo: int, hi: int, steps: Sequence[int]) -> Iterator[_Run]:
        """Yield the stretches of each block of steps[0]."""
        while lo < hi:
            end = min(hi, (lo // steps[0] + 1) * steps[0])
            yield from walk(lo, end, steps[1:])
            lo = end

    return list(walk(0, extent, links))


def _coalesce(loops: Sequence[tuple[int, int, int, int]]) -> tuple[tuple[int, int, int, int], ...]:
    """Drop loops of one, order by destination stride, merge neighbours that are one walk in every stride."""
    merged: list[tuple[int, int, int, int]] = []
    for loop in sorted((k for k in loops if k[0] > 1), key=lambda k: (-abs(k[2]), -abs(k[1]))):
        if merged and all(outer == loop[0] * inner for outer, inner in zip(merged[-1][1:], loop[1:])):
            loop = (merged.pop()[0] * loop[0], *loop[1:])
        merged.append(loop)
    return tuple(merged)


def _boxes(src: Storage, dst: Storage, param_axis: str | None) -> Iterator[Box]:
    letters = dst.layout.letters
    per_axis = [_runs(dst.extent(a), src.chain(a), dst.chain(a)) for a in letters]
    for combination in itertools.product(*per_axis):
        loops = [
            (n, s, d, p if letter == param_axis else 0)
            for letter, run in zip(letters, combination)
            for n, s, d, p in run.loops
        ]
        yield Box(
            _coalesce(loops),
            src.start + sum(run.src for run in combination),
            dst.start + sum(run.dst for run in combination),
            next((run.param for letter, run in zip(letters, combination) if letter == param_axis), 0),
        )


def _pad_runs(extent: int, chain: Chain) -> list[_Run]:
    """Return the stretches of an axis that are in its storage but beyond its extent."""
    runs, at = [], 0
    left = extent
    for i, link in enumerate(chain):
        used = left // link.step
        left -= used * link.step
        first = used + (1 if left else 0)
        if first < link.extent:
            rest = tuple((k.extent, k.stride, k.stride, 0) for k in chain[i + 1 :])
            start = at + first * link.stride
            runs.append(_Run(((link.extent - first, link.stride, link.stride, 0), *rest), start, start, 0))
        at += used * link.stride
        if not left:
            break
    return runs


def _fills(dst: Storage) -> Iterator[Box]:
    """Yield the pad lanes of `dst`: what its storage shape contains beyond the logical shape."""
    axes = [(dst.extent(a), dst.chain(a)) for a in dst.layout.letters]
    valid = [_runs(extent, chain, chain) for extent, chain in axes]
    whole = [[_Run(tuple((k.extent, k.stride, k.stride, 0) for k in chain), 0, 0, 0)] for _, chain in axes]
    for i, (extent, chain) in enumerate(axes):
        for runs in itertools.product(*valid[:i], _pad_runs(extent, chain), *whole[i + 1 :]):
            loops = [(n, 0, d, 0) for run in runs for n, _, d, _ in run.loops]
            yield Box(_coalesce(loops), 0, dst.start + sum(run.dst for run in runs), 0)


def _never(source: np.ndarray, destination: np.ndarray) -> bool:
    return False


class Plan:
    """A conversion between two stored layouts, made once; `run` moves the elements of one buffer."""

    def __init__(
        self, src: Storage, dst: Storage, src_dtype: str, dst_dtype: str, affine: Affine | None, owns_gaps: bool
    ) -> None:
        per_channel = affine is not None and any(p is not None and len(p) > 1 for p in affine.values)
        axis = affine.axis if affine and per_channel else None
        self.src, self.dst = src, dst
        self.boxes = tuple(_boxes(src, dst, axis))
        gaps = owns_gaps and dst.size != dst.count
        self.fills = (Box(((dst.size, 0, 1, 0),), 0, 0, 0),) if gaps else tuple(_fills(dst))
        channels = src.extent(axis) if axis else 1
        self.arithmetic = Arithmetic(src_dtype, dst_dtype, (affine or Affine()).arrays(channels))
        made = self.program()
        #: Move `src` (1-D, src.size elements) into `dst` (1-D, dst.size elements, that do not overlap src).
        self.run = made.run
        #: Like run, but arrays of any shape, and False if they do not fit or need the checks of run: then nothing
        #: was written.
        self.attempt = _never if isinstance(made, kernels.FallbackProgram) else made.attempt
        #: ``usual(src, dst)``: like attempt, but only for arrays of the types, dtypes and shapes of these; or None.
        self.usual = partial(kernels.usual, made)

    def program(self, backend: str | None = None, alongside: int = 0) -> Any:
        """Return the kernels' program, for one thread; backend, alongside: see `kernels.program`."""
        sizes = self.src.size, self.dst.size
        return kernels.program(*sizes, self.fills, self.boxes, self.arithmetic, backend, alongside)


@lru_cache(maxsize=512)
def plan_move(
    src: Storage,
    dst: Storage,
    src_dtype: str,
    dst_dtype: str,
    affine: Affine | None = None,
    owns_gaps: bool = True,
) -> Plan:
    """Return the plan between two stored layouts, cached; dtypes are numpy's names or ``bfloat16``.

    Pad lanes of the destination become zeros, and its gaps too if it owns them (a strided `out` does not).
    """
    if sorted(src.layout.axes) != sorted(dst.layout.axes):
        raise LayoutError(
            f"layouts {src.layout} and {dst.layout} have different axes: {src.layout.axes} and {dst.layout.axes}"
        )
    return Plan(src, dst, src_dtype, dst_dtype, affine, owns_gaps)


def affine_copy(
    layout: Layout, x: np.ndarray, out: np.ndarray, src_dtype: str, dst_dtype: str, affine: Affine | None = None
) -> None:
    """Write affine(x) to `out`: arrays of any strides whose memory ranges do not overlap.

    Both have the axes of a plain `layout`; dtypes as for `plan_move`.
    """
    move, source, target = _conversion(
        layout, x.shape, x.strides, x.itemsize, out.strides, out.itemsize, src_dtype, dst_dtype, affine
    )
    flat = target.flat(out)
    move.run(source.flat(x), flat)
    if target.copied:
        out[...] = flat.reshape(out.shape)


@lru_cache(maxsize=512)
def _conversion(
    layout: Layout,
    shape: Shape,
    strides: Shape,
    itemsize: int,
    dst_strides: Shape,
    dst_itemsize: int,
    src_dtype: str,
    dst_dtype: str,
    affine: Affine | None,
) -> tuple[Plan, Span, Span]:
    """Return the plan between arrays of these strides (in bytes), and the span of each."""
    source, target = span(shape, strides, itemsize), span(shape, dst_strides, dst_itemsize)
    src, dst = bind_span(layout, shape, shape, source), bind_span(layout, shape, shape, target)
    return plan_move(src, dst, src_dtype, dst_dtype, affine, False), source, target
