"""What speaks against a candidate, each objection with a candidate that it is against and one that it is not."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.proof import proven
from npu_layout.diagnosis.scoring.trials import Candidate, Trial
from npu_layout.diagnosis.verdicts import objections
from tests.support.boards import same
from tests.support.candidates import SHAPE, SPEC, evidence, scaled


@pytest.mark.parametrize(("factor", "accused"), [(1.01, False), (3.0, True)])
def test_who_accuses_explains_more_than_the_declared_reading(factor: float, accused: bool) -> None:
    found = evidence(1 / factor)
    declared = found.score(found.as_declared())
    assert objections.accuses(found, scaled(found, factor), declared) == accused


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
    assert not objections.is_in_doubt(found, c, found.score(found.as_declared()), met=False)
    assert (c.gain > -1) == (not seen)  # without the rule about fitted scales the two would be alike


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


@pytest.mark.parametrize(
    ("left", "gain", "accused"), [(0.22, 3.5, False), (0.22, 4.5, False), (0.22, 6.5, True), (0.15, 3.5, True)]
)
def test_an_input_that_explains_little_has_to_gain_more(left: float, gain: float, accused: bool) -> None:
    """The data are not at it in all frames: what is left is a part of what was left."""
    found = evidence(noise=0.2)
    off = np.sqrt(float((found.codes**2).mean())) * left * found.left / np.sqrt(float((found.left**2).mean()))
    declared = found.as_declared()
    input_ = Trial("preprocessing", "", {}, found.codes, off, True, SPEC, of_input=True)
    found.rank([declared, input_])
    score = found.score(input_)
    candidate = Candidate("preprocessing", "", score, gain, {}, trial=1, of_input=True)
    assert (score < 15) == (left > 0.2)
    assert objections.accuses(found, candidate, score - gain) == accused


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


@pytest.mark.parametrize(("gain", "unpaid"), [(17.0, False), (9.0, True), (11.0, False), (10.5, True)])
def test_two_numbers_of_each_channel_are_no_cut_where_more_is_left_than_there_is(gain: float, unpaid: bool) -> None:
    found = evidence(0.5, noise=0.1)
    candidate = scaled(found, 2.0)._replace(score=10.8, gain=gain)
    found.trials = [trial._replace(parameters=2 * found.channels if trial.spec else 0) for trial in found.trials]
    assert found.channels > 1 and objections.is_unpaid(found, candidate) == unpaid


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


@pytest.mark.parametrize(("stored", "values"), [("float16", True), ("int16", False)])
def test_floats_in_another_order_are_floats(stored: str, values: bool) -> None:
    """Mirrored and transposed they explain nothing as declared, and their bytes resemble what they are read as."""
    rng, spec = np.random.default_rng(5), nl.TensorSpec(SHAPE, "NCHW", "float16")
    model = [rng.random(SHAPE).astype(np.float32) ** 8 for _ in range(2)]
    q = None if stored == "float16" else nl.Quantization(1 / 32767)
    other = nl.TensorSpec(SHAPE, "NHWC", stored, quantization=q)
    noisy = [x[..., ::-1] + rng.normal(0, 0.01, SHAPE) for x in model]
    device = [other.pack(np.ascontiguousarray(x, np.float32)).view(np.float16) for x in noisy]
    found = Evidence(spec, device, model, (), 1)
    assert found.score(found.as_declared()) < 4
    assert objections.are_values(found, found.score(found.as_declared())) == values


@pytest.mark.parametrize("special", [-np.inf, np.inf, np.nan])
def test_bytes_that_are_no_finite_floats_are_no_floats(special: float) -> None:
    """Integers may have the bits of an infinity where no other is one, nor NaN."""
    rng, spec = np.random.default_rng(7), nl.TensorSpec(SHAPE, "NCHW", "float16")
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(2)]
    device = [spec.pack(np.ascontiguousarray(x[..., ::-1])) for x in model]
    found = Evidence(spec, [x.copy() for x in device], model, (), 1)
    assert objections.are_values(found, 0.0)
    device[1][7] = special
    assert not objections.are_values(Evidence(spec, device, model, (), 1), 0.0)


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
    assert objections.is_no_line(found, candidate) == none, bent(found, candidate)


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
    assert objections.is_in_doubt(found, candidate, declared, met=True) == doubt


@pytest.mark.parametrize(("values", "needless"), [(2, True), (40, False)])
def test_an_input_that_explains_what_some_input_always_does_is_needless(values: int, needless: bool) -> None:
    """6 dB more of two values are nothing; of forty they are no proof, but no chance either."""
    shape = (1, values)
    x = np.resize([1.0, -1.0], shape).astype(np.float32)
    seen = (x + 0.25 * np.resize([1.0, -0.8], shape)).astype(np.float32)
    found = Evidence(nl.TensorSpec(shape, "NC", "float32"), [seen.ravel()], [x], (), 1)
    trial = Trial("geometry", "", None, found.codes, found.left / 2, False, found.spec, of_input=True)
    candidate = next(c for c in found.rank([found.as_declared(), trial]) if c.of_input)
    assert candidate.gain > 5 and not proven(found, candidate, 2)
    assert objections.is_needless(found, candidate, 12.0) == needless
    assert objections.is_needless(found, candidate, 21.0)


@pytest.mark.parametrize(("lean", "differ", "accused"), [(1.0, 0.18, True), (1.4, 0.13, False), (1.4, 0.25, True)])
def test_an_input_that_the_data_are_beyond_gains_six_db(lean: float, differ: float, accused: bool) -> None:
    """A device that stretches its output leans to an input of more contrast, and beyond it."""
    rng, shape = np.random.default_rng(3), (1, 4, 24, 24)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(3)]
    other, noise = ([part * rng.standard_normal(shape) for _ in model] for part in (differ, 0.13))
    seen = [(x + lean * d + e).astype(np.float32) for x, d, e in zip(model, other, noise)]
    found = Evidence(nl.TensorSpec(shape, "NCHW", "float32"), [y.ravel() for y in seen], model, (), 1)
    wanted = np.stack([found.samples.of((x + d).astype(np.float32)) for x, d in zip(model, other)])
    trial = Trial("preprocessing", "", None, found.codes, found.codes - wanted, False, found.spec, of_input=True)
    candidate = next(c for c in found.rank([found.as_declared(), trial]) if c.of_input)
    declared = found.score(found.as_declared())
    assert candidate.score > 15 and candidate.gain > 3.5 and proven(found, candidate, 2), (declared, candidate)
    assert objections.accuses(found, candidate, declared) == accused, candidate


@pytest.mark.parametrize(("frames", "met", "doubt"), [(1, True, False), (1, False, True), (3, True, True)])
def test_what_noise_gives_leaves_no_doubt_if_all_tolerances_are_met(frames: int, met: bool, doubt: bool) -> None:
    """A device leans to another input, of 1.5 dB more: noise gives as much in one frame, but hardly ever in three."""
    rng, shape = np.random.default_rng(1), (1, 4, 24, 24)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(frames)]
    other, noise = ([part * rng.standard_normal(shape) for _ in model] for part in (0.25, 0.23))
    seen = [(x + 0.7 * d + e).astype(np.float32) for x, d, e in zip(model, other, noise)]
    found = Evidence(nl.TensorSpec(shape, "NCHW", "float32"), [y.ravel() for y in seen], model, (), 1)
    wanted = np.stack([found.samples.of((x + d).astype(np.float32)) for x, d in zip(model, other)])
    trial = Trial("preprocessing", "", None, found.codes, found.codes - wanted, False, found.spec, of_input=True)
    candidate = next(c for c in found.rank([found.as_declared(), trial]) if c.of_input)
    declared = found.score(found.as_declared())
    assert 9 < declared < 20 and 1 < candidate.gain < 2 and proven(found, candidate, 2) == (frames == 3)
    assert objections.is_in_doubt(found, candidate, declared, met) == doubt


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


@pytest.mark.parametrize(("parameters", "score", "accused"), [(4, 7.0, False), (4, 8.5, True), (0, 7.0, True)])
def test_factors_of_channels_explain_eight_db(parameters: int, score: float, accused: bool) -> None:
    """As scales do; a function without fitted numbers explains 6."""
    found = evidence()
    found.rank([found.as_declared(), found.tried("activation", "", found.left)._replace(parameters=parameters)])
    c = Candidate("activation", "", score, 12.0, None, trial=1)
    assert objections.accuses(found, c, score - 12) == accused


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("uneven", "accused"), [(0.0, True), (0.6, False)])
def test_an_input_that_gains_little_is_seen_in_every_channel_and_frame(seed: int, uneven: float, accused: bool) -> None:
    """What a device errs by is partly along another input, by another part in each channel."""
    rng, shape = np.random.default_rng(seed), (1, 4, 24, 24)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(2)]
    other = [x + 0.5 * rng.standard_normal(shape).astype(np.float32) for x in model]
    at = 1 + uneven * np.array([1, -1, 1, -1]).reshape(1, 4, 1, 1)
    device = [x + at * (y - x) + 0.33 * rng.standard_normal(shape) for x, y in zip(model, other)]
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    found = Evidence(spec, [spec.pack(y.astype(np.float32)) for y in device], model, (), 1)
    left = found.codes - np.stack([found.samples.of(y) for y in other])
    trial = found.tried("preprocessing", "", left, rows=[0, 1])._replace(of_input=True, answers=dict(enumerate(other)))
    c = next(c for c in found.rank([found.as_declared(), trial]) if c.of_input)
    assert 6 < c.score < 15 and (c.gain < 6 if accused else 0 < c.gain < 6), c.gain
    assert objections.accuses(found, c, found.score(found.as_declared())) == accused


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("off", "named"), [(12, False), (70, True)])
def test_a_scale_and_a_zero_point_that_a_device_moves_are_no_cause(off: int, named: bool, seed: int) -> None:
    """A device that cuts off in each layer moves and stretches: as declared 9 dB are left, and a line gains 4."""
    rng, shape = np.random.default_rng(seed), (1, 1000)
    spec = nl.TensorSpec(shape, "NC", "int8", quantization=nl.Quantization(0.06, 4), name="y")
    model = [(0.06 * 35 * rng.standard_normal(shape)).astype(np.float32) for _ in range(4)]
    steps = [1.15 * x / 0.06 + 4 - off + 9 * rng.standard_normal(shape) for x in model]
    stored = [np.clip(np.rint(y), -128, 127).astype(np.int8) for y in steps]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(model, stored)])
    output = nl.validate(recording, same(shape)).outputs["y"]
    assert (output.verdict == "quantization") == named, str(output)


@pytest.mark.parametrize("seed", range(2))
def test_one_scale_that_was_declared_as_one_of_each_channel_may_gain_less(seed: int) -> None:
    """How many channels a scale is for is a mistake that people make, and no device does: 6 dB are enough."""
    rng, shape = np.random.default_rng(seed), (1, 10, 12, 16)
    model = [(2.5 * x).astype(np.float32) for x in rng.standard_normal((6, *shape))]
    true = nl.TensorSpec(shape, "NHWC", "int8", quantization=nl.Quantization(0.1, -5), name="y")
    scales, zero_points = 0.1 * rng.permutation(np.linspace(0.62, 1.05, 10)), rng.integers(-9, 0, 10)
    each = true.replace(quantization=nl.Quantization(scales, zero_points, axis=1))
    noisy = [true.pack((x + 0.38 * rng.standard_normal(shape)).astype(np.float32)) for x in model]
    recording = nl.Recording({"y": each}, [({"x": x}, {"y": y}) for x, y in zip(model, noisy)])
    output = nl.validate(recording, same(shape)).outputs["y"]
    declared = next(c.score for c in output.ranking if c.cause == "match")
    best = next(c for c in output.ranking if c.cause == "quantization")
    assert declared >= 8 > best.gain - 2, str(output)
    assert output.verdict == "quantization" and output.fix.quantization.axis is None, str(output)
