"""Make an input as a device may see one that was recorded as declared: moved, in other colours, its bytes misread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

Pixels = np.ndarray  # (N, H, W, C), floats, in pixel units
Luma = tuple[float, float, float]  # weights of red, green and blue

_LUMA = 0.299, 0.587, 0.114  # BT.601, of red, green and blue
_LUMA_709 = 0.2126, 0.7152, 0.0722  # BT.709
_BLUE, _RED = 0.492, 0.877  # U and V of BT.601: how blue and red differ from luma
_GAMMAS = 2.2, 1 / 2.2
_BRIGHTNESSES = 0.5, 2.0
_SHIFTED = {1: "1 pixel", 2: "2 pixels or more"}  # a shift by more is nearest to the largest one
_ROW_PITCHES = 16, 64, 128, 256  # elements, to multiples of which rows are padded
_PITCHES = 64, 256, 1024, 4096, 16384  # elements, to multiples of which planes are padded: cache lines, pages

Change = Callable[[Pixels], Pixels]


class SeenInput(NamedTuple):
    """One way in which a device sees an input: an id, words, the verdict that it leads to, and what makes it.

    `of_pixels`: whether the pixel values have to be known; `of_bytes`: whether it is about what bytes stand for;
    `moves`: whether values change their places alone.
    """

    id: str
    text: str
    cause: str
    change: Change
    of_pixels: bool = True
    of_bytes: bool = False
    moves: bool = False


def seen(shape: tuple[int, ...], color: str) -> Iterator[SeenInput]:
    """Yield the ways for inputs of a shape (N, H, W, C), whose channels are those of `color`, the likely ones first."""
    for name, text, change in _BYTES:
        yield SeenInput(name, text, "input_layout", change, of_bytes=True)
    if shape[3] == len(color) and color in ("RGB", "BGR"):
        for name, text, recolored in _COLORS:
            yield SeenInput(name, text, "preprocessing", partial(_of_rgb, change=recolored, flip=color == "BGR"))
    for power in _GAMMAS:
        yield SeenInput(
            f"gamma {power:.2f}", f"with a gamma of {power:.3g}", "preprocessing", partial(_gamma, power=power)
        )
    yield SeenInput("negative picture", "as a negative (255 minus each pixel value)", "preprocessing", _negative)
    for factor in _BRIGHTNESSES:
        words = f"with {factor:g} times the pixel values"
        yield SeenInput(f"brightness {factor:g}", words, "preprocessing", partial(_brightness, factor=factor))
    for name, text, move, of_squares in MOVES:
        if shape[1] == shape[2] or not of_squares:
            yield SeenInput(name, f"the input is {text}", "geometry", move, False, moves=True)
    for shift in _shifts():
        yield SeenInput(shift.id, f"the input is shifted {shift.where}", "geometry", shift.move, False, moves=True)
    yield from _apart(shape)
    yield from _rows_apart(shape)


def diagonal_shifts() -> Iterator[tuple[list[str], SeenInput]]:
    """Yield the ids of the ways that shift an input along one axis, and the way that does it along both.

    The ids are those of its own two shifts first, then those of the same shifts where other pixels come in.
    """
    shifts = list(_shifts())
    for across, along in product(shifts, shifts):
        if (across.axis, along.axis) == (2, 1) and across.fill == along.fill:
            text = f"the input is shifted {across.where} and {along.where}"
            move = partial(_one_after_the_other, first=across.move, then=along.move)
            others = [s.id for one in (across, along) for s in shifts if s.where == one.where and s.fill != one.fill]
            way = SeenInput(f"{across.id}, {along.id}", text, "geometry", move, False, moves=True)
            yield [across.id, along.id, *others], way


class _Shift(NamedTuple):
    """A shift along an axis: an id, where to in words, what does it, and what the pixels at the edge become."""

    id: str
    where: str
    move: Change
    axis: int
    fill: str


def _shifts() -> Iterator[_Shift]:
    fills: tuple[tuple[str, Callable[..., Pixels]], ...] = ("", np.roll), (" edge", _shift)
    for by in _SHIFTED:
        for axis, sign, where in ((2, 1, "to the right"), (2, -1, "to the left"), (1, 1, "down"), (1, -1, "up")):
            for fill, shift in fills:
                move = partial(shift, shift=sign * by, axis=axis)
                yield _Shift(f"shift {axis} {sign * by}{fill}", f"{where} by {_SHIFTED[by]}", move, axis, fill)


def _one_after_the_other(pixels: Pixels, first: Change, then: Change) -> Pixels:
    return then(first(pixels))


def of_integers(dtype: np.dtype[Any]) -> list[SeenInput]:
    """Return the ways in which a device sees stored bytes of a dtype, int8 or uint8, as those of the other one."""
    of_dtype = _BYTES if dtype == np.uint8 else _SIGNED_BYTES
    return [SeenInput(name, text, "input_layout", change, of_bytes=True) for name, text, change in of_dtype]


def _shift(pixels: Pixels, shift: int, axis: int) -> Pixels:
    """Return pixels that are shifted; those at the edge are repeated, as a picture mostly goes on there."""
    moved = np.empty_like(pixels)  # of the same strides, unlike what numpy.take returns
    given, made = np.moveaxis(pixels, axis, 0), np.moveaxis(moved, axis, 0)
    by = min(abs(shift), len(given))
    if shift > 0:
        made[by:], made[:by] = given[: len(given) - by], given[:1]
    else:
        made[: len(given) - by], made[len(given) - by :] = given[by:], given[-1:]
    return moved


def _rows_apart(shape: tuple[int, ...]) -> Iterator[SeenInput]:
    """Yield rows that are read with a gap between them, of pixels or of planes."""
    _, height, width, channels = shape
    for name, what, row, axes in (
        ("rows", "rows of pixels", width * channels, (0, 1, 2, 3)),
        ("rows of planes", "rows of planes", width, (0, 3, 1, 2)),
    ):
        for pitch in row_pitches(row) if height > 1 and channels > 1 else ():
            text = f"the input's {what} are read every {pitch} elements, but are {row} long, without a gap"
            move = partial(_rows_with_gaps, row=row, pitch=pitch, axes=axes)
            yield SeenInput(f"{name} {pitch}", text, "input_layout", move, False)


def row_pitches(row: int) -> list[int]:
    """Return from how many elements to how many rows of so many may begin: the gap is half of a row at most.

    >>> row_pitches(1080), row_pitches(1280)
    ([1088, 1152, 1280], [])
    """
    pitches = sorted({-(-row // multiple) * multiple for multiple in _ROW_PITCHES})
    return [pitch for pitch in pitches if 0 < pitch - row <= row / 2]


def without_gaps(pixels: Pixels, pitch: int) -> Pixels:
    """Return rows that are read behind each other where they begin every `pitch` pixels; what is between them is 0."""
    count, height, width = pixels.shape[:3]
    apart = np.zeros((count, height, pitch, *pixels.shape[3:]), pixels.dtype)
    apart[:, :, :width] = pixels
    return apart.reshape(count, height * pitch, *pixels.shape[3:])[:, : height * width].reshape(pixels.shape)


def _rows_with_gaps(pixels: Pixels, row: int, pitch: int, axes: tuple[int, ...]) -> Pixels:
    """Return rows that begin every `pitch` elements of those that are behind each other; what is behind all is 0.

    axes: of the pixels, in the order in which they are stored.
    """
    stored = pixels.transpose(axes)
    flat = stored.reshape(len(pixels), -1)
    count = flat.shape[1] // row
    apart = np.zeros((len(pixels), count * pitch), pixels.dtype)
    apart[:, : flat.shape[1]] = flat
    read = apart.reshape(len(pixels), count, pitch)[:, :, :row].reshape(stored.shape)
    return read.transpose(np.argsort(axes))


def _apart(shape: tuple[int, ...]) -> Iterator[SeenInput]:
    """Yield planes that are read with a gap between them."""
    plane = shape[1] * shape[2]
    for pitch in plane_pitches(plane, shape[3]):
        text = f"the input's planes are read every {pitch} elements, but are {plane} long, without a gap"
        yield SeenInput(f"planes {pitch}", text, "input_layout", partial(_with_gaps, pitch=pitch), False)


def plane_pitches(plane: int, planes: int) -> list[int]:
    """Return from how many elements to how many planes of so many may begin: the gaps are two thirds of one at most.

    >>> plane_pitches(224 * 224, 3)
    [53248, 65536]
    """
    pitches = sorted({-(-plane // multiple) * multiple for multiple in _PITCHES})
    return [pitch for pitch in pitches if 0 < 3 * (planes - 1) * (pitch - plane) <= 2 * plane]


def _with_gaps(pixels: Pixels, pitch: int) -> Pixels:
    """Return planes that begin every `pitch` elements of those that are behind each other; what is behind all is 0."""
    count, height, width, planes = pixels.shape
    flat = np.zeros((count, planes * pitch), pixels.dtype)
    flat[:, : planes * height * width] = pixels.transpose(0, 3, 1, 2).reshape(count, -1)
    apart = flat.reshape(count, planes, pitch)[:, :, : height * width]
    return apart.reshape(count, planes, height, width).transpose(0, 2, 3, 1)


def _bytes(pixels: Pixels) -> Pixels:
    """Return the bytes that pixels are made of: mean and std, applied and undone, leave less than 128 of some 128."""
    return np.asarray(np.clip(np.rint(pixels), 0, 255))


def _inverted(pixels: Pixels) -> Pixels:
    given = _bytes(pixels)
    return np.where(given < 128, given + 128, given - 128)


def _inverted_sign(stored: Pixels) -> Pixels:
    return np.where(stored < 0, stored + 128, stored - 128)


def _unsigned(stored: Pixels) -> Pixels:
    return np.where(stored < 0, stored + 256, stored)


def _signed(pixels: Pixels) -> Pixels:
    given = _bytes(pixels)
    return np.where(given < 128, given, given - 256)


def _without_negative(pixels: Pixels) -> Pixels:
    given = _bytes(pixels)
    return np.where(given < 128, given, 0)


def _clamped(pixels: Pixels) -> Pixels:
    return np.asarray(np.minimum(_bytes(pixels), 127))


def _gamma(pixels: Pixels, power: float) -> Pixels:
    return np.asarray(255 * (np.clip(pixels, 0, 255) / 255) ** power)


def _negative(pixels: Pixels) -> Pixels:
    return 255 - pixels


def _brightness(pixels: Pixels, factor: float) -> Pixels:
    return np.clip(pixels * factor, 0, 255)


def _scaled(pixels: Pixels, offset: float, factor: float) -> Pixels:
    return np.clip(pixels * factor + offset, 0, 255)


def _of_rgb(pixels: Pixels, change: Change, flip: bool) -> Pixels:
    return change(pixels[..., ::-1])[..., ::-1] if flip else change(pixels)


def _gray(rgb: Pixels) -> Pixels:
    return np.asarray(np.repeat(rgb @ np.array(_LUMA)[:, None], 3, -1))


def _u_and_v(rgb: Pixels) -> Pixels:
    luma = rgb @ np.array(_LUMA)
    u, v = (rgb[..., 2] - luma) * _BLUE, (rgb[..., 0] - luma) * _RED
    red, blue = luma + u / _RED, luma + v / _BLUE
    green = (luma - _LUMA[0] * red - _LUMA[2] * blue) / _LUMA[1]
    return np.asarray(np.clip(np.stack([red, green, blue], -1), 0, 255))


def _read_as(written: Luma, read: Luma) -> Pixels:
    """Return what red, green and blue become, a row each, of colours whose luma was weighed in one way.

    Their Y, Cb and Cr are read in another way.
    """
    own, luma = np.eye(3), np.array(written)
    red, blue = (luma + (own[i] - luma) * (1 - read[i]) / (1 - written[i]) for i in (0, 2))
    green = (luma - read[0] * red - read[2] * blue) / read[1]
    return np.stack([red, green, blue])


def _of_matrix(rgb: Pixels, matrix: np.ndarray) -> Pixels:
    return np.asarray(np.clip(rgb @ matrix.T, 0, 255))


_BYTES: tuple[tuple[str, str, Change], ...] = (
    ("sign", "the highest bit of every byte is inverted (uint8 as int8)", _inverted),
    ("signed", "pixels of 128 and more are negative (uint8 read as int8)", _signed),
    ("negative", "pixels of 128 and more are 0 (uint8 read as int8, what is negative clamped)", _without_negative),
    ("clamped", "pixels are clamped at 127 (uint8 through int8)", _clamped),
)
_SIGNED_BYTES: tuple[tuple[str, str, Change], ...] = (
    ("sign", "the highest bit of every byte is inverted (int8 as uint8)", _inverted_sign),
    ("signed", "negative values are 256 larger (int8 read as uint8)", _unsigned),
)
MATRICES: tuple[tuple[str, str, np.ndarray], ...] = (  # a name, words, and what red, green and blue become
    ("bt709", "BT.709 read as those of BT.601", _read_as(_LUMA_709, _LUMA)),
    ("bt601", "BT.601 read as those of BT.709", _read_as(_LUMA, _LUMA_709)),
)
_COLORS: tuple[tuple[str, str, Change], ...] = (
    ("gray", "in gray", _gray),
    ("u and v", "with U and V exchanged", _u_and_v),
    *((name, f"with the colours of {words}", partial(_of_matrix, matrix=made)) for name, words, made in MATRICES),
)
RANGES: tuple[tuple[str, str, Change], ...] = (  # named as the same mistakes in mean and std
    ("video_as_full", "pixels of 16 to 235 read as 0 to 255", partial(_scaled, offset=16, factor=219 / 255)),
    (
        "full_as_video",
        "pixels of 0 to 255 read as 16 to 235",
        partial(_scaled, offset=-16 * 255 / 219, factor=255 / 219),
    ),
)
# A name, words, what moves pixels, and whether the input has to be square.
MOVES: tuple[tuple[str, str, Change, bool], ...] = (
    ("mirrored", "mirrored from left to right", partial(np.flip, axis=2), False),
    ("upside down", "mirrored from top to bottom", partial(np.flip, axis=1), False),
    ("turned 180", "rotated by 180 degrees", partial(np.flip, axis=(1, 2)), False),
    ("turned clockwise", "rotated by 90 degrees clockwise", partial(np.rot90, k=-1, axes=(1, 2)), True),
    ("turned counterclockwise", "rotated by 90 degrees counterclockwise", partial(np.rot90, k=1, axes=(1, 2)), True),
    ("transposed", "transposed (its rows and columns are exchanged)", partial(np.swapaxes, axis1=1, axis2=2), True),
)
