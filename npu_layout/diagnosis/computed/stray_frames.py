"""Find which other frame's output a frame has that does not follow the model, and whether that could be told."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from ...comparison import OutputPart, decibels
from ..scoring.evidence import Evidence
from ..scoring.proof import by_chance
from ..scoring.thresholds import LEAST, MARGIN, NEIGHBOURS, RATE

_CERTAIN = 3  # deviations
_BESIDE = 0.03  # of the way to another frame's output, by which a device that errs may miss the one that it has


def stray_frames(evidence: Evidence, numbers: Sequence[int], parts: Sequence[OutputPart]) -> list[tuple[int, int]]:
    """Return (frame, the frame whose output it has), if any of the parts is a frame that was kept. `numbers`: of these.

    The model's output for the other frame explains most of what is stored, clearly more than that for its own and than
    those for all others, and more than noise does once in 10,000 recordings. What it leaves is noise, and leads to no
    other frame's output: where a device hardly sees its frames, all its outputs are nearest to one of the model's.
    """
    if not evidence.fits or len(numbers) < 2:
        return []
    if not any(part.axis is None and not part.why and part.at in numbers for part in parts):
        return []
    found = ((number, _source(evidence, row)) for row, number in enumerate(numbers))
    return [(number, numbers[source]) for number, source in found if source is not None]


def are_alike(evidence: Evidence) -> bool:
    """Whether most frames have an output that noise does not tell from the next one's, so that an exchange is not seen.

    The position of the data between the two has a deviation: a distance of half of the way has to be three of these.
    """
    if not evidence.fits or len(evidence.wanted) < 2:
        return False
    predicted = np.stack([evidence.predicted(w) for w in evidence.wanted])
    apart = np.square(np.diff(predicted, axis=0)).mean(1)
    noise = max(float(np.square(evidence.left).mean()), evidence.rounding(evidence.steps))
    values = evidence.codes.shape[1] / min(NEIGHBOURS, evidence.samples.count)
    told = apart > (2 * _CERTAIN) ** 2 * noise / values
    return bool(told.mean() < 0.5)


def _source(evidence: Evidence, row: int) -> int | None:
    """Return the row whose output the device stored in another one; None if that is not clear."""
    stored = evidence.codes[row]
    floor = max(evidence.rounding(evidence.steps), 1e-20 * float(np.square(stored).mean()), 1e-300)
    predicted = np.stack([evidence.predicted(w) for w in evidence.wanted])
    left = np.maximum(np.square(stored - predicted).mean(1), floor)
    first, second, *_ = np.argsort(left)
    explained = decibels(float(np.square(stored - stored.mean()).mean()), left[first])
    if first == row or explained < LEAST or decibels(left[second], left[first]) < MARGIN:
        return None
    together = min(NEIGHBOURS, evidence.samples.count)
    tried = len(left) ** 2
    if by_chance(left[row] / left[first], stored.size / together) < log(tried / RATE):
        return None
    return int(first) if _is_at(stored, predicted, int(first), together) else None


def _is_at(stored: np.ndarray, predicted: np.ndarray, row: int, together: int) -> bool:
    """Whether stored values are the prediction for a row and noise: not between it and that for any other row.

    together: how many neighbouring values count as one.
    """
    error, ways = stored - predicted[row], np.delete(predicted, row, 0) - predicted[row]
    power = np.square(ways).sum(1)
    ways, power = ways[power > 0], power[power > 0]
    noise = np.sqrt(together * np.square(error).mean() / power)
    return bool((abs(ways @ error) / power <= _BESIDE + _CERTAIN * noise).all())
