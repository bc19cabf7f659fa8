"""The compiled core, seen from Python: which level runs, and what it is told of a conversion."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import _native
from .box import Arithmetic, Box, limits
from .caches import caches

_DTYPES = _native.DTYPES
_GRAYS = {"B": 0, "H": 1, "f": 2}
_PEAKS = 1 << 14  # rows of a list of peaks at first, at most
_REFINEMENTS = (None, "parabola", "quarter")
_BYTES = ("int8", "uint8")
_TRIED = 1024  # channels of which every byte is tried
_SEARCHED = 16  # channels of which factors in 16 bits are searched: up to 2 ms for each
_NUDGES = [(0.0, 0.0)] + [
    (t * 2.0**-23, u * 2.0**e) for e in (-21, -18, -15) for t in (0, 1, -1, 3, -3) for u in (1, -1, 0) if t or u
]
_LAST_CACHES = (4 << 20, 64 << 20)  # what is believed of a machine's
_ROUNDABLE = 1 << 22  # what a float32 counts in halves: sums up to here are rounded exactly


def _levels() -> list[str]:
    off = {name.strip() for name in os.environ.get("NPU_LAYOUT_DISABLE", "").split(",")}
    return [name for name, _ in reversed(_native.LEVELS) if name == "base" or name not in off]


LEVELS = _levels()  # what this machine can do, best first, without those turned off
LEVEL = LEVELS[0]


class FastPath(NamedTuple):
    """A row of the core's table: how the innermost loops of a walk are done."""

    name: str
    kind: str  #: move, convert, gray or reduce
    applies: str  #: to what
    steps: dict[str, int]  #: instruction set: bytes of the vector that one step works on; 0: element by element


def _fast_paths() -> list[FastPath]:
    rows: dict[str, FastPath] = {}
    for name, kind, applies, level, step in _native.FAST:
        if level in LEVELS:
            rows.setdefault(name, FastPath(name, kind, applies, {})).steps[level] = step
    return list(rows.values())


FAST_PATHS = _fast_paths()


def program(
    src_size: int, dst_size: int, fills: Sequence[Box], boxes: Sequence[Box], arithmetic: Arithmetic, level: str = LEVEL
) -> _native.Program | None:
    """The compiled program of a conversion; None where the core has no loops for it."""
    if max((len(box.loops) for box in (*boxes, *fills)), default=0) > 16:
        return None
    core = None if arithmetic.moves_only else _core_arithmetic(arithmetic)
    if core is None and not arithmetic.moves_only:
        return None
    src_item, dst_item = arithmetic.itemsizes
    return _native.Program(
        level,
        src_size * src_item,
        src_item,
        dst_size * dst_item,
        dst_item,
        tuple(tuple(box) for box in fills),
        tuple(tuple(box) for box in boxes),
        core,
    )


class CoreArithmetic(NamedTuple):
    """An arithmetic as the core reads it, field by field in this order (`read_parameters` of binding/native.c).

    The arrays have one value for each channel. The result is ``rint(y + before)`` clamped to `low` and `high`, plus
    `after`. If `in_one_step` is true, ``y`` is ``x * scale``, and if `bits` is not 0, the sum is done in 16 bits with
    `factor` and `summand`.
    """

    src_dtype: int  #: index in the core's DTYPES
    dst_dtype: int
    has_steps: bool  #: a shift, a scale or a divisor
    divides: bool
    in_one_step: bool
    bits: int
    shift: np.ndarray  #: float32, as the next five
    scale: np.ndarray
    divisor: np.ndarray
    before: np.ndarray
    low: np.ndarray
    high: np.ndarray
    after: np.ndarray  #: int32, as the next two
    factor: np.ndarray
    summand: np.ndarray


class _Rounding(NamedTuple):
    """What an integer destination adds before and after rounding, and the bounds between; zeros for a float one."""

    before: np.ndarray
    after: np.ndarray
    low: np.ndarray
    high: np.ndarray


def _core_arithmetic(a: Arithmetic) -> CoreArithmetic | None:
    """Return the arithmetic as the core reads it, or None if the core has no loops for it."""
    if a.src_dtype not in _DTYPES or a.dst_dtype not in _DTYPES:
        return None
    has_steps = any(p is not None for p in (a.shift, a.scale, a.divisor))
    to_integer = "float" not in a.dst_dtype
    if to_integer and a.zero_point is None and (has_steps or "float" in a.src_dtype):
        return None
    channels = next((len(p) for p in (a.shift, a.scale, a.divisor, a.zero_point) if p is not None), 1)
    rounding = _rounding(a, channels, to_integer)
    if rounding is None:
        return None
    shift, scale, divisor = (_filled(p, channels, d) for p, d in ((a.shift, 0), (a.scale, 1), (a.divisor, 1)))
    one_step, in_16_bits = _shortened(a, shift, scale, divisor, rounding)
    bits, factor, summand = in_16_bits or (0, np.zeros(channels), np.zeros(channels))
    before = rounding.before
    if one_step is not None:
        scale, before = one_step
    floats = [np.ascontiguousarray(values, np.float32) for values in (before, rounding.low, rounding.high)]
    integers = [np.ascontiguousarray(values, np.int32) for values in (rounding.after, factor, summand)]
    return CoreArithmetic(
        src_dtype=_DTYPES.index(a.src_dtype),
        dst_dtype=_DTYPES.index(a.dst_dtype),
        has_steps=has_steps,
        divides=a.divisor is not None,
        in_one_step=one_step is not None,
        bits=bits,
        shift=shift,
        scale=scale,
        divisor=divisor,
        before=floats[0],
        low=floats[1],
        high=floats[2],
        after=integers[0],
        factor=integers[1],
        summand=integers[2],
    )


