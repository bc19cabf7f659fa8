"""What may have been done to a frame other than what was declared, as the inputs that the model would then have got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError, RecordingError
from ..frames import MODES, Preprocessor
from ..layouts import Layout
from ..recordings import FRAME, normalisation
from .usual_mistakes import scalings

_ARGUMENTS = ("resize", "interpolation", "source", "color", "pad_value")  # mean and std may be what no model has
# Range of a normalised image -> the mean and std that usually make it.
_USUAL = {(0, 1): (0, 255), (0, 255): (0, 1), (-1, 1): (127.5, 127.5)}
PADS = (0, 114)  # pixel values of the usual borders
FLIPPED = {"RGB": "BGR", "BGR": "RGB"}


class Variant(NamedTuple):
    """Another way to make an input: in words, as the Preprocessor's arguments, and the input of the model."""

    text: str
    fix: dict[str, Any]
    x: np.ndarray


def _known(meta: Mapping[str, Any], x: np.ndarray, channels: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The declared (mean, std); where none is, told from the range of `x`; None where that is no usual one."""
    declared = normalisation(meta, channels)
    if {"mean", "std"} & set(meta.get("preprocess") or {}):
        return declared
    low, high = float(np.min(x)), float(np.max(x))
    for (least, most), (mean, std) in _USUAL.items():
        if least - 1e-3 <= low and high <= most + 1e-3:
            return np.full(channels, float(mean)), np.full(channels, float(std))
    return None


def image_channels(shape: tuple[int, ...]) -> int | None:
    """Where an image input has its channels; None for what is no image."""
    if len(shape) != 4 or min(shape) < 1:
        return None
    return next((axis for axis in (1, 3) if shape[axis] in (1, 3)), None)


def variants(
    x: np.ndarray, meta: Mapping[str, Any], frame: np.ndarray | None, limits: tuple[float, float]
) -> Iterator[Variant]:
    """Every other way to make `x`, an image as the model takes it: no two of them nearly alike, none like `x`.

    x: 4-D with 1 or 3 channels in axis 1 or 3; meta: the recording's, with "preprocess"; frame: the camera's frame,
    uint8 (height, width, channels of "source"), or None; limits: lowest and highest value of all recorded inputs.
    Nothing for inputs that are no images.
    """
    axis = image_channels(x.shape)
    if axis is None:
        return
    seen = [_Input.of(np.asarray(x, np.float64))]
    for variant in _every(x, axis, meta, frame, limits):
        made = _Input.of(variant.x)
        if not _alike(made, seen[0], 0.02) and not any(_alike(made, other, 0.002) for other in seen):
            seen.append(made)
            yield variant._replace(x=variant.x.astype(x.dtype))


class _Input(NamedTuple):
    x: np.ndarray
    means: np.ndarray  # along the last axis: they differ by no more than the values do, and are compared sooner
    deviation: float

    @classmethod
    def of(cls, x: np.ndarray) -> _Input:
        return cls(x, x.mean(-1), float(x.std()))


def _alike(a: _Input, b: _Input, share: float) -> bool:
    """Whether two inputs differ by no more than a share of how much one of them varies: 0.02 is std 255 for 256."""
    most = (share * b.deviation) ** 2
    return all(float(((u - v) ** 2).mean()) <= most for u, v in ((a.means, b.means), (a.x, b.x)))


def _every(
    given: np.ndarray, axis: int, meta: Mapping[str, Any], frame: np.ndarray | None, limits: tuple[float, float]
) -> Iterator[Variant]:
    x, channels = np.asarray(given, np.float64), given.shape[axis]
    base = dict(meta.get("preprocess") or {})
    color = base.get("color", "RGB")
    along = tuple(channels if i == axis else 1 for i in range(4))
    affine = _known(meta, x, channels)
    mean, std = affine or (np.zeros(channels), np.ones(channels))
    m, s = mean.reshape(along), std.reshape(along)
    pixels = x * s + m

    def plain(values: np.ndarray) -> Any:
        return [float(v) for v in values]

    # An integer accelerator saturates at the range that it was calibrated on.
    ranges = {"the recorded inputs": limits}
    if affine is not None:
        ends = np.stack([(0 - mean) / std, (255 - mean) / std])
        ranges["all pixels"] = float(ends.min()), float(ends.max())
    known = {} if affine is None else {"mean": plain(mean), "std": plain(std)}
    if channels == 3 and color in FLIPPED:
        other = FLIPPED[color]
        if affine is not None:
            fix = {**base, **known, "color": other}
            yield Variant(f"{other} instead of {color}", fix, (np.flip(pixels, axis) - m) / s)
        fix = {**base, "color": other}
        if known:
            fix.update(mean=plain(mean[::-1]), std=plain(std[::-1]))
        yield Variant(f"{other} instead of {color}, swapped after mean and std", fix, np.flip(x, axis))
    uncut = [_Input.of(x)]
    for text, (mean_, std_) in scalings(mean, std, color, known=affine is not None).items():
        m_, s_ = mean_.reshape(along), std_.reshape(along)
        made, fix = (pixels - m_) / s_, {**base, "mean": plain(mean_), "std": plain(std_)}
        one = _Input.of(made)
        if any(_alike(one, other, 0.02) for other in uncut):
            continue
        uncut.append(one)
        yield Variant(text, fix, made)
        for what, (low, high) in ranges.items():
            yield Variant(f"{text}, cut to the range of {what}", fix, np.clip(made, low, high))
    letters = ("NCHW", "NHWC")[axis == 3]
    for wrong, meant in (("NHWC", "NCHW"), ("NCHW", "NHWC")):
        written, taken = (TensorSpec(x.shape, Layout(tag), "float64", axes=letters) for tag in (wrong, meant))
        fix = {**base, **known, "target": TensorSpec(x.shape, Layout(wrong), given.dtype, axes=letters)}
        text = f"{wrong} bytes taken as {meant}"
        yield Variant(text, fix, (taken.unpack(written.pack(pixels)) - m) / s)
        yield Variant(f"{text}, after mean and std", fix, taken.unpack(written.pack(x)))
    if frame is not None:
        yield from _resized(x, letters, {**base, **known}, frame, m, s)


def _resized(
    x: np.ndarray, letters: str, base: dict[str, Any], frame: np.ndarray, mean: np.ndarray, std: np.ndarray
) -> Iterator[Variant]:
    """The camera's frame fitted in the ways that were not declared."""
    asked = {k: v for k, v in base.items() if k in _ARGUMENTS}
    kept = {"resize": asked.get("resize", "letterbox"), "pad_value": asked.get("pad_value", 114)}
    target = TensorSpec(x.shape, Layout.plain(letters), "float32")
    color = asked.get("color", "RGB")
    colors = {color: ""}
    if color in FLIPPED:
        colors[FLIPPED[color]] = f", and {FLIPPED[color]} instead of {color}"
    ways: list[tuple[str, dict[str, Any]]] = [
        (f"{mode} instead of {kept['resize']}{also}", {"color": name, "resize": mode} if also else {"resize": mode})
        for (name, also), mode in product(colors.items(), MODES)
        if mode != kept["resize"]
    ]
    pads = [pad for pad in PADS if pad != kept["pad_value"]]
    ways += [(f"a border of {pad} instead of {kept['pad_value']}", {"pad_value": pad}) for pad in pads]
    for what, how in ways:
        try:
            buffer, _ = Preprocessor(target, **{**asked, **how})(frame)
        except NpuLayoutError as error:
            raise RecordingError(f"input {FRAME!r} and meta's preprocess do not fit: {error}") from None
        yield Variant(what, {**base, **how}, (buffer - mean) / std)
