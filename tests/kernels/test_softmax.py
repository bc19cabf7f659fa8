"""softmax, at every instruction set, against scalar loops: layouts, dtypes, accuracy, NaN."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.arrays import assert_same
from tests.support.kernel_walks import BACKENDS, NATIVE
from tests.support.memory import Fenced
from tests.support.reduction_examples import (
    SHAPES,
    assert_softmax,
    bits,
    placed,
    real,
    room,
    scaled,
    softmax_oracle,
    stored_dtype,
    values,
)

pytestmark = pytest.mark.usefixtures("core_computes")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "uint8", "int16", "int32"])
def test_softmax_in_every_layout(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    """The native levels agree to the last bit, and all are within the documented error."""
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
                    assert_same(bits(out), bits(first), err_msg=f"{backend} {message}")


@pytest.mark.parametrize("backend", NATIVE)
def test_softmax_of_neighbouring_channels(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    """Every number of channels that fits in vectors, the largest of which four rows, or one row, fit in the bench, and
    one more; of one to eleven positions."""
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
                assert_same(bits(out), bits(expected), err_msg=f"{dtype} {channels} {n} {gap}")


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
            assert_same(turned.T, out)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_nan_of_any_payload_is_nan(backend: str) -> None:
    x = np.ones((40, 3), np.float32)
    x[:, 1].view(np.uint32)[...] = np.random.default_rng(0).integers(0x7F800001, 0x80000000, 40)
    for channels in (x, np.ascontiguousarray(x[:, ::-1]), np.asfortranarray(x)):
        out = np.zeros_like(x)
        kernels.softmax(channels, out, backend=backend)
        assert np.isnan(out).all()
