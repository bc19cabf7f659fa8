"""Operators on stored buffers of any layout: bit for bit what they return for the unpacked tensor; padding is noise."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels, ops
from npu_layout.ops import bands, stored_buffers
from tests.support import scenes

LAYOUTS = (*scenes.LAYOUTS, "NCHW4n", "NHWC4n", "NCHW2h", "CNHW16c", "NHCW16c", "NCHW4c", "NCHW8c4n")
DTYPES = scenes.DTYPES


def stored(choose: random.Random, rng: np.random.Generator, shape: tuple[int, ...] | None = None) -> scenes.Output:
    """A random spec, a buffer whose padding is noise, and its values, one by one."""
    small, deep = ((1, 3), (1, 20), (1, 17), (1, 14)), ((1, 2), (30, 140), (1, 6), (1, 9))  # deep: many blocks
    shape = shape or tuple(choose.randint(lo, hi) for lo, hi in (small if choose.random() < 0.7 else deep))
    dtype = choose.choice(DTYPES)
    real = rng.normal(0, 3, shape).astype(np.float32)
    if choose.random() < 0.3:
        real = np.round(real)  # ties
    layout = choose.choice(LAYOUTS)
    o = scenes.output(rng, shape, real, layout, dtype, 0.07, choose.choice((0, 9)), choose.choice((0, 0, 5)), name="x")
    if choose.random() < 0.5:  # what is no element is the largest: of integers, or NaN
        beside = np.ones(o.buffer.shape, bool)
        beside[np.asarray(o.spec.offset(*np.indices(o.spec.shape)), np.int64)] = False
        largest = np.float32(np.nan) if dtype in ("float16", "float32") else np.iinfo(o.buffer.dtype).max
        o.buffer[beside] = largest
    return o


def unpacked(o: scenes.Output) -> tuple[np.ndarray, Any]:
    """The dense tensor of stored elements, and their quantization."""
    spec = o.spec
    index = np.indices(spec.shape)
    found = o.buffer[np.asarray(spec.offset(*index), np.int64)]
    if spec.dtype == "bfloat16":
        found = (found.astype(np.uint32) << 16).view(np.float32)
    return np.ascontiguousarray(found), spec.quantization


def same_bits(a: Any, b: Any) -> None:
    a, b = (x if isinstance(x, tuple) else (x,) for x in (a, b))
    for one, two in zip(a, b):
        one, two = np.asarray(one), np.asarray(two)
        assert one.dtype == two.dtype and one.shape == two.shape
        assert np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(two).tobytes()


OPERATORS: dict[str, Callable[[Any, Any, Any, int], Any]] = {
    "argmax": lambda x, b, q, c: ops.argmax_channels(x, b, quantization=q),
    "max": lambda x, b, q, c: ops.max_channels(x, b, quantization=q),
    "top_k": lambda x, b, q, c: ops.top_k(x, min(3, c), b, quantization=q),
    "softmax": lambda x, b, q, c: ops.softmax_channels(x, b, quantization=q),
    "sigmoid": lambda x, b, q, c: ops.sigmoid(x, b, quantization=q),
    "above": lambda x, b, q, c: ops.above(x, 1.3, b, quantization=q),
    "peaks": lambda x, b, q, c: ops.peaks(x, 1.0, 1 + c % 3, b, quantization=q),
    "quarter": lambda x, b, q, c: ops.peaks(x, 0.2, 2, b, quantization=q, refine="quarter"),
    "whole": lambda x, b, q, c: ops.peaks(x, 0.2, 1, b, quantization=q, refine=None),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_quantization_beside_a_spec_is_refused(name: str) -> None:
    """The spec says what its integers mean; another scale would be left out in silence."""
    spec = nl.TensorSpec((1, 3, 1, 2), "NCHW4c", "int8")
    for given in ((0.01, 2), nl.Quantization(0.01, 2)):
        with pytest.raises(
            nl.NpuLayoutError, match=r"quantization: expected none beside layout NCHW4c .*spec\.replace"
        ):
            OPERATORS[name](spec, np.zeros(8, np.int8), given, 3)


def compared(count: int, seed: int) -> None:
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    for _ in range(count):
        o = stored(choose, rng)
        dense, q = unpacked(o)
        for run in OPERATORS.values():
            found, wanted = run(o.spec, o.buffer, None, o.spec.shape[1]), run(dense, None, q, o.spec.shape[1])
            same_bits(found, wanted)


@pytest.mark.parametrize("seed", range(8))
def test_bits_of_the_unpacked_tensor(seed: int) -> None:
    compared(60, seed)


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("shape", [(2, 255, 5, 20), (1, 80, 7, 45), (1, 5, 9, 13), (1, 300, 3, 7), (1, 40, 90, 75)])
@pytest.mark.parametrize("tag", ["NHCW16c", "NHCW8c", "NHCW4c"])
def test_tiles_of_parts_of_rows(
    shape: tuple[int, ...], tag: str, backend: str, activate: Callable[[str], None]
) -> None:
    """Rows of blocks do not continue each other, those of the result do; one is cut into parts by threads, too."""
    activate(backend)
    rng = np.random.default_rng(shape[1])
    real = rng.normal(0, 3, shape).astype(np.float32)
    for dtype in ("int8", "float16", "float32"):
        o = scenes.output(rng, shape, real, tag, dtype, 0.07, 9, 0, name="x")
        dense, q = unpacked(o)
        for name in ("argmax", "max", "softmax", "top_k", "sigmoid"):
            found, wanted = OPERATORS[name](o.spec, o.buffer, None, shape[1]), OPERATORS[name](dense, None, q, shape[1])
            same_bits(found, wanted)


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize(("shape", "pitch"), [((1, 255, 20, 20), 32), ((2, 40, 9, 40), 48), ((1, 33, 70, 33), 34)])
@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32"])
def test_short_rows_with_gaps(
    shape: tuple[int, ...], pitch: int, dtype: str, backend: str, activate: Callable[[str], None]
) -> None:
    """Rows of planes that are read with the gaps behind them; these have the largest values, or NaN."""
    activate(backend)
    strides = (shape[1] * shape[2] * pitch, shape[2] * pitch, pitch, 1)
    spec = nl.TensorSpec(shape, "NCHW", dtype, storage_strides=strides)
    real = np.random.default_rng(pitch).normal(0, 3, shape).astype(np.float32)
    inside = np.asarray(spec.offset(*np.indices(shape)), np.int64)
    for beside in (np.nan, np.inf):
        largest = {"int8": 127, "bfloat16": 0x7FC0 if beside != beside else 0x7F80}.get(dtype, beside)
        buffer = np.full(spec.size, largest, spec.stored)
        buffer[inside] = spec.pack(real if dtype != "int8" else real.astype(np.int8)).reshape(-1)[inside]
        o = scenes.Output(spec, buffer, buffer)
        dense, q = unpacked(o)
        for run in OPERATORS.values():
            found, wanted = run(spec, buffer, None, shape[1]), run(dense, None, q, shape[1])
            same_bits(found, wanted)


@pytest.mark.parametrize("band", [1, 40, 300])
def test_bands_of_every_size(band: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands of a row or of some, so that each image has several, with rows beside them for peaks."""
    monkeypatch.setattr(bands, "_BAND", band)
    monkeypatch.setattr(stored_buffers, "walk", lambda spec: None)
    bands._bands_of.cache_clear()
    try:
        compared(60, 100 + band)
    finally:
        bands._bands_of.cache_clear()


