"""What is often done to the bytes of an input: another order, another sign, another pitch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ...buffers import TensorSpec
from ...layouts import Layout
from ..other_inputs.device_inputs import plane_pitches
from ..other_inputs.input_images import How
from ..scoring.samples import ends
from .input_changes import Change
from .input_pairs import Fitter, FrameInput, InputPair

_KNOWN = 0.25  # of the picture in an input: what has less without padding proves nothing
_VARIES = 0.5  # of the deviation of all of the picture
_CASTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rounded to integers": np.rint,
    "cut off to integers": np.trunc,
}
_AS_INT8: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # of pixels that become floats
    "with the highest bit of every pixel inverted before mean and std (uint8 as int8)": lambda x: np.where(
        x < 128, x + 128, x - 128
    ),
    "with pixels of 128 and more negative before mean and std (uint8 read as int8)": lambda x: np.where(
        x < 128, x, x - 256
    ),
    "clamped at 127 before mean and std (uint8 pixels through int8)": lambda x: np.minimum(x, 127),
}
_PITCHES = (16, 32, 64, 128, 256)  # bytes that rows of cameras and accelerators are aligned to


def stored(base: How, pair: InputPair) -> Iterator[Change]:
    """Yield the same values stored in another way."""
    if _is_of_bytes(pair):
        yield from of_other_sign(base, pair)
        yield _change("the input clamped at 127 (uint8 pixels through int8)", base, _clamped)
        if pair.is_pixels or pair.spec.element.unpacked.kind == "i":
            yield _change("the pixels clamped at 127, and 128 not subtracted (uint8 stored as int8)", base, _saturated)
        for words, cast in _CASTS.items():
            yield _change(f"the pixels divided by 255 and {words}", base, partial(_of_unit, cast=cast))
            if pair.spec.quantization is not None:
                yield _change(f"the input {words}, without its scale", base, partial(_unscaled, cast=cast))
    if pair.spec.element.unpacked.kind == "f":
        yield from of_other_sign(base, pair)
        for words, cast in _CASTS.items():
            yield _change(f"the input {words}", base, partial(_in_floats, change=cast))
    yield from misread(base, pair)
    yield from _with_exchanged_sides(base, pair)
    if pair.channels == 3:
        yield from _four_as_three(base, pair)
        yield from _gaps(base, pair)
    yield from without_padding(base, pair)


def misread(base: How, pair: InputPair) -> Iterator[Change]:
    """Yield the bytes of one layout read as those of another, after mean and std or before if that differs."""
    q = pair.spec.quantization
    is_one = (q is None or q.axis is None) and all(np.ptp(values) == 0 for values in pair.arithmetic(base))
    for words, change in _MISREAD:
        before = Change(words, partial(_of_pixels, how=base, change=change), verdict="input_layout")
        if is_one:
            yield before
        else:
            yield _change(words, base, change)
            yield before._replace(words=f"{words} before mean and std")


def of_other_sign(base: How, pair: InputPair) -> Iterator[Change]:
    """Yield the bytes of another sign; of floats those whose pixels went through int8 before mean and std."""
    if _is_of_bytes(pair):
        yield _change("the input with the highest bit of every byte inverted (uint8 as int8)", base, _other_sign)
    if pair.spec.element.unpacked.kind == "f":
        for words, change in _SIGNS:
            make = partial(_of_pixels, how=base, change=change)
            yield Change(f"the input {words}", make, verdict="input_layout")


def _is_of_bytes(pair: InputPair) -> bool:
    element = pair.spec.element.unpacked
    return element.kind in "iu" and element.itemsize == 1


def _in_floats(pair: InputPair, values: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return change(values.astype(np.float32))


_SIGNS = [(words, partial(_in_floats, change=change)) for words, change in _AS_INT8.items()]


def _gaps(base: How, pair: InputPair) -> Iterator[Change]:
    """Yield planes with a gap between them that are read one behind the other."""
    plane = int(np.prod([pair.spec.shape[pair.spec.axes.index(letter)] for letter in "HW"]))
    for pitch in plane_pitches(plane, pair.channels):
        words = f"the input's planes read as if there were no gap between them (they begin every {pitch} elements)"
        yield Change(words, partial(_without_gaps, how=base, pitch=pitch), verdict="input_layout")


def _with_exchanged_sides(base: How, pair: InputPair) -> Iterator[Change]:
    """Yield the frame resized to the height as its width and the width as its height, read as if it were not."""
    height, width = (pair.spec.shape[pair.spec.axes.index(letter)] for letter in "HW")
    modes = dict.fromkeys((base.get("resize", "letterbox"), "stretch")) if height != width else {}
    for mode in modes:
        words = f"the frame resized to {height} x {width} pixels in place of {width} x {height} (resize={mode!r})"
        yield Change(words, partial(_of_exchanged_sides, how={**base, "resize": mode}), verdict="input_layout")


def _of_exchanged_sides(pair: InputPair, how: How) -> FrameInput:
    shape, axes = list(pair.spec.shape), pair.spec.axes
    h, w = axes.index("H"), axes.index("W")
    shape[h], shape[w] = shape[w], shape[h]
    fitting = {k: v for k, v in how.items() if k not in ("mean", "std")}
    return pair.made(Fitter(TensorSpec(shape, Layout.plain(axes)))(pair.frame, fitting).reshape(pair.spec.shape), how)


def _four_as_three(base: How, pair: InputPair) -> Iterator[Change]:
    """Yield pixels of four bytes, the last one alpha, that are read as pixels of three: the frame's, or the input's."""
    words = "{} of four bytes a pixel read as if of three"
    yield Change(words.format("the input"), partial(_alpha_in_input, how=base), verdict="input_layout")
    if pair.frame.ndim == 3 and pair.frame.shape[2] == 3:
        make = partial(_alpha_in_frame, how=base)
        yield Change(words.format("the frame"), make, verdict="input_layout", applies=_is_contiguous)


def _is_contiguous(pair: InputPair) -> bool:
    return bool(pair.frame.flags.c_contiguous)


def _with_alpha(pixels: np.ndarray) -> np.ndarray:
    """Return (H, W, 3) as its memory would be read if each pixel had 255 behind it."""
    padded = np.concatenate([pixels, np.full_like(pixels[..., :1], 255)], -1)
    return padded.reshape(-1)[: pixels.size].reshape(pixels.shape)


def _alpha_in_frame(pair: InputPair, how: How) -> FrameInput:
    return pair.made(pair.pixels(how, _with_alpha(pair.frame)), how)


def _alpha_in_input(pair: InputPair, how: How) -> FrameInput:
    axes = pair.spec.axes
    order = [axes.index(letter) for letter in ("N" * ("N" in axes)) + "HWC"]
    pixels = pair.pixels(how).transpose(order)
    read = _with_alpha(pixels.reshape(pixels.shape[-3:])).reshape(pixels.shape)
    return pair.made(read.transpose(np.argsort(order)), how)


def _without_gaps(pair: InputPair, how: How, pitch: int) -> FrameInput:
    """Return the input of planes that begin every `pitch` elements."""
    pixels, axes = pair.pixels(how), pair.spec.axes
    order = [axes.index(letter) for letter in ("N" * ("N" in axes)) + "CHW"]
    planes = pixels.transpose(order)
    flat = planes.reshape(-1, pair.channels, planes.shape[-2] * planes.shape[-1])
    made = []
    for filled in (0, 255):
        padded = np.full((*flat.shape[:2], pitch), filled, pixels.dtype)
        padded[..., : flat.shape[2]] = flat
        read = padded.reshape(len(flat), -1)[:, : flat[0].size].reshape(planes.shape)
        made.append(pair.made(read.transpose(np.argsort(order)), how))
    one, other = made
    return _where_known(pair, one, other, how)


def without_padding(base: How, pair: InputPair) -> Iterator[Change]:
    """Yield the frame of padded rows that are read one behind the other, for each pitch that they may have.

    Frames of other widths have other pitches.
    """
    row, seen = _row(pair), set()
    for pitch in _PITCHES:
        padded = -(-row // pitch) * pitch
        if row and padded != row and padded not in seen:
            seen.add(padded)
            words = f"the frame read as if its rows had no padding (they begin every {padded} bytes)"
            make, applies = partial(_sheared, how=base, padded=padded), partial(_has_row, row=row)
            yield Change(words, make, verdict="input_layout", applies=applies)


def _row(pair: InputPair) -> int:
    """Return the bytes of a row of the camera's frame; 0 if it has no rows, or they are not behind each other."""
    frame = pair.frame
    return int(frame[0].nbytes) if frame.ndim > 1 and frame.flags.c_contiguous else 0


