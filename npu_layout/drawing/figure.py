"""The picture of a tensor beside its memory: planes of coloured cells, and the same cells in address order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..buffers import TensorSpec
from ..layouts import Shape
from .memory_lines import SKIP, Line, Part, lines, roles, words
from .palette import INK, WHITE, Colour, Planes, ink_on, mix
from .reads import Reads
from .scene import Box, Label, Scene, Stroke

GRAY: Colour = (110, 110, 110)
PALE: Colour = (190, 190, 190)
EMPTY: Colour = (247, 247, 247)
MARGIN, CELL = 18.0, 20.0
FADED = 0.82  # how much white an element gets that is not read
PLANES = 340  # pixels that the planes may take


class View(NamedTuple):
    """One storage of the tensor, and what is marked in it."""

    spec: TensorSpec
    reads: tuple[Reads, ...]
    at: int | None = None  # offset of one more marked element
    facts: tuple[str, ...] = ()  # written below its memory

    @property
    def marked(self) -> set[int]:
        """Offsets of what is framed."""
        found = {int(o) for r in self.reads for o in r.offsets}
        return found if found or self.at is None else {self.at}


def fastest_first(spec: TensorSpec) -> str:
    """What changes along the memory: ``c%16 moves first, then w, h, c//16``."""
    moving = [
        (abs(stride), dim)
        for dim, extent, stride in zip(spec.layout.dims, spec.storage_shape, spec.storage_strides)
        if extent > 1
    ]
    names = [digit(spec.axes[dim.axis], dim.step, dim.block) for _, dim in sorted(moving, key=lambda pair: pair[0])]
    return "" if not names else f"{names[0]} moves first" + (f", then {', '.join(names[1:])}" if names[1:] else "")


def digit(letter: str, step: int, block: int) -> str:
    """What one storage dimension counts, in Python: ``c``, ``c//16``, ``c%16``."""
    return letter.lower() + (f"//{step}" if step > 1 else "") + (f"%{block}" if block else "")


@dataclass
class Figure:
    """What all panels share: the part, the colours, the labels of the cells."""

    views: Sequence[View]
    part: Part

    def __post_init__(self) -> None:
        spec = self.views[0].spec
        self.axes = spec.axes
        self.role = roles(self.axes)
        self.planes = "".join(a for a in self.role.planes if spec.shape[self.axes.index(a)] > 1)
        self.colours = Planes([view.spec.storage for view in self.views], self.part)
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
        """The digits in a cell: where it lies in its plane."""
        return self.joint.join(str(index[i] - self.origin[i]) for i in self.inside)

    def name(self, index: Shape) -> str:
        return " ".join(f"{letter.lower()}{i}" for letter, i in zip(self.axes, index))

    def paint(self, index: Shape, read: bool) -> tuple[Colour, Colour]:
        """Fill and ink of a cell."""
        colour = self.colours[index]
        return (colour, ink_on(colour)) if read else (mix(colour, WHITE, FADED), PALE)

    def legend(self) -> str:
        """How to read a cell."""
        letters = " ".join(self.axes[i].lower() for i in self.inside)
        colour = " and ".join(self.planes or self.role.colour).lower()
        return f"One cell is one element. Its colour tells {colour}; its digits are {letters}{self.since()}."

    def since(self) -> str:
        """Where the digits begin, if not at 0."""
        origin = ", ".join(f"{self.axes[i].lower()} {start}" for i, start in self.origin.items() if start)
        return f", counted from {origin}" if origin else ""

    def shown(self) -> str:
        """Which part of the tensor is shown; empty where all of it is."""
        spec = self.views[0].spec
        if all(len(self.part[a]) == n for a, n in zip(self.axes, spec.shape)):
            return ""
        spans = [
            f"{a.lower()} {r.start}" + (f"-{r.stop - 1}" if len(r) > 1 else "")
            for a, r in ((a, self.part[a]) for a in self.axes)
        ]
        return f"Shown: {', '.join(spans)}; +n: n more elements that are not shown."


