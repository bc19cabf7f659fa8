"""Try the model's maps mirrored, rotated, shifted or cropped: a picture that is not where the model has it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ...buffers import TensorSpec
from ...engines import axes_in_model, shape_in_model
from ...support import finite
from ..scoring.evidence import Evidence
from ..scoring.samples import Matrix, arithmetic, ends, predicted
from ..scoring.thresholds import MARGIN
from ..scoring.trials import Trial
from .changed import Changed
from .moves import MOVES, Axes, Move, fills, values_in, whole
from .place_orders import place_orders

_LEAST = 4  # places along an axis that is moved
_FRAMES, _PLACES = 3, 4096  # in which moves are compared before one is tried on all samples
WORTH = 1.0  # dB that a move has to explain more there
_MOST = 3  # trials


def geometries(evidence: Evidence) -> Iterator[Trial]:
    """Yield the moves that explain most, if they explain more than the declared reading."""
    axes = axes_of(evidence)
    if axes is None or evidence.settled:
        return
    if evidence.fits:
        moved = list(_moves(evidence, axes))
        yield from moved
        least = max((evidence.score(trial) for trial in moved), default=-np.inf) + MARGIN
        yield from (trial for trial in place_orders(evidence) if evidence.score(trial) >= least)
    down, across = axes
    if down is not None:
        yield from _turned(evidence, (down, across))


def axes_of(evidence: Evidence) -> Axes | None:
    """Return the axes of height and width in the model's order.

    The rows of a map without channels, (1, H, W), are what seem to be its channels. A map of labels may have an axis of
    extent 1 behind its columns, (1, H, W, 1).
    """
    shape, channels = evidence.references[0].shape, evidence.named_axis
    rest = [a for a in range(1, len(shape)) if a != channels]
    if len(shape) == 3 and channels == 1:
        rest = [1, 2]
    if channels is None:
        rest = [a for a in rest if shape[a] > 1]
    long = [a for a in rest[-2:] if shape[a] >= _LEAST]
    return None if not long else (long[0], long[1]) if len(long) > 1 else (None, long[0])


def _possible(evidence: Evidence, axes: Axes) -> Iterator[Move]:
    """Yield the moves that no other order of the channels describes."""
    shape, (down, across) = evidence.references[0].shape, axes
    for move in MOVES:
        tall = 1 if down is None else shape[down]
        if (move.down and down is None) or (move.square and tall != shape[across]):
            continue
        along = {axis for axis, moved in ((down, move.down), (across, move.across)) if moved}
        if along != {evidence.named_axis}:
            yield move


def _moves(evidence: Evidence, axes: Axes) -> Iterator[Trial]:
    """Yield trials of the best moves, chosen by some samples of some frames."""
    samples, count = evidence.samples, evidence.codes.shape[1]
    some = np.sort(np.random.default_rng(2).permutation(count)[:_PLACES])
    rows = sorted({int(i) for i in np.linspace(0, len(evidence.references) - 1, _FRAMES).round()})
    index = tuple(i[some] for i in samples.index)
    scale, zero_point = (np.broadcast_to(a, count)[some] for a in arithmetic(evidence.spec, samples))
    codes, low_high = evidence.codes[rows][:, some], ends(evidence.spec)
    floor = evidence.rounding(evidence.steps)

    def error(wanted: Matrix) -> float:
        left = codes - np.clip(wanted / scale + zero_point, *low_high)
        return max(float((left * left).mean()), floor, 1e-300)

    before = error(evidence.wanted[rows][:, some])
    found: list[tuple[float, Move, str]] = []
    for move in _possible(evidence, axes):
        for fill in fills(move, evidence.references[0].shape, axes, index):
            wanted = values_in([evidence.references[k] for k in rows], index, axes, move, fill)
            found.append((error(wanted), move, fill))
    found.sort(key=lambda one: one[0])
    tried: list[Move] = []
    for left, move, fill in found:
        if left * 10 ** (WORTH / 10) > before or left > found[0][0] * 10 ** (MARGIN / 10) or len(tried) == _MOST:
            return
        if move not in tried:
            tried.append(move)
            yield _trial(evidence, axes, move, fill)._replace(choices=float(np.log(len(found))))


def _trial(evidence: Evidence, axes: Axes, move: Move, fill: str) -> Trial:
    wanted = values_in(evidence.references, evidence.samples.index, axes, move, fill)
    left = evidence.codes - evidence.predicted(wanted)
    answers = Changed(evidence.references, partial(whole, axes=axes, move=move, fill=fill))
    text = f"the maps are {move.text}"
    return evidence.tried("geometry", text, left)._replace(answers=answers)


def _turned(evidence: Evidence, axes: tuple[int, int]) -> Iterator[Trial]:
    """Yield maps that are not square, rotated by 90 degrees: as wide as the model's are tall."""
    down, across = axes
    spec = _with_exchanged_sides(evidence, down, across)
    if spec is None:
        return
    samples, (h, w) = evidence.samples, (evidence.references[0].shape[axis] for axis in axes)
    y, x = samples.index[down], samples.index[across]
    before = evidence.score(evidence.as_declared()) if evidence.fits else 0.0
    for turns, text, place in ((-1, "clockwise", (x, h - 1 - y)), (1, "counterclockwise", (w - 1 - x, y))):
        index = list(samples.index)
        index[down], index[across] = place
        placed = [index[axes_in_model(spec.axes).index(own)] for own in range(len(index))]
        codes = np.stack([finite(e[spec.offset(*placed)]).astype(np.float64) for e in evidence.elements])
        left = codes - predicted(evidence.spec, samples, evidence.wanted)
        answers = Changed(evidence.references, partial(np.rot90, k=turns, axes=axes))
        what = f"the maps are rotated by 90 degrees {text}, and {w} x {h} (H x W)"
        trial = Trial("geometry", what, None, codes, left, evidence.steps, spec, comparable=False, answers=answers)
        if evidence.score(trial) > before + WORTH:
            yield trial


def _with_exchanged_sides(evidence: Evidence, down: int, across: int) -> TensorSpec | None:
    """Return the declared spec for maps as wide as the model's are tall; None if it cannot read them.

    Scales along a side are those of so many rows or columns, and not of as many as the other side has.
    """
    spec, shape = evidence.spec, list(evidence.references[0].shape)
    shape[down], shape[across] = shape[across], shape[down]
    if shape[down] == shape[across] or evidence.named_axis in (down, across):
        return None
    if not evidence.fits:
        return spec if shape_in_model(spec) == tuple(shape) else None
    own = [shape[axes_in_model(spec.axes).index(k)] for k in range(len(shape))]
    q = spec.quantization
    if q is not None and q.axis is not None and own[q.axis] != spec.shape[q.axis]:
        return None
    turned = TensorSpec(own, spec.layout, spec.dtype, axes=spec.axes, quantization=spec.quantization, name=spec.name)
    return turned if turned.size == spec.size else None
