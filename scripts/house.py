#!/usr/bin/env python3
"""Draw a package's wings and their imports: on which floor each stands, and what leads upwards or in a circle.

A part is a wing (a sub-package) or a file at the package's root. Its floor is the longest chain of imports below it.
Imports are read from the source, those for type checkers and those within functions too.

    python scripts/house.py [PACKAGE] [--svg PICTURE]
"""

from __future__ import annotations

import argparse
import ast
import html
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean  # the same in every Python, as sum is not
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "house.svg"
Graph = dict[str, set[str]]
BOX_WIDTH, BOX_HEIGHT, FLOOR_HEIGHT, GAP, LANE, MARGIN = 124, 30, 70, 26, 16, 24  # pixels


class House(NamedTuple):
    """Parts with what they import, the floor of each, and the circles among them."""

    imports: Graph
    floors: dict[str, int]
    circles: list[list[str]]
    modules: dict[str, int]  #: lines of each module

    @property
    def upwards(self) -> int:
        """Count the imports that do not lead to a lower floor."""
        return sum(self.floors[b] >= self.floors[a] for a, below in self.imports.items() for b in below)

    def __str__(self) -> str:
        longest = max(self.modules, key=lambda name: self.modules[name])
        circles = "; ".join(" - ".join(circle) for circle in self.circles) or "none"
        at_root = sorted(name for name in self.modules if "/" not in name)
        return "\n".join(
            [
                f"{len(self.imports)} parts on {1 + max(self.floors.values())} floors, {self.upwards} imports upwards",
                f"circles: {circles}",
                f"{len(self.modules)} modules; the longest is {longest}, {self.modules[longest]} lines",
                f"at the root: {', '.join(at_root) if len(at_root) < 9 else f'{len(at_root)} files'}",
            ]
        )


def imported(tree: ast.AST, depth: int, package: str) -> Iterator[str]:
    """Yield the parts that a module `depth` folders below the root imports, and names that are none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            paths = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level in (0, depth + 1):
            start = [package] if node.level else []
            module = start + (node.module.split(".") if node.module else [])
            paths = [[*module, alias.name] for alias in node.names]
        else:
            continue
        yield from ([*path, "__init__"][1] for path in paths if path[0] == package)


def read(package: Path) -> House:
    """Read a package's house from its source."""
    imports: Graph = {}
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        modules["/".join(parts) + ".py"] = len(text.splitlines())
        imports.setdefault(parts[0], set()).update(imported(ast.parse(text), len(parts) - 1, package.name))
    for part, below in imports.items():
        below &= imports.keys() - {part}
    return House(imports, *stacked(imports), modules)


def stacked(imports: Graph) -> tuple[dict[str, int], list[list[str]]]:
    """Return the floor of each part, and the circles; parts of a circle share a floor."""

    @cache
    def below(part: str) -> frozenset[str]:
        seen, todo = set(), [*imports[part]]
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo.extend(imports[other])
        return frozenset(seen)

    @cache
    def floor(part: str) -> int:
        circle = {part, *(other for other in below(part) if part in below(other))}
        lower = {other for member in circle for other in imports[member]} - circle
        return 1 + max(map(floor, lower), default=-1)

    circles = {tuple(sorted({part, *(o for o in below(part) if part in below(o))})) for part in imports}
    return {part: floor(part) for part in imports}, [list(circle) for circle in sorted(circles) if len(circle) > 1]


def needed(imports: Graph) -> Iterator[tuple[str, str]]:
    """Yield the imports that no chain of others implies: the arrows of the picture."""

    def reaches(a: str, b: str, seen: set[str]) -> bool:
        seen.add(a)
        return b in imports[a] or any(reaches(c, b, seen) for c in imports[a] - seen)

    for a, below in sorted(imports.items()):
        for b in sorted(below):
            if not any(reaches(c, b, {a}) for c in below - {b}):
                yield a, b


def drawn(house: House) -> str:
    """Return the house as SVG, the ground floor at the bottom; no arrow runs behind a part."""
    return Drawing(house).svg()


