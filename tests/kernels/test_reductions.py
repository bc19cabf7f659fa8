"""argmax, top_k, softmax, sigmoid and peaks, at every level, against scalar loops: layouts, dtypes, widths, fences."""

from __future__ import annotations

import itertools
import math
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_layout import kernels
from npu_layout.kernels.fallback import reduce as _numpy_reduce
from tests.support.memory import LAST_CACHE, Fenced

BACKENDS = kernels.backends()
NATIVE = [name for name in BACKENDS if name != "numpy"]
if NATIVE:
    from npu_layout.kernels import native
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "float16", "bfloat16", "float32")
ORDERS = ("NCHW", "NHWC", "CHWN", "NHCW", "HWCN", "WCHN", "CNWH", "HWNC")
SHAPES = ((1, 1, 1, 1), (2, 17, 3, 5), (1, 5, 9, 70), (3, 2, 1, 33), (1, 130, 4, 7), (9, 3, 2, 2), (1, 21, 40, 41))
# Fast path: dtypes, numbers of channels, orders of memory.
EXAMPLES = {
    "argmax": (DTYPES, (1, 5, 8), ("CHW", "HWC")),
    "argmax across": (("float32",), (9, 17, 40, 70), ("HWC",)),
    "top k": (DTYPES, (5, 21), ("CHW",)),
    "top k across": (("uint8", "int32", "bfloat16", "float32"), (21,), ("CHW", "HWC")),
    "softmax": (DTYPES, (*range(1, 10), 17), ("CHW", "HWC")),
    "softmax across": (DTYPES, (64, 79, 83), ("HWC",)),
    "sigmoid": (DTYPES, (1, 3), ("CHW", "HWC")),
    "peaks": (DTYPES, (1, 3), ("CHW", "HWC")),
}
ULPS = {"softmax": 16, "numpy's softmax": 144, "sigmoid": 4}  # as `_numpy_reduce` promises


@pytest.fixture(scope="module")
def fences() -> tuple[Fenced, Fenced]:
    return Fenced(1 << 20), Fenced(1 << 20)


@pytest.fixture(scope="module", autouse=True)
def asked_alone() -> Iterator[None]:
    """The core, which refuses what does not fit, refuses nothing that it could do: numpy steps in where arrays have
    more axes than the core walks, or more than 1024 values are wanted, and nowhere else."""

    def watched(twin: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: np.ndarray, *rest: Any) -> Any:
            asked, many = sys._getframe(1).f_locals, twin.__name__ == "top_k" and rest[1].shape[-1] > 1024
            assert kernels._BACKENDS[asked["backend"]] is None or many or x.ndim > 6, (x.shape, x.strides, rest)
            return twin(x, *rest)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("argmax", "top_k", "softmax", "sigmoid", "peaks", "tops"):
            patch.setattr(_numpy_reduce, name, watched(getattr(_numpy_reduce, name)))
        yield


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
    """An array with `axes` that lies in memory in `order`, with gaps of so many elements behind each of the order's
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
    rows = v.astype(np.float64).transpose(0, 2, 3, 1)
    result = np.empty(rows.shape)
    for index in np.ndindex(*rows.shape[:-1]):
        row = rows[index].tolist()
        most = max(row, key=lambda a: (math.isnan(a), a))
        if math.isnan(most) or math.isinf(most):
            result[index] = math.nan
            continue
        powers = [math.exp(a - most) for a in row]
        total = math.fsum(powers)
        result[index] = [p / total for p in powers]
    return result.transpose(0, 3, 1, 2)


def assert_softmax(got: np.ndarray, v: np.ndarray, backend: str, expected: np.ndarray | None = None) -> None:
    """Both (N, C, H, W); `expected`: what the oracle says, where it was asked."""
    name = "numpy's softmax" if backend == "numpy" else "softmax"
    assert_near(got, softmax_oracle(v) if expected is None else expected, ULPS[name])


def sigmoid_oracle(v: np.ndarray) -> np.ndarray:
    """In float64, element by element."""

    def of(a: float) -> float:
        power = math.exp(-abs(a))
        return (power if a < 0 else 1.0) / (1.0 + power)

    return np.array([of(a) for a in v.astype(np.float64).ravel().tolist()]).reshape(v.shape)


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


@pytest.mark.parametrize("dtype", DTYPES)
def test_argmax_in_every_layout(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        x = values(rng, dtype, shape)
        expected = argmax_oracle(x, dtype)
        for i, (order, gaps, flips) in enumerate(arranged(rng)):
            view = room(fences[0], x.dtype, shape, order, gaps, flips, i % 3 == 0)
            view[...] = x
            kept = [a for a in order if a != "C"]
            other = "".join(kept) if i % 2 else "".join(rng.permutation(kept))
            small = (shape[0], *shape[2:])
            for backend in BACKENDS:
                out = room(
                    fences[1], np.int64, small, other, [0, 0, 1] if i % 4 == 3 else None, "H" * (i % 5 == 2), axes="NHW"
                )
                out[...] = -7
                kernels.argmax(view.transpose(0, 2, 3, 1), out, dtype=dtype, backend=backend)
                np.testing.assert_array_equal(out, expected, err_msg=f"{backend} {shape} {order} {gaps} {flips}")
            np.testing.assert_array_equal(view.astype(x.dtype), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k_in_every_layout(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    rng = np.random.default_rng(15)
    for shape in SHAPES:
        x = values(rng, dtype, shape)
        last = x.transpose(0, 2, 3, 1)
        every = top_k_oracle(last, dtype, shape[1])
        for i, (order, gaps, flips) in enumerate(arranged(rng)):
            view = room(fences[0], x.dtype, shape, order, gaps, flips, i % 3 == 0)
            view[...] = x
            k = (1, min(3, shape[1]), min(7, shape[1]), min(12, shape[1]), shape[1])[i % 5]
            small = (shape[0], k, *shape[2:])
            orders = [order, "".join(rng.permutation(list(order)))]
            for backend in BACKENDS:
                # One begins where a fence ends, the other ends where it begins.
                held = room(
                    fences[1],
                    x.dtype,
                    small,
                    orders[i % 2],
                    [0, 0, 1, 0] if i % 4 == 3 else None,
                    "H" * (i % 5 == 2),
                    True,
                )
                which = room(fences[1], np.int64, small, orders[i % 2 - 1], None, "W" * (i % 5 == 4))
                held[...], which[...] = 99, -7
                kernels.top_k(*(a.transpose(0, 2, 3, 1) for a in (view, held, which)), dtype=dtype, backend=backend)
                message = f"{backend} {shape} {order} {gaps} {flips} {k}"
                np.testing.assert_array_equal(which.transpose(0, 2, 3, 1), every[..., :k], err_msg=message)
                expected = np.take_along_axis(last, every[..., :k], -1)
                assert held.transpose(0, 2, 3, 1).tobytes() == expected.tobytes(), message  # a NaN as it was
            np.testing.assert_array_equal(view.astype(x.dtype), x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_top_k_of_every_number(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Of values that are kept in registers, on planes, and row by row; of channels of several tiles and of one row."""
    rng = np.random.default_rng(16)
    for channels, n in ((1300, 3), (700, 21), (130, 67), (40, 300)):
        for dtype in ("int8", "float16", "float32"):
            x = values(rng, dtype, (n, channels))
            every = top_k_oracle(x, dtype, channels)
            for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 33, channels - 1, channels):
                for order in ("PC", "CP"):
                    view = room(fences[0], x.dtype, x.shape, order, axes="PC")
                    view[...] = x
                    held, which = np.zeros((n, k), x.dtype), np.zeros((n, k), np.int64)
                    kernels.top_k(view, held, which, backend=backend)
                    np.testing.assert_array_equal(which, every[:, :k], err_msg=f"{dtype} {channels} {n} {k} {order}")
                    assert held.tobytes() == np.take_along_axis(x, every[:, :k], 1).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint8", "int16", "int32"])
