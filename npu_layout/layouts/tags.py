"""Read the grammar of tags: which axes a tag has, and which storage dimensions.

The tag has the notation of TVM and oneDNN: an upper-case letter is what remains of an axis after its blocks, a number
and a lower-case letter are an inner block of that axis, outermost first.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ..errors import LayoutError
from .vendor_names import vendor_name

_TOKEN = re.compile(r"([A-Z])|([1-9][0-9]{0,17})([a-z])")  # 18 digits: no block is beyond int64
_CANONICAL = "NCDHW"


class Dim(NamedTuple):
    """One storage dimension: it counts ``(i // step) % block`` of logical index ``i`` of ``axis`` (block 0: no end)."""

    axis: int
    step: int
    block: int


def _suggestion(tag: str) -> str:
    """Return, in words, what an unreadable tag may be meant to be."""
    entry = vendor_name(tag)
    if entry is not None:
        block = f", block={entry.block or 16}" if "{block}" in entry.tag else ""
        return f". It is a vendor's name: Layout.named({entry.name!r}{block})"
    return f". Is it {tag.upper()}?" if tag.isalpha() and tag.islower() else ""


def _parse(tag: str) -> list[tuple[str, int]]:
    """Return the tokens of `tag`: (axis letter, block), block 0 for an outer part."""
    tokens: list[tuple[str, int]] = []
    at = 0
    while at < len(tag):
        token = _TOKEN.match(tag, at)
        if token is None:
            raise LayoutError(
                f"layout {tag!r}: cannot read {tag[at:]!r}; expected an upper-case letter (an axis) "
                f"or a number and a lower-case letter (a block of it), as in NCHW16c{_suggestion(tag)}"
            )
        outer, block, inner = token.groups()
        tokens.append((outer, 0) if outer else (inner.upper(), int(block)))
        at = token.end()
    outers = [letter for letter, block in tokens if not block]
    if not outers:
        raise LayoutError(f"layout {tag!r}: expected at least one axis (an upper-case letter), as in NCHW")
    for letter in outers:
        if outers.count(letter) > 1:
            raise LayoutError(f"layout {tag!r}: axis {letter} appears twice")
    for letter, block in tokens:
        if letter not in outers:
            raise LayoutError(
                f"layout {tag!r}: block {block}{letter.lower()} has no axis; expected an upper-case {letter} in the tag"
            )
    return tokens


def letters_of(tag: str) -> str:
    """Return the axes of `tag`, outermost first."""
    return "".join(letter for letter, block in _parse(tag) if not block)


@lru_cache(maxsize=256)  # the same few are made again and again, with each spec that is made of another one
def dimensions(tag: str, axes: str | None) -> tuple[str, tuple[Dim, ...]]:
    """Return the logical order of the axes, which is `axes` if that is given, and the storage dimensions of `tag`."""
    letters = letters_of(tag)
    if axes is None:
        axes = "".join(sorted(letters, key=_CANONICAL.index)) if set(letters) <= set(_CANONICAL) else letters
    elif sorted(axes) != sorted(letters):
        raise LayoutError(f"layout {tag!r}: axes must be an order of the letters {letters!r}, got {axes!r}")
    tokens = _parse(tag)
    steps = dict.fromkeys(letters, 1)
    blocks = []
    for letter, block in reversed(tokens):  # innermost first
        if block:
            blocks.append(Dim(axes.index(letter), steps[letter], block))
            steps[letter] *= block
    dims = [blocks.pop() if block else Dim(axes.index(letter), steps[letter], 0) for letter, block in tokens]
    return axes, tuple(dims)
