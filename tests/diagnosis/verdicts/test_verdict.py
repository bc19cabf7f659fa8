"""What the recording does not decide is not named."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import Remade, Situation, diagnose
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.trials import Trial
from npu_layout.diagnosis.verdicts import figure_wording, wording
from npu_layout.diagnosis.verdicts.verdict import Judgement, judge
from tests.support.boards import SHAPE, Board, same, spec_as
from tests.support.endings import ending, smooth, verdict


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_outputs_that_do_not_decide_have_no_cause(board: Board) -> None:
    flat = board.verdict(board.recording(None, board.changed(lambda y: 0 * y)))
    assert flat.verdict == "mismatch" and "returned 0 everywhere and for every frame" in flat.why
    floats = spec_as(board, dtype="float32", quantization=None)
    zeros = [{"maps": np.full(floats.size, -0.0, np.float32)} for _ in board.inputs]
    minus = board.verdict(board.recording(floats, zeros))
    assert minus.verdict == "mismatch" and "returned 0 everywhere and for every frame" in minus.why
    frozen = board.verdict(board.recording(None, board.packed(board.spec)[:1] * 8))
    assert frozen.verdict == "mismatch" and "the same values for every frame" in frozen.why
    repeated = nl.Recording({"maps": board.spec}, [({"image": board.inputs[0]}, board.packed(board.spec)[0])] * 3)
    assert board.verdict(repeated).verdict == "match"
    other = Board(seed=7)
    unrelated = board.verdict(board.recording(None, other.packed(board.spec)))
    assert unrelated.verdict in ("mismatch", "ambiguous"), str(unrelated)
    one = Board(frames=1)
    assert one.verdict(one.recording()).verdict == "match"
    nhwc = one.verdict(one.recording(spec_as(one, "NCHW"), one.packed(spec_as(one, "NHWC"))))
    assert nhwc.verdict == "layout" and nhwc.fix.layout == nl.Layout("NHWC"), str(nhwc)  # 2,736 values prove it


def test_who_gets_no_cause_reads_how_to_find_the_layer(board: Board) -> None:
    noise = np.random.default_rng(0).normal(size=(len(board.inputs), *SHAPE)).astype(np.float32)
    found = board.verdict(board.recording(None, [{"maps": board.spec.pack(x)} for x in noise]))
    assert found.verdict == "mismatch" and found.fix is None
    assert (
        "No known cause explains the difference." in found.why and "`npu-layout compare` finds the first" in found.why
    )


def test_the_advice_of_a_judgement_is_a_field_of_its_own() -> None:
    """No sentence has to be looked for in another."""
    found = Judgement("layout", 1, "It is so.", "Do this.")
    assert found.why == "It is so. Do this." and found.noted("By the way.").why == "It is so. Do this. By the way."
    refuted = found.noted("By the way.").refuted("It is not.")
    assert (refuted.verdict, refuted.fix) == ("mismatch", None)
    assert refuted.why == "It is not. It is so. Do this. By the way."
    assert Judgement("match", None, "It is so.").why == "It is so."


@pytest.mark.parametrize("scales", [True, False])
def test_what_explains_less_than_scales_of_constants_is_not_named_instead(scales: bool) -> None:
    """Two channels are constant, and off: scales of channels explain that best, but any scale does."""
    rng = np.random.default_rng(0)
    shape = (1, 4, 12, 12)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(4)]
    for x in model:
        x[:, 2:] = [[[[3.0]], [[5.0]]]]
    spec = nl.TensorSpec(
        shape, "NCHW", "int8", quantization=nl.Quantization(np.full(4, 0.05), np.zeros(4, int), axis=1)
    )
    true = spec.replace(quantization=nl.Quantization(np.array([0.05, 0.05, 0.1, 0.1]), np.zeros(4, int), axis=1))
    noise = [0.2 * rng.standard_normal(shape) * (np.arange(4) < 2).reshape(1, 4, 1, 1) for _ in model]
    device = [true.pack((x + e).astype(np.float32)) for x, e in zip(model, noise)]
    found = Evidence(spec, device, model, (), 1)
    codes, left = found.read_as(true, found.wanted)
    constant = found.samples.channel >= 2
    of_scales = Trial("quantization", "", true, codes, left, True, true, parameters=2)
    less = left + 8 * constant * rng.standard_normal(left.shape)
    other = Trial("preprocessing", "gamma", {"color": "BGR"}, codes, less, True, spec)
    trials = [found.as_declared(), other, *([of_scales] if scales else [])]
    assert judge(found, found.rank(trials), False, None).verdict == ("mismatch" if scales else "preprocessing")


@pytest.mark.parametrize("small", [2, 4])
def test_a_match_says_of_which_channels_it_proves_nothing(small: int) -> None:
    """If these are half of them: they vary by less than a step, as scores that share the scale of boxes do."""
    shape = (1, 6, 20, 20)
    sizes = np.where(np.arange(6) < 6 - small, 1, 1e-3).reshape(1, 6, 1, 1)
    frames = [(x * sizes).astype(np.float32) for x in smooth(shape)]
    output = verdict(ending(shape), frames, lambda x, y: y, 60, "int8")
    assert output.verdict == "match"
    assert ("so that this match proves nothing of them" in output.why) == (small == 4), output.why
    if small == 4:
        assert "4 of 6 channels (2, 3, 4, 5) vary" in output.why
        assert "as 2 outputs of the graph (0 to 1 and 2 to 5)" in output.why


@pytest.mark.parametrize("shape", [(1, 300), (1, 300, 1, 1)])
def test_a_match_says_nothing_of_classes_that_no_frame_shows(shape: tuple[int, ...]) -> None:
    """Most probabilities of a classifier are less than a step in a few frames, and have the scale of the others."""
    rng = np.random.default_rng(0)
    frames = [(6 * rng.normal(size=shape)).astype(np.float32) for _ in range(8)]
    output = verdict(ending(shape, "Softmax", axis=1), frames, lambda x, y: y, 50, "uint8")
    assert output.verdict == "match" and "proves nothing" not in output.why, output.why


def test_two_values_of_one_frame_name_no_scale() -> None:
    """A line goes through any two. Of many frames that are unlike, they do."""
    rng, spec = np.random.default_rng(0), nl.TensorSpec((1, 2), "NC", "uint8", quantization=nl.Quantization(1 / 255))
    for frames, expected in ((1, "ambiguous"), (40, "quantization")):
        model = [np.array([[p, 1 - p]], np.float32) for p in rng.uniform(0.05, 0.45, frames)]
        device = [spec.pack(np.float32(2) * x) for x in model]
        found = Evidence(spec, device, model, (), 1)
        situation = Situation("y", range(frames), {"y": model}, {"y": spec}, ())
        judgement = diagnose(found, situation, False, None)[1]
        assert judgement.verdict == expected, judgement.why
        if frames == 1:
            assert "proves nothing. Record more frames, unlike each other." in judgement.why, judgement.why
            assert "erhaps" not in judgement.why and "robably" not in judgement.why


def test_rewording_changes_no_verdict(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a fix, not a picture: every sentence is replaced, and nothing else changes."""
    two = Board(outputs=("a", "b"))
    twice = [{"a": two.spec.pack(x["b"]), "b": two.spec.pack(x["b"])} for x in two.answers]
    recordings = [
        (two.recording(None, twice), two.engine),
        (board.recording(None, board.fed(lambda x: x[:, ::-1].copy())), board.engine),
        (board.recording(None, board.changed(lambda y: 0 * y)), board.engine),
        (board.recording(spec_as(board, "NCHW"), board.packed(spec_as(board, "NHWC"))), board.engine),
    ]
    before = [nl.validate(*pair) for pair in recordings]
    words = dict.fromkeys(wording.CAUSES, wording.CauseWords("W", "Z", lambda _: "Y"))
    monkeypatch.setattr(wording, "CAUSES", words)
    for room in (wording, figure_wording):
        for name, value in vars(room).items():
            if callable(value) and getattr(value, "__module__", "") == room.__name__ and not name.startswith("_"):
                monkeypatch.setattr(room, name, lambda *_: "X")
    for one, other in zip(before, [nl.validate(*pair) for pair in recordings]):
        for a, b in zip(one.outputs.values(), other.outputs.values()):
            assert (a.verdict, a.fix, a.figures) == (b.verdict, b.fix, b.figures) and a.why != b.why
            assert list(a.exhibit.answers) == list(b.exhibit.answers)


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_two_causes_of_the_same_values_are_both_named(noise: float) -> None:
    """A model that returns its image returns it in BGR if it is fed so, and if the device exchanges the channels."""
    rng, shape = np.random.default_rng(0), (1, 3, 1, 3)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(24)]
    spec = nl.TensorSpec(shape, "NCHW", "float32")

    def judged(order: list[int]) -> nl.OutputReport:
        device = [(x[:, order] + noise * rng.standard_normal(shape)).astype(np.float32) for x in model]
        frames = [({"x": x}, {"y": spec.pack(y)}) for x, y in zip(model, device)]
        return nl.validate(nl.Recording({"y": spec}, frames), same(shape)).outputs["y"]

    found = judged([2, 1, 0])
    assert found.verdict == "ambiguous" and "BGR" in found.why and "in other places" in found.why, str(found)
    assert judged([1, 0, 2]).verdict == "channel_order" and judged([0, 1, 2]).verdict == "match"


