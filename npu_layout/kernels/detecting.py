"""Describe where the parts of a detector's outputs are, and what their codes mean, for the compiled kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SCORES = ("class", "objectness", "root", "weighted")
ACTIVATIONS = ("none", "sigmoid", "softmax")
ENCODINGS = (
    *("dfl", "distances", "center_power", "center_exp", "variances", "xywh", "xyxy", "center_size"),
    *("sigmoid_exp", "linear", "tanh_sigmoid"),
)
POINTS = ("cells", "pixels", "priors", "distances", "inputs", "shifted")
ANGLES = ("none", "shifted", "radians")
SUPPRESSIONS = ("none", "greedy", "probiou", "peaks")
SCALINGS = ("", "channels", "rows", "columns")


class FeatureMap(NamedTuple):
    """The places of the channels of one part, for every cell: ``channels[c] + rows[y] + columns[x]`` elements.

    A layout's offset is a sum over its axes, so that every layout has such tables. All are int64.
    """

    dtype: str
    channels: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


class Scales(NamedTuple):
    """What integers mean where each channel, row or column (`each`) of a map has a scale and a zero point: float32."""

    each: str
    scale: np.ndarray
    zero: np.ndarray

    def real(self, dtype: str, code: np.ndarray) -> np.ndarray:
        """Return the real values of sorted codes; the lowest code is minus half their number.

        float32; the last axis is that of scales.
        """
        _, first = half_and_zero(dtype)
        with np.errstate(over="ignore", under="ignore"):
            means: np.ndarray = ((code + first).astype(np.float32) - self.zero) * self.scale
        return means


class AnchorPart(NamedTuple):
    """One part of one anchor: the number of its buffer, its places, and what its codes mean.

    values: float64, activated, of all codes of 8 or 16 bits, in the order in which they sort (see `codes`); None for
    float32, for int32, and for integers with `scales`: `activation` is applied to those. "softmax" is of scores alone,
    over them and the background; values are those before it.
    """

    buffer: int
    map: FeatureMap
    activation: str
    values: np.ndarray | None
    scales: Scales | None = None


class Anchor(NamedTuple):
    """The parts of one anchor, and its width and height in pixels.

    heats: as `values` of the points, for the third channel of each. angle: of turned boxes; offset: of centres in their
    cells, beside boxes of two channels, sizes. label: the class as a number, beside a single score; of 64 bits two
    channels of int32, the low word first. background: of "softmax" the score that is no class; aside: its number among
    all, or, beside a label, the number that is no class, -1 for none. coefficients: what masks are made of.
    """

    score: AnchorPart
    objectness: AnchorPart | None
    box: AnchorPart
    size_wh: tuple[float, float]
    points: AnchorPart | None = None
    heats: np.ndarray | None = None
    angle: AnchorPart | None = None
    offset: AnchorPart | None = None
    label: AnchorPart | None = None
    background: AnchorPart | None = None
    aside: int = -1
    coefficients: AnchorPart | None = None


class Points(NamedTuple):
    """How the points beside the boxes of a level are encoded: `values` channels each, the third with `activation`."""

    encoding: str
    values: int
    activation: str
    variance: float


class Grid(NamedTuple):
    """One level: columns of cells, and how boxes are encoded in it; `strides`: in cells, else in `unit_xy` pixels.

    priors: float64 (cells * anchors, 4), centre x, y, width and height in pixels of each anchor of each cell, in place
    of the cell's column and row and the anchor's size; None: there are none. angle: what the anchors' angles mean;
    "none": boxes are upright. spread: the factor by which centres of "center_exp" and "sigmoid_exp" move from the
    middles of their cells.
    """

    columns: int
    encoding: str
    bins: int
    strides: bool
    center: float
    unit_xy: tuple[float, float]
    variances: tuple[float, float]
    stride: float
    anchors: tuple[Anchor, ...]
    priors: np.ndarray | None = None
    points: Points | None = None
    angle: str = "none"
    spread: float = 1.0


class Detection(NamedTuple):
    """What a detector does: the sizes of its buffers in bytes, its levels, and its rules.

    points, coefficients: channels beside a box; 0: there are none. filled: one element, how many cells of a level
    count, from the first on; None: all of them.
    """

    nbytes: tuple[int, ...]
    score: str
    classes: int
    points: int
    all_labels: bool
    suppression: str
    per_class: bool
    inclusive: bool
    extra: float
    epsilon: float
    levels: tuple[Grid, ...]
    filled: AnchorPart | None = None
    coefficients: int = 0


def itemsize(dtype: str) -> int:
    """Return the bytes of an element."""
    return {"int8": 1, "uint8": 1, "int32": 4, "float32": 4}.get(dtype, 2)


def codes(dtype: str) -> np.ndarray | None:
    """Return all stored codes of a dtype of 8 or 16 bits in the order of their values, in the buffer's dtype.

    Codes of floats go from -infinity to infinity, by sign and magnitude; those behind infinity are NaN. None for a
    dtype of 32 bits.
    """
    if dtype in ("int8", "uint8", "int16", "uint16"):
        info = np.iinfo(dtype)
        return np.arange(info.min, info.max + 1).astype(dtype)
    if dtype not in ("float16", "bfloat16"):
        return None
    key = np.arange(-32768, 32768)
    bits = np.where(key < 0, -key | 0x8000, key)
    bits[0] = 0xFFFF  # no code has this place
    return bits.astype(np.uint16)


def half_and_zero(dtype: str) -> tuple[int, int]:
    """Return half the number of codes of integers, and what is stored for 0 if the lowest counts as minus that."""
    info = np.iinfo(dtype)
    half = (int(info.max) - int(info.min) + 1) // 2
    return half, half + int(info.min)


def least_code(values: np.ndarray, bound: float) -> int:
    """Return the place, from -half the length on, of the first of ascending `values` that is at least `bound`.

    One more than the last place if none is; NaN, at the end, counts as greater.
    """
    return int(np.searchsorted(values, bound)) - len(values) // 2


def least_float(bound: float) -> int:
    """Return a number that no float32 of at least `bound` sorts below: sign and magnitude of the bound in float32.

    One float32 less than the bound may have it too: the scan compares those values again.
    """
    with np.errstate(over="ignore"):  # numpy 2 compares in float32
        single = np.float32(bound)
        if single > bound:
            single = np.nextafter(single, np.float32(-np.inf))
    bits = int(single.view(np.uint32))
    return -(bits & 0x7FFFFFFF) if bits >> 31 else bits
