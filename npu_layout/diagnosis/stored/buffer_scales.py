"""Fit the quantization of a buffer's elements to a reference: one for all, or one for each channel."""

from __future__ import annotations

import math

import numpy as np

from ...buffers import Quantization, TensorSpec, element
from ..scoring.thresholds import ENOUGH, MARGIN, ROUNDING

_CHANNEL = 1024  # samples of each channel, at most
_POWER = 2e-3  # of a power of two: a scale so near is rounded to it


def quantization(read: np.ndarray, wanted: np.ndarray, dtype: str) -> Quantization | None:
    """Return scale and zero point of read = wanted / scale + zero_point, from unsaturated values; None if equal."""
    if element(dtype).unpacked.kind == "f" or np.array_equal(read, wanted):
        return None
    info = np.iinfo(dtype)
    inner = (read > info.min) & (read < info.max)
    for q, real in ((read[inner], wanted[inner]), (read, wanted)):
        centred = real - real.mean() if real.size else real
        power = float((centred * centred).sum())
        slope = float((centred * q).sum()) / power if power else 0.0
        if slope > 0:
            break
    zero_point = float(round(q.mean() - slope * real.mean()))
    off = q - zero_point
    refined = float((real * off).sum() / (off * off).sum()) if off.any() else 0.0
    scale = refined if refined > 0 else 1 / slope
    power_of_two = 2.0 ** round(math.log2(scale))
    return Quantization(
        power_of_two if abs(scale / power_of_two - 1) < _POWER else float(np.float32(scale)), int(zero_point)
    )


def along_channels(read: np.ndarray, spec: TensorSpec, values: np.ndarray, rng: np.random.Generator) -> TensorSpec:
    """Return `spec` with a scale and a zero point for each channel if these explain MARGIN dB more than one of each."""
    axis = spec.axes.find("C")
    if axis < 0 or spec.shape[axis] == 1 or spec.quantization is None:
        return spec
    channels = np.moveaxis(values, axis, 0).reshape(spec.shape[axis], -1)
    count = min(channels.shape[1], _CHANNEL)
    picked = np.stack([rng.permutation(channels.shape[1])[:count] for _ in channels])
    others = list(np.unravel_index(picked, [n for k, n in enumerate(spec.shape) if k != axis]))
    others.insert(axis, np.broadcast_to(np.arange(len(channels))[:, None], picked.shape))
    q, real = read[spec.offset(*others)].astype(np.float64), np.take_along_axis(channels, picked, 1)
    info = np.iinfo(spec.dtype)
    inner = ((q > info.min) & (q < info.max)).astype(np.float64)

    def mean(x: np.ndarray) -> np.ndarray:
        return np.asarray((x * inner).sum(1) / np.maximum(inner.sum(1), 1))

    x, y = real - mean(real)[:, None], q - mean(q)[:, None]
    power = mean(x * x)
    one = float(np.asarray(spec.quantization.scale)), float(np.asarray(spec.quantization.zero_point))
    slope = np.where((power > 0) & (mean(x * y) > 0), mean(x * y) / np.maximum(power, 1e-300), 1 / one[0])
    zero_point = np.rint(mean(q) - slope * mean(real))
    own, shared = (y - slope[:, None] * x), q - real / one[0] - one[1]
    gain = 10 * np.log10(max(mean(shared * shared).mean(), ROUNDING) / max(mean(own * own).mean(), ROUNDING))
    if count < ENOUGH or gain < MARGIN:
        return spec
    off = q - zero_point[:, None]
    refined = mean(real * off) / np.maximum(mean(off * off), 1e-300)
    scale = np.where(refined > 0, refined, 1 / slope).astype(np.float32)
    each = Quantization(scale, zero_point.astype(np.int64), axis=axis)
    return TensorSpec.from_dict({**spec.to_dict(), "quantization": each})
