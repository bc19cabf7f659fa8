"""Fit a camera's frame into an input in other ways than declared: resized, bordered, turned, sheared or changed first.

What was done to the frame before it was bordered leaves the border as it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import NpuLayoutError, RecordingError
from ...frames import INTERPOLATIONS, MODES, Preprocessor
from ...layouts import Layout
from ...recordings import FRAME
from .device_inputs import MOVES, RANGES, Change, row_pitches, seen, without_gaps
from .input_images import FLIPPED, LETTERBOX, How, Id, Image, MadeInput, Wanted, Way

PICTURE = "picture"  # the last word of the id of a change that leaves the border as it is
PADS = (0, 114, 127, 255)  # pixel values of usual borders

# Mean and std are applied afterwards.
_ARGUMENTS = ("resize", "interpolation", "source", "color", "pad_value", "scaleup")
_PAD = "pad_value"
_CENTERED = ("letterbox", "stretch", "crop")
_SAME = 0.5  # pixel values
_AS_RESIZED = 0.02  # of the deviation: a frame that is fitted in two ways that differ by less is fitted in one
_AS_DECLARED = 0.3  # of the deviation of an input that was made of the frame as declared, but for noise


def pads(mean: np.ndarray) -> list[int | list[float]]:
    """Return the pixel values that borders usually have: some numbers, and the mean, which becomes 0.

    >>> pads(np.array([123.675, 116.28, 103.53]))
    [0, 114, 127, 255, [123.675, 116.28, 103.53]]
    """
    of_mean = np.clip(mean, 0, 255)
    is_usual = any(np.allclose(of_mean, pad, atol=_SAME) for pad in PADS)
    return [*PADS] if is_usual else [*PADS, of_mean.tolist()]


def fitted(image: Image, frame: np.ndarray, wanted: Wanted) -> Iterator[Way]:
    """Yield the camera's frame resized and bordered in ways that were not declared; of those that are wanted."""
    asked = _asked(image)
    declared = MadeInput(partial(_made_of, image, frame, asked))

    @cache
    def is_as_declared() -> bool:
        return declared.is_like(image.given, _AS_DECLARED)

    @cache
    def made_by(mode: str) -> MadeInput:
        return MadeInput(partial(_made_of, image, frame, {**asked, "resize": mode}))

    @cache
    def changes(mode: str) -> bool:
        return not made_by(mode).is_like(declared, _AS_RESIZED)

    for what, how in _arguments(asked, image.mean):
        id = _id_of(how)
        if not wanted(id):
            continue
        if "interpolation" in how and not is_as_declared():
            continue  # what it explains, the declared arguments explain as well
        if "resize" in how and "color" in how and not changes(how["resize"]):
            continue  # the other order of colours alone makes the same
        of_mode = how.keys() == {"resize"}
        made = made_by(how["resize"]) if of_mode else MadeInput(partial(_made_of, image, frame, {**asked, **how}))
        yield Way(id, what, {**image.how, **how}, made)


def padded(image: Image, frame: np.ndarray | None, pads: Sequence[int]) -> Iterator[Way]:
    """Yield the camera's frame, or the recorded input, with borders of these pixel values."""
    if frame is None:
        yield from bordered(image, pads)
        return
    asked = _asked(image)
    for what, how in _borders(asked, pads):
        made = MadeInput(partial(_made_of, image, frame, {**asked, **how}))
        yield Way(_id_of(how), what, {**image.how, **how}, made)


def border_of(id: Id) -> int | None:
    """Return the pixel value of the border that is the only change of a way; None if it is none, or three values."""
    changes = dict(id[1:]) if id[0] == "fit" and all(isinstance(change, tuple) for change in id[1:]) else {}
    pad = changes.get(_PAD)
    return pad if len(changes) == 1 and isinstance(pad, int) else None


def turned(image: Image, frame: np.ndarray) -> Iterator[Way]:
    """Yield the camera's frame turned or mirrored before it was fitted, where no move of the input makes the same.

    That is where the input's sides differ, or its borders do.
    """
    asked = _asked(image)
    height, width = np.delete(image.x.shape[1:], image.axis - 1)
    for name, text, move, of_squares in MOVES:
        if (of_squares and height != width) or asked.get("resize", LETTERBOX) not in _CENTERED:
            made = MadeInput(partial(_made_of, image, frame, asked, move))
            yield Way(("fit", name), f"the frame is {text}", None, made, "geometry")


def sheared(image: Image, frame: np.ndarray) -> Iterator[Way]:
    """Yield the camera's frame whose rows end in a gap that was read as pixels: each begins further in than it is."""
    asked, width = _asked(image), frame.shape[1]
    for pitch in row_pitches(width):
        made = MadeInput(partial(_made_of, image, frame, asked, partial(without_gaps, pitch=pitch)))
        text = f"the pitch of the frame is ignored: its rows of {width} pixels begin every {pitch}, and are read as if"
        yield Way(("fit", "pitch", pitch), f"{text} there were no gaps", None, made, "input_layout")


