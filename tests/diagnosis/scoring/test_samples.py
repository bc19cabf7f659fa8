"""Samples are the same places for every reading of a buffer."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.samples import (
    Samples,
    arithmetic,
    by_channel,
    ends,
    predicted,
    read,
    read_all,
    stored,
)

SHAPE = (2, 5, 12, 9)


@pytest.mark.parametrize("axis", [1, 3, None])
def test_every_channel_has_as_many_places_each_once(axis: int | None) -> None:
    reference = np.random.default_rng(0).standard_normal((1, 6, 40, 70))
    samples = Samples([reference], axis)
    channels = 1 if axis is None else reference.shape[axis]
    assert np.bincount(samples.channel).tolist() == [samples.count] * channels
    assert len({tuple(place) for place in np.stack(samples.index, 1)}) == channels * samples.count
    assert axis is None or (samples.index[axis] == samples.channel).all()
    np.testing.assert_array_equal(samples.of(reference), reference[samples.index])


def test_far_values_are_sampled() -> None:
    """200 places of 8,000 are far from the mean: by chance three of them would be among the 128 samples."""
    reference = np.random.default_rng(0).standard_normal((1, 64, 80, 100))
    reference[0, :, :2] += 100
    samples = Samples([reference], 1)
    assert (samples.of(reference) > 50).sum() > 64 * 10


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW4c", "NHCW16c"])
@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "int4"])
def test_what_is_read_are_the_stored_values(layout: str, dtype: str) -> None:
    q = nl.Quantization(np.linspace(0.02, 0.4, 5), np.arange(5), axis=1) if dtype.startswith("int") else None
    spec = nl.TensorSpec(SHAPE, layout, dtype, quantization=q)
    reference = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    buffer = spec.pack(reference)
    samples = Samples([reference], 1)
    codes = read(spec, stored(spec, buffer), samples)
    scale, zero_point = arithmetic(spec, samples)
    np.testing.assert_allclose((codes - zero_point) * scale, samples.of(spec.unpack(buffer)), rtol=1e-6, atol=1e-6)
    if q is not None:
        assert np.abs(codes - predicted(spec, samples, samples.of(reference))).max() <= 0.5 + 1e-6


def test_ends() -> None:
    dtypes = ("int8", "uint8", "int16", "float16", "bool")
    found = [ends(nl.TensorSpec((1, 2, 3, 4), "NCHW", dtype)) for dtype in dtypes]
    assert found == [(-128, 127), (0, 255), (-32768, 32767), (-65504, 65504), (0, 1)]


def test_by_channel() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    assert by_channel(x, None).shape == (1, 24) and by_channel(x, 2).tolist()[1] == x[..., 1].ravel().tolist()


def test_read_all_reads_each_frame() -> None:
    rng = np.random.default_rng(0)
    spec = nl.TensorSpec(SHAPE, "NCHW4c", "float32")
    buffers = [spec.pack(rng.standard_normal(SHAPE).astype(np.float32)) for _ in range(3)]
    samples = Samples([spec.unpack(b) for b in buffers], 1)
    codes = read_all(spec, [stored(spec, b) for b in buffers], samples)
    assert codes.shape == (3, samples.channel.size) and codes.dtype == np.float64
    for row, buffer in zip(codes, buffers):
        np.testing.assert_array_equal(row, read(spec, stored(spec, buffer), samples))
        np.testing.assert_array_equal(row, samples.of(spec.unpack(buffer)))


def test_channels_are_read_in_another_order() -> None:
    reference = np.random.default_rng(0).standard_normal(SHAPE)
    samples, order = Samples([reference], 1), np.array([3, 0, 4, 1, 2])
    np.testing.assert_array_equal(samples.of(reference, order), samples.of(reference[:, order]))
    turned = np.asfortranarray(reference)
    np.testing.assert_array_equal(samples.of(turned), samples.of(reference))
