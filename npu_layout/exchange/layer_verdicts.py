"""Judge one tensor of which two tools dumped the values: the same, different, or not to be compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..comparison import FLOAT16_MOST, MOST_DB, OutputComparison, channel_axis
from .layer_dumps import Stored
from .layer_orders import MARGIN, DumpReading, StoredAs, best_reading
from .layer_records import ComparedLayer
from .onnx_graph import GraphTensor

_STEPS = 4.0  # of 8 bits over the tensor's range: what is smaller may be the noise of quantised layers
_ALL = 0.8  # of the variance, as error: nothing of what varies is explained
_OFF = 0.5  # distance of the slope from 1
_ENOUGH = 16  # values
_BEYOND = 1e30  # a value beyond what a network computes, such as a mask
UNORDERED = {"TopK", "NonMaxSuppression", "NonZero", "Unique"}  # their results change places if two values are close


class Judged(NamedTuple):
    """A layer with its verdict, the power of a's values, and how each dump is stored (None: in no known form)."""

    layer: ComparedLayer
    power: float
    stored: tuple[StoredAs, StoredAs] | None


def judged(layer: ComparedLayer, tensor: GraphTensor, a: Stored, b: Stored, limit: float, floor: float) -> Judged:
    """Return the layer with its verdict, and what the two dumps have of it."""
    reading = best_reading(tensor.shape, tensor.dtype, a, b)
    if reading is None:
        return Judged(_of_another_size(layer, tensor, a, b), 0.0, None)
    ours, theirs = _without_masks(*reading.values())
    measured, stored = _measured(ours, theirs, floor), (reading.a.stored_as, reading.b.stored_as)
    described = layer._replace(
        snr_db=measured.snr_db,
        shape=reading.shape,
        layout_a=str(stored[0]),
        layout_b=str(stored[1]),
        why=_as_read(reading),
    )
    return Judged(_with_verdict(described, tensor, reading, (ours, theirs), measured, limit), measured.power, stored)


def _with_verdict(
    described: ComparedLayer,
    tensor: GraphTensor,
    reading: DumpReading,
    values: tuple[np.ndarray, np.ndarray],
    measured: _Measured,
    limit: float,
) -> ComparedLayer:
    ours, theirs = values
    if measured.non_finite:
        return described._replace(verdict="differs", snr_db=None, why=_not_finite(ours, theirs))
    if reading.fitted is not None and ours.size < _ENOUGH:
        few = f"{ours.size} values are too few to decide, because no scale is known"
        return described._replace(verdict="undecided", why=few, snr_db=None)
    if measured.snr_db < limit and reading.lacks_scale(tensor.dtype):
        return _without_scale(described, ours, theirs)
    whole = {"int", "bool"} & {tensor.dtype.lstrip("u").rstrip("0123456789")}
    if whole and measured.snr_db < limit:
        return _whole_numbers(described, ours, theirs)
    if measured.snr_db < limit:
        if measured.snr_db < MARGIN:  # unrelated values agree in no layout
            described = described._replace(layout_a=reading.a.dtype, layout_b=reading.b.dtype, why="")
        return described._replace(verdict="differs")
    if measured.unrelated and not whole:
        why = f"{measured.unrelated}{'; ' + described.why if described.why else ''}"
        return described._replace(verdict="differs", why=why)
    return described._replace(verdict="same")


def _without_scale(described: ComparedLayer, a: np.ndarray, b: np.ndarray) -> ComparedLayer:
    """Return the verdict on integers that no positive scale makes the other side's real values.

    Numbers that are all equal have any scale; others vary without relation to the real values, or against them.
    """
    few = a.size < _ENOUGH or np.ptp(a) == 0 or np.ptp(b) == 0
    if few:
        why = "integers on one side, and no scale is known"
        return described._replace(verdict="undecided", why=why, snr_db=None)
    why = "no scale makes one side's integers the other's values"
    return described._replace(verdict="differs", why=why, snr_db=None)


def _of_another_size(layer: ComparedLayer, tensor: GraphTensor, a: Stored, b: Stored) -> ComparedLayer:
    """Return the verdict on two dumps that cannot be one tensor: arrays of different sizes differ."""
    if not (len(a) if isinstance(a, bytes) else a.size) and not (len(b) if isinstance(b, bytes) else b.size):
        return layer._replace(verdict="undecided", why="neither has a value")
    sizes = [f"shape {x.shape}" if isinstance(x, np.ndarray) else f"{len(x)} bytes" for x in (a, b)]
    why = f"a has {sizes[0]}, b has {sizes[1]}, and the model's shape is {tensor.shape}"
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.size and b.size:
        return layer._replace(verdict="differs", why=f"other sizes: {why}")
    return layer._replace(verdict="undecided", why=f"no layout that was tried has these sizes: {why}")


