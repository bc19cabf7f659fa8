"""Bring the colours of a buffer, whose runtime exchanges red and blue by itself, into the order of the model."""

from __future__ import annotations

import numpy as np

from ..errors import LayoutError
from ..layouts import COLOR_ORDERS
from .quantization import Quantization
from .spec import TensorSpec


def is_exchanged(spec: TensorSpec, color: str) -> bool:
    """Return whether the runtime exchanges red and blue between the buffer and a model that reads `color`.

    LayoutError if the spec has channels and `color` is no order of three.
    """
    if spec.channels is not None and color not in COLOR_ORDERS:
        raise LayoutError(
            f"{spec.describe()}, channels={spec.channels!r}: expected a model whose color is "
            f"{' or '.join(COLOR_ORDERS)}, got {color!r}"
        )
    return spec.channels not in (None, color)


def in_model_order(spec: TensorSpec, tensor: np.ndarray, color: str) -> np.ndarray:
    """Return an unpacked tensor with the channels of a model that reads `color`: the same array, or a copy."""
    if not is_exchanged(spec, color):
        return tensor
    return np.ascontiguousarray(np.flip(tensor, spec.axes.index("C")))


def spec_in_model_order(spec: TensorSpec, color: str) -> TensorSpec:
    """Return the spec of the same memory if it had the channels of a model that reads `color`, without `channels`."""
    if spec.channels is None:
        return spec
    fields = spec.to_dict()
    del fields["channels"]
    if is_exchanged(spec, color):
        fields["quantization"] = with_exchanged_colors(spec.quantization, spec.axes)
    return TensorSpec.from_dict(fields)


def with_exchanged_colors(quantization: Quantization | None, axes: str) -> Quantization | None:
    """Return a quantization with its scales along C, if there are any, in the opposite order."""
    if quantization is None or quantization.axis is None or axes[quantization.axis] != "C":
        return quantization
    scales, zero_points = np.ravel(quantization.scale), np.ravel(quantization.zero_point)
    return Quantization(scales[::-1], zero_points[::-1], quantization.axis)
