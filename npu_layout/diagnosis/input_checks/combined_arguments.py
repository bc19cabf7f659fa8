"""Change several arguments of a Preprocessor at once: the colours, the resize, mean and std, and the border.

Or mean and std to those that fit best, for numbers that are no usual mistake's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np

from ...frames import INTERPOLATIONS, MODES, said
from ..other_inputs.input_images import FLIPPED, How
from ..other_inputs.usual_mistakes import mistakes
from ..scoring.moments import line
from .input_changes import Change, border, made_by
from .input_pairs import InputPair

_VARIED = 4.0  # pixel values, root mean square, in each channel: a flat picture has no slope
_OTHER = 0.03, 2.0  # of std, and pixel values of mean: what differs by less may be the light, too
_SOME = 23  # values, of which one says what a line leaves at least
_FEWEST = 100  # of these in a channel: fewer say little, and one of them says nothing
_ROUNDED = 0.05  # pixel values that one may change by where mean and std become numbers that people write


def combined_arguments(base: How, pair: InputPair, scaled: bool) -> list[Change]:
    """Return the inputs of two or three other arguments, those of two first. scaled: mean and std, too.

    Those of the same colours and resize follow each other, because they are made of the same pixels.
    """
    changes = sorted(_combined(base, pair, scaled), key=lambda change: change.changes)
    return [change for change in changes if change.changes > 1]


def _combined(base: How, pair: InputPair, scaled: bool) -> Iterator[Change]:
    for parts in product(*_colors_and_modes(base), _normalisations(base, pair, scaled)):
        how = {**base, **{k: v for changed, _ in parts for k, v in changed.items()}}
        words = ", ".join(words for _, words in parts if words)
        yield Change(words, partial(made_by, how=how), how, changes=sum(bool(changed) for changed, _ in parts))


def bordered(base: How, pairs: Sequence[InputPair], scaled: bool) -> Iterator[Change]:
    """Yield other arguments with the pixel value that is then in the recorded border.

    These are other colours, another resize, or both; and another mean and std, beside other colours or not. scaled:
    mean and std, too.
    """
    colors, modes = _colors_and_modes(base)
    normalisations = [n for n in _normalisations(base, pairs[0], scaled) if n[0]]
    for ways in (*product(colors, modes), *product(colors, normalisations)):
        changed = [way for way in ways if way[0]]
        how = {**base, **{k: v for arguments, _ in changed for k, v in arguments.items()}}
        for change in border(how, pairs) if changed else ():
            words = ", ".join([*(words for _, words in changed), change.words])
            yield change._replace(words=words, changes=1 + len(changed))


def arguments_alone(base: How, pair: InputPair, scaled: bool) -> Iterator[Change]:
    """Yield the inputs of other colours, of each other resize, and of each other mean and std. scaled: these, too."""
    for argument, words in one_argument(base, pair, scaled):
        how = {**base, **argument}
        yield Change(words, partial(made_by, how=how), how)


def interpolated(changes: Iterable[Change]) -> Iterator[Change]:
    """Yield the arguments of each change with each other interpolation as well."""
    for change, interpolation in product(changes, INTERPOLATIONS):
        declared = change.how or {}
        if interpolation != declared.get("interpolation", "linear"):
            how = {**declared, "interpolation": interpolation}
            words = f"{change.words}, interpolation={interpolation!r}"
            yield Change(words, partial(made_by, how=how), how, changes=1 + change.changes)


def one_argument(base: How, pair: InputPair, scaled: bool) -> list[tuple[How, str]]:
    """Return other colours, each other resize, and each other mean and std, with their words."""
    colors, modes = _colors_and_modes(base)
    return [one for ways in (colors, modes, _normalisations(base, pair, scaled)) for one in ways if one[0]]


def _colors_and_modes(base: How) -> tuple[list[tuple[How, str]], list[tuple[How, str]]]:
    """Return the declared colours and resize, and the other ones, each with its words."""
    color, resize = base.get("color", "RGB"), base.get("resize", "letterbox")
    colors: list[tuple[How, str]] = [({}, "")]
    if color in FLIPPED:
        colors.append(({"color": FLIPPED[color]}, f"color={FLIPPED[color]!r}"))
    return colors, [({}, ""), *(({"resize": mode}, f"resize={mode!r}") for mode in MODES if mode != resize)]


def _normalisations(base: How, pair: InputPair, scaled: bool) -> list[tuple[How, str]]:
    """Return the declared mean and std, and those of the usual mistakes, if these are others."""
    if not scaled or pair.is_pixels:
        return [({}, "")]
    mean, std = (np.ravel(values) for values in pair.arithmetic(base))
    others = [
        one
        for one in mistakes(mean, std, base.get("color", "RGB"))
        if not (np.array_equal(one.mean, mean) and np.array_equal(one.std, std))
    ]
    said_of = [f"mean={said(one.mean)}, std={said(one.std)} ({one.text})" for one in others]
    arguments: list[How] = [{"mean": one.mean.tolist(), "std": one.std.tolist()} for one in others]
    return [({}, ""), *zip(arguments, said_of)]


def fitted(base: How, pairs: Sequence[InputPair], most: float) -> Iterator[Change]:
    """Yield the mean and std of each channel that fit best, if they are others than declared and pixels vary.

    Of floats alone: steps of integers are too coarse to say which numbers were written. Then those beside other
    colours, another resize or both. most: steps; what is left out leaves more.
    """
    if pairs[0].spec.element.unpacked.kind == "f":
        for color, mode in product(*_colors_and_modes(base)):
            for change in _fitted({**base, **color[0], **mode[0]}, pairs, most):
                yield change._replace(words=", ".join(filter(None, (color[1], mode[1], change.words))))


def _by_channel(pairs: Sequence[InputPair], how: How, channel: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels of a channel of all pairs, and what was recorded of them."""
    axis = pairs[0].spec.axes.index("C")
    made, recorded = (
        np.concatenate([np.moveaxis(values, axis, 0)[channel].ravel() for values in arrays])
        for arrays in ([pair.pixels(how) for pair in pairs], [pair.recorded for pair in pairs])
    )
    return made, recorded


