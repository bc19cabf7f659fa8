"""A letterbox whose picture is at another side or corner than a Preprocessor puts it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from ..other_inputs.input_images import How
from .input_changes import Change
from .input_pairs import FrameInput, InputPair

_PLACES = {"H": ("top", "middle", "bottom"), "W": ("left", "middle", "right")}
_TOP_LEFT, _MIDDLE = (0, 0), (1, 1)  # what a Preprocessor makes


def placed(base: How, pair: InputPair) -> Iterator[Change]:
    """Yield the inputs of letterboxes, if one was declared, whose picture is at each other side and corner."""
    if not str(base.get("resize", "letterbox")).startswith("letterbox"):
        return
    how = {**base, "resize": "letterbox_top_left"}
    free = _free(pair, how)
    usual = [tuple(i if extent else 0 for i, extent in zip(place, free)) for place in (_TOP_LEFT, _MIDDLE)]
    for place in product(*(range(3 if extent else 1) for extent in free)):
        if place not in usual:
            names = [_PLACES[c][i] for c, i, extent in zip("HW", place, free) if extent]
            make = partial(_at, how=how, place=place)
            yield Change(f"the picture at the {' '.join(names)} of its letterbox", make, verdict="geometry")


def _free(pair: InputPair, how: How) -> tuple[int, ...]:
    """Return how many rows and columns of the input are border."""
    inside, axes = pair.inside(how), pair.spec.axes
    filled = (inside.any(axis=tuple(i for i, c in enumerate(axes) if c != letter)) for letter in "HW")
    return tuple(int(np.count_nonzero(~one)) for one in filled)


def _at(pair: InputPair, how: How, place: tuple[int, ...]) -> FrameInput:
    """Return the input whose picture has none, half or all of what is free above it and to the left of it."""
    by = [extent * part // 2 for extent, part in zip(_free(pair, how), place)]
    return pair.made(np.roll(pair.pixels(how), by, [pair.spec.axes.index(letter) for letter in "HW"]), how)
