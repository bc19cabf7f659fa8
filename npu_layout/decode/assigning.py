"""Distinguish the parts of a head by channels and extents: which output can be read how, and which parts it has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..buffers import TensorSpec
from ..errors import LayoutError
from ..layouts import Layout
from .form import Part

Size = tuple[int, int]
_Run = tuple[int, int]  # of parts: the first, and the one after the last
_Cover = list[tuple[int, _Run]]  # every part in an output of its own, or with its neighbours


class UndistinguishedError(LayoutError):
    """Outputs have the parts of a head, but extents and names do not say which has which.

    ways: two ways to assign them, in words. spare: whichever is right, an output is left over.
    """

    def __init__(self, why: str, ways: str = "", spare: bool = False) -> None:
        super().__init__(why)
        self.ways, self.spare = ways, spare


class MisnamedError(LayoutError):
    """An output has a part by its extents, and by its name another one: an output is missing, or the name misleads.

    why_alone: that, without other forms. required: the head needs the part that would be missing.
    """

    def __init__(self, why: str, why_alone: str = "", required: bool = True) -> None:
        super().__init__(why)
        self.why_alone, self.required = why_alone or why, required


class Axes(NamedTuple):
    """How an output's axes are read: as channels and cells, and anchors if they have an axis.

    turned: the axis of cells has those of every anchor.
    """

    channel: int
    rows: int | None
    columns: int
    anchor: int | None
    channels: int
    turned: bool = False


def listed(i: int, spec: TensorSpec) -> str:
    """Return an output's name and shape, for a message."""
    return f"{spec.name or f'output {i}'} {spec.shape}"


def is_hinted(part: Part, name: str) -> bool:
    """Return whether an output's name has the letters of a part's hint; of none, every name has them."""
    return any(name.endswith(hint) if hint[-1:].isdigit() else hint in name for hint in part.hint.split("|"))


#: Letters that say what has boxes and what has scores, where they have as many channels. "cv2" and "cv3" are the layers
#: of ultralytics' heads in the names of a graph's values (ultralytics/nn/modules/head.py, Detect).
_WORDS = {"box": ("box", "reg", "cv2"), "score": ("score", "cls", "class", "conf", "cv3")}


def _words_in(name: str) -> list[str]:
    """Return the roles whose letters a name has."""
    return [role for role, letters in _WORDS.items() if any(some in name.lower() for some in letters)]


def turns_of(part: Part, anchors: int) -> int:
    """Return how often the channels of a part follow each other, of a cell with so many anchors."""
    return 1 if part.shared else anchors


def _inner(spec: TensorSpec) -> list[int]:
    """Return the axes of an output without that of the batch."""
    axes = list(range(len(spec.shape)))
    batch = spec.shape[0] == 1 and (len(axes) > 3 or spec.axes[0] == "N" or not spec.axes.startswith("CHW"))
    return axes[1:] if batch and len(axes) > 2 else axes


def flat_axes(spec: TensorSpec, cells: int, channels_last: bool = False) -> Iterator[Axes]:
    """Yield the way to read an output as channels of cells on one axis: the last one that fits, or the first one.

    LayoutError if cells are as many as channels, and the letters of the axes say that the first ones are cells: formats
    that list axes without letters have got such letters by their rank.
    """
    shape = spec.shape
    inner = _inner(spec)
    for columns in inner if channels_last else reversed(inner):
        rest = [axis for axis in inner if axis != columns]
        wide = [axis for axis in rest if shape[axis] != 1]
        if shape[columns] != cells or len(wide) > 1:
            continue
        spare = [axis for axis in range(len(shape)) if axis != columns]
        if wide or spare:
            channel = wide[0] if wide else spare[-1]
            if shape[channel] == cells and not channels_last and (why := why_unread(spec)):
                raise LayoutError(why)
            yield Axes(channel, None, columns, None, shape[channel])
            return


def why_unread(spec: TensorSpec) -> str:
    """Return why a list with as many cells as channels is not read: its letters say that cells come first; "" else."""
    wide = [axis for axis in _inner(spec) if spec.shape[axis] != 1]
    letters = "" if spec.axes == Layout.of_rank(len(spec.shape)).axes else spec.axes
    if len(wide) != 2 or len({spec.shape[axis] for axis in wide}) != 1 or letters[wide[1] : wide[1] + 1] != "C":
        return ""
    first, last = (f"TensorSpec({spec.shape}, {layout!r})" for layout in ("NCW", "NWC"))
    return (
        f"{spec.describe()}: as many cells as channels: extents do not say which axis has which, and formats without "
        f"letters have these by their rank; give {first} if channels come first in memory, {last} if cells do"
    )