@pytest.mark.slow
def test_many_random_specs() -> None:
    for seed in range(100):
        compared(1000, 1000 + seed)


@pytest.mark.parametrize("axis", range(4))
def test_scales_along_an_axis(axis: int) -> None:
    rng = np.random.default_rng(0)
    count = (2, 7, 9, 5)[axis]
    q = nl.Quantization(rng.uniform(0.01, 1, count), rng.integers(-9, 9, count), axis=axis)
    for tag, axes in (("NCHW4c", "NCHW"), ("NHWC8c", "NCHW"), ("NHWC", "NCHW")):
        spec = nl.TensorSpec((2, 7, 9, 5), tag, "int8", axes=axes, quantization=q)
        x = rng.normal(0, 10, spec.shape).astype(np.float32)
        buffer = spec.pack(x)
        stored_values = nl.TensorSpec(spec.shape, "NCHW", "int8", quantization=q).pack(x).reshape(spec.shape)
        for run in OPERATORS.values():
            same_bits(run(spec, buffer, None, 7), run(stored_values, None, q, 7))


@pytest.mark.parametrize("tag", ["1hNCHW", "1h2hNCHW", "N1cCHW4c", "NC1wHW", "1nNCHW4c"])
@pytest.mark.parametrize("dtype", ["int8", "float32", "bfloat16"])
def test_a_block_of_one_before_its_axis(tag: str, dtype: str) -> None:
    same_as_of_the_tensor(nl.TensorSpec((2, 5, 3, 4), nl.Layout(tag, "NCHW"), dtype))


