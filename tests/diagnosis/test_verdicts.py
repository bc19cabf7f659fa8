"""The planted faults are what they say, the judge knows right from wrong, and validate is right about a few of each."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def matrix() -> Any:
    sys.path.insert(0, str(ROOT / "scripts"))
    import verdict_matrix

    yield verdict_matrix
    sys.path.remove(str(ROOT / "scripts"))


def first(matrix: Any, fault: str, *models: str) -> Any:
    """The first case of a fault that can be planted, in one of these models."""
    for case in matrix.cases.planted_cases(2):
        if case.fault == fault and (not models or case.model in models):
            try:
                return matrix.cases.build(case)
            except matrix.ports.NotApplicable:
                continue
    raise AssertionError(f"no case of {fault}")


def test_faults_of_every_class(matrix: Any) -> None:
    faults = matrix.cases.faults.FAULTS
    assert len({f.name for f in faults}) == len(faults) >= 25
    assert {f.cause for f in faults} == set(matrix.VERDICTS)
    assert len(matrix.models.NAMES) >= 8


@pytest.mark.parametrize("name", ["maps", "yolo", "yolo8", "segmentation", "classifier", "sparse", "gray", "folded"])
def test_outputs_depend_on_the_input(matrix: Any, name: str) -> None:
    models, cases, score = matrix.models, matrix.cases, matrix.cases.proof.score
    model = models.load(name)
    engine = models.engine(model.path)
    images = matrix.cases.pictures.stream(np.random.default_rng(3), "mixed", 6, model.shape[:1:-1])
    for output in model.outputs:
        reference = [engine.infer(cases.feed(model, i, model.preprocess))[output] for i in images]
        assert models.by_channel(reference).std(1).min() > 0.01
        quantised = models.engine(model.quantised)
        answers = [quantised.infer(cases.feed(model, i, model.preprocess))[output] for i in images]
        assert 12 < score(answers, reference) < 45  # real noise, and not more than a network stands
        assert score(reference[1:], reference[:-1]) < 4
        if name != "gray":
            turned = {**model.preprocess, "color": model.preprocess["color"][::-1]}
            assert score([engine.infer(cases.feed(model, i, turned))[output] for i in images], reference) < 5


@pytest.mark.parametrize("name", ["depth", "regions", "quarter", "anchors", "tokens", "face", "words"])
def test_trained_outputs_depend_on_the_input(matrix: Any, name: str) -> None:
    """Each network has learned: what it says of one picture is not what it says of the next, nor noise."""
    models, cases, score = matrix.models, matrix.cases, matrix.cases.proof.score
    model = models.load(name)
    assert name in models.TRAINED and len(models.TRAINED) == 7
    images = cases.pictures.stream(np.random.default_rng(3), models.KINDS[name].pictures, 6, model.shape[:1:-1])
    fed = [cases.feed(model, image, model.preprocess) for image in images]
    for output in model.outputs:
        said, rounded, other = (
            [models.engine(path).infer(x)[output] for x in fed] for path in (model.path, model.quantised, model.other)
        )
        assert models.by_channel(said).std(1).max() > 0.005
        assert 15 < score(rounded, said) < 45
        assert score(said[1:], said[:-1]) < 4 and score(other, said) < 4


def test_a_case_is_a_function_of_its_name(matrix: Any) -> None:
    one, two = (matrix.cases.build(matrix.Case.parse("bgr/maps/int8/20/4")) for _ in range(2))
    assert str(one.case) == "bgr/maps/int8/20/4" and one.recording.meta == two.recording.meta
    for a, b in zip(one.recording.frames, two.recording.frames):
        for side, other in zip(a, b):
            assert all(np.array_equal(side[k], other[k]) for k in side)


def answer(verdict: str, fix: Any, planted: Any) -> Any:
    said = SimpleNamespace(verdict=verdict, fix=fix, why="")
    return SimpleNamespace(outputs=dict.fromkeys(planted.truths, said))


def outcomes(matrix: Any, planted: Any, verdict: str, fix: Any = None) -> set[str]:
    judged = matrix.judge.judged(planted, answer(verdict, fix, planted))
    return {o.outcome for o in judged if planted.truths[o.output].planted}


def test_the_judge(matrix: Any) -> None:
    layout = first(matrix, "nhwc_as_nchw", "maps")
    truth = layout.truths["maps"].spec
    declared = layout.recording.specs["maps"]
    strided = nl.TensorSpec(
        truth.shape,
        "NCHW",
        truth.dtype,
        quantization=truth.quantization,
        storage_strides=(truth.size, 1, truth.shape[3] * truth.shape[1], truth.shape[1]),
    )
    assert outcomes(matrix, layout, "layout", truth) == outcomes(matrix, layout, "layout", strided) == {"right"}
    assert outcomes(matrix, layout, "layout", declared) == {"wrong fix"}
    assert outcomes(matrix, layout, "quantization", truth) == {"accused"}
    assert outcomes(matrix, layout, "mismatch") == {"refused"} and outcomes(matrix, layout, "match") == {"missed"}

    order = first(matrix, "channels_rolled", "maps")
    moved = order.truths["maps"].order
    assert outcomes(matrix, order, "channel_order", tuple(np.argsort(moved).tolist())) == {"right"}
    assert outcomes(matrix, order, "channel_order", tuple(moved)) == {"wrong fix"}

    swapped = first(matrix, "bgr_after", "segmentation")
    done = {k: swapped.done[k] for k in ("color", "mean", "std")}
    assert outcomes(matrix, swapped, "preprocessing", done) == {"right"}
    same = {**done, "mean": [m + 1e-3 for m in done["mean"]], "target": None}
    assert outcomes(matrix, swapped, "preprocessing", same) == {"right"}
    assert outcomes(matrix, swapped, "preprocessing", {**done, "color": "RGB"}) == {"wrong fix"}
    assert outcomes(matrix, swapped, "preprocessing", {"color": "BGR"}) == {"wrong fix"}

    late = first(matrix, "late_one", "maps")
    assert outcomes(matrix, late, "wrong_input", -1) == {"right"}
    assert outcomes(matrix, late, "wrong_input", 1) == outcomes(matrix, late, "wrong_input") == {"wrong fix"}

    names = first(matrix, "rotated", "twins")
    assert outcomes(matrix, names, "output_order", dict(names.names)) == {"right"}
    inputs = first(matrix, "inputs_exchanged", "pair")
    assert outcomes(matrix, inputs, "input_order", {"image": "second", "second": "image"}) == {"right"}
    assert outcomes(matrix, inputs, "input_order") == {"wrong fix"}
    constant = first(matrix, "constant_maps")
    assert outcomes(matrix, constant, "ambiguous") == {"allowed"} and outcomes(matrix, constant, "match") == {"right"}
    assert outcomes(matrix, constant, "layout", constant.truths["maps"].spec) == {"accused"}


def test_inputs_are_compared_as_the_device_sees_them(matrix: Any) -> None:
    """Pixels without a mean, and with one of half a pixel value: far apart if they are cut to -0.5 to 0.5."""
    planted = matrix.cases.build(matrix.Case("not_divided", "ssd", "int8", "qdq", 0))
    fix = {**planted.done, "mean": [0.0] * 3, "std": [1.0] * 3}
    for cut, expected in ((True, "wrong fix"), (False, "right")):
        truths = {name: truth._replace(cut=cut) for name, truth in planted.truths.items()}
        assert outcomes(matrix, planted._replace(truths=truths), "preprocessing", fix) == {expected}
    assert all(truth.cut for truth in planted.truths.values())
    noisy = matrix.cases.build(matrix.Case("not_divided", "ssd", "int8", "40", 0))
    assert not any(truth.cut for truth in noisy.truths.values())


def test_the_noise_of_a_quiet_channel_is_not_that_of_a_loud_one(matrix: Any) -> None:
    """Of few values, a channel has its share of the noise of all, by what it varies; of many, its own."""
    rng = np.random.default_rng(0)
    deviation = np.array([10.0, 10.0, 0.1])
    few, many = (0.1 * deviation[:, None] * rng.standard_normal((3, n)) for n in (6, 4000))
    few[2] = 0  # by chance
    noise = matrix.cases.proof.noise_of_channels(few, deviation)
    assert 0.004 < noise[2] < 0.02 and (noise[:2] > 0.4).all()
    np.testing.assert_allclose(matrix.cases.proof.noise_of_channels(many, deviation), 0.1 * deviation, rtol=0.1)
    same = matrix.cases.proof.noise_of_channels(few, np.zeros(3))  # of one frame nothing varies
    np.testing.assert_allclose(same[2], np.sqrt((few**2).mean()))


def failures(matrix: Any, chosen: Any) -> list[str]:
    return [f"{o.case} {o.output}: {o.verdict} ({o.outcome}) {o.says}" for o in chosen if o.outcome in matrix.FAILURES]


SOME = (
    "nhwc_as_nchw",
    "row_pitch_ignored",
    "scale_x2",
    "int8_as_uint8",
    "channels_reversed",
    "bgr",
    "stretched",
    "top_left",
    "border_black",
    "border_60",
    "border_0_and_gray",
    "exchanged_equal",
    "inputs_exchanged",
    "late_one",
    "input_sign",
    "input_mirrored",
    "input_gamma",
    "input_planes",
    "fed_white_balance",
    "fed_black",
    "fed_torn",
    "fed_contrast",
    "fed_text",
    "fed_mirrored_colours",
    "bgr_and_zero_point",
    "bgr_and_sigmoid",
    "late_and_zero_point",
    "mirrored_and_nhwc_as_nchw",
    "other_weights",
    "constant_maps",
    "one_frame_bgr",
)


def test_what_a_recording_cannot_show_may_be_refused(matrix: Any) -> None:
    """Few values that differ, frames that saturate, factors of single values; and what is not so is no excuse."""
    proof, rng = matrix.cases.proof, np.random.default_rng(0)
    few = np.zeros(5000)
    few[:8] = 1
    assert proof.telling(few) == pytest.approx(48) and proof.telling(rng.standard_normal(5000)) > 5000
    assert not proof.provable(6, 48) and proof.provable(12, 48) and proof.provable(4, 1000)
    assert not proof.provable(-3, 1e6) and not proof.provable(200, 0)
    frames = [np.full(9, k, np.int8) for k in (0, 0, 0, 1)]
    assert proof.alike(frames) and not proof.alike(frames[2:]) and not proof.alike(frames[:1])
    once = [np.eye(6, dtype=np.float32)[None, k] for k in range(6)]
    twice = [*once, *once, *once]
    assert proof.of_single_values(once) and not proof.of_single_values(twice)


def test_a_refusal_is_right_where_another_input_explains_as_much(matrix: Any) -> None:
    """Of a nearly blank picture nobody can say whether it was divided twice or cut off to whole numbers."""

    def rival(name: str) -> tuple[str, float, float]:
        planted = matrix.cases.build(matrix.Case.parse(name))
        output, truth = next(iter(planted.truths.items()))
        return (*planted.rival(output), truth.true_db)

    for name in ("doubled/regions/float32/15/0", "raw_bgr/face/float32/10/0"):
        other, db, true_db = rival(name)
        assert other != name.split("/")[0] and db > true_db - 0.5
    _, db, true_db = rival("mean_forgotten/segmentation/int8/qdq/0")
    assert db < true_db - 10


def test_columns_in_reverse_are_a_mirrored_row(matrix: Any) -> None:
    case = matrix.cases.Case.parse("channels_reversed/words/float32/40/2")
    truth = matrix.cases.build(case).truths["letters"]
    mirrored = SimpleNamespace(channel_axis=2, why="The maps are mirrored from left to right.")
    assert matrix.judge._is_mirrored(truth, mirrored)
    assert not matrix.judge._is_mirrored(truth, SimpleNamespace(channel_axis=1, why=mirrored.why))
    for why in ("upside down", "The input is mirrored from left to right."):
        assert not matrix.judge._is_mirrored(truth, SimpleNamespace(channel_axis=2, why=why))
    assert not matrix.judge._is_mirrored(truth._replace(order=None), mirrored)
    rolled = truth._replace(order=[*truth.order[1:], truth.order[0]])
    assert not matrix.judge._is_mirrored(rolled, mirrored)


def test_the_recorded_input_is_judged(matrix: Any) -> None:
    """An outcome of its own; a match, another cause, a refusal and none are told apart."""
    planted = first(matrix, "fed_white_balance", "maps")
    frame, given = (planted.recording.frames[0].inputs[name] for name in ("frame", "image"))
    declared = matrix.cases.feed(planted.model, frame, planted.done)
    assert np.abs(declared - given).max() > 0.05 * declared.std(), "what is recorded is not what was fed"
    say = SimpleNamespace
    for found, expected in (
        (say(verdict="preprocessing", fix=None, why="with another white balance (...)"), "right"),
        (say(verdict="preprocessing", fix={"color": "BGR"}, why="color='BGR'"), "accused"),
        (say(verdict="preprocessing", fix=None, why="and no known change explains that"), "refused"),
        (say(verdict="match", fix=None, why=""), "missed"),
        (None, "crashed"),
    ):
        report = say(inputs={} if found is None else {"image": found}, unchecked="")
        assert [o.outcome for o in matrix.judge.judged_input(planted, report)] == [expected]
    silent = first(matrix, "nhwc_as_nchw", "maps")
    recorded = "frame" in silent.recording.frames[0].inputs
    right = say(inputs={"image": say(verdict="match", fix=None, why="")})
    assert [o.outcome for o in matrix.judge.judged_input(silent, right)] == ["right"] * recorded


@pytest.mark.parametrize("fault", SOME)
def test_verdicts(matrix: Any, fault: str) -> None:
    found = matrix.answered(first(matrix, fault, "maps", "twins", "constant", "pair"))
    assert found and not failures(matrix, found), failures(matrix, found)


def test_std_forgotten_over_dim_pictures(matrix: Any) -> None:
    """Of a std of 256; pixels that were not divided by 255 make nearly the same input, and are no second cause."""
    case = matrix.Case.parse("std_forgotten/maps/float32/15/0")
    dim = matrix.cases.faults.BY_NAME[case.fault]._replace(brightness=0.12)
    found = matrix.answered(matrix.cases.build(case, dim))
    assert [o.outcome for o in found if o.verdict == "preprocessing"] == ["right"], failures(matrix, found)


@pytest.mark.parametrize(
    "name",
    [
        "shifted_1/twins/int16/10/1",  # columns, which an order of the channels resembles
        "channels_rolled/yolo8/int8/qdq/1",  # with scales of their own, seen as a shift along them
        "one_frame_channels_reversed/yolo8/float32/10/1",  # seen as rows in another order
        "frames_shuffled/gray/int16/15/1",  # two of them as far apart as those of a late device
        "stuck/pose/int16/20/0",  # one frame, which is near to a later one
        "late_and_zero_point_ignored/words/int8/40/0",  # near 0 and 1, seen as a sigmoid that is missing
    ],
)
def test_causes_that_resemble_another_one(matrix: Any, name: str) -> None:
    """Each of these recordings had a wrong cause or fix."""
    found = matrix.run(matrix.Case.parse(name))
    assert found and not [o for o in found if o.outcome in ("accused", "wrong fix")], found


def test_no_verdict_on_the_faultless(matrix: Any) -> None:
    found = [o for case in matrix.cases.faultless_cases(8, names=matrix.QUICK) for o in matrix.run(case)]
    assert len(found) >= 8
    of_inputs = [o for o in found if o.output == matrix.judge.INPUT]  # a frame that is not quite what was fed differs
    assert not [o for o in of_inputs if o.outcome in matrix.judge.FAILURES], of_inputs
    assert not [o for o in found if o.verdict != "match" and o not in of_inputs], found


@pytest.mark.slow
@pytest.mark.once
def test_the_figures_that_are_asked_for(matrix: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand recordings; `scripts/test --verdicts` runs all."""
    status = matrix.main(["--quick"])
    assert status == 0, capsys.readouterr().out
