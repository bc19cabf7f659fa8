"""The largest channels of each pixel: top_k, max_channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..arrays import empty_in
from ..buffers import Quantization, TensorSpec
from ..errors import NpuLayoutError
from ..layouts import Shape, near, overlap
from ..support import checked_call, counted
from . import bands, stored_buffers
from .applying import Inputs, checked_inputs, checked_out, fits, native
from .moving import convert, move
from .quantized import Stored, comparable, stored_as, to_real
from .registry import CORE, Kernel, OperatorKernels

_INDEX = np.dtype(np.int64)
_TOGETHER = 1 << 14  # values that are found before they become real ones


@checked_call
def top_k(
    x: Any,
    k: int,
    buffer: Any = None,
    *,
    quantization: Stored = None,
    out: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest channels of each pixel: (N,C,H,W) -> values and channels, both (N,k,H,W).

    Parameters
    ----------
    x, buffer
        Numbers; or a TensorSpec and its buffer, which is read in any layout, without its padding.
    k
        How many, from 1 to C. The largest comes first, of equal ones the lower channel; NaN is the largest of all.
    quantization
        Quantization or (scale, zero_point) of stored integers; the values are then real, in float32. The stored
        integers are compared as they are, unless each channel has a scale of its own.
    out
        Two arrays to write to, for values and channels, which do not overlap; they are returned.

    Returns
    -------
    Values, and int64 channels, both in the format of x. Values have the dtype of x in native byte order; they are uint8
    for bools, and float32 if x is quantised.

    Raises
    ------
    NpuLayoutError
        On what does not fit.

    Examples
    --------
    >>> values, channels = top_k(np.array([5, 9, 9, 1]).reshape(1, 4, 1, 1), 3)
    >>> values.ravel().tolist(), channels.ravel().tolist()
    ([9, 9, 5], [1, 2, 0])
    """
    return _largest(TOP_K, x, k, buffer, quantization, out)


