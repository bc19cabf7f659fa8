"""Find which output carries which part of a head, by channels and extents, whatever the order of the outputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError
from .head import Form, Head, Part

Size = tuple[int, int]


class Place(NamedTuple):
    """Where one part of one level is: an output, its axes, and the elements along them.

    A channel `c` of anchor `a` is index ``first + a * step + c`` of the axis `channel`, or ``first + c`` where anchors
    have an axis of their own. Cells are rows and columns, or one axis: from `start` on, anchor by anchor if `turns`.
    """

    part: Part
    output: int
    channel: int
    first: int
    step: int
    anchor: int | None
    rows: int | None
    columns: int
    start: int = 0
    turns: bool = False


class Level(NamedTuple):
    """One level of a head: its cells, its anchors, and where its parts are."""

    stride: int
    grid: Size  #: rows, columns
    anchors: tuple[tuple[float, float], ...]
    places: dict[str, Place]

    @property
    def turns(self) -> int:
        """Anchors of each cell."""
        return max(1, len(self.anchors))


class Fitted(NamedTuple):
    """A form whose parts were found."""

    form: Form
    levels: tuple[Level, ...]


class _Axes(NamedTuple):
    """How an output's axes are read: as channels and cells, and anchors if they have an axis."""

    channel: int
    rows: int | None
    columns: int
    anchor: int | None
    channels: int


def fit(head: Head, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]) -> Fitted:
    """Return the first form of `head` that all outputs fit, with the place of each part.

    names: {role: names of outputs, a level each} for parts that extents do not tell apart. Raises LayoutError that says
    for each form which part of which level was not found, or may be in several outputs.
    """
    problems = []
    for form in head.forms:
        try:
            levels = _LEVELS[form.cells](head, form, specs, input_hw, names)
        except LayoutError as error:
            problems.append(f"as {form.name!r}: {error}")
        else:
            return Fitted(form, levels)
    shapes = ", ".join(f"{spec.name or f'output {i}'} {spec.shape}" for i, spec in enumerate(specs)) or "none"
    raise LayoutError(f"head {head.name!r} does not fit the outputs {shapes}; " + "; ".join(problems))


