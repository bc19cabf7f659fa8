"""Scalings: what is often done to the pixels in place of a model's mean and std."""

from __future__ import annotations

import numpy as np

from ..frames import usual

Scaling = tuple[np.ndarray, np.ndarray]
_VIDEO = 16, 219 / 255  # black and the range of luma in video, BT.601 and BT.709


def scalings(mean: np.ndarray, std: np.ndarray, color: str, known: bool = True) -> dict[str, Scaling]:
    """{what was done: the mean and std that come to the same}, the usual mistakes first: of two that make the same
    input the first is meant.

    mean, std: what was declared, in pixel units, one for each channel of `color`; known: False where that is nothing,
    so that the pixels are not known either, and only factors make sense.
    """
    zero, one = 0 * mean, np.ones_like(std)
    factors = {
        "divided by 255 once more": (mean, std * 255),
        "not divided by 255": (mean, std / 255),
        "divided by 255 before mean and std, which are for 0 to 255": (mean * 255, std * 255),
        "mean and std for 0 to 1 on pixels of 0 to 255": (mean / 255, std / 255),
    }
    if not known:
        return factors
    black, luma = _VIDEO
    others = {
        what if order == color else f"{what}, for {order}": (np.array(m), np.array(s))
        for order in dict.fromkeys((color, "RGB"))  # which they are usually written in
        for what, (m, s) in usual(order, len(mean)).items()
    }
    return {
        "mean and std forgotten": (zero, one),
        "mean and std forgotten, divided by 255 all the same": (zero, one * 255),
        "mean forgotten": (zero, std),
        "std forgotten": (mean, one),
        "std forgotten, divided by 255 all the same": (mean, one * 255),
        "mean and std applied twice": (mean + mean * std, std * std),
        "mean and std applied twice, in units of 0 to 1": (mean + mean * std / 255, std * std / 255),
        **factors,
        "mean and std of the channels in the opposite order": (mean[::-1], std[::-1]),
        "pixels of 16 to 235 taken for 0 to 255": ((mean - black) / luma, std / luma),
        "pixels of 0 to 255 taken for 16 to 235": (black + mean * luma, std * luma),
        **others,
    }