class Drawing:
    """Parts in rows by floor. An arrow across several floors has a lane of its own on each floor between."""

    def __init__(self, house: House) -> None:
        top = max(house.floors.values())
        row_of = {part: top - house.floors[part] for part in sorted(house.floors)}
        self.rows: list[list[str]] = [[part for part in row_of if row_of[part] == row] for row in range(top + 1)]
        self.parts = {part: any(name.startswith(f"{part}/") for name in house.modules) for part in row_of}  #: is a wing
        self.chains: list[list[str]] = []
        self.above: dict[str, list[str]] = {part: [] for part in row_of}
        self.below: dict[str, list[str]] = {part: [] for part in row_of}
        for start, end in needed(house.imports):
            lanes = [f"{start} > {end} {row}" for row in range(row_of[start] + 1, row_of[end])]
            for row, lane in enumerate(lanes, row_of[start] + 1):
                self.rows[row].append(lane)
                self.above[lane], self.below[lane] = [], []
            chain = [start, *lanes, end]
            self.chains.append(chain)
            for upper, lower in zip(chain, chain[1:]):
                self.below[upper].append(lower)
                self.above[lower].append(upper)
        self._order()
        self.x = self._places()

    def _order(self) -> None:
        """Sort each row by its neighbours' mean place, again and again, and keep the rows with the fewest crossings."""
        fewest, best = self._crossings(), [list(row) for row in self.rows]
        for sweep in range(40):
            down = sweep % 2 == 0
            for row in self.rows if down else self.rows[::-1]:
                place = {node: i / max(len(r) - 1, 1) for r in self.rows for i, node in enumerate(r)}
                near = self.above if down else self.below
                key = {n: fmean(place[m] for m in near[n]) if near[n] else place[n] for n in row}
                row.sort(key=lambda node: key[node])
            crossings = self._crossings()
            if crossings < fewest:
                fewest, best = crossings, [list(row) for row in self.rows]
        self.rows = best

    def _crossings(self) -> int:
        """Count the pairs of arrows that cross between two rows."""
        place = {node: i for row in self.rows for i, node in enumerate(row)}
        count = 0
        for row in self.rows:
            ends = [(place[upper], place[lower]) for upper in row for lower in self.below[upper]]
            count += sum(a < c and b > d for a, b in ends for c, d in ends)
        return count

    def _places(self) -> dict[str, float]:
        """Return the centre of every node: as near to its neighbours as the order and the widths allow."""
        x: dict[str, float] = {}
        for row in self.rows:
            offsets = self._offsets(row)
            x.update((node, offset - offsets[-1] / 2) for node, offset in zip(row, offsets))
        for sweep in range(60):
            for row in self.rows if sweep % 2 else self.rows[::-1]:
                near = {n: self.above[n] + self.below[n] for n in row}
                wanted = [fmean(x[m] for m in near[n]) if near[n] else x[n] for n in row]
                offsets = self._offsets(row)
                shifts = _ascending([place - offset for place, offset in zip(wanted, offsets)])
                x.update((node, shift + offset) for node, shift, offset in zip(row, shifts, offsets))
        left = min(x[node] - self._width(node) / 2 for node in x)
        return {node: place - left + 2 * MARGIN for node, place in x.items()}

    def _width(self, node: str) -> int:
        return BOX_WIDTH if node in self.parts else 0

    def _offsets(self, row: list[str]) -> list[float]:
        """Return the least distance of each node of a row from the first."""
        offsets = [0.0]
        for left, right in zip(row, row[1:]):
            gap = GAP if self._width(left) or self._width(right) else LANE
            offsets.append(offsets[-1] + (self._width(left) + self._width(right)) / 2 + gap)
        return offsets

    def svg(self) -> str:
        """Return the picture."""
        width = round(max(self.x[part] + BOX_WIDTH / 2 for part in self.x)) + MARGIN
        height = 2 * MARGIN + BOX_HEIGHT + FLOOR_HEIGHT * (len(self.rows) - 1)
        top = {node: MARGIN + FLOOR_HEIGHT * row for row, nodes in enumerate(self.rows) for node in nodes}
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
            ' font-family="DejaVu Sans, Verdana, Helvetica, sans-serif" font-size="13">',
            "<title>Which module of the package imports which</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path d="M0 1 L8 4 L0 7 z" fill="#5b6b7b"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]
        for row in range(len(self.rows)):
            y = MARGIN + FLOOR_HEIGHT * row
            if row % 2 == 0:
                lines.append(f'<rect y="{y - 22}" width="{width}" height="{FLOOR_HEIGHT}" fill="#f4f6f8"/>')
            number = len(self.rows) - row
            lines.append(f'<text x="10" y="{y + 20}" fill="#7b8794" font-size="12">{number}</text>')
        lines += [self._path(chain, top) for chain in self.chains]
        for row_nodes in self.rows:
            lines += [self._box(node, top[node]) for node in row_nodes if node in self.parts]
        return "\n".join([*lines, "</svg>", ""])

    def _path(self, chain: list[str], top: dict[str, int]) -> str:
        x, y = round(self.x[chain[0]]), top[chain[0]] + BOX_HEIGHT
        steps = [f"M{x} {y}"]
        for node in chain[1:]:
            to, at = round(self.x[node]), top[node]
            middle = (y + at) // 2
            steps.append(f"C{x} {middle} {to} {middle} {to} {at}")
            x, y = to, at
            if node not in self.parts:
                y += BOX_HEIGHT
                steps.append(f"V{y}")
        return f'<path d="{" ".join(steps)}" fill="none" stroke="#5b6b7b" stroke-width="1" marker-end="url(#tip)"/>'

    def _box(self, part: str, y: int) -> str:
        x, name = round(self.x[part]), "npu_layout" if part == "__init__" else part
        fill, line = ("#e3eefb", "#3f72b0") if self.parts[part] else ("#fff6dc", "#b58a1b")
        return (
            f'<rect x="{x - BOX_WIDTH // 2}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5" fill="{fill}" '
            f'stroke="{line}"/>'
            f'<text x="{x}" y="{y + 20}" text-anchor="middle" fill="#1c2733">{html.escape(name)}</text>'
        )


def _ascending(wanted: list[float]) -> list[float]:
    """Return the ascending numbers with the least sum of squared distances from `wanted` (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []  # mean, how many
    for value in wanted:
        mean, count = value, 1
        while pools and pools[-1][0] > mean:
            before, members = pools.pop()
            mean, count = (mean * count + before * members) / (count + members), count + members
        pools.append((mean, count))
    return [mean for mean, count in pools for _ in range(count)]


def main() -> None:
    """Print the figures, and write the picture where one is asked for."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("package", nargs="?", type=Path, default=ROOT / "npu_layout", metavar="PACKAGE")
    parser.add_argument("--svg", type=Path, metavar="PICTURE", help=f"{PICTURE.relative_to(ROOT)} is the committed one")
    options = parser.parse_args()
    house = read(options.package.resolve())
    print(house)
    if options.svg:
        options.svg.write_text(drawn(house), encoding="utf-8")


if __name__ == "__main__":
    main()
