"""Stored integers as the inputs of operators: what ``quantization=`` means, and their real values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Union

import numpy as np

from ..arrays import AxisOrder, empty_in
from ..buffers import Quantization
from ..errors import NpuLayoutError
from ..layouts import Affine, Shape
from ..support import shown
from .applying import Inputs
from .moving import convert
from .registry import AXES

Stored = Union[Quantization, tuple[Any, Any], None]  # what quantization= accepts


def as_quantization(stored: Stored, operator: str) -> Quantization:
    """Return a Quantization as it is, or that of a pair of scale and zero point."""
    if isinstance(stored, Quantization):
        return stored
    if not isinstance(stored, (tuple, list)) or len(stored) != 2:
        raise NpuLayoutError(
            f"{operator}: quantization: expected a Quantization or (scale, zero_point), got {shown(stored)}"
        )
    if type(stored[0]) is float and type(stored[1]) in (int, float):
        return _quantization(*stored)
    return Quantization(*stored)


_quantization = lru_cache(maxsize=256, typed=True)(Quantization)


def along(known: Quantization, shape: Shape, operator: str) -> Quantization:
    """Return `known` with its axis counted from the front. NpuLayoutError if it does not fit the shape."""
    axis = known.axis
    if axis is None:
        return known
    if not -len(shape) <= axis < len(shape) or shape[axis] != known.count:
        raise NpuLayoutError(f"{operator}: quantization has {known.count} scales along axis {axis}; got shape {shape}")
    return known if axis >= 0 else Quantization(known.scale, known.zero_point, axis % len(shape))


def stored_as(stored: Stored, inputs: Inputs) -> Quantization | None:
    """Return the quantization of the only input; None if none is given."""
    if stored is None:
        return None
    array, operator = inputs.arrays[0], inputs.operator.name
    if array.dtype.kind not in "iu":
        raise NpuLayoutError(f"{operator}: quantization is for stored integers, got dtype {array.dtype}")
    return along(as_quantization(stored, operator), array.shape, operator)


def to_real(known: Quantization | None) -> Affine | None:
    """Return the arithmetic from stored integers to real values; None if they are real already."""
    return None if known is None else known.affine(AXES[known.axis or 0], to_stored=False)


def real(x: np.ndarray, known: Quantization | None, order: AxisOrder) -> np.ndarray:
    """Return the real values of stored integers, or of any numbers, as float32 in that order."""
    result = empty_in(x.shape, np.float32, order)
    if x.size:
        convert(x, result, to_real(known))
    return result


def comparable(inputs: Inputs, known: Quantization, *axes: int) -> tuple[Inputs, Quantization | None]:
    """Return the input so that values along `axes` can be compared: real ones if their scales differ along them."""
    if known.axis not in axes:
        return inputs, known
    return inputs._replace(arrays=(real(inputs.x, known, inputs.order),)), None
