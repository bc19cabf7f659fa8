"""Outputs that answer another frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout.diagnosis import Evidence, ExplainedRow, Remade, Trial, distinct, whole_cause
from npu_layout.diagnosis.computed.answers import shuffled_frames
from tests.support.boards import PRE, Board, network, same
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_wrong_input(board: Board) -> None:
    packed = board.packed(board.spec)
    late = board.verdict(board.recording(None, packed[:1] + packed[:-1]))
    assert (late.verdict, late.fix) == ("wrong_input", -1), str(late)
    early = board.verdict(board.recording(None, packed[2:] + packed[:2]))
    assert (early.verdict, early.fix) == ("wrong_input", 2), str(early)
    shuffled = board.verdict(board.recording(None, [packed[i] for i in (3, 0, 7, 2, 6, 1, 4, 5)]))
    assert (shuffled.verdict, shuffled.fix) == ("wrong_input", None), str(shuffled)


@pytest.mark.parametrize("frames", [16, 32])
@pytest.mark.parametrize("noise", [0.03, 0.1, 0.18])
def test_one_noisy_value_a_frame_answers_its_own_frame(noise: float, frames: int) -> None:
    """The nearest of many predictions is near because there are many: that proves nothing."""
    model = onnx.load_from_string(network())
    model.graph.node[-1].output[0] = "all"
    model.graph.node.append(helper.make_node("ReduceMean", ["all"], ["mean"], axes=[1, 2, 3]))
    model.graph.node.append(helper.make_node("Reshape", ["mean", "shape"], ["maps"]))
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 1]), "shape"))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("maps", TensorProto.FLOAT, (1, 1)))
    engine = nl.OnnxRuntimeEngine(model.SerializeToString(), threads=1)
    many, spec = Board(frames), nl.TensorSpec((1, 1), "NC", "float32")
    answers = [engine.infer(x)["maps"] for x in many.inputs]

    def verdict(values: list[np.ndarray]) -> nl.OutputReport:
        rows = zip(many.inputs, many.frames, values)
        pairs = [({"image": x, "frame": f}, {"maps": spec.pack(y)}) for x, f, y in rows]
        return nl.validate(nl.Recording({"maps": spec}, pairs, {"preprocess": PRE}), engine).outputs["maps"]

    for seed in (0, 1, 13, 24):  # with 32 frames the last two were taken for other inputs
        rng = np.random.default_rng(seed)
        noisy = [(a + noise * np.std(answers) * rng.standard_normal(a.shape)).astype(np.float32) for a in answers]
        assert verdict(noisy).verdict == "match"
    assert verdict([answers[k] for k in np.random.default_rng(0).permutation(frames)]).verdict == "wrong_input"


@pytest.mark.parametrize("seed", range(6))
def test_two_classes_exchanged_are_no_exchanged_frames(seed: int) -> None:
    """Each frame is like another one with the other class; these are few."""
    rng, spec = np.random.default_rng(seed), nl.TensorSpec((1, 4), "NC", "float32")
    model = [
        (0.9 * np.eye(4)[[k]] + 0.1 * rng.dirichlet(np.ones(4))).astype(np.float32) for k in (0, 1, 0, 0, 2, 1, 0, 3)
    ]
    noisy = [(x + rng.normal(0, 0.01, x.shape)).astype(np.float32) for x in model]
    for device, found in (([x[:, [1, 0, 2, 3]] for x in noisy], "channel_order"), (noisy, "match")):
        frames = [({"x": x}, {"y": np.ascontiguousarray(y)}) for x, y in zip(model, device)]
        output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 4))).outputs["y"]
        assert output.verdict in (found, "ambiguous", "mismatch") and (found != "match" or output.verdict == found)


@pytest.mark.parametrize("seed", range(6))
def test_three_single_values_show_no_exchange(seed: int) -> None:
    rng, spec = np.random.default_rng(seed), nl.TensorSpec((1, 1), "NC", "uint8", quantization=nl.Quantization(0.01, 0))
    model = [rng.uniform(0.5, 1.5, (1, 1)).astype(np.float32) for _ in range(3)]
    for order in ((0, 1, 2), (1, 0, 2)):
        noisy = [(model[k] + rng.normal(0, 0.1)).astype(np.float32) for k in order]
        frames = [({"x": x}, {"y": spec.pack(y)}) for x, y in zip(model, noisy)]
        output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 1))).outputs["y"]
        assert output.verdict in ("match", "ambiguous", "mismatch"), str(output)


@pytest.mark.parametrize("seed", [900056, 900971])
def test_the_nearest_output_of_single_values_is_no_exchange(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes that noise makes equal to another frame's fit it exactly; an exchange uses each output once."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import false_alarms

    verdict, words = false_alarms.draw(seed)
    assert verdict in ("match", "ambiguous", "mismatch"), words


def test_ways_with_the_same_answers_are_one() -> None:
    """Of those that share all tensors the first; ways without any are kept, because they were tried, too."""
    a, b, same_as_a = np.zeros(3), np.ones(3), np.zeros(3)
    ways = {k: Remade(k, None, t) for k, t in (("p", {0: a, 1: b}), ("q", {0: a, 1: b}), ("r", {0: a}), ("s", {}))}
    ways.update(t=Remade("t", None, {0: same_as_a, 1: b}), u=Remade("u", None, {}))
    assert [*distinct(ways)] == ["p", "r", "s", "t", "u"]
    assert distinct(ways)["p"].text == "p"


def test_ways_with_the_same_answers_and_other_fixes_are_all_named() -> None:
    """What is clamped alike in every frame may have been made in any of these ways."""
    a = {0: np.zeros(3)}
    fixes = {
        "p": {"std": [1.0]},
        "q": {"std": [1.0]},
        "r": {"std": [2.0]},
        "s": None,
        "t": {"std": [3.0]},
        "u": {"std": [4.0]},
    }
    found = distinct({k: Remade(k, fix, a) for k, fix in fixes.items()})
    assert [*found] == ["p"] and found["p"].fix == {"std": [1.0]}
    assert found["p"].text == "p or r or t (equal in the frames that were tried)"


def _evidence(shape: tuple[int, ...], frames: int, noise: float) -> tuple[Evidence, list[np.ndarray]]:
    """Outputs of a device without a fault, with noise of a share of their deviation, and the model's."""
    rng = np.random.default_rng(0)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(frames)]
    spec = nl.TensorSpec(shape, "NC" if len(shape) == 2 else "NCHW", "float32")
    buffers = [spec.pack((y + noise * rng.standard_normal(shape)).astype(np.float32)) for y in model]
    return Evidence(spec, buffers, model, (), 1), model


