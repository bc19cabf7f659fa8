"""The records of pictures: where samples are, how they become colors, and how they are resized."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

SIDE = 1 << 16  #: pixels of a side, at most, that the compiled resizes have
_ONE = 2048  # weights have 11 bits
_BOX = 16  # elements of a mean, at most


class ComponentSamples(NamedTuple):
    """One component of a picture: Y, U or V, or a channel of packed pixels."""

    plane: int  #: in which plane it is
    start: int  #: bytes of a row before its first sample
    step: int  #: bytes between samples
    every_x: int = 1  #: one sample for so many pixels across
    every_y: int = 1  #: and down


class Color(NamedTuple):
    """Integer coefficients: with ``y = max(Y - black, 0) * luma + 2**19``, and U and V without their 128.

    R = (y + red_v * V) >> 20, G = (y + green_u * U + green_v * V) >> 20, B = (y + blue_u * U) >> 20, each saturated to
    0..255. Gray is y >> 20.
    """

    black: int
    luma: int
    red_v: int
    green_u: int
    green_v: int
    blue_u: int


NO_COLOR = Color(0, 1 << 20, 0, 0, 0, 0)  # gray is Y
SOURCES = ("gray", "rgb565", "mosaic")


class RowSource(NamedTuple):
    """What rows of B, G and R, or of gray, are made of, before they are resized.

    kind: "gray" of packed pixels, by OpenCV's BGR2GRAY; the component is at their blue, 0 or 2. "rgb565": words of 16
    bits. "mosaic": OpenCV's bilinear interpolation; red is where ``(x % 2, y % 2) == red_xy``. group: so many of its
    pixels are the first of so many bytes.
    """

    kind: str
    red_xy: tuple[int, int] = (0, 0)
    group: tuple[int, int] = (1, 1)

    def places(self, width: int) -> np.ndarray:
        """Return the byte of each pixel of a mosaic's row."""
        (pixels, nbytes), x = self.group, np.arange(width)
        return np.asarray(x // pixels * nbytes + x % pixels)


class Axis(NamedTuple):
    """One axis of a resize: the source elements of each result, and their weights."""

    size: int  #: elements of the source
    first: np.ndarray  #: int32; along rows inside the part, down columns it may begin outside and is clamped
    weights: np.ndarray | None  #: uint16 (n, 2), of `first` and the next element, in 2048ths; None: `first` only
    mean: bool = False  #: the mean of every two elements, as OpenCV shrinks to exactly half, if both axes do
    box: int = 0  #: the mean of so many elements, of packed pixels, if both axes do
    begin: int = 0  #: elements before the part that is resized; it has the others but for those behind it
    behind: int = 0  #: elements behind the part

    @property
    def end(self) -> int:
        """The number of the element behind the part."""
        return self.size - self.behind

    def within(self, begin: int, behind: int = 0) -> Axis:
        """Return the axis of the same part of a source that has so many more elements before and behind it."""
        size, first = self.size + begin + behind, (self.first + begin).astype(np.int32)
        return self._replace(size=size, first=first, begin=self.begin + begin, behind=self.behind + behind)


class PictureResize(NamedTuple):
    """A picture's samples, and the canvas that they become.

    `exact`: pixels are converted, each with the nearest sample of U and of V, then resized; otherwise the samples of
    each plane are resized, each as an image of one channel, then converted.
    """

    #: Y, U and V; Y only: gray; or up to 4 channels of packed pixels, as the canvas has them
    components: tuple[ComponentSamples, ...]
    color: Color | None  #: None: packed pixels, which are not converted
    size_wh: tuple[int, int]  #: in pixels
    #: along a row and down a column: one pair if exact, else one for each component
    axes: tuple[tuple[Axis, Axis], ...]
    exact: bool = True
    channels: tuple[int, ...] = (0, 1, 2)  #: where R, G and B are in the canvas
    depth: int = 3  #: channels of the canvas: those of packed pixels; 1 of gray; 3; or 4, of which the last one is 255
    source: RowSource | None = None  #: None: the components are samples of the planes; else `color` is None
    tiles: tuple[tuple[int, int] | None, ...] = ()  #: bytes and rows of each plane's tiles; rows are of tiles then

    @property
    def packed(self) -> bool:
        """Whether the canvas has (rows, columns, channels); otherwise it has planes, (channels, rows, columns)."""
        return self.color is None and self.source is None


def linear_axis(size: int, results: int, down: bool = False) -> Axis:
    """Return the axis of OpenCV's INTER_LINEAR on uint8 from `size` elements to `results`, by its reference arithmetic.

    Along a row positions outside become the edge; down a column (`down`) the weights stay and both row numbers are
    clamped, which rounds differently (OpenCV modules/imgproc/src/resize.cpp, resizeGeneric).
    """
    if results == size:
        return Axis(size, np.arange(size, dtype=np.int32), None)
    scale = 1.0 / (results / size)  # not size / results: OpenCV divides twice
    return _weighted(size, (np.arange(results) + 0.5) * scale - 0.5, down)._replace(mean=size == 2 * results)


def _weighted(size: int, places: np.ndarray, down: bool) -> Axis:
    """Return the axis of places between elements, in single precision as OpenCV has them."""
    place = places.astype(np.float32)
    below = np.floor(place)
    first = below.astype(np.int32)
    rest = np.subtract(place, below, out=place)
    if not down:
        rest[(first < 0) | (first >= size - 1)] = 0
        np.maximum(first, 0, out=first)
        np.minimum(first, size - 1, out=first)
    weights = np.empty((len(rest), 2), np.float32)
    np.subtract(np.float32(1), rest, out=weights[:, 0])
    weights[:, 1] = rest
    weights *= np.float32(_ONE)
    return Axis(size, first, np.rint(weights, out=weights).astype(np.uint16))


def area_axis(size: int, results: int, down: bool = False) -> Axis | None:
    """Return the axis of OpenCV's INTER_AREA if each result is the mean of a whole number of elements, else None.

    The mean is rounded, half to even, after a product with the reciprocal in single precision; of 2 by 2 half up
    (OpenCV modules/imgproc/src/resize.cpp, ResizeAreaFast).
    """
    box = size // results
    if box * results != size or box > _BOX:
        return None
    return Axis(size, box * np.arange(results, dtype=np.int32), None, box == 2, box)


def nearest_axis(size: int, results: int, down: bool = False) -> Axis:
    """Return the axis of OpenCV 5's INTER_NEAREST_EXACT: the pixel in the middle.

    Where the middle is the edge between two pixels, rounding decides: OpenCV adds up places in double precision, and
    before version 5 computed them in 16-bit fixed point.
    """
    steps = np.full(results, size / results)
    steps[0] /= 2
    first = np.minimum(np.cumsum(steps), size - 1)
    return Axis(size, first.astype(np.int32), None)


def nearest_floor_axis(size: int, results: int, down: bool = False) -> Axis:
    """Return the axis of OpenCV's INTER_NEAREST: the pixel at the top left, ``floor(i * size / results)``."""
    first = np.floor(np.arange(results) * (1.0 / (results / size))).astype(np.int64)
    return Axis(size, np.minimum(first, size - 1).astype(np.int32), None)


def shared_linear_axis(size: int, results: int, every: int, skip: int, down: bool = False) -> Axis:
    """Return the axis of samples of which each belongs to `every` elements, in a resize of `size` elements.

    skip: how many elements of the first sample come before the first of these. If 0, this is linear_axis of the
    samples. Otherwise each result has its place among the elements, and a sample is in the middle of the elements that
    share it.
    """
    samples = -(-(size + skip) // every)
    if not skip:
        return linear_axis(samples, results, down)
    scale = 1.0 / (results / (size / every))
    return _weighted(samples, (np.arange(results) + 0.5) * scale + skip / every - 0.5, down)


def shared_nearest_axis(size: int, results: int, every: int, skip: int, down: bool = False) -> Axis:
    """Return the axis of samples, as in shared_linear_axis: with `skip`, those of nearest_axis's elements."""
    return _samples_of(nearest_axis, size, results, every, skip)


def shared_nearest_floor_axis(size: int, results: int, every: int, skip: int, down: bool = False) -> Axis:
    """Return the axis of samples, as in shared_linear_axis: with `skip`, those of nearest_floor_axis's elements."""
    return _samples_of(nearest_floor_axis, size, results, every, skip)


def _samples_of(axis_of: Callable[[int, int], Axis], size: int, results: int, every: int, skip: int) -> Axis:
    samples = -(-(size + skip) // every)
    if not skip:
        return axis_of(samples, results)
    return Axis(samples, ((axis_of(size, results).first + skip) // every).astype(np.int32), None)


def block_axis(
    axis_of: Callable[[int, int, int, int, bool], Axis],
    size: int,
    results: int,
    every_skip: tuple[int, int],
    step_lead: tuple[int, int],
    down: bool = False,
) -> Axis:
    """Return the axis of samples that become those of blocks of `step` results, each in the middle of its block.

    axis_of: the one for single results, as in `shared_linear_axis`. every_skip: as there; `lead` of the first results
    belong to a block that began before. Where the part, and the result, are whole blocks, it is the axis of the samples
    by themselves.
    """
    (every, skip), (step, lead) = every_skip, step_lead
    samples, count = -(-(size + skip) // every), -(-(results - lead) // step)
    if step == 1 or not (skip or lead or size % every or results % step):
        return axis_of(size, results, every, skip, down) if step == 1 else axis_of(samples, count, 1, 0, down)
    edges = np.arange(lead, results, step) * (size / every / results) + skip / every
    middles = edges + step * (size / every / results) / 2
    if axis_of is shared_linear_axis:
        return _weighted(samples, middles - 0.5, down)
    first = np.floor(middles if axis_of is shared_nearest_axis else edges)
    return Axis(samples, np.clip(first, 0, samples - 1).astype(np.int32), None)


class Fit(NamedTuple):
    """A resized picture inside a canvas, which is converted to a buffer, in bands of rows."""

    resize: PictureResize
    canvas_wh: tuple[int, int]
    left_top: tuple[int, int]  #: where the picture is in the canvas
    border: bytes  #: of a pixel around it, one byte for each channel
    flipped: bool  #: the canvas has int8 for uint8, 128 less: the top bit of each byte the other way
    out_size: int  #: elements of the buffer
    rows: int  #: of a band
    pitch: int  #: elements of the buffer from one row to the next


class YuvSamples(NamedTuple):
    """Where the samples of a component go in a buffer, and how they are made."""

    offset: int  #: of the first one, in bytes
    pitch: int  #: bytes from one row of samples to the next
    step: int  #: bytes between samples: 1 or 2
    every_x: int  #: one sample for so many pixels across: 1 or 2
    every_y: int  #: and down
    weights: tuple[int, int, int]  #: of B, G and R, in 20-bit integers
    add: int  #: likewise
