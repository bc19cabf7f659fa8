"""Whether an input differs where the picture is flat: a resize leaves a flat area as it is, other colours do not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from .input_pairs import InputPair

_FLAT = 2.0  # steps: in a flat area the pixels around one differ by no more
_FEWEST = 16  # flat places for each number that is fitted
_NEAR_END = 8.0  # pixel values from black or white


def colour_difference(
    pairs: Sequence[InputPair],
    made: Sequence[np.ndarray],
    recorded: Sequence[np.ndarray],
    formulas: Sequence[Sequence[np.ndarray]],
) -> float:
    """Return by how many steps, root mean square, inputs differ as a function of the colour, where the picture is flat.

    made, recorded: two inputs of each pair; formulas: of each pair what other interpolations make of the frame, which
    are the same where it is flat. A function that is linear in the channels is fitted to the differences, so that noise
    is none, where it is not cut. 0.0 if too few places are flat.
    """
    flat = []
    for pair, one, other, same in zip(pairs, made, recorded, formulas):
        picture = as_picture(pair, one)
        where = _flat([as_picture(pair, x) for x in same]) & is_uncut(pair, picture).all(axis=-1)
        flat.append((where, picture, as_picture(pair, other)))
    colours, differences = _where(flat)
    return _function_of(colours, differences) if len(colours) >= _FEWEST * (colours.shape[1] + 1) else 0.0


def _where(pictures: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the colours of one of two pictures in some places, and the other one's difference from it there."""
    colours, differences = [], []
    for where, one, other in pictures:
        difference = other - one
        there = where & np.isfinite(difference).all(axis=-1)
        colours.append(one[there])
        differences.append(difference[there])
    return np.concatenate(colours).astype(np.float64), np.concatenate(differences).astype(np.float64)


def is_uncut(pair: InputPair, picture: np.ndarray, least: np.ndarray | float = 0.0) -> np.ndarray:
    """Return where noise leaves the mean of each channel as it is: near black and white a half of it is cut off.

    picture: in steps; least: pixel values that are near, if these are more than usual.
    """
    pixels = picture * pair.step + np.ravel(pair.arithmetic(pair.declared)[0])
    near = np.maximum(least, _NEAR_END)
    return np.asarray((pixels >= near) & (pixels <= 255 - near))


def _function_of(x: np.ndarray, y: np.ndarray) -> float:
    """Return the root mean square of the linear function of colours `x` that fits differences `y`, without noise's."""
    known = np.column_stack([x, np.ones(len(x))])
    numbers = known.shape[1]
    fitted = known @ np.linalg.lstsq(known, y, rcond=None)[0]
    noise = np.square(y - fitted).sum() / (len(x) - numbers) / y.shape[1]
    return float(np.sqrt(max(0.0, np.square(fitted).mean() - noise * numbers / len(x))))


def as_picture(pair: InputPair, values: np.ndarray) -> np.ndarray:
    """Return an input as (height, width, channels), in steps."""
    return np.asarray(channels_last(pair, pair.in_steps(values)), np.float32)


def channels_last(pair: InputPair, values: np.ndarray) -> np.ndarray:
    """Return values of an input as (height, width, channels), a view where that is possible."""
    moved = np.moveaxis(values, [pair.spec.axes.index(letter) for letter in "HWC"], (-3, -2, -1))
    return np.asarray(moved.reshape(moved.shape[-3:]))


def _flat(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Return where the pixels around one are like it in all channels, and in all pictures."""
    flat = np.zeros(pictures[0].shape[:2], bool)
    if min(flat.shape) > 2:
        low, high = reduce(np.minimum, pictures), reduce(np.maximum, pictures)
        low, high = (reduce(of, (x[:-2], x[1:-1], x[2:])) for of, x in ((np.minimum, low), (np.maximum, high)))
        low, high = (reduce(of, (x[:, :-2], x[:, 1:-1], x[:, 2:])) for of, x in ((np.minimum, low), (np.maximum, high)))
        flat[1:-1, 1:-1] = (high - low <= _FLAT).all(axis=-1)
    return flat
