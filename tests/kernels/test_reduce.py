"""What argmax, top_k, softmax, sigmoid and peaks have in common: paths, widths, alignments, threads, any view."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Callable, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_layout import kernels
from npu_layout.kernels.choice import LEVELS
from tests.support.arrays import assert_same
from tests.support.kernel_walks import BACKENDS, NATIVE
from tests.support.memory import LAST_CACHE, Fenced
from tests.support.reduction_examples import (
    DTYPES,
    EXAMPLES,
    ULPS,
    assert_near,
    assert_softmax,
    bits,
    blocks,
    first_largest,
    real,
    room,
    shifted_peaks,
    sigmoid_oracle,
    stored_dtype,
    top_k_oracle,
    values,
)

if NATIVE:
    from npu_layout.kernels import native

pytestmark = pytest.mark.usefixtures("core_computes")


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """``threads(n)``: the number of threads until the test ends."""
    before = kernels.get_num_threads()
    yield kernels.set_num_threads
    kernels.set_num_threads(before)


def reduced(path: str, x: np.ndarray, dtype: str, out: np.ndarray, level: str, channels: int) -> tuple[str, np.ndarray]:
    """Return the path that the core uses for (H, W, C), and the result, which is written to the memory `out`."""
    if path == "peaks":
        found = native.peaks(x.transpose(2, 0, 1)[None], x.shape[2], dtype, 1, 0.5, 1, level)
        return path, found
    if path == "sigmoid":
        result = out[: 4 * x.size].view(np.float32).reshape(x.shape)
        return native.sigmoid(x, result, dtype, 1.0, 0.0, level).name, result
    if path in ("top k", "top k across"):
        k = 3 if path == "top k" else 17
        result = out[: 8 * k * x[..., 0].size].view(np.int64).reshape(*x.shape[:2], k)
        top_values = np.empty(result.shape, x.dtype)
        used = native.top_k(x, top_values, result, None, dtype, level)
        assert_same(top_values, np.take_along_axis(x, result, -1))
        return used.name, result
    if path in ("softmax", "softmax across"):
        result = out[: 4 * x.size].view(np.float32).reshape(x.shape)
        used = native.softmax(x, result, 2, x.shape[2], dtype, 1.0, 0.0, level)
    else:
        result = out[: 8 * x.shape[0] * x.shape[1]].view(np.int64).reshape(x.shape[:2])
        used = native.argmax(x, result, channels, dtype, level)
    return used.name, result


class Width(NamedTuple):
    """What a path is run on at the first or the last bytes between the fences, and the result that it has to write."""

    dtype: str
    order: str
    first: bool
    x: np.ndarray  # (H, W, C)
    expected: np.ndarray


@lru_cache(maxsize=1)  # the same for each backend
def widths(path: str) -> list[Width]:
    rng, found = np.random.default_rng(12), []
    for dtype, channels, order in itertools.product(*EXAMPLES[path]):
        stored = stored_dtype(dtype)
        for n, first in itertools.product((*range(1, 2 * 64 // stored.itemsize + 2), 1030), (True, False)):
            x = values(rng, dtype, (3, n, channels), odd=False)
            if order.startswith("32") and 3 * n * 192 * stored.itemsize > 1 << 20:
                continue  # the fences have no room
            found.append(Width(dtype, order, first, x, expected_of(path, dtype, x)))
    return found


def expected_of(path: str, dtype: str, x: np.ndarray) -> np.ndarray:
    """The result for (H, W, C); of softmax and sigmoid its bits on the base level, which are near the oracle's."""
    exact = real(x, dtype)
    if path == "peaks":
        return np.array(shifted_peaks(exact.transpose(2, 0, 1)[None], 0.5)).reshape(-1, 4)
    if path == "sigmoid":
        kernels.sigmoid(x, curve := np.empty(x.shape, np.float32), dtype, backend=NATIVE[-1])
        assert_near(curve, sigmoid_oracle(exact.astype(np.float32)), ULPS["sigmoid"])
        return bits(curve)
    if path in ("softmax", "softmax across"):
        kernels.softmax(x, shares := np.empty(x.shape, np.float32), dtype=dtype, backend=NATIVE[-1])
        if x.shape[1] < 40:
            v = exact.astype(np.float32).transpose(2, 0, 1)[None]
            assert_softmax(shares.transpose(2, 0, 1)[None], v, NATIVE[-1])
        return bits(shares)
    if path in ("top k", "top k across"):
        return (-exact).argsort(-1, kind="stable")[..., : 3 if path == "top k" else 17]
    return exact.argmax(-1)


