"""Draw the picture: planes of coloured cells, and the memory of each view as the same cells in address order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..layouts import Shape
from .figure import CELL, ElementGrid, Figure, View, fastest_first
from .memory_lines import Line, Token, lines, words
from .palette import EMPTY, GRAY, INK, PALE, WHITE
from .reads import Reads
from .scene import Label, Rectangle, Scene, Stroke
from .shown_part import Part

MARGIN = 18.0
PLANES = 340  # pixels of width that the planes may use
GAP = 10.0  # between planes


def draw(views: Sequence[View], part: Part, width: float = 1400) -> Scene:
    """Return the scene: the planes at the left, then a panel of memory for each view, in rows up to `width`."""
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
    """Draw the tensor, a tile for each plane, and return its right and bottom ends."""
    scene.add(Label(left, top + 12, "the tensor", 13, bold=True))
    head = 17.0 if figure.planes else 0.0
    y, right = top + 24, left + 70
    marked = figure.views[0].marked
    for planes in figure.shown_planes():
        wide, high = len(planes[0].rows[0]) * figure.cell, len(planes[0].rows) * CELL
        across = planes_across(len(planes), max(1, int((PLANES + GAP) // (wide + GAP))))
        for at, plane in enumerate(planes):
            x = left + (at % across) * (wide + GAP)
            if at and at % across == 0:
                y += head + high + 6
            scene.add(Label(x, y + 12, plane.name, 11, mono=True))
            _plane(figure, scene, plane, marked, x, y + head)
            right = max(right, x + wide)
        y += head + high + 8
    return right, y


def planes_across(count: int, fitting: int) -> int:
    """Return how many of `count` tiles are drawn in a row: a divisor, if one is more than half of what fits."""
    most = min(fitting, count)
    return next((n for n in range(most, most // 2, -1) if count % n == 0), most)


def _plane(figure: Figure, scene: Scene, plane: ElementGrid, marked: set[int], left: float, top: float) -> None:
    view = figure.views[0]
    framed: dict[tuple[int, int], Rectangle] = {}
    for i, row in enumerate(plane.rows):
        for j, index in enumerate(row):
            read = view.spec.storage.offset(*index) in marked
            box = Rectangle(left + j * figure.cell, top + i * CELL, figure.cell, CELL)
            _cell(figure, scene, box, index, read or not view.reads, "")
            if read:
                framed[i, j] = box
    _outline(scene, framed)


def _outline(scene: Scene, framed: dict[tuple[int, int], Rectangle]) -> None:
    """Draw a line around neighbouring cells of a grid."""
    for (i, j), (x, y, width, height, *_) in framed.items():
        for k, side in (
            ((i - 1, j), (x, y, x + width, y)),
            ((i + 1, j), (x, y + height, x + width, y + height)),
            ((i, j - 1), (x, y, x, y + height)),
            ((i, j + 1), (x + width, y, x + width, y + height)),
        ):
            if k not in framed:
                scene.add(Stroke(*side, INK, 2))


def _cell(figure: Figure, scene: Scene, box: Rectangle, index: Shape, read: bool, note: str) -> None:
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
        """Draw the panel and return its bottom end."""
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
        """Draw all shown cells as one thin line, without skips, and return its bottom end."""
        tokens = [t for line in self.lines for t in line if t.kind != "skip"]
        step = self.strip / max(1, len(tokens))
        for i, token in enumerate(tokens):
            fill = EMPTY
            if token.kind == "cell":
                fill = self.figure.paint(token.place, not self.view.reads or token.address in self.read)[0]
            scene.add(Rectangle(round(x + i * step, 2), y, round(step, 2), 10, fill))
        scene.add(Rectangle(x, y, self.strip, 10, None, PALE))
        return y + 10

    def _line(self, scene: Scene, line: Line, x: float, y: float) -> None:
        frames: list[Rectangle] = []  # around the runs that are read
        joined = False
        for token in line:
            box = Rectangle(x, y, token.width * self.figure.cell, CELL)
            read = token.kind == "cell" and token.address in self.read
            self._token(scene, token, box, read)
            if read and joined:
                frames[-1] = frames[-1]._replace(width=frames[-1].width + box.width)
            elif read:
                frames.append(box._replace(edge=INK, thick=2))
            joined = read
            self._bar(scene, token.address, token.kind, x, y + CELL + 4, box.width)
            x += box.width
        scene.add(*frames)

    def _token(self, scene: Scene, token: Token, box: Rectangle, read: bool) -> None:
        x, y = box.x, box.y
        if token.kind == "cell":
            _cell(self.figure, scene, box, token.place, read or not self.view.reads, f" at {token.address}")
        elif token.kind == "pad":
            note = f"padding at {token.address}"
            scene.add(Rectangle(x + 0.5, y + 0.5, box.width - 1, CELL - 1, EMPTY, PALE, note=note))
            scene.add(Stroke(x + 4, y + CELL - 4, x + box.width - 4, y + 4, PALE))
        else:
            if token.padding:
                note = f"{token.elements} times padding at {token.address}"
                scene.add(box._replace(fill=EMPTY, edge=PALE, note=note))
            text = f"+{_short(token.elements)}"
            scene.add(Label(x + box.width / 2, y + 15, text, 9, "middle", GRAY, mono=True))

    def _bar(self, scene: Scene, address: int, kind: str, x: float, y: float, width: float) -> None:
        """Draw a bar below an element of a touched cache line, with a gap where the next line begins."""
        for reads in self.view.reads[:1]:
            each = 8 * reads.cache_line // reads.bits
            if kind != "skip" and each and address // each in self._touched(reads):
                first = 2 if address % each == 0 else 0
                scene.add(Rectangle(x + first, y, width - first, 3, GRAY))

    def _touched(self, reads: Reads) -> set[int]:
        if not hasattr(self, "_lines"):
            self._lines = set(reads.lines)
        return self._lines


def _short(count: int) -> str:
    """Return a count in at most five characters, which two cells have room for."""
    if count < 100_000:
        return str(count)
    return f"{count / 1e3:.0f}k" if count < 999_500 else f"{count / 1e6:.1f}M"
