"""Decode in numpy, in float64: the fallback of the compiled kernels, and what they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import NpuLayoutError
from ..arithmetic.activations import COMBINED, activated
from ..arithmetic.sines import sine_and_cosine
from ..heads.box_encodings import ENCODINGS
from ..heads.head import Head, scored_background
from ..outputs.places import Fitted, Level, Place
from .encodings import EDGES, POINTS, Cells, spread_of

#: Reads values of candidates: of a role in a level by its number, float64 (n, count), activated; of one channel of each
#: candidate, if some are given, (n,), not activated.
Read = Callable[..., np.ndarray]


class Candidates(NamedTuple):
    """What passed the threshold, in order: the best first."""

    score: np.ndarray  #: float32
    class_id: np.ndarray  #: int64
    level: np.ndarray
    cell: np.ndarray
    anchor: np.ndarray
    edges: np.ndarray | None = None  #: of boxes, upright, float64 (n, 4) in pixels, where they are known already

    def __len__(self) -> int:
        return len(self.score)

    def take(self, rows: np.ndarray) -> Candidates:
        """Return some of them."""
        return Candidates(*(None if column is None else column[rows] for column in self))  # type: ignore[arg-type]


def values(place: Place, level: Level, tensor: np.ndarray) -> np.ndarray:
    """Return the values of a part in a level as (anchors, count, cells), of the tensor's dtype."""
    rows, columns = level.grid
    cells, turns, count = rows * columns, level.turns, place.part.count
    if place.rows is None:
        inner = () if place.inner is None else (place.inner,)
        flat = _with_axes(tensor, (place.channel, *inner, place.columns)).reshape(-1, tensor.shape[place.columns])
        starts = [place.start + a * place.turn for a in range(turns)]
        flats = [flat[:, start :: place.spread][:, :cells] for start in starts]
    else:
        order = (place.channel, place.rows, place.columns)
        if place.anchor is not None:
            found = _with_axes(tensor, (place.anchor, *order))[:, place.first : place.first + count]
            return found.reshape(turns, count, cells)
        flats = [_with_axes(tensor, order).reshape(-1, cells)] * turns
    each = [flat[place.first + a * place.step :][:count] for a, flat in enumerate(flats)]
    return np.stack(each) if turns > 1 else each[0][None]