def _without_masks(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both with 0 where each has a value beyond any range, of one sign: float16 clamps a mask's -3.4e38."""
    huge = (np.abs(a) >= FLOAT16_MOST) & (np.abs(b) >= FLOAT16_MOST) & (np.sign(a) == np.sign(b))
    huge &= (np.abs(a) >= _BEYOND) | (np.abs(b) >= _BEYOND)
    both = huge | (np.isnan(a) & np.isnan(b))
    return (np.where(both, 0.0, a), np.where(both, 0.0, b)) if both.any() else (a, b)


class _Measured(NamedTuple):
    """Figures of two tensors; `unrelated` says what of it has nothing to do with the other's."""

    snr_db: float
    power: float
    non_finite: int
    unrelated: str


def _measured(a: np.ndarray, b: np.ndarray, floor: float) -> _Measured:
    """Compare two tensors of one shape; an error below `floor` (RMS) is none."""
    a, b = (np.atleast_1d(x) for x in (a, b))
    good = np.isfinite(a) & np.isfinite(b)
    plain = np.where(good, a, 0.0), np.where(good, b, 0.0)
    power, error = float(np.mean(plain[0] ** 2)), float(np.mean((plain[0] - plain[1]) ** 2))
    if error <= floor**2 and good.all():
        return _Measured(MOST_DB, power, 0, "")
    step = _STEPS * (max(plain[0].max(), 0.0) - min(plain[0].min(), 0.0)) / 255
    figures = OutputComparison(channel_axis(plain[0]), step or None)
    figures.add(0, b, a)
    whole = figures.whole
    if whole is None or figures.non_finite or error <= floor**2:
        return _Measured(0.0 if figures.non_finite else MOST_DB, power, figures.non_finite, "")
    unrelated = _unrelated(*plain, figures, step) if a.size >= _ENOUGH and step else ""
    return _Measured(whole.snr_db, power, 0, unrelated)


def _unrelated(a: np.ndarray, b: np.ndarray, figures: OutputComparison, step: float) -> str:
    """Return which part of b has nothing to do with a's, in words; empty if none, or if it may be noise."""
    error, variance = float(np.mean((a - b) ** 2)), float(a.var())
    shared = float(np.mean((a - a.mean()) * b))
    if error > max(step**2, _ALL * variance) and abs(shared - variance) >= _OFF * variance > 0:
        return "what varies is unrelated; only the mean agrees"
    parts = [part for part in figures.parts.unexplained() if part.axis is not None]
    first = [part for part in parts if part.axis == parts[0].axis]
    if not first:
        return ""
    many, among = len(first) > 1, first[0].among
    places = ", ".join(str(part.at) for part in first[:6]) + (", ..." if len(first) > 6 else "")
    if first[0].axis == figures.channel_axis:
        where = f"channel{'s' if many else ''} {places} of {among}"
    else:
        where = f"{'indices' if many else 'index'} {places} of the {among} along axis {first[0].axis}"
    return f"{where} {'are' if many else 'is'} unrelated"


def _not_finite(a: np.ndarray, b: np.ndarray) -> str:
    said = []
    for side, mine, other in (("a", a, b), ("b", b, a)):
        for kind, is_it in (("NaN", np.isnan), ("infinite", np.isinf)):
            count = int((is_it(mine) & np.isfinite(other)).sum())
            if count:
                said.append(f"{side} has {count} of {mine.size} values {kind} where the other is finite")
    return "; ".join(said) or "NaN and infinity are in different places"


def _whole_numbers(layer: ComparedLayer, a: np.ndarray, b: np.ndarray) -> ComparedLayer:
    """Return the verdict on numbers that are indices or classes, whose distance means nothing."""
    share = float((a == b).mean())
    agree = f"{100 * share:.0f} % of the whole numbers are equal"
    if layer.op in UNORDERED:
        close = f"{agree}; {layer.op} changes places where two values are close"
        return layer._replace(verdict="undecided", why=close)
    return layer._replace(verdict="same" if share >= 0.5 else "differs", why=agree)


def _as_read(reading: DumpReading) -> str:
    """Return what of the reading is not the model's order and dtype, in words."""
    said = []
    if str(reading.a.layout) != str(reading.b.layout):
        said.append(f"a is stored as {reading.a.layout}, b as {reading.b.layout}")
    if reading.fitted is not None:
        which, scale, zero_point = reading.fitted
        said.append(f"{'ab'[which]} read with the scale {scale:.6g} and the zero point {zero_point:.1f} that fit best")
    return "; ".join(said)