def turned_alike(
    specs: Sequence[TensorSpec], found: Sequence[tuple[int, Axes]], in_doubt: bool
) -> list[tuple[int, Axes]]:
    """Return lists with their axes, of which one with as many cells as channels is turned as the others are.

    The letters that a rank has say nothing, other layouts do. LayoutError if no other list says it either, and networks
    with such a head differ in it (`in_doubt`).
    """
    says = [specs[i].layout != Layout.of_rank(len(specs[i].shape)) for i, _ in found]
    unsure = [axes.channels == specs[i].shape[axes.columns] and not said for (i, axes), said in zip(found, says)]
    sure = [axes for (_, axes), open_ in zip(found, unsure) if not open_ and axes.channels > 1]
    cells_first = {axes.columns < axes.channel for axes in sure}
    if any(unsure) and not cells_first and in_doubt:
        spec = specs[found[unsure.index(True)][0]]
        raise LayoutError(
            f"{spec.describe()}: as many cells as channels, and no other output says which come first; give "
            f"TensorSpec({spec.shape}, 'NWC') if cells do in memory, else transpose it, and give that"
        )
    if cells_first != {True}:
        return list(found)
    turned = [axes._replace(channel=axes.columns, columns=axes.channel) for _, axes in found]
    return [(i, other if open_ else axes) for (i, axes), other, open_ in zip(found, turned, unsure)]


def grid_axes(spec: TensorSpec, grid: Size, anchors: int) -> Iterator[Axes]:
    """Yield the ways to read an output as channels of this grid of cells."""
    shape, inner = spec.shape, _inner(spec)
    found = None
    if len(inner) == 4 and anchors > 1:
        yield from _with_anchors(spec, inner, grid, anchors)
    elif len(inner) == 3:
        ways = [(inner[0], inner[1], inner[2]), (inner[2], inner[0], inner[1])]
        if "C" in spec.axes and spec.axes[0] == "N":
            ways = [way for way in ways if way[0] == spec.axes.index("C")] or ways
        fitting = (way for way in ways if (shape[way[1]], shape[way[2]]) == grid)
        found = next((Axes(c, rows, columns, None, shape[c]) for c, rows, columns in fitting), None)
    cells = grid[0] * grid[1]
    if found is not None:
        yield found
    elif len(inner) < 4:
        yield from flat_axes(spec, cells)
        if anchors > 1:
            yield from (axes._replace(turned=True) for axes in flat_axes(spec, cells * anchors))


def _with_anchors(spec: TensorSpec, inner: Sequence[int], grid: Size, anchors: int) -> Iterator[Axes]:
    """Yield how four axes can be read: channels before rows and columns or behind them, and anchors among them.

    Of several ways, those that agree with most of the letters A (anchors) and C. Letters by the rank alone say nothing.
    """
    shape, ways = spec.shape, []
    letters = "" if spec.axes == Layout.of_rank(len(shape)).axes else spec.axes
    for a in inner:
        rest = [axis for axis in inner if axis != a]
        for channel in (rest[0], rest[2]):
            rows, columns = (axis for axis in rest if axis != channel)
            if shape[a] == anchors and (shape[rows], shape[columns]) == grid:
                agreeing = (letters.find("A") == a) + (letters.find("C") == channel)
                ways.append((agreeing, Axes(channel, rows, columns, a, shape[channel])))
    most = max((agreeing for agreeing, _ in ways), default=0)
    yield from (axes for agreeing, axes in ways if agreeing == most)


def read_alike(levels: Sequence[Sequence[tuple[int, Axes]]]) -> list[list[tuple[int, Axes]]]:
    """Return the outputs of each level, each with one way to read axes of anchors.

    Channels can be as many as rows and columns, at one level: then its extents alone do not say which axis they are. Of
    several ways, an output has the first that is the only one of another, or else that every level has, or else of all.
    """
    anchored = [[(k, axes) for k, axes in found if axes.anchor is not None] for found in levels]
    ways = [{k: [axes for i, axes in found if i == k] for k, _ in found} for found in anchored]
    sure = {_order(each[0]) for level in ways for each in level.values() if len(each) == 1}
    orders = [{_order(axes) for each in level.values() for axes in each} for level in ways if level]
    common = set.intersection(*orders) if orders else set()

    def preferred(axes: Axes) -> int:
        return 0 if _order(axes) in sure else 1 if _order(axes) in common else 2

    alike = [{k: min(each, key=preferred) for k, each in level.items()} for level in ways]
    return [
        [(k, axes) for k, axes in found if axes.anchor is None or axes == chosen[k]]
        for found, chosen in zip(levels, alike)
    ]


def _order(axes: Axes) -> tuple[int | None, ...]:
    """Return which axis is which."""
    return axes.channel, axes.rows, axes.columns, axes.anchor


