"""Run the model on plain changes of an input: only outputs that change with it show how it was made."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations

import numpy as np

from ..engines import OnnxRuntimeEngine
from ..errors import NpuLayoutError
from .comparing import KeptRun

_CHANGES = 0.01  # of an output's variance: a change of the input that changes less may be overlooked


def show_input(engine: OnnxRuntimeEngine, run: KeptRun, outputs: Collection[str]) -> bool:
    """Return whether, for each plain change of a frame's input, one of the model's outputs changes clearly.

    The mean of a map is the same if the input is mirrored, and a vector of length 1 if the input is doubled. False too
    if the model has several inputs, or does not run on a changed one.
    """
    if len(run.inputs) != 1 or not outputs:
        return False
    [(name, x)] = run.inputs.items()
    for made in plain_changes(x):
        try:
            answers = engine.infer({name: np.ascontiguousarray(made)})
        except NpuLayoutError:
            return False
        if not any(_differs(answers[output], run.references[output]) for output in outputs):
            return False
    return True


def plain_changes(x: np.ndarray) -> Iterator[np.ndarray]:
    """Yield an array reversed along one axis or two, with axes of one size exchanged, halved, and with an offset."""
    axes = range(1, x.ndim)
    for axis in axes:
        yield np.flip(x, axis)
    for pair in combinations(axes, 2):
        yield np.flip(x, pair)
        if x.shape[pair[0]] == x.shape[pair[1]]:
            yield x.swapaxes(*pair)
            yield np.flip(x.swapaxes(*pair), pair[0])
    wide = x.astype(np.float64)
    yield (wide / 2).astype(x.dtype)
    moved = wide + wide.std()
    if x.dtype.kind in "iu":
        moved = moved.clip(wide.min(), np.iinfo(x.dtype).max)
    yield moved.astype(x.dtype)


def _differs(answer: np.ndarray, reference: np.ndarray) -> bool:
    if answer.shape != reference.shape:
        return True
    with np.errstate(all="ignore"):
        apart = np.square(np.subtract(answer, reference, dtype=np.float64)).mean()
        return bool(apart > _CHANGES * reference.var(dtype=np.float64))
