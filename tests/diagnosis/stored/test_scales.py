"""Another scale, zero point or sign than declared; and what looks like one."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.stored.scales import called, quantizations
from tests.support.boards import CHANNELS, Board, same, spec_as


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_quantization(board: Board) -> None:
    q = board.spec.quantization
    assert q is not None
    scale, zero_point = float(q.scale), int(q.zero_point)
    for declared in (
        spec_as(board, quantization=nl.Quantization(scale * 2, zero_point)),
        spec_as(board, quantization=nl.Quantization(scale * 0.7, zero_point)),
        spec_as(board, quantization=nl.Quantization(scale, zero_point + 60)),
        spec_as(board, quantization=None),
        spec_as(board, quantization=nl.Quantization(np.linspace(0.2, 3, CHANNELS) * scale, zero_point, 1)),
    ):
        output = board.verdict(board.recording(declared))
        assert output.verdict == "quantization" and board.reads(output.fix, board.packed(board.spec)), str(output)
    unsigned = spec_as(board, dtype="uint8")
    buffers = [{"maps": b["maps"].view(np.uint8)} for b in board.packed(board.spec)]
    output = board.verdict(board.recording(unsigned, buffers))
    assert output.verdict == "quantization" and output.fix.dtype == "int8", str(output)
    each = spec_as(
        board,
        quantization=nl.Quantization(
            np.ptp([a["maps"] for a in board.answers], (0, 1, 3, 4)) / 250, np.zeros(CHANNELS, int), 1
        ),
    )
    output = board.verdict(board.recording(board.spec, board.packed(each)))
    assert output.verdict == "quantization" and output.fix.quantization.axis is not None, str(output)


def test_few_values_do_not_prove_a_scale() -> None:
    """A scalar whose network rounds with a bias is no other scale; three times as much is."""
    rng, spec = np.random.default_rng(5), nl.TensorSpec((1, 1), "NC", "float32", name="y")
    values = rng.normal(size=(20, 1, 1)).astype(np.float32)
    for slope, verdict in ((1.2, "match"), (4.0, "quantization")):
        frames = [({"x": x}, {"y": (slope * x + rng.normal(0, 0.15, x.shape)).astype(np.float32)}) for x in values]
        output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 1))).outputs["y"]
        assert output.verdict == verdict, str(output)


def test_a_channel_in_another_ones_place_is_no_scale(board: Board) -> None:
    def copied(y: np.ndarray) -> np.ndarray:
        return np.where(np.arange(CHANNELS)[None, :, None, None] == 5, y[:, 6:7], y)

    output = board.verdict(board.recording(None, board.changed(copied)))
    assert output.verdict == "mismatch" and output.why.startswith("Channel 5 of 19 does not follow the model."), (
        output.why
    )


def test_values_beyond_reason_have_no_scale() -> None:
    """As an exp of pixels: no zero point is out of the dtype's range."""
    rng = np.random.default_rng(0)
    x = [np.exp(rng.uniform(60, 80, (1, 4, 60))).astype(np.float32) for _ in range(4)]
    for each in (False, True):
        if each:
            x = [np.concatenate([r[:, :1], rng.normal(size=(1, 3, 60)).astype(np.float32)], 1) for r in x]
        spec = nl.TensorSpec((1, 4, 60), "NCW", "int16", quantization=nl.Quantization(0.01))
        device = [rng.integers(-999, 999, 240).astype(np.int16) + np.int16(0) for _ in x]
        for trial in quantizations(Evidence(spec, device, x, (), 1)):
            assert np.all(np.abs(np.asarray(trial.fix.quantization.zero_point, np.float64)) <= 2**15)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float16"])
