"""Find out whether values that never change hide that the others do not follow the model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...comparison import decibels
from ..scoring.evidence import Evidence
from ..scoring.thresholds import ENOUGH, LEAST

_SMALL = 0.01  # of the power: what changes is then no part of the score that one sees


class Buried(NamedTuple):
    """Of the samples, how many places have values that change between frames, of how many; and their SNR in dB."""

    changing: int
    places: int
    snr_db: float


def buried(evidence: Evidence) -> Buried | None:
    """Return what is known of the values that change, if those that never change hide that these are wrong.

    A network that masks with -10000 returns that in every frame, and so does any device. Such places have nearly all of
    the power, and the device agrees with the model whatever the others are. None if places that have the same value of
    the model in all frames have less than 99 % of the power within the channels, if the others agree to 4 dB, or if
    they vary by less than a step or are too few to tell.
    """
    if not evidence.fits or len(evidence.wanted) < 2:
        return None
    changes = (evidence.wanted != evidence.wanted[0]).any(0)
    if changes.all() or changes.sum() * len(evidence.wanted) < ENOUGH**2:
        return None
    channel = evidence.samples.channel
    model, error = evidence.codes - evidence.left, evidence.left[:, changes]
    power = _within(model[:, changes], channel[changes])
    if power > _SMALL * _within(model, channel) or (evidence.steps and power < error.size):
        return None
    agree = decibels(power, _within(error, channel[changes]))
    return Buried(int(changes.sum()), len(changes), agree) if agree < LEAST else None


def _within(x: np.ndarray, channel: np.ndarray) -> float:
    """Return the sum of squares about the mean of each channel. channel: of each column."""
    mean = np.bincount(channel, x.mean(0)) / np.maximum(np.bincount(channel), 1)
    return float(np.square(x - mean[channel]).sum())
