"""Boxes of loops walked by numpy, and conversions by the rule of the kernels: what tests of kernels compare with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from npu_layout import kernels
from npu_layout.kernels import Affine, Arithmetic, Box
from npu_layout.kernels.box import limits

BACKENDS = kernels.backends()
NATIVE = [name for name in BACKENDS if name != "numpy"]


#: Bytes of the widest vector of any path; 0 without the compiled kernels.
WIDEST = 0
if NATIVE:
    from npu_layout.kernels import native

    WIDEST = max(max(path.steps.values()) for path in native.FAST_PATHS)


DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "float16", "bfloat16", "float32")
BYTES = ("int8", "uint8")
Loops = list[tuple[int, ...]]


def boxed(loops: Loops) -> tuple[Box, int, int]:
    """The box of loops whose lowest index on each side is element 0, and the elements of both sides."""
    lowest = [sum((n - 1) * steps[side] for n, *steps in loops if steps[side] < 0) for side in (0, 1)]
    highest = [sum((n - 1) * steps[side] for n, *steps in loops if steps[side] > 0) for side in (0, 1)]
    box = Box(tuple((n, s, d, sum(p)) for n, s, d, *p in loops if n > 1), -lowest[0], -lowest[1], 0)
    return box, highest[0] - lowest[0] + 1, highest[1] - lowest[1] + 1


def walked(loops: Loops, side: int, start: int) -> np.ndarray:
    """The elements that nested loops visit, in order."""
    return _walked(tuple(loops), side, start)


@lru_cache(maxsize=16)  # the same loops are walked on each side of a fence, and for other bytes around them
def _walked(loops: tuple[tuple[int, ...], ...], side: int, start: int) -> np.ndarray:
    visited = np.array([start])
    for n, *steps in loops:
        visited = (visited[:, None] + np.arange(n) * steps[side]).ravel()
    visited.setflags(write=False)
    return visited


def pad_places(loops: Loops, start: int, pads: int) -> np.ndarray:
    """The elements of the destination behind each run of the last loop."""
    return (walked(loops[:-1], 1, start)[:, None] + loops[-1][0] + np.arange(pads)).ravel()


def filling(loops: Loops, pads: int) -> list[Box]:
    """The box of `pads` elements behind each run of the last loop."""
    around = [(n, 0, d, 0) for n, _, d, *_ in loops[:-1]]
    return [Box(tuple(k for k in (*around, (pads, 0, 1, 0)) if k[0] > 1), 0, loops[-1][0], 0)] if pads else []


def numbers(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """Stored values of a dtype, the ends of its range and the odd ones among them."""
    if dtype == "bfloat16":
        return (numbers(rng, "float32", n).view(np.uint32) >> 16).astype(np.uint16)
    if "float" not in dtype:
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, n, dtype, endpoint=True)
        values[: n // 8] = rng.choice([info.min, info.max, 0], n // 8)
        return values
    with np.errstate(over="ignore"):
        values = (rng.standard_normal(n) * rng.choice([1e-7, 1, 100, 1e5], n)).astype(dtype)
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 6e-8, -6e-5, 65504, -65520])
    with np.errstate(over="ignore"):
        values[: n // 4] = rng.choice(odd, n // 4).astype(dtype)
    return values


def converted(x: np.ndarray, arithmetic: Arithmetic, channel: np.ndarray) -> np.ndarray:
    """What the kernels' rule says, in numpy's own float32: one operation after the other, promoted before."""
    if arithmetic.src_dtype == "bfloat16":
        x = (x.astype(np.uint32) << 16).view(np.float32)

    def of(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[channel]

    shift, scale, divisor, zero = (of(p) for p in arithmetic.affine.values)
    to = arithmetic.dst_dtype
    with np.errstate(all="ignore"):
        y = x.astype(np.float32)
        y = y if shift is None else y - shift
        y = y if scale is None else y * scale
        y = y if divisor is None else y / divisor
        if to == "bfloat16":
            bits = y.view(np.uint32)
            rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
            return np.where(np.isnan(y), (bits >> 16).astype(np.uint16) | 0x40, rounded)
        if "float" in to:
            return y.astype(to)
        lowest, highest = limits(to)
        exact = y + zero.astype(np.float32) if arithmetic.affine.float_zero_point else y
        total = np.rint(exact).astype(np.float64) + (0 if arithmetic.affine.float_zero_point else zero)
        return np.where(np.isnan(total), lowest, np.clip(total, lowest, highest)).astype(to)


def same(a: np.ndarray, b: np.ndarray, dtype: str) -> bool:
    """Equal to the last bit; any NaN is as good as another."""
    if "float" not in dtype:
        return np.array_equal(a, b)
    if a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes():  # as nearly always, NaN included
        return True
    if dtype == "bfloat16":
        a, b = ((v.astype(np.uint32) << 16).view(np.float32) for v in (a, b))
    bits = f"u{a.itemsize}"
    return bool((np.isnan(a) == np.isnan(b)).all()) and np.array_equal(
        np.where(np.isnan(a), 0, a).astype(a.dtype).view(bits), np.where(np.isnan(b), 0, b).astype(b.dtype).view(bits)
    )


def computing(source: str, target: str, *steps: Any, channels: int = 0, **more: Any) -> Arithmetic:
    """The arithmetic of an Affine's steps, as arrays of `channels` values; 0: the steps are such arrays."""
    affine = Affine("", *steps, **more)
    return Arithmetic(source, target, affine.arrays(channels) if channels else affine)


def arithmetics(source: str, target: str, channels: int) -> Iterator[Arithmetic]:
    rng = np.random.default_rng(channels)

    def some(low: float, high: float) -> tuple[float, ...]:
        return tuple(rng.uniform(low, high, channels).astype(np.float32).tolist())

    whole = tuple(float(z) for z in rng.integers(-100, 100, channels))
    for shift, scale, divisor in (
        (None, None, None),
        (some(-50, 50), some(-2, 2), None),
        (None, None, some(0.01, 3)),
        (some(0, 255), some(0.01, 0.02), some(0.01, 0.1)),
    ):
        zeros = [(whole, False), (some(-9, 9), True)] if "float" not in target else [(None, False)]
        for zero, fractional in zeros:
            yield computing(source, target, shift, scale, divisor, zero, fractional, channels=channels)