def with_letters(rng: np.random.Generator) -> tuple[Evidence, np.ndarray]:
    """Six frames of one background, each with letters of its own, and the letters at the samples.

    The model has neither.
    """
    shape = (1, 4, 20, 20)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(6)]
    background = rng.standard_normal(shape)
    letters = np.zeros((6, 1600))
    for row in letters:
        row[rng.choice(1600, 30, replace=False)] = 2 * rng.choice([-1, 1], 30)
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    buffers = [spec.pack((background + x.reshape(shape)).astype(np.float32)) for x in letters]
    evidence = Evidence(spec, buffers, model, (), 1)
    return evidence, np.stack([evidence.samples.of(x.reshape(shape)) for x in letters])


@pytest.mark.parametrize(("left_by_layout", "verdict"), [(0.45, "mismatch"), (0.2, "layout")])
def test_what_explains_less_than_a_refused_input_is_not_named(left_by_layout: float, verdict: str) -> None:
    """The input explains what all frames have in common, 11 dB, and nothing of the letters in which they differ."""
    rng = np.random.default_rng(0)
    evidence, of_letters = with_letters(rng)
    noise = left_by_layout * rng.standard_normal(evidence.codes.shape)
    trials = [
        evidence.as_declared(),
        evidence.tried("preprocessing", "an input", of_letters, {})._replace(of_input=True),
        evidence.tried("layout", "a layout", noise, evidence.spec),
    ]
    assert judge(evidence, evidence.rank(trials[:2]), False, None).verdict == "mismatch"
    assert judge(evidence, evidence.rank(trials), False, None).verdict == verdict