def draw(views: Sequence[View], part: Part, width: float = 1400) -> Scene:
    """The scene: the planes at the left, a panel of memory for each view, from left to right as far as `width` goes."""
    figure = Figure(views, part)
    scene = Scene()
    spec = views[0].spec
    title = f"{'x'.join(map(str, spec.shape))} ({', '.join(spec.axes)}) {spec.dtype}"
    scene.add(Label(MARGIN, 30, title, 16, bold=True))
    y = 50.0
    texts = [figure.legend(), figure.shown()]
    if any(view.reads for view in views):
        marked = " and ".join(dict.fromkeys(r.what for view in views for r in view.reads))
        texts.append(f"Framed: what a {marked} reads; bars below: the cache lines it touches.")
    for text in filter(None, texts):
        scene.add(Label(MARGIN, y, text, 12, colour=GRAY))
        y += 17
    top = y + 8
    panels = [_Panel(figure, view) for view in views]
    right, bottom = _planes(figure, scene, MARGIN, top)
    left = x = right + 34
    y, low, wide = top, 0.0, left
    for panel in panels:
        if x > left and x + panel.width + MARGIN > width:
            x, y = left, low + 26
        low = max(low, panel.draw(scene, x, y))
        x += panel.width + 30
        wide = max(wide, x - 30)
    needed = max(12 * 0.56 * len(t) for t in texts) + 2 * MARGIN
    scene.width, scene.height = math.ceil(max(wide + MARGIN, needed)), math.ceil(max(low, bottom) + MARGIN)
    return scene


