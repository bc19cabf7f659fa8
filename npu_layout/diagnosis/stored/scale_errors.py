"""Compute from sums how much error a scale and a zero point leave in each channel, without a pass over its values.

Where nothing is clamped, the mean square of c - (w / s + z) is a polynomial in 1 / s and z, whose coefficients are the
means, variances and covariance of the stored values c and the model's values w. So each further scale costs some
operations a channel. Channels in which it clamps a value, or of which it leaves so little that the sums have not enough
digits, are read.
"""

from __future__ import annotations

import numpy as np

from ...comparison import decibels
from ..scoring.channel_moments import ChannelMoments, channel_moments
from ..scoring.evidence import Evidence
from ..scoring.samples import Matrix, Numbers

CLAMPED = 6.0  # dB that a scale may explain more than a line, because the device clamps as it does
_DIGITS = 1e-6  # of the stored values' mean square: of less error, the rounding of the sums is more than 1e-9


class ScaleErrors:
    """The errors that scales leave of stored values.

    Parameters
    ----------
    evidence
        The model's values at the samples.
    codes
        The stored values at the samples, (frames, places).
    ends
        The lowest and the highest value that can be stored.
    """

    def __init__(self, evidence: Evidence, codes: Matrix, ends: tuple[float, float]) -> None:
        self._evidence, self.ends = evidence, ends
        self.codes = evidence.by_channel(codes)  #: (channels, samples)
        self.power = evidence.power(codes)  #: the variance of each channel
        self.low, self.high = self.codes.min(1), self.codes.max(1)  #: the ends of each channel
        self._mean = self.codes.mean(1)
        self._product = np.einsum("cn,cn->c", self.codes, evidence.deviations.off) / self.codes.shape[1]
        self._product[self.low == self.high] = 0.0  # but for rounding
        self.moments = self._moments()  #: of all values

    def _moments(self) -> ChannelMoments:
        model, count = self._evidence.deviations, np.full(len(self.codes), self.codes.shape[1])
        ends = model.low - model.mean, model.high - model.mean
        return ChannelMoments(count, model.mean, self._mean, model.square, self._product, *ends, self.high - self.low)

    def moments_of(self, inner: np.ndarray | None) -> ChannelMoments:
        """Return the moments of the model's and the stored values that are `inner`, (channels, samples); None: of all.

        Channels of which all values count are not read.
        """
        if inner is None:
            return self.moments
        rows = np.flatnonzero(~inner.all(1))
        wanted = self._evidence.wanted_by_channel
        return self.moments.with_rows(rows, channel_moments(wanted[rows], self.codes[rows], inner[rows]))

    def clamps(self, scale: float, zero_point: float) -> bool:
        """Whether any value is stored as an end of the range, or predicted to be, by a scale and zero point for all."""
        low, high = self.ends
        model = self._evidence.deviations
        return not (
            min(self.low.min(), model.low.min() / scale + zero_point) > low
            and max(self.high.max(), model.high.max() / scale + zero_point) < high
        )

    def of(self, scale: Numbers, zero_point: Numbers) -> np.ndarray:
        """Return the mean square that is left of each channel.

        scale, zero_point: real numbers, or one of each channel.
        """
        model = self._evidence.deviations
        scale, zero_point = np.asarray(scale, np.float64), np.asarray(zero_point, np.float64)
        slope = 1 / scale
        off = self._mean - model.mean * slope - zero_point
        left = np.asarray(self.power - 2 * slope * self._product + slope * slope * model.square + off * off)
        low, high = self.ends
        clamped = (model.low * slope + zero_point < low) | (model.high * slope + zero_point > high)
        rows = np.flatnonzero(clamped | (left <= _DIGITS * (self.power + self._mean**2)))
        if rows.size:
            divisor, added = (x[rows, None] if x.ndim else x for x in (scale, zero_point))
            error = self._evidence.wanted_by_channel[rows] / divisor
            error += added
            np.clip(error, low, high, out=error)
            np.subtract(self.codes[rows], error, out=error)
            left[rows] = np.multiply(error, error, out=error).mean(1)
        return left

    @property
    def most(self) -> float:
        """The dB that a straight line in each channel explains: no scales that clamp nothing explain more."""
        square = self._evidence.deviations.square
        explained = np.divide(self._product**2, square, out=np.zeros(len(square)), where=square > 0)
        return decibels(float(self.power.mean()), float((self.power - explained).mean()))
