"""Every dtype that a buffer may be read in, and how much each explains."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.stored.buffer_search import Buffer, explained, sampled
from tests.support.readings import blobs, same_reading

SHAPE = (1, 17, 9, 7)


def test_a_sign_that_no_value_needs() -> None:
    reference = blobs(SHAPE)
    spec = nl.TensorSpec(SHAPE, "NHWC", "int8", quantization=nl.Quantization(0.05, 10))
    flat = spec.pack(reference)
    assert flat.min() >= 0
    found = nl.identify(flat, reference)
    assert found.spec is not None and found.spec.dtype == "int8", found.why
    unknown = nl.identify(flat.tobytes(), reference)
    assert unknown.spec is None and "uint8" in unknown.why and "int8" in unknown.why


@pytest.mark.parametrize(("dtype", "scale"), [("int32", 1e-6), ("int16", 2e-3)])
def test_integers_are_no_floats_of_the_smallest_exponents(dtype: str, scale: float) -> None:
    reference = np.abs(blobs(SHAPE))
    spec = nl.TensorSpec(SHAPE, "NHWC", dtype, quantization=nl.Quantization(scale))
    found = nl.identify(spec.pack(reference).tobytes(), reference)
    best = [h.spec.dtype for h in found.ranking if h.score > 20]
    assert not any("float" in name for name in best), found.why
    known = nl.identify(spec.pack(reference), reference).spec
    assert known is not None and known.dtype == dtype and same_reading(known, spec)


def test_bools_are_read_as_uint8() -> None:
    mask = np.random.default_rng(0).random(SHAPE) > 0.5  # about as many of both, or less than 4 dB are there to explain
    spec = nl.identify(nl.TensorSpec(SHAPE, "NHWC", "bool").pack(mask), 255.0 * mask).spec
    assert spec is not None and spec.dtype == "uint8" and spec.quantization == nl.Quantization(255.0)


def test_what_a_line_explains() -> None:
    """Against numpy's own regression; what falls, or does not vary, explains nothing."""
    rng = np.random.default_rng(0)
    wanted = rng.standard_normal(500)
    read = np.stack([3 * wanted + 7 + rng.standard_normal(500), -wanted, np.full(500, 2.0), wanted])
    with np.errstate(all="ignore"):  # as `searched` has it
        noisy, falling, constant, equal = explained(read, wanted, "float32")
    left = read[0] - np.polyval(np.polyfit(wanted, read[0], 1), wanted)
    assert noisy == pytest.approx(10 * np.log10(read[0].var() / left.var()), abs=1e-6)
    assert falling == constant == -np.inf and equal > 150
    assert explained(np.rint(read[:1]), wanted, "int8")[0] < 10 * np.log10(12 * np.rint(read[0]).var()) + 1e-6


def test_the_dtypes_that_bytes_and_arrays_may_be() -> None:
    assert Buffer(bytes(12)).fitting(6) == ["int8", "uint8", "int16", "uint16", "float16", "bfloat16"]
    assert Buffer(bytes(7)).fitting(2) == ["int8", "uint8"]
    signed = Buffer(np.zeros(6, np.int16))
    assert signed.own == "int16" and signed.dtypes == ("int16", "uint16") and signed.raw.nbytes == 12
    halves = np.array([1.0, -2.5, 3e38], np.float32)
    assert Buffer((halves.view(np.uint32) >> 16).astype(np.uint16)).read("bfloat16")[:2].tolist() == [1.0, -2.5]
    assert Buffer(memoryview(bytearray(b"__\x01\x00"))[2:]).read("uint16").tolist() == [1]  # not aligned


def test_half_of_the_samples_are_far_from_the_mean() -> None:
    values = np.zeros((1, 4, 50, 50))
    values[0, 2, 10] = np.linspace(5, 6, 50)
    index = sampled(values, 192, np.random.default_rng(0))
    assert len(index) <= 192 and (values[tuple(index.T)] > 0).sum() >= 3 > 192 * 50 / values.size
    assert len(sampled(values[:, :1, :5, :5], 192, np.random.default_rng(0))) == 25
