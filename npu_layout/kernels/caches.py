"""Return the sizes of the caches of this machine's first CPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

SYSFS = "/sys/devices/system/cpu/cpu0/cache"
USUAL = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}  # if the machine does not report them
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Caches(NamedTuple):
    """The bytes of each level of data caches and of a cache line, and whether they are known or assumed."""

    sizes: Mapping[int, int]
    line: int
    known: bool

    @property
    def last(self) -> int:
        """The bytes of the last level."""
        return self.sizes[max(self.sizes)]

    def __str__(self) -> str:
        levels = ", ".join(f"L{level} {human(size)}" for level, size in sorted(self.sizes.items()))
        return f"{levels}, lines of {self.line} bytes{'' if self.known else ' (assumed)'}"


def human(size: int) -> str:
    """Return a number of bytes in words.

    >>> human(48 << 10), human(32 << 20), human(1000)
    ('48 KiB', '32 MiB', '1000 B')
    """
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"


def _line(*path: str) -> str:
    with open(os.path.join(*path), encoding="ascii") as file:
        return file.read().strip()


def caches(folder: str = SYSFS) -> Caches:
    """Return the caches that Linux's sysfs reports in `folder`, or usual ones."""
    sizes: dict[int, int] = {}
    line = 64
    try:
        found = sorted(name for name in os.listdir(folder) if name.startswith("index"))
    except OSError:  # no such folder, or no permission to enter it
        found = []
    for index in found:
        try:
            if _line(folder, index, "type") == "Instruction":
                continue
            text = _line(folder, index, "size")
            unit = _UNITS.get(text[-1:], 1)
            sizes[int(_line(folder, index, "level"))] = int(text.rstrip("KMG")) * unit
            line = int(_line(folder, index, "coherency_line_size"))
        except (OSError, ValueError):
            continue
    known = {1, 2} <= sizes.keys() and min(sizes.values()) > 0 and line > 0
    return Caches(sizes, line, True) if known else Caches(dict(USUAL), 64, False)
