"""Find how an output's axes can be read: which has the channels, which the cells, and which the anchors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...buffers import TensorSpec
from ...errors import LayoutError
from ...layouts import Layout

Size = tuple[int, int]


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


def channels_last(specs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """Return specs of which those with the layout of a shape without letters, NCHW, have N, H, W and C instead.

    Their quantizations are left out.
    """
    plain = Layout.of_rank(4)
    return tuple(
        TensorSpec.of_storage(spec.shape, "NHWC", spec.dtype, name=spec.name) if spec.layout == plain else spec
        for spec in specs
    )


def anchors_first(specs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """Return specs of which those of several inputs, with the layout of a shape without letters, are of one.

    Their first axis is that of anchors, and their quantizations are left out.
    """
    plain = Layout.of_rank(4)
    return tuple(
        TensorSpec((1, *spec.shape), Layout.of_rank(5), spec.dtype, name=spec.name)
        if spec.layout == plain and spec.shape[0] > 1
        else spec
        for spec in specs
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
            f"{spec.describe()}: has as many cells as channels, and no other output says which come first; give "
            f"TensorSpec({spec.shape}, 'NWC') if cells come first in memory, else give its transpose"
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