def _shortened(
    a: Arithmetic, shift: np.ndarray, scale: np.ndarray, divisor: np.ndarray, rounding: _Rounding
) -> tuple[tuple[np.ndarray, np.ndarray] | None, tuple[int, np.ndarray, np.ndarray] | None]:
    """Return bytes to bytes in one step, and in 16 bits; None for each that no factors do to the last bit."""
    if a.src_dtype not in _BYTES or a.dst_dtype not in _BYTES or len(scale) > _TRIED:
        return None, None
    ratio = scale.astype(np.float64) / divisor
    total = rounding.before + rounding.after - shift.astype(np.float64) * ratio
    exact = _of_every_byte(a, shift, scale, divisor, rounding.before, rounding.after)
    one_step = _in_one_step(a, exact, ratio, total)
    if one_step is None or len(scale) > _SEARCHED:
        return one_step, None
    return one_step, _in_16_bits(a, exact, ratio, total)


def _filled(values: np.ndarray | None, channels: int, default: float) -> np.ndarray:
    return np.full(channels, default, np.float32) if values is None else np.ascontiguousarray(values, np.float32)


def _rounding(a: Arithmetic, channels: int, to_integer: bool) -> _Rounding | None:
    """Return what rounding adds and its bounds, or None if float32 cannot hold the sums exactly."""
    zero = np.zeros(channels)
    if not to_integer:
        return _Rounding(zero, zero, zero, zero)
    before = after = zero
    if a.zero_point is not None and a.float_zero_point:
        before = a.zero_point
    elif a.zero_point is not None:
        after = a.zero_point
    lowest, highest = limits(a.dst_dtype)
    low, high = lowest - after, highest - after
    if a.dst_dtype == "int32":
        inexact = np.abs(after).max() > highest
    else:
        inexact = max(np.abs(low).max(), np.abs(high).max()) > _ROUNDABLE
    return None if inexact else _Rounding(before, after, low, high)


def _of_every_byte(
    a: Arithmetic, shift: np.ndarray, scale: np.ndarray, divisor: np.ndarray, before: np.ndarray, after: np.ndarray
) -> np.ndarray:
    """The exact result for each byte, lowest first, and channel: (256, channels)."""
    first, last = limits(a.src_dtype)
    x = np.arange(first, last + 1, dtype=np.float32)[:, None]
    with np.errstate(all="ignore"):
        exact: np.ndarray = np.rint((x - shift) * scale / divisor + np.float32(before)) + after
    return exact.clip(*limits(a.dst_dtype))


