"""What suffices to prove a cause: counted on noise, on vectors, and on single values."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import Remade, Situation, diagnose
from npu_layout.diagnosis.computed.activations import activations
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.proof import cost_of, independent, least_cost, needed, proven
from npu_layout.diagnosis.scoring.thresholds import RATE
from npu_layout.diagnosis.scoring.trials import Candidate, Trial
from npu_layout.diagnosis.stored.readings import declared
from npu_layout.diagnosis.stored.scales import quantizations
from tests.support.paths import ROOT


def evidence(shape: tuple[int, ...], frames: int, noise: float, channel_axis: int | None, seed: int = 0) -> Evidence:
    rng = np.random.default_rng(seed)
    references = [rng.standard_normal(shape).astype(np.float32) for _ in range(frames)]
    buffers = [(r + noise * rng.standard_normal(shape)).astype(np.float32).ravel() for r in references]
    return Evidence(nl.TensorSpec(shape, nl.Layout.of_rank(len(shape))), buffers, references, (), channel_axis)


def judged(found: Evidence) -> str:
    situation = Situation("y", range(len(found.buffers)), {"y": found.references}, {"y": found.spec}, ())
    return diagnose(found, situation, True, None)[1].verdict


def test_noise_is_proven_no_more_often_than_the_rate() -> None:
    """Of 100,000 searches through 50 candidates whose errors differ by noise alone, for every number of values."""
    rng = np.random.default_rng(0)
    tried, draws = 50, 100_000
    for n in (4, 12, 100):
        found = evidence((1, n), 1, 0.1, 1)
        found.trials = [Trial("layout", "", None, np.zeros((1, n)), np.zeros((1, n)), False)]
        low, high = 0.0, 200.0  # dB: the least that proves
        for _ in range(60):
            middle = (low + high) / 2
            sound = proven(found, Candidate("layout", "", 20.0, middle, None), tried)
            low, high = (low, middle) if sound else (middle, high)
        best = np.zeros(draws)
        declared = rng.chisquare(n, draws)
        for _ in range(tried):
            best = np.maximum(best, declared / rng.chisquare(n, draws))
        assert (10 * np.log10(best) >= high).sum() <= 2 * RATE * draws, n


def test_neighbours_in_a_map_count_as_one_and_vectors_do_not() -> None:
    vector, maps = evidence((1, 1000), 1, 0.1, 1), evidence((1, 8, 16, 16), 1, 0.1, 1)
    for found in (vector, maps):
        found.trials = [found.as_declared()]
    whole = Candidate("layout", "", 20.0, 10.0, None)
    assert independent(vector, whole) == vector.wanted.size == 1000
    assert independent(maps, whole) == maps.wanted.size / 8


def test_parameters_and_arrangements_cost() -> None:
    found = evidence((1, 64), 4, 0.1, 1)
    free = found.as_declared()
    found.trials = [free, free._replace(parameters=2), free._replace(choices=math.lgamma(65))]
    costs = [needed(found, Candidate("layout", "", 20.0, 10.0, None, trial=i), 10) for i in range(3)]
    assert costs[0] == pytest.approx(math.log(10 / RATE))
    free, fitted = (independent(found, Candidate("layout", "", 20.0, 10.0, None, trial=i)) for i in range(2))
    assert free == 256 and costs[1] == pytest.approx(costs[0] + math.log(fitted)) and fitted < free
    assert costs[2] == pytest.approx(costs[0] + math.lgamma(65))


@pytest.mark.parametrize("shape", [(1, 3), (1, 40), (1, 5, 8), (1, 4, 6, 6)])
@pytest.mark.parametrize("heavy", [0.5, 4.0])
def test_no_trial_costs_less_than_its_numbers_cost_of_all_values(shape: tuple[int, ...], heavy: float) -> None:
    """Whatever it leaves: noise of many values or few, the same in all frames or not."""
    rng = np.random.default_rng(4)
    for frames in (1, 2, 7):
        found = evidence(shape, frames, 0.1, 1)
        size = found.codes.shape
        for left in (abs(rng.standard_normal(size)) ** heavy, np.broadcast_to(rng.standard_normal(size[1]), size)):
            for parameters in (0, 1, 2, shape[1]):
                trial = found.as_declared()._replace(left=left, parameters=parameters)
                least = least_cost(found, parameters)
                assert all(cost_of(found, trial, noisy=noisy) >= least * (1 - 1e-12) for noisy in (False, True))
                assert (least > 0) == (parameters > 0)


def test_an_error_of_few_values_proves_little() -> None:
    """However many others there are; and the same frame again adds nothing."""
    rng = np.random.default_rng(3)
    reference = rng.standard_normal((1, 4, 40, 40)).astype(np.float32)
    device = reference + 1e-3 * rng.standard_normal(reference.shape).astype(np.float32)
    spec, candidate = nl.TensorSpec(reference.shape, "NCHW"), Candidate("layout", "", 20.0, 10.0, None)

    def values(frames: int, *far: int) -> float:
        spoiled = device.copy()
        spoiled.reshape(-1)[list(far)] += 9
        found = Evidence(spec, [spoiled.ravel()] * frames, [reference] * frames, (), 1)
        assert found.samples.count * found.channels == reference.size
        found.trials = [found.as_declared()]
        return independent(found, candidate)

    assert values(1) == reference.size / 8
    assert values(1, 100) == pytest.approx(2, rel=0.01) and values(1, 100, 2000, 5000) == pytest.approx(14, rel=0.01)
    assert values(5) == values(1) and values(5, 100) == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(("shape", "axis"), [((1, 1000), 1), ((1, 36, 32, 32), 1), ((1, 12, 100), 1)])
def test_one_frame_of_many_values_is_proof(shape: tuple[int, ...], axis: int) -> None:
    """The device has the channels in a rolled order, and rounds them to 1 %; declared, it explains nothing."""
    rng = np.random.default_rng(1)
    reference = rng.standard_normal(shape).astype(np.float32) * np.linspace(1, 2, shape[1]).reshape(
        [-1 if i == 1 else 1 for i in range(len(shape))]
    )
    other = rng.standard_normal(shape).astype(np.float32)
    spec = nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)))
    device = (other + 0.01 * rng.standard_normal(shape)).astype(np.float32).ravel()
    found = Evidence(spec, [device], [reference], [other], axis)
    situation = Situation("y", [0], {"y": [reference], "z": [other]}, {"y": spec, "z": spec}, ())
    judgement = diagnose(found, situation, False, None)[1]
    assert (judgement.verdict, judgement.fix) == ("output_order", "z"), judgement


def test_four_values_prove_nothing() -> None:
    rng = np.random.default_rng(2)
    one, other = (rng.standard_normal((1, 4)).astype(np.float32) for _ in "ab")
    spec = nl.TensorSpec((1, 4), "NC")
    found = Evidence(
        spec, [(other + 0.3 * rng.standard_normal((1, 4))).astype(np.float32).ravel()], [one], [other], None
    )
    situation = Situation("y", [0], {"y": [one], "z": [other]}, {"y": spec, "z": spec}, ())
    judgement = diagnose(found, situation, False, None)[1]
    assert judgement.verdict in ("ambiguous", "mismatch") and judgement.fix is None, judgement


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(
    ("shape", "axis"), [((1, 4), None), ((1, 10), 1), ((1, 1000), 1), ((1, 6, 8, 8), 1), ((1, 1, 16, 16), 1)]
)
def test_noise_is_not_accused(shape: tuple[int, ...], axis: int | None, noise: float) -> None:
    for seed in range(6):
        for frames in (1, 2, 5):
            assert judged(evidence(shape, frames, noise, axis, seed)) in ("match", "ambiguous"), (seed, frames)


def test_the_table_of_the_docs() -> None:
    """How many dB of gain so many values need, of 50 explanations."""
    page = (ROOT / "docs" / "evidence.md").read_text()
    rows = re.findall(r"^\| ([\d,]+) \| ([\d.]+) dB", page, re.MULTILINE)
    assert len(rows) == 6
    for values, decibels in rows:
        n = int(values.replace(",", ""))
        found = evidence((1, n), 1, 0.1, 1)
        found.trials = [Trial("layout", "", None, np.zeros((1, n)), np.zeros((1, n)), False)]
        for gain, sound in ((float(decibels) + 0.05, True), (float(decibels) - 0.05, n >= 1000)):
            assert proven(found, Candidate("layout", "", 50.0, gain, None), 50) == sound, (values, gain)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int16"])
@pytest.mark.parametrize(("classes", "frames"), [(1, 2), (2, 1), (10, 1), (10, 2), (1000, 1)])
def test_a_line_through_few_errors_is_no_scale(classes: int, frames: int, dtype: str) -> None:
    """Of a classifier that is less sure than its model, or of one or two values: a line goes through them anyway."""
    rng = np.random.default_rng(classes)
    model, device = [], []
    for _ in range(frames):
        x = np.full((1, classes), 0.02 / classes)
        x[0, rng.integers(classes)] = 0.98
        x = x if classes > 2 else rng.uniform(0.1, 0.9, (1, classes))
        y = x * rng.uniform(0.8, 0.95) + (0.1 / classes if classes > 2 else rng.normal(0, 0.03, x.shape))
        model.append(x.astype(np.float32))
        device.append(y.astype(np.float32))
    quantization = None
    if dtype != "float32":
        limits = np.iinfo(dtype)
        quantization = nl.Quantization(1 / (int(limits.max) - limits.min), int(limits.min))
    spec = nl.TensorSpec((1, classes), "NC", dtype, quantization=quantization)
    found = Evidence(spec, [spec.pack(y) for y in device], model, (), 1)
    assert judged(found) in ("match", "ambiguous", "mismatch")


@pytest.mark.parametrize("frames", [3, 4, 5])
def test_few_large_values_that_err_alike_prove_no_scale(frames: int) -> None:
    """Noise in proportion to the values moves the classes that a classifier is sure of; by chance all by one factor."""
    rng = np.random.default_rng(frames)
    model, device = [], []
    for _ in range(frames):
        x = np.full((1, 1000), 0.01 / 1000)
        x[0, rng.integers(1000)] = 0.99
        factors = np.where(x > 0.5, 0.9 * rng.normal(1, 0.005, x.shape), rng.normal(1, 0.2, x.shape))
        model.append(x.astype(np.float32))
        device.append((x * factors).astype(np.float32))
    spec = nl.TensorSpec((1, 1000), "NC", "int16", quantization=nl.Quantization(1 / 65535, -32768))
    found = Evidence(spec, [spec.pack(y) for y in device], model, (), 1)
    assert judged(found) in ("match", "ambiguous", "mismatch")


def test_many_errors_prove_a_line() -> None:
    rng = np.random.default_rng(4)
    model = [rng.dirichlet(np.full(10, 0.2))[None].astype(np.float32) for _ in range(24)]
    spec = nl.TensorSpec((1, 10), "NC", "float32")
    noisy = [(x + rng.normal(0, 0.01, x.shape)).astype(np.float32) for x in model]
    assert judged(Evidence(spec, [spec.pack(x) for x in noisy], model, (), 1)) == "match"
    assert judged(Evidence(spec, [spec.pack(3 * x) for x in noisy], model, (), 1)) == "quantization"


def test_fitted_numbers_are_taken_from_the_values() -> None:
    """And errors of two values are none at all: a line goes through them."""
    candidate = Candidate("quantization", "", 20.0, 10.0, None)
    reference = np.resize(np.float32([-3, 3]), (1, 1000))  # all of which vary
    for far, fitted, values in ((2, 2, 0), (3, 2, 3), (3, 1, 6), (1000, 2, 998), (1000, 40, 960), (1000, 2000, 0)):
        device = reference.copy()
        device[0, :far] += 1
        found = Evidence(nl.TensorSpec((1, 1000), "NC"), [device.ravel()], [reference], (), 1)
        found.trials = [found.as_declared()._replace(parameters=fitted)]
        assert independent(found, candidate) == pytest.approx(values), (far, fitted)


def _words(rng: np.random.Generator, frames: int, letters: int) -> list[np.ndarray]:
    """Probabilities of 37 classes in 32 columns: so many letters in each frame, else the background."""
    made = []
    for _ in range(frames):
        logits = rng.standard_normal((1, 32, 37)).astype(np.float32)
        logits[..., 36] += 7
        for column in rng.choice(32, letters, replace=False):
            logits[0, column, rng.integers(36)] += 14
        made.append(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True))
    return made


@pytest.mark.parametrize("seed", range(6))
def test_an_input_explains_what_differs_between_frames(seed: int) -> None:
    """The background of words agrees with that of a blank input, whatever the words are."""
    rng = np.random.default_rng(seed)
    declared, others, blank = _words(rng, 8, 12), _words(rng, 8, 3), _words(rng, 1, 0)[0]
    spec = nl.TensorSpec((1, 32, 37), "NCW", "float32")
    remade = [Remade("blank", {"mean": 0.0}, dict.fromkeys(range(8), blank))]

    def verdict(device: list[np.ndarray], noise: float) -> str:
        spread = float(np.std(device))
        noisy = [(y + noise * spread * rng.standard_normal(y.shape)).astype(np.float32) for y in device]
        found = Evidence(spec, [y.ravel() for y in noisy], declared, (), 1)
        return diagnose(found, Situation("y", range(8), {"y": declared}, {"y": spec}, remade), True, None)[1].verdict

    assert verdict(others, 0.01) in ("mismatch", "ambiguous")
    for noise in (0.01, 0.1, 0.3):
        assert verdict([blank] * 8, noise) == "preprocessing", noise
        assert verdict(declared, noise) in ("match", "mismatch"), noise


@pytest.mark.parametrize("seed", range(4))
def test_a_line_through_what_is_the_same_in_all_frames_proves_nothing(seed: int) -> None:
    """Six values, whose errors are the same in eight frames: six errors, and not 48."""
    rng = np.random.default_rng(seed)
    model = [rng.standard_normal((1, 2, 3)).astype(np.float32) for _ in range(8)]
    spec, always = nl.TensorSpec((1, 2, 3), "NCW", "float32"), 0.2 * rng.standard_normal((1, 2, 3))
    numbers = []
    for errors in ([always] * 8, [0.2 * rng.standard_normal((1, 2, 3)) for _ in range(8)]):
        device = [(1.9 * x + 0.1 + e).astype(np.float32).ravel() for x, e in zip(model, errors)]
        found = Evidence(spec, device, model, (), None)
        ranking = found.rank([*declared(found), *quantizations(found)])
        numbers.append(independent(found, next(c for c in ranking if c.cause == "quantization")))
    assert numbers[0] == 0 < 4 < numbers[1], numbers
    faultless = [(x + always).astype(np.float32).ravel() for x in model]
    assert judged(Evidence(spec, faultless, model, (), None)) in ("match", "ambiguous")


def test_few_values_that_vary_prove_no_line() -> None:
    """A sigmoid of zeros and two other numbers is on a line with any scale and zero point."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model = np.zeros((1, 36, 3), np.float32)
        model.reshape(-1)[rng.choice(108, 2, replace=False)] = 2 * np.abs(rng.standard_normal(2)) + 0.5
        device = 1 / (1 + np.exp(-model)) * (1 + 1e-3 * rng.standard_normal(model.shape))
        spec = nl.TensorSpec((1, 36, 3), "NCW", "int16", quantization=nl.Quantization(1 / 33000, -32768))
        found = Evidence(spec, [spec.pack(device.astype(np.float32))], [model], (), 1)
        assert judged(found) in ("activation", "ambiguous", "mismatch"), seed


