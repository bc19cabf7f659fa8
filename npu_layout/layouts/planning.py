"""The plan: two stored layouts become loops, once; the loops go to a kernel. And repack.

A plan is a list of parts. A part is a box of loops (extent, source stride, destination stride, parameter stride);
blocks that an axis does not fill give parts of their own, so a pad lane is never read. Pad elements of the
destination are boxes too, filled with zeros.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Union

import numpy as np

from .. import kernels
from ..errors import LayoutError, NpuLayoutError
from ..kernels import Arithmetic, Box
from ..support import plain_array
from .layout import Layout, Shape, check_extents
from .spans import Span, bind_array, bind_span, distinct, span, span_of
from .storage import Chain, Storage

LayoutLike = Union[str, Layout]


class Affine(NamedTuple):
    """``((x - shift) * scale) / divisor`` in float32; an integer destination takes ``rint(. + zero_point)``.

    Each of shift, scale and divisor: None, or a tuple of 1 or of as many values as `axis` has. An integer zero
    point is added after rint, a float one before; None for a destination that is no integer.
    """

    axis: str = "C"
    shift: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None
    divisor: tuple[float, ...] | None = None
    zero_point: tuple[float, ...] | None = None
    float_zero_point: bool = False


class _Run(NamedTuple):
    """A stretch of one axis that is affine in both layouts: its loops, and where it starts in each."""

    loops: tuple[tuple[int, int, int, int], ...]
    src: int
    dst: int
    param: int


def _move(chain: Chain, index: int) -> int:
    return sum((index // k.step % k.block if k.block else index // k.step) * k.stride for k in chain)


def _runs(extent: int, src: Chain, dst: Chain) -> list[_Run]:
    """Cut an axis of `extent` elements into stretches that nested loops can walk in both layouts."""
    steps = sorted({k.step for k in src + dst}, reverse=True)
    if any(big % small for big, small in zip(steps, steps[1:])):
        cuts = sorted({i for step in steps for i in range(0, extent, step) if step > 1} | {0, extent})
        steps = [1]
    else:
        cuts = [0, extent]

    def loop(step: int, count: int, at: int) -> tuple[int, int, int, int]:
        return count, _move(src, at + step) - _move(src, at), _move(dst, at + step) - _move(dst, at), step

    def walk(at: int, count: int, steps: Sequence[int]) -> Iterator[_Run]:
        step, rest = steps[0], count % steps[0]
        if count >= step:
            outer = loop(step, count // step, at) if count >= 2 * step else (1, 0, 0, 0)
            inner = next(walk(at, step, steps[1:])) if len(steps) > 1 else _Run((), 0, 0, 0)
            yield _Run((outer, *inner.loops), _move(src, at), _move(dst, at), at)
        if rest:
            yield from walk(at + count - rest, rest, steps[1:])

    return [run for lo, hi in zip(cuts, cuts[1:]) for run in walk(lo, hi - lo, steps)]


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
    """The stretches of an axis that lie in its storage but beyond its extent."""
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
    """The pad lanes of `dst`: what its storage shape holds beyond the logical shape."""
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
        per_channel = affine is not None and any(p is not None and len(p) > 1 for p in affine[1:5])
        axis = affine.axis if affine and per_channel else None
        self.src, self.dst = src, dst
        self.boxes = tuple(_boxes(src, dst, axis))
        gaps = owns_gaps and dst.size != dst.count
        self.fills = (Box(((dst.size, 0, 1, 0),), 0, 0, 0),) if gaps else tuple(_fills(dst))
        channels = src.extent(axis) if axis else 1
        self.arithmetic = Arithmetic.make(src_dtype, dst_dtype, affine[1:] if affine else None, channels)
        made = self.program()
        #: Move `src` (1-D, src.size elements) into `dst` (1-D, dst.size elements, apart from src).
        self.run = made.run
        #: Like run, but arrays of any shape, and False where they do not fit or only run can tell: then nothing was
        #: written.
        self.attempt = _never if isinstance(made, kernels.Twin) else made.attempt

    def program(self, backend: str | None = None) -> Any:
        """What runs, on one thread; `backend`: other kernels than the active ones."""
        return kernels.program(self.src.size, self.dst.size, self.fills, self.boxes, self.arithmetic, backend)


@lru_cache(maxsize=512)
def plan(
    src: Storage,
    dst: Storage,
    src_dtype: str,
    dst_dtype: str,
    affine: Affine | None = None,
    owns_gaps: bool = True,
) -> Plan:
    """The cached plan for a conversion; dtypes are numpy's names or ``bfloat16``.

    Pad lanes of the destination become zeros, and its gaps too where it owns them (a strided `out` does not).
    """
    if sorted(src.layout.axes) != sorted(dst.layout.axes):
        raise LayoutError(
            f"layouts {src.layout} and {dst.layout} have different axes: {src.layout.axes} and {dst.layout.axes}"
        )
    return Plan(src, dst, src_dtype, dst_dtype, affine, owns_gaps)


def as_layout(layout: LayoutLike, axes: str | None = None) -> Layout:
    """A Layout from a tag or a Layout, with another logical order where `axes` is given."""
    if isinstance(layout, Layout):
        return layout if axes is None or axes == layout.axes else Layout(layout.tag, axes)
    return Layout(layout, axes)


def logical_shape(layout: Layout, storage_shape: Sequence[int]) -> Shape:
    """The logical shape whose storage is exactly full: every stored element is taken as real."""
    if len(storage_shape) != len(layout.dims):
        raise LayoutError(
            f"layout {layout} has {len(layout.dims)} storage dimensions, got an array with {len(storage_shape)}: "
            f"{tuple(storage_shape)}"
        )
    shape = [1] * len(layout.axes)
    for dim, extent in zip(layout.dims, storage_shape):
        shape[dim.axis] *= extent
    return tuple(shape)


def affine_copy(
    layout: Layout, x: np.ndarray, out: np.ndarray, src_dtype: str, dst_dtype: str, affine: Affine | None = None
) -> None:
    """out = affine(x): arrays of any strides, not near each other, with the axes of a plain `layout`; dtypes as for
    `plan`."""
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
    """The plan between arrays that lie so (strides in bytes), and where both find their memory."""
    source, target = span(shape, strides, itemsize), span(shape, dst_strides, dst_itemsize)
    src, dst = bind_span(layout, shape, shape, source), bind_span(layout, shape, shape, target)
    return plan(src, dst, src_dtype, dst_dtype, affine, False), source, target


def check_out(
    out: Any, shape: Shape, dtype: np.dtype, source: np.ndarray | None, what: Callable[[], str]
) -> np.ndarray:
    """Return `out` if results can be written there, else raise NpuLayoutError; `what` says for what, where asked."""
    if not isinstance(out, np.ndarray):
        raise NpuLayoutError(f"out for {what()}: expected a numpy array, got {type(out).__name__}")
    if out.dtype != dtype:
        raise NpuLayoutError(f"out for {what()}: expected dtype {dtype}, got {out.dtype}")
    if out.shape != shape:
        raise NpuLayoutError(f"out for {what()}: expected shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise NpuLayoutError(f"out for {what()} is read-only; expected a writable array of {shape}")
    if source is not None and overlap(out, source):
        raise NpuLayoutError(f"out for {what()} shares memory with the input; expected an array of its own")
    return out


def check_distinct(out: np.ndarray, what: Callable[[], str]) -> np.ndarray:
    """Return `out` if no two of its elements overlap, else raise NpuLayoutError; `what` says for what, where asked."""
    if not distinct(out.shape, out.strides, out.itemsize):
        raise NpuLayoutError(f"out for {what()}: elements overlap, shape {out.shape} and strides {out.strides} (bytes)")
    return out


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share memory; True where that is too costly to tell."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]
    except Exception:  # numpy 2 moved TooHardError; whatever it is called, the answer is "perhaps"
        return True


def near(target: np.ndarray, sources: Iterable[np.ndarray]) -> bool:
    """Whether the memory that an array spans and that of another one overlap, if only between their elements: what
    kernels refuse."""
    return any(np.may_share_memory(target, source) for source in sources)


def apart(x: np.ndarray, target: np.ndarray) -> np.ndarray:
    """`x`, or a copy of its elements where it is near `target`."""
    return x.copy(order="K") if near(target, (x,)) else x


def repack(
    x: Any,
    src: LayoutLike,
    dst: LayoutLike,
    *,
    shape: Sequence[int] | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Move a storage array from one layout to another: always a copy, same dtype.

    Parameters
    ----------
    x
        Storage array of `src`, any dtype and any strides; its shape is ``Layout(src).storage_shape(shape)``.
    src, dst
        Tags or Layouts with the same axes, matched by letter.
    shape
        Logical shape in the order of `src`'s axes. Without it every stored element is taken as real.
    out
        Storage array of `dst` to write to; pad elements are set to zero. Ctrl-C while it is written to, or another
        signal whose handler raises, leaves some of it written and some not.

    Returns
    -------
    The storage array of `dst`: C-contiguous, or `out`.

    Raises
    ------
    LayoutError
        Where layouts, shape and x do not fit.
    NpuLayoutError
        Where out has another shape or dtype, is read-only, shares elements with x, or its own overlap.

    Examples
    --------
    >>> import numpy as np
    >>> repack(np.arange(6).reshape(1, 2, 1, 3), "NCHW", "NHWC4c").tolist()
    [[[[[0, 3, 0, 0]], [[1, 4, 0, 0]], [[2, 5, 0, 0]]]]]
    """
    array = x if type(x) is np.ndarray else plain_array(x)
    asked = None if shape is None else check_extents("shape", shape)
    try:
        move, target_shape, described = _repacking(src, dst, array.shape, asked, array.dtype)
    except TypeError:  # what cannot be remembered is no layout
        as_layout(src), as_layout(dst)
        raise
    # The usual case of a hot loop; else the checks below say why.
    if type(out) is np.ndarray and out.shape == target_shape and out.dtype is array.dtype and move.attempt(array, out):
        return out
    if out is None:
        result = np.empty(target_shape, array.dtype)
    else:
        result = check_out(out, target_shape, array.dtype, array, lambda: described)
        if span_of(result).copied:
            np.copyto(check_distinct(result, lambda: described), repack(array, src, dst, shape=shape))
            return result
        array = apart(array, result)
    if array.flags.c_contiguous and result.flags.c_contiguous:
        move.run(array.reshape(-1), result.reshape(-1))
        return result
    src_storage, src_flat = bind_array(move.src.layout, move.src.shape, array)
    dst_storage, dst_flat = bind_array(move.dst.layout, move.dst.shape, result)
    name = move.arithmetic.src_dtype
    plan(src_storage, dst_storage, name, name, None, False).run(src_flat, dst_flat)
    return result