@pytest.mark.parametrize("db", [12, 18, 22, 40])
@pytest.mark.parametrize("short", [0.85, 0.9, 0.93, 0.95, 0.97])
def test_noise_that_shrinks_a_map_is_no_other_scale(db: float, short: float, dtype: str) -> None:
    """As of a network that rounds dim pictures: a line that is so near has to make nine tenths of the error."""
    rng = np.random.default_rng(6)
    model = [rng.uniform(0.1, 0.5, (1, 1, 24, 32)).astype(np.float32) for _ in range(3)]
    quantization = nl.Quantization(0.6 / 255, -128) if dtype == "int8" else None
    spec = nl.TensorSpec((1, 1, 24, 32), "NCHW", dtype, quantization=quantization)
    level = float(np.std(model)) * 10 ** (-db / 20)
    device = [spec.pack((short * x + level * rng.standard_normal(x.shape)).astype(np.float32)) for x in model]
    frames = [({"x": x}, {"y": y}) for x, y in zip(model, device)]
    output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 1, 24, 32))).outputs["y"]
    error = float(np.mean([((1 - short) * x) ** 2 for x in model]))
    explained = error > 8 * level**2 or short < 0.8  # by a scale 10 dB more, or nearly
    refusals = ("match",) if db > 12 else ("match", "mismatch", "ambiguous")
    assert output.verdict in refusals or (explained and output.verdict in ("quantization", "ambiguous")), str(output)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("db", [14, 18, 22])
def test_noise_that_shrinks_a_map_towards_its_mean_is_no_other_scale(db: float, dtype: str) -> None:
    """As MNN computes a depth of dim pictures: the line crosses the declared one at the mean, far from 0."""
    rng = np.random.default_rng(8)
    model = [rng.uniform(0.1, 0.3, (1, 1, 24, 32)).astype(np.float32) for _ in range(4)]
    quantization = nl.Quantization(0.6 / 255, -128) if dtype == "int8" else None
    spec = nl.TensorSpec((1, 1, 24, 32), "NCHW", dtype, quantization=quantization)
    level = float(np.std(model)) * 10 ** (-db / 20)
    device = [spec.pack((0.2 + 0.87 * (x - 0.2) + level * rng.normal(size=x.shape)).astype(np.float32)) for x in model]
    frames = [({"x": x}, {"y": y}) for x, y in zip(model, device)]
    output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 1, 24, 32))).outputs["y"]
    assert output.verdict in ("match", "mismatch", "ambiguous"), str(output)


@pytest.mark.parametrize("db", [18, 22])
@pytest.mark.parametrize("share", [0.1, 0.25])
@pytest.mark.parametrize("seed", range(4))
def test_some_channels_that_shrink_are_no_other_scales(seed: int, share: float, db: float) -> None:
    """Of right scales of 16 channels; those that shrink do so by a quarter, which calibration of a device may do."""
    rng = np.random.default_rng(seed)
    spread = np.linspace(0.3, 2, 16).reshape(1, 16, 1, 1)
    model = [(spread * rng.standard_normal((1, 16, 12, 14))).astype(np.float32) for _ in range(6)]
    shrunk = np.where(rng.random((1, 16, 1, 1)) < share, 0.76, 1.0)
    each = nl.Quantization(spread.ravel() * 4 / 127, 0, axis=1)
    spec = nl.TensorSpec(model[0].shape, "NCHW", "int8", quantization=each)
    level = spread * 10 ** (-db / 20)
    device = [spec.pack((shrunk * x + level * rng.standard_normal(x.shape)).astype(np.float32)) for x in model]
    frames = [({"x": x}, {"y": y}) for x, y in zip(model, device)]
    output = nl.validate(nl.Recording({"y": spec}, frames), same(model[0].shape)).outputs["y"]
    assert output.verdict == "match", str(output)


