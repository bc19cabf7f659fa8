"""What speaks against a candidate, each objection with a candidate that it is against and one that it is not."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import objections
from npu_layout.diagnosis.evidence import Evidence
from npu_layout.diagnosis.trials import Candidate, Trial
from tests.support.boards import same

SHAPE = (1, 4, 12, 12)
SPEC = nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=nl.Quantization(0.05))


def evidence(factor: float = 1.0, *, noise: float = 0.0) -> Evidence:
    """A device that stores the model's values times a factor."""
    rng = np.random.default_rng(5)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
    device = [(factor * x + noise * rng.standard_normal(SHAPE)).astype(np.float32) for x in model]
    return Evidence(SPEC, [SPEC.pack(y) for y in device], model, (), 1)


def scaled(found: Evidence, factor: float) -> Candidate:
    """The candidate of another scale, after the declared one."""
    spec = SPEC.replace(quantization=nl.Quantization(0.05 * factor))
    codes, left = found.read_as(spec, found.wanted)
    declared = found.as_declared()
    ranking = found.rank([declared, Trial("quantization", "", spec, codes, left, True, spec, parameters=1)])
    return next(c for c in ranking if c.cause == "quantization")


@pytest.mark.parametrize(("factor", "slight"), [(1.05, True), (2.5, False)])
def test_a_scale_near_the_declared_one_is_slight(factor: float, slight: bool) -> None:
    found = evidence(1 / factor, noise=0.3)
    assert objections.is_slight_scale(found, scaled(found, factor)) == slight


@pytest.mark.parametrize(("factor", "accused"), [(1.01, False), (3.0, True)])
def test_who_accuses_explains_more_than_the_declared_reading(factor: float, accused: bool) -> None:
    found = evidence(1 / factor)
    declared = found.score(found.as_declared())
    assert objections.accuses(found, scaled(found, factor), declared) == accused


@pytest.mark.parametrize(("device", "fitted", "noise"), [(4.0, 0.25, False), (1.0, 0.2, True)])
def test_a_scale_that_clamps_what_the_device_does_not_is_of_noise(device: float, fitted: float, noise: bool) -> None:
    found = evidence(device)
    assert objections.clamps_noise(found, scaled(found, fitted)) == noise


def test_scales_that_gain_in_constant_channels_alone() -> None:
    rng = np.random.default_rng(2)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
    for x in model:
        x[:, 2:] = [[[[3.0]], [[5.0]]]]
    spec = SPEC.replace(quantization=nl.Quantization(np.full(4, 0.05), np.zeros(4, int), axis=1))
    for channels, constant in (([2, 3], True), ([0, 1], False)):
        scales = np.full(4, 0.05)
        scales[channels] *= 0.5
        true = spec.replace(quantization=nl.Quantization(scales, np.zeros(4, int), axis=1))
        found = Evidence(spec, [true.pack(x) for x in model], model, (), 1)
        codes, left = found.read_as(true, found.wanted)
        trial = Trial("quantization", "", true, codes, left, True, true, parameters=4)
        c = next(c for c in found.rank([found.as_declared(), trial]) if c.cause == "quantization")
        assert objections.is_of_what_is_constant(found, c) == constant, channels


@pytest.mark.parametrize("seen", [False, True])
def test_a_class_that_is_in_no_frame_leaves_no_doubt(seen: bool) -> None:
    """Channel 1 is stored as one integer throughout; pad lanes are another one, which a scale of their own fits too."""
    rng, shape = np.random.default_rng(4), (1, 2, 12, 12)
    model = [np.maximum(rng.standard_normal(shape), 0).astype(np.float32) for _ in range(4)]
    for x in model:
        x[:, 1] *= 1.0 if seen else 1e-4
    spec = nl.TensorSpec(shape, "NCHW16c", "int8", quantization=nl.Quantization(0.02, -128))
    scales = nl.Quantization([0.02, 0.02], [-128, 0], axis=1)
    other = nl.TensorSpec(shape, "NHWC8n", "int8", quantization=scales, size=spec.size)
    found = Evidence(spec, [spec.pack(x) for x in model], model, (), 1)
    codes, left = found.read_as(other, found.wanted)
    trial = Trial("layout", "", other, codes, left, True, other, parameters=4)
    c = next(c for c in found.rank([found.as_declared(), trial]) if c.cause == "layout")
    assert not objections.is_in_doubt(found, c, found.score(found.as_declared()))
    assert (c.gain > -1) == (not seen)  # without the rule about fitted scales the two would be alike


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
    assert objections.is_nearly_a_line(found, c, [c]) == shrinks


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
    assert objections.is_nearly_a_line(found, c, ranking) == speaks, [(x.cause, x.score, x.gain) for x in ranking]


