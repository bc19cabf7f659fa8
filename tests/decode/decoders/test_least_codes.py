"""The least code that passes, against all codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.decoders.anchor_parts import meanings
from npu_layout.decode.decoders.decoder import use_backend
from npu_layout.decode.decoders.least_codes import thresholds
from tests.support.compiled_heads import described, maps
from tests.support.scenes import NO_PROBABILITIES


@pytest.mark.parametrize("activation", ["none", "sigmoid"])
@pytest.mark.parametrize("scales", [None, 1, 5])
def test_thresholds_of_int32(activation: str, scales: int | None) -> None:
    """Codes are too many for a table: the least that passes is looked for, or computed where they mean themselves."""
    rng = np.random.default_rng(4)
    for confidence in (0.3, 0.5, 1e-6, 1 - 1e-9, 1.5, 1e9):
        scale, zero = np.exp(rng.uniform(-20, -2, scales or 1)), rng.integers(-(1 << 20), 1 << 20, scales or 1)
        q = nl.Quantization(scale, zero, axis=1) if scales == 5 else nl.Quantization(float(scale[0]), int(zero[0]))
        specs = [
            spec.replace(quantization=q if scales and i % 2 else None)
            for i, spec in enumerate(maps("NHWC", "int32", (64, 5)))
        ]
        head = decode.yolov8(5, (8, 16), activation=activation)
        made = described(head, specs)
        assert made is not None
        least = int(np.frombuffer(thresholds(head, made, confidence), np.int32)[0])
        codes = (np.int64(least) + np.arange(-40, 41)).clip(-(2**31), 2**31 - 1)
        steps = codes.astype(np.float32)[:, None] - zero.astype(np.float32)
        real = (steps * scale.astype(np.float32)).astype(float) if scales else codes[:, None].astype(float)
        with np.errstate(over="ignore"):
            passing = ((1 / (1 + np.exp(-real)) if activation == "sigmoid" else real) >= confidence).any(1)
        assert not passing[codes < least].any()
        assert passing[codes >= least].all() or not scales or least == 2**31 - 1


def test_thresholds_are_the_least_codes_that_can_pass() -> None:
    head = decode.yolov8(5, (8, 16))
    for scale, zero, confidence in ((1 / 255, -128, 0.25), (0.01, -100, 0.5), (1 / 256, -128, 1e-9)):
        made = described(head, maps("NCHW", "int8", (64, 5), nl.Quantization(scale, zero)))
        assert made is not None
        found = np.frombuffer(thresholds(head, made, confidence), np.int32)
        real = (np.arange(-128, 128, dtype=np.float32) - np.float32(zero)) * np.float32(scale)
        passing = np.arange(-128, 128)[real.astype(np.float64) >= confidence]
        assert found.tolist() == [passing.min()] * 2


def true_values(codes: np.ndarray, scale: np.ndarray, zero: np.ndarray, activation: str) -> np.ndarray:
    """What codes mean: the product of two float32 in float64, where it is exact, rounded once; then the activation."""
    with np.errstate(over="ignore", under="ignore"):
        real = ((codes.astype(np.int64) - zero) * scale.astype(np.float32).astype(np.float64)).astype(np.float32)
        if activation == "none":
            return real.astype(np.float64)
        wide = real.astype(np.longdouble)
        return 1 / (1 + np.exp(-wide))


def ulps(values: np.ndarray) -> np.ndarray:
    """Three units in the last place of float64; of less than 1e-290, which sigmoids may round to 0, those of 1e-290."""
    return 3 * np.spacing(np.maximum(np.abs(values), 1e-290))


def drawn_thresholds(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Of each row of ascending values: one of them, one float64 off, between two of them, and anywhere."""
    rows, last = np.arange(len(values)), values.shape[1] - 1
    on, at = (values[rows, rng.integers(0, last + 1, len(values))] for _ in range(2))
    k = rng.integers(0, last, len(values))
    low, high = values[rows, k], values[rows, k + 1]
    between = low + (high - low) * rng.random(len(values))
    span = values[:, -1] - values[:, 0]
    anywhere = values[:, 0] + span * rng.uniform(-0.05, 1.05, len(values))
    off = np.nextafter(at, np.where(rng.random(len(values)) < 0.5, -np.inf, np.inf))
    return np.stack([on, off, between, anywhere], 1)


