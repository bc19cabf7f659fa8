"""What is often done to a frame other than declared: the input that it makes, in words, and its fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...frames import INTERPOLATIONS, MODES, pixel_format, said
from ..computed.moves import shift_words
from ..other_inputs.device_inputs import MATRICES
from ..other_inputs.frame_fits import pads
from ..other_inputs.input_images import FLIPPED, How
from ..other_inputs.usual_mistakes import mistakes
from .input_pairs import FrameInput, InputPair

_QUALITIES = (50, 70, 85)  # of JPEG
_SHIFTS = 2  # pixels of the network's input, and of the frame
_LINES = range(2, 17)  # rows or columns: H.264 stores 1088 rows of 1080, in blocks of 16 (ITU-T H.264, 7.4.2.1.1)
_WHOLE = 8  # times the lines that are cut: of a smaller frame they are another part
_OF_INPUT = 5  # changes of an input that is shifted: a part is simpler
LUMA = 0.114, 0.587, 0.299  # of blue, green and red, ITU-R BT.601
GAMMAS = 2.2, 1 / 2.2, 1.8, 1 / 1.8
FEWEST = 16  # values that a border, a brightness, a gamma or a white balance is fitted to
_EVEN, _MOST = 1.0, 0.75  # pixel values by which most of a border are off its colour, when rounded to integers


class Change(NamedTuple):
    """One other way to make an input.

    Attributes
    ----------
    words
        What was done.
    make
        The pair -> the input so made.
    how
        All arguments of the Preprocessor that does so; None if none does.
    verdict
        What it is called in an InputReport.
    is_formula
        Whether it is the same picture by another formula: what differs by so little is no fault.
    where
        Index of the places of the input that count.
    applies
        The pair -> whether it can be made of it.
    kind
        "part" of another part of the frame, "source" of another reading of its bytes; what explains as much as another
        of its kind is named with it.
    changes
        How many numbers or names differ from what was declared, 0 of a usual mistake; of a kind, those of the fewest
        are named first.
    is_least
        Of a part: whether those that differ from it by a pixel explain less, on either side by as much.
    arguments
        If no Preprocessor does so: arguments beside it, whose mean and std made the input.
    """

    words: str
    make: Callable[[InputPair], FrameInput]
    how: How | None = None
    verdict: str = "preprocessing"
    is_formula: bool = False
    where: Any = ...
    applies: Callable[[InputPair], bool] = bool
    kind: str = ""
    changes: int = 1
    is_least: bool = False
    arguments: How | None = None

    def of(self, pairs: Iterable[InputPair]) -> list[tuple[InputPair, np.ndarray]]:
        """Return the pairs that it can be made of, each with the values of the input."""
        return [(pair, self.make(pair).values) for pair in pairs if self.applies(pair)]


def arguments(base: How, pair: InputPair, scaled: bool) -> Iterator[Change]:
    """Yield other arguments of the Preprocessor, the commonest first. scaled: mean and std, too."""
    for change, words, is_formula in _arguments(base, pair, scaled):
        how = {**base, **change}
        yield Change(words, partial(made_by, how=how), how, is_formula=is_formula)


def made_by(pair: InputPair, how: How) -> FrameInput:
    """Return the input that these arguments make of the frame."""
    return pair.made(pair.pixels(how), how)


def _arguments(how: How, pair: InputPair, scaled: bool) -> Iterator[tuple[How, str, bool]]:
    color, resize = how.get("color", "RGB"), how.get("resize", "letterbox")
    mean, std = (np.ravel(values) for values in pair.arithmetic(how))
    swapped = {"mean": mean[::-1].tolist(), "std": std[::-1].tolist()}
    if color in FLIPPED:
        other = {"color": FLIPPED[color]}
        yield other, f"color={other['color']!r}", False
        if scaled and len({*zip(mean, std)}) > 1:
            yield swapped, _words(mean[::-1], std[::-1]), False
            yield {**other, **swapped}, f"color={other['color']!r}, {_words(mean[::-1], std[::-1])}", False
    for mode in MODES:
        if mode != resize:
            yield {"resize": mode}, f"resize={mode!r}", False
    if scaled and not pair.is_pixels:
        for _, text, m, s in mistakes(mean, std, color):
            yield {"mean": m.tolist(), "std": s.tolist()}, f"{_words(m, s)} ({text})", False
        for m, s in pair.of_bytes():
            yield {"mean": m.tolist(), "std": s.tolist()}, f"{_words(m, s)} (pixels stored as they are)", False
    for pad in pads(mean):
        yield {"pad_value": pad}, f"pad_value={said(np.ravel(pad))}", False
    for interpolation in INTERPOLATIONS:
        if interpolation != how.get("interpolation", "linear"):
            yield {"interpolation": interpolation}, f"interpolation={interpolation!r}", True


def _words(mean: Any, std: Any) -> str:
    return f"mean={said(mean)}, std={said(std)}"


def compressed(base: How, qualities: Iterable[int] = _QUALITIES, beside: int = 0) -> Iterator[Change]:
    """Yield frames that were JPEG files. beside: pixels by which their blocks are moved."""
    for quality in qualities:
        make = partial(made_of, how=base, change=partial(jpeg, quality=quality, beside=beside))
        yield Change(f"JPEG of quality {quality}", make, is_formula=True)


def jpeg(frame: np.ndarray, quality: int, beside: int = 0) -> np.ndarray:
    """Return what a JPEG file of a frame has; its blocks are moved by `beside` pixels."""
    import cv2

    padded = cv2.copyMakeBorder(frame, beside, 0, beside, 0, cv2.BORDER_REPLICATE)
    _, data = cv2.imencode(".jpg", padded, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_UNCHANGED))[beside:, beside:].reshape(frame.shape)


def made_of(pair: InputPair, how: How, change: Callable[[np.ndarray], np.ndarray]) -> FrameInput:
    """Return the input of a changed frame."""
    source = how.get("source", "BGR")
    pixels = pair.changed_pixels(how, (change, source), lambda: _changed(pair.frame, source, change))
    return pair.made(pixels, how)


def _changed(frame: np.ndarray, source: str, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return a frame whose blue, green and red, wherever it has them, were changed.

    Alpha, which no Preprocessor reads, is 0 if they are elsewhere than in a frame of BGR.
    """
    places = colour_channels(frame, source)
    if not places or list(places) == [*range(frame.shape[2])]:
        return change(np.ascontiguousarray(frame))
    colours = change(np.stack([frame[..., place] for place in places], -1))
    made = np.zeros((*colours.shape[:2], frame.shape[2]), frame.dtype)
    for i, place in enumerate(places):
        made[..., place] = colours[..., i]
    return made


