"""Count the values that the device clamps: the model's are beyond the ends of what can be stored."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_BEYOND = 2.0  # steps: sigmoid and softmax reach 1, which is a step beyond the last of 256 steps of 1/256
_SHARE = 1e-3  # of the values
_OF_ERROR = 0.1  # of the squared error


class Clamped(NamedTuple):
    """Values that are stored as an end of the range, because the model's are beyond it.

    Attributes
    ----------
    below, above
        How many are stored as the lowest number, and how many as the highest.
    beyond, steps
        By how much the farthest of the model's values is beyond the end, as a real number and in quantisation steps.
    """

    below: int
    above: int
    beyond: float
    steps: float

    @property
    def values(self) -> int:
        """How many at both ends."""
        return self.below + self.above


class Clamping:
    """What is clamped in the frames that are added.

    Parameters
    ----------
    step
        Real size of a quantisation step: positive numbers that are broadcast to (channels, values); None for floats,
        which are never clamped.
    ends
        Lowest and highest number of each channel that rounds to what can be stored, half a step beyond it, (channels,).
    """

    def __init__(self, step: Any, ends: tuple[np.ndarray, np.ndarray]) -> None:
        self._step, self._ends = step, ends
        self.saturated = 0  #: the model's values that are beyond the ends
        self._counts, self._squares = [0, 0], 0.0
        self._beyond = self._steps = 0.0

    def add(self, channels: np.ndarray, device: np.ndarray, model: np.ndarray) -> None:
        """Add the values of a frame, (channels, values), of these channels."""
        step = None if self._step is None else np.broadcast_to(self._step, (len(self._ends[0]), model.shape[1]))
        for side, (end, sign) in enumerate(zip(self._ends, (-1.0, 1.0))):
            row, place = np.nonzero(sign * (model - end[channels, None]) > 0)
            self.saturated += row.size
            if step is None or not row.size:
                continue
            size = step[channels[row], place]
            values, stored = (np.asarray(x[row, place], np.float64) for x in (model, device))
            by = sign * (values - end[channels[row]]) + size / 2
            there = sign * (stored - end[channels[row]]) > -size  # the last step ends half of one beyond its number
            if there.any():
                self._counts[side] += int(there.sum())
                self._beyond = max(self._beyond, float(by[there].max()))
                self._steps = max(self._steps, float((by / size)[there].max()))
                self._squares += float((by * by)[there].sum())

    def found(self, values: int, squares: float) -> Clamped | None:
        """Return what is clamped, of so many values with these squared errors in all; None if it does not matter.

        It does if some value is more than two steps beyond the end, if most of what is beyond it is stored as the end,
        and if that is 0.1 % of the values or a tenth of the squared error.
        """
        below, above = self._counts
        found = Clamped(below, above, self._beyond, self._steps)
        matters = found.values >= _SHARE * values or self._squares >= _OF_ERROR * squares
        is_clamped = found.steps > _BEYOND and 2 * found.values >= self.saturated
        return found if is_clamped and matters else None
