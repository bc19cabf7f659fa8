"""Try an extra or a missing activation at the end of the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ..comparison import listed
from ..support import finite
from .evidence import Evidence, Trial
from .thresholds import LEAST, MARGIN


class _Activation(NamedTuple):
    """A change to the model's output, in words and as a function; `possible`: in which channels it can be."""

    text: str
    apply: Callable[[np.ndarray], np.ndarray]
    possible: np.ndarray


def activations(evidence: Evidence) -> Iterator[Trial]:
    """Yield a trial of each activation in all channels, and in the channels that it explains better."""
    if not evidence.fits:
        return
    for activation in _applicable(evidence):
        yield from _trials(evidence, activation)


def _applicable(evidence: Evidence) -> Iterator[_Activation]:
    shape = evidence.references[0].shape
    values = evidence.by_channel(evidence.wanted)
    low, high = values.min(1), values.max(1)
    unit = (low >= 0) & (high <= 1) & (high > low)
    every = np.ones(len(values), bool)
    yield _Activation("an extra sigmoid", _sigmoid, every)
    if unit.any():
        yield _Activation("a missing sigmoid", _logit, unit)
    for axis in sorted({evidence.channel_axis or 0, len(shape) - 1}, key=lambda a: a != evidence.channel_axis):
        if shape and shape[axis] > 1:
            along = "" if axis == evidence.channel_axis else f", along axis {axis}"
            yield _Activation(f"an extra softmax{along}", partial(_softmax, axis=axis), every)


def _trials(evidence: Evidence, activation: _Activation) -> Iterator[Trial]:
    text, apply, possible = activation
    wanted = np.stack([evidence.samples.of(apply(finite(r).astype(np.float64))) for r in evidence.references])
    left = evidence.codes - evidence.predicted(wanted)
    whole = Trial("mismatch", text, None, evidence.codes, left, evidence.steps, evidence.spec)
    if possible.all():
        yield whole
    varied = evidence.by_channel(evidence.codes).var(1)
    before, after = ((evidence.by_channel(x) ** 2).mean(1) for x in (evidence.left, left))
    better = possible & (after * 10 ** (LEAST / 10) < np.minimum(before, varied))
    if not better.any() or better.all():
        return
    where = better[evidence.samples.channel]
    which = f", in {better.sum()} of {len(better)} channels ({listed(np.flatnonzero(better))})"
    part = whole._replace(text=text + which, left=np.where(where, left, evidence.left))
    if not possible.all() or evidence.score(part) >= evidence.score(whole) + MARGIN:
        yield part


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def _logit(x: np.ndarray) -> np.ndarray:
    inside = np.clip(x, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(inside / (1 - inside)))


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))