@pytest.mark.parametrize(("true", "cut"), [("clip", True), ("tanh", False), ("relu", False), ("cut relu", False)])
def test_a_function_that_explains_less_than_cut_values(true: str, cut: bool) -> None:
    """A layer that saturates returns the model's values between two ends; no function of the list does."""
    rng = np.random.default_rng(10)
    model = [(2 * rng.standard_normal(SHAPE)).astype(np.float32) for _ in range(4)]
    make = {"clip": lambda x: np.clip(x, -1.1, 0.8), "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}
    make["cut relu"] = lambda x: np.clip(x, 0, 3)
    spec = nl.TensorSpec(SHAPE, "NCHW", "float32", name="y")
    device = [(make[true](x) + 0.03 * rng.standard_normal(SHAPE)).astype(np.float32).ravel() for x in model]
    found = Evidence(spec, device, model, (), 1)
    function = np.tanh if true == "clip" else make[true.split()[-1]]
    left = found.codes - function(found.wanted)
    ranking = found.rank([found.as_declared(), found.tried("activation", "", left)])
    c = next(c for c in ranking if c.cause == "activation")
    assert c.score > 6 and objections.is_cut(found, c) == cut


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
    assert objections.is_nearly_a_line(found, c, ranking)
    assert not objections.is_nearly_a_line(found, c, [x for x in ranking if x.cause != "quantization"])


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
    assert objections.is_of_biases(found, c, declared) != named
    assert not objections.is_of_biases(found, c, 5.0)  # what is off by so much is no bias


@pytest.mark.parametrize(("fitted", "accused"), [(0, True), (4, False)])
def test_an_order_of_little_effect_has_no_scales_of_its_own(fitted: int, accused: bool) -> None:
    """Another order of the same values is named from 4 dB on; with a scale for each channel more is asked."""
    found = evidence()
    rng = np.random.default_rng(1)
    signal = found.codes.std()
    left = rng.standard_normal(found.codes.shape) * signal * 10 ** (-5 / 20)
    trial = Trial("layout", "", SPEC, found.codes, left, True, SPEC, parameters=fitted)
    c = next(c for c in found.rank([found.as_declared(), trial]) if c.cause == "layout")
    assert 4 < c.score < 6
    assert objections.accuses(found, c._replace(gain=5.0), 0.0) == accused


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


@pytest.mark.parametrize(("left", "gain", "accused"), [(0.22, 3.5, False), (0.22, 4.5, True), (0.15, 3.5, True)])
def test_an_input_that_explains_little_has_to_gain_more(left: float, gain: float, accused: bool) -> None:
    found = evidence(noise=0.2)
    off = np.sqrt(float((found.codes**2).mean())) * left * found.left / np.sqrt(float((found.left**2).mean()))
    declared = found.as_declared()
    input_ = Trial("preprocessing", "", {}, found.codes, off, True, SPEC, of_input=True)
    found.rank([declared, input_])
    score = found.score(input_)
    candidate = Candidate("preprocessing", "", score, gain, {}, trial=1, of_input=True)
    assert (score < 15) == (left > 0.2)
    assert objections.accuses(found, candidate, score - gain) == accused


@pytest.mark.parametrize("each", [True, False])
def test_one_scale_where_scales_of_channels_were_declared_explains_most(each: bool) -> None:
    declared = nl.Quantization([0.05] * 4, [0] * 4, axis=1) if each else nl.Quantization(0.05)
    found = Evidence(SPEC.replace(quantization=declared), *_stored(), (), 1)
    one = Candidate("quantization", "", 7.0, 5.0, None, spec=SPEC.replace(quantization=nl.Quantization(0.11)))
    found.trials = [found.as_declared()]
    assert objections.is_slight_scale(found, one) == each
    assert not objections.is_slight_scale(found, one._replace(score=15.5, gain=14.0))


def _stored() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What a device stores of two frames, and the frames."""
    model = [np.random.default_rng(k).standard_normal(SHAPE).astype(np.float32) for k in range(2)]
    return [SPEC.pack(x) for x in model], model


def test_what_an_input_clamps() -> None:
    """Of 127 steps of 0.05 the ends are 6.4 from 0: of values that are twelve times larger, more than half."""
    found = Evidence(SPEC, *_stored(), (), 1)
    for factor in (1, 12):
        answers = {k: factor * x for k, x in enumerate(_stored()[1])}
        found.rank([found.as_declared()._replace(cause="preprocessing", answers=answers)])
        share = objections.clamped_of_input(found, Candidate("preprocessing", "", 9.0, 9.0, {}))
        beyond = np.mean([(x < -128.5 * 0.05) | (x > 127.5 * 0.05) for x in answers.values()])
        assert share == pytest.approx(beyond, abs=0.02)
        assert (share > 0.5) == (factor == 12)


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


@pytest.mark.parametrize(("offset", "verdict"), [(-0.3, "mismatch"), (-1.5, "quantization")])
def test_a_line_near_the_declared_values_gains_ten_db(offset: float, verdict: str) -> None:
    """Biases of few bits and clipped layers move a map by a twentieth of its range, with as much noise."""
    rng, shape = np.random.default_rng(12), (1, 1, 32, 32)
    model = [(1 + rng.standard_normal(shape)).astype(np.float32) for _ in range(4)]
    noise = 0.15
    device = [(1.03 * x + offset + noise * rng.standard_normal(shape)).astype(np.float32) for x in model]
    spec = nl.TensorSpec(shape, "NCHW", "float32", name="y")
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y.ravel()}) for x, y in zip(model, device)])
    output = nl.validate(recording, same(shape), min_snr_db=20).outputs["y"]
    assert output.verdict == verdict, str(output)


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


@pytest.mark.parametrize("seed", range(3))
def test_floats_near_two_values_are_no_integers(seed: int) -> None:
    """Their bits are nearly two numbers, whatever the size of each is; bytes that are integers are no such floats."""
    rng = np.random.default_rng(seed)
    spec = nl.TensorSpec((1, 16), "NC", "float16", name="y")
    model = [np.where(rng.random((1, 16)) < 0.5, -0.98, 0.98).astype(np.float32) for _ in range(8)]
    device = [spec.pack((x * (1 + 0.07 * rng.standard_normal(x.shape))).astype(np.float32)) for x in model]
    stored = nl.TensorSpec((1, 16), "NC", "int16", quantization=nl.Quantization(1e-4), name="y")
    for buffers, verdict in ((device, "match"), ([stored.pack(x).view(np.float16) for x in model], "quantization")):
        recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(model, buffers)])
        output = nl.validate(recording, same((1, 16))).outputs["y"]
        assert output.verdict == verdict, str(output)


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


@pytest.mark.parametrize(
    ("declared", "gain", "accused"),
    [(23.0, 6.0, False), (23.0, 11.0, True), (17.0, 3.5, False), (17.0, 7.5, True), (12.5, 3.5, True)],
)
def test_an_input_beside_a_good_output_has_to_gain_more(declared: float, gain: float, accused: bool) -> None:
    """A network that approximates its last function, over one dim frame, leans to an input of less contrast."""
    found = evidence(noise=0.02)
    input_ = Trial("preprocessing", "", {}, found.codes, found.left, True, SPEC, of_input=True)
    found.rank([found.as_declared(), input_])
    candidate = Candidate("preprocessing", "", declared + gain, gain, {}, trial=1, of_input=True)
    assert objections.accuses(found, candidate, declared) == accused


@pytest.mark.parametrize(("noise", "accused"), [(0.5, False), (0.35, True)])
def test_a_scale_that_leaves_a_fifth_of_the_power_is_no_cause(noise: float, accused: bool) -> None:
    """Of small probabilities, an error of the logits is a factor, and noise is the rest."""
    found = evidence(0.5, noise=0.5 * noise)
    candidate = scaled(found, 2.0)
    assert (candidate.score < 8) != accused and candidate.score > 6 and candidate.gain > 3
    assert objections.accuses(found, candidate, found.score(found.as_declared())) == accused


@pytest.mark.parametrize(("fitted", "unpaid"), [(2, False), (40, True)])
def test_numbers_that_were_fitted_explain_some_by_chance(fitted: int, unpaid: bool) -> None:
    """As one scale for each letter of words that were normalised: 8 dB, of which the numbers cost 4."""
    found = evidence(0.5, noise=0.175)
    candidate = scaled(found, 2.0)
    found.trials = [trial._replace(parameters=fitted if trial.spec else 0) for trial in found.trials]
    assert 8 < candidate.score < 10 and candidate.gain > 3
    assert objections.accuses(found, candidate, found.score(found.as_declared()))
    assert objections.is_unpaid(found, candidate) == unpaid


@pytest.mark.parametrize("of", ["everything", "some frames", "some channels", "three frames"])
@pytest.mark.parametrize(("declared", "gain"), [(16.5, 4.0), (22.0, 7.0)])
def test_an_input_that_the_data_are_at_everywhere_has_to_gain_half(declared: float, gain: float, of: str) -> None:
    """As BT.601 read as BT.709; a device that leans to it by half in some frames, or channels, has no such input."""
    rng = np.random.default_rng(3)
    shares = np.ones((4, 1, 4, 1, 1))
    if of == "some frames":
        shares[2:] = 0.5
    if of == "some channels":
        shares[:, :, 2:] = 0.5
    model = rng.standard_normal((4, *SHAPE)).astype(np.float32)
    other = 0.25 * rng.standard_normal((4, *SHAPE))
    if of == "three frames":
        other[3] = 0
    device = model + shares * other + 0.02 * rng.standard_normal((4, *SHAPE))
    spec = SPEC.replace(dtype="float32", quantization=None)
    found = Evidence(spec, [y.astype(np.float32) for y in device], list(model), (), 1)
    left = found.left - np.stack([found.samples.of(y) for y in other])
    trial = Trial("preprocessing", "", {}, found.codes, left, False, spec, of_input=True)
    found.rank([found.as_declared(), trial])
    candidate = Candidate("preprocessing", "", declared + gain, gain, {}, trial=1, of_input=True)
    assert objections.accuses(found, candidate, declared) == (of == "everything")
    assert not objections.accuses(found, candidate._replace(gain=gain / 2 - 0.5), declared)


@pytest.mark.parametrize(("offset", "values"), [(3.0, True), (0.0, False)])
def test_floats_whose_means_agree_are_floats(offset: float, values: bool) -> None:
    """Over a covered lens they hardly vary, but in noise."""
    rng, spec = np.random.default_rng(4), nl.TensorSpec(SHAPE, "NCHW", "float16")
    model = [(offset + rng.normal(0, 1, SHAPE)).astype(np.float32) for _ in range(2)]
    device = [spec.pack((x + rng.normal(0, 0.8, SHAPE)).astype(np.float32)) for x in model]
    found = Evidence(spec, device, model, (), 1)
    declared = found.score(found.as_declared())
    assert declared < 8
    other = nl.TensorSpec(SHAPE, "NCHW", "int16", quantization=nl.Quantization(0.001))
    trial = Trial("quantization", "", other, found.codes, found.left, True, other, parameters=2)
    found.rank([found.as_declared(), trial])
    candidate = Candidate("quantization", "", 18.0, 11.0, other, spec=other, trial=1)
    assert objections.are_values(found, declared) == values
    assert objections.accuses(found, candidate, declared) != values


@pytest.mark.parametrize(("curve", "none"), [(0.0, False), (0.35, True)])
def test_numbers_that_were_fitted_and_leave_much_leave_no_curve(curve: float, none: bool) -> None:
    """A sigmoid of straight pieces is nearly a line of the model's, where the model's values are small."""
    rng = np.random.default_rng(6)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
    bent = [3 * (x + curve * (x * x - 1) / 2**0.5 * 0.45) + rng.normal(0, 0.9, SHAPE) + 4 for x in model]
    spec = SPEC.replace(dtype="int16", quantization=nl.Quantization(0.001))
    found = Evidence(spec, [spec.pack(y.astype(np.float32)) for y in bent], model, (), 1)
    fixed = spec.replace(quantization=nl.Quantization(0.001 / 3, 4000))
    codes, left = found.read_as(fixed, found.wanted)
    trial = Trial("quantization", "", fixed, codes, left, True, fixed, parameters=2)
    ranking = found.rank([found.as_declared(), trial])
    candidate = next(c for c in ranking if c.cause == "quantization")
    assert candidate.score < 15
    assert objections.is_no_line(found, candidate) == none, found.bent(candidate)


@pytest.mark.parametrize(("frames", "doubt"), [(3, False), (40, True)])
def test_an_input_that_few_values_speak_for_leaves_no_doubt_about_a_good_output(frames: int, doubt: bool) -> None:
    """Two probabilities at 25 dB: of a hundred inputs, one explains 37 dB by chance."""
    rng = np.random.default_rng(frames)
    model = [np.array([[p, 1 - p]], np.float32) for p in np.linspace(0.2, 0.8, frames)]
    seen = [(x + rng.normal(0, 0.012) * np.array([[1, -1]])).astype(np.float32) for x in model]
    found = Evidence(nl.TensorSpec((1, 2), "NC", "float32"), [y.ravel() for y in seen], model, (), 1)
    left = found.codes - np.stack([found.samples.of(y + 0.003 * rng.choice([-1, 1], y.shape)) for y in seen])
    trial = Trial("geometry", "", None, found.codes, left, False, found.spec, rows=range(frames), of_input=True)
    ranking = found.rank([found.as_declared(), trial])
    candidate = next(c for c in ranking if c.cause == "geometry")
    declared = found.score(found.as_declared())
    assert 20 < declared < 30 and candidate.score > declared + 8
    assert objections.is_in_doubt(found, candidate, declared) == doubt


@pytest.mark.parametrize(("offset", "shrunk"), [(0.0, True), (0.04, True), (0.08, False)])
def test_a_line_that_moves_floats_by_up_to_a_twentieth_is_shrunk(offset: float, shrunk: bool) -> None:
    found = evidence()
    span = float(found.wanted.max() - found.wanted.min())
    line = found.tried("quantization", "", 0.1 * found.codes)._replace(line=(1.03, offset * span), parameters=2)
    c = next(c for c in found.rank([found.as_declared(), line]) if c.cause == "quantization")
    assert objections.is_shrunk(found, c) == shrunk


@pytest.mark.parametrize(("moved", "declared", "accused"), [(8, 12.0, False), (8, 9.0, True), (25, 12.0, True)])
def test_a_zero_point_near_a_declared_one_that_explains_much_gains_ten_db(
    moved: int, declared: float, accused: bool
) -> None:
    """A twentieth of int8's range is 12 steps; 5 dB more are no cause there, if the declared one explains 10."""
    found = evidence()
    spec = SPEC.replace(quantization=nl.Quantization(0.05, moved))
    codes, left = found.read_as(spec, found.wanted)
    found.rank([found.as_declared(), Trial("quantization", "", spec, codes, left, True, spec, parameters=1)])
    c = Candidate("quantization", "", declared + 5, 5.0, spec, spec=spec, trial=1)
    assert objections.accuses(found, c, declared) == accused


@pytest.mark.parametrize(("more", "speaks"), [(1.0, False), (-1.0, True)])
def test_an_order_that_explains_a_little_more_than_a_slight_scale(more: float, speaks: bool) -> None:
    found = evidence()
    scale = scaled(found, 1.05)._replace(score=12.0)
    found.trials.append(found.tried("layout", "", found.left)._replace(parameters=1))
    c = Candidate("layout", "", 12.0 + more, 9.0, None, trial=len(found.trials) - 1)
    assert objections.is_nearly_a_line(found, c, [scale, c]) == speaks


@pytest.mark.parametrize(("parameters", "score", "accused"), [(4, 7.0, False), (4, 8.5, True), (0, 7.0, True)])
def test_factors_of_channels_explain_eight_db(parameters: int, score: float, accused: bool) -> None:
    """As scales do; a function without fitted numbers explains 6."""
    found = evidence()
    found.rank([found.as_declared(), found.tried("activation", "", found.left)._replace(parameters=parameters)])
    c = Candidate("activation", "", score, 12.0, None, trial=1)
    assert objections.accuses(found, c, score - 12) == accused


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
    assert objections.is_slight_scale(found, c) != named


@pytest.mark.parametrize(("moved", "slight"), [(10, True), (16, False)])
@pytest.mark.parametrize("zero_points", [True, False])
def test_two_numbers_of_each_channel_may_move_it_by_a_twentieth(moved: int, slight: bool, zero_points: bool) -> None:
    """A device that errs much shrinks and moves its channels; 12.7 steps are a twentieth of int8's range."""
    found = evidence(noise=0.3)
    fixed = nl.Quantization(0.05 * np.array([0.8, 1.2, 0.9, 1.1]), [moved] * 4, axis=1)
    spec = SPEC.replace(quantization=fixed)
    found.trials = [found.as_declared()._replace(spec=spec, parameters=8 if zero_points else 4)]
    assert objections.is_slight_scale(found, Candidate("quantization", "", 14.0, 11.0, spec, spec=spec)) == (
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
    assert objections.is_nearly_a_line(found, ranking[1], ranking) == speaks
