"""Find where the planes of a frame are in memory, and which pitch and height explain a number of bytes.

A number of bytes is explained by a usual reading: rows that are rounded up, a height that is rounded up, both, and the
whole rounded up to pages. What none of these explains may be rows of any pitch, or have a
decoder's data behind the picture. A reading of other strides or offsets than those that were meant has other pixels.
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
_PAGED_UNIT = 16  # bytes: the same where a rounding to pages leaves several
_CODED_LINES = (16, 32)  # to whose multiples decoders round the height, whatever is behind the picture
# Motion vectors that Linux's drivers of decoders keep there: for each block of so many pixels so many bytes, and more.
# drivers/media/platform: rockchip/rkvdec/rkvdec.c, and of verisilicon/hantro_hw.h H.264, VP9, HEVC and AV1.
_BEHIND = ((16, 128, 0), (16, 64, 32), (64, 1024, 0), (16, 16, 0), (64, 768, 512))


class PitchReading(NamedTuple):
    """Planes with usual gaps: `lines` rows of the frame, in the first plane one every `strides[0]` bytes."""

    lines: int
    strides: Numbers
    offsets: Numbers
    size: int
    page: int = 0  #: bytes of the pages that the whole was rounded up to; 0 if it was not
    behind: int = 0  #: bytes of a decoder behind the planes

    @property
    def rounded(self) -> str:
        """What is behind the planes, and the rounding to pages, as messages name them behind the rows."""
        behind = f", with {self.behind} bytes of a decoder behind them" if self.behind else ""
        return behind + (f", rounded up to pages of {self.page}" if self.page else "")


def stored_rows(plane: Plane, height: int) -> int:
    """Return the rows of a plane in memory, those of half filled tiles included."""
    tile_h = plane.tile[1] if plane.tile else 1
    return _rounded_up(plane.rows(height), tile_h)


def strides_of(what: str, planes: Sequence[Plane], width: int, given: Any) -> Numbers:
    """Return the strides: without gaps, by the first plane's, or as given; NpuLayoutError if one is too short."""
    tiles = [plane.tile[0] if plane.tile else 1 for plane in planes]
    least = tuple(_rounded_up(plane.row_bytes(width), tile) for plane, tile in zip(planes, tiles))
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
) -> list[PitchReading]:
    """Return the usual readings of so many bytes: exact ones first, then those rounded up to pages, small pages first.

    strides: those that were meant, which count as usual; `fixed`: no others count. apart: `planes` is a single plane
    that is a buffer of its own; then equal rows of any length are a reading. both: rows and height may both be rounded.
    If there is no usual reading: those of the meant rows with a decoder's data behind them, else of rows of any pitch.
    """
    found: list[PitchReading | None] = []
    tried = [strides] if fixed else list(_usual_strides(planes, size_wh, nbytes, strides, apart))
    for lines in _rounded(size_wh[1], _LINES):
        for pitches in tried if both else _at_height(planes, size_wh, lines, tried):
            found.append(_as_one_piece(planes, lines, pitches, nbytes))
    if not any(found) and planes[0].tile is None:
        found += _with_decoders(planes, size_wh, nbytes, strides)
    if both and not fixed and not any(found) and planes[0].tile is None:
        for lines in _rounded(size_wh[1], _LINES):
            for pitch in _any_pitch(planes, size_wh[0], lines, nbytes, 1 if apart else _PITCH_UNIT):
                found.append(_as_one_piece(planes, lines, strides_of("", planes, size_wh[0], pitch), nbytes))
    return _exact_first(found)


def _as_one_piece(
    planes: Sequence[Plane], lines: int, strides: Numbers, nbytes: int, behind: int = 0
) -> PitchReading | None:
    """Return planes one behind the other as a reading of so many bytes, if they are one."""
    offsets, size = _one_behind_the_other(planes, lines, strides)
    if size + behind == nbytes:
        return PitchReading(lines, strides, offsets, size, 0, behind)
    page = next((page for page in _PAGES if _rounded_up(size + behind, page) == nbytes), 0)
    return PitchReading(lines, strides, offsets, size, page, behind) if page else None


