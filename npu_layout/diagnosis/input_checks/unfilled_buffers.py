"""A buffer that does not hold the picture, or holds it in a part: one colour, or what an earlier frame left in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...frames import said
from ..other_inputs.input_images import How
from .flat_colours import as_picture, channels_last
from .input_pairs import InputPair

_SAME = 1.0  # steps, root mean square: what differs by less is the same
_FILLED = 4.0  # steps: noise or a loss, in the part that is as declared; and times that, by which the rest differs more
_SHARP = 0.25  # of the power of the rest, next to the part that is as declared: what grows from there is no tear
_OF_CHANNELS = 0.0625  # of the power of another channel: where rows of all channels are torn, all differ
_DETAIL, _SOME = 4.0, 0.5  # steps between neighbours in the part that is as declared, and share of those of all
_FEWEST = 2  # rows of each part, and of those beside the place where it is torn
_REACH = 8  # frames before, of which one may be in the rest


class Torn(NamedTuple):
    """Where a buffer begins to hold something else, and what: in words.

    `is_frame`: whether it is what another frame left; `off`: how many steps, root mean square, that leaves.
    """

    words: str
    is_frame: bool
    off: float


def one_colour(pairs: Sequence[InputPair], base: How) -> str:
    """Return in words the colour that all inputs have where the picture belongs; "" if they have several.

    It is also "" if the camera's pictures are one colour.
    """
    colours = []
    for pair in pairs:
        inside = _inside(pair, base)
        made, recorded = (as_picture(pair, x)[inside] for x in (_made(pair, base, pair.number), pair.recorded))
        is_one = len(recorded) and recorded.std(axis=0).max() <= _SAME  # not of NaN
        if not is_one or made.std(axis=0).max() <= _SAME:
            return ""
        colours.append(_name(pair, channels_last(pair, pair.recorded)[inside]))
    return colours[0]


def _name(pair: InputPair, values: np.ndarray, channels: Sequence[int] = ()) -> str:
    """Return in words the colour of recorded values, (..., channels), which is nearly one; channels: if not all."""
    real = np.median(values.reshape(-1, values.shape[-1]), axis=0)
    mean, std = (np.broadcast_to(np.ravel(x), pair.channels) for x in pair.arithmetic(pair.declared))
    some = list(channels) or [*range(pair.channels)]
    colour = real * std[some] + mean[some]
    for end, name in ((0, "black"), (255, "white")):
        if abs(colour - end).max() <= pair.step:
            return name
    if not real.any():
        return "zeros"
    rounded = np.rint(colour[:1] if np.ptp(colour) < _SAME else colour) + 0.0  # 0, not -0
    return f"pixel values of {said(rounded)}"


def torn(pairs: Sequence[InputPair], base: How) -> Torn | None:
    """Return where the inputs begin to hold something else, in words for each frame if these differ.

    None unless each that differs is as declared in a part, and it is known what the rest holds.
    """
    found: dict[int, Torn] = {}
    for pair in pairs:
        made = _made(pair, base, pair.number)
        if pair.off(made) > _FILLED:
            one = _torn(pair, base, made)
            if one is None:
                return None
            found[pair.number] = one
    if not found:
        return None
    of_words: dict[str, list[str]] = {}
    for number, one in found.items():
        of_words.setdefault(one.words, []).append(str(number))
    alike = len(of_words) == 1 and len(found) == len(pairs)
    words = next(iter(of_words)) if alike else "; ".join(_in_frames(*each) for each in of_words.items())
    return Torn(words, any(one.is_frame for one in found.values()), max(one.off for one in found.values()))


def _in_frames(words: str, numbers: Sequence[str]) -> str:
    *others, last = numbers
    return f"in frames {', '.join(others)} and {last}, {words}" if others else f"in frame {last}, {words}"


class _Rows(NamedTuple):
    """The rows of a picture as they follow each other in the buffer: (row, channel), or (row, None) with all channels.

    `of`: each as its index in a picture of (height, width, channels).
    """

    names: list[tuple[int, int | None]]

    def of(self, picture: np.ndarray) -> list[np.ndarray]:
        return [picture[row] if channel is None else picture[row, :, channel] for row, channel in self.names]


def _torn(pair: InputPair, base: How, made: np.ndarray) -> Torn | None:
    """Return where an input begins to hold something else: in the order of the picture, or in that of its planes."""
    height = np.flatnonzero(_inside(pair, base).any(axis=1)).tolist()
    whole = _Rows([(row, None) for row in height])
    orders = filter(None, (whole, _planes(pair, height)))
    found = (_torn_between(pair, base, made, rows) for rows in orders)
    return next((one for one in found if one is not None), None)


def _torn_between(pair: InputPair, base: How, made: np.ndarray, rows: _Rows) -> Torn | None:
    columns = _inside(pair, base).any(axis=0)
    picture, recorded = (as_picture(pair, x)[:, columns] for x in (made, pair.recorded))
    powers = np.array([float(np.square(row).mean()) for row in rows.of(recorded - picture)])
    at = _change_point(powers)
    if at is None:
        return None
    is_first = powers[:at].mean() < powers[at:].mean()
    good, bad = (slice(0, at), slice(at, None)) if is_first else (slice(at, None), slice(0, at))
    if not _proves(rows.of(picture)[good], picture) or not _is_sharp(powers[good], powers[bad], is_first):
        return None
    row, channel = rows.names[at]
    if channel is None and not _in_all_channels((recorded - picture)[[r for r, _ in rows.names[bad]]]):
        return None
    name = f"row {row}" if channel is None else f"row {row} of channel {channel}"
    where = f"from {name} on" if is_first else f"before {name}"
    inner = _Rows(rows.names[bad][1:] if is_first else rows.names[bad][:-1])  # one row may be torn itself
    rest, real = (inner.of(x) for x in (recorded, channels_last(pair, pair.recorded)[:, columns]))
    of_good, share = float(powers[good].mean()), len(powers[good]) / len(powers)

    def off(left: float) -> float:
        return float(np.sqrt(share * of_good + (1 - share) * left))

    if channel is None and np.concatenate(rest).std(axis=0).max() <= _SAME:
        return Torn(f"{where} it holds one colour, {_name(pair, np.stack(real))}", False, off(_SAME**2))
    channels = {c for _, c in rows.names[bad]}
    if len(channels) == 1 and channel is not None and np.concatenate(rest).std() <= _SAME:
        value = _name(pair, np.concatenate(real)[:, None], [channel])
        return Torn(f"{where} it holds one value, {value}", False, off(_SAME**2))
    limit = _FILLED * max(float(np.sqrt(of_good)), _SAME)
    for number in _before(pair):
        other = inner.of(as_picture(pair, _made(pair, base, number))[:, columns])
        left = float(np.square(np.concatenate(other) - np.concatenate(rest)).mean())
        if left <= limit**2:
            return Torn(f"{where} it holds what frame {number} left in it", True, off(left))
    return None


def _change_point(powers: np.ndarray) -> int | None:
    """Return where the rows' powers are most likely two; None if no part is as declared, or none clearly differs."""
    count, sums = len(powers), np.cumsum(powers)
    if count < 2 * _FEWEST:
        return None
    k = np.arange(_FEWEST, count - _FEWEST + 1)
    first, second = sums[k - 1] / k, (sums[-1] - sums[k - 1]) / (count - k)
    likely = -k * np.log(np.maximum(first, _SAME**2)) - (count - k) * np.log(np.maximum(second, _SAME**2))
    at = int(np.argmax(likely))
    low, high = sorted((float(first[at]), float(second[at])))
    return int(k[at]) if low <= _FILLED**2 and high >= _FILLED**2 * max(low, _SAME**2) else None


