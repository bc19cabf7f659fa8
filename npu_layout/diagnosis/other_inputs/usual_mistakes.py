"""List the usual mistakes with mean and std, each as the mean and std that have the same effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...frames import usual

_SAME = 0.01
_VIDEO = 16, 219 / 255  # black and the range of luma in video, BT.601 and BT.709


class Mistake(NamedTuple):
    """A mistake as an id and in words, and the mean and std that have the same effect."""

    id: str
    text: str
    mean: np.ndarray
    std: np.ndarray

    def is_like(self, other: Mistake) -> bool:
        """Whether it makes nearly the same of all pixel values: by a hundredth of what these make."""
        black, white = ((level - self.mean) / self.std - (level - other.mean) / other.std for level in (0, 255))
        return bool((np.maximum(abs(black), abs(white)) <= _SAME * 255 / abs(other.std)).all())


def mistakes(mean: np.ndarray, std: np.ndarray, color: str, known: bool = True) -> list[Mistake]:
    """Return the mistakes, the most usual first; of two that make the same input, only the first.

    mean, std: what was declared, in pixel units, one for each channel of `color`; known: whether anything was; if
    not, the pixels are not known either, and only factors make sense.
    """
    distinct: dict[tuple[tuple[float, ...], tuple[float, ...]], Mistake] = {}
    for mistake in _every(mean, std, color) if known else _factors(mean, std):
        distinct.setdefault((tuple(mistake.mean.tolist()), tuple(mistake.std.tolist())), mistake)
    return list(distinct.values())


def _factors(mean: np.ndarray, std: np.ndarray) -> Iterator[Mistake]:
    yield Mistake("divided_twice", "divided by 255 twice", mean, std * 255)
    yield Mistake("undivided", "not divided by 255", mean, std / 255)
    yield Mistake("divided_first", "divided by 255 before mean and std for 0 to 255 are applied", mean * 255, std * 255)
    yield Mistake("units_of_one", "mean and std for 0 to 1 applied to pixels of 0 to 255", mean / 255, std / 255)


def _every(mean: np.ndarray, std: np.ndarray, color: str) -> Iterator[Mistake]:
    zero, one = 0 * mean, np.ones_like(std)
    yield Mistake("forgotten", "mean and std forgotten", zero, one)
    yield Mistake("forgotten_divided", "mean and std forgotten, but divided by 255", zero, one * 255)
    yield Mistake("no_mean", "mean forgotten", zero, std)
    yield Mistake("no_std", "std forgotten", mean, one)
    yield Mistake("no_std_divided", "std forgotten, but divided by 255", mean, one * 255)
    yield Mistake("twice", "mean and std applied twice", mean + mean * std, std * std)
    yield Mistake(
        "twice_in_units_of_one",
        "mean and std applied twice, in units of 0 to 1",
        mean + mean * std / 255,
        std * std / 255,
    )
    yield from _factors(mean, std)
    yield Mistake("multiplied", "multiplied by std, not divided", mean, 1 / std)
    yield Mistake(
        "multiplied_in_units_of_one",
        "mean and std for 0 to 1 applied to pixels of 0 to 255, and multiplied by std",
        mean / 255,
        255 / std,
    )
    yield Mistake("multiplied_by_units_of_one", "multiplied by std for 0 to 1, not divided", mean, 255 / std)
    yield Mistake("half_of_127", "divided by 127.5, minus 0.5", zero + 127.5 / 2, one * 127.5)
    if (mean > 0).all():
        yield Mistake("mean_as_std", "the mean used as std, too", mean, mean)
    yield Mistake("reversed", "mean and std of the channels in the opposite order", mean[::-1], std[::-1])
    black, luma = _VIDEO
    yield Mistake("video_as_full", "pixels of 16 to 235 read as 0 to 255", (mean - black) / luma, std / luma)
    yield Mistake("full_as_video", "pixels of 0 to 255 read as 16 to 235", black + mean * luma, std * luma)
    for order in dict.fromkeys((color, "RGB")):  # in which they are usually written
        for what, (m, s) in usual(order, len(mean)).items():
            text = what if order == color else f"{what}, for {order}"
            yield Mistake(f"usual {order} {what}", text, np.array(m), np.array(s))