def _largest(
    operator: OperatorKernels, x: Any, k: Any, buffer: Any, quantization: Stored, out: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `top_k` does; messages name the operator."""
    if stored_buffers.is_stored(x, buffer, operator.name, quantization):
        return _top_of_stored(operator, x, k, buffer, out)
    if quantization is None and _at_once(x, k, out):
        return out[0], out[1]
    inputs = checked_inputs(operator, x)
    n, c, h, w = inputs.x.shape
    if operator is MAX and not c:
        raise NpuLayoutError(f"max_channels: expected at least 1 channel, got shape {inputs.x.shape}")
    count = _count(k, c)
    known = stored_as(quantization, inputs)
    if known is not None:
        inputs, known = comparable(inputs, known, 1)
    shape, dtype = ((n, count, h, w), inputs.x.dtype if known is None else np.dtype(np.float32))
    targets = None if out is None else _two(inputs, out, shape, dtype)
    if targets is None or near(targets[0], (*inputs.sources, targets[1])) or near(targets[1], inputs.sources):
        found = (empty_in(shape, dtype, inputs.order), empty_in(shape, _INDEX, inputs.order))
    else:
        found = targets
    _find(inputs, known, *found)
    if targets is None:
        return inputs.result(found[0]), inputs.result(found[1])
    if found is not targets:
        for result, target in zip(found, targets):
            move(result, target)
    return out[0], out[1]


def _top_of_stored(
    operator: OperatorKernels, spec: TensorSpec, k: Any, buffer: Any, out: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    n, c, h, w = stored_buffers.extents(spec, operator.name)
    count = _count(k, c)
    flat, known = spec.flat(buffer), stored_buffers.walk(spec)
    targets = _targets(spec, out, (n, count, h, w), flat)
    values, channels = (target.written for target in targets)
    if known is None:
        bands.each(spec, flat, (values, channels), lambda x, q, *parts: top_k(x, count, quantization=q, out=parts))
        return targets[0].finished(), targets[1].finished()
    is_real = _is_real(spec)
    for whole in known.regions:
        for region in whole.cut(_TOGETHER // count) if is_real else (whole,):
            source, found, which = known.source(region, flat), region.of(values, 1), region.of(channels, 1)
            stored = np.empty(found.shape, spec.stored) if is_real else found
            kernels.top_k(source, stored, which, known.channels, known.dtype)
            if is_real:
                _make_real(spec, stored, found)
    return targets[0].finished(), targets[1].finished()


def _is_real(spec: TensorSpec) -> bool:
    """Return whether values are real ones, float32, in place of stored ones."""
    return spec.quantization is not None or spec.dtype == "bfloat16"


def _targets(
    spec: TensorSpec, out: tuple[np.ndarray, np.ndarray] | None, shape: Shape, flat: np.ndarray
) -> list[stored_buffers.Target]:
    """Return where values and channels of a stored buffer are written; NpuLayoutError if `out` does not fit."""
    given = (None, None) if out is None else _pair(out)
    dtypes = (np.dtype(np.float32) if _is_real(spec) else native(np.empty(0, spec.stored)).dtype, _INDEX)
    targets = [stored_buffers.target("top_k", o, shape, dtype, flat) for o, dtype in zip(given, dtypes)]
    _check_apart(targets[0].out, targets[1].out)
    return targets


def _make_real(spec: TensorSpec, stored: np.ndarray, found: np.ndarray) -> None:
    """Write to `found` the real values of stored ones: bfloat16, or quantised."""
    if spec.dtype == "bfloat16":
        found[...] = kernels.widen_bfloat16(stored)
        return
    real_ones = found if found.ndim == 4 else np.empty((1, 1, 1, stored.size), np.float32)
    convert(stored.reshape(real_ones.shape), real_ones, to_real(spec.quantization))
    if real_ones is not found:
        found[...] = real_ones.reshape(found.shape)


def _count(k: Any, channels: int) -> int:
    return counted("top_k: k", k, channels, f"1 .. {channels}, the number of channels")


@checked_call
def max_channels(x: Any, buffer: Any = None, *, quantization: Stored = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest value of each pixel and the first channel that has it: (N,C,H,W) -> two of (N,1,H,W).

    x: numbers, or a TensorSpec and its `buffer`; quantization: as for `top_k`. The results are those of `top_k` for
    k = 1: values of the dtype of x, or float32 if x is quantised, and int64 channels. NpuLayoutError on what does not
    fit.

    >>> values, channels = max_channels(np.array([[3, 1], [2, 5]], np.int8).reshape(1, 2, 1, 2))
    >>> values.ravel().tolist(), channels.ravel().tolist()
    ([3, 5], [0, 1])
    """
    return _largest(MAX, x, 1, buffer, quantization, None)


def _at_once(x: Any, k: Any, out: Any) -> bool:
    """Find them if plain arrays fit as they are, the usual case of a hot loop; else return False, nothing written."""
    if type(k) is not int or type(out) is not tuple or len(out) != 2:
        return False
    values, channels = out
    if not type(x) is type(values) is type(channels) is np.ndarray:
        return False
    wanted = (*x.shape[:1], k, *x.shape[2:])
    if not fits(values.shape, values.strides, values.dtype, wanted, x.dtype):
        return False
    if not fits(channels.shape, channels.strides, channels.dtype, wanted, _INDEX):
        return False
    try:
        _top_k(x, values, channels)
    except ValueError:  # they overlap, perhaps
        return False
    return True


def _find(inputs: Inputs, known: Quantization | None, values: np.ndarray, channels: np.ndarray) -> None:
    if not values.size:
        return
    stored = values if known is None else empty_in(values.shape, inputs.x.dtype, inputs.order)
    inputs.kernel.run(inputs.x, stored, channels)
    if known is not None:
        convert(stored, values, to_real(known))


def _two(inputs: Inputs, out: Any, shape: Shape, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return plain arrays for values and channels if they can be written, else raise."""
    for_values, for_channels = _pair(out)
    values, channels = checked_out(inputs, for_values, shape, dtype), checked_out(inputs, for_channels, shape, _INDEX)
    _check_apart(values, channels)
    return values, channels


def _pair(out: Any) -> tuple[Any, Any]:
    """Return the two items of `out`; NpuLayoutError if these are not two."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise NpuLayoutError(f"out for top_k: expected two arrays, for values and channels, got {type(out).__name__}")
    return out[0], out[1]


def _check_apart(values: np.ndarray, channels: np.ndarray) -> None:
    """Raise NpuLayoutError if the arrays for values and channels share memory."""
    if overlap(values, channels):
        raise NpuLayoutError("out for top_k: expected arrays for values and channels that share no memory")


def _top_k(x: np.ndarray, values: np.ndarray, channels: np.ndarray) -> None:
    last = (0, 2, 3, 1)
    kernels.top_k(x.transpose(last), values.transpose(last), channels.transpose(last))


def _sorted(x: np.ndarray, values: np.ndarray, channels: np.ndarray) -> None:
    if x.dtype.kind != "f":
        keys = ~x
    elif np.isnan(x).any():  # it has to come first
        keys = ~np.unique(x, return_inverse=True)[1].reshape(x.shape)
    else:
        keys = -x
    last = np.ascontiguousarray(keys.transpose(0, 2, 3, 1))
    channels[...] = last.argsort(-1, kind="stable")[..., : channels.shape[1]].transpose(0, 3, 1, 2)
    values[...] = np.take_along_axis(x, channels, 1)


_KERNELS = (Kernel(_top_k, "top k", dtypes=CORE), Kernel(_sorted))
TOP_K, MAX = OperatorKernels("top_k", *_KERNELS), OperatorKernels("max_channels", *_KERNELS)
OPERATORS = (TOP_K,)