def _proves(known: Sequence[np.ndarray], picture: np.ndarray) -> bool:
    """Whether the part that is as declared has so much detail that it is the camera's picture."""
    detail, of_all = (
        float(np.sqrt(np.mean([np.square(np.diff(row, axis=0)).mean() for row in rows]))) for rows in (known, picture)
    )
    return detail >= max(_DETAIL, _SOME * of_all)


def _in_all_channels(error: np.ndarray) -> bool:
    powers = np.square(error).mean(axis=(0, 1))
    return bool(powers.min() >= _OF_CHANNELS * powers.max())


def _is_sharp(good: np.ndarray, bad: np.ndarray, is_first: bool) -> bool:
    """Whether rows differ as soon as they begin to."""
    beside, before = (bad[: 1 + _FEWEST], good[-_FEWEST:]) if is_first else (bad[-1 - _FEWEST :], good[:_FEWEST])
    quiet = before.max() <= _FILLED**2 * max(float(good.mean()), _SAME**2)
    return bool(quiet and np.median(beside) >= _SHARP * bad.mean())


def _planes(pair: InputPair, height: Sequence[int]) -> _Rows | None:
    """Return these rows of each channel, in the order of the buffer; None if the channels are not behind each other."""
    axes = pair.spec.axes

    def offset(row: int, channel: int) -> int:
        return int(pair.spec.offset(*({"H": row, "C": channel}.get(letter, 0) for letter in axes)))

    if pair.channels == 1 or len(height) < 2 or offset(height[1], 0) > abs(offset(height[0], 1) - offset(height[0], 0)):
        return None
    channels = sorted(range(pair.channels), key=lambda c: offset(0, c))
    return _Rows([(row, c) for c in channels for row in height])


def _before(pair: InputPair) -> Iterator[int]:
    """Yield the frames before a pair's, the nearest first, and the first one."""
    numbers = range(pair.number - 1, max(pair.number - 1 - _REACH, -1), -1)
    yield from (n for n in dict.fromkeys((*numbers, 0)) if n != pair.number and n in pair.frames)


def _made(pair: InputPair, base: How, number: int) -> np.ndarray:
    return pair.made(pair.pixels(base, pair.frames[number]), base).values


def _inside(pair: InputPair, base: How) -> np.ndarray:
    """Return where the input is of the frame: (height, width)."""
    return np.asarray(channels_last(pair, pair.inside(base)).all(axis=-1))