@pytest.mark.parametrize("backend", NATIVE)
@pytest.mark.parametrize("path", EXAMPLES)
def test_every_path_at_every_width(path: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    level = LEVELS[backend]
    step = next(row.steps[level] for row in native.FAST_PATHS if row.name == path)
    for dtype, order, first, x, expected in widths(path):
        if order.startswith("32"):
            view = blocks(fences[0], x, 32, first)
        else:
            view = room(fences[0], stored_dtype(dtype), x.shape, order, first=first, axes="HWC")
            view[...] = x
        used, got = reduced(path, view, dtype, fences[1].first(1 << 20), level, x.shape[2])
        assert used == path or not step
        got = bits(got) if got.dtype == np.float32 else got
        assert_same(got, expected, err_msg=f"{backend} {dtype} {order} {x.shape}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_width_between_fences(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Channels in blocks too, of which the last one is not complete: the fence begins at its first pad lane."""
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
                assert_same(result, expected, err_msg=f"{dtype} {channels} {block} {n}")
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
                    if backend == "numpy":  # its sums depend on the memory format
                        np.testing.assert_allclose(got, flat[:, c], rtol=3e-7)
                    else:
                        assert_same(bits(got), bits(flat[:, c]))
                if block:  # the lanes beside the real ones are as they were
                    for lane, position in itertools.product(range(last, block), range(n - 1)):
                        assert out[position, blocks - 1, lane] == 0.25


@pytest.mark.parametrize("backend", BACKENDS)
def test_blocks_of_few_floats(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Blocks of which a vector has several, with NaN, infinities and pad lanes that are larger than all channels."""
    rng = np.random.default_rng(19)
    for block, count, rest in itertools.product((4, 8), (2, 3, 4, 5, 9, 10, 11), (1, 3, 4, 8)):
        channels = (count - 1) * block + min(rest, block)
        for n, odd in itertools.product((1, 2, 3, 4, 5, 8, 9, 31), (True, False)):
            x = values(rng, "float32", (2, n, channels), odd)
            x[rng.random((2, n)) < 0.2] = -np.inf
            padded = np.full((2, n, count * block), rng.choice([np.nan, np.inf, 1e9]), np.float32)
            padded[..., :channels] = x
            for rows in (True, False):  # blocks beside rows, or beyond all of them
                axes = (0, 2, 1, 3) if rows else (2, 0, 1, 3)
                stored = padded.reshape(2, n, count, block).transpose(axes).ravel()
                view = fences[0].last(stored.nbytes).view(np.float32)
                view[:] = stored
                strides = [4 * block * s for s in ((n * count, 1, n) if rows else (n, 1, 2 * n))]
                blocked = np.lib.stride_tricks.as_strided(view, (2, n, count, block), (*strides, 4))
                which = fences[1].last(16 * n).view(np.int64).reshape(2, n)
                kernels.argmax(blocked, which, channels, "float32", backend)
                expected = [first_largest(row) for row in x.reshape(-1, channels).tolist()]
                assert_same(which.ravel(), expected, err_msg=f"{block} {channels} {n} {rows}")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("order", ["CP", "PC"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_about_every_room(dtype: str, order: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Numbers of positions and of channels just below and above what fits in the core's tiles."""
    rng = np.random.default_rng(16)
    positions = [(p, 9) for p in (255, 256, 257, 271, 1023, 1024, 1025, 1039, 1040)]
    channels = [(5, c) for edge in (64, 128, 1024, 2032, 4080, 16368) for c in (edge - 1, edge, edge + 1, edge + 9)]
    for shape in positions + channels:
        x = room(fences[0], dtype, shape, order, axes="PC")
        x[...] = rng.integers(0, 250, shape) / (1 if dtype == "uint8" else 8)
        which = room(fences[1], np.int64, shape[:1], "P", axes="P")
        kernels.argmax(x, which, backend=backend)
        assert_same(which, x.argmax(1), err_msg=f"{shape}")
        for k in (1, 9, 16, 17):
            k = min(k, shape[1])
            top_values = np.empty((shape[0], k), x.dtype)
            numbers = room(fences[1], np.int64, top_values.shape, "PK", axes="PK")
            kernels.top_k(x, top_values, numbers, backend=backend)
            expected = np.argsort(-x.astype(np.float32), 1, kind="stable")[:, :k]
            assert_same(numbers, expected, err_msg=f"{shape} {k}")
            assert_same(top_values, np.take_along_axis(x, expected, 1), err_msg=f"{shape} {k}")
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
            assert_same(out, expected)
            assert (target[: 64 - at] == 0x11).all() and (target[64 - at + 8 * n :] == 0x11).all()
            floats = np.full(4 * soft.size + 128, 0x11, np.uint8)
            flat = floats[64 - at :][: 4 * soft.size].view(np.float32)
            kernels.softmax(view, flat.reshape(channels, n).T if planar else flat.reshape(n, channels), backend=backend)
            assert_same(flat.reshape(channels, n).T if planar else flat.reshape(n, channels), soft)
            assert (floats[: 64 - at] == 0x11).all() and (floats[64 - at + 4 * soft.size :] == 0x11).all()
            floats[:] = 0x11
            kernels.sigmoid(view.ravel("K"), flat, backend=backend)
            kernels.sigmoid(view, dense := np.empty(view.shape, np.float32), backend=backend)
            assert_same(flat, (dense.T if planar else dense).ravel())
            assert (floats[: 64 - at] == 0x11).all() and (floats[64 - at + 4 * soft.size :] == 0x11).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_channels_alone(backend: str) -> None:
    """Arrays without an axis of positions."""
    for channels in (1, 3, 9, 70):
        x = values(np.random.default_rng(channels), "float32", (channels,), odd=False)
        soft, where = np.empty(channels, np.float32), np.empty((), np.int64)
        kernels.softmax(x, soft, 0, backend=backend)
        assert_softmax(soft[None, :, None, None], x.astype(np.float64)[None, :, None, None], backend)
        kernels.argmax(x, where, backend=backend)
        assert where == first_largest(x.tolist())


def assert_allclose_once(near: list[np.ndarray], got: np.ndarray, expected: np.ndarray, **tolerance: float) -> None:
    """As numpy's assert_allclose, which takes long, but of what equals an array in `near`, which was as expected."""
    if not any(np.array_equal(got, one) for one in near):
        np.testing.assert_allclose(got, expected, **tolerance)
        near.append(got.copy())


@pytest.mark.parametrize(  # planes and pixels that begin at cache lines, and some that do not
    "shape", [(2, 139, 151, 21), (1, 409, 400, 4), (1, 397, 397, 5), (1, 142, 80, 64), (1, 107, 103, 79)], ids=str
)
def test_threads_and_large_results(shape: tuple[int, ...], threads: Callable[[int], None]) -> None:
    x = (np.random.default_rng(10).standard_normal(shape) * 9).astype(np.float32)
    largest, ranks, k = x.argmax(-1), (-x).argsort(-1, kind="stable"), min(5, shape[3])
    kernels.softmax(x, reference := np.empty(shape, np.float32), backend="numpy")
    sigmoids = 1 / (1 + np.exp(-x.astype(np.float64)))
    orders = (("NCHW", "NCHW"), ("NHWC", "NHWC"), ("CHWN", "CHWN"), ("NHWC", "NCHW"), ("NCHW", "NHWC"))
    softs: list[np.ndarray] = []
    curves: list[np.ndarray] = []
    for backend in NATIVE:
        threads(1)
        work = []
        for order, other in orders:
            view, soft = (
                np.empty([shape["NHWC".index(a)] for a in o], np.float32).transpose([o.index(a) for a in "NHWC"])
                for o in (order, other)
            )
            where = np.empty(view.shape[:3], np.int64)
            view[...] = x
            kernels.argmax(view, where, backend=backend)
            # So large that results of four threads are stored past the caches (levels.c).
            assert view.nbytes + soft.nbytes > LAST_CACHE * 3 // 4
            kernels.softmax(view, soft, backend=backend)
            assert_same(where, largest)
            assert_allclose_once(softs, soft, reference, rtol=1e-5, atol=1e-37)
            curve = np.empty_like(soft)
            kernels.sigmoid(view, curve, backend=backend)
            assert_allclose_once(curves, curve, sigmoids, rtol=5e-7)
            top_values, which = np.empty((*view.shape[:3], k), np.float32), np.empty((*view.shape[:3], k), np.int64)
            kernels.top_k(view, top_values, which, backend=backend)
            assert_same(which, ranks[..., :k])
            work.append((view, where, soft, curve, top_values, which))
        threads(4)
        assert not other_in_threads(work, backend)


def other_in_threads(work: Sequence[tuple[np.ndarray, ...]], backend: str) -> list[str]:
    """Return what differs from the results where four threads of Python compute all at once."""
    wrong: list[str] = []

    def many() -> None:
        for view, where, soft, curve, top_values, which in work:
            others = np.empty_like(top_values), np.empty_like(which)
            kernels.top_k(view, *others, backend=backend)
            wrong.extend("top_k" for a, b in zip((top_values, which), others) if not np.array_equal(a, b))
            out, floats, elements = np.empty_like(where), np.empty_like(soft), view.copy(order="K")
            kernels.argmax(view, out, backend=backend)
            kernels.softmax(view, floats, backend=backend)
            kernels.sigmoid(elements, elements, backend=backend)
            if not all(map(np.array_equal, (out, floats, elements), (where, soft, curve))):
                wrong.append(str(view.strides))

    running = [threading.Thread(target=many) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return wrong


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("channels", [1, 3, 7, 8, 9, 15, 16, 63, 64, 65, 79, 150, 1000, 1024, 1025, 2500])
def test_softmax_has_the_bits_of_any_other_view(channels: int, backend: str) -> None:
    """Planes, neighbours, blocks, every second number, an odd address: sums are those of the same order."""
    rng = np.random.default_rng(channels)
    for positions in (1, 6, 70):
        x = (rng.standard_normal((positions, channels)) * 4).astype(np.float32)
        kernels.softmax(x, wanted := np.empty_like(x), backend=backend)
        blocks = np.full((-(-channels // 16), positions, 16), np.nan, np.float32)
        blocks.transpose(1, 0, 2)[:, np.arange(channels) // 16, np.arange(channels) % 16] = x
        apart, odd = np.zeros((positions, channels, 2), np.float32), np.zeros(x.nbytes + 1, np.uint8)
        shifted = np.ndarray(x.shape, np.float32, odd, 1)
        for view, out in (
            (np.asfortranarray(x), np.empty_like(x)),
            (x, np.empty_like(x, order="F")),
            (np.asfortranarray(x), np.empty_like(x, order="F")),
            (blocks.transpose(1, 0, 2), np.empty_like(x)),
            (x, apart[..., 1]),
            (x, shifted),
            (x[::-1].copy()[::-1], np.empty_like(x)),
        ):
            kernels.softmax(view, out, 1, channels, backend=backend)
            assert_same(bits(out), bits(wanted))


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
        assert_same(out.ravel(), expected)
        k = 1 + (channels - 1) // 2
        top_values, which = np.empty((*plain.shape[:-1], k), x.dtype), np.full((*plain.shape[:-1], k), -1, np.int64)
        kernels.top_k(x, top_values, which, channels, dtype, backend)
        assert_same(which, top_k_oracle(plain, dtype, k))
        assert top_values.tobytes() == np.take_along_axis(plain, which, -1).tobytes()
        got = np.full((*plain.shape[:-1], channels), -1, np.float32)
        kernels.softmax(x, got, positions, channels, dtype, backend=backend)
        rows = real(plain, dtype).reshape(-1, channels, 1, 1)
        assert_softmax(got.reshape(-1, channels, 1, 1), rows, backend)
        kernels.softmax(plain.copy(), dense := np.empty_like(got), positions, None, dtype, backend=backend)
        assert_same(bits(got), bits(dense))
        if backend != "numpy":
            soft = got if soft is None else soft
            assert_same(bits(got), bits(soft))
