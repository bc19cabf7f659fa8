"""Choose what every panel of a picture shows: the part of the tensor, its colours, and the labels of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..buffers import TensorSpec
from ..layouts import Shape
from .palette import PALE, WHITE, Colour, PlaneColours, ink_on, mix
from .reads import Reads
from .shown_part import Part, roles

CELL = 20.0  # pixels
FADED = 0.82  # the share of white in the colour of an element that is not read


class View(NamedTuple):
    """One storage of the tensor, and the elements that are marked in it."""

    spec: TensorSpec
    reads: tuple[Reads, ...]
    at: int | None = None  # offset of one more marked element
    facts: tuple[str, ...] = ()  # written below its memory

    @property
    def marked(self) -> set[int]:
        """The offsets of the framed elements."""
        found = {int(o) for r in self.reads for o in r.offsets}
        return found if found or self.at is None else {self.at}


def fastest_first(spec: TensorSpec) -> str:
    """Return the order in which the indices change along the memory: ``c%16 moves first, then w, h, c//16``."""
    moving = [
        (abs(stride), dim)
        for dim, extent, stride in zip(spec.layout.dims, spec.storage_shape, spec.storage_strides)
        if extent > 1
    ]
    names = [digit(spec.axes[dim.axis], dim.step, dim.block) for _, dim in sorted(moving, key=lambda pair: pair[0])]
    return "" if not names else f"{names[0]} moves first" + (f", then {', '.join(names[1:])}" if names[1:] else "")


def digit(letter: str, step: int, block: int) -> str:
    """Return the index that one storage dimension counts, as Python: ``c``, ``c//16``, ``c%16``."""
    return letter.lower() + (f"//{step}" if step > 1 else "") + (f"%{block}" if block else "")


class ElementGrid(NamedTuple):
    """A grid of shown elements: its name, and the logical index of each row and column."""

    name: str
    rows: list[list[Shape]]


@dataclass
class Figure:
    """The part, the colours and the labels of the cells; all panels share them."""

    views: Sequence[View]
    part: Part

    def __post_init__(self) -> None:
        spec = self.views[0].spec
        self.axes = spec.axes
        self.role = roles(self.axes)
        self.planes = "".join(a for a in self.role.planes if spec.shape[self.axes.index(a)] > 1)
        self.colours = PlaneColours([view.spec.storage for view in self.views], self.part)
        inside = dict.fromkeys(self.role.rows + self.role.columns)
        self.inside = [self.axes.index(letter) for letter in inside]
        spans = {i: self.part[self.axes[i]] for i in self.inside}
        far = max(span.stop for span in spans.values()) > 100  # long numbers: counted from the part's start
        self.origin = {i: span.start if far else 0 for i, span in spans.items()}
        digits = max(span.stop - 1 - self.origin[i] for i, span in spans.items())
        self.joint = "" if digits < 10 else ","
        longest = self.joint.join(str(digits) for _ in self.inside)
        self.cell = max(CELL, 6.6 * len(longest) + 5)

    def label(self, index: Shape) -> str:
        """Return the digits in a cell: its indices within its plane."""
        return self.joint.join(str(index[i] - self.origin[i]) for i in self.inside)

    def name(self, index: Shape) -> str:
        """Return the whole index in words: ``n0 c3 h1 w2``."""
        return " ".join(f"{letter.lower()}{i}" for letter, i in zip(self.axes, index))

    def shown_planes(self) -> list[list[ElementGrid]]:
        """Return the shown planes; those in one list differ only in the axis that the colours show."""
        role, part = self.role, self.part
        colours = part[role.colour] if role.colour in role.planes else range(1)
        return [
            [self._plane({**outer, **({role.colour: c} if role.colour in role.planes else {})}) for c in colours]
            for outer in self._indices(role.others)
        ]

    def _indices(self, letters: str) -> list[dict[str, int]]:
        found: list[dict[str, int]] = [{}]
        for letter in letters:
            found = [{**head, letter: i} for head in found for i in self.part[letter]]
        return found

    def _plane(self, fixed: dict[str, int]) -> ElementGrid:
        role = self.role
        grid = [
            [
                {**fixed, **({role.rows: row} if role.rows else {}), role.columns: column}
                for column in self.part[role.columns]
            ]
            for row in (self.part[role.rows] if role.rows else range(1))
        ]
        name = " ".join(f"{a.lower()}{fixed[a]}" for a in self.planes)
        return ElementGrid(name, [[tuple(place[a] for a in self.axes) for place in row] for row in grid])

    def paint(self, index: Shape, read: bool) -> tuple[Colour, Colour]:
        """Return the fill and the ink of a cell."""
        colour = self.colours[index]
        return (colour, ink_on(colour)) if read else (mix(colour, WHITE, FADED), PALE)

    def legend(self) -> str:
        """Return how to read a cell."""
        letters = " ".join(self.axes[i].lower() for i in self.inside)
        colour = " and ".join(self.planes or self.role.colour).lower()
        return f"One cell is one element. Its colour shows {colour}; its digits are {letters}{self.since()}."

    def since(self) -> str:
        """Return where the digits begin, if not at 0."""
        origin = ", ".join(f"{self.axes[i].lower()} {start}" for i, start in self.origin.items() if start)
        return f", counted from {origin}" if origin else ""

    def shown(self) -> str:
        """Return which part of the tensor is shown; empty if all of it is."""
        spec = self.views[0].spec
        if all(len(self.part[a]) == n for a, n in zip(self.axes, spec.shape)):
            return ""
        spans = [
            f"{a.lower()} {r.start}" + (f"-{r.stop - 1}" if len(r) > 1 else "")
            for a, r in ((a, self.part[a]) for a in self.axes)
        ]
        return f"Shown: {', '.join(spans)}; +n: n more elements that are not shown."
