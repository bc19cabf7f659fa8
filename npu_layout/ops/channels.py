"""Operators over the channels of each position: argmax_channels, softmax_channels, top_k."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import kernels
from ..arrays import Order, empty_in
from ..buffers import Quantization
from ..errors import NpuLayoutError
from ..layouts import Shape, near, overlap
from .registry import (
    CORE,
    Given,
    Stored,
    apply,
    checked_out,
    convert,
    fits,
    given,
    kernel,
    move,
    real,
    serving,
    stored_as,
    to_real,
)

_INDEX = np.dtype(np.int64)


def argmax_channels(x: Any, *, quantization: Stored = None, out: np.ndarray | None = None) -> np.ndarray:
    """The first channel that holds the largest value of each position: (N,C,H,W) -> (N,1,H,W) int64.

    x: numbers or bools, C at least 1; as numpy.argmax, NaN is the largest. quantization: of stored integers, a
    Quantization or (scale, zero_point); they are compared as they are stored, unless each channel has a scale of
    its own. NpuLayoutError on what does not fit.

    >>> argmax_channels(np.array([[3, 1], [2, 5]], np.int8).reshape(1, 2, 1, 2)).ravel().tolist()
    [0, 1]
    """
    taken = given("argmax_channels", x)
    n, c, h, w = taken.x.shape
    if not c:
        raise NpuLayoutError(f"argmax_channels: expected at least 1 channel, got shape {taken.x.shape}")
    taken, _ = _comparable(taken, stored_as(quantization, taken))
    return apply(taken, (n, 1, h, w), np.int64, out)


def _comparable(taken: Given, known: Quantization | None) -> tuple[Given, Quantization | None]:
    """The input so that values of one position can be compared: real ones where scales differ between channels."""
    if known is None or known.axis != 1:
        return taken, known
    return taken._replace(arrays=(real(taken.x, known, taken.order),)), None


@kernel("argmax_channels", dtypes=CORE, name="argmax")
def _argmax(x: np.ndarray, out: np.ndarray, order: Order) -> None:
    kernels.argmax(x.transpose(0, 2, 3, 1), out[:, 0])


@kernel("argmax_channels")
def _any_argmax(x: np.ndarray, out: np.ndarray, order: Order) -> None:
    out[:, 0] = x.argmax(1)


def softmax_channels(x: Any, *, quantization: Stored = None, out: np.ndarray | None = None) -> np.ndarray:
    """e**(x - max) / sum of them over the channels of each position: (N,C,H,W) -> float32 of the same shape.

    x: numbers; quantization: of stored integers, a Quantization or (scale, zero_point), applied on the way. Within
    16 units in the last place (numpy's kernels: 144) of exact arithmetic on the values as float32, or 1.22e-38; a
    position with a NaN, or an infinity at the top, is NaN throughout. NpuLayoutError on what does not fit.

    >>> softmax_channels(np.zeros((1, 4, 1, 1))).ravel().tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    taken = given("softmax_channels", x)
    return apply(taken, taken.x.shape, np.float32, out, known=stored_as(quantization, taken))


@kernel("softmax_channels", dtypes=CORE, name="softmax")
def _softmax(x: np.ndarray, out: np.ndarray, order: Order, known: Quantization | None) -> None:
    scale, zero_point = 1.0, 0.0
    if known is not None and known.axis is None:
        scale, zero_point = float(known.scale), float(known.zero_point)
    elif known is not None:
        x = real(x, known, order)
    last = (0, 2, 3, 1)
    kernels.softmax(x.transpose(last), out.transpose(last), scale=scale, zero_point=zero_point)


@kernel("softmax_channels")
def _any_softmax(x: np.ndarray, out: np.ndarray, order: Order, known: Quantization | None) -> None:
    with np.errstate(over="ignore"):
        _softmax(real(x, known, order), out, order, None)


def top_k(
    x: Any, k: int, *, quantization: Stored = None, out: tuple[np.ndarray, np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest channels of each position: (N,C,H,W) -> values and channels, both (N,k,H,W).

    Parameters
    ----------
    x
        Numbers.
    k
        1 .. C. The largest comes first, of equal ones the lower channel; NaN is the largest of all.
    quantization
        Of stored integers, a Quantization or (scale, zero_point): the values are real ones, float32. They are compared
        as they are stored, unless each channel has a scale of its own.
    out
        Arrays for values and channels, apart from each other.

    Returns
    -------
    Values, of the dtype of x in native byte order, float32 where it is quantised; channels, int64. Both in its format.

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
    if quantization is None and _at_once(x, k, out):
        return out[0], out[1]  # type: ignore[index]
    taken = given("top_k", x)
    n, c, h, w = taken.x.shape
    try:
        count = operator.index(k)
    except TypeError:
        count = 0
    if not 1 <= count <= c:
        raise NpuLayoutError(f"top_k: k: expected 1 .. {c}, the number of channels, got {k!r}")
    taken, known = _comparable(taken, stored_as(quantization, taken))
    shape, dtype = (n, count, h, w), taken.x.dtype if known is None else np.dtype(np.float32)
    targets = None if out is None else _two(taken, out, shape, dtype)
    if targets is None or near(targets[0], (*taken.sources, targets[1])) or near(targets[1], taken.sources):
        found = empty_in(shape, dtype, taken.order), empty_in(shape, _INDEX, taken.order)
    else:
        found = targets
    _find(taken, known, *found)
    if targets is None:
        return taken.result(found[0]), taken.result(found[1])
    if found is not targets:
        for result, target in zip(found, targets):
            move(result, target)
    return out[0], out[1]  # type: ignore[index]


def _at_once(x: Any, k: Any, out: Any) -> bool:
    """Find them where plain arrays fit as they are, the usual case of a hot loop; else False, with nothing written."""
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


def _find(taken: Given, known: Quantization | None, values: np.ndarray, channels: np.ndarray) -> None:
    if not values.size:
        return
    held = values if known is None else empty_in(values.shape, taken.x.dtype, taken.order)
    serving(taken).run(taken.x, held, channels)
    if known is not None:
        convert(held, values, to_real(known))


def _two(taken: Given, out: Any, shape: Shape, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Plain arrays for values and channels, if they can be written."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise NpuLayoutError(f"out for top_k: expected two arrays, for values and channels, got {type(out).__name__}")
    values, channels = checked_out(taken, out[0], shape, dtype), checked_out(taken, out[1], shape, _INDEX)
    if overlap(values, channels):
        raise NpuLayoutError("out for top_k: expected arrays for values and channels that share no memory")
    return values, channels


@kernel("top_k", dtypes=CORE, name="top k")
def _top_k(x: np.ndarray, values: np.ndarray, channels: np.ndarray) -> None:
    last = (0, 2, 3, 1)
    kernels.top_k(x.transpose(last), values.transpose(last), channels.transpose(last))


@kernel("top_k")
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