def colour_channels(frame: np.ndarray, source: str) -> tuple[int, ...]:
    """Return the channels of blue, green and red of a frame of this source; none of gray."""
    order = pixel_format(source, "source").order
    has_colours = frame.ndim > 2 and frame.shape[2] >= 3 and set("BGR") <= set(order)
    return tuple(map(order.index, "BGR")) if has_colours else ()


_TURNS: Sequence[tuple[str, Callable[[Any, np.ndarray], np.ndarray]]] = (  # by OpenCV, which copies faster
    ("the frame mirrored from left to right", lambda cv2, x: cv2.flip(x, 1)),
    ("the frame upside down, mirrored", lambda cv2, x: cv2.flip(x, 0)),
    ("the frame rotated by 180 degrees", lambda cv2, x: cv2.flip(x, -1)),
    ("the frame rotated by 90 degrees clockwise", lambda cv2, x: cv2.rotate(x, cv2.ROTATE_90_CLOCKWISE)),
    ("the frame rotated by 90 degrees counterclockwise", lambda cv2, x: cv2.rotate(x, cv2.ROTATE_90_COUNTERCLOCKWISE)),
    ("the frame with rows and columns exchanged", lambda cv2, x: cv2.transpose(x)),
)
MIRRORED = (  # of the input: the axes along which it is mirrored
    ("mirrored from left to right", "W"),
    ("mirrored from top to bottom", "H"),
    ("rotated by 180 degrees", "HW"),
)
_SIDES: Sequence[tuple[str, str, Callable[[np.ndarray, int], np.ndarray]]] = (
    ("first", "row", lambda x, count: x[count:]),
    ("last", "row", lambda x, count: x[: len(x) - count]),
    ("first", "column", lambda x, count: x[:, count:]),
    ("last", "column", lambda x, count: x[:, : x.shape[1] - count]),
)


