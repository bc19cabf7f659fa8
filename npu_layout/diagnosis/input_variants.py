"""Make a model's input in other ways than declared: other colours, scales, layouts and fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError, RecordingError
from ..frames import MODES, Preprocessor, as_channels, usual
from ..layouts import COLOR_ORDERS, SWAPPED_ORDERS, Layout
from ..recordings import FRAME, normalisation
from .device_inputs import seen
from .usual_mistakes import mistakes

_ARGUMENTS = ("resize", "interpolation", "source", "color", "pad_value")  # mean and std are applied afterwards
PADS = (0, 114)  # pixel values of the usual borders
FLIPPED = {color: SWAPPED_ORDERS[color] for color in COLOR_ORDERS}
_NEAR = 1e-3  # values so far outside a range still belong to it
_ROUNDING = 1e-9  # of means and deviations
_BLANK, _BLANKER = 1.0, 8  # pixel values by which a blank picture varies, and times that a picture varies more
_NEARLY_BLANK = " (nearly a blank picture, as floats of 0 to 1 that are cast to integers are)"
_AS_GIVEN, _AS_ANOTHER = 0.02, 0.002  # of the deviation: inputs that differ by less are the same

How = dict[str, Any]


class Variant(NamedTuple):
    """Another way to make an input.

    An id that is the same for every frame, words, the Preprocessor's arguments (None if none make it), the input of
    the model, and the verdict that it leads to. `combines`: whether two things were done, of which there are many.
    """

    id: tuple[Any, ...]
    text: str
    fix: How | None
    x: np.ndarray
    cause: str = "preprocessing"
    combines: bool = False


def image_channels(shape: tuple[int, ...]) -> int | None:
    """Return the axis of an image input's channels; None if the shape is not an image's."""
    if len(shape) != 4 or min(shape) < 1:
        return None
    return next((axis for axis in (1, 3) if shape[axis] in (1, 3)), None)


def image_size(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Return height and width of an image input; None if the shape is not an image's."""
    axis = image_channels(shape)
    return None if axis is None else (shape[2 if axis == 1 else 1], shape[3 if axis == 1 else 2])


def variants(
    x: np.ndarray,
    meta: Mapping[str, Any],
    frame: np.ndarray | None,
    limits: tuple[float, float],
    channels: str | None = None,
    roi_xywh: Sequence[int] | None = None,
) -> Iterator[Variant]:
    """Yield every other way to make `x`, an image as the model reads it: none like `x`.

    Ways that make nearly the same of this frame share one array: another frame may tell them apart, if less of it is
    clamped.

    x: 4-D with 1 or 3 channels in axis 1 or 3; meta: the recording's, with "preprocess"; frame: the camera's frame,
    as recorded of its "source", or None; limits: lowest and highest value of all recorded inputs;
    channels: the order of the buffer's, if its spec states it; roi_xywh: the part of the frame that `x` was made of.
    Yields nothing for inputs that are not images.
    """
    axis = image_channels(x.shape)
    if axis is None:
        return
    own = meta.get("preprocess") or {}
    if frame is not None:
        try:
            frame, how = as_channels(frame, own, roi_xywh)
        except NpuLayoutError as error:
            raise RecordingError(f"input {FRAME!r} and meta's preprocess do not fit: {error}") from None
        meta = {**meta, "preprocess": how} if own else meta
    source = {"source": own["source"]} if "source" in own else {}
    image = _Image(x, axis, meta, channels)
    given = _Input.of(image.x)
    known: list[tuple[_Input, np.ndarray]] = []
    for variant in _every(image, frame, limits):
        made = next((made for one, made in known if one.x is variant.x), None)
        if made is None:
            one = _Input.of(variant.x)
            if _alike(one, given, _AS_GIVEN):
                continue
            made = next((made for other, made in known if _alike(one, other, _AS_ANOTHER)), None)
            if made is None:
                made = variant.x.astype(x.dtype)
                known.append((one, made))
        yield variant._replace(x=made, fix=None if variant.fix is None else {**variant.fix, **source})


class _Input(NamedTuple):
    """An input with its mean, its deviation, and the means along the last axis.

    None of these differs by more than the values do, root mean square, and they are compared sooner.
    """

    x: np.ndarray
    mean: float
    deviation: float
    means: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> _Input:
        means = x.mean(-1)
        return cls(x, float(means.mean()), float(x.std()), means)


