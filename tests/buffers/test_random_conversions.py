"""Random layouts, shapes, dtypes and pitches: unpack, pack and repack against a loop over `offset`."""

from __future__ import annotations

import random

import numpy as np
import pytest

import npu_layout as nl

DTYPES = ("int8", "uint8", "int16", "float32", "float64", "float16", "int32", ">i2")


def random_tag(rng: random.Random, letters: str, blocks: tuple[int, ...]) -> str:
    while True:
        tag = "".join(rng.sample(letters, len(letters)))
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
            tag += f"{rng.choice(blocks)}{rng.choice(letters).lower()}"
        if tag not in ("WHCN", "CWHN"):
            return tag


def random_spec(rng: random.Random) -> nl.TensorSpec:
    letters = rng.choice(("NCHW", "NCDHW", "NM", "HWC", "CHW", "OIHW", "NC"))
    layout = nl.Layout(random_tag(rng, letters, (1, 2, 3, 4, 6, 8)))
    shape = tuple(rng.randint(1, 9) for _ in layout.axes)
    stored = list(layout.storage_shape(shape))
    pitches: dict[str, object] = {}
    if rng.random() < 0.3:
        stored = [n if dim.block else n + rng.randint(0, 2) for n, dim in zip(stored, layout.dims)]
        pitches["storage_shape"] = stored
    if rng.random() < 0.3:
        strides, pitch = [], 1
        for n in reversed(stored):
            pitch += rng.randint(0, 2)
            strides.append(pitch)
            pitch *= n
        pitches.update(storage_strides=strides[::-1], storage_offset=rng.randint(0, 3))
    dtype = rng.choice(DTYPES)
    spec = nl.TensorSpec(shape, layout, dtype, **pitches)  # type: ignore[arg-type]
    if rng.random() < 0.3:
        spec = nl.TensorSpec(shape, layout, dtype, size=spec.size + rng.randint(1, 5), **pitches)  # type: ignore[arg-type]
    return spec


def scattered(tensor: np.ndarray, offset: object, size: int, dtype: object) -> np.ndarray:
    flat = np.zeros(size, dtype)  # type: ignore[call-overload]
    for index in np.ndindex(*tensor.shape):
        flat[offset(*index)] = tensor[index]  # type: ignore[operator]
    return flat


def check_one(rng: random.Random) -> None:
    spec = random_spec(rng)
    values = np.random.default_rng(rng.randrange(1 << 32))
    flat = values.integers(0, 120, spec.size).astype(spec.stored)
    tensor = np.empty(spec.shape, spec.element.unpacked)
    for index in np.ndindex(*spec.shape):
        tensor[index] = flat[spec.offset(*index)]

    got = spec.unpack(flat)
    assert got.dtype == tensor.dtype
    np.testing.assert_array_equal(got, tensor, err_msg=repr(spec))
    packed = spec.pack(tensor)
    assert packed.dtype == flat.dtype
    np.testing.assert_array_equal(packed, scattered(tensor, spec.offset, spec.size, spec.stored), err_msg=repr(spec))
    assert nl.TensorSpec.from_dict(spec.to_dict()) == spec

    other = nl.Layout(random_tag(rng, spec.axes, (2, 3, 4, 6)), spec.axes)
    expected = scattered(tensor, lambda *i: other.offset(spec.shape, *i), other.size(spec.shape), tensor.dtype)
    if other.tag != spec.layout.tag:
        unpacked = spec.unpack(flat, to=other)
        assert unpacked.shape == other.storage_shape(spec.shape)
        np.testing.assert_array_equal(unpacked.reshape(-1), expected, err_msg=f"{spec} to {other}")

    dense = nl.TensorSpec(spec.shape, spec.layout, spec.dtype)
    stored = dense.pack(tensor).reshape(dense.storage_shape)
    outer_in = np.full([2 * n for n in stored.shape], 55, stored.dtype)
    source = outer_in[tuple(slice(None, None, rng.choice((2, -2))) for _ in stored.shape)]
    source[...] = stored
    outer_out = np.full([2 * n for n in other.storage_shape(spec.shape)], 44, stored.dtype)
    window = tuple(slice(None, None, rng.choice((2, -2))) for _ in outer_out.shape)
    result = nl.repack(source, spec.layout, other, shape=spec.shape, out=outer_out[window])
    np.testing.assert_array_equal(result.reshape(-1), expected.astype(stored.dtype), err_msg=f"{spec} to {other}")
    np.testing.assert_array_equal(nl.repack(stored, spec.layout, other, shape=spec.shape), result)
    untouched = np.ones(outer_out.shape, bool)
    untouched[window] = False
    assert (outer_out[untouched] == 44).all(), "a strided out= must keep what is between its elements"

    both = np.zeros((max(stored.size, result.size), 2), stored.dtype)
    source, out = (both[: n.size, i].reshape(n.shape) for i, n in enumerate((stored, result)))
    source[...] = stored
    assert nl.repack(source, spec.layout, other, shape=spec.shape, out=out) is out
    assert np.shares_memory(out, both), "out between the elements of the source"
    np.testing.assert_array_equal(out, result)
    np.testing.assert_array_equal(source, stored)


@pytest.mark.parametrize("seed", range(20))
def test_random_conversions(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        check_one(rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_random_conversions(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(1500):
        check_one(rng)
