"""Operators that compute each element, or each pixel, by itself: gray, normalisation, quantisation, sigmoid."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import kernels
from ..arrays import AxisOrder
from ..buffers import Quantization, TensorSpec, element
from ..errors import LayoutError, NpuLayoutError
from ..layouts import CHANNEL_ORDERS, COLOR_ORDERS, Affine, Shape
from ..support import checked_call, per_channel, plain_array, shown
from . import bands, stored_buffers
from .applying import apply, checked_inputs
from .moving import convert, rounded
from .quantized import Stored, along, as_quantization, stored_as, to_real
from .registry import AXES, CORE, Kernel, OperatorKernels

_PLACES = {order: CHANNEL_ORDERS[order].bgr for order in COLOR_ORDERS}
_WEIGHTS = (0.114, 0.587, 0.299)  # of blue, green and red


@checked_call
def to_gray(x: Any, *, order: str = "BGR", out: np.ndarray | None = None) -> np.ndarray:
    """Return the grayscale of the first three channels: (N,C,H,W) -> (N,1,H,W), the dtype of x.

    x: numbers, C at least 3; order: "BGR" or "RGB". uint8, uint16 and float32 are computed as by
    :func:`npu_layout.to_gray` (uint8 bit-equal to cv2.cvtColor), other dtypes as 0.114 B + 0.587 G + 0.299 R in
    float64, where integers are rounded half to even. out: an array of the result's shape and dtype, in any format, to
    write to; it is returned.

    LayoutError on other axes or fewer than 3 channels, NpuLayoutError on another order or dtype, or an `out` that does
    not fit.

    >>> to_gray(np.full((1, 3, 1, 2), 200, np.uint8)).tolist()
    [[[[200, 200]]]]
    """
    inputs = checked_inputs(TO_GRAY, x)
    if not isinstance(order, str) or order not in COLOR_ORDERS:
        raise NpuLayoutError(f"to_gray: order: expected BGR or RGB, got {shown(order)}")
    n, c, h, w = inputs.x.shape
    if c < 3:
        raise LayoutError(f"to_gray: expected at least 3 channels, got an array of shape {inputs.x.shape}")
    return apply(inputs, (n, 1, h, w), inputs.x.dtype, out, places=_PLACES[order])


def _gray(x: np.ndarray, out: np.ndarray, order: AxisOrder, places: Shape) -> None:
    blue, green, red = (x[:, c] for c in places)
    kernels.gray(blue, green, red, out[:, 0])


def _any_gray(x: np.ndarray, out: np.ndarray, order: AxisOrder, places: Shape) -> None:
    blue, green, red = (x[:, c].astype(np.float64) * weight for c, weight in zip(places, _WEIGHTS))
    total = blue + green + red
    if x.dtype.kind == "f":
        out[:, 0] = total
    else:
        rounded(total, out[:, 0])


TO_GRAY = OperatorKernels(
    "to_gray", Kernel(_gray, "gray", dtypes=frozenset(("bool", "uint8", "uint16", "float32"))), Kernel(_any_gray)
)


@checked_call
def normalize(x: Any, mean: Any, std: Any, *, out: np.ndarray | None = None) -> np.ndarray:
    """Return ``(x - mean) * (1 / std)`` in float32, as Preprocessor does: (N,C,H,W) numbers, the same shape.

    mean, std: one number or one for each channel, in the units of x; they and 1 / std are in the range of float32. out:
    an array of the result's shape and dtype, in any format, to write to; it is returned. There is one pass, whatever
    the formats of x and out. NpuLayoutError on values or an `out` that do not fit.

    >>> normalize(np.array([100, 150], np.uint8).reshape(1, 2, 1, 1), mean=[50, 100], std=25).ravel().tolist()
    [2.0, 2.0]
    """
    inputs = checked_inputs(NORMALIZE, x)
    channels = inputs.x.shape[1]
    stated = _numbers("normalize: mean", mean, channels), _numbers("normalize: std", std, channels)
    affine = _normalization(*stated, channels)
    return apply(inputs, inputs.x.shape, np.float32, out, affine=affine)


def _numbers(what: str, given: Any, channels: int) -> tuple[float, ...]:
    try:
        return per_channel(what, given, channels)
    except NpuLayoutError:
        plain_array(what, given)  # says why it is no array
        raise


@lru_cache(maxsize=256)
def _normalization(mean: tuple[float, ...], std: tuple[float, ...], channels: int) -> Affine:
    with np.errstate(all="ignore"):
        singles = [np.array(stated, np.float32) for stated in (mean, std)]
        factors = 1 / singles[1]
    for what, stated, values in zip(("mean", "std"), (mean, std), singles):
        if not np.isfinite(values).all():
            raise NpuLayoutError(
                f"normalize: {what}: expected 1 or {channels} finite numbers of float32, got {list(stated)}"
            )
    if not np.isfinite(factors).all():
        raise NpuLayoutError(f"normalize: std: expected numbers other than 0, with 1 / std in float32, got {list(std)}")
    return Affine("C", mean, tuple(factors.tolist()))


@checked_call
def quantize(x: Any, quantization: Stored, dtype: Any = None, *, out: np.ndarray | None = None) -> np.ndarray:
    """Return the stored integers of real values, as :meth:`Quantization.quantize` does: the same shape, in one pass.

    x: (N,C,H,W) numbers; quantization: a Quantization or (scale, zero_point); dtype: an integer dtype, or int4 or
    uint4, whose values are in int8 or uint8; default: that of `out`. out: an array of that shape and dtype, in any
    format, to write to; it is returned. NpuLayoutError if these do not fit.

    >>> quantize(np.array([0.25, 100.0]).reshape(1, 2, 1, 1), (0.5, 3), "int8").ravel().tolist()
    [3, 127]
    """
    inputs = checked_inputs(QUANTIZE, x)
    if dtype is None and not isinstance(out, np.ndarray):
        raise NpuLayoutError("quantize: expected a dtype, or an out that has one")
    kind = element(getattr(out, "dtype", None) if dtype is None else dtype)
    if kind.unpacked.kind not in "iu":
        raise NpuLayoutError(f"quantize: expected an integer dtype, got {kind.name}")
    known = along(as_quantization(quantization, "quantize"), inputs.x.shape, "quantize")
    affine = known.affine(AXES[known.axis or 0], to_stored=True)
    return apply(
        inputs, inputs.x.shape, kind.unpacked, out, affine=affine, stored=kind.kernel if kind.nibbles else None
    )


@checked_call
def dequantize(x: Any, quantization: Stored, *, out: np.ndarray | None = None) -> np.ndarray:
    """Return ``(x - zero_point) * scale`` of (N,C,H,W) stored integers in float32: the same shape, in one pass.

    quantization: a Quantization or (scale, zero_point). out: an array of the result's shape and dtype, in any format,
    to write to; it is returned. NpuLayoutError if these do not fit.

    >>> dequantize(np.array([3, 5], np.int8).reshape(1, 2, 1, 1), (0.5, 3)).ravel().tolist()
    [0.0, 1.0]
    """
    inputs = checked_inputs(DEQUANTIZE, x)
    known = stored_as(as_quantization(quantization, "dequantize"), inputs)
    return apply(inputs, inputs.x.shape, np.float32, out, affine=to_real(known))


def _affine(x: np.ndarray, out: np.ndarray, order: AxisOrder, affine: Affine, stored: str | None = None) -> None:
    convert(x, out, affine, stored)


# The fallback in numpy converts every dtype.
_AFFINE = (Kernel(_affine, "affine_copy", dtypes=CORE), Kernel(_affine))
NORMALIZE = OperatorKernels("normalize", *_AFFINE)
QUANTIZE = OperatorKernels("quantize", *_AFFINE)
DEQUANTIZE = OperatorKernels("dequantize", *_AFFINE)


@checked_call
def sigmoid(x: Any, buffer: Any = None, *, quantization: Stored = None, out: np.ndarray | None = None) -> np.ndarray:
    """Return 1 / (1 + e**-x) in float32: (N,C,H,W) numbers -> float32 of the same shape.

    x: numbers; or a TensorSpec, whose `buffer` is read in any layout, for a result in C order. quantization: a
    Quantization or (scale, zero_point) of stored integers. out: an array of the result's shape and dtype, in any
    format, to write to; it is returned. The result is within 4 units in the last place, or 2**-126, of the exact one.
    NpuLayoutError if these do not fit.

    >>> sigmoid(np.array([[[[0, 100]]]], np.int8), quantization=(0.5, 0)).tolist()
    [[[[0.5, 1.0]]]]
    """
    if stored_buffers.is_stored(x, buffer, "sigmoid", quantization):
        shape, flat = stored_buffers.extents(x, "sigmoid"), x.flat(buffer)
        target = stored_buffers.target("sigmoid", out, shape, np.float32, flat)
        _sigmoid_of_stored(x, flat, target.written)
        return target.finished()
    inputs = checked_inputs(SIGMOID, x)
    known = stored_as(quantization, inputs)
    return apply(inputs, inputs.x.shape, np.float32, out, known=known)


def _sigmoid_of_stored(spec: TensorSpec, flat: np.ndarray, out: np.ndarray) -> None:
    known = stored_buffers.walk(spec)
    if known is None:
        bands.each(spec, flat, (out,), lambda x, q, part: sigmoid(x, quantization=q, out=part))
        return
    scale, zero_point = stored_buffers.one_scale(spec)
    for region in known.regions:
        source, result, axes = known.source(region, flat), region.of(out, 1), len(region.loops)
        kernels.sigmoid(source, result, known.dtype, scale, zero_point, positions=axes, channels=known.channels)


def _sigmoid(x: np.ndarray, out: np.ndarray, order: AxisOrder, known: Quantization | None) -> None:
    if known is not None and known.axis is not None:
        _any_sigmoid(x, out, order, known)
        return
    scale, zero_point = (1.0, 0.0) if known is None else (float(known.scale), float(known.zero_point))
    kernels.sigmoid(x, out, scale=scale, zero_point=zero_point)


def _any_sigmoid(x: np.ndarray, out: np.ndarray, order: AxisOrder, known: Quantization | None) -> None:
    convert(x, out, to_real(known))
    kernels.sigmoid(out, out)


SIGMOID = OperatorKernels("sigmoid", Kernel(_sigmoid, "sigmoid", dtypes=CORE), Kernel(_any_sigmoid))
OPERATORS = (TO_GRAY, NORMALIZE, QUANTIZE, DEQUANTIZE, SIGMOID)