def test_softmax_in_every_layout(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    """The native levels to the last bit, all within what is promised."""
    rng = np.random.default_rng(2)
    for shape in SHAPES:
        x = values(rng, dtype, shape)
        scale, zero = (1.0, 0.0) if dtype == "float32" else (0.7 if stored_dtype(dtype).itemsize == 1 else 1e-4, 3.0)
        v, first = scaled(x, dtype, scale, zero), None
        expected = softmax_oracle(v)
        for message, view, result in placed(rng, fences, x):
            for backend in BACKENDS:
                out = result()
                kernels.softmax(
                    view.transpose(0, 2, 3, 1),
                    out.transpose(0, 2, 3, 1),
                    dtype=dtype,
                    scale=scale,
                    zero_point=zero,
                    backend=backend,
                )
                assert_softmax(out, v, backend, expected)
                if backend != "numpy":
                    first = out.copy() if first is None else first
                    np.testing.assert_array_equal(bits(out), bits(first), err_msg=f"{backend} {message}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_sigmoid_in_every_layout(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    """The native levels to the last bit, all within what is promised; the other order of the axes in the result too."""
    rng = np.random.default_rng(15)
    for shape in SHAPES:
        x = values(rng, dtype, shape)
        scale, zero = (1.0, 0.0) if dtype == "float32" else (0.07 if stored_dtype(dtype).itemsize == 1 else 1e-4, 3.0)
        expected = sigmoid_oracle(scaled(x, dtype, scale, zero))
        first: dict[bool, np.ndarray] = {}
        for message, view, result in placed(rng, fences, x):
            for backend in BACKENDS:
                out = result()
                kernels.sigmoid(view, out, dtype, scale, zero, backend)
                same = first.setdefault(backend == "numpy", out.copy())
                assert_near(out, expected, ULPS["sigmoid"])
                np.testing.assert_array_equal(bits(out), bits(same), err_msg=f"{backend} {message}")
                if dtype == "float32":
                    kernels.sigmoid(view, view, backend=backend)
                    np.testing.assert_array_equal(bits(view), bits(same), err_msg=f"{backend} {message}, in place")
                    view[...] = x


def test_sigmoid_of_every_size_and_at_its_ends(fences: tuple[Fenced, Fenced]) -> None:
    """Floats near each power of two and where the exponential meets the limits of float32; what it says at the ends."""
    near = np.array([s * 2.0**e * f for e in range(-149, 128) for f in (1, 1.2, 1.7) for s in (1, -1)], np.float32)
    ends = np.concatenate([np.arange(-90, -80, 0.01), np.arange(15, 19, 0.01), np.arange(86, 90, 0.01)])
    x = np.concatenate([near, ends.astype(np.float32), np.random.default_rng(16).normal(0, 6, 5000).astype(np.float32)])
    for backend in BACKENDS:
        out = np.empty_like(x)
        kernels.sigmoid(x, out, backend=backend)
        assert_near(out, sigmoid_oracle(x), ULPS["sigmoid"])
        few = np.array([math.inf, -math.inf, 0.0, -0.0, math.nan, -math.nan, 1e38, -1e38], np.float32)
        kernels.sigmoid(few, few, backend=backend)
        np.testing.assert_array_equal(few, np.array([1, 0, 0.5, 0.5, math.nan, math.nan, 1, 0], np.float32))


def reduced(path: str, x: np.ndarray, dtype: str, out: np.ndarray, level: str) -> tuple[str, np.ndarray]:
    """The path that the core takes for (H, W, C), and what comes out; `out`: room for it."""
    if path == "peaks":
        found = native.peaks(x.transpose(2, 0, 1)[None], x.shape[2], dtype, 1, 0.5, 1, level)
        return path, found
    if path == "sigmoid":
        result = out[: 4 * x.size].view(np.float32).reshape(x.shape)
        return native.sigmoid(x, result, dtype, 1.0, 0.0, level).name, result
    if path in ("top k", "top k across"):
        k = 3 if path == "top k" else 17
        result = out[: 8 * k * x[..., 0].size].view(np.int64).reshape(*x.shape[:2], k)
        held = np.empty(result.shape, x.dtype)
        taken = native.top_k(x, held, result, None, dtype, level)
        np.testing.assert_array_equal(held, np.take_along_axis(x, result, -1))
        return taken.name, result
    if path in ("softmax", "softmax across"):
        result = out[: 4 * x.size].view(np.float32).reshape(x.shape)
        taken = native.softmax(x, result, 2, x.shape[2], dtype, 1.0, 0.0, level)
    else:
        result = out[: 8 * x[..., 0].size].view(np.int64).reshape(x.shape[:2])
        taken = native.argmax(x, result, x.shape[2], dtype, level)
    return taken.name, result


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("path", EXAMPLES)
def test_every_path_at_every_width(path: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    rng, level = np.random.default_rng(12), kernels._BACKENDS[backend]
    step = next(row.steps[level] for row in native.FAST_PATHS if row.name == path)
    for dtype, channels, order in itertools.product(*EXAMPLES[path]):
        stored = stored_dtype(dtype)
        for n, first in itertools.product((*range(1, 2 * 64 // stored.itemsize + 2), 1030), (True, False)):
            x = values(rng, dtype, (3, n, channels), odd=False)
            view = room(fences[0], stored, x.shape, order, first=first, axes="HWC")
            view[...] = x
            taken, got = reduced(path, view, dtype, fences[1].first(1 << 20), level)
            assert taken == path or not step
            if path == "peaks":
                expected = np.array(shifted_peaks(real(x, dtype).transpose(2, 0, 1)[None], 0.5)).reshape(-1, 4)
            elif path == "sigmoid":
                assert_near(got, sigmoid_oracle(real(x, dtype).astype(np.float32)), ULPS["sigmoid"])
                expected = np.empty(x.shape, np.float32)
                kernels.sigmoid(x, expected, dtype, backend=NATIVE[-1])
                expected, got = bits(expected), bits(got)
            elif path in ("softmax", "softmax across"):
                expected = np.empty(x.shape, np.float32)
                kernels.softmax(x, expected, dtype=dtype, backend=NATIVE[-1])
                if backend == NATIVE[-1] and n < 40:  # so that the others, which agree with it, are right too
                    v = real(x, dtype).astype(np.float32)
                    assert_softmax(got.transpose(2, 0, 1)[None], v.transpose(2, 0, 1)[None], backend)
                expected, got = bits(expected), bits(got)
            elif path in ("top k", "top k across"):
                expected = (-real(x, dtype)).argsort(-1, kind="stable")[..., : got.shape[-1]]
            else:
                expected = real(x, dtype).argmax(-1)
            np.testing.assert_array_equal(got, expected, err_msg=f"{backend} {dtype} {channels} {order} {n}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_width_between_fences(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Also where channels lie in blocks whose last one is not all there: the fence begins at the first pad lane."""
    rng = np.random.default_rng(3)
    for dtype, channels, block in itertools.product(("int8", "uint16", "float32"), (1, 5, 17), (0, 4, 16)):
        stored = stored_dtype(dtype)
        for n in (*range(1, 2 * 64 + 2), 1025, 1100):
            x = values(rng, dtype, (n, channels), odd=False)
            expected = [first_largest(row) for row in real(x, dtype).tolist()] if n < 20 else np.argmax(x, 1)
            result = fences[1].last(8 * n).view(np.int64)
            views = []
            if block:
                blocks = -(-channels // block)
                last = channels - (blocks - 1) * block
                size = ((blocks - 1) * block * n + (n - 1) * block + last) * stored.itemsize
                memory = fences[0].last(size)
                item = stored.itemsize
                strides = (block * item, n * block * item, item)
                view = np.lib.stride_tricks.as_strided(memory.view(stored), (n, blocks, block), strides)
                for c in range(channels):
                    view[:, c // block, c % block] = x[:, c]
                views.append(view)
            else:
                for first, planar in itertools.product((True, False), repeat=2):
                    memory = (fences[0].first if first else fences[0].last)(x.nbytes).view(stored)
                    view = memory.reshape(channels, n).T if planar else memory.reshape(n, channels)
                    views.append(view)
            for view in views:
                if not block:
                    view[...] = x
                result[:] = 99
                kernels.argmax(view, result, channels, dtype, backend)
                np.testing.assert_array_equal(result, expected, err_msg=f"{dtype} {channels} {block} {n}")
            if dtype != "float32" or n > 70:
                continue
            flat = np.empty((n, channels), np.float32)
            kernels.softmax(x, flat, backend=backend)
            for view in views:
                if not block:
                    view[...] = x
                memory = fences[1].last(size if block else 4 * n * channels).view(np.float32)
                memory[:] = 0.25
                out = np.lib.stride_tricks.as_strided(memory, view.shape, view.strides)
                kernels.softmax(view, out, 1, channels, backend=backend)
                for c in range(channels):
                    lane = (c // block, c % block) if block else (c,)
                    got = out[(slice(None), *lane)]
                    if backend == "numpy":  # its sums depend on the order of memory
                        np.testing.assert_allclose(got, flat[:, c], rtol=3e-7)
                    else:
                        np.testing.assert_array_equal(bits(got), bits(flat[:, c]))
                if block:  # the lanes beside the real ones are as they were
                    for lane, position in itertools.product(range(last, block), range(n - 1)):
                        assert out[position, blocks - 1, lane] == 0.25


@pytest.mark.parametrize("backend", BACKENDS)
def test_argmax_of_neighbouring_channels(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Every number of channels that vectors may hold, with ties, infinities and NaN, and none read beyond the last."""
    rng = np.random.default_rng(11)
    for channels in (*range(1, 140), 255, 256, 257, 1000):
        rows = np.stack([values(rng, "float32", (channels,), odd) for odd in (True, False) for _ in range(6)])
        rows[0], rows[1], rows[2, :-1] = -np.inf, np.nan, -np.inf
        expected = [first_largest(row.tolist()) for row in rows]
        for first, gap in itertools.product((True, False), (0, 1)):
            view = room(fences[0], "float32", (12, channels), "PC", (0, gap), "P" if gap else "", first, axes="PC")
            view[...] = rows
            for out in (np.zeros(12, np.int64), np.zeros((12, 2), np.int64)[:, 1]):
                kernels.argmax(view, out, backend=backend)
                assert out.tolist() == expected, channels


@pytest.mark.parametrize("backend", NATIVE)
def test_softmax_of_neighbouring_channels(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Every number of channels that vectors may hold, the last of which four rows, or one, fit the bench, and one more;
    of one to eleven positions."""
    rng = np.random.default_rng(14)
    for channels in (*range(1, 140), 255, 1000, 4080, 4081, 16368, 16369):
        for n, dtype in itertools.product((1, 4, 6, 11) if channels < 1001 else (1, 6), ("float32", "int8")):
            x = values(rng, dtype, (n, channels))
            expected = np.empty((n, channels), np.float32)
            kernels.softmax(x, expected, dtype=dtype, backend=NATIVE[-1])
            if backend == NATIVE[-1]:
                v = real(x, dtype).astype(np.float32)
                assert_softmax(expected.T[None, :, :, None], v.T[None, :, :, None], backend)
            for first, gap in itertools.product((True, False), (0, 1)):
                view = room(fences[0], x.dtype, x.shape, "PC", (0, gap), "P" if gap else "", first, axes="PC")
                out = room(fences[1], np.float32, x.shape, "PC", (0, gap), "", first, axes="PC")
                view[...] = x
                kernels.softmax(view, out, dtype=dtype, backend=backend)
                np.testing.assert_array_equal(bits(out), bits(expected), err_msg=f"{dtype} {channels} {n} {gap}")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("order", ["CP", "PC"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_about_every_room(dtype: str, order: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Positions and channels on both sides of what the core has room for at a time."""
    rng = np.random.default_rng(16)
    positions = [(p, 9) for p in (255, 256, 257, 271, 1023, 1024, 1025, 1039, 1040)]
    channels = [(5, c) for edge in (64, 128, 1024, 2032, 4080, 16368) for c in (edge - 1, edge, edge + 1, edge + 9)]
    for shape in positions + channels:
        x = room(fences[0], dtype, shape, order, axes="PC")
        x[...] = rng.integers(0, 250, shape) / (1 if dtype == "uint8" else 8)
        which = room(fences[1], np.int64, shape[:1], "P", axes="P")
        kernels.argmax(x, which, backend=backend)
        np.testing.assert_array_equal(which, x.argmax(1), err_msg=f"{shape}")
        for k in (1, 9, 16, 17):
            k = min(k, shape[1])
            held = np.empty((shape[0], k), x.dtype)
            numbers = room(fences[1], np.int64, held.shape, "PK", axes="PK")
            kernels.top_k(x, held, numbers, backend=backend)
            expected = np.argsort(-x.astype(np.float32), 1, kind="stable")[:, :k]
            np.testing.assert_array_equal(numbers, expected, err_msg=f"{shape} {k}")
            np.testing.assert_array_equal(held, np.take_along_axis(x, expected, 1), err_msg=f"{shape} {k}")
        out = room(fences[1], np.float32, shape, order, axes="PC")
        kernels.softmax(x, out, backend=backend)
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=2e-5, atol=1e-30, err_msg=f"{shape}")


@pytest.mark.parametrize("backend", NATIVE)
def test_every_alignment(backend: str) -> None:
    rng = np.random.default_rng(4)
    for dtype, (channels, n) in itertools.product(
        ("int8", "uint16", "float32"), ((3, 150), (19, 70), (79, 9), (140, 40))
    ):
        stored = stored_dtype(dtype)
        x = values(rng, dtype, (channels, n), odd=False)
        expected = np.argmax(x, 0)
        soft = np.empty((n, channels), np.float32)
        kernels.softmax(x.T, soft, scale=1.0, backend=backend)
        for at, planar in itertools.product(range(64), (True, False)):
            memory = np.zeros(x.nbytes + 64, np.uint8)[at:][: x.nbytes].view(stored)
            view = memory.reshape(channels, n).T if planar else memory.reshape(n, channels)
            view[...] = x.T
            target = np.full(8 * n + 128, 0x11, np.uint8)
            out = target[64 - at :][: 8 * n].view(np.int64)
            kernels.argmax(view, out, backend=backend)
            np.testing.assert_array_equal(out, expected)
            assert (target[: 64 - at] == 0x11).all() and (target[64 - at + 8 * n :] == 0x11).all()
            floats = np.full(4 * soft.size + 128, 0x11, np.uint8)
            flat = floats[64 - at :][: 4 * soft.size].view(np.float32)
            kernels.softmax(view, flat.reshape(channels, n).T if planar else flat.reshape(n, channels), backend=backend)
            np.testing.assert_array_equal(flat.reshape(channels, n).T if planar else flat.reshape(n, channels), soft)
            assert (floats[: 64 - at] == 0x11).all() and (floats[64 - at + 4 * soft.size :] == 0x11).all()
            floats[:] = 0x11
            kernels.sigmoid(view.ravel("K"), flat, backend=backend)
            kernels.sigmoid(view, dense := np.empty(view.shape, np.float32), backend=backend)
            np.testing.assert_array_equal(flat, (dense.T if planar else dense).ravel())
            assert (floats[: 64 - at] == 0x11).all() and (floats[64 - at + 4 * soft.size :] == 0x11).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_channels_alone(backend: str) -> None:
    """No axis of positions at all."""
    for channels in (1, 3, 9, 70):
        x = values(np.random.default_rng(channels), "float32", (channels,), odd=False)
        soft, where = np.empty(channels, np.float32), np.empty((), np.int64)
        kernels.softmax(x, soft, 0, backend=backend)
        assert_softmax(soft[None, :, None, None], x.astype(np.float64)[None, :, None, None], backend)
        kernels.argmax(x, where, backend=backend)
        assert where == first_largest(x.tolist())


@pytest.mark.parametrize("backend", BACKENDS)
def test_ties_and_what_is_not_a_number(backend: str) -> None:
    nan, inf = math.nan, math.inf
    rows = [
        ([1, 3, 3, 2], 1),
        ([-0.0, 0.0, 0.0, -0.0], 0),
        ([0.0, -0.0, 1e-30, 0.0], 2),
        ([nan, nan, inf, 1], 0),
        ([inf, nan, nan, inf], 1),
        ([-inf, -inf, -inf, -inf], 0),
        ([-inf, -inf, -1e38, -inf], 2),
        ([1, inf, inf, nan], 3),
    ]
    for repeat, length in itertools.product((1, 3, 40), (4, 260)):
        x = np.full((len(rows) * repeat, length), -np.inf, np.float32)
        x[:, :4] = np.repeat(np.array([row for row, _ in rows], np.float32), repeat, 0)
        for dtype in ("float32", "float16", "bfloat16"):
            with np.errstate(over="ignore"):
                y = (x.view(np.uint32) >> 16).astype(np.uint16) if dtype == "bfloat16" else x.astype(dtype)
            expected = [first_largest(row) for row in real(y, dtype).tolist()]
            if dtype == "float32":
                assert expected == np.repeat([index for _, index in rows], repeat).tolist()
            for view in (y, np.asfortranarray(y)):
                out = np.empty(len(y), np.int64)
                kernels.argmax(view, out, dtype=dtype, backend=backend)
                assert out.tolist() == expected
                soft = np.empty(y.shape, np.float32)
                kernels.softmax(view, soft, dtype=dtype, backend=backend)
                assert_softmax(soft.T[None, :, :, None], real(y, dtype).T[None, :, :, None], backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("channels", [1, 2, 21, 63, 64, 65, 129, 1000, 1024, 1025, 3000])
def test_softmax_is_as_near_as_promised(channels: int, backend: str) -> None:
    rng = np.random.default_rng(channels)
    for spread, far in itertools.product((1e-3, 1, 10, 60), (0, 255, -257, 1e3, -1e5, 5e9, -2e10, 3e30)):
        x = (rng.standard_normal((8, channels)) * spread + far).astype(np.float32)
        out, turned = np.empty(x.shape, np.float32), np.empty(x.shape[::-1], np.float32)
        kernels.softmax(x, out, backend=backend)
        expected = softmax_oracle(x.T[None, :, :, None])
        assert_softmax(out.T[None, :, :, None], x, backend, expected)
        kernels.softmax(np.asfortranarray(x), turned.T, backend=backend)
        assert_softmax(turned[None, :, :, None], x, backend, expected)
        assert abs(out.astype(np.float64).sum(1) - 1).max() < 1e-6
        if backend != "numpy":
            np.testing.assert_array_equal(turned.T, out)


@pytest.mark.parametrize("dtype", DTYPES)
def test_peaks_in_every_layout(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    rng = np.random.default_rng(6)
    for shape in (
        (1, 1, 1, 1),
        (2, 17, 5, 6),
        (1, 3, 9, 70),
        (3, 2, 1, 33),
        (1, 20, 7, 1),
        (2, 2, 12, 2),
        (1, 66, 3, 4),
    ):
        x = values(rng, dtype, shape)
        threshold = float(rng.choice(np.nan_to_num(np.unique(real(x, dtype)), posinf=9, neginf=-9)))
        for radius in (1, 3):
            expected = peaks_oracle(x, dtype, threshold, radius)
            for i, (order, gaps, flips) in enumerate(arranged(rng)):
                view = room(fences[0], x.dtype, shape, order, gaps, flips, i % 3 == 0)
                view[...] = x
                for backend in BACKENDS:
                    got = kernels.peaks(view, threshold, radius, dtype=dtype, backend=backend)
                    assert got.dtype == np.int64 and got.flags.c_contiguous and got.shape == (len(expected), 4)
                    message = f"{backend} {shape} {order} {gaps} {flips} > {threshold}, radius {radius}"
                    np.testing.assert_array_equal(got.reshape(-1, 4), np.array(expected, int).reshape(-1, 4), message)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float16"])
def test_peaks_of_every_width_between_fences(dtype: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    rng = np.random.default_rng(7)
    planes = [("NCHW", (1, 2, 3, wide)) for wide in (*range(1, 131), 300, 2100, 17000)]
    pixels = [("NHWC", (1, channels, 3, 3)) for channels in (*range(1, 131), 300, 1030)]
    for order, shape in (*planes, *pixels, ("NHWC", (1, 260, 3, 64))):
        x = values(rng, dtype, shape, odd=False)
        for first in (True, False):
            view = room(fences[0], x.dtype, shape, order, first=first)
            view[...] = x
            got = kernels.peaks(view, 0.5, dtype=dtype, backend=backend)
            assert got.tolist() == shifted_peaks(x, 0.5)


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


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "float16", "float32"])
def test_few_peaks(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    """Where little is above the threshold, alone or in level patches, at borders too."""
    rng = np.random.default_rng(9)
    for shape in ((2, 3, 23, 31), (1, 19, 46, 46), (1, 2, 9, 1030), (3, 5, 40, 2), (1, 1, 1, 300)):
        x = np.zeros(shape, dtype)
        for _ in range(max(1, x.size // 300)):
            n, c, j, i = (rng.integers(0, extent) for extent in shape)
            x[n, c, j : j + 2, i : i + rng.integers(1, 4)] = rng.integers(5, 9)
        expected = [shifted_peaks(x, 5), [list(row) for row in peaks_oracle(x, dtype, 5, 2)]]
        for order in ("NCHW", "NHWC", "CHWN", "NHCW"):
            view = room(fences[0], x.dtype, shape, order, flips="H" if order == "CHWN" else "")
            view[...] = x
            for backend in BACKENDS:
                got = [kernels.peaks(view, 5, radius, backend=backend).tolist() for radius in (1, 2)]
                assert got == expected


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "float16", "float32"])
@pytest.mark.parametrize("refine", [None, "parabola", "quarter"])
def test_tops(refine: str | None, dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    """Of any pixels, peaks or not, infinities and NaN among them: the same bits from every backend."""
    rng = np.random.default_rng(10)
    for shape in ((2, 3, 5, 7), (1, 2, 1, 4), (3, 1, 4, 1), (1, 1, 2, 2)):
        x = values(rng, dtype, shape)
        rows = np.stack([rng.integers(0, extent, 200) for extent in shape], 1)
        for order in ("NCHW", "NHWC", "CHWN"):
            view = room(fences[0], x.dtype, shape, order, flips="W")
            view[...] = x
            outs = [np.full((200, 2, 5), 7.0)[:, 0] for _ in BACKENDS]
            for backend, out in zip(BACKENDS, outs):
                kernels.tops(view, rows, out, refine, backend=backend)
            for i, (n, c, j, k) in enumerate(rows.tolist()):
                plane, at = x[n, c].astype(np.float64), [float(k), float(j)]
                for axis, here, size in ((0, k, shape[3]), (1, j, shape[2])):
                    if refine and 0 < here < size - 1:
                        before, v, after = plane[j, here - 1 : here + 2] if axis == 0 else plane[here - 1 : here + 2, k]
                        with np.errstate(all="ignore"):
                            way = 0.5 * (before - after) / (before - 2 * v + after)
                        if refine == "quarter":
                            way = 0.25 * (int(after > before) - int(after < before))
                        at[axis] += way if np.isfinite(way) else 0
                for out in outs:
                    np.testing.assert_array_equal(out[i], [n, c, *at, plane[j, k]])
    with pytest.raises(ValueError, match="refine"):
        kernels.tops(x, rows, outs[0], "cubic")
    before = outs[0].copy()
    for backend in BACKENDS:
        for far in (rows, rows - 1):
            with pytest.raises(ValueError, match="pixels that an array of shape"):
                kernels.tops(x[:, :, :1], far, outs[0], refine, backend=backend)
    np.testing.assert_array_equal(outs[0], before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_peaks_of_channels_in_blocks(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    rng = np.random.default_rng(8)
    cases = itertools.product((1, 5, 16, 17, 33), (4, 16), ("int8", "float32", "float16"), range(5))
    for channels, block, dtype, alone in cases:
        h, w, blocks = 5, 7, -(-channels // block)
        x = values(rng, dtype, (2, channels, h, w), odd=False)
        if alone:  # so few that those of whole blocks are in order, and those of the last block are
            x[...] = -60
            for n, c in ((0, 0), (1, min(channels, block) - 1), (0, channels - 1)):
                x[n, c, rng.integers(h), rng.integers(w)] = 1
        last, item = channels - (blocks - 1) * block, x.dtype.itemsize
        memory = fences[0].last((((2 * blocks - 1) * h * w + h * w - 1) * block + last) * item).view(x.dtype)
        strides = [item * s for s in (blocks * h * w * block, h * w * block, 1, w * block, block)]
        view = np.lib.stride_tricks.as_strided(memory, (2, blocks, block, h, w), strides)
        for c in range(channels):
            view[:, c // block, c % block] = x[:, c]
        for radius in (1, 2):
            got = kernels.peaks(view, -0.5, radius, channels, backend=backend)
            assert [tuple(row) for row in got.tolist()] == peaks_oracle(x, dtype, -0.5, radius)


@pytest.mark.parametrize("backend", BACKENDS)
def test_plateaus_thresholds_and_many_peaks(backend: str) -> None:
    flat = np.full((1, 2, 5, 6), 7, np.uint8)
    assert kernels.peaks(flat, 6, backend=backend).tolist() == [[0, 0, 0, 0], [0, 1, 0, 0]]
    flat[0, 0, 2:4, 1:5] = 9
    assert kernels.peaks(flat, 7.5, backend=backend).tolist() == [[0, 0, 2, 1]]
    for threshold, count in ((-1e9, 2), (-1, 2), (6.999, 2), (7, 1), (8.99, 1), (9, 0), (254.5, 0), (255, 0), (1e9, 0)):
        assert len(kernels.peaks(flat, threshold, 9, backend=backend)) == count, threshold
    flat[0, 0, 0, 5] = 255
    assert len(kernels.peaks(flat, 254.5, backend=backend)) == 1
    for value, threshold in ((0.1, 0.1), (np.float32(0.1), np.nextafter(0.1, 0)), (np.inf, 1e39), (-np.inf, -np.inf)):
        x = np.full((1, 1, 1, 1), value, np.float32)
        expected = int(float(x[0, 0, 0, 0]) > threshold)
        assert len(kernels.peaks(x, float(threshold), backend=backend)) == expected
    assert not len(kernels.peaks(flat, math.nan, backend=backend))
    near = np.array([2**30 + 1, 0, 2**30 + 2], np.int32).reshape(1, 1, 1, 3)  # as float32 these are equal
    assert kernels.peaks(near, 5, 2, backend=backend).tolist() == [[0, 0, 0, 2]]
    for empty in ((0, 3, 4, 4), (1, 3, 0, 4), (1, 3, 4, 0)):
        assert kernels.peaks(np.zeros(empty, np.float32), 0, backend=backend).shape == (0, 4)
    noise = np.random.default_rng(9).random((1, 2, 420, 400)).astype(np.float32)
    expected = shifted_peaks(noise, 0)
    assert len(expected) > 1 << 14
    for view in (noise, np.ascontiguousarray(noise.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)):
        assert kernels.peaks(view, 0, backend=backend).tolist() == expected


@pytest.mark.parametrize("backend", NATIVE)
def test_threads_and_large_results(backend: str) -> None:
    rng = np.random.default_rng(10)
    before = kernels.get_num_threads()
    wrong: list[str] = []
    work = []
    try:
        kernels.set_num_threads(1)
        orders = (("NCHW", "NCHW"), ("NHWC", "NHWC"), ("CHWN", "CHWN"), ("NHWC", "NCHW"), ("NCHW", "NHWC"))
        # Planes and pixels that begin at cache lines, and others.
        shapes = ((2, 277, 285, 21), (1, 901, 880, 4), (1, 797, 797, 5), (1, 284, 176, 64), (1, 201, 201, 79))
        for (order, other), shape in itertools.product(orders, shapes):
            view, soft = (
                np.empty([shape["NHWC".index(a)] for a in o], np.float32).transpose([o.index(a) for a in "NHWC"])
                for o in (order, other)
            )
            where = np.empty(view.shape[:3], np.int64)
            view[...] = rng.standard_normal(view.shape) * 9
            kernels.argmax(view, where, backend=backend)
            # So that results go past the caches of four threads (core.c).
            assert view.nbytes + soft.nbytes > LAST_CACHE * 3 // 4
            kernels.softmax(view, soft, backend=backend)
            np.testing.assert_array_equal(where, view.argmax(-1))
            twin = np.empty(view.shape, np.float32)
            kernels.softmax(view, twin, backend="numpy")
            np.testing.assert_allclose(soft, twin, rtol=1e-5, atol=1e-37)
            curve = np.empty_like(soft)
            kernels.sigmoid(view, curve, backend=backend)
            np.testing.assert_allclose(curve, 1 / (1 + np.exp(-view.astype(np.float64))), rtol=5e-7)
            k = min(5, view.shape[3])
            held, which = np.empty((*view.shape[:3], k), np.float32), np.empty((*view.shape[:3], k), np.int64)
            kernels.top_k(view, held, which, backend=backend)
            np.testing.assert_array_equal(which, (-view).argsort(-1, kind="stable")[..., :k])
            work.append((view, where, soft, curve, held, which))
        kernels.set_num_threads(4)

        def many() -> None:
            for view, where, soft, curve, held, which in work:
                others = np.empty_like(held), np.empty_like(which)
                kernels.top_k(view, *others, backend=backend)
                wrong.extend("top_k" for a, b in zip((held, which), others) if not np.array_equal(a, b))
                out, floats, elements = np.empty_like(where), np.empty_like(soft), view.copy(order="K")
                kernels.argmax(view, out, backend=backend)
                kernels.softmax(view, floats, backend=backend)
                kernels.sigmoid(elements, elements, backend=backend)
                if not all(map(np.array_equal, (out, floats, elements), (where, soft, curve))):
                    wrong.append(str(view.strides))

        threads = [threading.Thread(target=many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        kernels.set_num_threads(before)
    assert not wrong


@pytest.mark.parametrize("backend", BACKENDS)
def test_refusals_and_nothing_to_do(backend: str) -> None:
    x, out = np.zeros((2, 3, 4), np.float32), np.zeros((2, 3), np.int64)
    soft = np.zeros((2, 3, 4), np.float32)
    frozen = out.copy()
    frozen.flags.writeable = False
    windows, still = (np.lib.stride_tricks.as_strided(x.copy(), x.shape, steps) for steps in ((16, 4, 4), (48, 16, 0)))
    for arguments, says in (
        ((x.astype(np.float64), out), "float64"),
        ((x.astype(">f4"), out), "byte order"),
        ((x, out, 5), "5 channels"),
        ((x, out, 0), "0 channels"),
        ((x, out, None, "bfloat16"), "bfloat16"),
        ((x, out[:1]), "positions"),
        ((x, out.astype(np.int32)), "out"),
        ((x, frozen), "written"),
        ((x, np.zeros((2, 3, 4), np.int64)), "channels in axes"),
        ((out.view(np.int32).reshape(2, 3, 2), out), "overlaps"),
    ):
        with pytest.raises(ValueError, match=says):
            kernels.argmax(*arguments, backend=backend)  # type: ignore[misc]
    two, numbers = np.zeros((2, 3, 2), np.float32), np.zeros((2, 3, 2), np.int64)
    both = np.zeros((2, 3, 4), np.int64)
    for arguments, says in (
        ((x.astype(np.float64), two, numbers), "float64"),
        ((x, two.astype(np.float64), numbers), "float32"),
        ((x, two, numbers.astype(np.int32)), "int64"),
        ((x, two[..., :1], numbers), "one shape"),
        ((x, two[:1], numbers[:1]), "positions"),
        ((x, two[..., :0], numbers[..., :0]), "1 to 4"),
        ((x, np.zeros((2, 3, 5), np.float32), np.zeros((2, 3, 5), np.int64)), "1 to 4"),
        ((x, two, numbers, 1), "1 to 1"),
        ((x, two, numbers, 5), "5 channels"),
        ((x, two, frozen), "one shape"),
        ((x, x[..., :2], numbers), "overlaps x"),
        ((x, both.view(np.float32)[..., ::4], both[..., ::2]), "values overlap"),
    ):
        with pytest.raises(ValueError, match=says):
            kernels.top_k(*arguments, backend=backend)  # type: ignore[misc]
    assert not two.any() and not numbers.any() and not both.any()
    kernels.top_k(x[:0], two[:0], numbers[:0], backend=backend)
    for arguments, keywords, says in (
        ((x, soft.astype(np.float64)), {}, "float32"),
        ((x, x), {}, "overlaps"),
        ((x, soft), {"scale": 2.0}, "not quantised"),
        ((x, soft), {"positions": 3}, "positions"),
        ((x, soft[..., :3]), {}, "channels"),
        ((x, soft[..., :3]), {"channels": 4}, "4 channels"),
    ):
        with pytest.raises(ValueError, match=says):
            kernels.softmax(*arguments, backend=backend, **keywords)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        kernels.softmax(x, soft, channels=4.0, backend=backend)  # type: ignore[arg-type]
    for arguments, keywords, says in (
        ((x, soft.astype(np.float64)), {}, "float32"),
        ((x, soft[..., :3]), {}, "positions"),
        ((x, soft[0]), {}, "positions"),
        ((x[:, :-1], x[:, 1:]), {}, "overlaps"),
        ((x, x[::-1]), {}, "overlaps"),
        ((windows, windows), {}, "overlaps"),
        ((still, still), {}, "overlaps"),
        ((x, soft), {"zero_point": 2.0}, "not quantised"),
        ((x, soft), {"dtype": "int8"}, "elements"),
    ):
        with pytest.raises(ValueError, match=says):
            kernels.sigmoid(*arguments, backend=backend, **keywords)  # type: ignore[arg-type]
    for arguments, says in (((x, 0.0), "N, C, H"), ((x[None], 0.0, 0), "radius"), ((x[None], 0.0, 1, 3), "channels")):
        with pytest.raises(ValueError, match=says):
            kernels.peaks(*arguments, backend=backend)  # type: ignore[misc]
    assert not out.any() and not soft.any()
    kernels.argmax(x[:0], out[:0], backend=backend)
    kernels.softmax(x[:, :0], soft[:, :0], backend=backend)
    kernels.sigmoid(x[:, :0], soft[:, :0], backend=backend)
    alone = np.zeros((), np.float32)
    kernels.sigmoid(alone, alone, backend=backend)
    assert alone == 0.5
    one = np.zeros((), np.int64)
    kernels.argmax(np.arange(5, dtype=np.uint8), one, backend=backend)
    assert one == 4
    deep = np.random.default_rng(0).integers(0, 9, (1,) * 15 + (2, 2, 2, 3)).astype(np.int8)
    where = np.zeros(deep.shape[:-1], np.int64)
    kernels.argmax(deep, where, backend=backend)
    np.testing.assert_array_equal(where, deep.argmax(-1))


@given(data=st.data())
def test_any_view_in_any_digits(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 7), min_size=2, max_size=6), "shape")
    order = data.draw(st.permutations(range(len(shape))), "order")
    steps = data.draw(st.lists(st.sampled_from([1, 1, -1, 2]), min_size=len(shape), max_size=len(shape)), "steps")
    digits = data.draw(st.integers(1, min(4, len(shape) - 1)), "digits")
    dtype = data.draw(st.sampled_from(DTYPES), "dtype")
    rng = np.random.default_rng(data.draw(st.integers(0, 999), "seed"))
    large = values(rng, dtype, [shape[i] * abs(steps[i]) for i in order])
    x = large.transpose(np.argsort(order))[tuple(slice(None, None, s) for s in steps)]
    positions = len(shape) - digits
    capacity = math.prod(x.shape[positions:])
    channels = data.draw(st.integers(1, capacity), "channels")
    plain = x.reshape(*x.shape[:positions], capacity)[..., :channels]
    expected = np.array([first_largest(row) for row in real(plain, dtype).reshape(-1, channels).tolist()])
    soft = None
    for backend in BACKENDS:
        out = np.full(plain.shape[:-1], -1, np.int64)
        kernels.argmax(x, out, channels, dtype, backend)
        np.testing.assert_array_equal(out.ravel(), expected)
        k = 1 + (channels - 1) // 2
        held, which = np.empty((*plain.shape[:-1], k), x.dtype), np.full((*plain.shape[:-1], k), -1, np.int64)
        kernels.top_k(x, held, which, channels, dtype, backend)
        np.testing.assert_array_equal(which, top_k_oracle(plain, dtype, k))
        assert held.tobytes() == np.take_along_axis(plain, which, -1).tobytes()
        got = np.full((*plain.shape[:-1], channels), -1, np.float32)
        kernels.softmax(x, got, positions, channels, dtype, backend=backend)
        rows = real(plain, dtype).reshape(-1, channels, 1, 1)
        assert_softmax(got.reshape(-1, channels, 1, 1), rows, backend)
        if backend != "numpy":
            soft = got if soft is None else soft
            np.testing.assert_array_equal(bits(got), bits(soft))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_nan_of_any_payload_is_nan(backend: str) -> None:
    x = np.ones((40, 3), np.float32)
    x[:, 1].view(np.uint32)[...] = np.random.default_rng(0).integers(0x7F800001, 0x80000000, 40)
    for channels in (x, np.ascontiguousarray(x[:, ::-1]), np.asfortranarray(x)):
        out = np.zeros_like(x)
        kernels.softmax(channels, out, backend=backend)
        assert np.isnan(out).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_views_whose_elements_share_memory(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Broadcast arrays have steps of 0 and windows that slide overlap, up to the last byte."""
    for dtype in ("uint8", "int16", "float32"):
        row = np.arange(64).astype(dtype)
        for shape in ((64, 64, 64), (3, 70, 64)):
            found = np.empty(shape[:2], np.int64)
            kernels.argmax(np.broadcast_to(row, shape), found, backend=backend)
            assert (found == 63).all()
    for n in range(4, 90):
        planes = fences[0].last(2 * n).reshape(2, n)
        planes[...] = np.random.default_rng(n).integers(0, 9, (2, n))
        for width in (2, 3, 4):
            windows = np.lib.stride_tricks.sliding_window_view(planes, width, axis=1)
            found = np.empty(windows.shape[1:], np.int64)
            kernels.argmax(windows.transpose(1, 2, 0), found, backend=backend)
            assert (found == windows.argmax(0)).all()
