"""mean and std against the pixels that they are for and the integers that are to hold what they make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .errors import NpuLayoutError
from .quantization import Quantization

IMAGENET = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
# What models usually are trained with, as mean and std of red, green and blue.
_USUAL = (
    (0.0, 1.0),
    (0.0, 255.0),
    (127.5, 127.5),
    IMAGENET,
)
_CUT = 0.49  # share of the pixel values that no calibration cuts off; a mean left out of a symmetric one does
_NEAR = 0.25  # share of what a target holds that a usual range may be off by

Values = tuple[float, ...]


def usual(color: str) -> Iterator[tuple[Values, Values]]:
    """The usual (mean, std) of models that take `color`, one for each channel in its order, plain pixels first."""
    channels = 1 if color == "GRAY" else 3
    for mean, std in _USUAL:
        if np.size(mean) in (1, channels):
            both = (np.broadcast_to(v, channels)[:: -1 if color == "BGR" else 1] for v in (mean, std))
            first, second = (tuple(v.tolist()) for v in both)
            yield first, second


def check_units(mean: Values, std: Values) -> None:
    """NpuLayoutError where a mean and a std are those of pixels from 0 to 1."""
    if any(mean) and all(abs(v) < 1 for v in (*mean, *std)):
        meant = " and ".join(f"{k}={said([v * 255 for v in of])}" for k, of in (("mean", mean), ("std", std)))
        raise NpuLayoutError(
            f"mean and std are in pixel units, 0 to 255; got mean={said(mean)} and std={said(std)}: for a model that "
            f"divides by 255 first give {meant}"
        )


def check_range(what: str, quantization: Quantization, dtype: Any, mean: Values, std: Values, color: str) -> None:
    """NpuLayoutError where `dtype`, so quantised, cannot hold most of what `mean` and `std` make of the pixels 0 to
    255. One mean and std for each channel of `color`; the quantization is per tensor or per channel."""
    info = np.iinfo(dtype)
    scale, zero_point = (
        np.broadcast_to(np.asarray(v, np.float64), len(mean)) for v in (quantization.scale, quantization.zero_point)
    )
    low, high = ((end - zero_point) * scale for end in (info.min, info.max))
    pixels = np.arange(256.0)[:, None]
    real = (pixels - np.asarray(mean)) / np.asarray(std)
    cut = ((real < low - scale / 2) | (real > high + scale / 2)).mean(axis=0)
    worst = int(cut.argmax())
    if cut[worst] <= _CUT:
        return
    least, most = sorted(real[[0, -1], worst])
    raise NpuLayoutError(
        f"{what} holds (pixel - mean) / std from {low[worst]:.4g} to {high[worst]:.4g}; mean={said(mean)} and "
        f"std={said(std)} make {least:.4g} to {most:.4g}, and {100 * cut[worst]:.0f} % of the pixel values are cut off"
        + _fitting(low, high, color)
    )


def _fitting(low: np.ndarray, high: np.ndarray, color: str) -> str:
    """The usual mean and std whose range is nearest to this one in the worst channel, in words; "" where none is."""

    def off(given: tuple[Values, Values]) -> float:
        mean, std = map(np.asarray, given)
        return float(((abs(low + mean / std) + abs(high - (255 - mean) / std)) / (high - low)).max())

    best = min(usual(color), key=off)
    return f"; mean={said(best[0])}, std={said(best[1])} would fit" if off(best) <= _NEAR else ""


def said(values: Any) -> str:
    """One number where all are equal."""
    numbers = [f"{v:.6g}" for v in values]
    return numbers[0] if len(set(numbers)) == 1 else f"[{', '.join(numbers)}]"