def _left_by_any(values: Sequence[tuple[np.ndarray, np.ndarray]], pair: InputPair) -> float:
    """Return how many steps, root mean square, any line leaves of each channel at least: what it leaves of some values.

    values: pixels and what was recorded of them, by channel.
    """
    if len(values[0][0]) < _FEWEST * _SOME:
        return 0.0
    power, units = 0.0, pair.in_steps(pair.along(np.ones(pair.channels))).ravel()
    for (x, y), unit in zip(values, units):
        some, recorded = (one[::_SOME].astype(np.float64) for one in (x, y))
        slope, offset = line(some, recorded)
        left = (recorded - slope * some - offset) * unit
        power += float(left @ left)
    return float(np.sqrt(power / sum(x.size for x, _ in values)))


def _fitted(base: How, pairs: Sequence[InputPair], most: float) -> Iterator[Change]:
    values = [_by_channel(pairs, base, c) for c in range(pairs[0].channels)]
    if _left_by_any(values, pairs[0]) > most:
        return
    lines = []
    for x, y in ([one.astype(np.float64) for one in both] for both in values):
        if x.std() >= _VARIED:
            lines.append(line(x, y))
    slope, offset = np.array(lines).reshape(-1, 2).T
    if not lines or len(lines) < pairs[0].channels or not (slope > 0).all() or (slope > 1).any():
        return
    mean, std = _written(-offset / slope, 1 / slope)
    declared = [np.ravel(values) for values in pairs[0].arithmetic(base)]
    if (abs(std / declared[1] - 1) > _OTHER[0]).any() or (abs(mean - declared[0]) > _OTHER[1]).any():
        how = {**base, "mean": mean.tolist(), "std": std.tolist()}
        refused = mean.any() and (abs(mean) < 1).all()  # by a Preprocessor, to which they are means of 0 to 1
        yield Change(f"mean={said(mean)}, std={said(std)}", partial(made_by, how=how), None if refused else how)


def _written(mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and std, each with as few decimals as change no value of 0 to 255 by half of _ROUNDED.

    Together they would have as many decimals as the one that needs more, and a mean of 0 the noise of float16.
    """
    return _rounded(mean, np.ones_like(std)), _rounded(std, 255 / std)


def _rounded(numbers: np.ndarray, steepness: np.ndarray) -> np.ndarray:
    """Return numbers with few decimals. steepness: pixel values by which one changes if its number does by 1."""
    for decimals in range(4):
        rounded = np.asarray(np.round(numbers, decimals) + 0.0)  # 0, not -0
        if (abs(rounded - numbers) * steepness <= _ROUNDED / 2).all():
            return rounded
    return numbers
