"""Try an extra or a missing function at the end of the network: sigmoid, softmax, exp, ReLU, sign."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ...comparison import decibels, listed
from ...support import finite
from ..scoring.evidence import Evidence
from ..scoring.thresholds import FAR, LEAST, MARGIN, NEARLY_ALL
from ..scoring.trials import Trial
from .changed import Changed

_LEVELS = 4  # different values of a channel, of which a function makes a curve
_LEAST, _NEXT = 1e-12, 6e-8  # probability; by how much the float32 below 1 differs from 1
_WORTH = 1.0  # dB that a function along an axis has to explain more in one frame, before it is tried in all


class _Activation(NamedTuple):
    """A change to the model's output, in words and as a function; `possible`: in which channels it can be.

    `whole`: whether it needs all values along an axis.
    """

    text: str
    apply: Callable[[np.ndarray], np.ndarray]
    possible: np.ndarray
    whole: bool = False


def activations(evidence: Evidence, best: float = -np.inf) -> Iterator[Trial]:
    """Yield a trial of each activation in all channels, and in the channels that it explains better.

    A function of all values along an axis changes all of them: it is tried in all channels only, and, as it takes long,
    not if another cause explains nearly all. best: dB that other causes explain.
    """
    if not evidence.fits or evidence.settled:
        return
    graded = _graded(evidence)
    for activation in _applicable(evidence):
        if not activation.whole or _promising(evidence, activation.apply, best):
            yield from _trials(evidence, activation, graded)


def _graded(evidence: Evidence) -> np.ndarray:
    """Return in which channels the device returns values of enough steps to show a curve, and not a threshold only."""
    steps = np.diff(np.sort(evidence.by_channel(evidence.codes), 1), axis=1) > 0
    return np.asarray(steps.sum(1) + 1 >= _LEVELS)


def _applicable(evidence: Evidence) -> Iterator[_Activation]:
    values = evidence.by_channel(evidence.wanted)
    low, high = values.min(1), values.max(1)
    unit, varied, every = (low >= 0) & (high <= 1) & (high > low), high > low, np.ones(len(values), bool)
    for text, apply, possible in (
        ("an extra sigmoid", sigmoid, every),
        ("a missing sigmoid", _logit, unit),
        ("an extra tanh", np.tanh, ~unit),  # nobody puts one after a sigmoid or a softmax
        ("an extra exp, or a missing log", _exp, every),
        ("a missing exp, or an extra log", _log, varied & (low > 0)),
        ("an extra ReLU", partial(np.maximum, 0), every & (low < 0).any() & (high > 0).any()),
        ("the reciprocals of the model's values", _reciprocal, varied & ((low > 0) | (high < 0))),
        ("the model's values with the other sign", np.negative, varied),
        # two channels that are exchanged look like it
        ("1 minus the model's values", partial(np.subtract, 1), unit & (len(values) != 2)),
    ):
        if possible.any():
            yield _Activation(text, apply, possible)
    for axis in _axes(evidence):
        along = "" if axis == evidence.channel_axis else f", along axis {axis}"
        yield _Activation(f"an extra softmax{along}", partial(softmax, axis=axis), every, whole=True)
        yield _Activation(f"an extra L2 normalisation{along}", partial(normalised, axis=axis), every, whole=True)


def _axes(evidence: Evidence) -> list[int]:
    """Return the axes along which a function may be: the channels' first, and both ends of rows of values."""
    shape = evidence.references[0].shape
    ends = {evidence.channel_axis or 0, len(shape) - 1, *([1] if len(shape) == 3 else [])}
    axes = sorted(ends, key=lambda a: a != evidence.channel_axis)
    return [axis for axis in axes if shape and shape[axis] > 1]


def _trials(evidence: Evidence, activation: _Activation, graded: np.ndarray) -> Iterator[Trial]:
    text, apply, possible, whole_axis = activation
    if whole_axis:
        wanted = np.stack([evidence.samples.of(_on(r, apply)) for r in evidence.references])
    else:
        wanted = apply(evidence.wanted)
    left = evidence.codes - evidence.predicted(wanted)
    change = partial(_in_channels, apply=apply, axis=evidence.channel_axis)
    answers = Changed(evidence.references, change)
    whole = evidence.tried("activation", text, left)._replace(answers=answers)
    if possible.all():
        yield whole
    if whole_axis:
        return
    better = _better(evidence, left) & possible & graded
    if not better.any() or better.all():
        return
    where = better[evidence.samples.channel]
    which = f", in {better.sum()} of {len(better)} channels ({listed(np.flatnonzero(better))})"
    answers = Changed(evidence.references, partial(change, only=better))
    left, choices = np.where(where, left, evidence.left), len(better) * float(np.log(2))
    part = whole._replace(text=text + which, left=left, answers=answers, choices=choices)
    if not possible.all() or evidence.score(part) >= evidence.score(whole) + MARGIN:
        yield part


def _better(evidence: Evidence, left: np.ndarray, row: int | None = None) -> np.ndarray:
    """Return in which channels a trial explains more than the declared reading. `row`: of this frame, else of all."""
    rows = slice(None) if row is None else slice(row, row + 1)
    varied = evidence.by_channel(evidence.codes[rows]).var(1)
    before, after = ((evidence.by_channel(x) ** 2).mean(1) for x in (evidence.left[rows], left))
    return np.asarray(after * 10 ** (LEAST / 10) < np.minimum(before, varied))


def _promising(evidence: Evidence, apply: Callable[[np.ndarray], np.ndarray], best: float) -> bool:
    """Whether a function explains more of the frame that errs most, as a whole or of some channels, than is declared.

    Not if it explains far less than the best of other causes, and that nearly all.
    """
    row = int(np.square(evidence.left).mean(1).argmax())  # of sure classes the others are what a function leaves
    left = evidence.codes[row : row + 1] - evidence.predicted(evidence.samples.of(_on(evidence.references[row], apply)))
    error, before = (float((x * x).mean()) for x in (left, evidence.left[row]))
    if best >= NEARLY_ALL and decibels(float(evidence.codes[row].var()), error) < best - FAR:
        return False
    return error * 10 ** (_WORTH / 10) < before or bool(_better(evidence, left, row).any())


def _on(reference: np.ndarray, apply: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return apply(finite(reference).astype(np.float64))


def _in_channels(
    reference: np.ndarray,
    apply: Callable[[np.ndarray], np.ndarray],
    axis: int | None,
    only: np.ndarray | None = None,
) -> np.ndarray:
    """Return the model's output with the function applied in these channels, or in all."""
    changed = _on(reference, apply)
    if only is None or axis is None:
        return changed
    where = only.reshape([-1 if k == axis else 1 for k in range(reference.ndim)])
    return np.where(where, changed, reference)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return the sigmoid of each value."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def _logit(x: np.ndarray) -> np.ndarray:
    inside = np.clip(x, _LEAST, 1 - _NEXT)
    return np.asarray(np.log(inside / (1 - inside)))


def _exp(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(np.minimum(x, 80.0)))


def _log(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(np.maximum(x, _LEAST)))


def _reciprocal(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / np.where(np.abs(x) < 1e-12, 1e-12, x))


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the softmax along an axis."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


def normalised(x: np.ndarray, axis: int) -> np.ndarray:
    """Return each vector along an axis divided by its length."""
    return np.asarray(x / np.maximum(np.sqrt((x * x).sum(axis, keepdims=True)), 1e-12))
