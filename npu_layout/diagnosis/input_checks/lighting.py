"""A picture that is brighter or darker: by a factor and an offset, or by a gamma, fitted to what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ..other_inputs.input_images import How
from ..scoring.moments import line
from .input_changes import FEWEST, GAMMAS, Change, gamma, looked_up, made_of
from .input_pairs import InputPair

BRIGHTER, _LIGHTER = 0.03, 2.0  # a factor off 1, or pixel values added, that are no rounding
_FLATTEST = 0.05  # a factor: of a picture of less contrast nothing is left, as of a buffer of one colour
_POWER = 0.05  # of a gamma's logarithm: those that differ by less are one, or none
_ENDS = 1, 254  # pixel values: those beyond may be cut
_BEND, _ROUNDED = 0.5, 0.5  # of what a line leaves, and pixel values: a curve leaves more that depends on the pixel
_WORTH = 0.1  # of the difference, root mean square: a bend that is less is of pixels that were cut off before a resize
_BIN = 16  # pixel values of the frame whose mean error is one number
_FEW = 64  # values of a bin: the mean of fewer is noise


def lighting(base: How, pairs: Sequence[InputPair]) -> Iterator[Change]:
    """Yield the frame of another brightness, and of another gamma than the usual ones, fitted to all pairs.

    A line is near any curve. So no brightness is yielded if what it leaves depends on the pixel value, and is more than
    a tenth of the difference.
    """
    x, y = _measured(base, pairs)
    if x.size < FEWEST or x.std() == 0:
        return
    factor, offset = line(x, y)
    is_other = abs(factor - 1) > BRIGHTER or abs(offset) > _LIGHTER
    if factor > _FLATTEST and is_other and not _is_bent(x, y, np.clip(factor * x + offset, 0, 255)):
        change = partial(_lit, factor=factor, offset=offset)
        yield Change(_brightness(factor, offset), partial(made_of, how=base, change=change))
    power = _power(x, y)
    if min(abs(np.log(power / known)) for known in (1.0, *GAMMAS)) > _POWER:
        change = partial(gamma, power=power)
        yield Change(f"the frame with a gamma of {power:.3g}", partial(made_of, how=base, change=change))


def leaves_light(change: Change, base: How, pairs: Sequence[InputPair]) -> bool:
    """Whether what a change leaves is a function of the pixel: another curve than this made the input."""
    mean, std = pairs[0].arithmetic(base)
    made, recorded, before = [], [], []
    for pair, values in change.of(pairs):
        where = (pair.measured > _ENDS[0]) & (pair.measured < _ENDS[1]) & pair.inside(base)
        made.append((values * std + mean)[where].astype(np.float64))
        recorded.append(pair.measured[where].astype(np.float64))
        before.append(pair.pixels(base)[where].astype(np.float64))
    if not any(x.size for x in before):
        return False
    return _is_bent(np.concatenate(before), np.concatenate(recorded), np.concatenate(made))


def _measured(base: How, pairs: Sequence[InputPair]) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels that `base` makes of all frames, and what was recorded of them, where neither is cut off."""
    made, measured = [], []
    for pair in pairs:
        where = (pair.measured > _ENDS[0]) & (pair.measured < _ENDS[1]) & pair.inside(base)
        made.append(pair.pixels(base)[where].astype(np.float64))
        measured.append(pair.measured[where].astype(np.float64))
    return np.concatenate(made), np.concatenate(measured)


def _is_bent(x: np.ndarray, y: np.ndarray, lit: np.ndarray) -> bool:
    """Whether what a line, which makes `lit` of the pixels `x`, leaves of `y` is a function of them, and not noise."""
    left, bins = y - lit, (x / _BIN).astype(np.intp)
    counts, sums = np.bincount(bins), np.bincount(bins, left)
    many = counts >= _FEW
    power = float((sums[many] ** 2 / counts[many]).sum() / max(1, counts[many].sum()))
    return bool(np.sqrt(power) > max(_ROUNDED, _BEND * _size(left), _WORTH * _size(y - x)))


def _size(differences: np.ndarray) -> float:
    return float(np.sqrt(np.square(differences).mean()))


def _power(x: np.ndarray, y: np.ndarray) -> float:
    """Return the gamma that makes y of x; 1 if none does. Logarithms count as their pixel values are rounded."""
    within = (x > _ENDS[0]) & (x < _ENDS[1])
    x, y = np.log(x[within] / 255), np.log(y[within] / 255)
    weights = np.exp(2 * y)
    power = float((weights * x * y).sum() / max((weights * x * x).sum(), np.finfo(float).tiny))
    return power if power > 0 else 1.0


def _brightness(factor: float, offset: float) -> str:
    """Return in words: "another brightness (0.80 times the pixel values, plus 12)"; without what rounds to nothing."""
    times = f"{factor:.2f} times " if f"{factor:.2f}" != "1.00" else ""
    added = f"{abs(offset):.0f}"
    plus = "" if added == "0" else f", {'plus' if offset > 0 else 'minus'} {added}"
    return f"another brightness ({times}the pixel values{plus})"


def _lit(frame: np.ndarray, factor: float, offset: float) -> np.ndarray:
    return looked_up(frame, np.arange(256) * factor + offset)
