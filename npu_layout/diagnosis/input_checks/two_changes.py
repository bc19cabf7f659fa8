"""Two changes of an input at once: one that an argument of a Preprocessor makes, and one that none makes.

A mirrored picture of other colours is neither the mirrored one nor that of the other colours, and either alone explains
nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..other_inputs.input_images import How
from .combined_arguments import one_argument
from .input_bytes import misread, stored
from .input_changes import Change, border, colours, lighting, other_frames, turns, turns_of_other_frames
from .input_pairs import InputPair


def two_changes(base: How, pairs: Sequence[InputPair], scaled: bool, reach: int) -> Iterator[Change]:
    """Yield the inputs of other colours, beside all but crops, shifts and white balances, and of other arguments.

    Then frames before and after that are turned as well. scaled: of another mean and std, too; reach: frames before and
    after.
    """
    borders = [({"pad_value": c.how["pad_value"]}, c.words) for c in border(base, pairs) if c.how is not None]
    for argument, words in [*one_argument(base, pairs[0], scaled), *borders]:
        how = {**base, **argument}
        beside = [*turns(how), *other_frames(how, pairs, reach)]
        if "color" in argument:
            beside += [*stored(how, pairs[0]), *colours(how), *lighting(how, pairs)]
        if "mean" in argument:
            beside += misread(how, pairs[0])
        for change in beside:
            yield change._replace(words=f"{words} with {change.words}", changes=1 + change.changes, kind="")
    yield from turns_of_other_frames(base, pairs, reach)
