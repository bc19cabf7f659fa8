"""Find the channels of a vector in an order that a mistake in a program makes, which a few frames prove."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...engines import axes_in_model
from ...support import finite
from ..scoring.evidence import Evidence
from ..scoring.trials import Trial
from .channel_orders import order_trial, written_orders


def vector_orders(evidence: Evidence) -> Iterator[Trial]:
    """Yield the reversed, rotated or regrouped order of a vector's channels that fits best, if better than as declared.

    Of a vector of few frames, each channel has too few values to be found by itself.
    """
    axis = evidence.named_axis
    if not evidence.fits or evidence.channel_axis is not None or axis is None or evidence.settled:
        return
    spec, axes = evidence.spec, axes_in_model(evidence.spec.axes)
    real = np.stack([finite(spec.unpack(b).transpose(axes)).ravel() for b in evidence.buffers]).astype(np.float64)
    wanted = np.stack([finite(r).ravel() for r in evidence.references]).astype(np.float64)
    best = max(written_orders(_rotated(real, wanted)), key=lambda order: float((real * wanted[:, order]).sum()))
    if (real * wanted[:, best]).sum() > (real * wanted).sum():
        yield order_trial(evidence, best, math.log(3 * len(best)))


def _rotated(real: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the rotation of the channels in which two arrays of (frames, channels) correlate most."""
    count = real.shape[1]
    spectrum = (np.fft.rfft(real).conj() * np.fft.rfft(wanted)).sum(0)
    return np.roll(np.arange(count), -int(np.fft.irfft(spectrum, count).argmax()))
