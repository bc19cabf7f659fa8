"""Find which other frame's output a frame has that does not follow the model."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from ..comparison import OutputPart, decibels
from .evidence import Evidence
from .proof import by_chance
from .thresholds import LEAST, MARGIN, NEIGHBOURS, RATE


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
