"""Write the cells of the picture for a terminal: in 24 or 8 bits of colour, or as plain text without colours."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from itertools import zip_longest
from typing import TextIO

from ..layouts import Shape
from .figure import Figure, View, fastest_first
from .memory_lines import SKIP, lines, words
from .palette import Colour
from .shown_part import Part

RESET = "\x1b[0m"
LEVELS = (0, 95, 135, 175, 215, 255)  # of the 6 x 6 x 6 colours from number 16 on, as in xterm


def colour_depth(stream: TextIO, wish: str = "auto") -> tuple[int, int]:
    """Return the bits of colour, 24, 8 or 0, and the columns of `stream`.

    `wish` is "auto", "always" or "never"; "auto" is no colour if NO_COLOR is set (https://no-color.org), if TERM is
    dumb, or if `stream` is not a terminal.
    """
    columns = shutil.get_terminal_size((120, 24)).columns
    quiet = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb" or not stream.isatty()
    if wish == "never" or (wish == "auto" and quiet):
        return 0, columns
    return 24 if os.environ.get("COLORTERM") in ("truecolor", "24bit") else 8, columns


def _code(colour: Colour, depth: int) -> str:
    if depth == 24:
        return "2;{};{};{}".format(*colour)
    red, green, blue = (min(range(6), key=lambda i: abs(LEVELS[i] - value)) for value in colour)
    return f"5;{16 + 36 * red + 6 * green + blue}"


class _CellTexts:
    """The texts of all cells, of one width and in colour."""

    def __init__(self, figure: Figure, depth: int) -> None:
        self.figure, self.depth = figure, depth
        shown = [figure.part[a].stop - 1 for a in figure.axes]
        self.longest = len(self._text(tuple(shown))) + 1

    def _text(self, index: Shape) -> str:
        if self.depth:
            return self.figure.label(index)
        colour = [index[self.figure.axes.index(a)] for a in self.figure.planes]
        return ".".join([*map(str, colour), self.figure.label(index)])

    def cell(self, index: Shape, read: bool, marking: bool) -> str:
        text = self._text(index)
        if not self.depth:
            return (f"[{text}]" if marking and read else f" {text} ").rjust(self.longest + 1 + marking)
        fill, ink = self.figure.paint(index, read)
        back, fore = _code(fill, self.depth), _code(ink, self.depth)
        bold = "1;" if marking and read else ""
        return f"\x1b[{bold}48;{back};38;{fore}m{text.center(self.longest + 1)}{RESET}"

    @property
    def width(self) -> int:
        return len(_strip(self.cell(tuple(self.figure.part[a].start for a in self.figure.axes), True, self.marking)))

    marking = False

    def pad(self) -> str:
        return ".".center(self.width)

    def skip(self, count: int) -> str:
        return f"+{count}".center(SKIP * self.width)


def _strip(text: str) -> str:
    """Return `text` without colours."""
    plain = []
    for i, piece in enumerate(text.split("\x1b[")):
        plain.append(piece if i == 0 else piece.partition("m")[2])
    return "".join(plain)


def _tensor(figure: Figure, cells: _CellTexts, view: View) -> list[str]:
    read = {int(o) for r in view.reads for o in r.offsets}
    planes = [plane for group in figure.shown_planes() for plane in group]
    wide = len(planes[0].rows[0]) * cells.width
    across = max(1, 48 // (wide + 2))
    result = ["the tensor"]
    for first in range(0, len(planes), across):
        tiles = planes[first : first + across]
        result.append("  ".join(plane.name.ljust(wide) for plane in tiles).rstrip())
        for rows in zip(*(plane.rows for plane in tiles)):
            painted = [
                "".join(cells.cell(i, not read or view.spec.offset(*i) in read, bool(read)) for i in row)
                for row in rows
            ]
            result.append("  ".join(painted))
    return result


def _memory(figure: Figure, cells: _CellTexts, view: View) -> list[str]:
    storage = view.spec.storage
    read = {int(o) for r in view.reads for o in r.offsets}
    result = [f"{view.spec.layout} memory", fastest_first(view.spec)]
    every = lines(storage, figure.part)
    digits = max(len(str(line[0].address)) for line in every)
    for line in every:
        text = f"{line[0].address:>{digits}} "
        for token in line:
            if token.kind == "cell":
                text += cells.cell(token.place, not read or token.address in read, bool(read))
            else:
                text += cells.pad() if token.kind == "pad" else cells.skip(token.elements)
        result.append(f"{text} {words(storage, line)}".rstrip())
    return result


def render(views: Sequence[View], part: Part, depth: int, columns: int) -> str:
    """Return the tensor, and its memory in each view; side by side if they fit into `columns` characters."""
    figure = Figure(views, part)
    cells = _CellTexts(figure, depth)
    cells.marking = any(view.reads for view in views)
    blocks = [_tensor(figure, cells, views[0]), *(_memory(figure, cells, view) for view in views)]
    widths = [max(len(_strip(line)) for line in block) for block in blocks]
    digits = ".".join(figure.planes.lower()) + "." * bool(figure.planes)
    digits += figure.joint.join(figure.axes[i].lower() for i in figure.inside)
    plain = f"One cell is one element: {digits}{figure.since()}." + (
        " [In brackets]: what is read." if cells.marking else ""
    )
    head = [text for text in (figure.legend() if depth else plain, figure.shown()) if text]
    groups: list[list[int]] = []
    for i, width in enumerate(widths):
        if groups and sum(widths[k] + 3 for k in groups[-1]) + width <= columns:
            groups[-1].append(i)
        else:
            groups.append([i])
    result = ["\n".join(head)] if head else []
    for group in groups:
        rows = zip_longest(*(blocks[i] for i in group), fillvalue="")
        result.append(
            "\n".join(
                "   ".join(t + " " * (widths[i] - len(_strip(t))) for i, t in zip(group, row)).rstrip() for row in rows
            )
        )
    return "\n\n".join(result)