def geometry(base: How, pair: InputPair) -> Iterator[Change]:
    """Yield the same picture mirrored, rotated, cropped or shifted. A noted part is not cropped: other parts are."""
    yield from turns(base)
    if str(base.get("resize", "letterbox")).startswith("letterbox"):
        for words, letters in MIRRORED:
            yield Change(f"the input {words}", partial(_with_its_border, how=base, letters=letters), verdict="geometry")
    yield from crops(base, pair, (1,))
    steps = range(-_SHIFTS, _SHIFTS + 1)
    axes = pair.spec.axes.index("W"), pair.spec.axes.index("H")
    for right, down in product(steps, steps):
        if right or down:
            words = f"the input shifted by {shift_words(right, down, 'pixel')}"
            where = tuple(
                slice(_SHIFTS, -_SHIFTS) if letter in "HW" and extent > 4 * _SHIFTS else slice(None)
                for letter, extent in zip(pair.spec.axes, pair.spec.shape)
            )
            make = partial(_shifted, how=base, by=(right, down), axes=axes)
            shifted = Change(words, make, verdict="geometry", where=where)
            yield shifted if pair.near is None else shifted._replace(kind="part", changes=_OF_INPUT)


def turns(base: How) -> Iterator[Change]:
    """Yield the frame mirrored or rotated."""
    for words, turn in _GEOMETRY:
        yield Change(words, partial(made_of, how=base, change=turn), verdict="geometry")


def _turned(frame: np.ndarray, turn: Callable[[Any, np.ndarray], np.ndarray]) -> np.ndarray:
    import cv2

    made = turn(cv2, np.ascontiguousarray(frame))
    return np.asarray(made.reshape(*made.shape[:2], *frame.shape[2:]))


_GEOMETRY = [(words, partial(_turned, turn=turn)) for words, turn in _TURNS]


def _with_its_border(pair: InputPair, how: How, letters: str) -> FrameInput:
    """Return the input mirrored along axes, with a border that is wider at one side."""
    made = pair.made(pair.pixels(how), how)
    return made.changed(np.flip(made.values, tuple(pair.spec.axes.index(letter) for letter in letters)))


def crops(base: How, pair: InputPair, counts: Sequence[int] = _LINES) -> Iterator[Change]:
    """Yield the frame without some rows or columns at one side, if no part of it was noted."""
    for count, (which, what, cut) in product(counts if pair.near is None else (), _SIDES):
        lines = what if count == 1 else f"{count} {what}s"
        make = partial(made_of, how=base, change=partial(cut, count=count))
        words = f"the frame without its {which} {lines}"
        yield Change(words, make, verdict="geometry", applies=partial(_is_cropable, count=count))


def colours(base: How) -> Iterator[Change]:
    """Yield the same picture in other colours, or of another gamma, which gray has too."""
    for words, change in _COLOURS:
        yield Change(words, partial(made_of, how=base, change=change), applies=has_colours)
    for words, change in _OTHER_GAMMAS:
        yield Change(words, partial(made_of, how=base, change=change))


def has_colours(pair: InputPair) -> bool:
    """Whether the camera's frame has colours."""
    return pair.frame.ndim == 3 and pair.frame.shape[2] >= 3


def _u_and_v(frame: np.ndarray) -> np.ndarray:
    import cv2

    exchanged = np.ascontiguousarray(cv2.cvtColor(frame, cv2.COLOR_BGR2YUV)[..., [0, 2, 1]])
    return np.asarray(cv2.cvtColor(exchanged, cv2.COLOR_YUV2BGR))


def gamma(frame: np.ndarray, power: float) -> np.ndarray:
    """Return the frame with another gamma."""
    return looked_up(frame, 255 * (np.arange(256) / 255) ** power)