def far_less(evidence: Evidence, row: int, answers: Mapping[Any, np.ndarray], best: Trial | None = None) -> set[Any]:
    """Return the keys of the outputs that are far from another cause of a frame."""
    row_of = ExplainedRow(evidence, row, best)
    for key, answer in answers.items():
        row_of.add(key, answer)
    return {key for key, answer in answers.items() if row_of.is_far(key, answer, row_of.best(answers))}


@pytest.mark.parametrize("shape", [(1, 200), (1, 6, 9, 9)])
@pytest.mark.parametrize("frames", [4, 24])
def test_what_explains_far_less_of_a_frame(shape: tuple[int, ...], frames: int) -> None:
    """A vector of one frame does not vary about its channels' means, and says as much."""
    evidence, model = _evidence(shape, frames, 0.1)
    rng = np.random.default_rng(1)
    unit = rng.standard_normal(shape).astype(np.float32)
    answers = {share: model[1] + share * unit for share in (0.0, 0.05, 0.1, 0.4, 3.0)}
    assert far_less(evidence, 1, answers) == {0.4, 3.0}
    assert far_less(evidence, 1, {"other": model[0]}) == {"other"}


@pytest.mark.parametrize("frames", [4, 24])
def test_a_few_values_are_far_off_by_chance(frames: int) -> None:
    """As 6 dB in one frame of two values are: nothing is left."""
    evidence, model = _evidence((1, 2), 24, 0.1)
    assert far_less(evidence, 1, {"nearly": model[1] + 0.3}) == set()