@pytest.mark.parametrize("seed", range(8))
def test_one_wrong_probability_is_no_normalisation(seed: int) -> None:
    """A sure classifier errs in one value of a frame, and may err by what a normalisation would change it by."""
    rng = np.random.default_rng(seed)
    reference = (0.02 * rng.dirichlet(np.ones(1000))[None]).astype(np.float32)
    reference[0, rng.integers(1000)] += 0.98
    device = reference.copy()
    device[0, reference.argmax()] = 1
    spec = nl.TensorSpec(reference.shape, "NC", "int16", quantization=nl.Quantization(1 / 32000))
    assert judged(Evidence(spec, [spec.pack(device).ravel()], [reference], (), 1)) == "ambiguous"


@pytest.mark.parametrize("frames", [1, 2, 8])
def test_exact_values_of_another_shape_are_proof(frames: int) -> None:
    """A reading that leaves no error has explained all that varies, and not one value."""
    rng = np.random.default_rng(0)
    references = [rng.standard_normal((1, 7, 120)).astype(np.float32) for _ in range(frames)]
    spec = nl.TensorSpec((1, 7, 12, 10), "NCHW", "float32")
    found = Evidence(spec, [r.ravel() for r in references], references, (), 1)
    assert judged(found) == "layout"


@pytest.mark.parametrize(("wrong", "is_proof"), [(12, False), (400, True)])
def test_labels_that_another_order_makes_right_prove_it_by_their_number(wrong: int, is_proof: bool) -> None:
    """Exact values are no more than right labels, of which some are right in any place."""
    rng, shape = np.random.default_rng(0), (1, 24, 24)
    model = [rng.integers(0, 5, shape) for _ in range(2)]
    device = [x.copy() for x in model]
    for x in device:
        where = np.unravel_index(rng.choice(x.size, wrong // 2, replace=False), shape)
        x[where] = (x[where] + 1) % 5
    found = Evidence(nl.TensorSpec(shape, "NCW", "int64"), device, model, (), None)
    exact = Trial("layout", "", None, found.codes, np.zeros_like(found.left), True, found.spec, choices=30.0)
    best = next(c for c in found.rank([found.as_declared(), exact]) if c.cause == "layout")
    assert best.gain > 100 and proven(found, best, 50) == is_proof, int((found.left != 0).sum())


@pytest.mark.parametrize(("places", "is_proof"), [(False, False), (True, True)])
def test_labels_of_another_tensor_are_at_other_places(places: bool, is_proof: bool) -> None:
    """Which of them the declared reading has right is no count of those that the tensor has."""
    rng, shape = np.random.default_rng(0), (1, 24, 24)
    model = [rng.integers(0, 5, shape)]
    device = model[0].copy()
    device[0, :4, :3] = (device[0, :4, :3] + 1) % 5
    found = Evidence(nl.TensorSpec(shape, "NCW", "int64"), [device], model, (), None)
    trial = Trial("output_order", "", None, found.codes, np.zeros_like(found.left), True, found.spec, choices=30.0)
    trial = trial._replace(places=found.samples.count if places else 0)
    best = next(c for c in found.rank([found.as_declared(), trial]) if c.cause == "output_order")
    assert best.gain > 100 and proven(found, best, 50) == is_proof


@pytest.mark.parametrize("is_proof", [True, False])
def test_labels_that_another_order_makes_wrong_count_against_it(is_proof: bool) -> None:
    rng, shape = np.random.default_rng(0), (1, 48, 48)
    model = [rng.integers(0, 5, shape)]
    device = model[0].copy().ravel()
    device[rng.permutation(device.size)[:400]] += 4
    found = Evidence(nl.TensorSpec(shape, "NCW", "int64"), [device], model, (), None)
    left = np.zeros_like(found.left)
    if not is_proof:
        right, wrong = np.flatnonzero(found.left == 0), np.count_nonzero(found.left)
        left.ravel()[right[: wrong - 3]] = 1
    trial = Trial("layout", "", None, found.codes, left, True, found.spec)
    best = next(c for c in found.rank([found.as_declared(), trial]) if c.cause == "layout")
    assert best.gain > 10 and proven(found, best, 50) == is_proof


@pytest.mark.parametrize(
    ("frames", "flipped", "verdict"), [(8, 1, "ambiguous"), (8, 2, "ambiguous"), (24, 12, "geometry")]
)
def test_few_classes_that_another_input_names_are_no_proof(frames: int, flipped: int, verdict: str) -> None:
    """Of one-hot outputs it is exact, but one in five inputs is, by chance."""
    rng = np.random.default_rng(frames + flipped)
    named = rng.integers(5, size=frames)
    seen = np.where(np.arange(frames) < flipped, (named + rng.integers(1, 5, frames)) % 5, named)
    model, device = (np.eye(10, dtype=np.float32)[c][:, None] for c in (named, seen))
    spec = nl.TensorSpec((1, 10), "NC", "int8", quantization=nl.Quantization(1 / 255, -128))
    found = Evidence(spec, [spec.pack(y) for y in device], list(model), (), 1)
    remade = [Remade("the input is transposed", None, dict(enumerate(device)), "geometry")]
    situation = Situation("y", range(frames), {"y": list(model)}, {"y": spec}, remade)
    judgement = diagnose(found, situation, False, None)[1]
    assert judgement.verdict == verdict, judgement.why
    said = (
        "Perhaps the picture" if flipped == 1 else "Probably the picture" if flipped == 2 else "The picture was moved"
    )
    assert judgement.why.startswith(said), judgement.why


@pytest.mark.parametrize(("frames", "verdict"), [(1, "ambiguous"), (8, "geometry")])
def test_two_probabilities_that_err_are_one_number(frames: int, verdict: str) -> None:
    """What one class gains the other loses: of a hundred inputs, one returns nearly the same by chance."""
    rng = np.random.default_rng(frames)
    share = rng.uniform(0.3, 0.7, (frames, 1))
    off = share + np.where(rng.random((frames, 1)) < 0.5, -0.15, 0.15)
    model, device, seen = (np.hstack([p, 1 - p, np.zeros((frames, 99))])[:, None] for p in (share, off, off + 1e-3))
    spec = nl.TensorSpec((1, 101), "NC", "float32")
    model, seen = ([np.asarray(y, np.float32) for y in some] for some in (model, seen))
    found = Evidence(spec, [y.ravel().astype(np.float32) for y in device], model, (), 1)
    remade = [Remade("the input is transposed", None, dict(enumerate(seen)), "geometry")]
    situation = Situation("y", range(frames), {"y": model}, {"y": spec}, remade)
    judgement = diagnose(found, situation, False, None)[1]
    assert judgement.verdict == verdict, judgement.why


@pytest.mark.parametrize(("turned", "verdict"), [(2, "ambiguous"), (24, "preprocessing")])
def test_few_letters_that_another_input_names_are_no_proof(turned: int, verdict: str) -> None:
    """Of 64 letters in two frames the device reads some in another way, as another input does, exactly."""
    rng = np.random.default_rng(turned)
    letters = rng.integers(20, size=64)
    read = np.where(np.arange(64) < turned, (letters + rng.integers(1, 20, 64)) % 20, letters)
    model, device = (
        [np.asarray(0.98 * np.eye(400)[x] + 0.02 / 400, np.float32)[None] for x in np.split(some, 2)]
        for some in (letters, read)
    )
    spec = nl.TensorSpec((1, 32, 400), "NCW", "float32")
    found = Evidence(spec, [y.ravel() for y in device], model, (), 1)
    remade = [Remade("CLIP's mean and std", {"mean": 1.0}, dict(enumerate(device)))]
    judgement = diagnose(found, Situation("y", range(2), {"y": model}, {"y": spec}, remade), False, None)[1]
    assert judgement.verdict == verdict, judgement.why


@pytest.mark.parametrize(("turned", "verdict"), [(1, "ambiguous"), (40, "preprocessing")])
def test_how_sure_letters_are_proves_an_input_that_names_the_same(turned: int, verdict: str) -> None:
    """The device is less sure of some of 64 letters, each by a number of its own, as another input makes it."""
    rng = np.random.default_rng(turned)
    letters, less = rng.integers(20, size=64), np.zeros(64)
    less[rng.permutation(64)[:turned]] = rng.uniform(0.05, 0.2, turned)
    rest = rng.integers(1, 20, 64)

    def returned(sure: np.ndarray, noise: float) -> list[np.ndarray]:
        y = np.zeros((64, 400))
        y[np.arange(64), letters] = sure
        y[np.arange(64), (letters + rest) % 20] = 1 - sure
        y += noise * rng.standard_normal(y.shape)
        return [x[None] for x in np.split(np.float32(y), 2)]

    model, seen, device = returned(0 * less + 0.98, 0), returned(0.98 - less, 0), returned(0.98 - less, 1e-4)
    spec = nl.TensorSpec((1, 32, 400), "NCW", "float32")
    found = Evidence(spec, [y.ravel() for y in device], model, (), 1)
    remade = [Remade("CLIP's mean and std", {"mean": 1.0}, dict(enumerate(seen)))]
    judgement = diagnose(found, Situation("y", range(2), {"y": model}, {"y": spec}, remade), False, None)[1]
    assert judgement.verdict == verdict, judgement.why


@pytest.mark.parametrize(("alike", "verdict"), [(True, "ambiguous"), (False, "geometry")])
def test_an_error_that_all_frames_have_shows_an_input_once(alike: bool, verdict: str) -> None:
    """A camera that stands still has one picture: a device that errs in it errs in every frame."""
    rng = np.random.default_rng(2)
    scene = rng.standard_normal((1, 6))
    model = [(scene if alike else rng.standard_normal((1, 6))) + rng.normal(0, 0.01, (1, 6)) for _ in range(12)]
    other = rng.normal(0, 1.5, (1, 6))
    seen = [x + (other if alike else rng.normal(0, 1.5, (1, 6))) for x in model]
    device = [(y + rng.normal(0, 0.1, y.shape)).astype(np.float32) for y in seen]
    model, seen = ([np.asarray(x, np.float32) for x in some] for some in (model, seen))
    spec = nl.TensorSpec((1, 6), "NC", "float32")
    found = Evidence(spec, [y.ravel() for y in device], model, (), 1)
    remade = [Remade("the input is mirrored", None, dict(enumerate(seen)), "geometry")]
    judgement = diagnose(found, Situation("y", range(12), {"y": model}, {"y": spec}, remade), False, None)[1]
    assert judgement.verdict == verdict, judgement.why


def test_values_that_an_input_clamps_prove_nothing() -> None:
    """A frame beyond what the device was calibrated for is stored as the ends, whatever input made it so."""
    spec = nl.TensorSpec((1, 100), "NC", "int8", quantization=nl.Quantization(0.01))
    rng = np.random.default_rng(3)
    model = [rng.standard_normal((1, 100)).astype(np.float32) for _ in range(2)]
    other = [np.where(np.arange(100) < 60, 5 * np.sign(x), 0.4 * x).astype(np.float32) for x in model]
    found = Evidence(spec, [spec.pack(x) for x in other], model, (), 1)
    left = found.codes - found.predicted(np.stack([found.samples.of(x) for x in other]))
    trial = found.tried("preprocessing", "", left)._replace(of_input=True, answers=dict(enumerate(other)))
    clamped, free = (found.rank([found.as_declared(), t])[0] for t in (trial, trial._replace(answers={})))
    found.rank([trial, trial._replace(answers={})])
    clamped, free = (independent(found, Candidate("preprocessing", "", 30.0, 20.0, None, trial=i)) for i in (0, 1))
    assert free == 200 and clamped == pytest.approx(80)


@pytest.mark.parametrize("seed", range(4))
def test_a_vector_that_is_the_same_in_all_frames_counts_once(seed: int) -> None:
    """Two probabilities in four frames that are alike are on a line with any two bytes; in other frames they differ."""
    rng = np.random.default_rng(seed)
    alike = [np.array([[0.96, 0.24]], np.float32) + 1e-3 * rng.standard_normal((1, 2)).astype(np.float32)] * 4
    alike = [x + 1e-4 * rng.standard_normal((1, 2)).astype(np.float32) for x in alike]
    unlike = [rng.uniform(0, 1, (1, 2)).astype(np.float32) for _ in range(16)]
    spec = nl.TensorSpec((1, 2), "NC", "int16", quantization=nl.Quantization(1.0))
    for model, named in ((alike, False), (unlike, True)):
        true = spec.replace(quantization=nl.Quantization(1 / 16000, 2000))
        found = Evidence(spec, [true.pack(x) for x in model], model, (), 1)
        assert (judged(found) == "quantization") == named


@pytest.mark.parametrize("seed", range(4))
def test_a_softmax_of_values_that_are_far_apart_shows_nothing(seed: int) -> None:
    """Read without their scale, probabilities are so far apart that a softmax of them has one large value, as these."""
    rng = np.random.default_rng(seed)
    base = np.log([[0.02, 0.02, 0.03, 0.02, 0.83, 0.03, 0.03, 0.02]])
    logits = [base + 0.02 * rng.standard_normal(base.shape) for _ in range(4)]
    model = [(np.exp(x) / np.exp(x).sum()).astype(np.float32) for x in logits]
    raw = [np.rint(250 * x - 126 + 25 * rng.standard_normal(x.shape)).clip(-128, 127).astype(np.int8) for x in model]
    found = Evidence(nl.TensorSpec((1, 8), "NC", "int8"), [x.ravel() for x in raw], model, (), 1)
    assert judged(found) in ("ambiguous", "mismatch")
    many = [2 * rng.standard_normal((1, 8)) for _ in range(24)]
    model = [(np.exp(x) / np.exp(x).sum()).astype(np.float32) for x in many]
    unlike = [(x + 0.1 * rng.standard_normal(x.shape)).astype(np.float32).ravel() for x in many]
    assert judged(Evidence(nl.TensorSpec((1, 8), "NC", "float32"), unlike, model, (), 1)) == "activation"


@pytest.mark.parametrize("shape", [(1, 8), (1, 2, 4, 4)])
def test_a_function_explains_frames_that_are_alike_once(shape: tuple[int, ...]) -> None:
    """What it explains is the model's values; noise of each frame's own is no further value of these."""
    rng, numbers = np.random.default_rng(0), []
    for alike in (True, False):
        model = [rng.standard_normal(shape).astype(np.float32) for _ in range(8)]
        model = [model[0] + 0.01 * x for x in model] if alike else model
        device = [(np.tanh(x) + 0.1 * rng.standard_normal(shape)).astype(np.float32).ravel() for x in model]
        found = Evidence(nl.TensorSpec(shape, nl.Layout.of_rank(len(shape))), device, model, (), None)
        ranking = found.rank([*declared(found), *activations(found)])
        numbers.append(independent(found, next(c for c in ranking if c.text == "an extra tanh")))
    assert numbers[0] < numbers[1] / 4


def test_an_order_of_a_vector_that_is_the_same_in_all_frames_counts_once() -> None:
    """Eight probabilities of dim frames: whichever order they are in, they are in it in every frame."""
    rng, numbers, order = np.random.default_rng(0), [], np.roll(np.arange(8), 1)
    for alike in (True, False):
        model = [rng.standard_normal((1, 8)).astype(np.float32) for _ in range(8)]
        model = [model[0] + 0.01 * x for x in model] if alike else model
        device = [x[:, order].ravel() for x in model]
        found = Evidence(nl.TensorSpec((1, 8), "NC"), device, model, (), 1)
        left = found.codes - np.stack([x[0, order] for x in model])
        for cause in ("channel_order", "layout"):
            trial = found.as_declared()._replace(cause=cause, left=left + 1e-6)
            ranking = found.rank([*declared(found), trial])
            numbers.append(independent(found, next(c for c in ranking if c.cause == cause)))
    assert max(numbers[:2]) < min(numbers[2:]) / 4, numbers