@pytest.mark.parametrize(("error", "verdict"), [(0.3, "mismatch"), (0.15, "preprocessing")])
def test_an_input_that_explains_no_more_than_a_refused_one_is_not_named(error: float, verdict: str) -> None:
    """The first is refused, for it has nothing of the letters; what the second has of them must explain more."""
    rng = np.random.default_rng(0)
    evidence, of_letters = with_letters(rng)
    noise = error * rng.standard_normal(evidence.codes.shape)
    trials = [evidence.as_declared()] + [
        evidence.tried("preprocessing", text, left, {"color": text})._replace(of_input=True)
        for text, left in (("RGB", of_letters), ("BGR", noise))
    ]
    assert judge(evidence, evidence.rank(trials[::2]), False, None).verdict == "preprocessing"
    assert judge(evidence, evidence.rank(trials), False, None).verdict == verdict


@pytest.mark.parametrize(("share", "verdict"), [(0.01, "ambiguous"), (0.2, "preprocessing")])
def test_inputs_that_differ_by_less_than_the_noise_are_not_decided(share: float, verdict: str) -> None:
    """A network that rounds alike leans to one of two inputs: what decides is how much they differ."""
    rng, shape = np.random.default_rng(0), (1, 4, 20, 20)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(6)]
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    buffers = [spec.pack(rng.standard_normal(shape).astype(np.float32)) for _ in model]
    evidence = Evidence(spec, buffers, model, (), 1)
    noise, between = 0.1 * rng.standard_normal((2, *evidence.codes.shape))
    trials = [evidence.as_declared()] + [
        evidence.tried("preprocessing", text, left, {"color": text})._replace(of_input=True)
        for text, left in (("RGB", noise), ("BGR", noise + np.sqrt(share) * between))
    ]
    found = judge(evidence, evidence.rank(trials), False, None)
    assert found.verdict == verdict and (found.fix is None) == (verdict == "ambiguous"), found
    assert found.fix is None or found.fix["color"] == "RGB"


