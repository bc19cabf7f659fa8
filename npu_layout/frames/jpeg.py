"""Read a JPEG's markers: its size, where it ends, and whether a decoder lacked data before that."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ..errors import NpuLayoutError

_START, _SCAN, _END = 0xD8, 0xDA, 0xD9
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# In the bytes of a scan, FF is followed by 00, by a restart marker, or by the next marker (ITU-T T.81, B.1.1.5).
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_RESTART = re.compile(rb"\xff([\xd0-\xd7])")
_RESTARTS = bytes(range(0xD0, 0xD8))  # they follow each other in this order, from RST0 in each scan on (B.2.1)
# No marker, and no code of many zeros; a decoder that waits for a restart marker finds it.
_MORE = bytes(n * 97 % 251 for n in range(1, 65))
_MORE += b"".join(b"\xff" + bytes([code]) + _MORE for code in _RESTARTS)


def _markers(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the code and the place of each marker behind the first, until one does not follow."""
    at = 2
    while at + 2 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a byte that fills
            at += 1
            continue
        yield marker, at
        if marker in (_END, _START):
            return
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == _SCAN:
            found = _MARKER.search(data, at)
            if found is None:
                return
            at = found.end() - 2


def jpeg_size(data: bytes) -> tuple[int, int]:
    """Return width and height from a JPEG's frame header; NpuLayoutError if it has none, or one of 0."""
    for marker, at in _markers(data):
        if marker in _FRAMES and at + 9 <= len(data):
            width, height = (int.from_bytes(data[at + i : at + i + 2], "big") for i in (7, 5))
            if not (width and height):
                raise NpuLayoutError(f"MJPEG: expected a JPEG whose header has its size, got one of {width}x{height}")
            return width, height
    raise NpuLayoutError(f"MJPEG: expected a JPEG with a frame header, got {len(data)} bytes without one")


def jpeg_end(data: bytes) -> tuple[int | None, str]:
    """Return the number of bytes of the JPEG that `data` begins with; None, and why, if it has no end.

    What is behind the end is not looked at: drivers leave zeros or an older frame there.
    """
    if data[:2] != b"\xff\xd8":
        return None, "do not begin with FF D8"
    scan = None
    for marker, at in _markers(data):
        if scan is not None and _restarts_are_lost(data, scan, at):
            return None, f"have restart markers out of order before byte {at} (bytes between them were lost)"
        if marker == _END:
            return at + 2, ""
        if marker == _START:
            return None, f"do not end with FF D9 (its end was lost: another JPEG begins at byte {at})"
        scan = at if marker == _SCAN else None
    return None, "do not end with FF D9 (its end was lost)"


def _restarts_are_lost(data: bytes, begin: int, end: int) -> bool:
    codes = b"".join(_RESTART.findall(data, begin + 2 + int.from_bytes(data[begin + 2 : begin + 4], "big"), end))
    return codes != (_RESTARTS * (len(codes) // 8 + 1))[: len(codes)]


def may_lack_data(pixels: np.ndarray) -> bool:
    """Return whether a decoder may have made the last of these pixels (H, W[, 3]) without data.

    libjpeg then makes them of Y, U and V of 128 (jdhuff.c, decode_mcu): gray, but beside other colours, with which it
    interpolates. Of a progressive JPEG that is so only if its first scan lacks data.
    """
    rows, columns = (max((size - 1) % 8, 1) for size in pixels.shape[:2])
    return bool((pixels[-rows:, -columns:] == 128).all())


def with_more_data(data: bytes) -> bytes:
    """Return a JPEG with more data in its last scan: the same picture, unless a decoder lacks some."""
    return data[:-2].rstrip(b"\xff") + _MORE + data[-2:]
