"""What a head becomes for the kernels: tables of places and of values, checked element by element."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.compiling import compiled, meanings, thresholds
from npu_layout.decode.fitting import fit

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
    for dtype in ("int4", "float64", "int64"):
        assert described(head, maps("NCHW", dtype, (64, 5))) is None


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


def scaled(dtype: str, axis: int) -> tuple[list[nl.TensorSpec], list[np.ndarray]]:
    """Maps whose scores have scales along an axis, and what each code of the scores means, (scales, codes)."""
    specs, reals, info = maps("NCHW16c", dtype, (64, 5), nl.Quantization(0.1, 3)), [], np.iinfo(dtype)
    for at in (1, 3):
        n = specs[at].shape[axis]
        scales, zeros = np.linspace(0.01, 0.05, n), np.linspace(-128, 100, n).astype(int)
        scales *= 256 / (info.max - info.min + 1)
        specs[at] = specs[at].replace(quantization=nl.Quantization(scales, zeros, axis=axis))
        codes = np.arange(info.min, info.max + 1, dtype=np.int64)
        steps = (codes - zeros[:, None]).astype(np.float32)
        reals.append((steps * scales.astype(np.float32)[:, None]).astype(np.float64))
    return specs, reals


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize(("axis", "each"), [(1, "channels"), (2, "rows"), (3, "columns")])
def test_scales_along_an_axis(dtype: str, axis: int, each: str) -> None:
    specs, reals = scaled(dtype, axis)
    made = described(decode.yolov8(5, (8, 16), activation="sigmoid"), specs)
    assert made is not None
    half = len(reals[0][0]) // 2
    for grid, real in zip(made.levels, reals):
        score, box = grid.anchors[0].score, grid.anchors[0].box
        assert box.scales is None and box.values is not None and box.values.shape == (2 * half,)
        assert score.values is None and score.scales is not None and score.scales.each == each
        for code in (-half, -1, 0, 7, half - 1):
            assert np.array_equal(score.scales.real(dtype, np.array(code)), real[:, code + half].astype(np.float32))
    for confidence in (0.2, 0.7, 0.5, 1e-3):
        least = np.frombuffer(thresholds(decode.yolov8(5, (8, 16)), made, confidence), np.int32)
        passing = [(1 / (1 + np.exp(-real)) >= confidence).any(0) for real in reals]
        assert least.tolist() == [int(np.argmax(some)) - half for some in passing]


def test_scales_that_are_all_the_same_are_one() -> None:
    specs = maps("NHWC", "int8", (64, 5), nl.Quantization(0.1, 3))
    same = [spec.replace(quantization=nl.Quantization(np.full(spec.shape[1], 0.1), 3, axis=1)) for spec in specs]
    one, other = (described(decode.yolov8(5, (8, 16)), some) for some in (specs, same))
    assert one is not None and other is not None
    for a, b in zip(one.levels, other.levels):
        for part in ("score", "box"):
            mine, theirs = getattr(a.anchors[0], part), getattr(b.anchors[0], part)
            assert theirs.scales is None and np.array_equal(mine.values, theirs.values)


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


def drawn_heads(choose: random.Random) -> tuple[decode.Head, list[nl.TensorSpec], dict[str, list[str]]]:
    """A head, float32 specs of its outputs, and which output is which part where extents do not say it."""
    grids = [(s, SIZE[0] // s) for s in (8, 16)]
    family = choose.choice(("maps", "list", "anchors", "points", "turned", "centers"))
    dfl = choose.choice((1, 3, 8, 16))
    if family == "list":
        return decode.yolov8(5, (8, 16)), [nl.TensorSpec((1, 9, 20), "NCW", name="all")], {}
    if family == "anchors":
        head = decode.yolov5(3, (8, 16), decode.yolov5().anchors[:2])
        return head, [nl.TensorSpec((1, 3, 8, n, n), nl.Layout.plain("NACHW"), name=f"{s}") for s, n in grids], {}
    if family == "points":
        head = decode.yolov8(1, (8, 16), bins=dfl, keypoints=7)
        specs = [nl.TensorSpec((1, k, n, n), "NCHW", name=f"{s}{k}") for s, n in grids for k in (4 * dfl, 1)]
        return head, [*specs, nl.TensorSpec((1, 7, 3, 20), nl.Layout.plain("NCHW"), name="points")], {}
    if family == "centers":
        parts = {"score": 3, "box": 2, "offset": 2}
        specs = [nl.TensorSpec((1, n, 8, 8), "NCHW", name=role) for role, n in parts.items()]
        return decode.centernet_head(3), specs, {role: [role] for role in parts}
    make, parts = {
        "maps": (decode.yolov8, {"box": 4 * dfl, "score": 5}),
        "turned": (decode.yolov8_obb, {"box": 4 * dfl, "score": 5, "angle": 1}),
    }[family]
    specs = [nl.TensorSpec((1, k, n, n), "NCHW", name=f"{role}{s}") for s, n in grids for role, k in parts.items()]
    head = make(
        5, (8, 16), bins=dfl, activation=choose.choice(("none", "sigmoid")), labels=choose.choice(("best", "all"))
    )
    return head, specs, {role: [f"{role}{s}" for s, _ in grids] for role in parts}


@pytest.mark.parametrize("seed", range(60))
def test_scales_along_any_axis_decode_as_what_they_mean(seed: int) -> None:
    """The same detections, bit by bit, with every backend, and of float32 values in another layout."""
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    head, plain, outputs = drawn_heads(choose)
    specs, buffers = [], []
    for spec in plain:
        dtype = choose.choice(("int8", "uint8", "int16", "uint16"))
        info, axis = np.iinfo(dtype), choose.randrange(-len(spec.shape), len(spec.shape))
        n = spec.shape[axis]
        scales = rng.uniform(0.5, 2, n) * 256 / (info.max - info.min) * choose.choice((0.004, 0.02))
        zeros = rng.integers(info.min // 2, info.max // 2 + 1, n)
        layout = (
            spec.layout
            if len(spec.shape) != 4 or spec.name == "points"
            else choose.choice(("NCHW", "NHWC", "NCHW16c", "NHCW8w4c"))
        )
        q = nl.Quantization(scales, zeros, axis) if choose.random() < 0.8 else nl.Quantization(scales[0], zeros[0])
        specs.append(nl.TensorSpec(spec.shape, layout, dtype, quantization=q, name=spec.name))
        buffers.append(rng.integers(info.min, info.max + 1, specs[-1].size).astype(dtype))
    twins = [spec.unpack(buffer).reshape(-1) for spec, buffer in zip(specs, buffers)]
    decoder = decode.Decoder(head, specs, SIZE, outputs=outputs)
    assert decoder._made is not None
    for confidence in (0.05, 0.5):
        try:
            wanted = decode.Decoder(head, plain, SIZE, outputs=outputs)(twins, confidence, limit=2000)
            for backend in kernels.backends():
                decoder._use(backend)
                found = decoder(buffers, confidence, limit=2000)
                for name in ("xyxy", "confidence", "class_id", "level", "cell", "anchor", "keypoints", "xywha"):
                    mine, theirs = getattr(found, name), getattr(wanted, name)
                    assert (mine is None) == (theirs is None) and np.array_equal(
                        mine, theirs, equal_nan=theirs is not None
                    )
        except nl.NpuLayoutError as error:
            assert "no stored value reaches" in str(error)


@pytest.mark.parametrize("bins", [1, 2, 3, 5, 16, 63, 64])
def test_powers_of_all_floats_have_the_same_bits(bins: int) -> None:
    """Sides that overflow, underflow and are no numbers, with the loops of every instruction set."""
    rng = np.random.default_rng(bins)
    head = decode.yolov8(1, (8,), bins=bins)
    specs = [nl.TensorSpec((1, n, 12, 12), "NHWC", name=f"{i}") for i, n in enumerate((4 * bins, 1))]
    box = rng.normal(0, 1, (144, 4 * bins)) * 10.0 ** rng.integers(-3, 4, (144, 1))
    box[:20] += rng.choice([0, -708, -709, 800, np.inf, -np.inf, np.nan], (20, 4 * bins))
    outputs = {"box": ["0"], "score": ["1"]}
    decoder = decode.Decoder(head, specs, (96, 96), outputs=outputs)
    results = []
    for backend in kernels.backends():
        decoder._use(backend)
        found = decoder([box.astype(np.float32).ravel(), np.ones(144, np.float32)], 0.5, 1.0, 144)
        results.append(found.xyxy)
    assert all(np.array_equal(one, results[-1], equal_nan=True) for one in results)
    assert np.isfinite(results[-1][20:]).all()


@pytest.mark.parametrize("kind", ["greedy", "none"])
@pytest.mark.parametrize("dtype", ["int64", "int4", "float64"])
def test_boxes_of_other_dtypes_are_read_for_candidates_alone(dtype: str, kind: str) -> None:
    """Boxes of a scale for each channel, beside scores of float32."""
    rng, sizes = np.random.default_rng(3), (8, 4, 2)
    scales = nl.Quantization(rng.uniform(0.1, 0.4, 64), np.zeros(64), axis=1)
    specs = [
        nl.TensorSpec((1, 64, n, n), "NHWC", dtype, quantization=None if dtype == "float64" else scales, name=f"box{n}")
        for n in sizes
    ]
    specs += [nl.TensorSpec((1, 3, n, n), "NHWC", name=f"score{n}") for n in sizes]
    values = [rng.integers(-7, 8, spec.shape) / (1 if k > 2 else 4) for k, spec in enumerate(specs)]
    buffers = [spec.pack(np.float32(v)) for spec, v in zip(specs, values)]
    head = dataclasses.replace(decode.yolov8(3, activation="sigmoid"), suppression=decode.Suppression(kind))
    floats = [spec.replace(dtype="float32", quantization=None) for spec in specs]
    decoder, plain = (decode.Decoder(head, each, (64, 64)) for each in (specs, floats))
    assert decoder._made is not None and decoder._whole == (dtype == "int4") and plain._whole
    unpacked = [np.asarray(spec.unpack(buffer), np.float32) for spec, buffer in zip(specs, buffers)]
    wanted = plain([spec.pack(values) for spec, values in zip(floats, unpacked)])
    assert len(wanted) > 10
    for backend in kernels.backends():
        decoder._use(backend)
        found = decoder(buffers)
        for field in ("xyxy", "confidence", "class_id", "level", "cell"):
            assert getattr(found, field).tobytes() == getattr(wanted, field).tobytes(), (backend, field)
