"""Make Y, U and V of pixels: the reference implementation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..pictures import YuvSamples


def to_yuv(pixels: np.ndarray, out: np.ndarray, samples: Sequence[YuvSamples]) -> None:
    """Write what `kernels.to_yuv` does."""
    if pixels.ndim != 3 or len(pixels) != 3 or pixels.dtype != np.uint8 or np.may_share_memory(pixels, out):
        raise ValueError("to_yuv: pixels, samples or a buffer that do not fit")
    places = []
    for one in samples:
        rows, columns = -(-pixels.shape[1] // one.every_y), -(-pixels.shape[2] // one.every_x)
        last = one.offset + (rows - 1) * one.pitch + (columns - 1) * one.step
        if one.offset < 0 or one.pitch < 0 or last >= out.size:
            raise ValueError("to_yuv: pixels, samples or a buffer that do not fit")
        places.append(np.lib.stride_tricks.as_strided(out[one.offset :], (rows, columns), (one.pitch, one.step)))
    for one, place in zip(samples, places):
        total = np.full(place.shape, one.add, np.int32)
        for channel, weight in zip(pixels, one.weights):
            total += channel[:: one.every_y, :: one.every_x].astype(np.int32) * np.int32(weight)
        total >>= 20
        np.clip(total, 0, 255, out=place, casting="unsafe")