class _Assignment(NamedTuple):
    """What is assigned: parts, the outputs that may have them with their axes, and which role is in which output."""

    parts: Sequence[Part]
    specs: Sequence[TensorSpec]
    found: Sequence[tuple[int, Axes]]
    anchors: int
    wanted: Mapping[str, str]

    def parts_of(self, run: _Run) -> tuple[Part, ...]:
        """Return the parts of a run, the first of them to before the last."""
        return tuple(self.parts[slice(*run)])

    def name(self, k: int) -> str:
        """Return what messages call an output."""
        return self.specs[k].name or f"output {k}"

    def fits(self) -> Iterator[tuple[tuple[int, _Run], Axes]]:
        """Yield each output with each run of parts that it can have: one part, or several that are all required."""
        ends = itertools.combinations(range(len(self.parts) + 1), 2)
        runs = [(i, j) for i, j in ends if j - i == 1 or not any(part.optional for part in self.parts[i:j])]
        for k, axes in self.found:
            yield from (((k, run), axes) for run in runs if self._can_have(k, axes, self.parts_of(run)))

    def _can_have(self, k: int, axes: Axes, parts: Sequence[Part]) -> bool:
        """Return whether an output has as many channels as these parts, and no part is wanted in another output."""
        apart = axes.anchor is not None or axes.turned
        if apart and any(part.shared for part in parts):
            return False
        if axes.channels != sum(part.count * (1 if apart else turns_of(part, self.anchors)) for part in parts):
            return False
        name = self.specs[k].name
        return all(self.wanted.get(part.role, name) == name for part in parts)

    def is_hinted(self, cover: _Cover) -> bool:
        """Return whether the name of each output has the letters that its parts hint at."""
        return all(is_hinted(part, self.specs[k].name) for k, run in cover for part in self.parts_of(run))

    def is_named(self, cover: _Cover) -> bool:
        """Return whether the outputs of boxes and of scores have letters of their own in their names, and no others."""
        alone = {self.parts[start].role: self.specs[k].name for k, (start, end) in cover if end - start == 1}
        return all(role in alone and _words_in(alone[role]) == [role] for role in _WORDS)

    def words(self, cover: _Cover) -> str:
        """Return in words which part each output begins with."""
        return " and ".join(f"{self.parts[start].role} in {self.name(k)}" for k, (start, _) in cover)

    def expected_and_got(self) -> str:
        """Return in words the channels that the parts need, and those that the outputs have."""
        counts = ((part.role, part.count * turns_of(part, self.anchors)) for part in self.parts if not part.optional)
        names = ", ".join(f"{role} of {count}" for role, count in counts)
        got = ", ".join(f"{self.name(k)} of {axes.channels} channels" for k, axes in self.found) or "none"
        return f"expected {names} channels, in outputs of their own or one after the other; got {got}"


def assign(
    parts: Sequence[Part],
    where: str,
    specs: Sequence[TensorSpec],
    found: Sequence[tuple[int, Axes]],
    anchors: int,
    wanted: Mapping[str, str],
) -> list[tuple[int, tuple[Part, ...], Axes]]:
    """Return which output has which parts: each one part, or several that follow each other.

    wanted: {role: name of its output}. LayoutError if no assignment fits, UndistinguishedError if several do.
    """
    asked = _Assignment(parts, specs, found, anchors, wanted)
    fits = dict(asked.fits())
    covers = list(_covers(parts, 0, fits, frozenset()))
    most = max(map(len, covers), default=0)
    covers = [cover for cover in covers if len(cover) == most]
    if not covers:
        raise LayoutError(f"{where}: {asked.expected_and_got()}")
    for says in (asked.is_hinted, asked.is_named):
        saying = [cover for cover in covers if says(cover)] if len(covers) > 1 else []
        covers = saying if len(saying) == 1 else covers
    if len(covers) > 1:
        ways = "; or ".join(map(asked.words, covers[:2]))
        why = f"{where}: extents do not distinguish parts: {ways}; give Decoder outputs={{role: names}}"
        raise UndistinguishedError(why, ways, most < len({k for k, _ in found}))
    return [(k, asked.parts_of(run), fits[k, run]) for k, run in covers[0]]


def _covers(
    parts: Sequence[Part], at: int, fits: Mapping[tuple[int, _Run], Axes], used: frozenset[int]
) -> Iterator[_Cover]:
    """Yield the ways to find the parts from `at` on in outputs that are not used yet."""
    if at == len(parts):
        yield []
        return
    if parts[at].optional:
        yield from _covers(parts, at + 1, fits, used)
    for k, run in fits:
        if run[0] == at and k not in used:
            for rest in _covers(parts, run[1], fits, used | {k}):
                yield [(k, run), *rest]
