"""Find where the parts of a form are in the outputs: the levels of maps, of a list and of rows, in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import items_of
from ..heads.form import Form, Part
from ..heads.grids import anchor_counts, cells_of, grids_of
from ..heads.head import Head
from .assigning import UndistinguishedError, assign, listed, names_of, turns_of
from .output_axes import Axes, Size, flat_axes, grid_axes, read_alike, turned_alike


class Place(NamedTuple):
    """Where one part of one level is: an output, its axes, and the elements along them.

    A channel `c` of anchor `a` is index ``first + a * step + c`` of the axis `channel`, or ``first + c`` if anchors
    have an axis of their own. Cells are rows and columns, or one axis: ``start + a * turn + spread * cell``.
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
    turn: int = 0
    spread: int = 1
    inner: int | None = None  #: channels are two axes: that of `channel`, and within it this one

    def numbers(self, a: int) -> np.ndarray:
        """Return the numbers of the part's channels of anchor `a`, along the axis (or the two axes) of channels."""
        return self.first + a * self.step + np.arange(self.part.count)

    def cells(self, a: int, count: int) -> np.ndarray:
        """Return the numbers of the cells of anchor `a`, along the axis of cells, if they are one axis."""
        return self.start + a * self.turn + self.spread * np.arange(count)


class Level(NamedTuple):
    """One level of a head: its cells, its anchors, and where its parts are.

    priors: centre x, y, width and height in pixels of each anchor of each cell, float64 (cells * anchors, 4); None:
    cells and anchors say it.
    """

    stride: int
    grid: Size  #: rows, columns
    anchors: tuple[tuple[float, float], ...]
    places: dict[str, Place]
    priors: np.ndarray | None = None

    @property
    def turns(self) -> int:
        """Anchors of each cell."""
        return max(1, len(self.anchors))

    @property
    def step(self) -> float:
        """Pixels by which the places of cells are multiplied: priors are in pixels already."""
        return float(self.stride) if self.priors is None else 1.0


class Fitted(NamedTuple):
    """A form whose parts were found.

    input_hw: height and width of the network's input in pixels. prototypes, filled: the numbers of the outputs that
    have the masks' prototypes, and how many rows are detections; None: there is none.
    """

    form: Form
    levels: tuple[Level, ...]
    input_hw: Size
    prototypes: int | None = None
    filled: int | None = None


class Given(NamedTuple):
    """What a form is fitted to: outputs by their number, without those that are no cells."""

    head: Head
    form: Form
    specs: Sequence[TensorSpec]
    left: dict[int, TensorSpec]
    input_hw: Size
    names: Mapping[str, Sequence[str]]

    def wanted(self, level: int) -> dict[str, str]:
        """Return {role: the output that has it in this level}, as the caller named them."""
        return {role: given[level] for role, given in self.names.items() if level < len(given)}

    def grids(self) -> list[Size]:
        """Return rows and columns of each level."""
        return grids_of(self.head, self.input_hw)

    def anchors(self, level: int) -> tuple[tuple[float, float], ...]:
        """Return width and height in pixels of each anchor of a level; () of a head without."""
        return self.head.anchors[level] if self.head.anchors else ()

    def turns(self) -> list[int]:
        """Return how many anchors a cell of each level has, 1 or more."""
        return anchor_counts(self.head)

    def total(self) -> int:
        """Return how many anchors the cells of all levels have."""
        return cells_of(self.head, self.input_hw)

    def priors(self) -> np.ndarray | None:
        """Return the head's priors in pixels, float64 (n, 4); None if it has none."""
        if not self.head.priors:
            return None
        return np.array(self.head.priors) * np.tile(np.array(self.input_hw[::-1], np.float64), 2)


#: Encoding and unit of boxes whose cells are equal shares of the input, so many pixels or not (pjreddie/darknet,
#: src/region_layer.c, get_region_box; src/yolo_layer.c, get_yolo_box).
_SHARES = (("sigmoid_exp", "stride"), ("center_exp", "pixel"))


def _check_shares(given: Given) -> None:
    """Raise LayoutError if cells are shares of the input that have not `stride` pixels."""
    (height, width), boxes = given.input_hw, given.form.boxes
    if (boxes.encoding, boxes.unit) not in _SHARES:
        return
    for stride, (rows, columns) in zip(given.head.strides, given.grids()):
        whole = rows * stride, columns * stride
        if whole != (height, width):
            raise LayoutError(
                f"{rows}x{columns} cells of stride {stride} need an input of {whole}, got {(height, width)}: cells are "
                f"equal shares of the input. Give input_shape={whole}; if frames are not padded to that, multiply x of "
                f"what is found by {width}/{whole[1]} and y by {height}/{whole[0]}"
            )