@pytest.mark.parametrize("curved", [True, False])
def test_another_order_with_a_scale_that_is_no_line(curved: bool) -> None:
    """A line through a sigmoid explains 11 dB and more in the right order, but its numbers are no quantization."""
    rng, shape = np.random.default_rng(3), (1, 6, 12, 20)
    model = [(2 * rng.standard_normal(shape)).astype(np.float32) for _ in range(3)]
    values = [1 / (1 + np.exp(-x)) if curved else x / 25 + 0.5 for x in model]
    true = nl.TensorSpec(shape, "NHWC", "int16", quantization=nl.Quantization(1 / 30000, 0))
    wrong = nl.TensorSpec(shape, "NCHW", "int16", quantization=nl.Quantization(1.0, 0), name="y")
    frames = [({"x": x}, {"y": true.pack(np.asarray(y, np.float32))}) for x, y in zip(model, values)]
    output = nl.validate(nl.Recording({"y": wrong}, frames), same(shape)).outputs["y"]
    if curved:
        assert output.verdict == "mismatch" and output.fix is None, output.why
        assert "another order and scale (layout NHWC" in output.why and "depends on the value" in output.why, output.why
    else:
        assert output.verdict == "layout" and output.fix.layout == nl.Layout("NHWC"), output.why
        read = output.fix.unpack(frames[0][1]["y"])
        assert np.abs(read - model[0]).max() < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_of_two_inputs_that_saturate_the_softer_one_is_not_named(seed: int) -> None:
    """Pixels of 0 to 255 where a division was meant: half the std agrees better, as it errs less near zero."""
    rng, shape = np.random.default_rng(seed), (1, 6, 12, 12)
    spec = nl.TensorSpec(shape, "NCHW", "int8", quantization=nl.Quantization(0.03))
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(2)]
    seen = [rng.standard_normal(shape).astype(np.float32) for _ in range(2)]
    device = [spec.pack((58 * (x + 0.1 * rng.standard_normal(shape))).astype(np.float32)) for x in seen]
    found = Evidence(spec, device, model, (), 1)
    remade = [
        Remade(f"std={std}", {"std": std}, {k: 58 / std * x for k, x in enumerate(seen)}, "preprocessing")
        for std in (1, 2)
    ]
    judgement = diagnose(found, Situation("y", range(2), {"y": model}, {"y": spec}, remade), False, None)[1]
    assert judgement.verdict == "ambiguous" or judgement.fix == {"std": 1}, judgement.why


@pytest.mark.parametrize(("db", "verdict"), [(13.0, "ambiguous"), (22.0, "preprocessing")])
def test_an_input_that_a_noisy_network_leans_to_is_not_decided(db: float, verdict: str) -> None:
    """Where both leave more than a sound device does, what is true may explain 2 dB less than another one."""
    rng = np.random.default_rng(3)
    shape = (1, 6, 12, 12)
    declared, true, other = ([rng.standard_normal(shape) for _ in range(4)] for _ in range(3))
    other = [0.98 * x + 0.2 * y for x, y in zip(true, other)]
    left = 10 ** (-db / 20)
    device = [x + left * rng.standard_normal(shape) + 0.85 * (y - x) for x, y in zip(true, other)]
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    references = [x.astype(np.float32) for x in declared]
    found = Evidence(spec, [y.astype(np.float32).ravel() for y in device], references, (), 1)
    ways = {"one": true, "another": other} if db < 15 else {"one": true}
    remade = [
        Remade(text, {"color": text}, {k: y.astype(np.float32) for k, y in enumerate(some)})
        for text, some in ways.items()
    ]
    situation = Situation("y", range(4), {"y": references}, {"y": spec}, remade)
    judgement = diagnose(found, situation, False, None)[1]
    assert judgement.verdict == verdict, judgement.why


@pytest.mark.parametrize(("left", "verdict"), [(0.28, "ambiguous"), (0.35, "preprocessing")])
def test_an_input_of_some_frames_is_not_named_beside_one_that_explains_more(left: float, verdict: str) -> None:
    """It was tried on frames of which the declared input explains little; the other one gains less, but of all."""
    rng, shape = np.random.default_rng(1), (1, 6, 12, 12)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(8)]
    device = [(y + 0.4 * rng.standard_normal(shape)).astype(np.float32) for y in model]
    found = Evidence(nl.TensorSpec(shape, "NCHW", "float32"), [y.ravel() for y in device], model, (), 1)
    noise = rng.standard_normal((2, *found.codes.shape))
    some = found.tried("preprocessing", "of some", 0.3 * noise[0, :3], {"color": "RGB"}, [0, 1, 2])
    every = found.tried("preprocessing", "of all", left * noise[1], {"color": "BGR"})
    trials = [found.as_declared(), *(t._replace(of_input=True) for t in (some, every))]
    gains = {"of some": 6.0, "of all": 2.0}
    ranking = [c._replace(gain=gains.get(c.text, 0.0)) for c in found.rank(trials)]
    assert judge(found, ranking, False, None).verdict == verdict


