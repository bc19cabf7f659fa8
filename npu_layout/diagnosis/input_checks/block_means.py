"""Whether an input differs in the means of blocks of pixels, which resizes and losses leave nearly as they are.

Another resize weighs neighbouring pixels in another way, JPEG stores a block's mean nearly as it is, and noise cancels
out. Other colours, another contrast of each region, and what is drawn into a picture move the means.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from .flat_colours import as_picture, is_uncut
from .input_pairs import InputPair

_BLOCK = 8  # pixels: the side of a block
_FEWEST = 16  # blocks
_SPREAD = 1.2  # times what cv2's interpolations move a mean: other code for a resize moves it as much
_OF_NOISE = 2.0  # deviations: noise on a mean that is nearer to black or white than that is cut, and moves it


def means_difference(
    pairs: Sequence[InputPair],
    made: Sequence[np.ndarray],
    recorded: Sequence[np.ndarray],
    formulas: Sequence[Sequence[np.ndarray]],
) -> float:
    """Return by how many steps, root mean square, the means of blocks differ by more than resizes and noise move them.

    That is of the pair that differs most; 0.0 if it has too few blocks that are neither black nor white.

    made, recorded: two inputs of each pair; formulas: of each pair what other interpolations make of the frame.
    """
    return max(_of_pair(*each) for each in zip(pairs, made, recorded, formulas))


def _of_pair(pair: InputPair, made: np.ndarray, recorded: np.ndarray, formulas: Sequence[np.ndarray]) -> float:
    blocks = _blocks(as_picture(pair, made))
    means, differences = blocks.mean((1, 3)), _blocks(as_picture(pair, recorded)) - blocks
    with np.errstate(invalid="ignore"):  # of a block that is not finite, which does not count
        noise, off = differences.var((1, 3)), abs(differences.mean((1, 3)))
    counts = np.isfinite(noise) & is_uncut(pair, means, _OF_NOISE * np.sqrt(noise) * pair.step)
    if counts.sum() < _FEWEST * means.shape[2]:
        return 0.0
    moved = reduce(np.maximum, (abs(_blocks(as_picture(pair, x)).mean((1, 3)) - means) for x in formulas))
    excess = np.maximum(off - _SPREAD * moved, 0)
    power = float((np.square(excess) - noise / _BLOCK**2)[counts].mean(dtype=np.float64))
    return float(np.sqrt(max(power, 0.0)))


def _blocks(picture: np.ndarray) -> np.ndarray:
    """Return the whole blocks of a picture as (row, y, column, x, channel); what is behind the last one is left out."""
    rows, columns = (extent // _BLOCK for extent in picture.shape[:2])
    whole = picture[: rows * _BLOCK, : columns * _BLOCK]
    return whole.reshape(rows, _BLOCK, columns, _BLOCK, picture.shape[2])