def _grids(given: Given) -> tuple[Level, ...]:
    _check_shares(given)
    levels, grids, turns = [], given.grids(), given.turns()
    priors, start = given.priors(), 0
    if priors is not None and len(priors) != given.total():
        why = f"cells of all levels have {given.total()} anchors, the head has {len(priors)} priors"
        raise LayoutError(f"priors: {why}")
    ways = [
        [(i, axes) for i, spec in given.left.items() for axes in grid_axes(spec, grid, many)]
        for grid, many in zip(grids, turns)
    ]
    maps = {i for found in ways for i, axes in found if axes.rows is not None}  # of some level: no list of another one
    ways = [[(i, axes) for i, axes in found if axes.rows is not None or i not in maps] for found in ways]
    for n, (stride, grid, many, found) in enumerate(zip(given.head.strides, grids, turns, read_alike(ways))):
        cells = grid[0] * grid[1]
        found = [(i, axes) for i, axes in found if i in given.left]
        where = f"level {n} (stride {stride}, {grid[0]}x{grid[1]} cells)"
        try:
            places = _places(given, where, found, many, given.wanted(n), cells)
        except UndistinguishedError as error:
            raise _of_twins(given, grid, found, error) or error from None
        own = None if priors is None else priors[start : start + cells * many]
        levels.append(Level(stride, grid, given.anchors(n), places, own))
        start += cells * many
    return tuple(levels)


def _of_twins(
    given: Given, grid: Size, found: Sequence[tuple[int, Axes]], error: UndistinguishedError
) -> UndistinguishedError | None:
    """Return what is raised if levels have the same grid, so that an output may be of each; None if none has."""
    twins = [stride for stride, other in zip(given.head.strides, given.grids()) if other == grid]
    if len(twins) == 1:
        return None
    got = ", ".join(listed(k, given.specs[k]) for k in dict.fromkeys(k for k, _ in found))
    strides = " and ".join(map(str, twins))
    return UndistinguishedError(
        f"the levels of strides {strides} have {grid[0]}x{grid[1]} cells each: extents do not say which of {got} is of "
        f"which; give Decoder outputs={{role: names}} for each part, a name for each of the strides "
        f"{', '.join(map(str, given.head.strides))}",
        error.ways,
        error.spare and len({k for k, _ in found}) % len(twins) > 0,
    )


def across_levels(given: Given, part: Part) -> list[Place]:
    """Return the place of a part in each level, if one output has all their cells on one axis; take that output."""
    cells = [rows * columns for rows, columns in given.grids()]
    names = given.names.get(part.role, ())
    for k, spec in given.left.items():
        wide = [axis for axis, n in enumerate(spec.shape) if n != 1]
        columns = wide[-1] if wide else 0
        rest = wide[:-1] or [axis for axis in range(len(spec.shape)) if axis != columns][-1:]
        named = not names or spec.name == names[0]
        if not named or spec.shape[columns] != sum(cells) or len(rest) not in (1, 2):
            continue
        if int(np.prod([spec.shape[axis] for axis in rest])) == part.count:
            _check_points(given, part, spec, len(rest))
            del given.left[k]
            inner = rest[1] if len(rest) == 2 else None
            starts = np.cumsum([0, *cells[:-1]]).tolist()
            return [Place(part, k, rest[0], 0, 0, None, None, columns, start, inner=inner) for start in starts]
    got = names_of(given.left)
    raise LayoutError(f"{part.role}: expected {part.count} channels before {sum(cells)} cells in one output, got {got}")


def _check_points(given: Given, part: Part, spec: TensorSpec, axes: int) -> None:
    """Raise LayoutError if channels of points, on so many axes, do not say whether they are what the head expects."""
    how = given.head.keypoints if part.role == "keypoints" else None
    if how is None or how.across == "pixels" or (axes == 2) == (how.across == "axes"):
        return
    apart = f"(1, {how.count}, {how.values}, ...)"
    why = {
        "axes": "one axis of channels does not say whether points are pixels or encoded: say across='pixels' or "
        "across='encoded' (the network's own values, as MaixCAM2's YOLOv8-pose has them)",
        "encoded": f"points that are encoded have one axis of channels, and those of {apart} are pixels: if they are "
        f"not, give a spec of (1, {how.count * how.values}, ...)",
    }
    raise LayoutError(f"keypoints: {spec.describe()}: {why[how.across]}")