def _alike(a: _Input, b: _Input, share: float) -> bool:
    """Whether two inputs differ by less than a share of `b`'s deviation; std 255 for 256 is within 0.02."""
    far = share * b.deviation
    most = far**2
    if max(abs(a.mean - b.mean), abs(a.deviation - b.deviation)) > far * (1 + _ROUNDING) + _ROUNDING * abs(b.mean):
        return False
    return all(float(((u - v) ** 2).mean()) <= most for u, v in ((a.means, b.means), (a.x, b.x)))


class _Image:
    """A model's input, its pixels, and how they were declared to be made into it."""

    def __init__(self, x: np.ndarray, axis: int, meta: Mapping[str, Any], channels: str | None) -> None:
        self.x, self.dtype, self.axis = np.asarray(x, np.float64), x.dtype, axis
        self.deviation = float(self.x.std())
        self.channels = x.shape[axis]
        self.base: How = dict(meta.get("preprocess") or {})
        self.color = self.base.get("color", "RGB")
        self.stored = channels if self.channels == 3 else None
        affine = _affine(meta, x, self.channels)
        self.known = affine is not None
        self.mean: np.ndarray
        self.std: np.ndarray
        self.mean, self.std = (np.zeros(self.channels), np.ones(self.channels)) if affine is None else affine
        self.pixels = self.x * self.along(self.std) + self.along(self.mean)

    def along(self, values: np.ndarray) -> np.ndarray:
        """Return a value for each channel in a shape that is broadcast over the input."""
        return values.reshape([self.channels if i == self.axis else 1 for i in range(4)])

    def normalised(self, pixels: np.ndarray) -> np.ndarray:
        """Return what the declared mean and std make of pixels."""
        return np.asarray((pixels - self.along(self.mean)) / self.along(self.std))

    def declared(self, mean: np.ndarray, std: np.ndarray) -> How:
        """Return mean and std as arguments; {} if the declared ones are not known."""
        return {"mean": _plain(mean), "std": _plain(std)} if self.known else {}

    def as_stored(self, x: np.ndarray) -> np.ndarray:
        """Return a tensor of the model with the channels of the buffer, or one of the buffer with the model's."""
        return x if self.stored in (None, self.color) else np.flip(x, self.axis)

    def is_blank(self, made: _Input) -> bool:
        """Whether what was made of a picture that varies hardly does."""
        own, left = (deviation * float(self.std.mean()) for deviation in (self.deviation, made.deviation))
        return left < _BLANK < own / _BLANKER

    @property
    def letters(self) -> str:
        """The letters of its axes."""
        return ("NCHW", "NHWC")[self.axis == 3]

    @property
    def how(self) -> How:
        """All arguments that are known."""
        return {**self.base, **self.declared(self.mean, self.std)}