def assert_thresholds_are_exact(seed: int, dtype: str, activation: str, draws: int, sampled: int = 0) -> None:
    """Four thresholds of each draw of a scale and a zero point, against all codes or some."""
    rng, info = np.random.default_rng(seed), np.iinfo(dtype)
    spec = nl.TensorSpec((1, 2), "NC", dtype)
    every = np.arange(info.min, info.max + 1)
    scale = np.exp(rng.uniform(np.log(1e-20), np.log(1e4), draws))
    scale[::4] = np.exp(rng.uniform(np.log(1e-4), np.log(1), len(scale[::4])))  # those of real outputs
    zero = rng.integers(info.min, info.max + 1, draws)
    table = np.empty((draws, len(every)))
    for i in range(draws):
        quantization = nl.Quantization(float(scale[i]), int(zero[i]))
        table[i] = meanings(spec.replace(quantization=quantization), dtype, activation)
    bounds = drawn_thresholds(rng, table)
    least = np.array([[kernels.least_code(row, float(t)) for t in four] for row, four in zip(table, bounds)])
    first = least + len(every) // 2  # the number of codes that are less
    numbers = np.broadcast_to(np.arange(len(every)), table.shape)
    if sampled:
        around = np.concatenate([first - 1, first, first + 1], 1).clip(0, len(every) - 1)
        numbers = np.concatenate([around, rng.integers(0, len(every), (draws, sampled))], 1)
    mine = np.take_along_axis(table, numbers, 1)
    truth = true_values(every[numbers], scale[:, None], zero[:, None], activation)
    assert (np.abs(mine - truth) <= (0 if activation == "none" else ulps(mine))).all()
    for k in range(bounds.shape[1]):
        bound = bounds[:, k, None]
        survives = numbers >= first[:, k, None]
        assert np.array_equal(survives, mine >= bound)
        wrong = survives != (truth >= bound)
        assert not wrong.any() if activation == "none" else (np.abs(truth - bound) <= ulps(bound))[wrong].all()


@pytest.mark.parametrize("draws", [1000, pytest.param(62_500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("activation", ["none", "sigmoid"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_no_survivor_more_or_less_of_8_bits(dtype: str, activation: str, draws: int) -> None:
    """In 1,000,000 draws of scale, zero point, dtype and threshold, and all 256 codes of each, if slow tests run."""
    for n, start in enumerate(range(0, draws, 2500)):
        assert_thresholds_are_exact(n, dtype, activation, min(2500, draws - start))


@pytest.mark.parametrize("draws", [20, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("activation", ["none", "sigmoid"])
@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_no_survivor_more_or_less_of_16_bits(dtype: str, activation: str, draws: int) -> None:
    for n in range(draws // 20):
        assert_thresholds_are_exact(n, dtype, activation, 20, 500)


@pytest.mark.parametrize("draws", [8, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("activation", ["none", "sigmoid"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@NO_PROBABILITIES
def test_decoder_uses_these_thresholds(dtype: str, activation: str, draws: int) -> None:
    """A score of each code in a cell of its own: the cells that are found are those of the codes that pass."""
    rng, info = np.random.default_rng(draws), np.iinfo(dtype)
    every = np.arange(info.min, info.max + 1)
    form = decode.Form("maps", (decode.Part("box", 4), decode.Part("score", 1, activation)), decode.Boxes("xyxy"))
    head = decode.Head("any", 1, (8,), (form,), suppression=decode.Suppression("none"))
    for _ in range(draws):
        scale, zero = float(np.exp(rng.uniform(np.log(1e-6), np.log(1)))), int(rng.choice(every))
        score = nl.TensorSpec((1, 1, 16, 16), "NCHW16c", dtype, quantization=nl.Quantization(scale, zero), name="s")
        box = nl.TensorSpec((1, 4, 16, 16), "NCHW", name="b")
        codes = rng.permutation(every)
        buffer = rng.integers(info.min, info.max + 1, score.size).astype(dtype)  # padding is noise
        buffer.reshape(256, 16)[:, 0] = codes
        truth = true_values(every, np.array(scale), np.array(zero), activation)
        values = truth.astype(np.float64)
        decoder: Any = decode.Decoder(head, [box, score], (128, 128))
        for bound in drawn_thresholds(rng, values[None])[0].tolist():
            clear = np.abs(truth - bound) > ulps(np.array(bound))
            if activation == "none":
                clear[:] = True
            passing = truth >= bound
            if not passing[clear].any():
                with pytest.raises(nl.NpuLayoutError, match="no stored value reaches"):
                    decoder([np.zeros(box.size, np.float32), buffer], bound * (1 + 1e-12) if bound > 0 else bound)
                continue
            for backend in kernels.backends():
                use_backend(decoder, backend)
                found = decoder([np.zeros(box.size, np.float32), buffer], bound, limit=256)
                survives = np.isin(every, codes[found.cell])
                assert np.array_equal(survives[clear], passing[clear])
