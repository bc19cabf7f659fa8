"""Estimate the border that a device saw around a picture, from the model's outputs for a few other borders.

An output changes nearly in proportion to the border, between two borders that are near each other. So where the data
are between the two outputs, the device's border is between the two borders. Between borders that are far from each
other the way is bent, and a parabola through three of them comes nearer to the device's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...comparison import decibels
from ..scoring.evidence import Evidence
from ..scoring.thresholds import NEIGHBOURS, SOUND
from .answers import ExplainedRow

_SURE = 3.0  # deviations
_ALIKE = 1.0  # dB, to which others explain as much: in a plain border a device of 8 bits errs alike in all frames
_TURNS = 3  # the position depends on the noise of each output, and this on the position


class EstimatedBorder(NamedTuple):
    """An estimated border.

    pad: the pixel value; sure: by how many pixel values the device's may differ, three deviations of the noise, or so
    many that every output is explained as well to 1 dB; gain: how many dB more than the input as recorded it would
    explain of some output, if the outputs were in proportion.
    """

    pad: float
    sure: float
    gain: float


class BorderErrors:
    """What the model's outputs for some borders leave of kept frames, `rows` of `evidence`, together."""

    def __init__(self, evidence: Mapping[str, Evidence], rows: Sequence[int]) -> None:
        self._evidence = {output: e for output, e in evidence.items() if e.fits}
        self.rows = list(rows)
        self._left: dict[float, list[np.ndarray]] = {}  # of each output
        self._scores: dict[float, list[float]] = {}
        first, *more = self.rows
        self._explained = [ExplainedRow(e, first, None, more) for e in self._evidence.values()]
        self._recorded = self._powers([e.left[self.rows] for e in self._evidence.values()])

    @property
    def is_sound(self) -> bool:
        """Whether the input as recorded explains every output as well as that of a sound device."""
        return all(of_output.recorded >= SOUND for of_output in self._explained)

    @property
    def pads(self) -> list[float]:
        """The known borders, the lowest first."""
        return sorted(self._left)

    def add(self, pad: float, answers: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Add the model's outputs for a border of a pixel value: of each frame, {output: tensor}."""
        self._left[pad] = [
            e.codes[self.rows] - e.predicted(np.stack([e.samples.of(answer[output]) for answer in answers]))
            for output, e in self._evidence.items()
        ]
        for output, of_output in zip(self._evidence, self._explained):
            of_output.add(pad, *(answer[output] for answer in answers))
        self._scores[pad] = [of_output.explained[pad] for of_output in self._explained]

    def nearest(self, bent: bool = False) -> EstimatedBorder | None:
        """Return the border nearest to the data, between known ones; None if fewer than two are known.

        bent: whether outputs are on a parabola through three neighbours, a whole pixel value; else on lines.
        """
        pads = self.pads
        if bent and len(pads) > 2:
            found = [self._on_parabola(three) for three in zip(pads, pads[1:], pads[2:])]
        else:
            found = [self._between(low, high) for low, high in zip(pads, pads[1:])]
        return max(found, key=lambda one: one[0], default=(0.0, None))[1]

    def gain(self, pad: float, others: Sequence[float]) -> float:
        """Return how many dB more a known border explains of some output than each of others, and than the recorded.

        What explains less of an output than a sound device leaves may be another change of the picture, of which the
        border has a part: such outputs do not count. -inf if none is left.
        """
        powers = self._powers(self._left[pad])
        known = [self._recorded, *(self._powers(self._left[other]) for other in others)]
        gains = (min(decibels(of[k], power) for of in known) for k, power in enumerate(powers))
        sound = (score >= SOUND for score in self._scores[pad])
        return max((gain for gain, counts in zip(gains, sound) if counts), default=-np.inf)

    def _between(self, low: float, high: float) -> tuple[float, EstimatedBorder]:
        """Return how likely it is that the border is between two known ones, a logarithm, and which one it is then."""
        lows, differences = self._left[low], [a - b for a, b in zip(self._left[low], self._left[high])]
        at = 0.5
        for _ in range(_TURNS):
            noise = self._powers([x - at * d for x, d in zip(lows, differences)])
            along = sum(float(np.vdot(x, d)) / n for x, d, n in zip(lows, differences, noise))
            power = sum(float(np.vdot(d, d)) / n for d, n in zip(differences, noise))
            at = min(max(along / max(power, 1e-300), 0.0), 1.0)
        noise = self._powers([x - at * d for x, d in zip(lows, differences)])
        likely = -sum(x.size * float(np.log(n)) for x, n in zip(lows, noise))
        sure = _SURE * (high - low) * float(np.sqrt(NEIGHBOURS / max(power, 1e-300)))
        gain = max(decibels(before, after) for before, after in zip(self._recorded, noise))
        return likely, EstimatedBorder(low + at * (high - low), sure, gain)

    def _on_parabola(self, three: tuple[float, float, float]) -> tuple[float, EstimatedBorder]:
        """Return the same of a border between the outer ones of three, if what is left is on a parabola through all."""
        pads = np.arange(three[0], three[2] + 1)
        of_known = np.linalg.inv(np.vander(three, increasing=True))
        shares = np.stack([pads**0, pads, pads**2], 1) @ of_known  # of the three, for each border
        changes = np.stack([0 * pads, pads**0, 2 * pads], 1) @ of_known  # the same of a pixel value more
        noise, slopes, likely = [], np.zeros(len(pads)), np.zeros(len(pads))
        for lefts, e in zip(zip(*(self._left[pad] for pad in three)), self._evidence.values()):
            left = np.stack([x.ravel() for x in lefts])
            products, values = left @ left.T, left.shape[1]
            powers = np.einsum("pi,ij,pj->p", shares, products, shares) / values
            noise.append(np.maximum(powers, max(e.rounding(e.steps), 1e-300)))
            slopes += np.einsum("pi,ij,pj->p", changes, products, changes) / noise[-1]
            likely -= values * np.log(noise[-1])
        at = int(likely.argmax())
        sure = max(_SURE * float(np.sqrt(NEIGHBOURS / max(slopes[at], 1e-300))), _reach(noise, at))
        gain = max(decibels(before, float(after[at])) for before, after in zip(self._recorded, noise))
        return float(likely[at]), EstimatedBorder(float(pads[at]), sure, gain)

    def _powers(self, left: Sequence[np.ndarray]) -> list[float]:
        """Return the mean square of what is left of each output, at least that of rounding."""
        floors = (e.rounding(e.steps) for e in self._evidence.values())
        return [max(float(np.square(x).mean()), floor, 1e-300) for x, floor in zip(left, floors)]


def _reach(noise: Sequence[np.ndarray], at: int) -> float:
    """Return how far neighbours of a border go that explain every output as well. noise: of each output, by border."""
    other = np.any([of_output > of_output[at] * 10 ** (_ALIKE / 10) for of_output in noise], axis=0)
    below, above = np.flatnonzero(other[:at]), np.flatnonzero(other[at:])
    ends = (below[-1] + 1 if below.size else 0), (at + above[0] - 1 if above.size else len(other) - 1)
    return float(max(at - ends[0], ends[1] - at))