@pytest.mark.parametrize("db", [26, 40])
@pytest.mark.parametrize("wrong", ["some", "some with noise", "all", "rolled", "some by two"])
def test_what_scales_of_channels_are_mistakes(wrong: str, db: float) -> None:
    """Some channels that are a quarter smaller may be the device's arithmetic; a person errs in all, or by more."""
    rng = np.random.default_rng(9)
    spread = np.geomspace(0.3, 2, 16).reshape(1, 16, 1, 1)
    model = [(spread * rng.standard_normal((1, 16, 12, 14))).astype(np.float32) for _ in range(6)]
    some = np.arange(16).reshape(1, 16, 1, 1) % 4 == 1
    held = {
        "some": np.where(some, 0.74, 1.0),
        "all": np.full(some.shape, 0.7),
        "rolled": np.roll(spread, 3, 1) / spread,
    }
    held["some with noise"], held["some by two"] = held["some"], np.where(some, 0.5, 1.0)
    level = spread * 10 ** (-db / 20) * (2 if wrong == "some with noise" else 1)
    spec = nl.TensorSpec(
        model[0].shape, "NCHW", "int8", quantization=nl.Quantization(spread.ravel() * 5 / 127, 0, axis=1)
    )
    device = [spec.pack((held[wrong] * x + level * rng.standard_normal(x.shape)).astype(np.float32)) for x in model]
    frames = [({"x": x}, {"y": y}) for x, y in zip(model, device)]
    output = nl.validate(nl.Recording({"y": spec}, frames), same(model[0].shape)).outputs["y"]
    if wrong.startswith("some") and wrong != "some by two":
        assert output.verdict in ("match", "ambiguous"), str(output)
        assert output.verdict == "match" or "that the runtime lists" in output.why, output.why
    else:
        assert output.verdict == "quantization", str(output)


def test_a_scale_of_each_channel_where_no_line_through_all_rises() -> None:
    """Codes of one scale each, read by one: the channels' zero points hide how the values rise."""
    rng = np.random.default_rng(7)
    middle = np.linspace(-3, 3, 12).reshape(1, 12, 1, 1)
    model = [(middle + 0.4 * rng.standard_normal((1, 12, 16, 16))).astype(np.float32) for _ in range(3)]
    zero_points = np.linspace(100, -100, 12).round()  # the lower the values, the higher
    each = nl.Quantization(np.linspace(0.1, 0.13, 12), (zero_points - 10 * middle.ravel()).round(), axis=1)
    spec = nl.TensorSpec((1, 12, 16, 16), "NCHW", "int16", quantization=each)
    buffers = [spec.pack(x) for x in model]
    assert np.corrcoef(np.concatenate(buffers), np.concatenate([x.ravel() for x in model]))[0, 1] < 0
    declared = spec.replace(quantization=nl.Quantization(0.1, 0))
    (trial,) = quantizations(Evidence(declared, buffers, model, (), 1))
    assert trial.fix.quantization.axis == 1
    np.testing.assert_allclose(trial.fix.quantization.scale, each.scale, rtol=0.05)


@pytest.mark.parametrize("above", [3, 9, 36])
@pytest.mark.parametrize("db", [12, 20])
def test_values_that_are_never_zero_tell_the_zero_point(above: int, db: float) -> None:
    """Noise is cut at the end of the range of values near zero only; of others, the zero point is where they say."""
    rng = np.random.default_rng(above)
    model = [rng.uniform(0.1, 0.5, (1, 1, 24, 32)).astype(np.float32) for _ in range(6)]
    true = nl.Quantization(0.7 / 255, -128 + above)
    spec = nl.TensorSpec((1, 1, 24, 32), "NCHW", "int8", quantization=true)
    level = float(np.std(model)) * 10 ** (-db / 20)
    device = [spec.pack((x + level * rng.standard_normal(x.shape)).astype(np.float32)) for x in model]
    for declared in (spec, spec.replace(quantization=nl.Quantization(0.7 / 255, 0))):
        frames = [({"x": x}, {"y": y}) for x, y in zip(model, device)]
        output = nl.validate(nl.Recording({"y": declared}, frames), same((1, 1, 24, 32))).outputs["y"]
        if declared is spec:
            assert output.verdict == "match", str(output)
            continue
        assert output.verdict == "quantization", str(output)
        assert abs(output.fix.quantization.zero_point - true.zero_point) <= 1, str(output)
        assert output.fix.quantization.scale == pytest.approx(float(true.scale), rel=0.01)


