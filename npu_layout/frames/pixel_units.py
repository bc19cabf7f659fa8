"""Check that mean and std are in pixel units and fit the quantization of the network input; which inputs are pixels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..errors import NpuLayoutError

IMAGENET = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
# What models are usually trained with, as mean and std of red, green and blue.
_USUAL: Mapping[str, tuple[Any, Any]] = {
    "pixels as they are": (0.0, 1.0),
    "pixels divided by 255": (0.0, 255.0),
    "mean and std 127.5": (127.5, 127.5),
    "ImageNet's mean and std": IMAGENET,
    "CLIP's mean and std": ((122.771, 116.746, 104.094), (68.501, 66.632, 70.323)),
}
_HALF = (128.0, 256.0)  # KP_NORMALIZE_KNERON of Kneron PLUS, and OpenPose's networks: -0.5 to 0.5
_CLAMPED = 0.49  # share of the pixel values; calibration clamps fewer, a symmetric one that lacks the mean clamps more
_FACTOR = 0.05  # a std below this one is what pixels are to be multiplied by, as 1 / 255 is
_LEAST_MEAN = 10  # the largest mean of a channel is more, if what is subtracted is pixels; a bias after std is less
_NEAR = 0.25  # share of a target's range by which a usual range may differ from it
_ALIKE = 0.02  # by which those may differ that are named together

Values = tuple[float, ...]


def usual(color: str, channels: int) -> dict[str, tuple[Values, Values]]:
    """Return {description: the usual (mean, std) of models that read `color`}, plain pixels first.

    One mean and one std for each channel, in the order of `color`.
    """
    step = -1 if color == "BGR" else 1

    def ordered(values: Any) -> Values:
        return tuple(np.broadcast_to(values, channels)[::step].tolist())

    fitting = ((what, both) for what, both in _USUAL.items() if np.size(both[0]) in (1, channels))
    return {what: (ordered(mean), ordered(std)) for what, (mean, std) in fitting}


def as_pixels(spec: TensorSpec) -> TensorSpec:
    """Return the spec of plain pixels, uint8 without a quantization, if the spec's quantization says that it has them.

    It does if the least integer of one byte stands for 0, and each further one for 1 more. Hailo reports this for
    inputs that the compiled model normalises: uint8 with zero point 0. For int8 the zero point is -128, and a pixel is
    stored with its highest bit inverted. Any other spec is returned as it is.

    >>> as_pixels(TensorSpec((1, 3, 2, 2), "NHWC", "int8", quantization=Quantization(1.0, -128))).dtype
    'uint8'
    """
    q, element = spec.quantization, spec.element
    if q is None or element.nibbles or element.unpacked.kind not in "iu" or element.unpacked.itemsize != 1:
        return spec
    plain = np.all(np.equal(q.scale, 1)) and np.all(np.equal(q.zero_point, np.iinfo(element.unpacked).min))
    return spec.replace(dtype="uint8", quantization=None) if plain else spec


def check_units(mean: Values, std: Values) -> None:
    """Raise NpuLayoutError, with the values meant, if mean or std do not belong to pixels from 0 to 255.

    Those are a std below 1 in some channel, and a mean that is not 0 and below 1 in every channel: of pixels from 0 to
    1, or negative, as a bias is, which is added.
    """
    of_mean, of_std = any(mean) and all(v < 1 for v in mean), any(abs(v) < 1 for v in std)
    if of_mean or of_std:
        raise NpuLayoutError(
            f"mean and std are in pixel units, 0 to 255; got mean={said(mean)} and std={said(std)}: "
            f"{_meant(mean, std, of_mean)}"
        )


def _meant(mean: Values, std: Values, of_mean: bool) -> str:
    """Return a phrase with the mean and std that are probably meant; of_mean: whether the mean is refused."""
    if of_mean and min(mean) < 0:
        return _meant_by_bias(np.abs(mean), np.array(std)) if max(mean) <= 0 else "a mean of pixels is positive"
    if not of_mean and _multiplies(std):
        divisors = said(1 / np.array(std))
        return f"std divides: for a model whose pixels are multiplied by {said(std)}, give std={divisors}"
    first = [v * 255 for v in mean] if of_mean else mean
    return f"for a model that divides by 255 first, give mean={said(first)} and std={said(_times_255(std))}"


def _meant_by_bias(bias: np.ndarray, std: np.ndarray) -> str:
    """Return the phrase, given what is subtracted: from pixels, or from what std, or 255, makes of them."""
    factors = _multiplies(std)
    unit = not factors and bool((abs(std) < 1).any() or ((abs(std) <= 1).all() and (bias < 1).all()))
    divisors = 1 / std if factors else _times_255(std) if unit else std
    of_pixels = bias * 255 if unit and (bias < 1).all() else bias
    first = next((v for v in (of_pixels, bias * divisors) if _LEAST_MEAN <= v.max() <= 255), None)
    if first is None:
        first = bias if bias.max() >= 1 else bias * 255
    before = ", before std divides" if factors or first is not of_pixels else ""
    model = "for a model that divides by 255 first, " if unit else ""
    give = f" and std={said(divisors)}" if factors or unit else ""
    return f"mean is subtracted{before}: {model}give mean={said(first)}{give}"


def _multiplies(std: Any) -> bool:
    """Whether pixels are probably multiplied by these numbers, as by 1 / 255."""
    return all(abs(v) < _FACTOR for v in std)


def _times_255(std: Any) -> np.ndarray:
    """Return the std of pixels from 0 to 255, given that of pixels from 0 to 1."""
    return np.array([v * 255 if abs(v) <= 1 else v for v in std])


def check_range(what: str, quantization: Quantization, dtype: Any, mean: Values, std: Values, color: str) -> None:
    """Raise NpuLayoutError if this quantization clamps most of what `mean` and `std` make of the pixels 0 to 255.

    One mean and std for each channel of `color`; the quantization is per tensor or per channel.
    """
    info = np.iinfo(dtype)
    scale, zero_point = (
        np.broadcast_to(np.asarray(v, np.float64), len(mean)) for v in (quantization.scale, quantization.zero_point)
    )
    low, high = ((end - zero_point) * scale for end in (info.min, info.max))
    pixels = np.arange(256.0)[:, None]
    real = (pixels - np.asarray(mean)) / np.asarray(std)
    clamped = ((real < low - scale / 2) | (real > high + scale / 2)).mean(axis=0)
    worst = int(clamped.argmax())
    if clamped[worst] <= _CLAMPED:
        return
    least, most = sorted(real[[0, -1], worst])
    raise NpuLayoutError(
        f"{what} stores (pixel - mean) / std from {low[worst]:.4g} to {high[worst]:.4g}; mean={said(mean)} and "
        f"std={said(std)} make {least:.4g} to {most:.4g}, and {100 * clamped[worst]:.0f} % of the pixel values "
        f"are clamped" + _fitting(low, high, color, symmetric=info.min < 0 and not zero_point.any())
    )


def _fitting(low: np.ndarray, high: np.ndarray, color: str, symmetric: bool) -> str:
    """Return a phrase that names the usual means and stds whose range is nearest; "" if none is near.

    symmetric: the range has two equal halves whatever is stored, so that only its larger end says something.
    """

    def off(given: tuple[Values, Values]) -> float:
        mean, std = map(np.asarray, given)
        first, last = -mean / std, (255 - mean) / std
        if symmetric:
            return float((abs(high - np.maximum(abs(first), abs(last))) / high).max())
        return float(((abs(low - first) + abs(high - last)) / (high - low)).max())

    channels = len(low)
    known = (*usual(color, channels).values(), ((_HALF[0],) * channels, (_HALF[1],) * channels))
    fits = {given: off(given) for given in known}
    nearest = min(fits.values())
    if nearest > _NEAR:
        return ""
    alike = (f"mean={said(mean)}, std={said(std)}" for (mean, std), by in fits.items() if by <= nearest + _ALIKE)
    return f"; {' or '.join(alike)} would fit"


def said(values: Any) -> str:
    """Return the numbers as text, as messages show them; one number if all are equal."""
    numbers = [f"{v:.6g}" for v in values]
    return numbers[0] if len(set(numbers)) == 1 else f"[{', '.join(numbers)}]"
