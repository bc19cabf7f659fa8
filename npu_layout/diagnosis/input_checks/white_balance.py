"""Another white balance: one factor for each colour of the frame, or of the input with its border."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ..other_inputs.input_images import FLIPPED, How
from .input_changes import FEWEST, Change, has_colours, made_of
from .input_pairs import FrameInput, InputPair
from .lighting import BRIGHTER

_VARIED = 4.0  # pixel values, root mean square, in each colour: a flat picture has no factor
_ENDS = 1, 254  # pixel values: those beyond may be cut
_COLOURS = ("blue", "green", "red")  # in the order of a frame's


def white_balance(base: How, pairs: Sequence[InputPair]) -> Iterator[Change]:
    """Yield the frame, then the input, with a factor for each colour, fitted to all pairs, if these factors differ."""
    color = base.get("color", "RGB")
    if color not in FLIPPED or pairs[0].channels != 3 or not any(has_colours(pair) for pair in pairs):
        return
    order = ["BGR".index(letter) for letter in color]
    factors = _fitted(base, pairs)
    if factors is None or factors.max() <= (1 + 2 * BRIGHTER) * factors.min():
        return
    of_frame = factors[np.argsort(order)]
    said = ", ".join(f"{name} times {factor:.2f}" for name, factor in zip(_COLOURS, of_frame))
    words = f"with another white balance ({said})"
    make = partial(made_of, how=base, change=partial(_multiplied, factors=of_frame))
    yield Change(f"the frame {words}", make, applies=has_colours)
    yield Change(f"the input {words}", partial(_of_input, how=base, factors=factors), applies=has_colours)


def _fitted(base: How, pairs: Sequence[InputPair]) -> np.ndarray | None:
    """Return the factor of each channel of the input; None if the pixels of one say none."""
    factors = []
    where = [(pair.measured > _ENDS[0]) & (pair.measured < _ENDS[1]) & pair.inside(base) for pair in pairs]
    for c in range(pairs[0].channels):
        there = [_channel(pair, w, c) for pair, w in zip(pairs, where)]
        x = np.concatenate([_channel(pair, pair.pixels(base), c)[w] for pair, w in zip(pairs, there)])
        y = np.concatenate([_channel(pair, pair.measured, c)[w] for pair, w in zip(pairs, there)])
        if x.size < FEWEST or x.std() < _VARIED:
            return None
        factors.append(float(np.dot(x, y) / np.dot(x, x)))
    return np.array(factors) if min(factors) > 0 else None


def _channel(pair: InputPair, values: np.ndarray, channel: int) -> np.ndarray:
    return np.asarray(np.moveaxis(values, pair.spec.axes.index("C"), 0)[channel])


def _multiplied(frame: np.ndarray, factors: np.ndarray) -> np.ndarray:
    import cv2

    tables = np.clip(np.rint(np.arange(256)[:, None] * factors), 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(frame, tables[None]))


def _of_input(pair: InputPair, how: How, factors: np.ndarray) -> FrameInput:
    pixels = np.clip(np.rint(pair.pixels(how) * pair.along(factors)), 0, 255)
    return pair.made(pixels.astype(np.float32), how)
