"""Operators over all channels of each pixel: argmax_channels, softmax_channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..arrays import AxisOrder
from ..buffers import Quantization, TensorSpec
from ..errors import NpuLayoutError
from ..support import checked_call
from . import bands, stored_buffers
from .applying import apply, checked_inputs
from .quantized import Stored, comparable, real, stored_as
from .registry import CORE, Kernel, OperatorKernels


@checked_call
def argmax_channels(
    x: Any, buffer: Any = None, *, quantization: Stored = None, out: np.ndarray | None = None
) -> np.ndarray:
    """Return for each pixel the first channel with the largest value: (N,C,H,W) -> (N,1,H,W) int64.

    x: numbers or bools, C at least 1; NaN is the largest, as for numpy.argmax. Or a TensorSpec, whose `buffer` is read
    in any layout, without its padding. quantization: a Quantization or (scale, zero_point) of stored integers; these
    are compared as they are, unless each channel has a scale of its own. out: an array of the result's shape and dtype,
    in any format, to write to; it is returned. NpuLayoutError on what does not fit.

    >>> argmax_channels(np.array([[3, 1], [2, 5]], np.int8).reshape(1, 2, 1, 2)).ravel().tolist()
    [0, 1]
    """
    if stored_buffers.is_stored(x, buffer, "argmax_channels", quantization):
        n, c, h, w = stored_buffers.extents(x, "argmax_channels")
        flat = x.flat(buffer)
        target = stored_buffers.target("argmax_channels", out, (n, 1, h, w), np.int64, flat)
        _argmax_of_stored(x, flat, target.written)
        return target.finished()
    inputs = checked_inputs(ARGMAX, x)
    n, c, h, w = inputs.x.shape
    if not c:
        raise NpuLayoutError(f"argmax_channels: expected at least 1 channel, got shape {inputs.x.shape}")
    known = stored_as(quantization, inputs)
    if known is not None:
        inputs, _ = comparable(inputs, known, 1)
    return apply(inputs, (n, 1, h, w), np.int64, out)


def _argmax_of_stored(spec: TensorSpec, flat: np.ndarray, out: np.ndarray) -> None:
    scales = bands.quantization_of(spec)
    alike = scales is None or scales.axis != 1  # in each pixel, so that stored values can be compared
    known = stored_buffers.walk(stored_buffers.codes(spec)) if alike else None
    if known is None:
        bands.each(spec, flat, (out,), lambda x, q, part: argmax_channels(x, quantization=q, out=part))
        return
    for region in known.regions:
        kernels.argmax(known.source(region, flat), region.of(out), known.channels, known.dtype)


def _argmax(x: np.ndarray, out: np.ndarray, order: AxisOrder) -> None:
    kernels.argmax(x.transpose(0, 2, 3, 1), out[:, 0])


def _any_argmax(x: np.ndarray, out: np.ndarray, order: AxisOrder) -> None:
    out[:, 0] = x.argmax(1)


ARGMAX = OperatorKernels("argmax_channels", Kernel(_argmax, "argmax", dtypes=CORE), Kernel(_any_argmax))


@checked_call
def softmax_channels(
    x: Any, buffer: Any = None, *, quantization: Stored = None, out: np.ndarray | None = None
) -> np.ndarray:
    """Return e**x / (sum of e**x over the channels), computed for each pixel: (N,C,H,W) -> float32, the same shape.

    x: numbers; or a TensorSpec, whose `buffer` is read in any layout, for a result in C order. quantization: a
    Quantization or (scale, zero_point) of stored integers, applied in the same pass. out: an array of the result's
    shape and dtype, in any format, to write to; it is returned.

    The largest x of a pixel is subtracted first, so that nothing overflows. The result differs from exact arithmetic on
    the values as float32 by at most 16 units in the last place (numpy's kernels: 144), or 1.22e-38. A pixel with a NaN,
    or whose largest value is infinite, is NaN in every channel. NpuLayoutError on what does not fit.

    >>> softmax_channels(np.zeros((1, 4, 1, 1))).ravel().tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if stored_buffers.is_stored(x, buffer, "softmax_channels", quantization):
        shape = stored_buffers.extents(x, "softmax_channels")
        flat = x.flat(buffer)
        target = stored_buffers.target("softmax_channels", out, shape, np.float32, flat)
        _softmax_of_stored(x, flat, target.written)
        return target.finished()
    inputs = checked_inputs(SOFTMAX, x)
    return apply(inputs, inputs.x.shape, np.float32, out, known=stored_as(quantization, inputs))


def _softmax_of_stored(spec: TensorSpec, flat: np.ndarray, out: np.ndarray) -> None:
    known = stored_buffers.walk(spec)
    if known is None:
        bands.each(spec, flat, (out,), lambda x, q, part: softmax_channels(x, quantization=q, out=part))
        return
    scale, zero_point = stored_buffers.one_scale(spec)
    for region in known.regions:
        source, result, loops = known.source(region, flat), region.of(out, 1), len(region.loops)
        kernels.softmax(source, result, loops, known.channels, known.dtype, scale, zero_point)


def _softmax(x: np.ndarray, out: np.ndarray, order: AxisOrder, known: Quantization | None) -> None:
    scale, zero_point = 1.0, 0.0
    if known is not None and known.axis is None:
        scale, zero_point = float(known.scale), float(known.zero_point)
    elif known is not None:
        x = real(x, known, order)
    last = (0, 2, 3, 1)
    kernels.softmax(x.transpose(last), out.transpose(last), scale=scale, zero_point=zero_point)


def _any_softmax(x: np.ndarray, out: np.ndarray, order: AxisOrder, known: Quantization | None) -> None:
    with np.errstate(over="ignore"):
        _softmax(real(x, known, order), out, order, None)


SOFTMAX = OperatorKernels("softmax_channels", Kernel(_softmax, "softmax", dtypes=CORE), Kernel(_any_softmax))
OPERATORS = (ARGMAX, SOFTMAX)
