"""The model runs again on other inputs, and only if that can explain something."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout.diagnosis import Evidence, Remade, whole_cause
from npu_layout.diagnosis.stored.readings import readings
from npu_layout.validation.border_search import searched
from npu_layout.validation.comparing import KeptRun, compare
from npu_layout.validation.reruns import rerun
from npu_layout.validation.tried_ways import Key, TriedWays
from tests.support import two_inputs
from tests.support.boards import PRE, SIDE, Board, network, picture

EYES = ("left", "middle", "right")


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_what_only_rounds_runs_the_model_once_a_frame(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    infer = board.engine.infer
    monkeypatch.setattr(board.engine, "infer", lambda x: runs.append(x) or infer(x))
    assert nl.validate(board.recording(), board.engine) and len(runs) == len(board.frames)
    assert not nl.validate(board.recording(None, board.changed(lambda y: y[:, ::-1])), board.engine)
    assert len(runs) > 10 * len(board.frames)


def test_an_output_whose_shape_depends_on_the_preprocessing() -> None:
    """As many values as are above a threshold: as many in each frame, and other ones of inputs made in other ways."""
    threshold = numpy_helper.from_array(np.array(0.5, np.float32), "threshold")
    flat = numpy_helper.from_array(np.array([-1], np.int64), "flat")
    nodes = [
        helper.make_node("Greater", ["x", "threshold"], ["above"]),
        helper.make_node("Reshape", ["above", "flat"], ["keep"]),
        helper.make_node("Compress", ["x", "keep"], ["found"]),
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[2], keepdims=0),
    ]
    shapes = {"x": [1, 3, 8, 8], "found": ["n"], "mean": [1, 3, 8]}
    ports = [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in shapes.items()]
    graph = helper.make_graph(nodes, "threshold", ports[:1], ports[1:], [threshold, flat])
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    rng = np.random.default_rng(0)
    given = [rng.permutation(np.linspace(-1, 1, 192, dtype=np.float32)).reshape(1, 3, 8, 8) for _ in range(8)]
    engine = nl.OnnxRuntimeEngine(model)
    frames = [({"x": x}, {k: v.reshape(-1) for k, v in engine.infer(x[:, ::-1].copy()).items()}) for x in given]
    specs = {"found": nl.TensorSpec((48,), "N", axes="N"), "mean": nl.TensorSpec((1, 3, 8), "NCW")}
    outputs = nl.validate(nl.Recording(specs, frames), model).outputs
    assert outputs["found"].verdict == "preprocessing" and outputs["mean"].verdict != "match", outputs


def test_answers_are_those_of_the_model_to_other_inputs(board: Board) -> None:
    """Each way has one record for all frames, whatever its words are."""
    recording = board.recording(None, board.changed(lambda y: y[:, ::-1]))
    remade, kept = remade_for(board, recording)
    assert len({one.way for one in remade}) == len(remade) > 10
    combined = ", and BGR instead of RGB", ", but for the border"
    single = [one for one in remade if not any(words in one.text for words in combined)]
    assert len(single) > 10 and all(len(one.answers) > len(kept) // 3 for one in single)
    flipped = next(one for one in remade if "swapped after" in one.text)
    for row, answer in flipped.answers.items():
        expected = board.engine.infer(kept[row].inputs["image"][:, ::-1].copy())["maps"]
        np.testing.assert_allclose(answer, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("vector", [False, True])
def test_two_changes_of_an_input(exchanged: bool, vector: bool) -> None:
    """Pixels as OpenCV reads them: both changes are named if both were made, and one alone if that explains as much."""
    engine, many, rng = _classifier() if vector else Board().engine, Board(24), np.random.default_rng(0)
    mean, std = (np.reshape(PRE[key], (1, 3, 1, 1)) for key in ("mean", "std"))
    pixels = [x * std + mean for x in many.inputs]
    fed = [np.ascontiguousarray(p[:, ::-1] if exchanged else p, np.float32) for p in pixels]
    answers = [engine.infer(x)["maps"] for x in fed]
    noisy = [(y + 0.05 * np.std(answers) * rng.standard_normal(y.shape)).astype(np.float32) for y in answers]
    spec = nl.TensorSpec(answers[0].shape, "NC" if vector else "NCHW", "float32")
    pairs = [({"image": x}, {"maps": spec.pack(y)}) for x, y in zip(many.inputs, noisy)]
    recording = nl.Recording({"maps": spec}, pairs, {"preprocess": PRE})
    found = nl.validate(recording, engine).outputs["maps"]
    assert found.verdict == "preprocessing", str(found)
    assert found.fix == {**PRE, "mean": [0.0] * 3, "std": [1.0] * 3, "color": "BGR" if exchanged else "RGB"}, str(found)
    remade, _ = _of(engine, recording)
    two = {one.text: len(one.answers) for one in remade if one.text.endswith(", and BGR instead of RGB")}
    assert (two.get("mean and std forgotten, and BGR instead of RGB", 0) > 0) == exchanged
    assert min(two.values(), default=0) == 0, "what explains nothing of the first two frames is left"


@pytest.mark.parametrize(("noise", "tried"), [(0.01, False), (0.1, True)])
@pytest.mark.parametrize("fault", [False, True])
def test_two_changes_are_tried_where_less_leaves_more_than_little(fault: bool, noise: float, tried: bool) -> None:
    """Of a sound board, or one whose output is read in another layout, of 40 dB; but not of 20 dB."""
    board, rng = Board(), np.random.default_rng(3)
    spec = nl.TensorSpec(board.spec.shape, "NHWC" if fault else "NCHW", "float32")
    answers = [of["maps"] for of in board.answers]
    noisy = [(y + noise * y.std() * rng.standard_normal(y.shape)).astype(np.float32) for y in answers]
    buffers = [{"maps": spec.pack(y)} for y in noisy]
    recording = board.recording(nl.TensorSpec(board.spec.shape, "NCHW", "float32"), buffers)
    pairing, kept = compare(recording, board.engine, False)
    (output,) = pairing.outputs
    references = [k.references["maps"] for k in kept]
    evidence = Evidence(output.spec, [k.outputs["maps"] for k in kept], references, (), output.channel_axis)
    cause = whole_cause(evidence, readings(evidence))
    assert (cause is not None) == fault
    (remade,) = rerun(board.engine, recording, kept, {"maps": evidence}, False, {"maps": cause}).values()
    both = [one for one in remade if one.text.endswith(", and BGR instead of RGB") and "mean and std" in one.text]
    assert bool(both) == tried and len(remade) > 30


def remade_for(board: Board, recording: nl.Recording) -> tuple[list[Remade], list[KeptRun]]:
    pairing, kept = compare(recording, board.engine, False)
    (output,) = pairing.outputs
    axis = output.channel_axis
    buffers = [k.outputs[output.name] for k in kept]
    evidence = {"maps": Evidence(output.spec, buffers, [k.references["maps"] for k in kept], (), axis)}
    (remade,) = rerun(board.engine, recording, kept, evidence, False).values()
    return remade, kept


def test_what_is_far_off_in_the_first_frame_is_left(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model runs once for it, and not for every frame; what comes near, or what is true, has all its answers."""
    rng = np.random.default_rng(5)
    noisy = board.changed(lambda y: (y + 0.1 * y.std() * rng.standard_normal(y.shape)).astype(np.float32))
    runs: list[Any] = []
    infer = board.engine.infer
    monkeypatch.setattr(board.engine, "infer", lambda x: runs.append(x) or infer(x))
    remade, kept = remade_for(board, board.recording(None, noisy))
    left = [one for one in remade if not one.answers]
    assert len(left) > len(remade) // 2 and len(runs) - len(kept) < 2 * len(remade) + 5 * (len(remade) - len(left))
    as_fed = board.fed(lambda x: np.ascontiguousarray(x[..., ::-1]))
    remade, kept = remade_for(board, board.recording(None, as_fed))
    mirrored = next(one for one in remade if "left to right" in one.text)
    assert len(mirrored.answers) == min(6, len(kept)) and (mirrored.cause, mirrored.fix) == ("geometry", None)