def test_what_explains_far_less_than_another_cause() -> None:
    """Of values read with a wrong scale nothing is known, until another reading explains them."""
    evidence, model = _evidence((1, 6, 9, 9), 4, 0.05)
    scaled = [y * 0.1 for y in model]
    wrong = Evidence(evidence.spec, evidence.buffers, scaled, (), 1)
    answers = {"far": scaled[2][..., ::-1], "near": model[2] + 0.05}
    assert far_less(wrong, 0, {"far": answers["far"]}) == set(), "it explains as little as what was declared"
    left = wrong.codes - 10 * wrong.wanted
    right = Trial("quantization", "ten times", None, wrong.codes, left, False, parameters=1)
    assert whole_cause(wrong, [wrong.as_declared(), right]) is right
    assert far_less(wrong, 2, answers, right) == {"far"}
    assert far_less(wrong, 2, answers) == {"far"}, "the near one explains as much as a cause does"


def test_what_is_fitted_or_chosen_is_no_whole_cause() -> None:
    evidence, _ = _evidence((1, 6, 9, 9), 4, 0.05)
    exact = evidence.as_declared()._replace(left=0 * evidence.left)
    assert whole_cause(evidence, [exact]) is exact
    for less in ({"parameters": 12}, {"choices": 40.0}, {"rows": [0, 1]}, {"places": 81}, {"left": evidence.codes}):
        assert whole_cause(evidence, [exact._replace(**less)]) is None


def test_an_output_of_another_shape_is_explained_by_no_input() -> None:
    _, model = _evidence((1, 6, 9, 9), 4, 0.05)
    spec = nl.TensorSpec((1, 9, 9, 6), "NCHW", "float32")
    evidence = Evidence(spec, [spec.pack(y.reshape(spec.shape)) for y in model], model, (), 1)
    assert far_less(evidence, 0, {"any": model[0]}) == {"any"}


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_two_outputs_with_the_same_values_are_not_in_doubt(noise: float) -> None:
    """As if a graph hands out one tensor by two names: whichever is which, the values are right."""
    rng, shape = np.random.default_rng(3), (1, 6, 8, 8)
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xab"]
    nodes = [helper.make_node("Identity", ["x"], [name]) for name in "ab"]
    graph = helper.make_graph(nodes, "twice", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    scales = {"a": 0.03, "b": 0.04}
    specs = {k: nl.TensorSpec(shape, "NCHW", "int8", quantization=nl.Quantization(scales[k], 0)) for k in "ab"}
    frames = []
    for _ in range(4):
        x = rng.standard_normal(shape).astype(np.float32)
        y = (x + noise * rng.standard_normal(shape)).astype(np.float32)
        frames.append(({"x": x}, {k: specs[k].pack(y) for k in "ab"}))
    report = nl.validate(nl.Recording({**specs, "b": specs["a"]}, [(i, {**o, "b": o["a"]}) for i, o in frames]), model)
    assert report.verdict == "match", str(report)
    assert nl.validate(nl.Recording(specs, frames), model).verdict == "match"
    swapped = nl.validate(nl.Recording(specs, [(i, {"a": o["b"], "b": o["a"]}) for i, o in frames]), model)
    assert {o.verdict for o in swapped.outputs.values()} <= {"quantization", "output_order", "ambiguous"}, str(swapped)
    for output in swapped.outputs.values():
        assert output.verdict != "quantization" or output.fix.quantization.scale == pytest.approx(
            scales[{"a": "b", "b": "a"}[output.name]], rel=0.02
        )


@pytest.mark.parametrize(("distinct_sources", "named"), [(3, False), (12, True)])
def test_a_few_outputs_that_stand_for_most_are_no_exchange(distinct_sources: int, named: bool) -> None:
    """Of frames that are alike, a device that errs is nearest to the same few ones."""
    rng, shape = np.random.default_rng(1), (1, 4, 12, 12)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(12)]
    chosen = [(5 * k + 3) % distinct_sources for k in range(12)]
    device = [(model[j] + rng.normal(0, 0.3, shape)).astype(np.float32).ravel() for j in chosen]
    found = Evidence(nl.TensorSpec(shape), device, model, (), 1)
    assert bool(list(shuffled_frames(found, range(12)))) == named
