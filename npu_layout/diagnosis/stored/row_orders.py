"""Find rows in another order: boxes that the device sorted, or that it did not sort as the model does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...engines import transposed
from ...support import finite
from ..scoring.evidence import Evidence
from ..scoring.thresholds import LEAST, ROUNDING
from ..scoring.trials import Trial

_MOST = 1024  # rows
_FRAMES = 6
_SORTED = 0.99  # of the neighbours are in order
_CLEAR = 2.0  # times the gain that the choice of an order reaches by chance


def row_orders(evidence: Evidence) -> Iterator[Trial]:
    """Yield for each frame the order of the rows that fits best, if it is not the model's.

    Rows are along the axis before the last, or along the last, as the boxes of a head whose numbers are its channels.
    """
    shape = evidence.references[0].shape
    if not evidence.fits or evidence.settled or len(shape) not in (2, 3) or shape == (1, shape[-1]):
        return
    for axis in (len(shape) - 2, len(shape) - 1):
        rows, values = shape[axis], shape[2 * len(shape) - 3 - axis]
        if 2 <= rows <= _MOST and values >= 2 and int(np.prod(shape)) == rows * values:
            yield from _along(evidence, axis)


def _along(evidence: Evidence, axis: int) -> Iterator[Trial]:
    """Yield the order of the rows along an axis."""
    rows = evidence.references[0].shape[axis]
    chosen = sorted({int(i) for i in np.linspace(0, len(evidence.references) - 1, _FRAMES).round()})
    device, model, orders = [], [], []
    for k in chosen:
        y = np.asarray(transposed(evidence.spec.unpack(evidence.buffers[k]), evidence.spec.axes, False))
        y, x = (
            np.moveaxis(finite(side), axis, -2).reshape(rows, -1).astype(np.float64)
            for side in (y, evidence.references[k])
        )
        spread = np.maximum(x.std(0), 1e-12)
        device.append(y / spread)
        model.append(x / spread)
        orders.append(_assigned(device[-1], model[-1]))
    if not _differ(evidence, device, model, orders, axis):
        return
    left = np.stack([y - x[order] for y, x, order in zip(device, model, orders)])
    moved = sum(int((order != np.arange(rows)).sum()) for order in orders)
    text = f"{moved} of {rows * len(chosen)} rows are at other places{_sorted_by(device, model)}"
    codes = np.stack(device).transpose(0, 2, 1).reshape(len(chosen), -1)
    errors = left.transpose(0, 2, 1).reshape(len(chosen), -1)
    yield Trial(
        "activation", text, None, codes, errors, False, evidence.spec, rows=chosen, comparable=False, places=rows,
        scattered=True,
        choices=len(chosen) * rows * float(np.log(rows)),
        answers={k: evidence.references[k].take(order, axis) for k, order in zip(chosen, orders)},
    )  # fmt: skip


def _differ(
    evidence: Evidence, device: list[np.ndarray], model: list[np.ndarray], orders: list[np.ndarray], axis: int
) -> bool:
    """Whether an order of each frame explains more than the declared one, and than the best one of all frames.

    What is in one order in all frames is an order of channels, if the rows are these, and may be a move, if they are
    places of a signal: those along the last axis have to be in another order in each frame.
    """
    rows = len(orders[0])
    one = _assigned(np.concatenate(device, 1), np.concatenate(model, 1))
    several = len({x.tobytes() for x in model}) > 1
    others = [np.arange(rows)]
    if several or axis in (evidence.channel_axis, evidence.references[0].ndim - 1):
        others.append(one)
    left, *before = (
        np.stack([y - x[order] for y, x, order in zip(device, model, chosen)])
        for chosen in (orders, *([other] * len(orders) for other in others))
    )
    return all(_worth(evidence, left, rest, rows) for rest in before)


def _assigned(device: np.ndarray, model: np.ndarray) -> np.ndarray:
    """Return for each row of the device the nearest of the model's, each used once; the clearest rows choose first."""
    cost = (device * device).sum(1)[:, None] - 2 * device @ model.T + (model * model).sum(1)
    nearest = np.partition(cost, 1, axis=1)
    order = np.full(len(cost), -1)
    free = np.ones(len(cost), bool)
    for k in np.argsort(nearest[:, 0] - nearest[:, 1], kind="stable"):
        left = np.where(free, cost[k], np.inf)
        best = int(left.argmin())
        order[k] = k if free[k] and left[k] <= left[best] else best
        free[order[k]] = False
    return order


def _worth(evidence: Evidence, left: np.ndarray, before: np.ndarray, rows: int) -> bool:
    """Whether the order gains more than by its choice: each row is one of so many."""
    floor = 1e-9 if not evidence.steps else 1e-4 * ROUNDING
    error, was = (max(float((x * x).mean()), floor) for x in (left, before))
    gain = 0.5 * left.size * float(np.log(was / error))
    return gain > _CLEAR * len(left) * rows * float(np.log(rows)) and 10 * float(np.log10(was / error)) >= LEAST


def _sorted_by(device: list[np.ndarray], model: list[np.ndarray]) -> str:
    """Return by which of its values either side is sorted, and the other is not."""
    for side, other, words in ((device, model, "the device sorts"), (model, device, "the model sorts")):
        for column in range(side[0].shape[1]):
            if _falls(side, column) >= _SORTED > _falls(other, column):
                return f": {words} them by value {column}, the largest first"
    return ""


def _falls(side: list[np.ndarray], column: int) -> float:
    return min(float((np.diff(rows[:, column]) <= 0).mean()) for rows in side)