def _grids(
    head: Head, form: Form, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]
) -> tuple[Level, ...]:
    levels, left = [], dict(enumerate(specs))
    for n, stride in enumerate(head.strides):
        grid = (-(-input_hw[0] // stride), -(-input_hw[1] // stride))
        anchors = head.anchors[n] if head.anchors else ()
        found = [(i, axes) for i, spec in left.items() for axes in _grid_axes(spec, grid, max(1, len(anchors)), form)]
        where = f"level {n} (stride {stride}, {grid[0]}x{grid[1]} cells)"
        wanted = {role: given[n] for role, given in names.items() if n < len(given)}
        places = _assign(form, where, specs, found, max(1, len(anchors)), wanted)
        for i in {place.output for place in places.values()}:
            left.pop(i)
        levels.append(Level(stride, grid, anchors, places))
    if left:
        extra = ", ".join(f"{specs[i].name or f'output {i}'} {specs[i].shape}" for i in left)
        raise LayoutError(f"no part is in {extra}")
    return tuple(levels)


def _grid_axes(spec: TensorSpec, grid: Size, anchors: int, form: Form) -> Iterator[_Axes]:
    """Yield the ways to read an output as channels of this grid of cells."""
    shape, letters = spec.shape, spec.axes
    rank = len(shape)
    cells = grid[0] * grid[1]
    if rank == 5 and anchors > 1:
        for a in (1, 2, 3, 4):
            rest = [i for i in range(1, 5) if i != a]
            for channel in (rest[0], rest[2]):
                rows, columns = (i for i in rest if i != channel)
                if shape[a] == anchors and (shape[rows], shape[columns]) == grid and shape[0] == 1:
                    yield _Axes(channel, rows, columns, a, shape[channel])
                    return
    elif rank == 4 and shape[0] == 1:
        ways = [(1, 2, 3), (3, 1, 2)]
        if "C" in letters and letters[0] == "N":
            c = letters.index("C")
            ways = [way for way in ways if way[0] == c] or ways
        for channel, rows, columns in ways:
            if (shape[rows], shape[columns]) == grid:
                yield _Axes(channel, rows, columns, None, shape[channel])
                return
        for channel, columns, flat in ((1, 3, 2), (1, 2, 3), (3, 2, 1)):
            if shape[flat] == 1 and shape[columns] == cells:
                yield _Axes(channel, None, columns, None, shape[channel])
                return
    elif rank == 3 and shape[0] == 1:
        for channel, columns in ((1, 2), (2, 1)):
            if shape[columns] == cells:
                yield _Axes(channel, None, columns, None, shape[channel])
                return


def _assign(
    form: Form,
    where: str,
    specs: Sequence[TensorSpec],
    found: Sequence[tuple[int, _Axes]],
    anchors: int,
    names: Mapping[str, str],
) -> dict[str, Place]:
    """Return the place of each part of a level: each output carries one part, or several that follow each other."""
    runs = [
        (i, j)
        for i, j in itertools.combinations(range(len(form.parts) + 1), 2)
        if j - i == 1 or not any(part.optional for part in form.parts[i:j])
    ]
    fits = {
        (k, run): axes
        for k, axes in found
        for run in runs
        if axes.channels == sum(p.count for p in form.parts[slice(*run)]) * (1 if axes.anchor is not None else anchors)
        and all(names.get(p.role, specs[k].name) == specs[k].name for p in form.parts[slice(*run)])
    }
    covers = list(_covers(form.parts, 0, fits, frozenset()))
    most = max((len({k for k, _ in cover}) for cover in covers), default=0)
    covers = [cover for cover in covers if len({k for k, _ in cover}) == most]
    if not covers:
        got = ", ".join(f"{specs[k].name or f'output {k}'} of {axes.channels} channels" for k, axes in found) or "none"
        parts = ", ".join(f"{p.role} of {p.count * anchors}" for p in form.parts if not p.optional)
        raise LayoutError(
            f"{where}: expected {parts} channels, in outputs of their own or one after the other; got {got}"
        )
    if len(covers) > 1:
        ways = "; or ".join(_words(form, specs, cover) for cover in covers[:2])
        raise LayoutError(f"{where}: extents do not tell the parts apart: {ways}; give Decoder outputs={{role: names}}")
    places = {}
    for k, run in covers[0]:
        axes, first = fits[k, run], 0
        each = sum(part.count for part in form.parts[slice(*run)])
        for part in form.parts[slice(*run)]:
            step = 0 if axes.anchor is not None else each
            places[part.role] = Place(part, k, axes.channel, first, step, axes.anchor, axes.rows, axes.columns)
            first += part.count
    return places


def _words(form: Form, specs: Sequence[TensorSpec], cover: Sequence[tuple[int, tuple[int, int]]]) -> str:
    return " and ".join(f"{form.parts[start].role} in {specs[k].name or f'output {k}'}" for k, (start, _) in cover)


def _covers(
    parts: Sequence[Part], at: int, fits: Mapping[tuple[int, tuple[int, int]], _Axes], used: frozenset[int]
) -> Iterator[list[tuple[int, tuple[int, int]]]]:
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


def _list(
    head: Head, form: Form, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]
) -> tuple[Level, ...]:
    """Return the levels of one output with the cells of all levels on one axis."""
    grids = [(-(-input_hw[0] // stride), -(-input_hw[1] // stride)) for stride in head.strides]
    turns = head.anchors_each
    cells = sum(rows * columns for rows, columns in grids) * turns
    channels = sum(part.count for part in form.parts if not part.optional)
    if len(specs) != 1:
        raise LayoutError(
            f"expected one output, (1, {channels}, {cells}) or (1, {cells}, {channels}), got {len(specs)}"
        )
    (spec,) = specs
    long = [i for i, n in enumerate(spec.shape) if n == cells]
    wide = [i for i, n in enumerate(spec.shape) if n == channels]
    if (
        not long
        or not wide
        or (spec.size and sorted(n for n in spec.shape if n != 1) != sorted({cells, channels} - {1}))
    ):
        raise LayoutError(
            f"expected one output, (1, {channels}, {cells}) or (1, {cells}, {channels}) for an input of "
            f"{input_hw[0]}x{input_hw[1]}, got {spec.shape}"
        )
    channel, columns = wide[0], long[-1]
    levels, start = [], 0
    for n, (stride, grid) in enumerate(zip(head.strides, grids)):
        places, first = {}, 0
        for part in form.parts:
            if not part.optional:
                places[part.role] = Place(part, 0, channel, first, 0, None, None, columns, start, turns > 1)
                first += part.count
        levels.append(Level(stride, grid, head.anchors[n] if head.anchors else (), places))
        start += grid[0] * grid[1] * turns
    return tuple(levels)


_LEVELS: dict[str, Callable[..., tuple[Level, ...]]] = {"grid": _grids, "list": _list}


def offsets_along(place: Place, level: Level, spec: TensorSpec, a: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the offsets of a part's channels, rows and columns, of anchor `a`.

    An element is at the sum of three of them. Cells of one axis have one row. The start of the buffer is in those of
    channels.
    """
    zero = [0] * len(spec.shape)
    start = int(spec.offset(*zero))

    def along(axis: int, indices: np.ndarray) -> np.ndarray:
        index: list[object] = list(zero)
        index[axis] = indices
        offsets: np.ndarray = np.asarray(spec.offset(*index), np.int64) - start
        return offsets

    rows, columns = level.grid
    channels: np.ndarray = along(place.channel, place.first + a * place.step + np.arange(place.part.count)) + start
    if place.anchor is not None:
        channels = channels + along(place.anchor, np.array([a]))[0]
    if place.rows is not None:
        return channels, along(place.rows, np.arange(rows)), along(place.columns, np.arange(columns))
    first = place.start + (a * rows * columns if place.turns else 0)
    return channels, np.zeros(1, np.int64), along(place.columns, first + np.arange(rows * columns))
