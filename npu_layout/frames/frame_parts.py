"""Find which samples of a frame's planes are read for a part of it, and the axes along which that part is resized."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm
from typing import NamedTuple

from .. import kernels
from .geometry import Pair, Quad
from .pixel_formats import Plane

Axes = Callable[[int, int, bool], "kernels.Axis | None"]
SharedAxes = Callable[[int, int, int, int, bool], kernels.Axis]
AXES: dict[str, Axes] = {
    "linear": kernels.linear_axis,
    "area": kernels.area_axis,
    "nearest": kernels.nearest_axis,
    "nearest_floor": kernels.nearest_floor_axis,
}
#: By which the planes of Y, U and V may be resized, with samples that several pixels share.
PLANES: dict[str, SharedAxes] = {
    "linear": kernels.shared_linear_axis,
    "nearest": kernels.shared_nearest_axis,
    "nearest_floor": kernels.shared_nearest_floor_axis,
}


class PartPlace(NamedTuple):
    """A part within what is read for it: all that its resize depends on, wherever it is in the frame."""

    size_wh: Pair  #: of what is read
    box: Quad

    @classmethod
    def of(cls, box: Quad, read: Quad) -> PartPlace:
        """Return the place of a part in what is read, both x0, y0, x1, y1 in the frame."""
        x, y = read[:2]
        return cls((read[2] - x, read[3] - y), (box[0] - x, box[1] - y, box[2] - x, box[3] - y))


def read_box(planes: Sequence[Plane], size_wh: Pair, box: Quad, margin: int = 0) -> Quad:
    """Return x0, y0, x1, y1 of what is read for the part `box`: it begins at whole units, blocks and tiles.

    margin: pixels around the part that its own pixels are made of; rows of a mosaic then begin with the same colors.
    """
    steps = [_steps(plane) for plane in planes]
    ends: list[tuple[int, int]] = []
    for axis, size in enumerate(size_wh):
        first, last = box[axis], box[axis + 2]
        whole = lcm(*(step[axis] for step in steps), 2 if margin else 1)
        start = max(0, min(first - margin, size - 1 - 2 * margin)) // whole * whole
        ends.append((start, min(size, max(last + margin, start + 1 + 2 * margin))))
    return ends[0][0], ends[1][0], ends[0][1], ends[1][1]


def _steps(plane: Plane) -> Pair:
    """Return the pixels across and down of a plane's unit, or of its tile."""
    across, down = (1, 1) if plane.tile is None else (plane.tile[0] // plane.nbytes, plane.tile[1])
    return plane.every_x * across, plane.every_y * down


def plane_parts(planes: Sequence[Plane], box: Quad) -> tuple[tuple[slice, slice], ...]:
    """Return rows, or rows of tiles, and bytes of them, of each plane, for a box of read_box."""
    x0, y0, x1, y1 = box
    parts = []
    for plane in planes:
        wide, high = plane.tile or (1, 1)
        first, behind = x0 // plane.every_x * plane.nbytes, plane.row_bytes(x1)
        rows = slice(y0 // plane.every_y // high, -(-plane.rows(y1) // high))
        parts.append((rows, slice(first // wide * wide * high, -(-behind // wide) * wide * high)))
    return tuple(parts)


def axes_of_pixels(axes_of: Axes, place: PartPlace, result_wh: Pair) -> tuple[kernels.Axis, kernels.Axis] | None:
    """Return the axes of a resize of a part of what is read; None if there are none."""
    (x0, y0, x1, y1), (width, height) = place.box, place.size_wh
    along, down = axes_of(x1 - x0, result_wh[0], False), axes_of(y1 - y0, result_wh[1], True)
    return None if along is None or down is None else (along.within(x0, width - x1), down.within(y0, height - y1))


def axes_of_samples(
    axes_of: SharedAxes, place: PartPlace, result_wh: Pair, component: kernels.ComponentSamples
) -> tuple[kernels.Axis, kernels.Axis]:
    """Return the axes of a resize of a component's samples of a part of what is read."""
    along, down = (
        _axis_of_samples(axes_of, place.box[i], place.box[i + 2], place.size_wh[i], result_wh[i], every, i == 1)
        for i, every in enumerate((component.every_x, component.every_y))
    )
    return along, down


def _axis_of_samples(
    axes_of: SharedAxes, first: int, behind: int, size: int, results: int, every: int, down: bool
) -> kernels.Axis:
    before, skip = divmod(first, every)
    axis = axes_of(behind - first, results, every, skip, down)
    return axis.within(before, -(-size // every) - before - axis.size)