def _has_row(pair: InputPair, row: int) -> bool:
    return _row(pair) == row


def _change(words: str, base: How, change: Callable[[InputPair, np.ndarray], np.ndarray]) -> Change:
    def make(pair: InputPair) -> FrameInput:
        made = pair.made(pair.pixels(base), base)
        return made.changed(change(pair, made.values))

    return Change(words, make, verdict="input_layout")


def _of_pixels(pair: InputPair, how: How, change: Callable[[InputPair, np.ndarray], np.ndarray]) -> FrameInput:
    made = pair.once("changed", (change, pair.fitting(how)), lambda: change(pair, pair.pixels(how)))
    return pair.made(made, how)


def _other_sign(pair: InputPair, values: np.ndarray) -> np.ndarray:
    """Return the values with their highest bit inverted, as far off what was recorded as these are with it inverted.

    A step of noise where the inverted bytes go from one end of the range to the other counts as one step.
    """
    return np.asarray(pair.recorded + (values - _inverted(pair, pair.recorded)))


def _inverted(pair: InputPair, values: np.ndarray) -> np.ndarray:
    """Return what stored values stand for if the highest bit of each is inverted."""
    spec = TensorSpec(
        pair.spec.shape, Layout.plain(pair.spec.axes), pair.spec.dtype, quantization=pair.spec.quantization
    )
    codes = spec.pack(values if spec.quantization is not None else values.astype(spec.element.unpacked))
    return np.asarray(spec.unpack((codes.view(np.uint8) ^ 0x80).view(codes.dtype)))


