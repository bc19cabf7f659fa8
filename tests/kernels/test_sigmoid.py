"""sigmoid, at every instruction set, against scalar loops: layouts, dtypes, sizes."""

from __future__ import annotations

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
    ULPS,
    assert_near,
    bits,
    placed,
    scaled,
    sigmoid_oracle,
    stored_dtype,
    values,
)

pytestmark = pytest.mark.usefixtures("core_computes")


@pytest.mark.parametrize("dtype", DTYPES)
def test_sigmoid_in_every_layout(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    """The native levels agree to the last bit, all are within the documented error; results with other strides too."""
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
                assert_same(bits(out), bits(same), err_msg=f"{backend} {message}")
                if dtype == "float32":
                    kernels.sigmoid(view, view, backend=backend)
                    assert_same(bits(view), bits(same), err_msg=f"{backend} {message}, in place")
                    view[...] = x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
@pytest.mark.parametrize(("channels", "block"), [(255, 8), (255, 1), (37, 16), (3, 4), (1, 16), (1000, 16), (130, 1)])
@pytest.mark.parametrize(("rows", "columns", "gap"), [(3, 20, 0), (2, 70, 0), (4, 20, 5), (1, 1, 0), (2, 64, 9)])
def test_channels_in_digits(
    backend: str, dtype: str, channels: int, block: int, rows: int, columns: int, gap: int
) -> None:
    """Blocks of channels with pad lanes, and rows with gaps, have the bits of the dense elements."""
    rng, blocks = np.random.default_rng(channels + columns), -(-channels // block)
    stored = values(rng, dtype, (rows, blocks, columns + gap, block))
    x = stored[:, :, :columns].transpose(0, 2, 1, 3)  # rows, columns, digits of the channel
    dense = np.ascontiguousarray(x.reshape(rows, columns, blocks * block)[..., :channels])
    wanted = np.empty(dense.shape, np.float32)
    kernels.sigmoid(dense, wanted, backend=backend)
    for order in ((0, 1, 2), (2, 0, 1), (0, 2, 1)):
        memory = np.full([(rows, columns, channels)[axis] for axis in order], 9, np.float32)
        out = memory.transpose(np.argsort(order))
        kernels.sigmoid(x, out, backend=backend, positions=2, channels=channels)
        assert_same(bits(out), bits(wanted), err_msg=f"{order}")


def test_sigmoid_of_every_size_and_at_its_ends(fences: tuple[Fenced, Fenced]) -> None:
    """Floats near each power of two, and where the exponential meets the limits of float32; infinities and NaN."""
    near = np.array([s * 2.0**e * f for e in range(-149, 128) for f in (1, 1.2, 1.7) for s in (1, -1)], np.float32)
    ends = np.concatenate([np.arange(-90, -80, 0.01), np.arange(15, 19, 0.01), np.arange(86, 90, 0.01)])
    x = np.concatenate([near, ends.astype(np.float32), np.random.default_rng(16).normal(0, 6, 5000).astype(np.float32)])
    for backend in BACKENDS:
        out = np.empty_like(x)
        kernels.sigmoid(x, out, backend=backend)
        assert_near(out, sigmoid_oracle(x), ULPS["sigmoid"])
        special = np.array([math.inf, -math.inf, 0.0, -0.0, math.nan, -math.nan, 1e38, -1e38], np.float32)
        kernels.sigmoid(special, special, backend=backend)
        assert_same(special, np.array([1, 0, 0.5, 0.5, math.nan, math.nan, 1, 0], np.float32))
