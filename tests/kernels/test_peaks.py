"""peaks and tops, at every instruction set, against scalar loops: layouts, dtypes, plateaus, blocks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.arrays import assert_same
from tests.support.kernel_walks import BACKENDS
from tests.support.memory import Fenced
from tests.support.reduction_examples import DTYPES, arranged, peaks_oracle, real, room, shifted_peaks, values

pytestmark = pytest.mark.usefixtures("core_computes")


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
                    assert_same(got.reshape(-1, 4), np.array(expected, int).reshape(-1, 4), message)


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


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "float16", "float32"])
def test_few_peaks(dtype: str, fences: tuple[Fenced, Fenced]) -> None:
    """A small number of points above the threshold, single or in patches of equal values, at borders too."""
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
    """tops of any pixels, peaks or not, with infinities and NaN: the same bits from every backend."""
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
            expected = []
            for n, c, j, k in rows.tolist():
                plane, at = x[n, c].astype(np.float64), [float(k), float(j)]
                for axis, here, size in ((0, k, shape[3]), (1, j, shape[2])):
                    if refine and 0 < here < size - 1:
                        before, v, after = plane[j, here - 1 : here + 2] if axis == 0 else plane[here - 1 : here + 2, k]
                        with np.errstate(all="ignore"):
                            way = 0.5 * (before - after) / (before - 2 * v + after)
                        if refine == "quarter":
                            way = 0.25 * (int(after > before) - int(after < before))
                        at[axis] += way if np.isfinite(way) else 0
                expected.append([n, c, *at, plane[j, k]])
            for out in outs:
                np.testing.assert_array_equal(out, expected)
    with pytest.raises(ValueError, match="refine"):
        kernels.tops(x, rows, outs[0], "cubic")
    before = outs[0].copy()
    for backend in BACKENDS:
        for far in (rows, rows - 1):
            with pytest.raises(ValueError, match="pixels that an array of shape"):
                kernels.tops(x[:, :, :1], far, outs[0], refine, backend=backend)
    assert_same(outs[0], before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_peaks_of_channels_in_blocks(backend: str, fences: tuple[Fenced, Fenced]) -> None:
    rng = np.random.default_rng(8)
    cases = itertools.product((1, 5, 16, 17, 33), (4, 16), ("int8", "float32", "float16"), range(5))
    for channels, block, dtype, single in cases:
        h, w, blocks = 5, 7, -(-channels // block)
        x = values(rng, dtype, (2, channels, h, w), odd=False)
        if single:  # so few that the codes of whole blocks are in order, and so are those of the last block
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
    near = np.array([2**30 + 1, 0, 2**30 + 2], np.int32).reshape(1, 1, 1, 3)  # as float32 these are equal
    assert kernels.peaks(near, 5, 2, backend=backend).tolist() == [[0, 0, 0, 2]]
    for empty in ((0, 3, 4, 4), (1, 3, 0, 4), (1, 3, 4, 0)):
        assert kernels.peaks(np.zeros(empty, np.float32), 0, backend=backend).shape == (0, 4)
    noise = np.random.default_rng(9).random((1, 2, 420, 400)).astype(np.float32)
    expected = shifted_peaks(noise, 0)
    assert len(expected) > 1 << 14
    for view in (noise, np.ascontiguousarray(noise.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)):
        assert kernels.peaks(view, 0, backend=backend).tolist() == expected
