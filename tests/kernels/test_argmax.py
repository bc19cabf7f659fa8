"""argmax, at every instruction set, against scalar loops: layouts, dtypes, widths, fences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.arrays import assert_same
from tests.support.kernel_walks import BACKENDS
from tests.support.memory import Fenced
from tests.support.reduction_examples import (
    DTYPES,
    SHAPES,
    argmax_oracle,
    arranged,
    assert_softmax,
    blocks,
    first_largest,
    real,
    room,
    values,
)

pytestmark = pytest.mark.usefixtures("core_computes")


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
                assert_same(out, expected, err_msg=f"{backend} {shape} {order} {gaps} {flips}")
            assert_same(view.astype(x.dtype), x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_argmax_of_neighbouring_channels(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Every number of channels that fits in vectors, with ties, infinities and NaN; nothing beyond is read."""
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


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_of_channels(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    """Few and many blocks, the last one complete or not, of any length; the largest alone too, with the bits it has."""
    rng = np.random.default_rng(21)
    for block, channels in itertools.product((2, 4, 8, 16, 24, 64), (3, 12, 48, 80, 85, 131, 300, 700)):
        for height, width in ((1, 1), (2, 9), (3, 50)):
            x = values(rng, dtype, (height, width, channels))
            x[0, 0] = x[0, 0, 0]  # ties
            expected = argmax_oracle(x.transpose(2, 0, 1)[None], dtype)[0]
            view = blocks(fences[0], x, block, first=width == 9)
            for backend in BACKENDS:
                found = room(fences[1], np.int64, (height, width), "HW", axes="HW")
                kernels.argmax(view, found, channels, dtype, backend=backend)
                assert_same(found, expected, err_msg=f"{backend} {block} {channels} {width}")
                numbers, largest = np.empty((height, width, 1), np.int64), np.empty((height, width, 1), x.dtype)
                kernels.top_k(view, largest, numbers, channels, dtype, backend=backend)
                assert_same(numbers[..., 0], expected, err_msg=f"{backend} {block} {channels} {width}")
                assert largest.tobytes() == np.take_along_axis(x, numbers, -1).tobytes()


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
def test_views_whose_elements_share_memory(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Broadcast arrays with strides of 0, and sliding windows that overlap, up to the last byte."""
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
