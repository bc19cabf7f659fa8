"""Two changes of an input at once: one that an argument of a Preprocessor makes, and one that none makes.

A mirrored picture of other colours is neither the mirrored one nor that of the other colours, and either alone explains
nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, zip_longest

from ...frames import said
from ..other_inputs.input_images import How
from .combined_arguments import one_argument
from .input_bytes import misread, of_other_sign, stored
from .input_changes import Change, border, colours, geometry, other_frames, turns, turns_of_other_frames
from .input_pairs import InputPair
from .lighting import lighting


def two_changes(base: How, pairs: Sequence[InputPair], scaled: bool, reach: int) -> Iterator[Change]:
    """Yield the inputs of other arguments beside another change, but for white balances.

    Beside other colours any of these is tried, but for crops of more than a row or column; beside another resize, or
    mean and std, a turned frame, another one, other colours that no argument makes, and another sign; beside another
    border, the first two. Then frames before and after that are turned as well.

    scaled: of another mean and std, too; reach: frames before and after.

    Those of one change beside each argument follow each other, because they are made of the same frame.
    """
    beside = partial(_beside, pairs=pairs, reach=reach)
    for changes in zip_longest(*(beside(*argument) for argument in _arguments(base, pairs, scaled))):
        yield from filter(None, changes)
    yield from turns_of_other_frames(base, pairs, reach)


def _arguments(base: How, pairs: Sequence[InputPair], scaled: bool) -> Iterator[tuple[How, How, str]]:
    """Yield another argument, all arguments with it, and its words."""
    borders = [({"pad_value": c.how["pad_value"]}, c.words) for c in border(base, pairs) if c.how is not None]
    for argument, words in [*one_argument(base, pairs[0], scaled), *borders, *_of_bytes(pairs[0], scaled)]:
        yield argument, {**base, **argument}, words


def _of_bytes(pair: InputPair, scaled: bool) -> Iterator[tuple[How, str]]:
    """Yield the mean and std of pixels that were stored as the bytes of a quantised input."""
    for mean, std in pair.of_bytes() if scaled else ():
        how = {"mean": mean.tolist(), "std": std.tolist()}
        yield how, f"mean={said(mean)}, std={said(std)} (pixels stored as they are)"


def _beside(argument: How, how: How, words: str, pairs: Sequence[InputPair], reach: int) -> Iterator[Change]:
    """Yield what else may have been done beside an argument: the same of each in the same order."""
    moved = geometry(how, pairs[0]) if "color" in argument else turns(how)
    changes = [moved, other_frames(how, pairs, reach)]
    if "pad_value" not in argument:
        changes.append(colours(how))
    if "mean" in argument:
        changes.append(misread(how, pairs[0]))
    if "color" in argument:
        changes += [stored(how, pairs[0]), lighting(how, pairs)]
    elif "pad_value" not in argument:
        changes.append(of_other_sign(how, pairs[0]))
    for change in chain(*changes):
        both = f"{words} with {change.words}"
        yield change._replace(words=both, changes=1 + change.changes, kind="", arguments=how)
