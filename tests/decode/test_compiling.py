"""What a head becomes for the kernels: tables of places and of values, checked element by element."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.compiling import compiled, meanings, thresholds
from npu_layout.decode.places import fit

SIZE = (32, 32)


def described(head: decode.Head, specs: list[nl.TensorSpec]) -> kernels.Detection | None:
    return compiled(head, fit(head, specs, SIZE, {}), specs, SIZE)


def maps(layout: str, dtype: str, channels: tuple[int, ...], q: nl.Quantization | None = None) -> list[nl.TensorSpec]:
    return [
        nl.TensorSpec((1, n, SIZE[0] // s, SIZE[1] // s), nl.Layout(layout), dtype, quantization=q, name=f"{n}/{s}")
        for s in (8, 16)
        for n in channels
    ]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "NHWC8c", "CHWN", "NHCW"])
def test_every_element_is_where_the_spec_says(layout: str) -> None:
    head = decode.yolov8(5, (8, 16), keypoints=3)
    specs = maps(layout, "int8", (64, 5, 9), nl.Quantization(0.1, -3))
    made = described(head, specs)
    assert made is not None and made.points == 9 and made.nbytes == tuple(spec.nbytes for spec in specs)
    choose = random.Random(layout)
    for grid in made.levels:
        (anchor,) = grid.anchors
        assert grid.points == kernels.Points("cells", 3, "sigmoid", 0.1) and anchor.objectness is None
        for source in (anchor.score, anchor.box, anchor.points):
            assert source is not None
            spec, map_ = specs[source.buffer], source.map
            assert len(map_.channels) == spec.shape[1] and len(map_.rows) * len(map_.columns) == grid.columns**2
            for _ in range(20):
                c, y, x = (
                    choose.randrange(spec.shape[1]),
                    choose.randrange(grid.columns),
                    choose.randrange(grid.columns),
                )
                assert map_.channels[c] + map_.rows[y] + map_.columns[x] == spec.offset(0, c, y, x)


def test_tables_of_values_are_dequantised_and_activated() -> None:
    head = decode.yolov8(5, (8, 16), activation="sigmoid", keypoints=3)
    made = described(head, maps("NHWC", "uint8", (64, 5, 9), nl.Quantization(0.5, 100)))
    assert made is not None
    anchor = made.levels[0].anchors[0]
    real = (np.arange(256) - 100) * 0.5
    for table, expected in (
        (anchor.box.values, real),
        (anchor.score.values, 1 / (1 + np.exp(-real))),
        (anchor.points.values if anchor.points else None, real),
        (anchor.heats, 1 / (1 + np.exp(-real))),
    ):
        assert table is not None
        np.testing.assert_allclose(table, expected, rtol=1e-15)
    floats = described(head, maps("NHWC", "float32", (64, 5, 9)))
    assert floats is not None and floats.levels[0].anchors[0].heats is None


def test_what_the_kernels_do_not_read() -> None:
    head = decode.yolov8(5, (8, 16))
    each = nl.Quantization(np.full(5, 0.1), 0, axis=1)
    rows = [nl.Quantization(np.full(32 // s, 0.1), 0, axis=2) for s in (8, 16)]
    for dtype, scales in (("int16", (each, each)), ("int8", rows)):
        boxes_and_scores = maps("NCHW", dtype, (64, 5), nl.Quantization(0.1))
        for at, quantization in zip((1, 3), scales):
            boxes_and_scores[at] = boxes_and_scores[at].replace(quantization=quantization)
        assert described(head, boxes_and_scores) is None
    assert described(head, maps("NCHW", "int32", (64, 5))) is None
    assert described(decode.yolov10(5), [nl.TensorSpec((1, 300, 6), "NHW", name="out")]) is None


def test_channels_with_scales_of_their_own_have_tables_of_their_own() -> None:
    scales, zeros = np.linspace(0.01, 0.05, 5), np.array([-128, -100, 0, 7, -128])
    specs = maps("NCHW16c", "int8", (64, 5), nl.Quantization(0.1, 3))
    for at in (1, 3):
        specs[at] = specs[at].replace(quantization=nl.Quantization(scales, zeros, axis=1))
    made = described(decode.yolov8(5, (8, 16), activation="sigmoid"), specs)
    assert made is not None
    score, box = made.levels[1].anchors[0].score, made.levels[1].anchors[0].box
    real = (np.arange(-128, 128) - zeros[:, None]) * scales.astype(np.float32)[:, None].astype(float)
    assert box.reals is None and box.values is not None and box.values.shape == (256,)
    assert score.values is not None and score.reals is not None and score.values.shape == (5, 256)
    np.testing.assert_allclose(score.reals, real, rtol=1e-6)
    np.testing.assert_allclose(score.values, 1 / (1 + np.exp(-real)), rtol=1e-5)
    least = np.frombuffer(thresholds(decode.yolov8(5, (8, 16)), made, 0.7), np.int32)
    passing = (score.values >= 0.7).any(0)
    assert least.tolist() == [int(np.arange(-128, 128)[passing].min())] * 2


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
                decoder._use(backend)
                found = decoder([np.zeros(box.size, np.float32), buffer], bound, limit=256)
                survives = np.isin(every, codes[found.cell])
                assert np.array_equal(survives[clear], passing[clear])
