"""What speaks against a scale, and what a slightly other scale speaks against."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.trials import Candidate, Trial
from npu_layout.diagnosis.verdicts import scale_objections
from tests.support.boards import same
from tests.support.candidates import SHAPE, SPEC, evidence, scaled, stored


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("values", [1, 2, 5])
@pytest.mark.parametrize("factor", [1.06, 3.0])
def test_a_few_values_that_are_a_little_off_leave_no_doubt(factor: float, values: int, seed: int) -> None:
    """A line goes through values that are 6 % too large, and another dtype through two; if three times, it is asked."""
    rng, spec = np.random.default_rng(seed), nl.TensorSpec((1, values), "NC", "float32", name="y")
    sign = np.where(np.arange(values) % 2, -1, 1)
    model = [(sign * rng.uniform(2, 5, (1, values))).astype(np.float32) for _ in range(1 if values > 1 else 5)]
    frames = [({"x": x}, {"y": (factor * x + rng.normal(0, 0.02, x.shape)).astype(np.float32)}) for x in model]
    output = nl.validate(nl.Recording({"y": spec}, frames), same((1, values))).outputs["y"]
    assert output.verdict in (("match",) if factor < 1.1 else ("ambiguous", "mismatch", "quantization")), str(output)


@pytest.mark.parametrize("dtype", ["int16", "float16", "float32"])
@pytest.mark.parametrize(("factor", "noise", "named"), [(0.96, 0.002, False), (0.96, 0.0, True), (0.8, 0.002, True)])
def test_what_arithmetic_shrinks_is_no_scale(factor: float, noise: float, dtype: str, named: bool) -> None:
    """A network that rounds down in each layer shrinks by some per cent; a device without any other error does not."""
    q = nl.Quantization(0.0005) if dtype == "int16" else None
    spec = nl.TensorSpec(SHAPE, "NCHW", dtype, quantization=q, name="y")
    rng = np.random.default_rng(7)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
    device = [spec.pack((factor * x + noise * rng.standard_normal(SHAPE)).astype(np.float32)) for x in model]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(model, device)])
    output = nl.validate(recording, same(SHAPE)).outputs["y"]
    assert output.verdict == ("quantization" if named else "match"), str(output)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize(("factor", "db"), [(0.9925, 60), (0.96, 60), (0.901, 17.5), (1.2, 20)])
def test_a_device_that_cuts_off_in_each_layer_has_the_declared_scale(factor: float, db: float, dtype: str) -> None:
    """Sums in bfloat16 that are cut off shrink by 0.7 %, and leave no other error beside int8's rounding."""
    step = {"int8": 2.2 / 256, "int16": 2.2 / 65536}.get(dtype)
    q = None if step is None else nl.Quantization(step, -128 if dtype == "int8" else -32768)
    spec = nl.TensorSpec((1, 1, 32, 32), "NCHW", dtype, quantization=q, name="y")
    rng = np.random.default_rng(11)
    model = [(1 + 0.16 * rng.standard_normal(spec.shape)).astype(np.float32) for _ in range(4)]
    noise = 0.16 * 10 ** (-db / 20)
    device = [spec.pack((factor * x + noise * rng.standard_normal(spec.shape)).astype(np.float32)) for x in model]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(model, device)])
    output = nl.validate(recording, same(spec.shape)).outputs["y"]
    assert output.verdict in ("match", "mismatch", "ambiguous") and output.fix is None, str(output)


@pytest.mark.parametrize("share", [(1.02, 1.0, 1.03, 1.02), (2.0, 1.0, 0.5, 1.5)])
def test_channels_that_a_device_stretches_by_some_per_cent_have_no_scales_of_their_own(share: tuple[float]) -> None:
    """Whatever these explain: weights of few bits, over frames that are alike, stretch each channel."""
    spec = nl.TensorSpec(SHAPE, "NCHW", "int16", quantization=nl.Quantization([0.0005] * 4, [0] * 4, axis=1), name="y")
    rng = np.random.default_rng(8)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
    factors = np.reshape(share, (1, 4, 1, 1))
    device = [spec.pack((factors * x + 0.004 * rng.standard_normal(SHAPE)).astype(np.float32)) for x in model]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(model, device)])
    output = nl.validate(recording, same(SHAPE)).outputs["y"]
    assert output.verdict == ("match" if max(share) < 1.1 else "quantization"), str(output)