def _in_one_step(
    a: Arithmetic, exact: np.ndarray, ratio: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Factor and summand for which rint(x * factor + summand) is the arithmetic, to the last bit, for every byte x;
    None where there are none: then every step has to be taken."""
    first, last = limits(a.src_dtype)
    x = np.arange(first, last + 1, dtype=np.float32)[:, None]
    with np.errstate(all="ignore"):
        factor, summand = ratio.astype(np.float32), total.astype(np.float32)
        left = np.arange(len(ratio))
        for tilt, lift in _NUDGES:  # where x meets the middle between two integers, a hair decides
            factor[left], summand[left] = ratio[left] * (1 + tilt), total[left] + lift
            tried = x * factor[left] + summand[left]
            wrong = np.clip(np.rint(tried), *limits(a.dst_dtype)) != exact[:, left]
            left = left[wrong.any(0) | ~(np.abs(tried).max(0) < _ROUNDABLE)]
            if not left.size:
                return factor, summand
    return None


def _in_16_bits(
    a: Arithmetic, exact: np.ndarray, ratio: np.ndarray, total: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Bits, factor and summand for which (u * factor / 256 - 32768 + summand) >> bits, saturated at each step, is the
    arithmetic to the last bit, with u and the result counted from the lowest value of their dtypes; None where there
    are none."""
    first, lowest = limits(a.src_dtype)[0], limits(a.dst_dtype)[0]
    if not (np.isfinite(ratio).all() and np.isfinite(total).all() and ratio.min() > 0 and ratio.max() < 64):
        return None
    bits = min(8, int(np.floor(8 - np.log2(ratio.max() * (1 + 2**-8)))))
    expected = exact - lowest - 128
    start = (total + first * ratio - lowest - 128) * 2.0**bits + 2.0 ** (bits - 1) + 32768
    u = np.arange(256)[:, None, None]
    factors, summands = [], []
    for c in range(len(ratio)):
        for reach, lift in ((1, 2), (16, 6)):  # of 3000 random means, scales and zero points 98 % are found
            factor = np.rint(ratio[c] * 2.0 ** (8 + bits)) + np.arange(-reach, reach + 1)
            summand = np.floor(start[c]) + np.arange(-lift, lift + 1)
            factor = factor[(factor >= 1) & (factor < 1 << 16)].astype(np.int64)[:, None]
            summand = summand[(summand >= -32768) & (summand < 32768)].astype(np.int64)
            tried = np.clip(np.clip((u * factor >> 8) - 32768 + summand, -32768, 32767) >> bits, -128, 127)
            good = np.argwhere((tried == expected[:, c, None, None]).all(0))
            if len(good):
                break
        else:
            return None
        factors.append(factor[good[0][0], 0])
        summands.append(summand[good[0][1]])
    return bits, np.array(factors), np.array(summands)


def gray(blue: np.ndarray, green: np.ndarray, red: np.ndarray, out: np.ndarray, level: str = LEVEL) -> FastPath:
    """As `_numpy_gray.gray`, the same bits; the path that was taken."""
    return FAST_PATHS[_native.gray(level, _GRAYS[out.dtype.char], blue, green, red, out)]


def argmax(
    x: np.ndarray, out: np.ndarray, channels: int | None, dtype: str | None, level: str = LEVEL
) -> FastPath | None:
    """As `kernels.argmax`; the path that was taken, None where arrays do not fit, or have more axes than the core
    walks: then nothing was written."""
    return _taken(_native.argmax(level, x, out, None, channels, dtype))


def top_k(
    x: np.ndarray,
    values: np.ndarray,
    numbers: np.ndarray,
    channels: int | None,
    dtype: str | None,
    level: str = LEVEL,
) -> FastPath | None:
    """As `kernels.top_k`; what it returns is as of `argmax`."""
    return _taken(_native.top_k(level, x, values, numbers, channels, dtype))


def softmax(
    x: np.ndarray,
    out: np.ndarray,
    positions: int | None,
    channels: int | None,
    dtype: str | None,
    scale: float,
    zero_point: float,
    level: str = LEVEL,
) -> FastPath | None:
    """As `kernels.softmax`, the same bits at every level; what it returns is as of `argmax`."""
    return _taken(_native.softmax(level, x, out, positions, channels, dtype, zero_point, scale))


def sigmoid(
    x: np.ndarray,
    out: np.ndarray,
    dtype: str | None,
    scale: float,
    zero_point: float,
    level: str = LEVEL,
    in_place: bool = False,
) -> FastPath | None:
    """As `kernels.sigmoid`, the same bits at every level; what it returns is as of `argmax`. `in_place`: both may share
    memory, as their elements are the same."""
    return _taken(_native.sigmoid(level, x, out, None, None, dtype, zero_point, scale, in_place))


def _taken(path: int) -> FastPath | None:
    return None if path < 0 else FAST_PATHS[path]


def peaks(
    x: np.ndarray,
    channels: int,
    dtype: str,
    least: int | None,
    threshold: float,
    radius: int,
    level: str = LEVEL,
) -> np.ndarray | None:
    """As `_numpy_reduce.peaks`; None where x has more axes than the core walks."""
    if x.ndim > 7:
        return None
    # No two peaks are neighbours.
    room = min(_PEAKS, x.shape[0] * channels * (x.shape[-2] + 1 >> 1) * (x.shape[-1] + 1 >> 1))
    while True:
        out = np.empty((room, 4), np.int64)
        count = _native.peaks(level, _DTYPES.index(dtype), x, out, channels, least or 0, threshold, radius)
        if count <= room:
            return out[:count] if 2 * count > room else out[:count].copy()
        room = count


def tops(x: np.ndarray, rows: np.ndarray, out: np.ndarray, refine: str | None) -> bool:
    """As `kernels.tops`, the same bits; False where arrays do not fit: then nothing was written."""
    return refine in _REFINEMENTS and _native.tops(x, rows, out, _REFINEMENTS.index(refine))


set_threads, get_threads = _native.set_threads, _native.get_threads


def ask_for_the_last_cache() -> None:
    """Tell the core what this machine's holds, where that is a third level whose size is known; else it takes 32 MB."""
    least, most = _LAST_CACHES
    found = caches()
    if found.known and 3 in found.sizes:
        _native.set_last_cache(min(max(found.last, least), most))


ask_for_the_last_cache()