def _with_decoders(
    planes: Sequence[Plane], size_wh: tuple[int, int], nbytes: int, strides: Numbers
) -> Iterator[PitchReading | None]:
    """Yield readings of the meant rows with what decoders keep behind them."""
    for lines in _rounded(size_wh[1], _LINES) if len(planes) > 1 else ():
        for side, each, more in _BEHIND:
            behind = -(-size_wh[0] // side) * -(-lines // side) * each + more
            yield _as_one_piece(planes, lines, strides, nbytes, behind)


def _any_pitch(planes: Sequence[Plane], width: int, lines: int, nbytes: int, unit: int) -> Iterator[int]:
    """Yield pitches of less than two rows with which planes of `lines` rows have so many bytes, or so many pages."""
    row = planes[0].row_bytes(width)
    dense = sum(plane.row_bytes(width) * plane.rows(lines) for plane in planes)
    equal, rest = divmod(row * nbytes, dense)
    if not rest and row <= equal < 2 * row and equal % unit == 0:
        yield equal
    for page in _PAGES if nbytes % _PAGES[0] == 0 else ():
        least, most = row * (nbytes - page) // dense + 1, row * nbytes // dense
        yield from range(_rounded_up(max(least, row), _PAGED_UNIT), min(most + 1, 2 * row), _PAGED_UNIT)


def readings_apart(
    planes: Sequence[Plane], size_wh: tuple[int, int], sizes: Numbers, strides: Numbers, *, both: bool = True
) -> list[PitchReading]:
    """Return the usual readings that explain the sizes of all planes, which are buffers of their own, exact ones first.

    An exact size may lack the gap of the last row. If there is no usual reading: those of rows of any pitch.
    """
    width, height = size_wh
    tried = list(_usual_strides(planes, size_wh, sum(sizes), strides, True))
    found: list[PitchReading | None] = []
    for lines in _rounded(height, _LINES):
        for pitches in tried if both else _at_height(planes, size_wh, lines, tried):
            found.append(_as_separate(planes, width, lines, pitches, sizes))
    if both and not any(found) and planes[0].tile is None:
        for lines in _rounded(height, _LINES):
            for pitch in _any_pitch(planes[:1], width, lines, sizes[0], 1):
                found.append(_as_separate(planes, width, lines, strides_of("", planes, width, pitch), sizes))
    return _exact_first(found)


def _as_separate(
    planes: Sequence[Plane], width: int, lines: int, strides: Numbers, sizes: Numbers
) -> PitchReading | None:
    """Return planes of buffers of their own as a reading of so many bytes each, if they are one."""
    ends = [stride * stored_rows(plane, lines) for plane, stride in zip(planes, strides)]
    gaps = [stride - plane.row_bytes(width) for plane, stride in zip(planes, strides)]
    reading = PitchReading(lines, strides, (0,) * len(planes), sum(ends))
    if all(end - gap <= size <= end for size, end, gap in zip(sizes, ends, gaps)):
        return reading
    page = next((page for page in _PAGES if all(_rounded_up(end, page) == size for size, end in zip(sizes, ends))), 0)
    return reading._replace(page=page) if page else None


def _exact_first(found: Sequence[PitchReading | None]) -> list[PitchReading]:
    return sorted((one for one in dict.fromkeys(found) if one is not None), key=lambda one: one.page)


def coded_offsets(planes: Sequence[Plane], size_wh: tuple[int, int], nbytes: int, strides: Numbers) -> Numbers | None:
    """Return where a decoder would place the planes, if so many bytes have room for its rows; None if they have not."""
    for lines in _rounded(size_wh[1], _CODED_LINES)[1:]:
        offsets, size = _one_behind_the_other(planes, lines, strides)
        if size <= nbytes:
            return offsets
    return None


def _at_height(
    planes: Sequence[Plane], size_wh: tuple[int, int], lines: int, tried: Sequence[Numbers]
) -> Sequence[Numbers]:
    """Return the strides to try at a height, so that not both are rounded: all at the frame's own, else two.

    At other heights these are the strides that were meant, and those without gaps.
    """
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
    found: Sequence[PitchReading], strides: Numbers, offsets: Numbers, *, stated: bool = False
) -> PitchReading | None:
    """Return a reading that has planes or rows elsewhere than they were meant to be; None if there is none.

    stated: the strides were given. If they explain the size too, another reading counts only if it explains it better:
    exactly where they need pages, or with smaller pages.
    """
    same = next((r for r in found if (r.strides, r.offsets) == (strides, offsets)), None)
    other = next((r for r in found if (r.strides, r.offsets) != (strides, offsets)), None)
    if same is None or other is None or not stated:
        return other
    return other if other.page < same.page else None


def _rounded(number: int, steps: Sequence[int]) -> list[int]:
    return list(dict.fromkeys([number, *(_rounded_up(number, step) for step in steps)]))


def _rounded_up(number: int, step: int) -> int:
    return -(-number // step) * step