def test_a_constant_channel_does_not_make_scales_near_the_declared_ones_others() -> None:
    """A converter that saw zeros gives such a channel any scale, and any fits."""
    scales = nl.Quantization([1e-11, 0.0005, 0.0005, 0.0005], [0] * 4, axis=1)
    spec = nl.TensorSpec(SHAPE, "NCHW", "int16", quantization=scales, name="y")
    rng = np.random.default_rng(9)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
    for x in model:
        x[:, 0] = 0
    factors = np.reshape([1, 1.05, 0.96, 0.94], (1, 4, 1, 1))
    noise = np.reshape([0, 0.01, 0.01, 0.01], (1, 4, 1, 1))
    device = [spec.pack((factors * x + noise * rng.standard_normal(SHAPE)).astype(np.float32)) for x in model]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(model, device)])
    output = nl.validate(recording, same(SHAPE)).outputs["y"]
    assert output.verdict == "match", str(output)


@pytest.mark.parametrize(("factor", "noise"), [(1.0, 0.006), (1.4, 0.02)])
@pytest.mark.parametrize(
    ("zero_point", "lowest", "named"), [(-112, 1.2, False), (-30, 1.2, True), (-112, -0.3, True), (0, 1.2, True)]
)
def test_a_zero_point_somewhat_above_the_end_is_no_calibrated_one(
    zero_point: int, lowest: float, named: bool, factor: float, noise: float
) -> None:
    """Of values that are never negative a converter puts it at the end, or in the middle; gains that drift move it."""
    rng, shape = np.random.default_rng(6), (1, 1, 24, 24)
    model = [(lowest + 0.35 * rng.random(shape)).astype(np.float32) for _ in range(4)]
    declared = nl.TensorSpec(shape, "NCHW", "int8", quantization=nl.Quantization(0.012, -128), name="y")
    true = declared.replace(quantization=nl.Quantization(0.012 * factor, zero_point))
    device = [true.pack((x + noise * rng.standard_normal(shape)).astype(np.float32)) for x in model]
    recording = nl.Recording({"y": declared}, [({"x": x}, {"y": y}) for x, y in zip(model, device)])
    output = nl.validate(recording, same(shape)).outputs["y"]
    assert (output.verdict == "quantization") == named, str(output)


@pytest.mark.parametrize(("factor", "slight"), [(1.05, True), (2.5, False)])
def test_a_scale_near_the_declared_one_is_slight(factor: float, slight: bool) -> None:
    found = evidence(1 / factor, noise=0.3)
    assert scale_objections.is_slight_scale(found, scaled(found, factor)) == slight


@pytest.mark.parametrize("shrinks", [True, False])
def test_an_input_that_explains_less_than_scales_of_channels(shrinks: bool) -> None:
    """A device that shrinks some channels, each by a share, returns nearly what the model says of a paler input."""
    rng = np.random.default_rng(3)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(2)]
    share = np.reshape([0.72, 1.0, 0.75, 0.97] if shrinks else [0.86] * 4, (1, 4, 1, 1))
    device = [SPEC.pack((share * x + 0.1 * rng.standard_normal(SHAPE)).astype(np.float32)) for x in model]
    found = Evidence(SPEC, device, model, (), 1)
    left = found.codes - found.predicted(0.86 * found.wanted)
    trial = Trial("preprocessing", "", {}, found.codes, left, True, SPEC, of_input=True)
    c = next(c for c in found.rank([found.as_declared(), trial]) if c.of_input)
    assert scale_objections.is_nearly_a_line(found, c, [c]) == shrinks


