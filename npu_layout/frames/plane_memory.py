"""Where the planes of a frame are in memory, and of which pitch and height a number of bytes is.

A number of bytes is explained by a usual reading: rows that are rounded up, a height that is rounded up, both, and the
whole rounded up to pages. A reading of other strides or offsets than those that were meant has other pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import NpuLayoutError
from ..support import whole_numbers
from .pixel_formats import Plane

Numbers = tuple[int, ...]
_PITCHES = (8, 16, 32, 64, 128, 256, 512, 1024)  # bytes: what cameras and codecs round a row of a plane up to
_LINES = (2, 4, 8, 16, 32, 64, 128)  # to whose multiples drivers round the height
_PAGES = (4096, 16384)  # bytes, to whose multiples allocators round a buffer
_PITCH_UNIT = 4  # bytes: every pitch of a whole frame that was met is a multiple


class Reading(NamedTuple):
    """Planes with usual gaps: `lines` rows of the frame, in the first plane one every `strides[0]` bytes."""

    lines: int
    strides: Numbers
    offsets: Numbers
    size: int
    page: int = 0  #: bytes of the pages that `size` was rounded up to; 0 if it was not

    @property
    def rounded(self) -> str:
        """The rounding to pages, as messages name it behind the rows."""
        return f", rounded up to pages of {self.page}" if self.page else ""


def stored_rows(plane: Plane, height: int) -> int:
    """Return the rows of a plane in memory, those of half filled tiles included."""
    tile_h = plane.tile[1] if plane.tile else 1
    return _up(plane.rows(height), tile_h)


def strides_of(what: str, planes: Sequence[Plane], width: int, given: Any) -> Numbers:
    """Return the strides: without gaps, by the first plane's, or as given; NpuLayoutError if one is too short."""
    tiles = [plane.tile[0] if plane.tile else 1 for plane in planes]
    least = tuple(_up(plane.row_bytes(width), tile) for plane, tile in zip(planes, tiles))
    if given is None:
        return least
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        first = planes[0].bytes_per_pixel
        ratios = [plane.bytes_per_pixel / first for plane in planes]
        strides = tuple(int(-(-int(given) * ratio // 1)) for ratio in ratios)
        if given >= least[0]:  # an odd first pitch is rounded up where the others have pairs
            strides = tuple(map(max, strides, least))
    else:
        strides = whole_numbers(f"{what}: strides", given, len(planes), None)
    for plane, stride, tile, needed in zip(planes, strides, tiles, least):
        if stride < needed or stride % tile:
            tiled = f" in whole tiles of {tile}" if tile > 1 else ""
            hint = ""
            if stride < 0:
                hint = "; a picture stored from the bottom up: give its array with the rows reversed, planes[::-1]"
            raise NpuLayoutError(
                f"{what}: strides: plane {plane.name} expects at least {needed} bytes from one row to the next{tiled}, "
                f"got {stride}{hint}"
            )
    return strides


def offsets_of(what: str, planes: Sequence[Plane], height: int, strides: Sequence[int], given: Any) -> Numbers:
    """Return the byte at which each plane begins: one behind the other, or as given."""
    if given is not None:
        return whole_numbers(f"{what}: offsets", given, len(planes), 0)
    return _one_behind_the_other(planes, height, strides)[0]


def _one_behind_the_other(planes: Sequence[Plane], height: int, strides: Sequence[int]) -> tuple[Numbers, int]:
    """Return where each plane begins, and the bytes of all."""
    ends = [0]
    for plane, stride in zip(planes, strides):
        ends.append(ends[-1] + stride * stored_rows(plane, height))
    return tuple(ends[:-1]), ends[-1]


def side_by_side(distance: int, stride: int, row: int, other_row: int) -> bool:
    """Return whether rows that alternate at one stride have no byte in common."""
    between = distance % stride
    return between >= row and between + other_row <= stride


def readings(
    planes: Sequence[Plane],
    size_wh: tuple[int, int],
    nbytes: int,
    strides: Numbers,
    *,
    fixed: bool = False,
    apart: bool = False,
    both: bool = True,
) -> list[Reading]:
    """Return the usual readings of so many bytes, exact ones first, then those that are rounded up to pages.

    strides: those that were meant, which count as usual; alone if they are `fixed`. apart: the planes are one that is a
    buffer of its own, of which equal rows of any length are a reading. both: with rows and height both rounded.
    """
    exact: list[Reading] = []
    paged: list[Reading] = []
    tried = [strides] if fixed else list(_usual_strides(planes, size_wh, nbytes, strides, apart))
    for lines in _rounded(size_wh[1], _LINES):
        for pitches in tried if both else _at_height(planes, size_wh, lines, tried):
            offsets, size = _one_behind_the_other(planes, lines, pitches)
            if size == nbytes:
                exact.append(Reading(lines, pitches, offsets, size))
            else:
                page = next((page for page in _PAGES if _up(size, page) == nbytes), 0)
                paged += [Reading(lines, pitches, offsets, size, page)] if page else []
    return exact + paged


def readings_apart(
    planes: Sequence[Plane], size_wh: tuple[int, int], sizes: Numbers, strides: Numbers, *, both: bool = True
) -> list[Reading]:
    """Return the usual readings that planes which are buffers of their own have in common, exact ones first.

    An exact size may be that of the rows without the gap of the last one.
    """
    width, height = size_wh
    exact: list[Reading] = []
    paged: list[Reading] = []
    tried = list(_usual_strides(planes, size_wh, sum(sizes), strides, True))
    for lines in _rounded(height, _LINES):
        for pitches in tried if both else _at_height(planes, size_wh, lines, tried):
            ends = [stride * stored_rows(plane, lines) for plane, stride in zip(planes, pitches)]
            gaps = [stride - plane.row_bytes(width) for plane, stride in zip(planes, pitches)]
            reading = Reading(lines, pitches, (0,) * len(planes), sum(ends))
            if all(end - gap <= size <= end for size, end, gap in zip(sizes, ends, gaps)):
                exact.append(reading)
                continue
            page = next((page for page in _PAGES if all(_up(end, page) == size for size, end in zip(sizes, ends))), 0)
            paged += [reading._replace(page=page)] if page else []
    return exact + paged


def _at_height(
    planes: Sequence[Plane], size_wh: tuple[int, int], lines: int, tried: Sequence[Numbers]
) -> Sequence[Numbers]:
    """Return the strides that are no second rounding: all at the frame's height, the meant and the least elsewhere."""
    if lines == size_wh[1]:
        return tried
    least = strides_of("", planes, size_wh[0], None)
    return [strides for strides in tried if strides in (tried[0], least)]


def _usual_strides(
    planes: Sequence[Plane], size_wh: tuple[int, int], nbytes: int, strides: Numbers, apart: bool
) -> Iterator[Numbers]:
    width, height = size_wh
    first = planes[0]
    row = first.row_bytes(width)
    pitches = dict.fromkeys(_rounded(row, _PITCHES))
    dense = sum(plane.row_bytes(width) * stored_rows(plane, height) for plane in planes)
    if first.tile is None:
        equal, rest = divmod(row * nbytes, dense)  # any other pitch: all bytes, in equal rows
        if not rest and equal >= row and (apart or (equal % _PITCH_UNIT == 0 and equal < 2 * row)):
            pitches[equal] = None
    whole = first.tile[0] if first.tile else 1
    found = [strides_of("", planes, width, pitch) for pitch in pitches if pitch % whole == 0]
    yield from dict.fromkeys([strides, *found])


def other_reading(
    found: Sequence[Reading], strides: Numbers, offsets: Numbers, *, stated: bool = False
) -> Reading | None:
    """Return a reading with planes or rows elsewhere than those that were meant; None if there is none.

    stated: somebody said the strides, so that another reading counts only if it explains more: an exact size, where
    theirs is rounded up to pages.
    """
    same = next((r for r in found if (r.strides, r.offsets) == (strides, offsets)), None)
    other = next((r for r in found if (r.strides, r.offsets) != (strides, offsets)), None)
    if same is None or other is None or not stated:
        return other
    return other if same.page and not other.page else None


def _rounded(number: int, steps: Sequence[int]) -> list[int]:
    return list(dict.fromkeys([number, *(_up(number, step) for step in steps)]))


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
