"""Whether an input differs where the picture is flat: a resize leaves a flat area as it is, other colours do not.

Noise and texture leave no flat areas. There the means of blocks are compared, where resizes leave these as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from .input_pairs import InputPair

_FLAT = 2.0  # steps: in a flat area the pixels around one differ by no more
_FEWEST = 16  # flat places for each number that is fitted
_NEAR_END = 8  # pixel values from black or white
_BLOCK = 8  # pixels: the side of a block whose mean is compared
_ALIKE = 6.0  # steps by which other resizes move the mean of a block of noise at most; those with edges are left out


def colour_difference(
    pairs: Sequence[InputPair],
    made: Sequence[np.ndarray],
    recorded: Sequence[np.ndarray],
    formulas: Sequence[Sequence[np.ndarray]],
) -> float:
    """Return by how many steps, root mean square, inputs differ as a function of the colour, where the picture is flat.

    made, recorded: two inputs of each pair; formulas: of each pair what other interpolations make of the frame, which
    are the same where it is flat. A function that is linear in the channels is fitted to the differences, so that noise
    is none, where it is not cut. If too few places are flat, it is fitted to the means of blocks; 0.0 if too few of
    these are the same.
    """
    pictures = [
        ([as_picture(pair, values) for values in same], as_picture(pair, one), as_picture(pair, other))
        for pair, one, other, same in zip(pairs, made, recorded, formulas)
    ]
    of_places = _where([(_flat(x) & _is_uncut(pair, one), one, y) for pair, (x, one, y) in zip(pairs, pictures)])
    if _suffices(of_places[0]):
        return _function_of(*of_places)
    blocks = [([_means(x) for x in same], _means(one), _means(other)) for same, one, other in pictures]
    of_blocks = _where([(_are_same(x) & _is_uncut(pair, one), one, y) for pair, (x, one, y) in zip(pairs, blocks)])
    return _function_of(*of_blocks) if _suffices(of_blocks[0]) else 0.0


def _where(pictures: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the colours of one of two pictures in some places, and the other one's difference from it there."""
    colours, differences = [], []
    for where, one, other in pictures:
        difference = other - one
        there = where & np.isfinite(difference).all(axis=-1)
        colours.append(one[there])
        differences.append(difference[there])
    return np.concatenate(colours).astype(np.float64), np.concatenate(differences).astype(np.float64)


def _is_uncut(pair: InputPair, picture: np.ndarray) -> np.ndarray:
    """Return where noise leaves the mean as it is: near black and white a half of it is cut off."""
    pixels = picture * pair.step + np.ravel(pair.arithmetic(pair.declared)[0])
    return np.asarray(((pixels >= _NEAR_END) & (pixels <= 255 - _NEAR_END)).all(axis=-1))


def _suffices(colours: np.ndarray) -> bool:
    return bool(len(colours) >= _FEWEST * (colours.shape[1] + 1))


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


def _means(picture: np.ndarray) -> np.ndarray:
    """Return the means of the whole blocks of a picture; what is behind the last one is left out."""
    rows, columns = (extent // _BLOCK for extent in picture.shape[:2])
    whole = picture[: rows * _BLOCK, : columns * _BLOCK]
    return np.asarray(whole.reshape(rows, _BLOCK, columns, _BLOCK, picture.shape[2]).mean((1, 3)))


def _are_same(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Return where all pictures differ by no more than noise makes of blocks."""
    low, high = reduce(np.minimum, pictures), reduce(np.maximum, pictures)
    return np.asarray((high - low <= _ALIKE).all(axis=-1))


def _flat(pictures: Sequence[np.ndarray]) -> np.ndarray:
    """Return where the pixels around one are like it in all channels, and in all pictures."""
    flat = np.zeros(pictures[0].shape[:2], bool)
    if min(flat.shape) > 2:
        low, high = reduce(np.minimum, pictures), reduce(np.maximum, pictures)
        low, high = (reduce(of, (x[:-2], x[1:-1], x[2:])) for of, x in ((np.minimum, low), (np.maximum, high)))
        low, high = (reduce(of, (x[:, :-2], x[:, 1:-1], x[:, 2:])) for of, x in ((np.minimum, low), (np.maximum, high)))
        flat[1:-1, 1:-1] = (high - low <= _FLAT).all(axis=-1)
    return flat