@pytest.mark.parametrize("dtype", [">i2", ">u4", ">f4", ">f8", "bool", "float64", "int64"])
@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "NCHW4c", "NCHW2h"])
def test_dtypes_without_a_compiled_loop(tag: str, dtype: str) -> None:
    same_as_of_the_tensor(nl.TensorSpec((2, 5, 3, 4), nl.Layout(tag, "NCHW"), dtype))


@pytest.mark.parametrize("dtype", ["int8", "float64", "bfloat16"])
@pytest.mark.parametrize("tag", ["NCHW4c", "NCHW2h"])
def test_strides_that_go_backwards(tag: str, dtype: str) -> None:
    plain = nl.Layout(tag).storage_shape((2, 5, 3, 4))
    forwards = nl.TensorSpec(plain, "ABCDE").storage_strides
    for signs in ((-1, 1, 1, 1, 1), (1, -1, 1, 1, 1), (1, 1, -1, 1, 1), (-1, -1, -1, -1, -1)):
        strides = [sign * stride for sign, stride in zip(signs, forwards)]
        before = sum((extent - 1) * -stride for extent, stride in zip(plain, strides) if stride < 0)
        same_as_of_the_tensor(
            nl.TensorSpec((2, 5, 3, 4), tag, dtype, storage_strides=strides, storage_offset=before + 3)
        )


