"""Describe ways to read or make an output: trials, and candidates, which are trials with a score."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec


class Trial(NamedTuple):
    """One way of reading or making the output, before it is judged.

    Attributes
    ----------
    cause
        The verdict that it leads to; "match": as declared.
    text, fix
        The way, in words and as the fix of an OutputReport.
    codes, left
        The stored values at the samples (frames, places), and their difference from what the trial predicts.
    steps
        Whether the stored values are rounded to whole steps.
    spec, order
        The spec that reads the buffer, and the indices of its channels, if these are in another order.
    rows
        Its frames, if these are not all.
    comparable
        Whether its stored values can be compared with the declared ones.
    places
        Samples of one channel, if its tensor has another shape than the model's output.
    parameters, choices
        How many numbers were fitted, and the logarithm of the number of arrangements that it was picked from.
    answers
        {row of the kept frames: what the model would have returned}, if the trial says that it was something else.
    of_input
        Whether the trial is about the model's inputs, and not about how the output is read.
    scattered
        Whether neighbouring values err independently, because they are no neighbours in a map: rows that were sorted.
    line
        Slope and offset of the stored floats over the model's values, if the trial says that they are scaled.
    way
        Identifies, for all outputs of a model, the way in which its inputs were made; None if these are the recorded.
    """

    cause: str
    text: str
    fix: Any
    codes: np.ndarray
    left: np.ndarray
    steps: bool
    spec: TensorSpec | None = None
    order: tuple[int, ...] | None = None
    rows: Sequence[int] | None = None
    comparable: bool = True
    places: int = 0
    answers: Mapping[int, np.ndarray] = {}
    parameters: int = 0
    choices: float = 0.0
    of_input: bool = False
    line: tuple[float, float] | None = None
    scattered: bool = False
    way: Hashable = None


class Candidate(NamedTuple):
    """A trial with its score: one way to read or make the output.

    Attributes
    ----------
    cause, text, fix, spec, order, of_input, way
        As in Trial.
    score
        dB that it explains.
    gain
        How many dB more it explains than the declared reading, in the values in which the two differ.
    leans, decided
        Where the data are between the declared reading (0) and this one (1), and whether they decide between the two.
    trial
        The index of its trial.
    """

    cause: str
    text: str
    score: float
    gain: float
    fix: Any
    leans: float = 1.0
    decided: bool = True
    spec: TensorSpec | None = None
    order: tuple[int, ...] | None = None
    trial: int = 0
    of_input: bool = False
    way: Hashable = None


def without_repeats(ranking: list[Candidate]) -> list[Candidate]:
    """Return the candidates without those whose fix is that of a better one, or differs only in the strides.

    So is one without a fix that says what a better one says, of the stored values or of their logarithms.
    """
    kept: list[Candidate] = []
    for c in ranking:
        same = [k for k in kept if k.cause == c.cause and (c.fix is not None or (c.text and c.text == k.text))]
        if not any(c.fix == k.fix or (_form(c) == _form(k) is not None) for k in same):
            kept.append(c)
    return kept


def _form(c: Candidate) -> tuple[Any, ...] | None:
    """Return what identifies a corrected spec: layout, shape, dtype, and its scale, or how many there are.

    Several scales of channels are one of another order, but not each other's if they are what is wrong.
    """
    fix = c.fix
    if not isinstance(fix, TensorSpec):
        return None
    q = fix.quantization
    scale: Any = None
    if q is not None and q.axis is None:
        scale = f"{float(q.scale):.6g}", float(q.zero_point)
    elif q is not None:
        scale = q.count if c.cause != "quantization" else tuple(f"{s:.6g}" for s in np.ravel(q.scale))
    return fix.layout, fix.shape, fix.dtype, scale
