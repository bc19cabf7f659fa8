"""Choose the part of a tensor that a picture shows, and what each of its axes is in the picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import LayoutError
from ..layouts import Shape, Storage

LONGEST = 24  # indices of an axis alone, as many as a line of memory has cells
BUDGET = 240  # cells of a picture
MOST = 1 << 12  # cells of a picture that is asked for; thousands take seconds to draw, and nobody can read them


class Roles(NamedTuple):
    """The axes that a picture shows as colours, and as rows and columns of a plane; and the others."""

    colour: str
    rows: str
    columns: str
    others: str

    @property
    def planes(self) -> str:
        """The axes whose indices number the planes."""
        return self.others + (self.colour if self.colour not in self.rows + self.columns else "")


def roles(axes: str) -> Roles:
    """Return the roles of axes: those of H, W and C if the tensor has them, else of the last axes.

    >>> roles("NCHW"), roles("MK")
    (Roles(colour='C', rows='H', columns='W', others='N'), Roles(colour='M', rows='M', columns='K', others=''))
    """
    rest = [letter for letter in axes if letter != "C"]

    def pop(letter: str) -> str:
        picked = letter if letter in rest else rest[-1] if rest else ""
        if picked:
            rest.remove(picked)
        return picked

    columns = pop("W") or "C"
    rows = pop("H")
    colour = "C" if "C" in axes else pop("C") or rows or columns
    return Roles(colour, rows, columns, "".join(rest))


Part = dict[str, range]


def block(storage: Storage, letter: str) -> int:
    """Return how many elements along an axis its outermost block contains; 1 if it has no block."""
    return max((link.step for link in storage.chain(letter)), default=1)


def choose_part(
    storages: Sequence[Storage], focus: dict[str, int], reach: dict[str, int], wanted: Shape | None = None
) -> Part:
    """Return the indices of each axis that are shown.

    They are all indices of a small tensor; else some from `focus` on, at least `reach`. Blocks are shown from their
    start, with the start of the next one. If `wanted` is given, it is the extents: LayoutError if they are more than
    MOST elements.
    """
    first = storages[0]
    axes, shape = first.layout.axes, dict(zip(first.layout.axes, first.shape))
    blocks = {a: max(block(storage, a) for storage in storages) for a in axes}
    if wanted is not None:
        extents = {a: min(n, shape[a]) for a, n in zip(axes, wanted)}
        if math.prod(extents.values()) > MOST:
            raise LayoutError(
                f"part {'x'.join(map(str, wanted))}: a picture shows at most {MOST} elements, this part has "
                f"{math.prod(extents.values())}; expected smaller extents"
            )
    elif _is_small(shape):
        extents = shape
    else:
        extents = _readable(shape, blocks, {a: max(2, reach.get(a, 1) + 1) for a in axes})
    return {a: _span(extents[a], shape[a], focus.get(a, 0), reach.get(a, 1), blocks[a]) for a in axes}


def _is_small(shape: dict[str, int]) -> bool:
    """Return whether all of a tensor is shown."""
    role = roles("".join(shape))
    return math.prod(shape.values()) <= 150 and max(shape[a] for a in role.rows + role.columns) <= 12


def _readable(shape: dict[str, int], blocks: dict[str, int], least: dict[str, int]) -> dict[str, int]:
    """Return extents for a picture of a larger tensor: at most BUDGET cells, or MOST if `least` and blocks are long."""
    role = roles("".join(shape))
    caps = dict.fromkeys(shape, 2)
    caps.update({role.rows: 5, role.columns: 5} if shape.get(role.colour, 1) <= 8 else {role.rows: 2, role.columns: 3})
    caps[role.colour] = 20 if len(shape) > 1 else LONGEST
    extents = {}
    for a, b in blocks.items():
        extents[a] = min(shape[a], max(caps[a] if b < 8 else b + 2, least[a]))
    for a in (*role.others, *role.rows, *role.columns, role.colour):
        floor = 1 if a in role.others else max(least[a], blocks[a] + 2 if blocks[a] <= 32 else 2)
        while math.prod(extents.values()) > BUDGET and extents[a] > floor:
            extents[a] -= 1
    while math.prod(extents.values()) > MOST:
        longest = max(extents, key=lambda a: extents[a])
        extents[longest] = -(-extents[longest] // 2)
    return extents


def _span(extent: int, full: int, at: int, reach: int, block_size: int) -> range:
    """Return a range of `extent` indices below `full` that contains those from `at` to `at + reach`.

    It starts at 0 if possible, else at the start of the block, else as late as possible.
    """
    starts = [0, *([at - at % block_size] if block_size > 1 else []), min(at, full - extent)]
    start = next((s for s in starts if at + reach <= s + extent), at)
    return range(start, min(start + extent, full))
