"""Distinguish the parts of a head by channels and extents: which output can be read how, and which parts it has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..buffers import TensorSpec
from ..errors import LayoutError
from .head import Part

Size = tuple[int, int]
_Run = tuple[int, int]


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


def _inner(spec: TensorSpec) -> list[int]:
    """Return the axes of an output without that of the batch."""
    axes = list(range(len(spec.shape)))
    batch = spec.shape[0] == 1 and (len(axes) > 3 or spec.axes[0] == "N" or not spec.axes.startswith("CHW"))
    return axes[1:] if batch and len(axes) > 2 else axes


def flat_axes(spec: TensorSpec, cells: int) -> Iterator[Axes]:
    """Yield the ways to read an output as channels of cells on one axis."""
    shape = spec.shape
    inner = _inner(spec)
    for columns in reversed(inner):
        rest = [axis for axis in inner if axis != columns]
        wide = [axis for axis in rest if shape[axis] != 1]
        if shape[columns] != cells or len(wide) > 1:
            continue
        spare = [axis for axis in range(len(shape)) if axis != columns]
        if wide or spare:
            channel = wide[0] if wide else spare[-1]
            yield Axes(channel, None, columns, None, shape[channel])
            return


def grid_axes(spec: TensorSpec, grid: Size, anchors: int) -> Iterator[Axes]:
    """Yield the ways to read an output as channels of this grid of cells."""
    shape, inner = spec.shape, _inner(spec)
    found = None
    if len(inner) == 4 and anchors > 1:
        found = _with_anchors(spec, inner, grid, anchors)
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


def _with_anchors(spec: TensorSpec, inner: Sequence[int], grid: Size, anchors: int) -> Axes | None:
    """Return how four axes are read: anchors, rows and columns in this order or last, and channels among them."""
    shape = spec.shape
    for a in inner:
        rest = [axis for axis in inner if axis != a]
        for channel in (rest[0], rest[2]):
            rows, columns = (axis for axis in rest if axis != channel)
            if shape[a] == anchors and (shape[rows], shape[columns]) == grid:
                return Axes(channel, rows, columns, a, shape[channel])
    return None


def assign(
    parts: Sequence[Part],
    where: str,
    specs: Sequence[TensorSpec],
    found: Sequence[tuple[int, Axes]],
    anchors: int,
    wanted: Mapping[str, str],
) -> list[tuple[int, tuple[Part, ...], Axes]]:
    """Return which output has which parts: each one part, or several that follow each other.

    wanted: {role: name of its output}. LayoutError if no assignment fits, or several do.
    """
    ends = itertools.combinations(range(len(parts) + 1), 2)
    runs = [(i, j) for i, j in ends if j - i == 1 or not any(part.optional for part in parts[i:j])]
    fits = {
        (k, run): axes
        for k, axes in found
        for run in runs
        if axes.channels
        == sum(p.count for p in parts[slice(*run)]) * (1 if axes.anchor is not None or axes.turned else anchors)
        and all(wanted.get(p.role, specs[k].name) == specs[k].name for p in parts[slice(*run)])
    }
    covers = list(_covers(parts, 0, fits, frozenset()))
    most = max((len(cover) for cover in covers), default=0)
    covers = [cover for cover in covers if len(cover) == most]
    if not covers:
        got = ", ".join(f"{specs[k].name or f'output {k}'} of {axes.channels} channels" for k, axes in found) or "none"
        names = ", ".join(f"{p.role} of {p.count * anchors}" for p in parts if not p.optional)
        raise LayoutError(
            f"{where}: expected {names} channels, in outputs of their own or one after the other; got {got}"
        )
    if len(covers) > 1:
        hinted = [cover for cover in covers if all(_is_hinted(parts, specs[k].name, run) for k, run in cover)]
        covers = hinted if len(hinted) == 1 else covers
    if len(covers) > 1:
        ways = "; or ".join(_words(parts, specs, cover) for cover in covers[:2])
        raise LayoutError(f"{where}: extents do not distinguish parts: {ways}; give Decoder outputs={{role: names}}")
    return [(k, tuple(parts[slice(*run)]), fits[k, run]) for k, run in covers[0]]


def _is_hinted(parts: Sequence[Part], name: str, run: _Run) -> bool:
    return all(part.hint in name for part in parts[slice(*run)])


def _words(parts: Sequence[Part], specs: Sequence[TensorSpec], cover: Sequence[tuple[int, _Run]]) -> str:
    return " and ".join(f"{parts[start].role} in {specs[k].name or f'output {k}'}" for k, (start, _) in cover)


def _covers(
    parts: Sequence[Part], at: int, fits: Mapping[tuple[int, _Run], Axes], used: frozenset[int]
) -> Iterator[list[tuple[int, _Run]]]:
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
