"""Change several arguments of a Preprocessor at once: the colours, the resize, mean and std, and the border."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np

from ..frames import MODES, said
from .input_changes import Change, border, made_by
from .input_images import FLIPPED, How
from .input_pairs import Pair
from .usual_mistakes import mistakes


def combined_arguments(base: How, pair: Pair, scaled: bool) -> list[Change]:
    """Return the inputs of two or three other arguments, those of two first. scaled: mean and std, too.

    Those of the same colours and resize follow each other, because they are made of the same pixels.
    """
    changes = sorted(_combined(base, pair, scaled), key=lambda change: change.changes)
    return [change for change in changes if change.changes > 1]


def _combined(base: How, pair: Pair, scaled: bool) -> Iterator[Change]:
    for parts in product(*_colors_and_modes(base), _normalisations(base, pair, scaled)):
        how = {**base, **{k: v for changed, _ in parts for k, v in changed.items()}}
        words = ", ".join(words for _, words in parts if words)
        yield Change(words, partial(made_by, how=how), how, changes=sum(bool(changed) for changed, _ in parts))


def bordered(base: How, pairs: Sequence[Pair]) -> Iterator[Change]:
    """Yield other colours, another resize, or both, with the pixel value that is then in the recorded border."""
    for color, mode in product(*_colors_and_modes(base)):
        if color[0] or mode[0]:
            for change in border({**base, **color[0], **mode[0]}, pairs):
                words = ", ".join(filter(None, (color[1], mode[1], change.words)))
                yield change._replace(words=words, changes=1 + bool(color[0]) + bool(mode[0]))


def _colors_and_modes(base: How) -> tuple[list[tuple[How, str]], list[tuple[How, str]]]:
    """Return the declared colours and resize, and the other ones, each with its words."""
    color, resize = base.get("color", "RGB"), base.get("resize", "letterbox")
    colors: list[tuple[How, str]] = [({}, "")]
    if color in FLIPPED:
        colors.append(({"color": FLIPPED[color]}, f"color={FLIPPED[color]!r}"))
    return colors, [({}, ""), *(({"resize": mode}, f"resize={mode!r}") for mode in MODES if mode != resize)]


def _normalisations(base: How, pair: Pair, scaled: bool) -> list[tuple[How, str]]:
    """Return the declared mean and std, and those of the usual mistakes."""
    if not scaled or pair.is_pixels:
        return [({}, "")]
    mean, std = (np.ravel(values) for values in pair.arithmetic(base))
    others = mistakes(mean, std, base.get("color", "RGB"))
    said_of = [f"mean={said(one.mean)}, std={said(one.std)} ({one.text})" for one in others]
    arguments: list[How] = [{"mean": one.mean.tolist(), "std": one.std.tolist()} for one in others]
    return [({}, ""), *zip(arguments, said_of)]