@pytest.mark.parametrize(("shrinks", "part", "speaks"), [(0.9, 0.03, True), (0.9, 0.1, False), (0.7, 0.03, False)])
def test_an_input_beside_a_scale_that_arithmetic_makes(shrinks: float, part: float, speaks: bool) -> None:
    """Within a factor of 1.25 an input has to explain 3 dB more than the scale; beyond, no less. part: its own."""
    rng = np.random.default_rng(9)
    model, noise, own = ([rng.standard_normal(SHAPE) for _ in range(4)] for _ in range(3))
    answers = [shrinks * x + part * z for x, z in zip(model, own)]
    device = [y + 0.05 * n for y, n in zip(answers, noise)]
    model = [x.astype(np.float32) for x in model]
    found = Evidence(SPEC, [SPEC.pack(y.astype(np.float32)) for y in device], model, (), 1)
    left = found.codes - found.predicted(np.stack([found.samples.of(x.astype(np.float32)) for x in answers]))
    trial = Trial("preprocessing", "", {}, found.codes, left, True, SPEC, of_input=True)
    spec = SPEC.replace(quantization=nl.Quantization(0.05 / shrinks))
    codes, of_scale = found.read_as(spec, found.wanted)
    scale = Trial("quantization", "", spec, codes, of_scale, True, spec, parameters=1)
    ranking = found.rank([found.as_declared(), trial, scale])
    c = next(c for c in ranking if c.of_input)
    assert scale_objections.is_nearly_a_line(found, c, ranking) == speaks, [(x.cause, x.score, x.gain) for x in ranking]


def test_another_order_beside_a_slight_scale_of_the_declared_one() -> None:
    """A map of rows that are nearly alike agrees in another order of rows too, once a scale is fitted to it."""
    rows = np.repeat(np.linspace(1.0, 1.6, 32)[:, None], 32, 1)
    rng = np.random.default_rng(13)
    model = [(rows + 0.01 * rng.standard_normal((32, 32))).astype(np.float32)[None, None] for _ in range(2)]
    spec = nl.TensorSpec((1, 1, 32, 32), "NCHW", "uint8", quantization=nl.Quantization(0.0068, 0))
    found = Evidence(spec, [spec.pack(np.float32(0.9) * x) for x in model], model, (), 1)

    def fitted(cause: str, layout: str) -> Trial:
        other = spec.replace(layout=layout, quantization=nl.Quantization(0.0068 / 0.9, 0))
        codes, left = found.read_as(other, found.wanted)
        return Trial(cause, "", other, codes, left, True, other, parameters=1)

    order = fitted("layout", "NCHW2h")
    scale = fitted("quantization", "NCHW")
    ranking = found.rank([found.as_declared(), order, scale])
    c = next(c for c in ranking if c.cause == "layout")
    assert scale_objections.is_nearly_a_line(found, c, ranking)
    assert not scale_objections.is_nearly_a_line(found, c, [x for x in ranking if x.cause != "quantization"])


@pytest.mark.parametrize(("channels", "bias", "offset", "named"), [(4, 0.2, 0, False), (32, 0, 0.2, True)])
def test_a_zero_point_that_makes_up_a_part_of_the_channels_biases(
    channels: int, bias: float, offset: float, named: bool
) -> None:
    """Of few channels whose means are off the mean of that is another number; of many that are off alike it is one."""
    rng = np.random.default_rng(0)
    shape = (1, channels, 12, 12)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(4)]
    means = offset + bias * (0.7 + np.linspace(-1, 1, channels)).reshape(1, channels, 1, 1)
    read = nl.TensorSpec(shape, "NCHW", "int8", quantization=nl.Quantization(0.05))
    device = [read.pack((x + means).astype(np.float32)) for x in model]
    found = Evidence(read, device, model, (), 1)
    off = int(np.rint(float(found.left.mean())))
    spec = read.replace(quantization=nl.Quantization(0.05, off))
    codes, left = found.read_as(spec, found.wanted)
    trial = Trial("quantization", "", spec, codes, left, True, spec, parameters=1)
    c = next(c for c in found.rank([found.as_declared(), trial]) if c.cause == "quantization")
    declared = found.score(found.as_declared())
    assert declared > 8 and c.gain > 0
    assert scale_objections.is_of_biases(found, c, declared) != named
    assert not scale_objections.is_of_biases(found, c, 5.0)  # what is off by so much is no bias


@pytest.mark.parametrize("each", [True, False])
def test_one_scale_where_scales_of_channels_were_declared_explains_most(each: bool) -> None:
    declared = nl.Quantization([0.05] * 4, [0] * 4, axis=1) if each else nl.Quantization(0.05)
    found = Evidence(SPEC.replace(quantization=declared), *stored(), (), 1)
    one = Candidate("quantization", "", 7.0, 5.0, None, spec=SPEC.replace(quantization=nl.Quantization(0.11)))
    found.trials = [found.as_declared()]
    assert scale_objections.is_slight_scale(found, one) == each
    assert not scale_objections.is_slight_scale(found, one._replace(score=15.5, gain=14.0))