@lru_cache(maxsize=512)
def _repacking(
    src: LayoutLike, dst: LayoutLike, stored: Shape, shape: Shape | None, dtype: np.dtype[Any]
) -> tuple[Plan, Shape, str]:
    """The plan for dense arrays, the result's storage shape, and what it is in words."""
    source, target = as_layout(src), as_layout(dst)
    if sorted(source.axes) != sorted(target.axes):
        raise LayoutError(
            f"cannot repack layout {source} to {target}: axes {source.axes} and {target.axes} differ; "
            f"expected the same letters"
        )
    if dtype.hasobject or not dtype.itemsize:
        raise LayoutError(f"cannot repack dtype {dtype}: expected numbers")
    full = logical_shape(source, stored)
    if 0 in stored:
        raise LayoutError(f"layout {source}: every extent must be 1 or more, got an array of {stored}")
    logical = full if shape is None else source.check_shape(shape)
    if shape is not None and stored != source.storage_shape(logical):
        raise LayoutError(
            f"layout {source} of {logical} is stored as {source.storage_shape(logical)}, got an array of {stored}"
        )
    by_letter = dict(zip(source.axes, logical))
    target_logical = tuple(by_letter[letter] for letter in target.axes)
    hint = " (its padded channels count as real: give shape=)" if shape is None and source.is_blocked else ""
    name = f"V{dtype.itemsize}"
    move = plan(Storage.bind(source, logical), Storage.bind(target, target_logical), name, name)
    return move, target.storage_shape(target_logical), f"layout {target} of {target_logical}{hint}"