def _list(given: Given) -> tuple[Level, ...]:
    """Return the levels if the cells of all levels are on one axis."""
    priors = given.priors()
    if priors is not None and (not given.head.anchors or len(priors) != given.total()):
        return (_whole(given, len(priors), "priors")._replace(priors=priors),)
    grids, turns = given.grids(), given.turns()
    whole = _whole(given, given.total(), "cells")
    levels, start = [], 0
    for n, (stride, grid, many) in enumerate(zip(given.head.strides, grids, turns)):
        cells = grid[0] * grid[1]
        turn, spread = (1, many) if given.form.interleaved else (cells, 1)
        places = {
            role: place._replace(step=0, start=start, turn=turn, spread=spread) for role, place in whole.places.items()
        }
        own = None if priors is None else priors[start : start + cells * many]
        levels.append(Level(stride, grid, given.anchors(n), places, own))
        start += cells * many
    return tuple(levels)


def _rows(given: Given) -> tuple[Level, ...]:
    """Return the one level of rows that are detections already."""
    counts = sorted({n for spec in given.left.values() for n in spec.shape}, reverse=True)
    problems: list[LayoutError] = []
    for n in counts:
        if all(any(True for _ in flat_axes(spec, n)) for spec in given.left.values()):
            try:
                return (_whole(given, n, "rows", channels_last=True),)
            except LayoutError as error:
                problems.append(error)
    raise problems[0] if problems else LayoutError("expected outputs with one axis of rows in common")


def _whole(given: Given, n: int, what: str, channels_last: bool = False) -> Level:
    """Return one level of `n` cells in a row; channels_last: where two axes have n elements, cells are the first."""
    found = [(i, axes) for i, spec in given.left.items() for axes in flat_axes(spec, n, channels_last)]
    if not channels_last:
        found = turned_alike(given.specs, found, in_doubt=bool(given.head.priors))
    places = _places(given, f"{n} {what} of {given.head.name!r}", found, 1, given.wanted(0), n)
    return Level(1, (1, n), (), places)


def _places(
    given: Given, where: str, found: Sequence[tuple[int, Axes]], anchors: int, wanted: dict[str, str], cells: int
) -> dict[str, Place]:
    """Return the place of each part, and take its outputs from those that are left."""
    parts = [part for part in given.form.parts if part.role != "count" and not part.across]
    places = {}
    runs = assign(parts, where, given.specs, found, anchors, wanted)
    if given.form.whole and len(runs) > 1:
        got = " and ".join(listed(k, given.specs[k]) for k, _, _ in runs)
        raise LayoutError(
            f"{where}: expected all parts in one output; got {got}: the network joins these channels, in this order, "
            "and counts anchors over all of them, so that each output has parts of several anchors; join them too"
        )
    for k, run, axes in runs:
        first = 0
        grouped = given.form.grouped
        each = sum(part.count for part in run)
        apart = axes.anchor is not None or axes.turned
        turn, spread = (1, anchors) if given.form.interleaved else (cells, 1)
        for part in run:
            step = 0 if apart or part.shared else part.count if grouped else each
            place = Place(part, k, axes.channel, first, step, axes.anchor, axes.rows, axes.columns)
            places[part.role] = place._replace(turn=turn, spread=spread) if axes.turned else place
            first += part.count * (turns_of(part, anchors) if grouped and not apart else 1)
        del given.left[k]
    return places


#: By `Form.cells`, what returns the levels.
LEVELS: dict[str, Callable[[Given], tuple[Level, ...]]] = {"grid": _grids, "list": _list, "rows": _rows}


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
    numbers = place.numbers(a)
    if place.inner is None:
        channels: np.ndarray = along(place.channel, numbers) + start
    else:
        outer, inner = np.divmod(numbers, spec.shape[place.inner])
        channels = along(place.channel, outer) + along(place.inner, inner) + start
    if place.anchor is not None:
        channels = channels + along(place.anchor, np.array([a]))[0]
    if place.rows is not None:
        return channels, along(place.rows, np.arange(rows)), along(place.columns, np.arange(columns))
    return channels, np.zeros(1, np.int64), along(place.columns, place.cells(a, rows * columns))


def checked_specs(given: Any) -> tuple[TensorSpec, ...]:
    """Return the argument `specs`, a sequence or {name: spec}; NpuLayoutError on what is no TensorSpec, and on none.

    A name of the mapping is that of a spec without one.
    """
    items = given
    if isinstance(given, Mapping):
        items = [
            spec.replace(name=spec.name or str(name)) if isinstance(spec, TensorSpec) else spec
            for name, spec in given.items()
        ]
    if isinstance(items, (list, tuple)) and items and all(isinstance(item, np.ndarray) for item in items):
        raise NpuLayoutError(
            "specs: expected TensorSpecs, got arrays: give those of the runtime's metadata or, if it returns arrays in "
            "the model's own order, [TensorSpec(x.shape, dtype=x.dtype) for x in arrays]"
        )
    specs = tuple(items_of("specs", items, TensorSpec))
    if not specs:
        raise NpuLayoutError("specs: expected one for each output, got none")
    return specs
