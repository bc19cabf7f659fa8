"""identify finds the spec that made a buffer, or says that nothing decides; it never names another."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.stored.identification import hypotheses
from tests.buffers.test_recordings import FILES, described
from tests.support.readings import blobs, same_reading

SHAPE = (1, 17, 9, 7)


LAYOUTS = ["".join(order) for order in itertools.permutations("NCHW") if "".join(order) not in ("WHCN", "CWHN")]
LAYOUTS += ["NCHW4c", "NCHW8c", "NCHW16c", "CNHW4c", "NHWC8c", "NHCW8w", "NHCW16c", "NHCW8w4c", "NCHW64c"]


DTYPES = ("int8", "uint8", "int16", "float16", "bfloat16", "float32")
CASES = [(layout, dtype) for layout in LAYOUTS for dtype in (DTYPES if layout in ("NHWC", "NCHW16c") else ("int8",))]


@pytest.mark.parametrize(("layout", "dtype"), CASES)
def test_layouts_and_dtypes(layout: str, dtype: str) -> None:
    reference = blobs((2, 17, 9, 7))
    zero_point = {"int8": -100, "uint8": 12, "int16": -40}.get(dtype)
    quantization = None if zero_point is None else nl.Quantization(0.0125, zero_point)
    spec = nl.TensorSpec(reference.shape, layout, dtype, quantization=quantization)
    flat = spec.pack(reference)
    for given in (flat, flat.tobytes()):
        found = nl.identify(given, reference)
        assert found.spec is not None, found.why
        assert found.spec.dtype == dtype and same_reading(found.spec, spec), found.why
        if quantization is None:
            assert found.spec.quantization is None
        else:
            assert found.spec.quantization is not None and found.spec.quantization.zero_point == zero_point
            assert found.spec.quantization.scale == pytest.approx(0.0125, rel=0.01)
        assert np.abs(found.spec.unpack(flat) - reference).max() < 0.03
        assert found.ranking[0].spec is found.spec and bool(found) and str(found.spec.layout) in found.why


@pytest.mark.parametrize("dtype", [">i2", ">u2", ">f2", ">f4"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
def test_bytes_of_the_other_order(layout: str, dtype: str) -> None:
    """Their high bytes are elements of 8 bits that follow the reference too."""
    reference = np.random.default_rng(len(layout)).standard_normal((1, 16, 9, 7))
    quantization = nl.Quantization(0.001, 1000 if dtype == ">i2" else 32768) if dtype[1] in "iu" else None
    spec = nl.TensorSpec(reference.shape, layout, dtype, quantization=quantization)
    flat = spec.pack(reference)
    for given in (flat, flat.tobytes()):
        found = nl.identify(given, reference)
        assert found.spec is not None and found.spec.dtype == dtype, found.why
        assert same_reading(found.spec, spec) and np.abs(found.spec.unpack(flat) - reference).max() < 0.01


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_small_integers_are_of_this_byte_order(dtype: str) -> None:
    reference = np.maximum(blobs(SHAPE), 0)
    spec = nl.TensorSpec(SHAPE, "NHWC", dtype, quantization=nl.Quantization(0.0125, 0))
    flat = spec.pack(reference)
    assert flat.max() < 256
    found = nl.identify(flat.tobytes(), reference)
    assert all(h.spec.element.buffer.isnative for h in found.ranking), found.ranking[0]


@pytest.mark.parametrize("order", ["WHCN", "CWHN"])
def test_orders_whose_letters_mean_something_else(order: str) -> None:
    reference = blobs((2, 5, 6, 7))
    flat = np.ascontiguousarray(reference.transpose(["NCHW".index(letter) for letter in order])).ravel()
    found = nl.identify(flat, reference)
    assert found.spec is not None, found.why
    np.testing.assert_array_equal(found.spec.unpack(flat), reference)


def test_pitches_gaps_and_extra_blocks() -> None:
    reference, q = blobs(SHAPE), nl.Quantization(0.0125, 3)
    for spec in (
        nl.TensorSpec(
            SHAPE, "NCHW", "int8", quantization=q, storage_strides=(17 * 9 * 16, 9 * 16, 16, 1), size=17 * 9 * 16
        ),
        nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=q, storage_strides=(17 * 64, 64, 7, 1), size=17 * 64),
        nl.TensorSpec(
            SHAPE, "NHWC", "int8", quantization=q, storage_strides=(9 * 7 * 32, 7 * 32, 32, 1), size=9 * 7 * 32
        ),
        nl.TensorSpec(SHAPE, "NCHW16c", "int8", quantization=q, storage_shape=(1, 4, 9, 7, 16)),
        nl.TensorSpec(SHAPE, "NCHW8c", "int8", quantization=q, storage_strides=(3 * 600, 600, 56, 8, 1), size=1800),
        nl.TensorSpec(SHAPE, "NHWC", "int8", quantization=q, size=17 * 63 + 41),
    ):
        found = nl.identify(spec.pack(reference), reference)
        assert found.spec is not None and same_reading(found.spec, spec), found.why
        assert found.spec.nbytes == spec.nbytes


def test_axes_of_another_order_and_rank() -> None:
    reference = blobs((1, 5, 6, 7)).transpose(0, 2, 3, 1)
    flat = nl.TensorSpec((1, 6, 7, 5), "NCHW", "float32", axes="NHWC").pack(reference)
    found = nl.identify(flat, reference, axes="NHWC")
    assert found.spec is not None and found.spec.axes == "NHWC"
    np.testing.assert_array_equal(found.spec.unpack(flat), reference)
    volume = np.random.default_rng(0).standard_normal((2, 3, 4, 5, 6)).astype(np.float32)
    found = nl.identify(nl.TensorSpec(volume.shape, "NDHWC").pack(volume), volume)
    assert found.spec is not None and str(found.spec.layout) == "NDHWC"


def test_noise_of_a_quantised_network() -> None:
    reference = blobs((1, 57, 46, 46))
    spec = nl.TensorSpec(reference.shape, "NCHW16c", "int8", quantization=nl.Quantization(0.02, -20))
    for db in (40, 20, 10):
        noise = np.random.default_rng(1).standard_normal(reference.shape) * reference.std() * 10 ** (-db / 20)
        found = nl.identify(spec.pack((reference + noise).astype(np.float32)), reference)
        assert found.spec is not None and same_reading(found.spec, spec), found.why


def test_what_does_not_decide_is_not_identified() -> None:
    symmetric = np.random.default_rng(0).standard_normal((1, 4, 6, 6))
    symmetric = symmetric + symmetric.transpose(0, 1, 3, 2)
    found = nl.identify(symmetric.astype(np.float32), symmetric)
    assert found.spec is None and not found and "too close to decide" in found.why and len(found.ranking) > 1
    for reference in (np.full((1, 3, 4, 4), 0.5), np.full((1, 3, 4, 4), np.nan)):
        assert nl.identify(bytes(192), reference).spec is None
    unrelated = nl.identify(blobs(SHAPE, 1), blobs(SHAPE, 2))
    assert unrelated.spec is None, unrelated.why
    assert nl.identify(bytes(17 * 63), blobs(SHAPE)).spec is None


def test_a_header_as_long_as_a_step_between_neighbours() -> None:
    reference = blobs((1, 19, 40, 46))
    spec = nl.TensorSpec(reference.shape, "NCHW16c", "int8", quantization=nl.Quantization(0.02, -20))
    flat = bytes(16) + spec.pack(reference).tobytes()
    found = nl.identify(flat, reference)
    assert found.spec is None and "without its first 16 bytes" in found.why, found.why
    found = nl.identify(flat[16:], reference)
    assert found.spec is not None and same_reading(found.spec, spec), found.why


def test_few_values_fit_by_chance() -> None:
    rng = np.random.default_rng(0)
    for count in (2, 3, 4, 8, 16) * 10:
        found = nl.identify(rng.integers(-128, 128, 4 * count, np.int8), rng.standard_normal((1, count)))
        assert found.spec is None, found.why
    assert "With 16 elements, less than 9 dB may be chance." in found.why
    two = nl.identify(np.float32([1, 2]), np.float64([[3, 7]]))
    assert two.spec is None and two.why == "2 elements fit a line in any order. Fix: give a longer reference."
    answer = rng.standard_normal((1, 10))
    spec = nl.TensorSpec(answer.shape, "NC16c", "int8", quantization=nl.Quantization(0.02))
    assert nl.identify(spec.pack(answer), answer).spec is not None


def test_refusals() -> None:
    reference = blobs(SHAPE)
    for flat, given, arguments, says in (
        (bytes(100), reference, {}, "is too small for a tensor"),
        (reference, np.array(["a"]), {}, "expected numbers"),
        (reference, reference[0, 0, 0, 0], {}, "a letter for each axis"),
        (reference, reference, {"axes": "NCH"}, "a letter for each axis"),
        (reference.transpose(0, 2, 3, 1), reference, {}, "contiguous"),
        ([1, 2], reference, {}, "expected bytes"),
        (bytes(512), np.zeros((2,) * 7), {"axes": "ABCDEFG"}, "at most 6 axes longer than 1, got 7"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.identify(flat, given, **arguments)


def test_recorded_buffers() -> None:
    """Buffers of real runtimes: most are identified from these small tensors, and none wrongly."""
    right = 0
    for path in FILES:
        spec, flat, logical, _ = described(path)
        found = nl.identify(flat, logical)
        if found.spec is not None:
            assert same_reading(found.spec, spec), (path.stem, found)
            right += 1
    assert right >= 90, right


@pytest.mark.parametrize(("dtype", "size"), [("int8", None), ("uint8", 1400), ("float16", None)])
def test_hypotheses_are_the_ranking_without_scales(dtype: str, size: int | None) -> None:
    reference = blobs(SHAPE)
    scales = nl.Quantization(np.linspace(0.005, 0.05, 17), np.full(17, 3), axis=1) if dtype != "float16" else None
    flat = nl.TensorSpec(SHAPE, "NHWC", dtype, quantization=scales, size=size).pack(reference).tobytes()
    found, ranking = hypotheses(flat, reference, "NCHW", 300), nl.identify(flat, reference).ranking
    assert len(found) == len(ranking) > 3
    for one, other in zip(found, ranking):
        assert (
            one.score == other.score and one.spec.storage == other.spec.storage and one.spec.dtype == other.spec.dtype
        )
        assert one.spec.quantization is None
    assert hypotheses(flat, np.zeros(SHAPE), "NCHW", 16) == []
    with pytest.raises(nl.LayoutError, match="too small"):
        hypotheses(b"", reference, "NCHW", 16)


def test_a_buffer_of_a_subclass_is_read_as_its_memory() -> None:
    class Held(np.ndarray):
        def mean(self, *given: Any, **options: Any) -> Any:  # type: ignore[override]
            raise AssertionError("arithmetic of its own")

    reference = blobs(SHAPE)
    flat = nl.TensorSpec(SHAPE, "NHWC", "int8", quantization=nl.Quantization(0.01, 3)).pack(reference)
    assert nl.identify(flat.view(Held), reference).spec == nl.identify(flat, reference).spec
    with pytest.raises(nl.NpuLayoutError, match="buffer: masked array"):
        nl.identify(np.ma.masked_array(flat), reference)
