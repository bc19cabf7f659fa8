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


def stray_frames(evidence: Evidence, numbers: Sequence[int], parts: Sequence[OutputPart]) -> list[tuple[int, int]]:
    """Return (frame, the frame whose output it has), if any of the parts is a frame that was kept. `numbers`: of these.

    The model's output for the other frame explains most of what is stored, clearly more than that for its own and than
    those for all others, and more than noise does once in 10,000 recordings.
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
    floor = max(evidence.rounding(evidence.steps), 1e-20 * float(np.square(stored).mean()))
    left = [max(float(np.square(stored - evidence.predicted(w)).mean()), floor) for w in evidence.wanted]
    first, second, *_ = np.argsort(left)
    explained = decibels(float(np.square(stored - stored.mean()).mean()), left[first])
    if first == row or explained < LEAST or decibels(left[second], left[first]) < MARGIN:
        return None
    values = stored.size / min(NEIGHBOURS, evidence.samples.count)
    tried = len(left) ** 2
    return int(first) if by_chance(left[row] / left[first], values) >= log(tried / RATE) else None