def _clamped(pair: InputPair, values: np.ndarray) -> np.ndarray:
    mean, std = pair.arithmetic(pair.declared)
    return np.asarray(np.minimum(values, (127 - mean) / std), values.dtype)


def _saturated(pair: InputPair, values: np.ndarray) -> np.ndarray:
    """Return uint8 pixels as an int8 has them that cuts them off; an int8 of pixels was recorded with 128 added."""
    if pair.is_pixels:
        return np.asarray(np.minimum(values, 127) + 128, values.dtype)
    mean, std = pair.arithmetic(pair.declared)
    return _of_codes(pair, np.rint(values * std + mean))


def _of_unit(pair: InputPair, values: np.ndarray, cast: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    mean, std = pair.arithmetic(pair.declared)
    return _of_codes(pair, cast((values * std + mean) / 255))


def _unscaled(pair: InputPair, values: np.ndarray, cast: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    return _of_codes(pair, cast(values))


def _of_codes(pair: InputPair, codes: np.ndarray) -> np.ndarray:
    """Return the values that integers stand for, in the shape of the input."""
    spec = pair.spec
    stored = np.clip(codes, *ends(spec)).astype(spec.element.unpacked)
    dense = TensorSpec(spec.shape, Layout.plain(spec.axes), spec.dtype, quantization=spec.quantization)
    return np.asarray(dense.unpack(stored.reshape(-1)))


def _misread(pair: InputPair, values: np.ndarray, wrong: str, meant: str) -> np.ndarray:
    axes = pair.spec.axes
    written, read = (
        TensorSpec(values.shape, Layout("".join(c for c in tag if c in axes)), values.dtype, axes=axes)
        for tag in (wrong, meant)
    )
    return np.asarray(read.unpack(written.pack(values)))


_MISREAD = [
    (f"the input stored as {wrong} and read as {meant}", partial(_misread, wrong=wrong, meant=meant))
    for wrong, meant in (("NHWC", "NCHW"), ("NCHW", "NHWC"))
]


def _sheared(pair: InputPair, how: How, padded: int) -> FrameInput:
    """Return the input of rows that begin every `padded` bytes."""
    frame = pair.frame
    rows, row = len(frame), frame[0].nbytes
    one, other = (
        pair.made(pair.pixels(how, _with_padding(frame, rows, row, padded, filled)), how) for filled in (0, 255)
    )
    return _where_known(pair, one, other, how)


def _where_known(pair: InputPair, one: FrameInput, other: FrameInput, how: How) -> FrameInput:
    """Return an input, given what it is with padding of one value and of another.

    Where the padding is in it, it is off what was recorded by as much as it is elsewhere in the picture; the border,
    which is as it is in any reading, says nothing.
    """
    inside, same = pair.inside(how), one.values == other.values
    known = same & inside
    if known.sum() < _KNOWN * inside.sum() or pair.recorded[known].std() < _VARIES * pair.recorded[inside].std():
        return one
    others = tuple(k for k, letter in enumerate(pair.spec.axes) if letter != "C")
    squares = np.where(known, (one.values - pair.recorded) ** 2, 0).sum(others, keepdims=True, dtype=np.float64)
    off = np.sqrt(squares / np.maximum(known.sum(others, keepdims=True), 1)).astype(np.float32)
    return one.changed(np.where(same, one.values, pair.recorded + off))


def _with_padding(frame: np.ndarray, rows: int, row: int, padded: int, filled: int) -> np.ndarray:
    flat = np.full((rows, padded), filled, np.uint8)
    flat[:, :row] = frame.reshape(rows, -1).view(np.uint8)
    return flat.ravel()[: rows * row].view(frame.dtype).reshape(frame.shape)
