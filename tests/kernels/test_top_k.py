"""top_k, at every instruction set, against scalar loops: layouts, dtypes, how many."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.arrays import assert_same
from tests.support.kernel_walks import BACKENDS
from tests.support.memory import Fenced
from tests.support.reduction_examples import DTYPES, SHAPES, arranged, room, top_k_oracle, values

pytestmark = pytest.mark.usefixtures("core_computes")


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
                # One begins at the end of a fence, the other ends at the beginning of one.
                largest = room(
                    fences[1],
                    x.dtype,
                    small,
                    orders[i % 2],
                    [0, 0, 1, 0] if i % 4 == 3 else None,
                    "H" * (i % 5 == 2),
                    True,
                )
                which = room(fences[1], np.int64, small, orders[i % 2 - 1], None, "W" * (i % 5 == 4))
                largest[...], which[...] = 99, -7
                kernels.top_k(*(a.transpose(0, 2, 3, 1) for a in (view, largest, which)), dtype=dtype, backend=backend)
                message = f"{backend} {shape} {order} {gaps} {flips} {k}"
                assert_same(which.transpose(0, 2, 3, 1), every[..., :k], err_msg=message)
                expected = np.take_along_axis(last, every[..., :k], -1)
                assert largest.transpose(0, 2, 3, 1).tobytes() == expected.tobytes(), message  # a NaN keeps its bits
            assert_same(view.astype(x.dtype), x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_top_k_of_every_number(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """k for which values stay in registers, on planes, and row by row; channels of several tiles and of one row."""
    rng = np.random.default_rng(16)
    for channels, n in ((1300, 3), (700, 21), (130, 67), (40, 300)):
        for dtype in ("int8", "float16", "float32"):
            x = values(rng, dtype, (n, channels))
            every = top_k_oracle(x, dtype, channels)
            for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 33, channels - 1, channels):
                for order in ("PC", "CP"):
                    view = room(fences[0], x.dtype, x.shape, order, axes="PC")
                    view[...] = x
                    largest, which = np.zeros((n, k), x.dtype), np.zeros((n, k), np.int64)
                    kernels.top_k(view, largest, which, backend=backend)
                    assert_same(which, every[:, :k], err_msg=f"{dtype} {channels} {n} {k} {order}")
                    assert largest.tobytes() == np.take_along_axis(x, every[:, :k], 1).tobytes()