@pytest.mark.parametrize(("offset", "shrunk"), [(0.0, True), (0.04, True), (0.08, False)])
def test_a_line_that_moves_floats_by_up_to_a_twentieth_is_shrunk(offset: float, shrunk: bool) -> None:
    found = evidence()
    span = float(found.wanted.max() - found.wanted.min())
    line = found.tried("quantization", "", 0.1 * found.codes)._replace(line=(1.03, offset * span), parameters=2)
    c = next(c for c in found.rank([found.as_declared(), line]) if c.cause == "quantization")
    assert scale_objections.is_shrunk(found, c) == shrunk


@pytest.mark.parametrize(("more", "speaks"), [(1.0, False), (-1.0, True)])
def test_an_order_that_explains_a_little_more_than_a_slight_scale(more: float, speaks: bool) -> None:
    found = evidence()
    scale = scaled(found, 1.05)._replace(score=12.0)
    found.trials.append(found.tried("layout", "", found.left)._replace(parameters=1))
    c = Candidate("layout", "", 12.0 + more, 9.0, None, trial=len(found.trials) - 1)
    assert scale_objections.is_nearly_a_line(found, c, [scale, c]) == speaks


@pytest.mark.parametrize(("channels", "named"), [(1, False), (2, True)])
def test_a_scale_for_one_channel_is_one_scale(channels: int, named: bool) -> None:
    """One declared along an axis of one channel is compared with one for all as any other is."""
    rng, shape = np.random.default_rng(6), (1, channels, 24, 24)
    model = [(1.2 + 0.35 * rng.random(shape)).astype(np.float32) for _ in range(4)]
    each = nl.Quantization([0.01] * channels, [-128] * channels, axis=1)
    declared = nl.TensorSpec(shape, "NCHW", "int8", quantization=each, name="y")
    true = declared.replace(quantization=nl.Quantization(0.0115, -128))
    device = [true.pack((x + 0.006 * rng.standard_normal(shape)).astype(np.float32)) for x in model]
    found = Evidence(declared, device, model, (), 1)
    codes, left = found.read_as(true, found.wanted)
    trial = Trial("quantization", "", true, codes, left, True, true, parameters=1)
    c = next(c for c in found.rank([found.as_declared(), trial]) if c.cause == "quantization")
    assert 15 < c.score < 30
    assert scale_objections.is_slight_scale(found, c) != named


@pytest.mark.parametrize(("moved", "slight"), [(10, True), (16, False)])
@pytest.mark.parametrize("zero_points", [True, False])
def test_two_numbers_of_each_channel_may_move_it_by_a_twentieth(moved: int, slight: bool, zero_points: bool) -> None:
    """A device that errs much shrinks and moves its channels; 12.7 steps are a twentieth of int8's range."""
    found = evidence(noise=0.3)
    fixed = nl.Quantization(0.05 * np.array([0.8, 1.2, 0.9, 1.1]), [moved] * 4, axis=1)
    spec = SPEC.replace(quantization=fixed)
    found.trials = [found.as_declared()._replace(spec=spec, parameters=8 if zero_points else 4)]
    assert scale_objections.is_slight_scale(found, Candidate("quantization", "", 14.0, 11.0, spec, spec=spec)) == (
        slight and zero_points
    )


@pytest.mark.parametrize(("moved", "speaks"), [(12, True), (60, False)])
def test_another_order_beside_a_scale_that_drift_makes(moved: int, speaks: bool) -> None:
    """Its zero point is somewhat above the end, where calibration puts that of values that are never negative."""
    rng, shape = np.random.default_rng(14), (1, 1, 24, 24)
    model = [(1.2 + 0.35 * rng.random(shape)).astype(np.float32) for _ in range(2)]
    spec = nl.TensorSpec(shape, "NCHW", "int8", quantization=nl.Quantization(0.01, -128))
    found = Evidence(spec, [spec.pack(x) for x in model], model, (), 1)
    fixed = spec.replace(quantization=nl.Quantization(0.0105, moved - 128))
    scale = found.tried("quantization", "", found.left)._replace(spec=fixed, parameters=2)
    order = found.tried("layout", "", found.left)._replace(parameters=1)
    found.trials = [scale, order]
    ranking = [
        Candidate("quantization", "", 20.0, 9.0, fixed, spec=fixed),
        Candidate("layout", "", 13.0, 5.0, None, trial=1),
    ]
    assert scale_objections.is_nearly_a_line(found, ranking[1], ranking) == speaks