@pytest.mark.parametrize("each", [False, True])
def test_a_zero_point_that_noise_moves_out_of_the_range_is_its_end(each: bool) -> None:
    rng = np.random.default_rng(8)
    model = [rng.uniform(0.1, 0.5, (1, 12, 6, 8)).astype(np.float32) for _ in range(4)]
    scales = np.linspace(0.6, 1.2, 12) / 255 if each else 0.6 / 255
    spec = nl.TensorSpec((1, 12, 6, 8), "NCHW", "int8")
    spec = spec.replace(quantization=nl.Quantization(scales, np.full(12, -128) if each else -128, 1 if each else None))
    buffers = [spec.pack((x + 0.01 * rng.standard_normal(x.shape)).astype(np.float32)) for x in model]
    declared = spec.replace(quantization=nl.Quantization(1.8 / 255, 0))
    (trial,) = quantizations(Evidence(declared, buffers, model, (), 1))
    assert trial.fix.quantization.axis == (1 if each else None)
    assert np.asarray(trial.fix.quantization.zero_point).min() >= -128
    np.testing.assert_allclose(trial.fix.quantization.scale, scales, rtol=0.05)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("db", [16, 19, 24])
def test_a_scale_that_is_near_is_noise_and_one_that_is_not_is_named(dtype: str, db: float) -> None:
    """Of values far from 0 five per cent leave less than 14 dB, too."""
    rng, shape = np.random.default_rng(8), (1, 12, 20)
    model = [(1 / (1 + np.exp(-rng.standard_normal(shape)))).astype(np.float32) for _ in range(8)]
    noise = float(np.std(model)) * 10 ** (-db / 20)
    q = nl.Quantization(1.5 / 255, -128) if dtype == "int8" else None
    spec = nl.TensorSpec(shape, "NCW", dtype, quantization=q)

    def judged(factor: float) -> str:
        device = [spec.pack(np.float32(factor * x + noise * rng.standard_normal(shape))) for x in model]
        frames = [({"x": x}, {"y": y}) for x, y in zip(model, device)]
        return str(nl.validate(nl.Recording({"y": spec}, frames), same(shape)).outputs["y"].verdict)

    assert {judged(0.95), judged(1.04)} <= {"match", "mismatch", "ambiguous"}
    assert db < 19 or judged(0.7) == judged(1.4) == "quantization"


@pytest.mark.parametrize("factor", [2.0, 0.5, 2.7, 1.0])
def test_a_power_of_two_is_found_exactly(factor: float) -> None:
    """Noise of a sure classifier's ones moves the scale that fits best; a power of two is as good, without a number."""
    found: list[float] = []
    for seed in range(10):
        rng, model = np.random.default_rng(seed), []
        for _ in range(12):
            x = 0.02 * rng.dirichlet(np.ones(20))[None]
            x[0, rng.integers(20)] += 0.98
            model.append(x.astype(np.float32))
        true = nl.TensorSpec((1, 20), "NC", "int16", quantization=nl.Quantization(1 / 16384, -100))
        spec = true.replace(quantization=nl.Quantization(factor / 16384, -100))
        noisy = [(x * (1 + 0.1 * rng.standard_normal(x.shape))).astype(np.float32) for x in model]
        frames = [({"x": x}, {"y": true.pack(y)}) for x, y in zip(model, noisy)]
        output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 20))).outputs["y"]
        assert output.verdict in (("match",) if factor == 1 else ("quantization", "ambiguous")), str(output)
        if output.verdict == "quantization":
            assert output.fix.quantization.scale == pytest.approx(1 / 16384, 0.1), str(output)
            found.append(float(output.fix.quantization.scale))
    assert (found.count(1 / 16384) >= 6) == (factor in (2, 0.5)), found


