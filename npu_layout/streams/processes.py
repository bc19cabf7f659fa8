"""Tell the process that made an object from its forked children, in which the object's threads do not exist."""

from __future__ import annotations

import os

from ..errors import NpuLayoutError


class Process:
    """The process in which it was made."""

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = os.getpid()

    @property
    def is_this(self) -> bool:
        """Whether the caller is in that process."""
        return os.getpid() == self._number

    def check(self, what: str) -> None:
        """Raise NpuLayoutError, which calls what was made `what`, in another process."""
        if not self.is_this:
            raise NpuLayoutError(
                f"{what}: it was made in process {self._number}, and its threads are not in this one, {os.getpid()}, "
                f"which was forked; make a new one here, with a source and engines of its own"
            )
