"""Lay out the memory of a tensor as lines of cells in address order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..layouts import Shape, Storage
from .shown_part import LONGEST, Part

WIDEST = LONGEST  # cells of a line
SKIP = 2  # cells of a skip
NEAR = 64  # elements behind a shown one that are checked for padding
ENUMERABLE = 1 << 22  # indices of an axis


def contains_element(storage: Storage, lowest: int, end: int) -> np.ndarray:
    """Return for each address from `lowest` to `end` - 1 whether it contains a logical element.

    An offset is a sum with a term for each index, so the storage's own offset function is called axis by axis. All
    are True if an axis is too long for that.
    """
    if max(storage.shape) > ENUMERABLE:
        return np.ones(end - lowest, bool)
    rank = len(storage.shape)
    zero = [0] * rank
    base = storage.offset(*zero)
    adds = [
        np.asarray(storage.offset(*zero[:i], np.arange(n), *zero[i + 1 :])) - base for i, n in enumerate(storage.shape)
    ]
    adds.sort(key=lambda a: -int(a.max() - a.min()))
    sums = np.array([base], np.int64)
    for i, add in enumerate(adds):
        low, high = (sum(int(f(a)) for a in adds[i + 1 :]) for f in (np.min, np.max))
        sums = (sums[:, None] + add).ravel()
        sums = sums[(sums + high >= lowest) & (sums + low < end)]
    found = np.zeros(end - lowest, bool)
    found[sums - lowest] = True
    return found


class Token(NamedTuple):
    """A part of a line: a shown element with the index `place`, a pad element, or `elements` that are skipped."""

    address: int
    kind: str  # "cell", "pad" or "skip"
    elements: int = 1
    place: Shape = ()
    padding: bool = False  # of a skip: whether it contains only padding

    @property
    def width(self) -> int:
        """The number of cells in the drawing."""
        return SKIP if self.kind == "skip" else 1


def _gap(storage: Storage, lowest: int, end: int) -> Iterator[Token]:
    """Yield tokens for the addresses from `lowest` to `end` - 1, none of which is a shown element."""
    if lowest >= end:
        return
    used = contains_element(storage, lowest, min(end, lowest + NEAR))
    if not used.any() and end - lowest <= 1 << 20:
        used = contains_element(storage, lowest, end)
    empty = int(used.argmax()) if used.any() else used.size
    if empty < WIDEST:
        yield from (Token(lowest + i, "pad") for i in range(empty))
    elif lowest + empty == end:
        yield Token(lowest, "skip", empty, padding=True)
        return
    else:
        empty = 0
    if lowest + empty < end:
        yield Token(lowest + empty, "skip", end - lowest - empty)


def tokens(storage: Storage, part: Part) -> list[Token]:
    """Return the buffer in address order: the elements of the part, padding beside them, and what is skipped."""
    grid = np.meshgrid(*(np.asarray(part[a]) for a in storage.layout.axes), indexing="ij")
    offsets = np.asarray(storage.offset(*grid)).ravel()
    order = np.argsort(offsets)
    indices = np.stack([g.ravel() for g in grid], axis=1)[order].tolist()
    result: list[Token] = []
    at = 0
    for address, index in zip(offsets[order].tolist(), indices):
        result += _gap(storage, at, address)
        result.append(Token(address, "cell", place=tuple(index)))
        at = address + 1
    return [*result, *_gap(storage, at, storage.size)]


Line = list[Token]


def lines(storage: Storage, part: Part) -> list[Line]:
    """Return `tokens` as lines that end where a stride of the storage ends, as long as WIDEST cells allow."""
    everything = tokens(storage, part)
    lowest = storage.start + sum((n - 1) * s for n, s in zip(storage.storage_shape, storage.strides) if s < 0)
    dims = [(abs(s), n) for n, s in zip(storage.storage_shape, storage.strides)]
    turns = sorted({stride for stride, _ in dims if stride > 1} | {storage.size}, reverse=True)
    several = {s * k for s, n in dims for k in range(2, min(n, WIDEST // s + 1)) if n % k == 0}

    def cuts(spans: Iterable[tuple[int, int]]) -> Iterator[list[Line]]:
        for period, within in spans:
            cut = _cut(everything, lowest, period, within)
            if max(map(_width, cut)) <= WIDEST:
                yield cut

    whole = next(cuts((t, t) for t in [*turns, 16]), None) or _cut(everything, lowest, 8, 8)
    fits = len(whole) <= WIDEST and any(token.kind == "skip" for token in everything)
    if fits or max(map(_width, whole)) >= WIDEST // 3:
        return whole
    fewer = [*((p, p) for p in sorted(several, reverse=True)), *_uneven(dims, turns)]
    return next((cut for cut in cuts(fewer) if len(cut) < len(whole)), whole)


def _uneven(dims: Sequence[tuple[int, int]], turns: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield a period of lines, and the span within which it counts, for strides whose extent no line length divides.

    An example is 17 channels of 2 images. The last line of a span is shorter than the others.
    """
    for stride, extent in sorted(dims, reverse=True):
        if stride <= WIDEST // 2 and extent > 1:
            count, end = math.ceil(extent / (WIDEST // stride)), stride * extent
            yield stride * math.ceil(extent / count), min((t for t in turns if t >= end), default=end)


def _cut(everything: Sequence[Token], lowest: int, period: int, within: int) -> list[Line]:
    """Break lines after every `period` addresses, and after every `within`."""
    result: list[Line] = []
    key = None
    for token in everything:
        at = token.address - lowest
        turn = at // within, at % within // period
        if result and turn == key:
            result[-1].append(token)
        elif result and token.kind == "skip" and _width(result[-1]) + SKIP <= WIDEST:
            result[-1].append(token)  # a skip ends a line rather than begin the next
        else:
            result.append([token])
            key = turn
    return result


def _width(line: Line) -> int:
    return sum(token.width for token in line)


def words(storage: Storage, line: Line) -> str:
    """Return what a line contains: ``c3 h0-1 w0-2``, axes in storage order, without those of extent 1."""
    cells = [token.place for token in line if token.kind == "cell"]
    if not cells:
        return "padding" if all(t.kind == "pad" or t.padding for t in line) else ""
    found = []
    for letter in storage.layout.letters:
        axis = storage.layout.axes.index(letter)
        if storage.shape[axis] > 1:
            low, high = min(i[axis] for i in cells), max(i[axis] for i in cells)
            found.append(f"{letter.lower()}{low}" + (f"-{high}" if high > low else ""))
    return " ".join(found)