@pytest.mark.parametrize("factor", [1.7, 2.0, 1.0])
@pytest.mark.parametrize("db", [14, 20])
def test_a_device_that_cuts_its_large_values_has_no_wrong_scale(factor: float, db: float) -> None:
    """A line through what is cut and what is not is between the two, and near a power of two by chance."""
    for seed in range(4):
        rng, model = np.random.default_rng(seed), []
        for _ in range(4):
            x = rng.uniform(0, 0.01, (1, 6, 100))
            large = rng.random(x.shape) < 0.02
            x[large] = rng.uniform(0.2, 1, large.sum())
            model.append(x.astype(np.float32))
        true = nl.TensorSpec((1, 6, 100), "NCW", "int8", quantization=nl.Quantization(1.1 / 255, -128))
        spec = true.replace(quantization=nl.Quantization(1.1 / 255 / factor, -128))
        sigma = float(np.std(model)) * 10 ** (-db / 20)
        device = [np.minimum(x + sigma * rng.standard_normal(x.shape), 0.6).astype(np.float32) for x in model]
        frames = [({"x": x}, {"y": true.pack(y)}) for x, y in zip(model, device)]
        output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 6, 100))).outputs["y"]
        if output.verdict == "quantization":
            assert output.fix.quantization.scale == pytest.approx(1.1 / 255, 0.1), str(output)
        else:
            assert output.verdict in ("mismatch", "ambiguous", *(["match"] if factor == 1 else [])), str(output)


