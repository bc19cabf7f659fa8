"""One part of some cells, read from stored outputs of any layout, against the unpacked tensor."""

from __future__ import annotations

import dataclasses
import itertools
import random
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.decoders.gathering import are_steps, gathers
from npu_layout.decode.decoders.reference import Candidates
from npu_layout.decode.outputs.fitting import fit
from tests.support import scenes
from tests.support.backends import decoders
from tests.support.scenes import NO_PROBABILITIES

SIZE, STRIDES, COUNT = (32, 48), (8, 16), 6
HEAD = decode.yolov8(2, STRIDES, bins=4, coefficients=COUNT)


def outputs(choose: random.Random, dtype: str | None) -> tuple[list[scenes.Output], list[nl.TensorSpec]]:
    rng = np.random.default_rng(choose.randrange(1 << 30))
    made = []
    for s, (name, n) in itertools.product(STRIDES, (("box", 16), ("score", 2), ("weights", COUNT))):
        layout, kind = scenes.pick(choose)
        shape = (1, n, SIZE[0] // s, SIZE[1] // s)
        real = rng.normal(0, 2, shape)
        made.append(scenes.output(rng, shape, real, layout, dtype or kind, 0.05, 3, name=f"{name}{s}"))
    shape = (1, COUNT, SIZE[0] // 4, SIZE[1] // 4)
    made.append(scenes.output(rng, shape, rng.normal(0, 1, shape), "NCHW", "int8", 0.1, 0, name="prototypes"))
    return made, [output.spec for output in made]


def candidates(choose: random.Random, level: int) -> Candidates:
    cells = SIZE[0] // STRIDES[level] * (SIZE[1] // STRIDES[level])
    n = choose.choice((0, 1, 7))
    cell = np.array([choose.randrange(cells) for _ in range(n)], np.int64)
    zeros = np.zeros(n, np.int64)
    return Candidates(np.ones(n, np.float32), zeros, zeros + level, cell, zeros)


@pytest.mark.parametrize("dtype", [None, "int8", "uint8", "float32", "bfloat16", "int16"])
def test_values_are_those_of_the_unpacked_tensor(dtype: str | None) -> None:
    choose = random.Random(str(dtype))
    for _ in range(12):
        made, specs = outputs(choose, dtype)
        found = fit(HEAD, specs, SIZE, {})
        for level, gather in enumerate(gathers(found.levels, "coefficients", specs)):
            output = made[gather.place.output]
            some = candidates(choose, level)
            columns = SIZE[1] // STRIDES[level]
            expected = output.values.reshape(-1, COUNT, SIZE[0] // STRIDES[level], columns)[0]
            expected = expected[:, some.cell // columns, some.cell % columns].T
            got = gather.read(output.spec.flat(output.buffer), some)
            assert got.shape == (len(some), COUNT) and np.array_equal(got, expected.astype(np.float64))
            assert are_steps(gather.place, gather.spec) == (output.spec.dtype in ("int8", "uint8"))
            if are_steps(gather.place, gather.spec):
                steps = gather.steps(output.spec.flat(output.buffer), some)
                assert steps.dtype == np.int16 and np.allclose(steps * np.float64(0.05), got, atol=1e-6)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
def test_what_has_a_scale_for_each_channel(layout: str) -> None:
    choose = random.Random(1)
    _, specs = outputs(choose, "int8")
    at = next(i for i, spec in enumerate(specs) if spec.name == "weights8")
    scales = nl.Quantization(np.linspace(0.1, 0.9, COUNT), 0, axis=1)
    specs[at] = nl.TensorSpec(specs[at].shape, layout, "int8", quantization=scales, name="weights8")
    buffer = np.random.default_rng(0).integers(-128, 128, specs[at].size).astype(np.int8)
    found = fit(HEAD, specs, SIZE, {})
    gather = gathers(found.levels, "coefficients", specs)[0]
    assert not are_steps(gather.place, gather.spec)
    some = candidates(random.Random(4), 0)
    expected = specs[at].unpack(buffer)[0].reshape(COUNT, -1)[:, some.cell].T
    assert np.array_equal(gather.read(buffer, some), expected)
    channels = np.arange(len(some)) % COUNT
    assert np.array_equal(gather.read_each(buffer, some, channels), expected[np.arange(len(some)), channels])


def test_what_has_a_scale_for_each_row_is_unpacked_first() -> None:
    choose = random.Random(1)
    _, specs = outputs(choose, "int8")
    at = next(i for i, spec in enumerate(specs) if spec.name == "weights8")
    rows = nl.Quantization(np.linspace(0.1, 0.9, specs[at].shape[2]), 0, axis=2)
    specs[at] = nl.TensorSpec(specs[at].shape, "NCHW", "int8", quantization=rows, name="weights8")
    buffer = np.random.default_rng(0).integers(-128, 128, specs[at].size).astype(np.int8)
    gather = gathers(fit(HEAD, specs, SIZE, {}).levels, "coefficients", specs)[0]
    zeros = np.zeros(7, np.int64)
    some = Candidates(np.ones(7, np.float32), zeros, zeros, np.arange(7), zeros)
    expected = specs[at].unpack(buffer)[0].reshape(COUNT, -1)[:, some.cell].T
    assert not are_steps(gather.place, gather.spec) and np.array_equal(gather.read(buffer, some), expected)
    channels = np.arange(len(some)) % COUNT
    assert np.array_equal(gather.read_each(buffer, some, channels), expected[np.arange(len(some)), channels])


def test_anchors_have_the_scales_of_their_own_channels() -> None:
    rng = np.random.default_rng(2)
    head = decode.yolov5(2, (8,), (((4, 5), (6, 7), (8, 9)),), coefficients=3)
    scales = nl.Quantization(np.linspace(0.1, 0.9, 30), np.arange(30) - 9, axis=1)
    spec = nl.TensorSpec((1, 30, 4, 4), "NCHW8c", "int8", quantization=scales, name="m")
    prototypes = nl.TensorSpec((1, 3, 8, 8), "NCHW", name="p")
    buffer = rng.integers(-128, 128, spec.size).astype(np.int8)
    gather = gathers(fit(head, [spec, prototypes], (32, 32), {}).levels, "coefficients", [spec, prototypes])[0]
    cell, anchor, zeros = rng.integers(0, 16, 20), rng.integers(0, 3, 20), np.zeros(20, np.int64)
    some = Candidates(np.ones(20, np.float32), zeros, zeros, cell, anchor)
    expected = spec.unpack(buffer).reshape(3, 10, 16)[anchor, 7:, cell]
    assert np.array_equal(gather.read(buffer, some), expected)
    channels = np.arange(20) % 3
    assert np.array_equal(gather.read_each(buffer, some, channels), expected[np.arange(20), channels])


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("rule", ["logits", "probabilities", "cells"])
@pytest.mark.parametrize(
    "dtype, q",
    [
        ("int8", (0.02, 3)),
        ("uint8", (0.02, 0.5)),
        ("int8", (0.02, 20000)),
        ("int8", (0.02, 1000000.0)),
        ("uint8", "each"),
        ("int16", (0.0001, 7)),
        ("int32", (1e-06, 7)),
        ("float16", None),
        ("float32", None),
        ("float64", None),
        ("int8", None),
    ],
)
@NO_PROBABILITIES
def test_a_decoder_reads_coefficients_of_every_kind(dtype: str, q: Any, rule: str, layout: str) -> None:
    """Against masks of unpacked coefficients in float64, whichever backend decodes."""
    rng, size = np.random.default_rng(3), (32, 32)
    head = decode.yolov8(2, (8, 16), coefficients=5)
    head = dataclasses.replace(head, prototypes=decode.Prototypes(5, 4, rule))
    specs = [
        nl.TensorSpec((1, n, 32 // s, 32 // s), layout, name=f"{name}{s}")
        for s in (8, 16)
        for name, n in (("box", 64), ("score", 2), ("coefficients", 5))
    ]
    specs.append(nl.TensorSpec((1, 5, 8, 8), layout, "int8", quantization=nl.Quantization(0.05, -2), name="prototypes"))
    known = nl.Quantization(np.linspace(0.01, 0.03, 5), 4, axis=1) if q == "each" else q and nl.Quantization(*q)
    specs = [s.replace(dtype=dtype, quantization=known) if s.name[0] == "c" else s for s in specs]
    buffers = []
    for spec in specs:
        if np.dtype(spec.stored).kind == "f":
            buffers.append(spec.pack(rng.normal(0, 1, spec.shape).astype(spec.stored)))
        else:
            buffers.append(rng.integers(-50, 50, spec.size).astype(spec.stored))
    tensors = {spec.name: spec.unpack(buffer) for spec, buffer in zip(specs, buffers)}
    for decoder in decoders(head, specs, size):
        found = decoder(buffers, 0.2, 0.95, limit=9)
        assert len(found) > 4
        again = decoder(buffers, 0.2, 0.95, limit=9, out=decoder(buffers, -9.0, limit=20))
        columns = np.where(found.level == 0, 4, 2)
        weights = [
            tensors[f"coefficients{(8, 16)[level]}"][0, :, cell // n, cell % n]
            for level, cell, n in zip(found.level, found.cell, columns)
        ]
        expected = decode.masks(specs[-1], buffers[-1], np.array(weights, np.float64), found.xyxy, size, rule=rule)
        for mask, other, same in zip(found.masks, again.masks, expected):
            assert np.array_equal(mask, same) and np.array_equal(mask, other)
