"""Parts of a frame near the one that was noted: moved by a pixel or two, or larger or smaller by as much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np

from ..other_inputs.input_images import How
from .camera_frames import Part
from .input_changes import Change
from .input_pairs import FrameInput, InputPair

_OFF = 2  # pixels in each direction, and of each size
_ROUNDS = 5  # of a search for parts whose place and size both differ, from the best so far
_STEPS: Sequence[Part] = [  # an edge, or two that are opposite, by a pixel
    *((sign, 0, -sign, 0) for sign in (-1, 1)),
    *((0, sign, 0, -sign) for sign in (-1, 1)),
    *((0, 0, sign, 0) for sign in (-1, 1)),
    *((0, 0, 0, sign) for sign in (-1, 1)),
    *((sign, 0, 0, 0) for sign in (-1, 1)),
    *((0, sign, 0, 0) for sign in (-1, 1)),
]
EQUAL = 0.02  # steps: float32, rounded in another order; what fits so well ends the search
_INSET: Sequence[Part] = [(1, 1, -2, -2), (-1, -1, 2, 2)]  # without a pixel on each side, or with one
_CLEAR = 1.1  # times the square of what the best leaves: what is a pixel off leaves more
_MIDDLE = 0.25  # pixels: a parabola through the three squares has its least so near to the best
_HOPELESS = 0.9  # of what is left as declared: what is a few pixels off leaves less
_FEW = 6  # parts of the frame that differs most: the others are not tried in other frames
_NAMES = ("x", "y", "width", "height")


def near_parts(base: How, pairs: Sequence[InputPair], declared: Sequence[np.ndarray]) -> Iterator[Change]:
    """Yield the parts near roi_xywh that fit best, if parts were noted.

    They are sought in the frame whose input differs most from `declared`, what `base` makes of each pair.
    """
    noted = [(pair.off(made), pair) for pair, made in zip(pairs, declared) if pair.near is not None]
    if not noted:
        return
    most, pair = max(noted, key=lambda each: each[0])
    offs: dict[Part, float] = {}

    def off(by: Part) -> float:
        if by not in offs:
            offs[by] = pair.off(_made(pair, base, by).values) if _is_inside(pair, by) else np.inf
        return offs[by]

    steps = [each for each in product(range(-_OFF, _OFF + 1), repeat=2) if any(each)]
    least = min([*((*by, 0, 0) for by in steps), *((0, 0, *by) for by in steps), *_INSET], key=off)
    for _ in range(_ROUNDS):
        if offs[least] <= EQUAL or offs[least] > _HOPELESS * most:
            break
        found = min((_moved(least, step) for step in _STEPS), key=off)
        if off(found) >= offs[least]:
            break
        least = found
    is_least = _is_least(least, off)
    for by in sorted(offs, key=lambda by: offs[by])[:_FEW]:
        if any(by) and np.isfinite(offs[by]):
            applies, make = partial(_is_inside, by=by), partial(_made, how=base, by=by)
            change = Change(_words(by), make, verdict="geometry", applies=applies, kind="part", changes=_changes(by))
            yield change._replace(is_least=is_least and by == least)


def _is_least(by: Part, off: Callable[[Part], float]) -> bool:
    """Whether what differs from a part by a pixel explains less on either side, by as much: the least is not between.

    A part whose place and size both differ has to fit exactly: a resize by other rules fits one of these.
    """
    if any(by[:2]) and any(by[2:]):
        return False
    least = off(by) ** 2
    for axis in range(len(by)):
        step = tuple(int(i == axis) for i in range(len(by)))
        before, after = (off(_moved(by, tuple(sign * n for n in step))) ** 2 for sign in (-1, 1))
        if not np.isfinite(before + after):
            continue  # outside the frame
        if min(before, after) < _CLEAR * least or abs(before - after) > 2 * _MIDDLE * (before + after - 2 * least):
            return False
    return True


def _moved(by: Part, step: Part) -> Part:
    return tuple(a + b for a, b in zip(by, step))


def _is_inside(pair: InputPair, by: Part) -> bool:
    return pair.near is not None and pair.near(by) is not None


def _made(pair: InputPair, how: How, by: Part) -> FrameInput:
    return pair.made(pair.near_pixels(how, by), how)


def _changes(by: Part) -> int:
    """In how many of the four numbers it differs; one more if both place and size do."""
    return sum(map(bool, by)) + (any(by[:2]) and any(by[2:]))


def _words(by: Part) -> str:
    """Return in words: "the part 1 pixel to the right of and 2 pixels below roi_xywh"."""
    if any(by[2:]):
        changed = [f"{name} {'+-'[n < 0]} {abs(n)}" for name, n in zip(_NAMES, by) if n]
        return f"roi_xywh with {' and '.join(changed)}"
    ways = ((by[0], "to the left of", "to the right of"), (by[1], "above", "below"))
    parts = [f"{abs(n)} pixel{'s'[: abs(n) > 1]} {(before, after)[n > 0]}" for n, before, after in ways if n]
    return f"the part {' and '.join(parts)} roi_xywh"
