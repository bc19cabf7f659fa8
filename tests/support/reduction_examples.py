"""Reductions that take each fast path, arrays in memory of any order, and oracles in scalar loops or in float64."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.support.memory import Fenced

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "float16", "bfloat16", "float32")
ORDERS = ("NCHW", "NHWC", "CHWN", "NHCW", "HWCN", "WCHN", "CNWH", "HWNC")
SHAPES = ((1, 1, 1, 1), (2, 17, 3, 5), (1, 5, 9, 70), (3, 2, 1, 33), (1, 130, 4, 7), (9, 3, 2, 2), (1, 21, 40, 41))


# Fast path: dtypes, numbers of channels, orders of memory.
EXAMPLES = {
    "argmax": (DTYPES, (1, 5, 8), ("CHW", "HWC")),
    "argmax blocks": (
        tuple(d for d in DTYPES if d != "float32"),
        (160, 165),
        ("32CHW",),
    ),  # from five blocks on; floats go across so many
    "argmax across": (("float32",), (9, 17, 40, 70), ("HWC",)),
    "top k": (DTYPES, (5, 21), ("CHW",)),
    "top k across": (("uint8", "int32", "bfloat16", "float32"), (21,), ("CHW", "HWC")),
    "softmax": (DTYPES, (*range(1, 10), 17), ("CHW", "HWC")),
    "softmax across": (DTYPES, (64, 79, 83), ("HWC",)),
    "sigmoid": (DTYPES, (1, 3), ("CHW", "HWC")),
    "peaks": (DTYPES, (1, 3), ("CHW", "HWC")),
}
ULPS = {"softmax": 16, "numpy's softmax": 144, "sigmoid": 4}  # as `_numpy_reduce` promises


def stored_dtype(dtype: str) -> np.dtype[Any]:
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def values(rng: np.random.Generator, dtype: str, shape: Sequence[int], odd: bool = True) -> np.ndarray:
    """Stored values: few different ones, so that there are ties, and among them the ends of the range, NaN, -0."""
    stored = stored_dtype(dtype)
    if stored.kind in "iu" and dtype != "bfloat16":
        info = np.iinfo(stored)
        some = [info.min, info.max, *rng.integers(info.min, info.max, 5, stored, endpoint=True)]
        return rng.choice(np.array(some, stored), shape)
    numbers = [0.0, -0.0, 1.5, -2.25, 1e-7, 3.0, -60.0, *rng.standard_normal(20)]
    if odd:
        numbers += [np.inf, -np.inf, -np.inf, 65504.0]
    x = rng.choice(np.array(numbers, np.float32), shape)
    if odd:
        x[rng.random(shape) < 0.01] = np.nan
    return (x.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bfloat16" else x.astype(stored)


def real(x: np.ndarray, dtype: str) -> np.ndarray:
    """Stored values as float64."""
    if dtype == "bfloat16":
        return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return x.astype(np.float64)


def room(
    fence: Fenced,
    dtype: Any,
    shape: Sequence[int],
    order: str,
    gaps: Sequence[int] | None = None,
    flips: str = "",
    first: bool = False,
    axes: str = "NCHW",
) -> np.ndarray:
    """An array with `axes` that is stored in `order`, with gaps of so many elements behind each of the order's
    axes, those in `flips` backwards; it ends where the fence begins, or begins where one ends."""
    item, strides, pitch = np.dtype(dtype).itemsize, dict.fromkeys(axes, 0), 1
    extents = dict(zip(axes, shape))
    for i in reversed(range(len(order))):
        pitch += gaps[i] if gaps else 0
        strides[order[i]] = pitch * item
        pitch *= extents[order[i]]
    reach = sum((extents[a] - 1) * strides[a] for a in axes) + item
    memory = (fence.first if first else fence.last)(reach)
    start = sum((extents[a] - 1) * strides[a] for a in flips)
    signs = [-strides[a] if a in flips else strides[a] for a in axes]
    return np.ndarray(tuple(shape), dtype, memory, start, signs)


def blocks(fence: Fenced, x: np.ndarray, block: int, first: bool = False) -> np.ndarray:
    """A copy of (H, W, C) in blocks of channels, (H, W, blocks, block), that begins or ends at a fence."""
    h, w, c = x.shape
    view = room(fence, x.dtype, (h, w, -(-c // block), block), "CHWL", first=first, axes="HWCL")
    view[...] = -1 if x.dtype.kind == "i" else x.max()  # the lanes that are no channels
    for i in range(c):
        view[..., i // block, i % block] = x[..., i]
    return view


def first_largest(row: Sequence[float]) -> int:
    best = 0
    for i, v in enumerate(row):
        if math.isnan(row[best]):
            return best
        if math.isnan(v) or v > row[best]:
            best = i
    return best


def argmax_oracle(x: np.ndarray, dtype: str) -> np.ndarray:
    """Of (N, C, H, W), element by element."""
    rows = real(x, dtype).transpose(0, 2, 3, 1)
    result = np.empty(rows.shape[:-1], np.int64)
    for index in np.ndindex(*result.shape):
        result[index] = first_largest(rows[index].tolist())
    return result


def ranked(row: Sequence[float], k: int) -> list[int]:
    """The k largest, the first of equal ones first; NaN is the largest."""
    return sorted(range(len(row)), key=lambda c: (False, 0, c) if math.isnan(row[c]) else (True, -row[c], c))[:k]


def top_k_oracle(x: np.ndarray, dtype: str, k: int) -> np.ndarray:
    """Of (..., C), element by element."""
    rows = real(x, dtype)
    return np.array([ranked(row, k) for row in rows.reshape(-1, rows.shape[-1]).tolist()]).reshape(*x.shape[:-1], k)


def softmax_oracle(v: np.ndarray) -> np.ndarray:
    """Of (N, C, H, W) in float64; rows with NaN, or with an infinity at the top, are NaN."""
    rows = v.astype(np.float64)
    most = rows.max(1, keepdims=True)
    with np.errstate(invalid="ignore"):
        powers = np.exp(rows - most)
    return np.where(np.isfinite(most), powers / powers.sum(1, keepdims=True), np.nan)


def assert_softmax(got: np.ndarray, v: np.ndarray, backend: str, expected: np.ndarray | None = None) -> None:
    """Both (N, C, H, W); `expected`: what the oracle says, where it was asked."""
    name = "numpy's softmax" if backend == "numpy" else "softmax"
    assert_near(got, softmax_oracle(v) if expected is None else expected, ULPS[name])


def sigmoid_oracle(v: np.ndarray) -> np.ndarray:
    """In float64, element by element."""

    def of(a: float) -> float:
        power = math.exp(-abs(a))
        return (power if a < 0 else 1.0) / (1.0 + power)

    numbers = v.astype(np.float64).ravel().tolist()
    known = {a: of(a) for a in {*numbers}}  # most are there many times
    return np.array([known[a] for a in numbers]).reshape(v.shape)


def scaled(x: np.ndarray, dtype: str, scale: float, zero: float) -> np.ndarray:
    """Stored values as the float32 that a scale and a zero point make of them."""
    with np.errstate(all="ignore"):
        v: np.ndarray = (real(x, dtype).astype(np.float32) - np.float32(zero)) * np.float32(scale)
    return v


def assert_near(got: np.ndarray, expected: np.ndarray, ulps: int) -> None:
    assert (np.isnan(got) == np.isnan(expected)).all()
    with np.errstate(invalid="ignore"):
        unit = np.maximum(np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64), 2.0**-149)
        off = np.abs(got - expected) - np.where(expected < 2e-38, 1.5 * 2.0**-126, 0)
    assert not (off > ulps * unit).any(), np.nanmax(off / unit)


def peaks_oracle(x: np.ndarray, dtype: str, threshold: float, radius: int) -> list[tuple[int, ...]]:
    found = []
    n, c, h, w = x.shape
    values = real(x, dtype).tolist()
    for index in itertools.product(range(n), range(c), range(h), range(w)):
        plane, y, x0 = values[index[0]][index[1]], index[2], index[3]
        v = plane[y][x0]
        if not v > threshold:
            continue
        good = True
        for j in range(max(0, y - radius), min(h, y + radius + 1)):
            for i in range(max(0, x0 - radius), min(w, x0 + radius + 1)):
                if (j, i) < (y, x0):
                    good = good and v > plane[j][i]
                elif (j, i) > (y, x0):
                    good = good and v >= plane[j][i]
        if good:
            found.append(index)
    return found


def shifted_peaks(x: np.ndarray, threshold: float) -> list[list[int]]:
    """The usual spelling for a window of 3 x 3."""
    y = np.full((*x.shape[:2], x.shape[2] + 2, x.shape[3] + 2), -np.inf)
    y[:, :, 1:-1, 1:-1] = x
    good = x.astype(np.float64) > threshold
    for j, i in itertools.product(range(3), repeat=2):
        other = y[:, :, j : j + x.shape[2], i : i + x.shape[3]]
        if (j, i) != (1, 1):
            good &= x > other if (j, i) < (1, 1) else x >= other
    return np.argwhere(good).tolist()


def bits(x: np.ndarray) -> np.ndarray:
    """To compare floats by: one NaN is as good as another."""
    return np.where(np.isnan(x), np.float32(np.nan), x).astype(np.float32).view(np.uint32)


def arranged(rng: np.random.Generator) -> Iterator[tuple[str, list[int] | None, str]]:
    for order in ORDERS:
        yield order, None, ""
        yield order, rng.integers(0, 3, 4).tolist(), "".join(a for a in order if rng.random() < 0.4)


def placed(
    rng: np.random.Generator, fences: tuple[Fenced, Fenced], x: np.ndarray
) -> Iterator[tuple[str, np.ndarray, Callable[[], np.ndarray]]]:
    """x in memory of every order, and what makes room for float32 of its shape, in the same order or another one."""
    for i, (order, gaps, flips) in enumerate(arranged(rng)):
        view = room(fences[0], x.dtype, x.shape, order, gaps, flips, i % 3 == 0)
        view[...] = x
        other = order if i % 2 else "".join(rng.permutation(list(order)))

        def result(i: int = i, other: str = other) -> np.ndarray:
            gaps = [0, 1, 0, 2] if i % 4 == 3 else None
            out = room(fences[1], np.float32, x.shape, other, gaps, "W" * (i % 5 == 2))
            out[...] = -7
            return out

        yield f"{x.shape} {order} -> {other} {gaps} {flips}", view, result