def same_as_of_the_tensor(spec: nl.TensorSpec) -> None:
    """Operators return the bits for a buffer of the spec that they return for its tensor; padding is noise."""
    rng = np.random.default_rng(len(spec.layout.tag))
    buffer = rng.integers(0, 2 if spec.dtype == "bool" else 120, spec.size).astype(spec.stored)
    if spec.dtype == "bfloat16":
        buffer = (rng.normal(0, 9, spec.size).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    dense, q = unpacked(scenes.Output(spec, buffer, buffer))
    for run in OPERATORS.values():
        found, wanted = run(spec, buffer, None, 5), run(dense, None, q, 5)
        same_bits(found, wanted)


def test_out_is_written() -> None:
    o = stored(random.Random(3), np.random.default_rng(3), (2, 6, 11, 9))
    dense, q = unpacked(o)
    index = np.empty((2, 1, 11, 9), np.int64)
    assert ops.argmax_channels(o.spec, o.buffer, out=index) is index
    same_bits(index, ops.argmax_channels(dense, quantization=q))
    wanted = ops.top_k(dense, 2, quantization=q)
    pair = tuple(np.empty_like(a, order="C") for a in wanted)
    assert ops.top_k(o.spec, 2, o.buffer, out=pair)[0] is pair[0]
    same_bits(pair, wanted)
    rows = np.full((500, 5), -1.0)
    found = ops.peaks(o.spec, 1.0, buffer=o.buffer, out=rows)
    same_bits(found, ops.peaks(dense, 1.0, quantization=q))
    assert np.shares_memory(found, rows) and (rows[len(found) :] == -1).all()
    with pytest.raises(nl.NpuLayoutError, match=r"found \d+ peaks, got room for 1"):
        ops.peaks(o.spec, 1.0, buffer=o.buffer, out=rows[:1])
    with pytest.raises(nl.NpuLayoutError, match=r"out for argmax_channels: expected \(2, 1, 11, 9\) int64"):
        ops.argmax_channels(o.spec, o.buffer, out=index[:1])


@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "NCHW4c"])
@pytest.mark.parametrize("small", [False, True])
def test_an_out_in_the_memory_of_the_buffer(tag: str, small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are those of a buffer of its own, also where rows are written before the last ones are read."""
    if small:
        monkeypatch.setattr(bands, "_BAND", 1)
    bands._bands_of.cache_clear()
    rng = np.random.default_rng(0)
    for dtype, calls in (
        ("float32", {"sigmoid": (ops.sigmoid, 4), "softmax": (ops.softmax_channels, 4)}),
        ("int64", {"argmax": (ops.argmax_channels, 1)}),
    ):
        spec = nl.TensorSpec((1, 4, 9, 7), tag, dtype)
        buffer = spec.pack(rng.integers(-9, 9, spec.shape).astype(dtype))
        for name, (call, channels) in calls.items():
            wanted, used = call(spec, buffer), buffer.copy()
            out = used[-channels * 63 :].reshape(1, channels, 9, 7)
            assert call(spec, used, out=out) is out and np.array_equal(out, wanted), name
    values, channels = ops.top_k(spec, 2, buffer)
    out = (buffer[:126].reshape(1, 2, 9, 7), np.empty((1, 2, 9, 7), np.int64))
    found = ops.top_k(spec, 2, buffer, out=out)
    assert found[0] is out[0] and found[1] is out[1]
    assert np.array_equal(out[0], values) and np.array_equal(out[1], channels)
    bands._bands_of.cache_clear()


def test_outs_whose_elements_are_not_their_own() -> None:
    spec = nl.TensorSpec((1, 4, 9, 7), "NHWC", "float32")
    buffer = np.zeros(spec.size, np.float32)
    expanded = np.lib.stride_tricks.as_strided(np.zeros(63, np.float32), spec.shape, (0, 0, 28, 4))
    with pytest.raises(nl.NpuLayoutError, match="elements overlap"):
        ops.sigmoid(spec, buffer, out=expanded)
    with pytest.raises(nl.NpuLayoutError, match="masked array"):
        ops.sigmoid(spec, buffer, out=np.ma.zeros(spec.shape, np.float32))
    tensor = nl.Tensor(np.zeros(spec.shape, np.float32), "NHWC")
    assert ops.sigmoid(spec, buffer, out=tensor) is tensor and (np.asarray(tensor) == 0.5).all()


@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "NCHW16c", "NHWC8c", "NHCW16c", "NHWC8h4w"])
@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16"])
def test_memory_does_not_grow_with_the_image(tag: str, dtype: str) -> None:
    """1 and 4 million elements: about the same temporary memory, beside the results."""
    known = nl.Quantization(0.05, 0) if dtype == "int8" else None
    used: dict[str, list[int]] = {}
    for side in (128, 256):
        spec = nl.TensorSpec((1, 64, side, side), nl.Layout(tag, "NCHW"), dtype, quantization=known)
        buffer = np.zeros(spec.size, spec.stored)
        index, real = np.empty((1, 1, side, side), np.int64), np.empty(spec.shape, np.float32)
        tops = (
            np.empty((1, 3, side, side), np.float16 if dtype == "float16" else np.float32),
            np.empty((1, 3, side, side), np.int64),
        )
        calls: dict[str, Callable[[], Any]] = {
            "argmax": lambda: ops.argmax_channels(spec, buffer, out=index),  # noqa: B023
            "top_k": lambda: ops.top_k(spec, 3, buffer, out=tops),  # noqa: B023
            "softmax": lambda: ops.softmax_channels(spec, buffer, out=real),  # noqa: B023
            "sigmoid": lambda: ops.sigmoid(spec, buffer, out=real),  # noqa: B023
            "above": lambda: ops.above(spec, 1, buffer),  # noqa: B023
            "peaks": lambda: ops.peaks(spec, 1, buffer=buffer),  # noqa: B023
        }
        for name, call in calls.items():
            call()
            tracemalloc.start()
            call()
            used.setdefault(name, []).append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    for name, (small, large) in used.items():
        assert large < 1.2 * small + 200_000, (name, small, large)


def test_bad_calls() -> None:
    spec = nl.TensorSpec((1, 3, 4, 4), "NCHW4c", "int8")
    good = np.zeros(spec.size, np.int8)
    for call, words in (
        (lambda: ops.argmax_channels(spec), "argmax_channels: buffer: expected a TensorSpec"),
        (
            lambda: ops.argmax_channels(np.zeros((1, 3, 4, 4)), good),
            "argmax_channels: buffer: .* an array has no buffer",
        ),
        (lambda: ops.softmax_channels(spec, good[:-1]), "buffer has 63 bytes"),
        (lambda: ops.top_k(spec, 4, good), "top_k: k: expected 1 .. 3"),
        (lambda: ops.above(spec, float("nan"), good), "above: threshold"),
        (lambda: ops.peaks(spec, 1, 0, good), "peaks: radius: expected 1 or more"),
        (
            lambda: ops.sigmoid(nl.TensorSpec((3, 4), "NC", "int8"), np.zeros(12, np.int8)),
            "expected the axes N, C, H and W",
        ),
        (lambda: ops.sigmoid(nl.TensorSpec((1, 4, 2, 2), "NCHW", "int4"), np.zeros(8, np.uint8)), "elements of 4 bits"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            call()


@pytest.mark.parametrize("operator", [ops.softmax_channels, ops.argmax_channels, ops.sigmoid])
def test_scores_of_a_whole_image_are_for_classify(operator: Any) -> None:
    spec, buffer = nl.TensorSpec((1, 5), "NC", "int8", quantization=nl.Quantization(0.1)), np.arange(5, dtype=np.int8)
    with pytest.raises(nl.NpuLayoutError, match=r"got NC; decode\.classify reads scores of a whole image$"):
        operator(spec, buffer)
    assert nl.decode.classify(spec, buffer).class_id[0, 0] == 4
