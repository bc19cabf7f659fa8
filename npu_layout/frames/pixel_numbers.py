"""The numbers of a Preprocessor for each channel: mean, std and border, and the arithmetic that they make of pixels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec, with_exchanged_colors
from ..errors import NpuLayoutError
from ..layouts import Affine
from ..support import per_channel
from .pixel_units import Values, check_range, check_units


class PixelNumbers(NamedTuple):
    """A number of each for each channel of the model, in its order and in pixel units: mean, std and the border."""

    mean: Values
    std: Values
    pad: Values

    @classmethod
    def of(cls, mean: Any, std: Any, pad_value: Any, channels: int) -> PixelNumbers:
        """Return what arguments mean, one number or one for each channel; NpuLayoutError if they are none."""
        numbers = cls(
            _numbers_of("mean", mean, channels),
            _numbers_of("std", std, channels),
            _numbers_of("pad_value", pad_value, channels),
        )
        _check_numbers(*numbers)
        check_units(numbers.mean, numbers.std)
        return numbers

    @property
    def is_plain(self) -> bool:
        """Whether pixels stay as they are."""
        return not any(self.mean) and all(s == 1 for s in self.std)

    def border(self, step: int) -> bytes:
        """Return the border's pixel, of channels as they are written; step: -1 if these are the model's in reverse."""
        return bytes(round(p) for p in self.pad[::step])

    def affine(self, target: TensorSpec, color: str, step: int) -> Affine | None:
        """Return what is computed of pixels that `target` stores; None if nothing is.

        color: the model's order of channels; step: -1 if they are written in reverse. NpuLayoutError if the range of
        the target's quantization does not fit, or its scales are not along the channels.
        """
        mean, std = self.mean[::step], self.std[::step]
        shift = None if not any(mean) else mean
        scale = None if all(s == 1 for s in std) else tuple(float(np.float32(1) / np.float32(s)) for s in std)
        quantization = target.quantization
        if quantization is None:
            return None if self.is_plain else Affine("C", shift, scale, None, None)
        stored = quantization.affine("C", to_stored=True)
        axis = quantization.axis
        if axis is not None and target.axes[axis] != "C":
            raise NpuLayoutError(
                f"target {target.describe()}: expected quantization per tensor or per C, "
                f"got axis {axis} ({target.axes[axis]})"
            )
        what = f"target {target.describe()} with {quantization}"
        of_model = with_exchanged_colors(quantization, target.axes) if step < 0 else quantization
        check_range(what, of_model or quantization, target.stored, self.mean, self.std, color)
        return stored._replace(shift=shift, scale=scale)


def _numbers_of(what: str, given: Any, channels: int) -> Values:
    """Return one number for each channel."""
    numbers = per_channel(what, given, channels)
    return numbers if len(numbers) == channels else numbers * channels


def _check_numbers(mean: Values, std: Values, pad: Values) -> None:
    """Raise NpuLayoutError if float32 cannot represent mean or 1 / std, or a border is no pixel value."""
    with np.errstate(all="ignore"):
        if not np.isfinite(np.asarray(mean, np.float32)).all():
            raise NpuLayoutError(f"mean: expected numbers in the range of float32, got {mean!r}")
        if not np.isfinite(np.float32(1) / np.asarray(std, np.float32)).all():
            raise NpuLayoutError(f"std: expected numbers other than 0 in float32, got {std!r}")
    if any(not 0 <= p <= 255 for p in pad):
        raise NpuLayoutError(f"pad_value: expected pixel values 0..255, got {pad!r}")
