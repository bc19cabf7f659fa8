"""Describe an arithmetic to the compiled core: the steps that it has, and the parameters of each channel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import _native, byte_shortcuts
from .box import Arithmetic, limits

_BYTES = ("int8", "uint8")
_TRIED = 1024  # channels up to which the results of every byte are computed
_SEARCHED = 16  # channels up to which factors in 16 bits are searched, up to 2 ms for each


class Description(NamedTuple):
    """An arithmetic as the compiled core reads it (csrc/binding/arithmetic_record.c), by the names of the fields.

    The core computes ``y = ((x - shift) * scale) / divisor`` in float32 and, for an integer destination,
    ``clamp(rint(y + before), low, high) + after``. Every array is contiguous and has one value per channel.
    """

    src_dtype: str  #: one of the core's DTYPES; so is dst_dtype
    dst_dtype: str
    steps: bool  #: there is a shift, a scale or a divisor
    divides: bool  #: there is a divisor
    one_step: bool  #: bytes to bytes as ``rint(x * scale + before)``, saturated; found by trying every byte
    bits: int  #: not 0: the same as ``(u * factor / 256 - 32768 + summand) >> bits``; see `byte_shortcuts.in_16_bits`
    shift: np.ndarray  #: float32, 0 if there is none
    scale: np.ndarray  #: float32, 1 if there is none
    divisor: np.ndarray  #: float32, 1 if there is none
    before: np.ndarray  #: float32: the zero point, if it is added before rint
    low: np.ndarray  #: float32: the lowest result minus `after`
    high: np.ndarray  #: float32: the highest result minus `after`
    after: np.ndarray  #: int32: the zero point, if it is added after rint
    factor: np.ndarray  #: uint16
    summand: np.ndarray  #: int16


# The last arithmetic and its description, because programs of one plan, such as its own and that of a Preprocessor's
# band, follow each other. A search for shorter arithmetic takes up to 2 ms for each channel.
_latest: tuple[Arithmetic | None, Description | None] = (None, None)


def describe(a: Arithmetic) -> Description | None:
    """Return the description of an arithmetic, or None if the core has no loops for it."""
    global _latest
    known, described = _latest
    if known is not a:
        described = _described(a)
        _latest = a, described
    return described


def _described(a: Arithmetic) -> Description | None:
    if not _has_loops(a):
        return None
    channels = next((len(p) for p in a.affine.values if p is not None), 1)
    shift, scale, divisor = (_filled(p, default, channels) for p, default in zip(a.affine.values, (0, 1, 1)))
    before, after = _zero_points(a, channels)
    low, high = _bounds(a, after)
    if not _is_exact(a, low, high, after):
        return None
    general = Description(
        src_dtype=a.src_dtype,
        dst_dtype=a.dst_dtype,
        steps=any(p is not None for p in a.affine.values[:3]),
        divides=a.affine.divisor is not None,
        one_step=False,
        bits=0,
        shift=shift,
        scale=scale,
        divisor=divisor,
        before=np.ascontiguousarray(before, np.float32),
        low=np.ascontiguousarray(low, np.float32),
        high=np.ascontiguousarray(high, np.float32),
        after=np.ascontiguousarray(after, np.int32),
        factor=np.zeros(channels, np.uint16),
        summand=np.zeros(channels, np.int16),
    )
    bytes_only = a.src_dtype in _BYTES and a.dst_dtype in _BYTES and channels <= _TRIED
    return _shortened(a, general, before, after) if bytes_only else general


def _has_loops(a: Arithmetic) -> bool:
    """Return whether the core has loops for these dtypes and steps: to round to integers, it needs a zero point."""
    if a.src_dtype not in _native.DTYPES or a.dst_dtype not in _native.DTYPES:
        return False
    rounds = any(p is not None for p in a.affine.values[:3]) or "float" in a.src_dtype
    return not rounds or a.affine.zero_point is not None or "float" in a.dst_dtype


def _filled(values: np.ndarray | None, default: float, channels: int) -> np.ndarray:
    return np.full(channels, default, np.float32) if values is None else np.ascontiguousarray(values, np.float32)


def _zero_points(a: Arithmetic, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what is added before rint and what is added after it; one of them is 0."""
    zero = np.zeros(channels)
    if "float" in a.dst_dtype or a.affine.zero_point is None:
        return zero, zero
    return (a.affine.zero_point, zero) if a.affine.float_zero_point else (zero, a.affine.zero_point)


def _bounds(a: Arithmetic, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and highest result before `after` is added; 0 and 0 for floats, which are not clamped."""
    if "float" in a.dst_dtype:
        return after, after
    lowest, highest = limits(a.dst_dtype)
    return lowest - after, highest - after


def _is_exact(a: Arithmetic, low: np.ndarray, high: np.ndarray, after: np.ndarray) -> bool:
    """Return whether float32 and int32 represent the bounds and the zero point of an integer destination exactly."""
    if "float" in a.dst_dtype:
        return True
    if a.dst_dtype == "int32":
        return bool(np.abs(after).max() <= limits("int32")[1])
    return bool(max(np.abs(low).max(), np.abs(high).max()) <= byte_shortcuts.ROUNDABLE)


def _shortened(a: Arithmetic, general: Description, before: np.ndarray, after: np.ndarray) -> Description:
    """Return the description with fewer steps, if their results are the same for every byte."""
    line = byte_shortcuts.line(a, general.shift, general.scale, general.divisor, before, after)
    found = byte_shortcuts.one_step(a, line)
    if found is None:
        return general
    made = general._replace(one_step=True, scale=found[0], before=found[1])
    short = byte_shortcuts.in_16_bits(a, line) if len(line.ratio) <= _SEARCHED else None
    if short is None:
        return made
    bits, factor, summand = short
    return made._replace(bits=bits, factor=factor.astype(np.uint16), summand=summand.astype(np.int16))
