"""Pass what describes a detector, boxes, masks and joints to the compiled core, as its tuples and tables of bytes."""

from __future__ import annotations

import numpy as np

from . import _native
from .detecting import (
    ACTIVATIONS,
    ANGLES,
    ENCODINGS,
    POINTS,
    SCALINGS,
    SCORES,
    SUPPRESSIONS,
    Anchor,
    AnchorPart,
    Detection,
    FeatureMap,
    Grid,
    Points,
    Scales,
    itemsize,
)

_DTYPES = _native.DTYPES


def detector(made: Detection, level: str) -> _native.Detector:
    """Return the compiled detector; ValueError if an element is outside its buffer."""
    suppression = SUPPRESSIONS.index(made.suppression)
    rules = (made.all_labels, suppression, made.per_class, made.inclusive, (made.extra, made.epsilon))
    described = (
        SCORES.index(made.score),
        made.classes,
        made.points,
        made.coefficients,
        *rules,
        tuple(map(_grid, made.levels)),
        _source(made.filled),
    )
    return _native.Detector(level, made.nbytes, *described)


def _grid(grid: Grid) -> tuple[object, ...]:
    """Return the fields that read_level of csrc/binding/detect_type.c reads."""
    return (
        grid.columns,
        ENCODINGS.index(grid.encoding),
        grid.bins,
        int(grid.strides),
        grid.center,
        *grid.unit_xy,
        *grid.variances,
        grid.stride,
        grid.spread,
        ANGLES.index(grid.angle),
        _points(grid.points),
        tuple(map(_anchor, grid.anchors)),
        _table(grid.priors),
    )


def _anchor(anchor: Anchor) -> tuple[object, ...]:
    """Return the fields that detector_anchor of csrc/binding/detect_sources.c reads."""
    return (
        _source(anchor.score),
        _source(anchor.objectness),
        _source(anchor.box),
        _source(anchor.points),
        _table(anchor.heats),
        _source(anchor.angle),
        _source(anchor.offset),
        _source(anchor.label),
        _source(anchor.background),
        _source(anchor.coefficients),
        anchor.aside,
        *anchor.size_wh,
    )


def _points(points: Points | None) -> tuple[object, ...] | None:
    if points is None:
        return None
    return POINTS.index(points.encoding), points.values, ACTIVATIONS.index(points.activation), points.variance


def _table(numbers: np.ndarray | None) -> bytes | None:
    return None if numbers is None else np.ascontiguousarray(numbers, np.float64).tobytes()


def _source(source: AnchorPart | None) -> tuple[object, ...] | None:
    if source is None:
        return None
    size = itemsize(source.map.dtype)
    tables = [np.ascontiguousarray(table, np.int64) * size for table in source.map[1:]]
    number = _DTYPES.index(source.map.dtype)
    return (
        source.buffer,
        number,
        ACTIVATIONS.index(source.activation),
        *(t.tobytes() for t in tables),
        _table(source.values),
        _scales(source.scales),
    )


def _scales(given: Scales | None) -> tuple[int, bytes, bytes] | None:
    if given is None:
        return None
    scale, zero = (np.ascontiguousarray(numbers, np.float32).tobytes() for numbers in given[1:])
    return SCALINGS.index(given.each), scale, zero


def nms(
    boxes: np.ndarray,
    scores: np.ndarray,
    class_id: np.ndarray | None,
    classes: int,
    rule: tuple[float, bool, float, float],
    limit: int,
    level: str,
) -> np.ndarray:
    """Return the indices of boxes that stay, int64; float32 boxes and scores, int64 classes from 0 to `classes` - 1."""
    kept = np.empty(min(limit, len(scores)), np.int64)
    return kept[: _native.nms(level, boxes, scores, class_id, classes, *rule, limit, kept)]


def turned_nms(shapes: np.ndarray, class_id: np.ndarray | None, iou: float, inclusive: bool, limit: int) -> np.ndarray:
    """Return the rows that stay, int64, see `kernels.turned_nms`."""
    kept = np.empty(min(limit, len(shapes)), np.int64)
    labels = None if class_id is None else np.ascontiguousarray(class_id, np.int64)
    return kept[: _native.turned_nms(np.ascontiguousarray(shapes), labels, iou, inclusive, limit, kept)]


def scan(made: FeatureMap, data: np.ndarray, least: int, level: str) -> np.ndarray:
    """Return cells, channels and codes of `kernels.scan`; ValueError if an element is outside the buffer."""
    size = itemsize(made.dtype)
    channels, rows, columns = (np.ascontiguousarray(table, np.int64) * size for table in made[1:])
    hits = _native.scan(level, _DTYPES.index(made.dtype), data, channels, rows, columns, least)
    return np.frombuffer(hits, np.int32).reshape(-1, 3)


def masks(
    made: FeatureMap,
    data: np.ndarray,
    zero: int,
    coefficients: np.ndarray,
    windows: np.ndarray,
    factor: int,
    out: np.ndarray,
    level: str,
) -> bool:
    """Write masks, see `kernels.masks`; False if they do not fit."""
    channels, rows, columns = (np.ascontiguousarray(table, np.int64) for table in made[1:])
    signed = made.dtype == "int8"
    return bool(_native.masks(level, signed, zero, factor, data, channels, rows, columns, coefficients, windows, out))


def skeletons(
    fields: np.ndarray,
    limbs: np.ndarray,
    peaks: np.ndarray,
    ends: np.ndarray,
    line: tuple[int, int, float],
    total: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return skeletons and their sums, see `kernels.skeletons`."""
    rows, columns = fields.shape[1:]
    most = len(peaks) // 2  # two peaks make one
    found, sums = np.empty((most, len(ends) - 1), np.int64), np.empty(most)
    count = _native.skeletons(fields, rows, columns, limbs, peaks, ends, *line, total, found, sums)
    return found[:count], sums[:count]
