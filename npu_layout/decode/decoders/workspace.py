"""What the kernels of a Decoder write to, for one call at a time, in one process."""

from __future__ import annotations

import os

import numpy as np

from ... import kernels
from ...support import safe_lock
from ..results.detections import memory_for

_ROWS = 1024  # candidates that there is room for at first


class Workspace:
    """The kernels' detector (None: numpy decodes), and room for candidates, with edges of their boxes if `edged`.

    A child process needs another one: at the fork, another thread may have been in the kernels, and have the lock.

    made: what the kernels know of a head and its outputs, or None. collects: whether candidates are collected at all.
    """

    __slots__ = ("_how", "_process", "detector", "edges", "lock", "room")

    def __init__(self, made: kernels.Detection | None, collects: bool, edged: bool, backend: str | None = None) -> None:
        self._how, self._process = (made, collects, edged, backend), os.getpid()
        self.lock = safe_lock()
        self.detector = None if made is None else kernels.detector(made, backend)
        self.make_room(_ROWS if collects else 0)

    def make_room(self, rows: int) -> None:
        """Make room for so many candidates; what was found is lost."""
        edged = self._how[2]
        self.room, self.edges = memory_for(rows), np.empty((rows, 4)) if edged else None

    def of(self, backend: str) -> Workspace:
        """Return another one, for the kernels of a backend."""
        return Workspace(*self._how[:3], backend)

    def here(self) -> Workspace:
        """Return the one of this process: itself, or another one in a child."""
        return self if self._process == os.getpid() else Workspace(*self._how)
