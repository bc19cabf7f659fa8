"""Read what passes, and what belongs to it, from the stored outputs of a detector with numpy: as fast as it can."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_Passing = Callable[[np.ndarray, int, int, np.ndarray], tuple[np.ndarray, np.ndarray]]


class _Stored(NamedTuple):
    """How numpy reads an output of `size` cells and `channels` as it is stored.

    passing: cells and channels, in the order of memory, of what is greater than a code, or than one for each channel;
    cells: the cells of those, ascending; some: channels `c` of some cells, (n, len(c)); every: (cells, channels), a
    view or, of blocks, a copy; place: of cells and channels, with the numbers of channels and of cells, in the buffer.
    """

    passing: _Passing
    cells: Callable[[np.ndarray, int, int, np.ndarray], np.ndarray]
    some: Callable[[np.ndarray, int, np.ndarray, np.ndarray], np.ndarray]
    every: Callable[[np.ndarray, int], np.ndarray]
    place: Callable[[np.ndarray, np.ndarray, int, int], np.ndarray]


def _of_planes(x: np.ndarray, size: int, channels: int, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    channel, cell = np.divmod(np.flatnonzero(x.reshape(channels, size) > above.reshape(-1, 1)), size)
    return cell, channel


def _cells_of_planes(x: np.ndarray, size: int, channels: int, above: np.ndarray) -> np.ndarray:
    """Compare maxima of planes, which are the fastest thing that numpy does."""
    planes = x.reshape(channels, size)
    return np.flatnonzero(planes.max(0) > above if above.size == 1 else (planes > above[:, None]).any(0))


def _of_pixels(x: np.ndarray, size: int, channels: int, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    cell, channel = np.divmod(np.flatnonzero(x.reshape(size, channels) > above), channels)
    return cell, channel


def _of_blocks(x: np.ndarray, size: int, channels: int, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    each = np.full(-(-channels // 16) * 16, 127, above.dtype)  # no padding is greater
    each[:channels] = above
    block, at = np.divmod(np.flatnonzero(x.reshape(-1, size, 16) > each.reshape(-1, 1, 16)), 16 * size)
    return at // 16, block * 16 + at % 16


def _cells_by(passing: _Passing) -> Callable[[np.ndarray, int, int, np.ndarray], np.ndarray]:
    """Return what marks the cells of which something passes, in place of sorting them."""

    def cells(x: np.ndarray, size: int, channels: int, above: np.ndarray) -> np.ndarray:
        hit = np.zeros(size, bool)
        hit[passing(x, size, channels, above)[0]] = True
        return np.flatnonzero(hit)

    return cells


STORED = {
    "NHWC": _Stored(
        _of_pixels,
        _cells_by(_of_pixels),
        lambda x, size, cells, c: x.reshape(size, -1)[cells, c[0] : c[-1] + 1],
        lambda x, size: x.reshape(size, -1),
        lambda cell, channel, channels, size: cell * channels + channel,
    ),
    "NCHW": _Stored(
        _of_planes,
        _cells_of_planes,
        lambda x, size, cells, c: x.reshape(-1, size)[c[0] : c[-1] + 1, cells].T,
        lambda x, size: x.reshape(-1, size).T,
        lambda cell, channel, channels, size: channel * size + cell,
    ),
    "NCHW16c": _Stored(
        _of_blocks,
        _cells_by(_of_blocks),
        lambda x, size, cells, c: x.reshape(-1, size, 16)[c // 16, cells[:, None], c % 16],
        lambda x, size: x.reshape(-1, size, 16).transpose(1, 0, 2).reshape(size, -1),
        lambda cell, channel, channels, size: (channel // 16 * size + cell) * 16 + channel % 16,
    ),
}
_LISTS = {"NWC": "NHWC", "NCW": "NCHW", "NCW16c": "NCHW16c"}  # lists of cells are stored as maps are


def _stored(spec: Any) -> _Stored:
    tag = spec.layout.tag
    return STORED[_LISTS.get(tag, tag)]


def size_of(spec: Any) -> int:
    """Return the cells of an output."""
    return math.prod(spec.shape[2:])


def stored_steps(spec: Any, buffer: np.ndarray) -> np.ndarray:
    """Return an output as it is stored, (cells, channels): a view or, of blocks, a copy."""
    return _stored(spec).every(buffer, size_of(spec))[:, : spec.shape[1]]


def passing(spec: Any, buffer: np.ndarray, least: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return cells and channels of what has a code of `least` or more, in any order.

    least: -128 to 128, one, or one for each channel; no code has 128.
    """
    return _stored(spec).passing(buffer, size_of(spec), spec.shape[1], _below(least))


def passing_cells(spec: Any, buffer: np.ndarray, least: Any) -> np.ndarray:
    """Return the cells of which a channel has a code of `least` or more, ascending; least: as for `passing`."""
    return _stored(spec).cells(buffer, size_of(spec), spec.shape[1], _below(least))


def _below(least: Any) -> np.ndarray:
    """Return codes that are one less: int8, which numpy compares fastest, or int16 if one is below those."""
    below = np.asarray(np.asarray(least, np.int16) - 1)
    return below.astype(np.int8) if below.min() >= -128 else below


def some(spec: Any, buffer: np.ndarray, cells: np.ndarray, first: int, count: int) -> np.ndarray:
    """Return some channels of some cells as they are stored, (n, count)."""
    return _stored(spec).some(buffer, size_of(spec), cells, np.arange(first, first + count))


def real(spec: Any, stored: np.ndarray) -> np.ndarray:
    """Return what stored integers mean, float64 of float32; channels that have scales are on the last axis."""
    q = spec.quantization
    zeros, scales = np.asarray(q.zero_point, np.float32), np.asarray(q.scale, np.float32)
    return ((stored.astype(np.float32) - zeros) * scales).astype(np.float64)
