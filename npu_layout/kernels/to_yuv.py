"""Make Y, U and V of pixels in a buffer, by the kernels of a backend."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import fallback
from .choice import LEVELS
from .choice import core as _core  # an import: Python calls functions of an imported name faster (30 ns)
from .pictures import YuvSamples


def to_yuv(pixels: np.ndarray, out: np.ndarray, samples: Sequence[YuvSamples], backend: str | None = None) -> None:
    """Write the samples of Y, U and V of pixels (3, H, W), planes of B, G and R, to a buffer `out`, both uint8.

    Each is ``(b * weights[0] + g * weights[1] + r * weights[2] + add) >> 20``, saturated to 0..255, of the top left one
    of the pixels that share it: one pixel, or two across, down or both. The samples of Y are neighbours, and those of U
    and V too, or each of U has its V beside it. Nothing else of `out` is written.

    ValueError if something does not fit; then nothing was written.
    """
    level = LEVELS[backend]
    if level is None:
        fallback.to_yuv.to_yuv(pixels, out, samples)
    else:
        _core.to_yuv(pixels, out, samples, level)
