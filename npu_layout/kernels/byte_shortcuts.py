"""Find shorter arithmetic that turns bytes into bytes with the same results for all 256 of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .box import Arithmetic, limits

ROUNDABLE = 1 << 22  # float32 stores halves up to here, so sums up to here are rounded exactly

_NUDGES = [(0.0, 0.0)] + [
    (t * 2.0**-23, u * 2.0**e) for e in (-21, -18, -15) for t in (0, 1, -1, 3, -3) for u in (1, -1, 0) if t or u
]
_U = np.arange(256)[:, None, None]  # bytes, counted from the lowest one
_REACHES = ((1, 2), (16, 6))  # of factors and summands; they find 98 % of 3000 random means, scales and zero points


class LinearArithmetic(NamedTuple):
    """The arithmetic as ``x * ratio + total`` in float64, one value per channel, and its exact results.

    `exact` has shape (256, channels), the results of the lowest byte first.
    """

    ratio: np.ndarray
    total: np.ndarray
    exact: np.ndarray


def line(
    a: Arithmetic, shift: np.ndarray, scale: np.ndarray, divisor: np.ndarray, before: np.ndarray, after: np.ndarray
) -> LinearArithmetic:
    """Return the line of an arithmetic from bytes to bytes; parameters as in `description.Description`."""
    first, last = limits(a.src_dtype)
    x = np.arange(first, last + 1, dtype=np.float32)[:, None]
    with np.errstate(all="ignore"):
        ratio = scale.astype(np.float64) / divisor
        total = before + after - shift.astype(np.float64) * ratio
        exact: np.ndarray = np.rint((x - shift) * scale / divisor + np.float32(before)) + after
    return LinearArithmetic(ratio, total, exact.clip(*limits(a.dst_dtype)))


def one_step(a: Arithmetic, of: LinearArithmetic) -> tuple[np.ndarray, np.ndarray] | None:
    """Return factor and summand such that ``rint(x * factor + summand)``, saturated, is exact for every byte x.

    None if there are none; then each step of the arithmetic is required.
    """
    first, last = limits(a.src_dtype)
    x = np.arange(first, last + 1, dtype=np.float32)[:, None]
    with np.errstate(all="ignore"):
        factor, summand = of.ratio.astype(np.float32), of.total.astype(np.float32)
        left = np.arange(len(of.ratio))
        for tilt, lift in _NUDGES:  # if a result is halfway between two integers, a tiny change decides
            factor[left], summand[left] = of.ratio[left] * (1 + tilt), of.total[left] + lift
            tried = x * factor[left] + summand[left]
            wrong = np.clip(np.rint(tried), *limits(a.dst_dtype)) != of.exact[:, left]
            left = left[wrong.any(0) | ~(np.abs(tried).max(0) < ROUNDABLE)]
            if not left.size:
                return factor, summand
    return None


def in_16_bits(a: Arithmetic, of: LinearArithmetic) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Return bits, factor and summand of exact arithmetic in 16 bits, or None if there are none.

    It is ``(u * factor / 256 - 32768 + summand) >> bits``, saturated at each step, where u and the result are
    counted from the lowest value of their dtypes.
    """
    first, lowest = limits(a.src_dtype)[0], limits(a.dst_dtype)[0]
    ratio, total = of.ratio, of.total
    if not (np.isfinite(ratio).all() and np.isfinite(total).all() and ratio.min() > 0 and ratio.max() < 64):
        return None
    bits = min(8, int(np.floor(8 - np.log2(ratio.max() * (1 + 2**-8)))))
    expected = of.exact - lowest - 128
    start = (total + first * ratio - lowest - 128) * 2.0**bits + 2.0 ** (bits - 1) + 32768
    factors, summands = [], []
    for channel in zip(ratio, start, expected.T):
        found = _channel_in_16_bits(bits, *channel)
        if found is None:
            return None
        factors.append(found[0])
        summands.append(found[1])
    return bits, np.array(factors), np.array(summands)


def _channel_in_16_bits(bits: int, ratio: float, start: float, expected: np.ndarray) -> tuple[int, int] | None:
    """Return the factor and the summand of one channel, the first that are exact; None if none of those tried are."""
    for reach, lift in _REACHES:
        factor = np.rint(ratio * 2.0 ** (8 + bits)) + np.arange(-reach, reach + 1)
        summand = np.floor(start) + np.arange(-lift, lift + 1)
        factor = factor[(factor >= 1) & (factor < 1 << 16)].astype(np.int64)[:, None]
        summand = summand[(summand >= -32768) & (summand < 32768)].astype(np.int64)
        tried = np.clip(np.clip((_U * factor >> 8) - 32768 + summand, -32768, 32767) >> bits, -128, 127)
        good = np.argwhere((tried == expected[:, None, None]).all(0))
        if len(good):
            return int(factor[good[0][0], 0]), int(summand[good[0][1]])
    return None
