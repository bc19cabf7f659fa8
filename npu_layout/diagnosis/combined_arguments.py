"""Change several arguments of a Preprocessor at once: the colours, the resize, and mean and std."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from ..frames import MODES, said
from .input_changes import Change, made_by
from .input_images import How
from .input_pairs import Pair
from .input_variants import FLIPPED
from .usual_mistakes import mistakes


def combined_arguments(base: How, pair: Pair, scaled: bool) -> list[Change]:
    """Return the inputs of two or three other arguments, those of two first. scaled: mean and std, too.

    Those of the same colours and resize follow each other, because they are made of the same pixels.
    """
    changes = sorted(_combined(base, pair, scaled), key=lambda change: change.changes)
    return [change for change in changes if change.changes > 1]


def _combined(base: How, pair: Pair, scaled: bool) -> Iterator[Change]:
    color, resize = base.get("color", "RGB"), base.get("resize", "letterbox")
    colors: list[tuple[How, str]] = [({}, "")]
    if color in FLIPPED:
        colors.append(({"color": FLIPPED[color]}, f"color={FLIPPED[color]!r}"))
    modes = [({}, ""), *(({"resize": mode}, f"resize={mode!r}") for mode in MODES if mode != resize)]
    for parts in product(colors, modes, _normalisations(base, pair, scaled)):
        how = {**base, **{k: v for changed, _ in parts for k, v in changed.items()}}
        words = ", ".join(words for _, words in parts if words)
        yield Change(words, partial(made_by, how=how), how, changes=sum(bool(changed) for changed, _ in parts))


def _normalisations(base: How, pair: Pair, scaled: bool) -> list[tuple[How, str]]:
    """Return the declared mean and std, and those of the usual mistakes."""
    if not scaled or pair.is_pixels:
        return [({}, "")]
    mean, std = (np.ravel(values) for values in pair.arithmetic(base))
    others = mistakes(mean, std, base.get("color", "RGB"))
    said_of = [f"mean={said(one.mean)}, std={said(one.std)} ({one.text})" for one in others]
    arguments: list[How] = [{"mean": one.mean.tolist(), "std": one.std.tolist()} for one in others]
    return [({}, ""), *zip(arguments, said_of)]
