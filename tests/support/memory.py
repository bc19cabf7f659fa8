"""Buffers between pages which nobody may touch: one byte too far and the process dies."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

PAGE = mmap.PAGESIZE
LAST_CACHE = 4 << 20  # what the last cache of the machine is said to hold while tests run (conftest.py)
_libc = ctypes.CDLL(None, use_errno=True)


class Fenced:
    """Room for up to `most` bytes with a page of PROT_NONE before and behind it."""

    def __init__(self, most: int) -> None:
        self.room = -(-most // PAGE) * PAGE
        self._map = mmap.mmap(-1, self.room + 2 * PAGE)
        self._bytes = np.frombuffer(self._map, np.uint8)
        start = self._bytes.ctypes.data
        for fence in (start, start + PAGE + self.room):
            if _libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(PAGE), 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def last(self, count: int) -> np.ndarray:
        """`count` bytes that end where the fence begins."""
        end = PAGE + self.room
        return self._bytes[end - count : end]

    def first(self, count: int) -> np.ndarray:
        """`count` bytes that begin where the fence ends."""
        return self._bytes[PAGE : PAGE + count]
