"""Whether an input differs where the picture is flat: a resize leaves a flat area as it is, other colours do not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from .input_pairs import InputPair

_FLAT = 2.0  # steps: in a flat area the pixels around one differ by no more
_FEWEST = 16  # flat places for each number that is fitted


def colour_difference(
    pairs: Sequence[InputPair],
    made: Sequence[np.ndarray],
    recorded: Sequence[np.ndarray],
    formulas: Sequence[Sequence[np.ndarray]],
) -> float:
    """Return by how many steps, root mean square, inputs differ as a function of the colour, where the picture is flat.

    made, recorded: two inputs of each pair; formulas: of each pair what other interpolations make of the frame, which
    are the same where it is flat. A function that is linear in the channels is fitted to the differences, so that noise
    is none. 0.0 if too few places are flat.
    """
    colours, differences = [], []
    for pair, one, other, same in zip(pairs, made, recorded, formulas):
        picture, where = _pixels(pair, one), _flat([_pixels(pair, values) for values in same])
        difference = _pixels(pair, other) - picture
        where &= np.isfinite(difference).all(axis=-1)
        colours.append(picture[where])
        differences.append(difference[where])
    x, y = (np.concatenate(values).astype(np.float64) for values in (colours, differences))
    known = np.column_stack([x, np.ones(len(x))])
    numbers = known.shape[1]
    if len(x) < _FEWEST * numbers:
        return 0.0
    fitted = known @ np.linalg.lstsq(known, y, rcond=None)[0]
    noise = np.square(y - fitted).sum() / (len(x) - numbers) / y.shape[1]
    return float(np.sqrt(max(0.0, np.square(fitted).mean() - noise * numbers / len(x))))


def _pixels(pair: InputPair, values: np.ndarray) -> np.ndarray:
    """Return an input as (height, width, channels), in steps."""
    axes = [pair.spec.axes.index(letter) for letter in "HWC"]
    steps = np.moveaxis(pair.in_steps(values), axes, (-3, -2, -1))
    return np.asarray(steps.reshape(steps.shape[-3:]), np.float32)


def _flat(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Return where the pixels around one are like it in all channels, and in all pictures."""
    flat = np.zeros(pictures[0].shape[:2], bool)
    if min(flat.shape) > 2:
        low, high = reduce(np.minimum, pictures), reduce(np.maximum, pictures)
        low, high = (reduce(of, (x[:-2], x[1:-1], x[2:])) for of, x in ((np.minimum, low), (np.maximum, high)))
        low, high = (reduce(of, (x[:, :-2], x[:, 1:-1], x[:, 2:])) for of, x in ((np.minimum, low), (np.maximum, high)))
        flat[1:-1, 1:-1] = (high - low <= _FLAT).all(axis=-1)
    return flat