def _affine(meta: Mapping[str, Any], x: np.ndarray, channels: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the declared (mean, std); without one, the usual one with the range of `x`; None if there is none."""
    declared = normalisation(meta, channels)
    if {"mean", "std"} & set(meta.get("preprocess") or {}):
        return declared
    low, high = float(np.min(x)), float(np.max(x))
    narrowest_first = sorted(usual("RGB", 1).values(), key=lambda both: -both[1][0])
    for (mean,), (std,) in narrowest_first:
        if -mean / std - _NEAR <= low and high <= (255 - mean) / std + _NEAR:
            return np.full(channels, mean), np.full(channels, std)
    return None


def _plain(values: np.ndarray) -> list[float]:
    return [float(v) for v in values]


def _every(image: _Image, frame: np.ndarray | None, limits: tuple[float, float]) -> Iterator[Variant]:
    yield from _recolored(image)
    yield from _rescaled(image, limits)
    yield from _misread(image)
    if frame is not None:
        yield from _refitted(image, frame)
    yield from _seen(image)
    if image.known and image.channels == 3 and image.color in FLIPPED:
        yield from _rescaled(image, limits, FLIPPED[image.color])


def _recolored(image: _Image) -> Iterator[Variant]:
    """Yield red and blue exchanged, before or after mean and std."""
    if image.channels != 3 or image.color not in FLIPPED:
        return
    other = FLIPPED[image.color]
    text = f"{other} instead of {image.color}"
    if image.known:
        flipped = image.normalised(np.flip(image.pixels, image.axis))
        yield Variant(("color", "before"), text, {**image.how, "color": other}, flipped)
    fix = {**image.base, "color": other, **image.declared(image.mean[::-1], image.std[::-1])}
    yield Variant(("color", "after"), f"{text}, swapped after mean and std", fix, np.flip(image.x, image.axis))


def _rescaled(image: _Image, limits: tuple[float, float], color: str = "") -> Iterator[Variant]:
    """Yield another mean and std; also clamped to the range on which an integer accelerator was calibrated.

    color: the other order of the colours, if these are exchanged, too.

    Those that make nearly the same of this frame share one array. What is clamped may differ where the pixels hardly
    do: half a pixel value is half of a range that is as wide as one.
    """
    ranges: dict[str, tuple[float, float]] = {"": (-np.inf, np.inf)}
    if not color:  # of two changes, the range of all pixels has to do
        ranges["the recorded inputs"] = limits
    if image.known:
        ends = np.stack([(0 - image.mean) / image.std, (255 - image.mean) / image.std])
        ranges["all pixels"] = float(ends.min()), float(ends.max())
    known: dict[str, list[_Input]] = {what: [] for what in ranges}
    pixels, also, base = image.pixels, "", image.base
    if color:
        pixels, also = np.flip(pixels, image.axis), f", and {color} instead of {image.color}"
        base = {**base, "color": color}
    for mistake in mistakes(image.mean, image.std, image.color, image.known):
        made = _Input.of((pixels - image.along(mistake.mean)) / image.along(mistake.std))
        least, largest = float(made.x.min()), float(made.x.max())
        fix = {**base, "mean": _plain(mistake.mean), "std": _plain(mistake.std)}
        for what, (low, high) in ranges.items():
            one = made if low <= least and largest <= high else _Input.of(np.clip(made.x, low, high))
            first = next((other for other in known[what] if _alike(one, other, _AS_GIVEN)), one)
            if first is one:
                known[what].append(one)
            text = f"{mistake.text}, clamped to the range of {what}" if what else mistake.text
            text += _NEARLY_BLANK if image.is_blank(first) else ""
            id = ("scale", mistake.id, what, *([color] if color else []))
            yield Variant(id, f"{text}{also}", fix, first.x, combines=bool(color))


def _misread(image: _Image) -> Iterator[Variant]:
    """Yield the bytes of one layout read as those of the other, before or after mean and std."""
    shape, letters = image.x.shape, image.letters
    for wrong, meant in (("NHWC", "NCHW"), ("NCHW", "NHWC")):
        written, misread = (TensorSpec(shape, Layout(tag), "float64", axes=letters) for tag in (wrong, meant))
        target = TensorSpec(shape, Layout(wrong), image.dtype, axes=letters, channels=image.stored)
        fix = {**image.how, "target": target}
        text = f"{wrong} bytes read as {meant}"
        shuffled = image.normalised(image.as_stored(misread.unpack(written.pack(image.as_stored(image.pixels)))))
        yield Variant(("layout", wrong, "before"), text, fix, shuffled)
        shuffled = image.as_stored(misread.unpack(written.pack(image.as_stored(image.x))))
        yield Variant(("layout", wrong, "after"), f"{text}, after mean and std", fix, shuffled)


def _refitted(image: _Image, frame: np.ndarray) -> Iterator[Variant]:
    """Yield the camera's frame resized in ways that were not declared."""
    asked = {k: v for k, v in image.how.items() if k in _ARGUMENTS}
    target = TensorSpec(image.x.shape, Layout.plain(image.letters), "float32")
    for what, how in _ways(asked):
        try:
            buffer, _ = Preprocessor(target, **{**asked, **how})(frame)
        except NpuLayoutError as error:
            raise RecordingError(f"input {FRAME!r} and meta's preprocess do not fit: {error}") from None
        yield Variant(("fit", *how.items()), what, {**image.how, **how}, image.normalised(buffer))


def _seen(image: _Image) -> Iterator[Variant]:
    """Yield what a device may see of an input that is as declared."""
    pixels = np.moveaxis(image.pixels, image.axis, 3)
    for way in seen(pixels.shape, image.color):
        if image.known or not way.of_pixels:
            made = image.normalised(np.moveaxis(way.change(pixels), 3, image.axis))
            yield Variant(("device", way.id), way.text, None, made, way.cause)


def _ways(asked: How) -> Sequence[tuple[str, How]]:
    """Return other modes, in both orders of colours, and other borders: in words and as arguments."""
    resize, pad_value = asked.get("resize", "letterbox"), asked.get("pad_value", 114)
    color = asked.get("color", "RGB")
    colors: dict[str, How] = {"": {}}
    if color in FLIPPED:
        colors[f", and {FLIPPED[color]} instead of {color}"] = {"color": FLIPPED[color]}
    ways: list[tuple[str, How]] = [
        (f"{mode} instead of {resize}{also}", {**change, "resize": mode})
        for (also, change), mode in product(colors.items(), MODES)
        if mode != resize
    ]
    return ways + [
        (f"a border of {pad} instead of {pad_value}", {"pad_value": pad}) for pad in PADS if pad != pad_value
    ]
