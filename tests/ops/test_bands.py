"""Bands of stored buffers: every row once, each element where the tag says, and the scales of the rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.ops import bands
from tests.support import oracle

SHAPE = (2, 5, 13, 4)


@pytest.fixture(autouse=True)
def small_bands(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bands of some rows, where a whole image would be one."""
    bands._bands_of.cache_clear()
    monkeypatch.setattr(bands, "_BAND", 3 * 5 * 4)
    yield
    bands._bands_of.cache_clear()


def numbered(tag: str, dtype: str, **more: Any) -> tuple[nl.TensorSpec, np.ndarray, np.ndarray]:
    """A spec, a buffer of random elements, padding too, and its values in the axes (N,C,H,W), by the oracle."""
    spec = nl.TensorSpec(SHAPE, tag, dtype, **more)
    rng = np.random.default_rng(len(tag))
    flat = rng.integers(0, 120, spec.size).astype(spec.stored)
    if dtype == "bfloat16":
        flat = (rng.normal(0, 9, spec.size).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    wanted = np.empty(SHAPE, np.float32 if dtype == "bfloat16" else flat.dtype)
    extents = dict(zip("NCHW", SHAPE))
    stored = oracle.stored_shape(tag, extents)
    for index in oracle.indices(SHAPE):
        code = flat[oracle.place(tag, stored, dict(zip("NCHW", index)), more.get("storage_strides"))]
        value = np.uint32(int(code) << 16).view(np.float32) if dtype == "bfloat16" else code
        wanted[index] = value
    return spec, flat, wanted


TAGS = ("NCHW", "NHWC", "CHWN", "NCHW4c", "NHCW16c", "NHWC4c", "NCHW2h", "NHCW4w2c", "NCHW2n", "CNHW4c")


@pytest.mark.parametrize("dtype", ["int8", "float32", "bfloat16"])
@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("halo", [0, 1, 4])
def test_every_row_of_every_image(tag: str, dtype: str, halo: int) -> None:
    spec, flat, wanted = numbered(tag, dtype)
    seen = []
    for band in bands.bands(spec, flat, halo):
        upper, lower = max(0, band.first - halo), min(SHAPE[2], band.last + halo)
        assert np.array_equal(band.x, wanted[band.n : band.n + 1, :, upper:lower]), (band.n, band.first)
        assert band.x.dtype == wanted.dtype and band.quantization is None
        seen += [(band.n, row) for row in range(band.first, band.last)]
    assert seen == list(itertools.product(range(2), range(13)))


def test_bands_have_about_the_size_that_fits_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for size, counts in ((1, 26), (60, 10), (10**6, 2)):
        bands._bands_of.cache_clear()
        monkeypatch.setattr(bands, "_BAND", size)
        spec, flat, _ = numbered("NCHW4c", "int8")
        assert len(list(bands.bands(spec, flat))) == counts


def test_bands_of_blocks_of_rows_begin_with_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, flat, _ = numbered("NCHW2h", "int8")
    firsts = {band.first for band in bands.bands(spec, flat)}
    assert firsts == {0, 2, 4, 6, 8, 10, 12}


def test_pitches_are_read_by_the_strides() -> None:
    strides = (13 * 5 * 8 + 7, 13 * 8, 8, 1)  # rows of 8 for 4 columns, and a gap behind each image
    spec, flat, wanted = numbered("NCHW", "uint8", storage_strides=strides)
    got = [band.x for band in bands.bands(spec, flat)]
    assert np.array_equal(np.concatenate(got[: len(got) // 2], 2)[0], wanted[0])
    assert np.array_equal(np.concatenate(got[len(got) // 2 :], 2)[0], wanted[1])


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16"])
def test_rows_that_go_backwards(dtype: str) -> None:
    """The last row of each image comes first, and so does the last column."""
    strides, before = (2 * 13 * 16, 13 * 16, -16, -4, 1), 12 * 16 + 3 * 4
    forwards = numbered("NCHW4c", dtype)[1]
    backwards = forwards.reshape(2, 2, 13, 4, 4)[:, :, ::-1, ::-1].ravel()
    spec = nl.TensorSpec(SHAPE, "NCHW4c", dtype, storage_strides=strides, storage_offset=before)
    wanted = numbered("NCHW4c", dtype)[2]
    for band in bands.bands(spec, backwards, 1):
        upper, lower = max(0, band.first - 1), min(13, band.last + 1)
        assert np.array_equal(band.x, wanted[band.n : band.n + 1, :, upper:lower])


@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("tag", ["NCHW", "NCHW4c"])
def test_the_scales_are_those_of_the_rows(tag: str, axis: int | None) -> None:
    scales: Any = 0.5 if axis is None else [0.25 * (i + 1) for i in range(SHAPE[axis])]
    points = 3 if axis is None else list(range(SHAPE[axis]))
    quantization = nl.Quantization(scales, points, axis)
    spec, flat, wanted = numbered(tag, "int8", quantization=quantization)
    halo = 1
    for band in bands.bands(spec, flat, halo):
        upper = max(0, band.first - halo)
        assert band.quantization is not None
        for c, y, x in itertools.product(range(5), range(band.x.shape[2]), range(4)):
            at = (band.n, c, upper + y, x)
            k = 0 if axis is None else at[axis]
            scale, point = (scales, points) if axis is None else (scales[k], points[k])
            own = band.quantization
            mine = (0, c, y, x)[own.axis] if own.axis is not None else 0
            assert float(np.atleast_1d(own.scale)[mine]) == pytest.approx(scale)
            assert int(np.atleast_1d(own.zero_point)[mine]) == point
            assert band.x[0, c, y, x] == wanted[at]


def test_scales_follow_the_axes() -> None:
    spec = nl.TensorSpec((2, 3, 4, 5), "NHWC", "int8", axes="NHWC", quantization=nl.Quantization([1.0] * 5, 0, axis=-1))
    found = bands.quantization_of(spec)
    assert found is not None and found.axis == 1  # C of (N,C,H,W)
    assert bands.quantization_of(nl.TensorSpec((1, 2, 3, 4))) is None


def test_each_writes_the_rows_of_its_band() -> None:
    spec, flat, wanted = numbered("NHCW16c", "int8")
    out, highest = np.zeros((2, 5, 13, 4), np.int16), np.full((2, 1, 13, 4), -1, np.int8)

    def run(x: np.ndarray, quantization: Any, *outs: np.ndarray) -> None:
        outs[0][...] = x
        outs[1][...] = x.max(1, keepdims=True)

    bands.each(spec, flat, (out, highest), run)
    assert np.array_equal(out, wanted)
    for index in oracle.indices((2, 13, 4)):
        n, y, x = index
        assert highest[n, 0, y, x] == max(int(wanted[n, c, y, x]) for c in range(5))