def looked_up(frame: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the frame with another value for each of the 256 pixel values."""
    import cv2

    return np.asarray(cv2.LUT(frame, np.clip(np.rint(values), 0, 255).astype(np.uint8))).reshape(frame.shape)


def _of_matrix(frame: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the frame with other colours: each is a sum of the frame's, by a row of the matrix."""
    import cv2

    made = np.asarray(cv2.transform(frame.astype(np.float32), matrix))  # of bytes it would be rounded more
    return np.rint(made, out=np.clip(made, 0, 255, out=made)).astype(np.uint8)


_COLOURS: Sequence[tuple[str, Callable[[np.ndarray], np.ndarray]]] = (
    ("the frame in gray", partial(_of_matrix, matrix=np.array([LUMA] * 3))),
    ("the frame in gray, red weighed as blue", partial(_of_matrix, matrix=np.array([LUMA[::-1]] * 3))),
    ("the frame with U and V exchanged", _u_and_v),
    *(
        (f"the frame with the colours of {words}", partial(_of_matrix, matrix=made[::-1, ::-1]))  # of blue, green, red
        for _, words, made in MATRICES
    ),
)
_OTHER_GAMMAS = [(f"the frame with a gamma of {power:.3g}", partial(gamma, power=power)) for power in GAMMAS]


def border(base: How, pairs: Sequence[InputPair]) -> Iterator[Change]:
    """Yield the pixel value in the border of the recorded inputs, or that of each channel, if it is not as declared."""
    around = pairs[0].border(base, pairs[1:])
    if around.off.size < FEWEST:
        return
    mean, std = (np.ravel(values) for values in pairs[0].arithmetic(base))
    if around.share(_EVEN / abs(std)) >= _MOST:  # not where the picture was resized with it
        found = around.middle * std + mean
        of_channels = np.median(found, keepdims=True) if np.ptp(found) < _EVEN else found
        rounded = (np.clip(np.rint(of_channels), 0, 255) + 0.0).tolist()  # 0, not -0
        step = pairs[0].step_of(base)
        same = [
            usual  # is stored as the same integers
            for usual in pads(mean)
            if step > 1 and (abs(found - usual) <= step / 2).all()
        ]
        pad = same[0] if same else rounded[0] if len(rounded) == 1 else rounded
        how = {**base, "pad_value": pad}
        if (np.ravel(pad) != np.ravel(base.get("pad_value", 114))).any():
            yield Change(f"pad_value={said(np.ravel(pad))}", partial(made_by, how=how), how)


def _is_cropable(pair: InputPair, count: int) -> bool:
    return bool(min(pair.frame.shape[:2]) > (1 if count == 1 else _WHOLE * count))


def _shifted(pair: InputPair, how: How, by: tuple[int, int], axes: tuple[int, int]) -> FrameInput:
    return pair.made(np.roll(pair.pixels(how), by, axes), how)


def other_parts(base: How, pairs: Sequence[InputPair]) -> Iterator[Change]:
    """Yield the inputs of other parts of the frame, if a part was declared."""
    for words in dict.fromkeys(words for pair in pairs for words in pair.others):
        applies = partial(_has_part, words=words)
        make = partial(_of_part, how=base, words=words)
        yield Change(words, make, verdict="geometry", applies=applies, kind="part", changes=0)


def _has_part(pair: InputPair, words: str) -> bool:
    return words in pair.others


def _of_part(pair: InputPair, how: How, words: str) -> FrameInput:
    return pair.made(pair.pixels(how, pair.others[words]()), how)


def other_frames(base: How, pairs: Sequence[InputPair], reach: int) -> Iterator[Change]:
    """Yield the inputs of frames before and after."""
    for words, by in _neighbours(pairs, reach):
        yield _other_frame(words, base, by)


def turns_of_other_frames(base: How, pairs: Sequence[InputPair], reach: int) -> Iterator[Change]:
    """Yield the inputs of frames before and after that are mirrored or rotated."""
    for (words, by), (how, turn) in product(_neighbours(pairs, reach), _GEOMETRY):
        change = _other_frame(f"{words}, {how.removeprefix('the frame ')}", base, by, turn)
        yield change._replace(changes=2)


def _neighbours(pairs: Sequence[InputPair], reach: int) -> Iterator[tuple[str, int]]:
    """Yield in words which frames before and after there are, and how far from each pair's own."""
    for distance, (sign, word) in product(range(1, reach + 1), ((-1, "previous"), (1, "next"))):
        if any(_has(pair, sign * distance) for pair in pairs):
            yield f"the camera's {word} frame" + (f" but {distance - 1}" if distance > 1 else ""), sign * distance


def _other_frame(
    words: str, how: How, by: int, change: Callable[[np.ndarray], np.ndarray] = np.ascontiguousarray
) -> Change:
    make = partial(_of_frame, how=how, by=by, change=change)
    return Change(words, make, verdict="wrong_input", applies=partial(_has, by=by))


def _has(pair: InputPair, by: int) -> bool:
    return pair.number + by in pair.frames


def _of_frame(pair: InputPair, how: How, by: int, change: Callable[[np.ndarray], np.ndarray]) -> FrameInput:
    return pair.made(pair.changed_pixels(how, (change, by), lambda: change(pair.frames[pair.number + by])), how)
