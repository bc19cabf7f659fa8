"""How much of a reference values explain, and what they prove: in numbers, with no code of the library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from . import models

TELLING = 16  # values that say something
RATE, SEARCHED = 1e-4, 50  # how often chance may explain as much, of how many explanations: as in docs/proving.md
ROOM = 2  # because the fourth powers of few values say little


def score(
    read: Iterable[np.ndarray], reference: Iterable[np.ndarray], step: float = 0.0, *, loudest: bool = False
) -> float:
    """dB of a reading against "each channel is its own mean", floored at the rounding error of `step`; the mean of the
    reference, or of the side that varies most."""
    r, y = models.by_channel(list(reference)).astype(np.float64), models.by_channel(list(read)).astype(np.float64)
    power = float(max(r.var(1).mean(), y.var(1).mean() if loudest else 0.0))
    left = max(float(((y - r) ** 2).mean()), step * step / 12, 1e-20)
    return 10 * float(np.log10(max(power, 1e-20) / left)) if np.isfinite(left) else -200.0


def plain(read: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """SNR in dB, means included."""
    y, r = (np.stack(arrays).astype(np.float64) for arrays in (read, reference))
    return 10 * float(np.log10(max((r**2).mean(), 1e-20) / max(((y - r) ** 2).mean(), 1e-20)))


def noise_of_channels(left: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """The root mean square of what is left, (channels, values); of few values, no less than the channel's share.

    The noise of a loud channel says nothing of a quiet one.
    """
    noise = np.asarray(np.sqrt((left**2).mean(1)))
    if left.shape[1] >= TELLING:
        return noise
    varying = float(np.sqrt((deviation**2).mean()))
    shares = deviation / varying if varying else np.ones(len(noise))
    return np.maximum(noise, np.sqrt((left**2).mean()) * shares)


def telling(apart: np.ndarray) -> float:
    """How many values tell two explanations apart, given by how much each does: few, if they agree in most."""
    square = np.square(apart)
    return ROOM * 3 * float(square.sum()) ** 2 / max(float(np.square(square).sum()), 1e-300)


def provable(gain: float, telling: float) -> bool:
    """Whether so many values prove an explanation that is better by so many dB, at the rate that is asked.

    Chernoff's bound, as docs/proving.md has it: an explanation of SEARCHED is by chance so good once in 1 / RATE times.
    """
    ratio = 10 ** (min(gain, 200.0) / 10)
    return ratio > 1 and telling / 2 * np.log((1 + ratio) ** 2 / (4 * ratio)) >= np.log(SEARCHED / RATE)


def alike(buffers: Sequence[np.ndarray]) -> bool:
    """Whether most frames have the output of another one."""
    return len(buffers) > 1 and 2 * len({b.tobytes() for b in buffers}) <= len(buffers)


def of_single_values(values: Sequence[np.ndarray]) -> bool:
    """Whether half of the channels vary in one or two values alone: what fits these is no factor of a channel."""
    y = models.by_channel(values).astype(np.float64)
    square = np.square(y - y.mean(1, keepdims=True))
    return bool((square.sum(1) < 2 * square.max(1)).mean() >= 0.5)
