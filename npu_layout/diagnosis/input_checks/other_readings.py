"""Frames of Y, U and V that were read in another way, beside another argument of the Preprocessor or a mirrored input.

Or whose planes were resized before they became colours, or after: `yuv` says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from ...errors import NpuLayoutError
from ...frames import INTERPOLATIONS, Preprocessor, frame_spec_of
from ..other_inputs.frame_readings import other_sources
from ..other_inputs.input_images import How
from .combined_arguments import one_argument
from .input_changes import MIRRORED, Change, border
from .input_pairs import FrameInput, InputPair

_YUV = {"exact": "planes", "planes": "exact"}


def other_order(base: How, pairs: Sequence[InputPair]) -> list[Change]:
    """Return the inputs of planes that were resized before they became colours, or after if that was not declared.

    pairs: with frames in their own format.
    """
    return [_change(words, {**base, **argument}, pairs) for argument, words in _orders(base, pairs[0])]


def beside_readings(base: How, pairs: Sequence[InputPair], scaled: bool) -> Iterator[Change]:
    """Yield the inputs of frames that were read in one other way, beside one other argument, or mirrored.

    pairs: with frames in their own format; scaled: of another mean and std, too.
    """
    source = base.get("source", "BGR")
    readings: list[tuple[How, str]] = [
        ({"source": other.source}, other.words) for other in other_sources(source, pairs[0].frame) if other.changes == 1
    ]
    arguments = [*one_argument(base, pairs[0], scaled)]
    for interpolation in INTERPOLATIONS:
        if interpolation != base.get("interpolation", "linear"):
            arguments.append(({"interpolation": interpolation}, f"interpolation={interpolation!r}"))
    borders = [({"pad_value": c.how["pad_value"]}, c.words) for c in border(base, pairs) if c.how is not None]
    for reading, words in [*readings, *_orders(base, pairs[0])]:
        for argument, beside in [*arguments, *borders]:
            change = _change(f"{words}, {beside}", {**base, **reading, **argument}, pairs)
            yield change._replace(changes=2)
        for turned, letters in MIRRORED:
            change = _change(f"{words} with the input {turned}", {**base, **reading}, pairs, letters)
            yield change._replace(changes=2, how=None, verdict="geometry")


def _orders(base: How, pair: InputPair) -> list[tuple[How, str]]:
    """Return the other order of converting and resizing, if the frame has Y, U and V, with its words."""
    if frame_spec_of(base.get("source", "BGR"), pair.frame) is None:
        return []
    yuv = _YUV[base.get("yuv", "exact")]
    return [({"yuv": yuv}, f"yuv={yuv!r}")]


def _change(words: str, how: How, pairs: Sequence[InputPair], letters: str = "") -> Change:
    own = {pair.number: pair for pair in pairs}
    make, applies = partial(_made, pairs=own, how=how, letters=letters), partial(_is_accepted, how=how)
    return Change(words, make, how, applies=applies, kind="source")


def _made(pair: InputPair, pairs: Mapping[int, InputPair], how: How, letters: str) -> FrameInput:
    own = pairs[pair.number]
    axes = tuple(own.spec.axes.index(letter) for letter in letters)
    return own.made(np.flip(own.pixels(how), axes) if axes else own.pixels(how), how)


def _is_accepted(pair: InputPair, how: How) -> bool:
    """Whether a Preprocessor makes it: planes are not resized by all interpolations."""
    try:
        Preprocessor(pair.target, **{k: v for k, v in how.items() if k not in ("mean", "std")})
    except NpuLayoutError:
        return False
    return True
