"""Refuse memory whose size does not fit a FrameSpec, and say which other rows or planes have that size."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import BufferSizeError, NpuLayoutError
from .pixel_formats import PixelFormat
from .plane_memory import (
    Numbers,
    PitchReading,
    coded_offsets,
    other_reading,
    readings,
    readings_apart,
    stored_rows,
    strides_of,
)


class Placed(NamedTuple):
    """Where the planes of a frame are meant to be: bytes from row to row in each, and the byte at which each begins."""

    name: str  #: of the pixel format
    form: PixelFormat
    size_wh: tuple[int, int]
    strides: Numbers
    offsets: Numbers

    @property
    def is_dense(self) -> bool:
        """Whether rows follow each other without gaps."""
        return self.strides == strides_of("", self.form.planes, self.size_wh[0], None)

    @property
    def end(self) -> int:
        """Where the last plane ends, the gap of its last row included."""
        rows = (stored_rows(plane, self.size_wh[1]) for plane in self.form.planes)
        return max(offset + stride * n for offset, stride, n in zip(self.offsets, self.strides, rows))

    @property
    def arguments(self) -> str:
        """The places of the planes, as arguments of a FrameSpec that say them."""
        dense = f"strides={self.strides} and " if self.is_dense else ""
        return f"{dense}offsets={self.offsets}"

    def describe(self) -> str:
        """Return the frame as messages name it."""
        width, height = self.size_wh
        pitch = "" if self.is_dense else f" with strides {self.strides}"
        return f"{self.name} of {width}x{height}{pitch}"


def check_size(placed: Placed, what: str, size: int | None, *, strides_given: bool) -> None:
    """Raise NpuLayoutError if a usual pitch or height explains the size, but places rows or planes elsewhere.

    strides_given: only other heights count then, and with pages only if the frame's own height needs larger ones:
    drivers round `sizeimage` up to pages when it is mapped.
    """
    if placed.form.is_tiled or size is None or size <= placed.end:
        return
    planes, size_wh = placed.form.planes, placed.size_wh
    found = readings(planes, size_wh, size, placed.strides, fixed=strides_given)
    other = other_reading(found, placed.strides, placed.offsets, stated=strides_given)
    if other is None:
        coded = None if found else coded_offsets(planes, size_wh, size, placed.strides)
        if coded is not None and len(coded) > 1:
            raise NpuLayoutError(
                f"{what}: size {size} fits no usual pitch and height, but has room for the planes of a decoder, which "
                f"rounds the height up: expected offsets={coded}, where a decoder places planes, or {placed.arguments} "
                f"if what is behind the last row is a gap"
            )
        return
    if other.strides == placed.strides:
        expected = f"offsets={other.offsets}, as drivers place planes that round the height up, or {placed.arguments}"
    else:
        at = "" if other.lines == size_wh[1] else f" and offsets={other.offsets}"
        expected = f"strides={other.strides}{at}, or {placed.arguments}"
    raise NpuLayoutError(
        f"{what}: size {size} is that of {other.lines} rows of {other.strides[0]} bytes{other.rounded}: "
        f"expected {expected} if what is behind the last row is a gap"
    )


def check_separate(placed: Placed, sizes: tuple[int, ...]) -> None:
    """Raise BufferSizeError if planes that are buffers of their own have another pitch: together, or else one."""
    planes, stated = placed.form.planes, not placed.is_dense
    ends = [stride * plane.rows(placed.size_wh[1]) for plane, stride in zip(planes, placed.strides)]
    longer = [i for i, (size, end) in enumerate(zip(sizes, ends)) if size > end]
    if not longer:
        return
    nowhere = (0,) * len(planes)
    found = readings_apart(planes, placed.size_wh, sizes, placed.strides, both=not stated)
    other = other_reading(found, placed.strides, nowhere, stated=stated)
    if other is not None:
        i = longer[0]
        raise _wrong_plane(placed, i, sizes[i], ends[i], other, other.strides[i], f"={other.strides[0]}")
    if any(read.strides == placed.strides for read in found):
        return  # they explain every plane, and a pitch that explains one is none of the others
    for i in longer:
        own = (placed.strides[i],)
        found = readings((planes[i],), placed.size_wh, sizes[i], own, apart=True, both=not stated)
        other = other_reading(found, own, (0,), stated=stated)
        if other is not None:
            raise _wrong_plane(placed, i, sizes[i], ends[i], other, other.strides[0], "= with that pitch")


def _wrong_plane(
    placed: Placed, i: int, size: int, end: int, reading: PitchReading, pitch: int, argument: str
) -> BufferSizeError:
    """Return what to raise of plane `i`, whose size is that of rows of another pitch."""
    plane = placed.form.planes[i]
    rows = plane.rows(reading.lines)
    paged = reading.rounded if size > pitch * rows else ""
    return BufferSizeError(
        f"buffer: plane {plane.name} has {size} bytes, which are {rows} rows of {pitch}{paged}; "
        f"{placed.describe()} has rows of {placed.strides[i]}: give strides{argument}, or the first {end} bytes"
    )


def reading_words(placed: Placed, nbytes: int) -> str:
    """Return in words what else has so many bytes: another pitch or height, pages, or a turned frame; "" if nothing."""
    return _other_rows(placed, nbytes) + _exchanged_sides(placed, nbytes)


def _other_rows(placed: Placed, nbytes: int) -> str:
    found = readings(placed.form.planes, placed.size_wh, nbytes, placed.strides)
    other = other_reading(found, placed.strides, placed.offsets)
    if other is None and not found:
        return ""
    read = other or found[0]
    say = f"; {nbytes} bytes fit {read.lines} rows of {read.strides[0]} bytes{read.rounded}: give "
    if other is None:
        return f"{say}size={nbytes}"
    at = "" if read.lines == placed.size_wh[1] else f", offsets={read.offsets}"
    size = f", size={nbytes}" if at or read.page else ""
    own = any((r.strides, r.offsets) == (placed.strides, placed.offsets) for r in found)
    gap = f", or {placed.arguments} and size={nbytes} if what is behind the last row is a gap" if own else ""
    return f"{say}strides={read.strides}{at}{size}{gap}"


def _exchanged_sides(placed: Placed, nbytes: int) -> str:
    width, height = placed.size_wh[::-1]
    found = readings(placed.form.planes, (width, height), nbytes, placed.strides, fixed=True)
    if width == height or not any(r.lines == height and not r.page for r in found):
        return ""
    return f"; a frame of {width}x{height} has as many, in rows of {placed.strides[0]}: size_wh is width, then height"
