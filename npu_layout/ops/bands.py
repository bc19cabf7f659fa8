"""Read stored buffers of any layout band by band of rows, in memory that does not grow with the image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..buffers import Conversion, Quantization, TensorSpec, plan
from ..layouts import Layout

_BAND = 1 << 18  # bytes of a band, about: it stays in the second cache


class Band(NamedTuple):
    """Some rows of one image: its number, the rows first .. last, their elements, (1, C, rows, W), and their scales."""

    n: int
    first: int
    last: int
    x: np.ndarray
    quantization: Quantization | None

    def of(self, out: np.ndarray) -> np.ndarray:
        """Return the rows of the band in an array (N, any, H, W), a view."""
        return out[self.n : self.n + 1, :, self.first : self.last]


class _Bands(NamedTuple):
    """How the bands of a spec are read: `rows` of them, and the axes' places in the spec."""

    rows: int
    axes: tuple[int, int, int, int]
    dtype: np.dtype[Any]
    whole: bool  #: whether a band is a tensor of the same layout


def quantization_of(spec: TensorSpec) -> Quantization | None:
    """Return a spec's quantization for arrays of the axes N, C, H, W."""
    q = spec.quantization
    if q is None or q.axis is None:
        return q
    return Quantization(q.scale, q.zero_point, "NCHW".index(spec.axes[q.axis % len(spec.axes)]))


def bands(spec: TensorSpec, flat: np.ndarray, halo: int = 0) -> Iterator[Band]:
    """Yield all rows of all images; with a halo, rows before and behind each band that belong to others.

    The array of a band is valid until the next one. `first` and `last` are without the halo; what comes before `first`
    are ``min(halo, first)`` rows. The scales are those of all rows of the array.
    """
    how, known = _bands_of(spec), quantization_of(spec)
    n, _, h, _ = (spec.shape[i] for i in how.axes)
    dense = not spec.layout.is_blocked and how.dtype == spec.stored  # strides say it all: nothing is copied
    tensor = spec.view(flat).transpose(how.axes) if dense else None
    for image in range(n):
        for first in range(0, h, how.rows):
            last = min(h, first + how.rows)
            upper, lower = max(0, first - halo), min(h, last + halo)
            scales = _part(known, (image, 0, upper), (image + 1, spec.shape[how.axes[1]], lower))
            if tensor is not None:
                x = tensor[image : image + 1, :, upper:lower]
            else:
                x = _read(spec, how, flat, image, upper, lower)
            yield Band(image, first, last, x, scales)


def _part(known: Quantization | None, first: tuple[int, ...], last: tuple[int, ...]) -> Quantization | None:
    """Return the scales of a part of a tensor, along whichever axis they are."""
    if known is None or known.axis is None or known.axis >= len(first):
        return known
    part = slice(first[known.axis], last[known.axis])
    points = known.zero_point
    return Quantization(known.scale[part], points[part] if np.ndim(points) else points, known.axis)  # type: ignore[index]


@lru_cache(maxsize=256)
def _bands_of(spec: TensorSpec) -> _Bands:
    """Return how a buffer is divided into bands of rows."""
    places = {letter: spec.axes.index(letter) for letter in "NCHW"}
    axes = (places["N"], places["C"], places["H"], places["W"])
    dims = spec.layout.dims
    unit = max(dim.step for dim in dims if dim.axis == axes[2])
    apart = all(dim.step == 1 and dim.block == 0 for dim in dims if dim.axis == axes[0])
    row = spec.shape[axes[1]] * spec.shape[axes[3]] * spec.stored.itemsize
    dtype = np.dtype(np.float32) if spec.dtype == "bfloat16" else spec.stored
    return _Bands(max(1, _BAND // max(1, row * unit)) * unit, axes, dtype, apart)


def _read(spec: TensorSpec, how: _Bands, flat: np.ndarray, n: int, first: int, last: int) -> np.ndarray:
    """Return rows first .. last of an image as (1, C, rows, W)."""
    rows = last - first
    start = [0] * 4
    start[how.axes[0]], start[how.axes[2]] = n, first
    unit = max(dim.step for dim in spec.layout.dims if dim.axis == how.axes[2])
    if how.whole and first % unit == 0:
        convert = _conversion(spec, rows)
        at = int(spec.offset(*start)) - convert.source.storage_offset
        part = flat[at : at + convert.source.size]
        if len(part) == convert.source.size:
            last_axes = convert(part).reshape(rows, spec.shape[how.axes[3]], -1)
            return last_axes.transpose(2, 0, 1)[None]
    return _gathered(spec, how, flat, n, first, last)


@lru_cache(maxsize=256)
def _conversion(spec: TensorSpec, rows: int) -> Conversion:
    """Return the conversion of so many rows to channels last, of stored values (bfloat16: float32)."""
    how = _bands_of(spec)
    shape = list(spec.shape)
    shape[how.axes[0]], shape[how.axes[2]] = 1, rows
    strides = spec.storage_strides
    stored = spec.layout.storage_shape(shape)
    before = sum((1 - extent) * stride for extent, stride in zip(stored, strides) if stride < 0)
    source = TensorSpec(shape, spec.layout, spec.dtype, storage_strides=strides, storage_offset=before)
    extent = [shape[i] for i in how.axes]
    order = "".join(spec.axes)
    last = "".join(spec.axes[how.axes[k]] for k in (0, 2, 3, 1))
    assert extent[0] == 1
    return plan(source, TensorSpec(shape, Layout(last, order), how.dtype))


def _gathered(spec: TensorSpec, how: _Bands, flat: np.ndarray, n: int, first: int, last: int) -> np.ndarray:
    """Return the rows by the offset of each element: for bands that are no tensors of their own."""
    _, c, _, w = (spec.shape[i] for i in how.axes)
    index: list[Any] = [0] * 4
    grids = np.ogrid[n : n + 1, :c, first:last, :w]
    for axis, grid in zip(how.axes, grids):
        index[axis] = grid
    found = flat[np.broadcast_to(np.asarray(spec.offset(*index), np.int64), (1, c, last - first, w))]
    if spec.dtype == "bfloat16":
        found = kernels.widen_bfloat16(found)
    return found


def each(spec: TensorSpec, flat: np.ndarray, outs: tuple[np.ndarray, ...], run: Callable[..., Any]) -> None:
    """Run an operator on every band: ``run(x, quantization, *outs)`` writes its rows of `outs`, (N, any, H, W)."""
    for band in bands(spec, flat):
        run(band.x, band.quantization, *(band.of(out) for out in outs))
