#!/usr/bin/env python3
"""Draw the package's rooms and their imports: on which floor each stands, and what leads upwards or in a circle.

A room is a sub-package or a file at the package's root. Its floor is the longest chain of imports below it. Imports are
read from the source, those for type checkers and those within functions too.

    python scripts/house.py [PACKAGE] [--svg PICTURE]
"""

from __future__ import annotations

import argparse
import ast
import html
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "house.svg"
Graph = dict[str, set[str]]


class House(NamedTuple):
    """Rooms with what they import, the floor of each, and the circles among them."""

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
                f"{len(self.imports)} rooms on {1 + max(self.floors.values())} floors, {self.upwards} imports upwards",
                f"circles: {circles}",
                f"{len(self.modules)} modules; the longest is {longest}, {self.modules[longest]} lines",
                f"at the root: {', '.join(at_root) if len(at_root) < 9 else f'{len(at_root)} files'}",
            ]
        )


def imported(tree: ast.AST, depth: int, package: str) -> Iterator[str]:
    """Yield the rooms that a module `depth` folders below the root imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ("__init__" for alias in node.names if alias.name == package)
        elif isinstance(node, ast.ImportFrom) and node.level == depth + 1:
            yield from [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]


def read(package: Path) -> House:
    """Read a package's house from its source."""
    imports: Graph = {}
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        modules["/".join(parts) + ".py"] = len(text.splitlines())
        imports.setdefault(parts[0], set()).update(imported(ast.parse(text), len(parts) - 1, package.name))
    for room, below in imports.items():
        below &= imports.keys() - {room}
    return House(imports, *stacked(imports), modules)


def stacked(imports: Graph) -> tuple[dict[str, int], list[list[str]]]:
    """Return the floor of each room, and the circles; rooms of a circle share a floor."""

    @cache
    def below(room: str) -> frozenset[str]:
        seen, todo = set(), [*imports[room]]
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo.extend(imports[other])
        return frozenset(seen)

    @cache
    def floor(room: str) -> int:
        circle = {room, *(other for other in below(room) if room in below(other))}
        lower = {other for member in circle for other in imports[member]} - circle
        return 1 + max(map(floor, lower), default=-1)

    circles = {tuple(sorted({room, *(o for o in below(room) if room in below(o))})) for room in imports}
    return {room: floor(room) for room in imports}, [list(circle) for circle in sorted(circles) if len(circle) > 1]


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
    """Return the house as SVG, the ground floor at the bottom."""
    rows: list[list[str]] = [[] for _ in range(1 + max(house.floors.values()))]
    for room in sorted(house.imports):
        rows[house.floors[room]].append(room)
    wide, high, gap = 118, 30, 26
    width = max(map(len, rows)) * (wide + 24) + 40
    height = len(rows) * (high + gap) + 20
    at = {
        room: (round(width / 2 + (i - len(row) / 2) * (wide + 24) + 12), height - 20 - (f + 1) * (high + gap) + gap)
        for f, row in enumerate(rows)
        for i, room in enumerate(row)
    }
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for a, b in needed(house.imports):
        (x1, y1), (x2, y2) = at[a], at[b]
        out.append(
            f'<path d="M{x1 + wide // 2} {y1 + high} C{x1 + wide // 2} {y1 + high + 24} {x2 + wide // 2} {y2 - 24} '
            f'{x2 + wide // 2} {y2}" fill="none" stroke="#8a97a6" stroke-width="1.2"/>'
        )
    for room, (x, y) in at.items():
        colour = "#dbe9f6" if any(name.startswith(f"{room}/") for name in house.modules) else "#f2f2f2"
        name = "npu_layout" if room == "__init__" else room
        out.append(f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="4" fill="{colour}" stroke="#5b6b7b"/>')
        out.append(
            f'<text x="{x + wide // 2}" y="{y + 20}" text-anchor="middle" fill="#1d2731">{html.escape(name)}</text>'
        )
    return "\n".join([*out, "</svg>"]) + "\n"


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