def _read(model: list[np.ndarray], values: list[np.ndarray], quantization: nl.Quantization) -> nl.OutputReport:
    """The report of a device that stores these values in steps of 0.02 from 0, read by another quantization."""
    spec = nl.TensorSpec(model[0].shape, "NCHW", "uint8", quantization=quantization, name="y")
    stored = [np.clip(np.rint(y / 0.02), 0, 255).astype(np.uint8) for y in values]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(model, stored)])
    return nl.validate(recording, same(model[0].shape)).outputs["y"]


def _depths(seed: int, spread: float = 0.3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    smooth = [rng.standard_normal((1, 1, 8, 8)).repeat(4, 2).repeat(4, 3) for _ in range(4)]
    return [np.maximum(2 + spread * x, 0.1).astype(np.float32) for x in smooth]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("factor", [1.2, 1.15, 1 / 1.2])
def test_a_slightly_other_scale_that_explains_much_more_speaks(factor: float, seed: int) -> None:
    """All values are off by a fifth, which is half of what they vary by; a tolerance of 0 dB is met."""
    model, rng = _depths(seed), np.random.default_rng(seed)
    noisy = [x + 0.02 * rng.standard_normal(x.shape) for x in model]
    output = _read(model, noisy, nl.Quantization(0.02 * factor))
    assert output.verdict in ("ambiguous", "mismatch") and output.fix is None, str(output)
    assert "either the scale is declared wrongly, or the device's arithmetic shrinks" in output.why, output.why


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.0, 0.03, 0.1])
@pytest.mark.parametrize("factor", [1.0, 1.05])
def test_a_slightly_other_scale_does_not_speak_of_a_faultless_device(factor: float, noise: float, seed: int) -> None:
    model, rng = _depths(seed), np.random.default_rng(seed)
    shrunk = [x * factor + noise * rng.standard_normal(x.shape) for x in model]
    for values in (shrunk, [np.floor(x / 0.04) * 0.04 for x in shrunk]):  # the layer before cuts off twice the step
        output = _read(model, values, nl.Quantization(0.02))
        assert "either the scale is declared wrongly" not in output.why, str(output)
        assert output.verdict in ("match", "mismatch"), str(output)


@pytest.mark.parametrize("seed", range(3))
def test_a_forgotten_zero_point_above_the_end_speaks(seed: int) -> None:
    """Of values that are never negative a device that errs makes one, too; it leaves more noise."""
    model, rng = _depths(seed), np.random.default_rng(seed)
    moved = [x + 8 * 0.02 + 0.06 * rng.standard_normal(x.shape) for x in model]
    output = _read(model, moved, nl.Quantization(0.02))
    assert output.verdict == "ambiguous" and "zero point 8" in output.why, str(output)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_sound_device_whose_gain_drifts_has_no_other_scale(dtype: str, seed: int) -> None:
    """Layers whose gains are off by 5 % leave 17 dB, and hardly any other error over frames that are alike."""
    model, rng = [x - 1.5 for x in _depths(seed)], np.random.default_rng(seed)
    spec = nl.TensorSpec(model[0].shape, "NCHW", dtype, name="y")
    for shift in (0.02, -0.02):
        drifted = [0.88 * x + 0.06 + shift + 0.005 * rng.standard_normal(x.shape) for x in model]
        frames = [({"x": x}, {"y": spec.pack(y.astype(np.float32))}) for x, y in zip(model, drifted)]
        output = nl.validate(nl.Recording({"y": spec}, frames), same(model[0].shape)).outputs["y"]
        best = next(c for c in output.ranking if c.cause == "quantization")
        assert best.score >= 30 and best.score - best.gain >= 15, str(output)
        assert output.verdict in ("match", "ambiguous") and output.fix is None, str(output)