def _with_axes(tensor: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Return a view with these axes, in this order; the others have extent 1."""
    rest = [axis for axis in range(tensor.ndim) if axis not in axes]
    return tensor.transpose(*rest, *axes).reshape([tensor.shape[axis] for axis in axes])


def candidates(head: Head, fitted: Fitted, tensors: Sequence[np.ndarray], confidence: float) -> Candidates:
    """Return what has a score of at least `confidence`, the best first.

    Equal scores are in the order of levels, then cells, row by row, then anchors, then classes. NaN never passes.
    """
    filled = np.inf if fitted.filled is None else float(tensors[fitted.filled].reshape(()))
    with np.errstate(invalid="ignore"):  # NaN, and infinity times 0
        found = [_of_level(head, level, n, tensors, confidence, filled) for n, level in enumerate(fitted.levels)]
    columns = [np.concatenate(column) for column in zip(*found)]
    score, class_id, level_of, cell, anchor = columns
    order = np.lexsort((class_id, anchor, cell, level_of, -score))
    return Candidates(score, class_id, level_of, cell, anchor).take(order)


def _of_level(
    head: Head, level: Level, number: int, tensors: Sequence[np.ndarray], confidence: float, filled: float
) -> tuple[np.ndarray, ...]:
    """Return the columns of candidates; filled: how many cells count, from the first on."""
    place = level.places["score"]
    stored = values(place, level, tensors[place.output])
    picked = _reaching(head, place, stored, confidence)

    def some(part: np.ndarray) -> np.ndarray:
        """Return the cells of a part that can reach `confidence`, as cells of one anchor, or all of them."""
        return part if picked is None else part[picked[0], :, picked[1]].T[None]

    classes, scores = _scores(head, place, some(stored))
    if head.score != "class":
        at = level.places["objectness"]
        objectness = activated(at.part.activation, values(at, level, tensors[at.output]))
        scores = np.where(objectness < 0, np.nan, COMBINED[head.score](objectness, scores))
    passing = scores >= confidence
    if filled < np.inf or np.isnan(filled):
        passing &= (np.arange(passing.shape[2]) if picked is None else picked[1]) < filled
    if "label" in level.places:
        at = level.places["label"]
        classes, passing = _labels(some(values(at, level, tensors[at.output])), passing, head)
    anchor, label, cell = np.nonzero(passing)
    kept = scores[anchor, label, cell]
    with np.errstate(over="ignore"):
        single = kept.astype(np.float32) + np.float32(0)  # of -0.0: 0.0
    labels = classes[anchor, label, cell].astype(np.int64)
    if picked is not None:
        anchor, cell = picked[0][cell], picked[1][cell]
    return single, labels, np.full(len(cell), number), cell, anchor


def _reaching(head: Head, place: Place, stored: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return anchors and cells of which a softmax can reach `confidence`; None: all of them.

    A class has at most e**(its value - the background's), and 1 / the sum of e**(value - the largest one): the softmax
    of every cell takes longer than all else.
    """
    if place.part.activation != "softmax" or head.score != "class" or confidence <= 0:
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # infinity less infinity
        most = stored.max(1, keepdims=True).astype(np.float64)
        powers = (stored - most).astype(np.float32)
        reaching = ~(np.exp(powers, powers).sum(1) * _NEARLY * confidence > 1)
    if (aside := scored_background(head, place.part)) is not None:
        parts = (stored[:, :aside], stored[:, aside + 1 :])
        best = np.maximum.reduce([part.max(1).astype(np.float64) for part in parts if part.shape[1]])
        reaching &= best - stored[:, aside] >= np.log(confidence) - 1e-6
    anchors, cells = np.nonzero(reaching)
    return anchors, cells


_NEARLY = 1 - 1e-3  # of a sum of exponentials in float32


def _scores(head: Head, place: Place, stored: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the classes that count, and their scores, activated: each (anchors, labels, cells)."""
    aside = scored_background(head, place.part)
    if head.labels == "best" and place.part.activation != "softmax":
        if aside is not None:
            stored = np.delete(stored, aside, 1)
        classes = stored.argmax(1, keepdims=True)
        return classes, activated(place.part.activation, np.take_along_axis(stored, classes, 1))
    scores = activated(place.part.activation, stored)
    if aside is not None:
        scores = np.delete(scores, aside, 1)
    classes = np.broadcast_to(np.arange(scores.shape[1])[:, None], scores.shape)
    if head.labels == "best":
        classes = scores.argmax(1, keepdims=True)
        scores = np.take_along_axis(scores, classes, 1)
    return classes, scores


def _labels(given: np.ndarray, passing: np.ndarray, head: Head) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of classes that an output has, and what passes: all but the background.

    NpuLayoutError if one of those that pass is no class.
    """
    aside = head.background
    wrong = passing & ~((given >= 0) & (given < head.classes + (aside is not None)) & (given == np.floor(given)))
    if wrong.any():
        raise NpuLayoutError(f"label: expected {numbered(head)}, got {given[wrong][0]}")
    numbers = np.where(passing, given, 0)
    return (numbers, passing) if aside is None else (numbers - (numbers > aside), passing & (numbers != aside))


def numbered(head: Head) -> str:
    """Return, in words, which numbers of classes an output has."""
    background = head.background is not None
    return f"whole numbers below {head.classes + background} (classes{' and background' * background})"


def boxes(fitted: Fitted, found: Candidates, read: Read) -> np.ndarray:
    """Return the edges of candidates' boxes, float32 (n, 4), in pixels of the input: float64 rounded once."""
    with np.errstate(over="ignore"):
        return _edges(fitted, found, read).astype(np.float32) + np.float32(0)  # of -0.0: 0.0


def _edges(fitted: Fitted, found: Candidates, read: Read) -> np.ndarray:
    if found.edges is not None:
        return found.edges
    result = np.empty((len(found), 4))
    for n in range(len(fitted.levels)):
        rows = np.flatnonzero(found.level == n)
        if len(rows):
            result[rows] = _boxes(fitted, n, found.take(rows), read)
    return result


def turned(fitted: Fitted, found: Candidates, read: Read) -> np.ndarray:
    """Return centre x, y, width, height in pixels and the angle in radians of turned boxes, float64 (n, 5)."""
    how, edges = fitted.form.boxes, _edges(fitted, found, read)
    value, result = np.empty(len(found)), np.empty((len(found), 5))
    for n in range(len(fitted.levels)):
        rows = np.flatnonzero(found.level == n)
        if len(rows):
            value[rows] = read("angle", n, found.take(rows))[:, 0]
    with np.errstate(invalid="ignore", over="ignore"):
        angle = _RADIANS[how.angle](value)
        around = middle = (edges[:, :2] + edges[:, 2:]) / 2.0
        if ENCODINGS[how.encoding].sides:
            columns, strides = (np.array(v)[found.level] for v in zip(*((x.grid[1], x.stride) for x in fitted.levels)))
            around = np.stack([found.cell % columns, found.cell // columns], 1) + how.center
            around *= strides[:, None]
        x, y = (middle - around).T
        sine, cosine = sine_and_cosine(angle)
        result[:, 0] = around[:, 0] + (x * cosine - y * sine)
        result[:, 1] = around[:, 1] + (x * sine + y * cosine)
        result[:, 2:4], result[:, 4] = edges[:, 2:] - edges[:, :2], angle
    return result


_RADIANS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "shifted": lambda v: (v - 0.25) * np.pi,
    "radians": lambda v: v,
}


def reader(fitted: Fitted, tensors: Sequence[np.ndarray]) -> Read:
    """Return what reads values of candidates from unpacked outputs."""

    def read(role: str, n: int, found: Candidates, channels: np.ndarray | None = None) -> np.ndarray:
        level = fitted.levels[n]
        place = level.places[role]
        if channels is None:
            return chosen(place, level, found, tensors)
        part = values(place, level, tensors[place.output])
        one: np.ndarray = part[found.anchor, channels, found.cell].astype(np.float64)
        return one

    return read


def chosen(place: Place, level: Level, found: Candidates, tensors: Sequence[np.ndarray]) -> np.ndarray:
    """Return a part's values of candidates of one level, float64 (n, count), activated."""
    part = values(place, level, tensors[place.output])
    return activated(place.part.activation, part[found.anchor, :, found.cell])


def _boxes(fitted: Fitted, n: int, found: Candidates, read: Read) -> np.ndarray:
    """Return the edges of candidates of one level, float64 (n, 4)."""
    how, level = fitted.form.boxes, fitted.levels[n]
    x = read("box", n, found)
    if level.places["box"].part.count == 2:
        offset = read("offset", n, found) if "offset" in level.places else np.full((len(x), 2), how.center)
        x = np.concatenate([offset, x], 1)
    elif how.order != (0, 1, 2, 3):
        x = x.reshape(len(x), 4, -1)[:, how.order].reshape(len(x), -1)
    cell, anchor = _cells(level, found)
    unit = {"stride": [level.stride] * 2, "pixel": [1, 1], "input": fitted.input_hw[::-1]}[how.unit]
    with np.errstate(over="ignore", invalid="ignore"):
        at = Cells(how, cell, level.step, anchor, np.array(unit, np.float64), spread_of(how, n))
        return EDGES[how.encoding](at, x)


def _cells(level: Level, found: Candidates) -> tuple[np.ndarray, np.ndarray]:
    """Return column and row of candidates' cells, and their anchors; of priors their centres and sizes, in pixels."""
    if level.priors is not None:
        prior = level.priors[found.cell * level.turns + found.anchor]
        return prior[:, :2], prior[:, 2:]
    cell = np.stack([found.cell % level.grid[1], found.cell // level.grid[1]], 1).astype(np.float64)
    return cell, np.array(level.anchors or [(1.0, 1.0)])[found.anchor]


def point_encoding(head: Head, fitted: Fitted) -> tuple[str, str]:
    """Return how the points beside boxes are encoded, and what activates the third value of each.

    The head's rule, unless the graph decodes them: boxes that are lists, whose unit they have, and points in one output
    of their own that the head does not call encoded.
    """
    how, part = head.keypoints, fitted.form.part("keypoints")
    assert how is not None and part is not None
    boxes = fitted.form.boxes
    if part.across or not ENCODINGS[boxes.encoding].decoded:
        decoded = part.across and how.across != "encoded"
        return ("pixels", "none") if decoded else (how.encoding, how.activation)
    return "inputs" if boxes.unit == "input" else "pixels", "none"


def keypoints(head: Head, fitted: Fitted, found: Candidates, read: Read) -> np.ndarray:
    """Return the points of detections, float32 (n, points, 2 or 3) in pixels of the input, float64 rounded once."""
    how = head.keypoints
    assert how is not None
    result = np.empty((len(found), how.count, how.values))
    encoding, activation = point_encoding(head, fitted)
    for n, level in enumerate(fitted.levels):
        rows = np.flatnonzero(found.level == n)
        if not len(rows):
            continue
        some = found.take(rows)
        x = read("keypoints", n, some)[:, how.channels].reshape(len(rows), how.count, how.values)
        if encoding == "inputs":
            x[..., :2] *= np.array(fitted.input_hw[::-1], np.float64)
        cell, anchor = (v[:, None] for v in _cells(level, some))
        center = (cell + fitted.form.boxes.center) * level.step
        variance = fitted.form.boxes.variances[0]
        result[rows, :, :2] = POINTS[encoding](x[..., :2], cell, center, level.step, anchor, variance)
        if how.values == 3:
            result[rows, :, 2] = activated(activation, x[..., 2])
    with np.errstate(over="ignore"):
        return result.astype(np.float32) + np.float32(0)  # of -0.0: 0.0
