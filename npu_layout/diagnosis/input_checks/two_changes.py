"""Two changes of an input at once: one that an argument of a Preprocessor makes, and one that none makes.

A mirrored picture of other colours is neither the mirrored one nor that of the other colours, and either alone explains
nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ..other_inputs.input_images import How
from .combined_arguments import one_argument
from .input_bytes import stored
from .input_changes import Change, colours, geometry, lighting, other_frames
from .input_pairs import InputPair

_TURNS = 6  # changes of the geometry that come first: of the whole frame


def two_changes(base: How, pairs: Sequence[InputPair], scaled: bool, reach: int) -> Iterator[Change]:
    """Yield the inputs of other colours, beside anything but a crop or a shift, and of another resize beside some.

    scaled: of another mean and std, too; reach: frames before and after.
    """
    for argument, words in one_argument(base, pairs[0], scaled):
        how = {**base, **argument}
        beside = [*islice(geometry(how, pairs[0]), _TURNS), *other_frames(how, pairs, reach)]
        if "color" in argument:
            beside += [*stored(how, pairs[0]), *colours(how), *lighting(how, pairs)]
        for change in beside:
            yield change._replace(words=f"{words} with {change.words}", changes=1 + change.changes, kind="")
