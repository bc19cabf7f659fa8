"""Count what one read touches of a buffer: runs of consecutive elements, cache lines, bytes fetched but not used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError
from ..layouts import check_extents
from ..support import many

MOST = 1 << 20  # elements of one read
CACHE_LINE = 64  # bytes, of nearly every CPU; the default of explain's cache_line


@dataclass(frozen=True, eq=False)
class Reads:
    """The elements that one convolution window or one gray pixel reads.

    Attributes
    ----------
    what
        A phrase for it: ``3x3 window at h 0, w 0``.
    offsets
        Element offsets in the buffer, ascending; int64.
    bits
        The size of one element.
    cache_line
        The size of a cache line in bytes. The buffer starts on a line.
    """

    what: str
    offsets: np.ndarray
    bits: int
    cache_line: int = CACHE_LINE

    @property
    def runs(self) -> list[tuple[int, int]]:
        """(first offset, elements) of each run of consecutive elements."""
        starts = np.flatnonzero(np.diff(self.offsets, prepend=self.offsets[0] - 2) != 1)
        lengths = np.diff(starts, append=self.offsets.size)
        return [(int(self.offsets[at]), int(n)) for at, n in zip(starts, lengths)]

    @property
    def lines(self) -> list[int]:
        """The cache lines touched, ascending; line 0 contains the buffer's first byte."""
        first = self.offsets * self.bits // (8 * self.cache_line)
        last = ((self.offsets + 1) * self.bits - 1) // (8 * self.cache_line)
        further = np.arange((last - first).max() + 1)  # an element may be larger than a line
        return [int(line) for line in np.unique(np.minimum(first[:, None] + further, last[:, None]))]

    @property
    def bytes_read(self) -> int:
        """The bytes of the elements, rounded up."""
        return -(-self.offsets.size * self.bits // 8)

    @property
    def bytes_fetched(self) -> int:
        """The bytes of all cache lines that are touched."""
        return len(self.lines) * self.cache_line

    @property
    def bytes_wasted(self) -> int:
        """The bytes that are fetched and not used here; a neighbouring read may use them."""
        return self.bytes_fetched - self.bytes_read

    @property
    def counts(self) -> tuple[str, str]:
        """Two phrases: the elements, runs and cache lines that are read; the bytes that are fetched and wasted."""
        return (
            f"{many(self.offsets.size, 'element')} in {many(len(self.runs), 'run')}, "
            f"{many(len(self.lines), 'cache line')} of {self.cache_line} bytes",
            f"{self.bytes_fetched} bytes fetched, "
            f"{self.bytes_wasted} of them wasted ({100 * self.bytes_wasted / self.bytes_fetched:.0f} %)",
        )

    def __str__(self) -> str:
        return f"{self.what}: {'; '.join(self.counts)}"


def read(spec: TensorSpec, what: str, chosen: dict[str, range], cache_line: int) -> Reads:
    """Return the read of all elements whose indices are in `chosen`, a range for each axis, in a buffer of `spec`."""
    offsets = spec.offset(*np.ix_(*(np.asarray(chosen[letter]) for letter in spec.axes)))
    bits = 4 if spec.element.nibbles else 8 * spec.stored.itemsize
    return Reads(what, np.sort(offsets, axis=None), bits, cache_line)


def _single(at: dict[str, int]) -> dict[str, range]:
    return {letter: range(i, i + 1) for letter, i in at.items()}


def _where(chosen: dict[str, range], letters: Sequence[str]) -> str:
    return ", ".join(f"{letter.lower()} {chosen[letter].start}" for letter in letters)


def window(spec: TensorSpec, size: Sequence[Any], at: dict[str, int], cache_line: int = CACHE_LINE) -> Reads:
    """Return the read of a convolution window from `at` on: `size` over the last axes but N and C, every channel."""
    extents = check_extents("window", size)
    if not extents:
        raise LayoutError("window: expected the extents of a window, such as (3, 3), got none")
    spatial = [letter for letter in spec.axes if letter not in "NC"][-len(extents) :]
    text = "x".join(map(str, extents))
    if len(spatial) < len(extents):
        raise LayoutError(
            f"window {text}: {spec.describe()} has {len(spatial)} axes besides N and C, expected {len(extents)}"
        )
    shape = dict(zip(spec.axes, spec.shape))
    chosen = _single(at)
    for letter, extent in zip(spatial, extents):
        chosen[letter] = range(at[letter], at[letter] + extent)
        if chosen[letter].stop > shape[letter]:
            raise LayoutError(
                f"window {text} at {_where(chosen, spatial)} reaches beyond {spec.describe()}: "
                f"it ends at {letter} {chosen[letter].stop}, expected {shape[letter]} or less"
            )
    if "C" in shape:
        chosen["C"] = range(shape["C"])
    count = math.prod(len(indices) for indices in chosen.values())
    if count > MOST:
        raise LayoutError(f"window {text}: it reads {count} elements of {spec.describe()}, expected at most {MOST}")
    return read(spec, f"{text} window at {_where(chosen, spatial)}", chosen, cache_line)


def gray(spec: TensorSpec, at: dict[str, int], cache_line: int = CACHE_LINE) -> Reads:
    """Return the read of one gray pixel: the first three channels at `at`."""
    channels = dict(zip(spec.axes, spec.shape)).get("C", 0)
    if channels < 3:
        raise LayoutError(f"gray: expected an axis C of at least 3, got {channels}, {spec.describe()}")
    chosen = {**_single(at), "C": range(3)}
    return read(spec, f"gray pixel at {_where(chosen, [a for a in spec.axes if a not in 'NC'])}", chosen, cache_line)