@pytest.mark.parametrize(("left", "verdict"), [(0.4, "ambiguous"), (0.65, "quantization")])
def test_fitted_numbers_are_not_named_beside_an_input_that_explains_nearly_as_much(left: float, verdict: str) -> None:
    """The input gains too little to be a cause, and no numbers of it were fitted."""
    rng, shape = np.random.default_rng(2), (1, 4, 20, 20)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(6)]
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    found = Evidence(spec, [(0.5 * x).astype(np.float32).ravel() for x in model], model, (), 1)
    noise = 0.5 * rng.standard_normal(found.codes.shape)
    line = found.tried("quantization", "0.5 times", 0.3 * noise)._replace(parameters=2, line=(0.5, 0.0))
    other = found.tried("preprocessing", "an input", left * noise, {"color": "BGR"})._replace(of_input=True)
    ranking = [c._replace(gain=3.5) if c.of_input else c for c in found.rank([found.as_declared(), line, other])]
    assert judge(found, ranking, False, None).verdict == verdict


@pytest.mark.parametrize(("frames", "verdict"), [(1, "ambiguous"), (12, "preprocessing")])
@pytest.mark.parametrize("cause", ["preprocessing", "geometry"])
def test_an_input_is_not_named_beside_a_refused_one_that_the_data_do_not_tell_from_it(
    frames: int, verdict: str, cause: str
) -> None:
    """Both have less contrast, as a device that saturates has: what speaks against one does so against the other."""
    rng, shape = np.random.default_rng(4), (1, 2, 12, 12)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(frames)]
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    buffers = [(x + 0.3 * rng.standard_normal(shape)).astype(np.float32).ravel() for x in model]
    evidence = Evidence(spec, buffers, model, (), 1)
    noise, between = 0.13 * rng.standard_normal((2, *evidence.codes.shape))
    trials = [evidence.as_declared()] + [
        evidence.tried(kind, text, left, {"color": text})._replace(of_input=True)
        for kind, text, left in (("preprocessing", "RGB", noise), (cause, "BGR", noise + 0.3 * between))
    ]
    ranking = [c._replace(gain={"RGB": 7.5, "BGR": 3.1}.get(c.text, 0.0)) for c in evidence.rank(trials)]
    ranking = [c._replace(score=17.0 + c.gain / 3) for c in ranking]
    assert judge(evidence, ranking, False, None).verdict == verdict


@pytest.mark.parametrize("tried", [1, 2])
def test_an_input_of_some_frames_is_compared_with_the_declared_one_of_these(tried: int) -> None:
    """The others, of which the declared input explains all, say nothing of it."""
    rng, shape = np.random.default_rng(1), (1, 4, 24, 24)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(3)]
    noise = [0.6 * (k < tried) * rng.standard_normal(shape) for k in range(3)]
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    found = Evidence(spec, [(y + e).astype(np.float32).ravel() for y, e in zip(model, noise)], model, (), 1)
    left = 0.1 * found.left[:tried]
    some = found.tried("preprocessing", "BGR", left, {"color": "BGR"}, range(tried))._replace(of_input=True)
    judgement = judge(found, found.rank([found.as_declared(), some]), False, None)
    before = found.score(found.as_declared(range(tried)))
    assert judgement.verdict == "preprocessing" and f"as declared, to {before:.1f} dB" in judgement.agreement
    assert f"of the {'one frame that was' if tried == 1 else '2 frames that were'} compared" in judgement.agreement


@pytest.mark.parametrize("lead", [0.999, 1.001])
@pytest.mark.parametrize(("bend", "share", "verdict"), [(0.01, 0, ""), (0.01, 1, ""), (0.1, 1, "preprocessing")])
def test_an_input_that_acts_as_a_declared_scale_is_told_from_it_by_the_bend(
    bend: float, share: int, verdict: str, lead: float
) -> None:
    """Half of the pixel values make half of all values. The scale is one of several, and the input of many."""
    rng = np.random.default_rng(0)
    references = [rng.normal(size=(1, 4, 200)) for _ in range(5)]
    bends = [bend * (r * r - 1) for r in references]
    made = [2 * r + share * b + 0.1 * rng.normal(size=r.shape) for r, b in zip(references, bends)]
    spec = nl.TensorSpec((1, 4, 200), "NCW", "float32")
    evidence = Evidence(spec, [x.astype(np.float32) for x in made], references, (), 1)
    bent = np.stack([evidence.samples.of(b) for b in bends])
    left = evidence.codes - 2 * evidence.wanted
    scale = Trial("quantization", "twice", spec, evidence.codes, left * lead, False, spec, choices=np.log(32))
    bright = Trial("preprocessing", "brighter", None, evidence.codes, left - bent, False, spec, of_input=True)
    found = judge(evidence, evidence.rank([evidence.as_declared(), scale, bright]), False, None)
    assert found.verdict == (verdict or "ambiguous"), found