def test_what_is_far_off_is_dropped_as_soon_as_that_is_sure(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tensors of the first frame; the search goes on as if it had kept them all."""
    recording = board.recording(None, noise_of(board, 0.2))
    gives_up, asked = TriedWays.give_up, []

    def noted(tried: TriedWays, key: Key, row: int) -> bool:
        asked.append(gives_up(tried, key, row))
        return asked[-1]

    monkeypatch.setattr(TriedWays, "give_up", noted)
    early, _ = remade_for(board, recording)
    assert sum(asked) > len(asked) / 3 and not all(asked)
    monkeypatch.setattr(TriedWays, "give_up", lambda *_: False)
    late, _ = remade_for(board, recording)
    assert [one._replace(answers={}) for one in early] == [one._replace(answers={}) for one in late]
    for one, other in zip(early, late):
        assert one.answers.keys() == other.answers.keys()
        assert all(np.array_equal(one.answers[row], other.answers[row]) for row in one.answers)


def noise_of(board: Board, share: float) -> Any:
    """What adds noise to an output, of a share of its deviation."""
    rng = np.random.default_rng(4)
    return board.changed(lambda y: y + share * y.std() * rng.standard_normal(y.shape).astype(np.float32))


@pytest.mark.parametrize("seed", [0, 1])
def test_what_leads_in_few_values_is_tried_on_every_frame(seed: int) -> None:
    """Six frames of a vector prove little; what explains them has to explain the others, too."""
    engine = _classifier()
    many, rng = Board(24), np.random.default_rng(seed)
    answers = [engine.infer(x)["maps"] for x in many.inputs]
    spec = nl.TensorSpec((1, 6), "NC", "float32")

    def recording(change: Any, noise: float) -> nl.Recording:
        given = [engine.infer(np.ascontiguousarray(change(x)))["maps"] for x in many.inputs]
        noisy = [(y + noise * np.std(answers) * rng.standard_normal(y.shape)).astype(np.float32) for y in given]
        rows = zip(many.inputs, many.frames, noisy)
        pairs = [({"image": x, "frame": f}, {"maps": spec.pack(y)}) for x, f, y in rows]
        return nl.Recording({"maps": spec}, pairs, {"preprocess": PRE})

    def mirrored(x: np.ndarray) -> np.ndarray:
        return x[..., ::-1]

    remade, kept = _of(engine, recording(mirrored, 0.3))
    assert {len(one.answers) for one in remade if "left to right" in one.text} == {len(kept)}
    assert sum(len(one.answers) == len(kept) for one in remade) <= 2
    assert nl.validate(recording(mirrored, 0.3), engine).outputs["maps"].verdict == "geometry"
    for noise in (0.1, 0.3, 1.0):
        found = nl.validate(recording(lambda x: x, noise), engine).outputs["maps"]
        assert found.verdict in ("match", "mismatch", "ambiguous"), str(found)


def of_gray_frames(coloured: Sequence[int], fed_as_bgr: bool, noise: float, seed: int = 0) -> nl.OutputReport:
    """What is said of a board whose frames are gray but for some, where BGR is no other input."""
    board, rng = Board(), np.random.default_rng(seed)
    mean, std = (np.reshape(PRE[key], (1, 3, 1, 1)) for key in ("mean", "std"))
    runs = []
    for i, x in enumerate(board.inputs):
        pixels = x * std + mean
        pixels = pixels if i in coloured else np.repeat(pixels.mean(1, keepdims=True), 3, 1)
        given, other = (np.float32((p - mean) / std) for p in (pixels, pixels[:, ::-1]))
        y = board.engine.infer(other if fed_as_bgr else given)["maps"]
        noisy = y + 10 ** (-noise / 20) * y.std() * rng.standard_normal(y.shape)
        runs.append(({"image": given}, {"maps": board.spec.pack(noisy.astype(np.float32))}))
    return board.verdict(nl.Recording({"maps": board.spec}, runs, {"preprocess": PRE}))


@pytest.mark.parametrize("noise", [15, 30])
@pytest.mark.parametrize("coloured", [(0, 4), (4,), (7,)])
def test_a_change_that_few_frames_show_is_named(coloured: Sequence[int], noise: float) -> None:
    found = of_gray_frames(coloured, True, noise)
    assert found.verdict == "preprocessing" and found.fix == {**PRE, "color": "BGR"}, str(found)


@pytest.mark.parametrize("noise", [5, 8, 12, 20, 40])
@pytest.mark.parametrize("coloured", [(0, 4), (4,), ()])
def test_a_sound_board_with_few_coloured_frames(coloured: Sequence[int], noise: float) -> None:
    for seed in range(2):
        found = of_gray_frames(coloured, False, noise, seed)
        assert found.verdict in ("match", "mismatch", "ambiguous"), str(found)
        assert noise < 20 or found.verdict == "match", str(found)


@pytest.mark.parametrize(("pair", "total"), [(False, 24), (True, 24)])
def test_progress_counts_every_frame_that_is_tried(
    pair: bool, total: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All on which the leading ways are tried, and those whose inputs are exchanged."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    if pair:
        engine = nl.OnnxRuntimeEngine(two_inputs.matcher())
        inputs = [dict(zip(("left", "right"), two_inputs.pictures(2, 2 * i))) for i in range(8)]
        recording = two_inputs.recording(engine, inputs)
        rerun(engine, recording, compare(recording, engine, False)[1], {}, True)
    else:
        engine, many = _classifier(), Board(24)
        spec = nl.TensorSpec((1, 6), "NC", "float32")
        said = [engine.infer(np.ascontiguousarray(x[..., ::-1]))["maps"] for x in many.inputs]
        rows = zip(many.inputs, many.frames, said)
        pairs = [({"image": x, "frame": f}, {"maps": spec.pack(y)}) for x, f, y in rows]
        _of(engine, nl.Recording({"maps": spec}, pairs, {"preprocess": PRE}), progress=True)
    written = re.findall(r": (\d+) of (\d+) *$", capsys.readouterr().err.replace("\r", "\n"), re.MULTILINE)
    counts = [(int(done), int(of)) for done, of in written]
    assert all(done <= of for done, of in counts) and counts[-1] == (total, total), counts


@pytest.mark.parametrize("noise", [20, 40])
@pytest.mark.parametrize("model", [two_inputs.matcher, two_inputs.siamese])
def test_a_mistake_in_all_images(model: Any, noise: float) -> None:
    """An output of one image alone has the same cause as one of both: the device had one set of inputs."""
    report = _report(nl.OnnxRuntimeEngine(model()), ("left", "right"), noise)
    for name, found in report.outputs.items():
        assert found.verdict == "preprocessing" and found.fix == {**PRE, "color": "BGR"}, str(report)
        assert "inputs 'left' and 'right': BGR instead of RGB" in found.why, name


@pytest.mark.parametrize("noise", [20, 40])
@pytest.mark.parametrize("changed", ["left", "right"])
@pytest.mark.parametrize("model", [two_inputs.matcher, two_inputs.siamese])
def test_a_mistake_in_one_of_two_images(model: Any, changed: str, noise: float) -> None:
    report = _report(nl.OnnxRuntimeEngine(model()), (changed,), noise)
    of_it = {"maps", "of_left", "first"} if changed == "left" else {"maps", "of_right"}
    for name, found in report.outputs.items():
        assert found.verdict == ("preprocessing" if name in of_it else "match"), str(report)
        assert (f"input '{changed}': BGR instead of RGB" in found.why) == (name in of_it), found.why


@pytest.mark.parametrize("noise", [5, 10, 15, 20, 40])
@pytest.mark.parametrize("model", [two_inputs.matcher, two_inputs.siamese])
def test_images_as_declared(model: Any, noise: float) -> None:
    report = _report(nl.OnnxRuntimeEngine(model()), (), noise)
    assert {found.verdict for found in report.outputs.values()} <= {"match", "mismatch", "ambiguous"}, str(report)
    assert noise < 15 or all(found.verdict == "match" for found in report.outputs.values()), str(report)


@pytest.mark.parametrize("noise", [12, 30])
@pytest.mark.parametrize("changed", [EYES, ("left", "right"), ("middle", "right"), ("middle",), ()])
def test_images_of_three(changed: Sequence[str], noise: float) -> None:
    """One may be right, as that of another camera, and the others made alike by the same code."""
    report = _report(nl.OnnxRuntimeEngine(two_inputs.matcher(EYES)), changed, noise, EYES)
    maps, first = report.outputs["maps"], report.outputs["first"]
    assert maps.verdict == ("preprocessing" if changed else "match"), str(report)
    assert first.verdict == ("preprocessing" if "left" in changed else "match"), str(report)
    if changed:
        *others, last = map(repr, changed)
        words = f"inputs {', '.join(others)} and {last}" if others else f"input {last}"
        assert f": {words}: BGR instead of RGB." in maps.why and maps.fix == {**PRE, "color": "BGR"}, maps.why


@pytest.mark.parametrize("noise", [5, 8, 15])
def test_three_images_as_declared(noise: float) -> None:
    report = _report(nl.OnnxRuntimeEngine(two_inputs.matcher(EYES)), (), noise, EYES)
    assert {found.verdict for found in report.outputs.values()} <= {"match", "mismatch", "ambiguous"}, str(report)


@pytest.mark.parametrize("pad", [5, 180])
def test_an_unusual_border_of_all_images(pad: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is estimated from the usual borders of all of them at once, not from those of one image alone."""
    known: list[set[int]] = []

    def noted(evidence: Any, rows: Any, of_pads: Any, *run: Any) -> Any:
        known.append({*of_pads})
        return searched(evidence, rows, of_pads, *run)

    monkeypatch.setattr("npu_layout.validation.reruns.searched", noted)
    both, engine = ("left", "right"), nl.OnnxRuntimeEngine(two_inputs.matcher())
    inputs, seen = ([dict(zip(both, two_inputs.pictures(2, 2 * i, p))) for i in range(3)] for p in (114, pad))
    fed = {id(given): other for given, other in zip(inputs, seen)}
    recording = two_inputs.recording(engine, inputs, lambda given: fed[id(given)], 30, preprocess=PRE)
    found = nl.validate(recording, engine).outputs["maps"]
    assert known == [{0, 114, 127, 255}]
    assert found.verdict == "preprocessing" and found.fix == {**PRE, "pad_value": pytest.approx(pad, abs=2)}, str(found)
    assert "inputs 'left' and 'right': a border of " in found.why


def test_a_first_frame_without_a_border() -> None:
    """It fills the input, so that those that follow say which border the device saw."""
    both, engine = ("left", "right"), nl.OnnxRuntimeEngine(two_inputs.matcher())
    inputs, seen = ([dict(zip(both, two_inputs.pictures(2, 2 * i, p))) for i in range(4)] for p in (114, 180))
    filled = nl.Preprocessor(nl.TensorSpec(two_inputs.SHAPE), **{**PRE, "resize": "stretch"})
    inputs[0] = seen[0] = {name: filled(picture(k))[0].reshape(two_inputs.SHAPE).copy() for k, name in enumerate(both)}
    fed = {id(given): other for given, other in zip(inputs, seen)}
    recording = two_inputs.recording(engine, inputs, lambda given: fed[id(given)], 30, preprocess=PRE)
    found = nl.validate(recording, engine).outputs["maps"]
    assert found.verdict == "preprocessing" and found.fix == {**PRE, "pad_value": pytest.approx(180, abs=2)}, str(found)


@pytest.mark.parametrize("without", [0, 1, 3])
def test_a_border_that_was_found_is_tried_on_the_other_frames_too(
    without: int, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an output of few values; also if one of the frames that say which border it is has none itself."""
    monkeypatch.setattr("npu_layout.validation.tried_ways._FEW", board.spec.size)
    seen, told = ([*board.inputs], [*board.inputs])
    for inputs, how in ((seen, {**PRE, "pad_value": 60}), (told, PRE)):
        for k in range(len(inputs)):
            own = nl.Preprocessor(
                nl.TensorSpec((1, 3, SIDE, SIDE)), **{**how, "resize": "stretch"} if k == without else how
            )
            inputs[k] = own(board.frames[k])[0].reshape(1, 3, SIDE, SIDE).copy()
    outputs = [{"maps": board.spec.pack(board.engine.infer(x)["maps"])} for x in seen]
    runs = [({"image": x}, y) for x, y in zip(told, outputs)]
    found = board.verdict(nl.Recording({"maps": board.spec}, runs, {"preprocess": PRE}))
    assert found.verdict == "preprocessing" and "a border of 60 instead of 114" in found.why, str(found)
    assert f"of the {len(told) - 1} frames that were compared" in found.why, str(found)


def _report(
    engine: nl.OnnxRuntimeEngine, changed: Sequence[str], noise: float, names: Sequence[str] = ("left", "right")
) -> nl.Report:
    """What is said of a device that was fed some of several images as BGR."""
    mean, std = (np.reshape(PRE[key], (1, 3, 1, 1)) for key in ("mean", "std"))

    def fed(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        flipped = {name: ((given[name] * std + mean)[:, ::-1] - mean) / std for name in changed}
        return {**given, **{name: np.ascontiguousarray(x, np.float32) for name, x in flipped.items()}}

    count = len(names)
    inputs = [dict(zip(names, two_inputs.pictures(count, count * i))) for i in range(6)]
    return nl.validate(two_inputs.recording(engine, inputs, fed, noise, preprocess=PRE), engine)


def _of(
    engine: nl.OnnxRuntimeEngine, recording: nl.Recording, progress: bool = False
) -> tuple[list[Remade], list[KeptRun]]:
    pairing, kept = compare(recording, engine, False)
    (output,) = pairing.outputs
    evidence = {
        "maps": Evidence(output.spec, [k.outputs["maps"] for k in kept], [k.references["maps"] for k in kept], (), 1)
    }
    (remade,) = rerun(engine, recording, kept, evidence, progress).values()
    return remade, kept


def _classifier() -> nl.OnnxRuntimeEngine:
    """Six numbers of each frame, of which a mirrored one has others."""
    model = onnx.load_from_string(network())
    model.graph.node[-1].output[0] = "all"
    weights = np.random.default_rng(1).standard_normal((19 * 12 * 12, 6)).astype(np.float32) / 50
    model.graph.initializer.append(numpy_helper.from_array(weights, "last"))
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, -1]), "flat"))
    model.graph.node.append(helper.make_node("Reshape", ["all", "flat"], ["row"]))
    model.graph.node.append(helper.make_node("MatMul", ["row", "last"], ["maps"]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("maps", TensorProto.FLOAT, (1, 6)))
    return nl.OnnxRuntimeEngine(model.SerializeToString(), threads=1)