def _asked(image: Image) -> How:
    """Return the arguments that fit the frame as declared."""
    return {k: v for k, v in image.how.items() if k in _ARGUMENTS}


def _made_of(image: Image, frame: np.ndarray, how: How, move: Change | None = None) -> np.ndarray:
    """Return the input of the frame, which is moved first, fitted as `how` says."""
    target = TensorSpec(image.x.shape, Layout.plain(image.letters), "float32")
    moved = frame if move is None else np.ascontiguousarray(move(frame[None])[0])
    try:
        buffer, _ = Preprocessor(target, **how)(moved)
    except NpuLayoutError as error:
        raise RecordingError(f"input {FRAME!r} and meta's preprocess do not fit: {error}") from None
    return image.normalised(buffer)


def _arguments(asked: How, mean: np.ndarray) -> Iterator[tuple[str, How]]:
    """Yield other modes, in both orders of colours, interpolations and borders: in words and as arguments."""
    resize = asked.get("resize", LETTERBOX)
    color = asked.get("color", "RGB")
    colors: dict[str, How] = {"": {}}
    if color in FLIPPED:
        colors[f", and {FLIPPED[color]} instead of {color}"] = {"color": FLIPPED[color]}
    for (also, change), mode in product(colors.items(), MODES):
        if mode != resize:
            yield f"{mode} instead of {resize}{also}", {**change, "resize": mode}
    if resize.startswith(LETTERBOX):
        yield from _borders(asked, _other_pads(asked.get(_PAD, 114), mean))
    interpolation = asked.get("interpolation", "linear")
    for other in INTERPOLATIONS:
        if other != interpolation:
            yield f"interpolation {other!r} instead of {interpolation!r}", {"interpolation": other}


def _borders(how: How, pads: Iterable[int | list[float]]) -> Iterator[tuple[str, How]]:
    """Yield borders of other pixel values than those of the arguments `how`: in words and as arguments."""
    for pad in pads:
        yield f"a border of {_said(pad)} instead of {_said(how.get(_PAD, 114))}", {_PAD: pad}


def _id_of(how: How) -> Id:
    return ("fit", *((k, _hashable(v)) for k, v in how.items()))


def _other_pads(pad_value: object, mean: np.ndarray) -> list[int | list[float]]:
    """Return the usual borders that are not the declared one; and that one in a channel at either end alone.

    OpenCV's Scalar(114) is 114 in the first channel, and 0 in the others.
    """
    declared = np.broadcast_to(np.asarray(pad_value, float), mean.shape)
    of_one = [np.where(np.arange(len(declared)) == k, declared, 0).tolist() for k in (0, len(declared) - 1)]
    usual = [*pads(mean), *(of_one if len(declared) > 1 else [])]
    return [pad for pad in usual if not np.allclose(np.broadcast_to(pad, mean.shape), declared, atol=_SAME)]


def _said(pad: object) -> str:
    return f"{pad}" if np.ndim(np.asarray(pad)) == 0 else ", ".join(f"{v:g}" for v in np.asarray(pad, float))


def bordered(image: Image, pads: Sequence[int] = ()) -> Iterator[Way]:
    """Yield the recorded input with another border: of these pixel values, or of the usual ones."""
    border = image.border
    if border is None:
        return
    for what, how in _borders(image.base, pads or _other_pads(image.base.get(_PAD, 114), image.mean)):
        made = MadeInput(partial(_with_border, image, border, np.broadcast_to(np.rint(how[_PAD]), image.mean.shape)))
        yield Way(_id_of(how), what, {**image.how, **how}, made)


def _hashable(argument: Any) -> Hashable:
    return tuple(argument) if isinstance(argument, list) else argument


def changed_pictures(image: Image, wanted: Wanted) -> Iterator[Way]:
    """Yield the picture inside a border in other colours, as those of a frame that was changed before it was fitted.

    Only those that are wanted.
    """
    border = image.border
    if border is None:
        return
    pad = image.pad[None, None, None]
    shape = np.moveaxis(image.x, image.axis, 3).shape
    ways = [
        ("device", way.id, way.text, way.change) for way in seen(shape, image.color) if way.cause == "preprocessing"
    ]
    for kind, id, text, change in [*ways, *(("scale", *way) for way in RANGES)]:
        if wanted((kind, id, PICTURE)) and not np.allclose(change(pad), pad, atol=_SAME):
            made = MadeInput(partial(_inside, image, border, change))
            yield Way((kind, id, PICTURE), f"{text}, but for the border", None, made, combines=True)


def _with_border(image: Image, border: np.ndarray, pad: np.ndarray) -> np.ndarray:
    pixels = np.where(border[..., None], pad, np.moveaxis(image.pixels, image.axis, 3))
    return image.normalised(np.moveaxis(pixels, 3, image.axis))


def _inside(image: Image, border: np.ndarray, change: Change) -> np.ndarray:
    pixels = np.moveaxis(image.pixels, image.axis, 3)
    return image.normalised(np.moveaxis(np.where(border[..., None], pixels, change(pixels)), 3, image.axis))