def _planes(figure: Figure, scene: Scene, left: float, top: float) -> tuple[float, float]:
    """The tensor, a tile for each plane. Returns where it ends."""
    role, part, axes = figure.role, figure.part, figure.axes
    rows = part[role.rows] if role.rows else range(1)
    columns = part[role.columns] if role.columns else range(1)
    outer = [part[a] for a in role.others]
    colours = part[role.colour] if role.colour in role.planes else range(1)
    cell, gap, head = figure.cell, 10.0, 17.0 if figure.planes else 0.0
    fit = max(1, int((PLANES + gap) // (len(columns) * cell + gap)))
    across = min(fit, len(colours))
    across = next((t for t in range(across, across // 2, -1) if len(colours) % t == 0), across)
    scene.add(Label(left, top + 12, "the tensor", 13, bold=True))
    y, right = top + 24, left + 70
    marked = figure.views[0].marked
    storage = figure.views[0].spec.storage
    combos: list[tuple[int, ...]] = [()]
    for choices in outer:
        combos = [(*c, i) for c in combos for i in choices]
    for combo in combos:
        for at, c in enumerate(colours):
            x = left + (at % across) * (len(columns) * cell + gap)
            if at and at % across == 0:
                y += head + len(rows) * CELL + 6
            fixed = {**dict(zip(role.others, combo)), **({role.colour: c} if role.colour in role.planes else {})}
            text = " ".join(f"{a.lower()}{fixed[a]}" for a in figure.planes)
            scene.add(Label(x, y + 12, text, 11, mono=True))
            framed: dict[tuple[int, int], Box] = {}
            for i, row in enumerate(rows):
                for j, column in enumerate(columns):
                    place = {**fixed, **({role.rows: row} if role.rows else {}), role.columns: column}
                    index = tuple(place[a] for a in axes)
                    address = storage.offset(*index)
                    read = address in marked
                    box = Box(x + j * cell, y + head + i * CELL, cell, CELL)
                    _cell(figure, scene, box, index, read or not figure.views[0].reads, "")
                    if marked and read:
                        framed[i, j] = box
            _outline(scene, framed)
            right = max(right, x + len(columns) * cell)
        y += head + len(rows) * CELL + 8
    return right, y


def _outline(scene: Scene, framed: dict[tuple[int, int], Box]) -> None:
    """Around cells that lie together in a grid."""
    for (i, j), (x, y, width, height, *_) in framed.items():
        for k, side in (
            ((i - 1, j), (x, y, x + width, y)),
            ((i + 1, j), (x, y + height, x + width, y + height)),
            ((i, j - 1), (x, y, x, y + height)),
            ((i, j + 1), (x + width, y, x + width, y + height)),
        ):
            if k not in framed:
                scene.add(Stroke(*side, INK, 2))


def _cell(figure: Figure, scene: Scene, box: Box, index: Shape, read: bool, note: str) -> None:
    fill, ink = figure.paint(index, read)
    scene.add(
        box._replace(fill=fill, edge=WHITE, note=figure.name(index) + note),
        Label(box.x + box.width / 2, box.y + 14, figure.label(index), 10, "middle", ink, mono=True),
    )


class _Panel:
    """The memory of one view."""

    def __init__(self, figure: Figure, view: View) -> None:
        self.figure, self.view, self.storage = figure, view, view.spec.storage
        self.lines = lines(self.storage, figure.part)
        self.read = view.marked
        self.texts = [words(self.storage, line) for line in self.lines]
        self.addresses = [str(line[0].address) for line in self.lines]
        self.margin = 7.0 * max(map(len, self.addresses)) + 8
        cells = max(sum(t.width for t in line) for line in self.lines)
        self.strip = cells * figure.cell
        facts = max((len(f) for f in (*view.facts, fastest_first(view.spec))), default=0)
        self.width = max(self.margin + self.strip + 8 + 7.0 * max(map(len, self.texts)), 6.4 * facts)

    def draw(self, scene: Scene, left: float, top: float) -> float:
        """Returns the bottom."""
        spec, figure = self.view.spec, self.figure
        scene.add(Label(left, top + 12, f"{spec.layout} memory", 13, bold=True))
        order = fastest_first(spec)
        if order:
            scene.add(Label(left, top + 29, order, 11, colour=GRAY))
        x = left + self.margin
        y = self._ribbon(scene, x, top + 38) + 10
        pitch = CELL + (9 if self.view.reads else 4)
        for line, address, text in zip(self.lines, self.addresses, self.texts):
            scene.add(Label(x - 8, y + 14, address, 11, "end", GRAY, mono=True))
            self._line(scene, line, x, y)
            end = x + sum(t.width for t in line) * figure.cell + 8
            scene.add(Label(end, y + 14, text, 11, colour=GRAY, mono=True))
            y += pitch
        y += 2
        for fact in self.view.facts:
            y += 14
            scene.add(Label(left, y, fact, 11))
        return y + 4

    def _ribbon(self, scene: Scene, x: float, y: float) -> float:
        """Everything shown in one thin line, skips left out: the order at a glance."""
        tokens = [t for line in self.lines for t in line if t.kind != "skip"]
        step = self.strip / max(1, len(tokens))
        for i, token in enumerate(tokens):
            fill = EMPTY
            if token.kind == "cell":
                fill = self.figure.paint(token.place, not self.view.reads or token.address in self.read)[0]
            scene.add(Box(round(x + i * step, 2), y, round(step, 2), 10, fill))
        scene.add(Box(x, y, self.strip, 10, None, PALE))
        return y + 10

    def _line(self, scene: Scene, line: Line, x: float, y: float) -> None:
        cell = self.figure.cell
        frames: list[Box] = []  # around the runs that are read
        joined = False
        for token in line:
            box = Box(x, y, token.width * cell, CELL)
            read = token.kind == "cell" and token.address in self.read
            if token.kind == "cell":
                _cell(self.figure, scene, box, token.place, read or not self.view.reads, f" at {token.address}")
            elif token.kind == "pad":
                inner = Box(x + 0.5, y + 0.5, box.width - 1, CELL - 1, EMPTY, PALE, note=f"padding at {token.address}")
                scene.add(inner)
                scene.add(Stroke(x + 4, y + CELL - 4, x + box.width - 4, y + 4, PALE))
            else:
                middle = (x + box.width / 2, y + 15)
                text = f"+{_short(token.elements)}"
                if token.padding:
                    scene.add(
                        box._replace(fill=EMPTY, edge=PALE, note=f"{token.elements} times padding at {token.address}")
                    )
                scene.add(Label(*middle, text, 9, "middle", GRAY, mono=True))
            if read and joined:
                frames[-1] = frames[-1]._replace(width=frames[-1].width + box.width)
            elif read:
                frames.append(box._replace(edge=INK, thick=2))
            joined = read
            self._bar(scene, token.address, token.kind, x, y + CELL + 4, box.width)
            x += box.width
        scene.add(*frames)

    def _bar(self, scene: Scene, address: int, kind: str, x: float, y: float, width: float) -> None:
        """Below an element of a touched cache line; a gap where the next line begins."""
        for reads in self.view.reads[:1]:
            each = 8 * reads.cache_line // reads.bits
            if kind != "skip" and each and address // each in self._touched(reads):
                first = 2 if address % each == 0 else 0
                scene.add(Box(x + first, y, width - first, 3, GRAY))

    def _touched(self, reads: Reads) -> set[int]:
        if not hasattr(self, "_lines"):
            self._lines = set(reads.lines)
        return self._lines


def _short(count: int) -> str:
    return str(count) if count < 1_000_000 else f"{count / 1e6:.1f}M"


__all__ = ["SKIP", "Figure", "View", "digit", "draw", "fastest_first"]