@pytest.mark.parametrize("db", [23, 28, 35])
@pytest.mark.parametrize("seed", range(3))
def test_constants_in_each_others_place_are_no_scales(seed: int, db: float) -> None:
    """Half of 36 channels are constant: a scale of its own makes of each what another one is."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((1, 36, 1))
    means[:, [2, 3, 9, 10]] = [[-6], [-5.9], [6], [5.9]]
    model = [(means + rng.standard_normal((1, 36, 24))).astype(np.float32) for _ in range(3)]
    for x in model:
        x[:, :18] = means[:, :18]
    order = np.arange(36)
    order[[2, 9]] = 9, 2
    spec = nl.TensorSpec((1, 36, 24), "NCW", "int16", quantization=nl.Quantization(16 / 65535, 0))
    for moved, doubled in ((order, False), (np.arange(36), False), (np.arange(36), True)):
        noise = [x * 10 ** (-db / 20) * rng.standard_normal(x.shape) for x in model]
        device = [
            (x + e)[:, moved] * np.where(doubled & (np.arange(36) % 3 > 0), 2, 1)[:, None] for x, e in zip(model, noise)
        ]
        frames = [({"x": x}, {"y": spec.pack((y / 2).astype(np.float32))}) for x, y in zip(model, device)]
        read = spec.replace(quantization=nl.Quantization(32 / 65535, 0))
        output = nl.validate(nl.Recording({"y": read}, frames), same((1, 36, 24))).outputs["y"]
        if doubled:
            assert output.verdict == "quantization", str(output)
        elif moved is order:
            assert output.verdict in ("channel_order", "mismatch", "ambiguous"), str(output)
        else:
            assert output.verdict == "match", str(output)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("frames", [1, 3])
def test_scales_of_channels_of_which_two_are_far_from_the_others(seed: int, frames: int) -> None:
    """One scale for all explains most, but not what the two ask for: it is a wrong fix."""
    rng, shape = np.random.default_rng(seed), (1, 17, 16, 16)
    model = [(1 / (1 + np.exp(1.5 - 1.2 * rng.standard_normal(shape)))).astype(np.float32) for _ in range(frames)]
    scales = 1.5e-5 * np.where(np.isin(np.arange(17), [2, 6]), 0.68, 1.0)
    true = nl.TensorSpec(shape, "NCHW", "int16", quantization=nl.Quantization(scales, np.full(17, -32768), axis=1))
    buffers = [
        true.pack(
            np.clip(x + 0.02 * rng.standard_normal(shape), 0, scales.reshape(17, 1, 1) * 65535).astype(np.float32)
        )
        for x in model
    ]
    for wrong in (nl.Quantization(1.0, 0), nl.Quantization(np.ones(17), np.zeros(17, int), axis=1)):
        declared = true.replace(quantization=wrong)
        recorded = [({"x": x}, {"y": y}) for x, y in zip(model, buffers)]
        output = nl.validate(nl.Recording({"y": declared}, recorded), same(shape)).outputs["y"]
        assert output.verdict == "quantization" and output.fix.quantization.axis == 1, str(output)
        np.testing.assert_allclose(output.fix.quantization.scale, scales, rtol=0.05)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("frames", [1, 3])
def test_one_wrong_scale_of_channels_that_noise_shrinks_a_little(seed: int, frames: int) -> None:
    rng, shape = np.random.default_rng(seed), (1, 17, 16, 16)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(frames)]
    shrunk = rng.uniform(0.88, 1, (1, 17, 1, 1))
    true = nl.TensorSpec(shape, "NCHW", "int8", quantization=nl.Quantization(0.035, -3))
    buffers = [true.pack((shrunk * x + 0.1 * rng.standard_normal(shape)).astype(np.float32)) for x in model]
    declared = true.replace(quantization=nl.Quantization(0.012, 0))
    recorded = [({"x": x}, {"y": y}) for x, y in zip(model, buffers)]
    output = nl.validate(nl.Recording({"y": declared}, recorded), same(shape)).outputs["y"]
    assert output.verdict == "quantization" and output.fix.quantization.axis is None, str(output)
    assert output.fix.quantization.scale == pytest.approx(0.035, rel=0.15)


@pytest.mark.parametrize("frames", [1, 3])
@pytest.mark.parametrize("db", [10, 20, 40])
@pytest.mark.parametrize("forgotten", [True, False])
def test_zero_points_that_were_forgotten_of_scales_of_channels(forgotten: bool, db: float, frames: int) -> None:
    """The declared scales stay: the zero points alone are fitted."""
    shape, rng = (1, 8, 12, 12), np.random.default_rng(0)
    model = [
        (rng.normal(0, 1, shape) * np.geomspace(1, 2, 8).reshape(1, 8, 1, 1)).astype(np.float32) for _ in range(frames)
    ]
    device = [x + x.std((0, 2, 3), keepdims=True) * rng.normal(0, 10 ** (-db / 20), shape) for x in model]
    scales, zero_points = np.geomspace(1, 2, 8) / 4000, rng.integers(-9000, 9000, 8)
    right = nl.TensorSpec(shape, "NCHW", "int16", quantization=nl.Quantization(scales, zero_points, 1), name="y")
    declared = right.replace(quantization=nl.Quantization(scales, 0, 1)) if forgotten else right
    pairs = [({"x": x}, {"y": right.pack(y.astype(np.float32))}) for x, y in zip(model, device)]
    output = nl.validate(nl.Recording({"y": declared}, pairs), same(shape)).outputs["y"]
    if not forgotten:
        assert output.verdict in ("match", "mismatch") and output.fix is None, str(output)
        return
    assert output.verdict == "quantization", str(output)
    np.testing.assert_allclose(output.fix.quantization.scale, scales, rtol=1e-5)
    np.testing.assert_allclose(output.fix.quantization.zero_point, zero_points, atol=800)


def test_a_spec_with_gaps_is_called_by_its_strides() -> None:
    """Its layout alone is that of one without: a pitch that was ignored read "layout NCHW", as declared."""
    shape = (1, 17, 24, 24)
    assert called(nl.TensorSpec(shape, "NCHW", "int8")) == "layout NCHW of (1,17,24,24) int8"
    assert called(nl.TensorSpec(shape, "NCHW", "int8", storage_strides=(9999, 576, 24, 1), size=9999)) == (
        "layout NCHW of (1,17,24,24) int8"
    )  # the first stride is of one index
    pitched = nl.TensorSpec(shape, "NCHW", "int8", storage_strides=(13056, 768, 32, 1))
    assert called(pitched) == "layout NCHW of (1,17,24,24) int8, storage_strides (13056, 768, 32, 1)"
    padded = nl.TensorSpec(shape, "NHWC", "int8", storage_shape=(1, 24, 24, 32))
    assert "strides" not in called(padded), called(padded)
