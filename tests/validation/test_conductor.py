"""validate compares, diagnoses and reports: a verdict for every output, and errors that name what is wrong."""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from tests.support.boards import CHANNELS, SHAPE, Board, same, spec_as


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_match(board: Board) -> None:
    report = nl.validate(board.recording(), board.engine)
    output = report.outputs["maps"]
    assert report and output.verdict == "match" and output.fix is None and report.verdict == "match", str(report)
    assert output.figures is not None and output.figures.snr_db > 30 and output.figures.cosine > 0.999
    assert output.figures.max_steps is not None and output.figures.max_steps <= 0.51
    assert len(output.channels) == CHANNELS and output.worst_channel is not None
    assert all(value == float(f"{value:.6g}") for value in output.passing.values())
    passing = nl.validate(board.recording(), board.engine, **output.passing)
    assert passing, str(passing)
    strict = {"max_abs": {"maps": output.figures.max_abs * 0.99}}
    failing = nl.validate(board.recording(), board.engine, **strict)
    assert failing.outputs["maps"].verdict == "mismatch" and "NOT met" in str(failing)
    assert json.loads(report.to_json())["outputs"]["maps"]["verdict"] == "match"


def test_a_folder_is_read(board: Board, tmp_path: Path) -> None:
    board.recording().save(tmp_path / "run")
    for path in (tmp_path / "run", str(tmp_path / "run")):
        assert nl.validate(path, board.engine).verdict == "match"
    with pytest.raises(nl.NpuLayoutError, match="nowhere"):
        nl.validate(tmp_path / "nowhere", board.engine)


def test_nothing_compared_is_a_failure(board: Board) -> None:
    report = nl.validate(nl.Recording({"maps": board.spec}, []), board.engine)
    assert not report and report.frames == 0 and "nothing was compared" in str(report)


def test_bad_input(board: Board) -> None:
    good = board.recording()

    def given(meta: Any = None, **inputs: Any) -> nl.Recording:
        return nl.Recording(good.specs, [(inputs or f.inputs, f.outputs) for f in good], meta)

    for recording, says in (
        (given(image=np.zeros((1, 3, 9, 9), np.float32)), "expects shape"),
        (given(a=board.inputs[0], b=np.zeros(1)), "needs 'image'"),
        (given(image=board.inputs[0].astype(np.uint8)), "give its spec"),
        (given({"preprocess": {"mean": "grey"}}), "preprocess: mean: expected 1 or 3"),
    ):
        with pytest.raises(nl.RecordingError, match=says):
            nl.validate(recording, board.engine)
    with pytest.raises(nl.NpuLayoutError, match="no output 'heat'"):
        nl.validate(good, board.engine, min_cosine={"heat": 0.9})
    float32 = spec_as(board, dtype="float32", quantization=None)
    floats = board.recording(float32, board.packed(float32))
    with pytest.raises(nl.NpuLayoutError, match="output 'maps' is stored as float32, which has no quantisation steps"):
        nl.validate(floats, board.engine, max_steps=1)
    with pytest.raises(nl.NpuLayoutError, match="finite number"):
        nl.validate(good, board.engine, min_snr_db=float("nan"))


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ((0, 0, 0, 0), r"no values, its shape is \(0, 6\): nothing was compared"),
        ((0, 4, 4, 4), r"shape \(0, 6\) in frame 0 and \(4, 6\) in frame 3: nothing"),
        ((4, 3, 4, 4), r"shape \(4, 6\) in frame 0 and \(3, 6\) in frame 1: nothing"),
    ],
)
def test_an_output_that_cannot_be_compared_leaves_the_others_their_verdict(
    tmp_path: Path, counts: tuple[int, ...], says: str
) -> None:
    """As a detector's that finds more or less, or nothing."""
    shapes = {"x": [4, 6], "keep": [4], "found": ["n", 6], "y": [4, 6]}
    kinds = {"keep": TensorProto.BOOL}
    ports = {k: helper.make_tensor_value_info(k, kinds.get(k, TensorProto.FLOAT), s) for k, s in shapes.items()}
    nodes = [
        helper.make_node("Compress", ["x", "keep"], ["found"], axis=0),
        helper.make_node("Identity", ["x"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "nms", [ports["x"], ports["keep"]], [ports["found"], ports["y"]])
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    rng = np.random.default_rng(0)
    specs = {k: nl.TensorSpec((4, 6), "NC", name=k) for k in ("found", "y")}
    given = [{"x": rng.random((4, 6), np.float32), "keep": np.arange(4) < n} for n in counts]
    frames = [(inputs, {"found": np.zeros(24, np.float32), "y": inputs["x"].reshape(-1)}) for inputs in given]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = nl.validate(nl.Recording(specs, frames), model)
        report.to_html(tmp_path / "page.html")
    found, y = report.outputs["found"], report.outputs["y"]
    assert not report and found.verdict == "ambiguous" and found.figures is None, found
    assert re.search(says, found.why) and y, report


def test_outputs_exchanged() -> None:
    board = Board(outputs=("a", "b"))
    outputs = [{"a": board.spec.pack(x["b"]), "b": board.spec.pack(x["a"])} for x in board.answers]
    report = nl.validate(board.recording(None, outputs), board.engine)
    for name in "ab":
        assert report.outputs[name].verdict == "output_order", str(report)
        assert report.outputs[name].fix == {"a": "b", "b": "a"}
    assert nl.validate(board.recording(), board.engine)
    only = [{"a": board.spec.pack(x["a"])} for x in board.answers]
    report = nl.validate(board.recording({"a": board.spec}, only), board.engine)
    assert report and "b were not recorded" in report.note


def test_a_name_that_holds_another_output() -> None:
    two = Board(outputs=("a", "b"))
    twice = [{"a": two.spec.pack(x["b"]), "b": two.spec.pack(x["b"])} for x in two.answers]
    report = nl.validate(two.recording(None, twice), two.engine)
    a, b = report.outputs["a"], report.outputs["b"]
    assert a.verdict == "output_order" and a.fix is None and "'a' and 'b' contain the same tensor" in a.why, str(a)
    assert b.verdict == "match" and "fix" not in str(a)
    alone = [{"a": o["a"]} for o in twice]
    report = nl.validate(two.recording({"a": two.spec}, alone), two.engine)
    assert report.outputs["a"].verdict == "output_order" and report.outputs["a"].fix == {"a": "b"}, str(report)


def test_specs_stay_with_the_names_of_exchanged_outputs() -> None:
    two = Board(outputs=("a", "b"))
    q = two.spec.quantization
    assert q is not None
    tight = nl.TensorSpec(SHAPE, "NHWC16c", "int8", quantization=nl.Quantization(3 * float(q.scale), 3))
    assert tight.size == two.spec.size
    specs = {"a": two.spec, "b": tight}
    outputs = [{"a": tight.pack(x["b"]), "b": two.spec.pack(x["a"])} for x in two.answers]
    report = nl.validate(two.recording(specs, outputs), two.engine)
    for name in "ab":
        assert report.outputs[name].verdict == "output_order", str(report)
        assert report.outputs[name].fix == {"a": "b", "b": "a"}
    renamed = [{"a": o["b"], "b": o["a"]} for o in outputs]
    assert nl.validate(two.recording(specs, renamed), two.engine)


def test_a_fix_in_the_place_of_a_spec(board: Board) -> None:
    """Also where the arrays have the shape of the spec that was wrong."""
    wrong, right = nl.TensorSpec(SHAPE, "NHWC", name="maps"), nl.TensorSpec(SHAPE, name="maps")
    frames = [
        ({"image": x}, {"maps": a["maps"].reshape(wrong.storage_shape)}) for x, a in zip(board.inputs, board.answers)
    ]
    recording = nl.Recording({"maps": wrong}, frames)
    found = nl.validate(recording, board.engine).outputs["maps"]
    assert found.verdict == "layout" and found.fix == right, str(found)
    recording.specs["maps"] = found.fix
    assert nl.validate(recording, board.engine), str(nl.validate(recording, board.engine))


def test_progress_describes_what_is_tried(
    board: Board, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, or if it is asked for; quiet elsewhere, and the report is the same."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    wrong = board.recording(None, board.changed(lambda y: y[:, ::-1]))
    quiet = nl.validate(wrong, board.engine)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    told = nl.validate(wrong, board.engine)
    out, err = capsys.readouterr()
    lines = [line.strip() for line in re.split("[\\r\\n]", err)]
    assert out == "" and str(told) == str(quiet)
    assert lines[1] == "comparing: 0 of 8" and lines[-2] == "looking for causes: pairs of causes of 'maps': 1 of 1"
    tried = [line.partition("looking for causes: ")[2].rpartition(": ")[0] for line in lines]
    of_inputs = ["colours", "mean and std", "layouts", "resizing", "what the device sees"]
    of_outputs = ["scales", "layouts", "activations", "orders of channels and rows", "geometry", "exchanges", "inputs"]
    words = [f"{what} of the input" for what in of_inputs]
    words += [f"{what} of 'maps'" for what in (*of_outputs, "pairs of causes")]
    assert list(dict.fromkeys(filter(None, tried))) == words
    assert nl.validate(board.recording(), board.engine, progress=False) and capsys.readouterr() == ("", "")


def _reductions(channels: int, noise: float) -> int:
    """How many arrays `validate` adds up, or looks for the ends of, for an output of so many channels."""
    rng = np.random.default_rng(0)
    shape = (1, channels, 3200 // channels, 10)
    q = nl.Quantization(0.03, 3)
    spec = nl.TensorSpec(shape, "NHWC", "int8", quantization=q, name="y")
    inputs = [rng.standard_normal(shape).astype(np.float32) for _ in range(4)]
    outputs = [spec.pack((x + noise * rng.standard_normal(shape)).astype(np.float32)) for x in inputs]
    engine = nl.OnnxRuntimeEngine(same(shape))
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(inputs, outputs)])
    count = 0

    def counted(frame: Any, event: str, called: Any) -> None:
        nonlocal count
        count += event == "c_call" and called.__name__ == "reduce"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        report = nl.validate(recording, engine, progress=False)
    finally:
        sys.setprofile(before)
    assert report.verdict == "match", str(report)
    return count


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_no_channel_is_searched_by_itself(noise: float) -> None:
    """Causes are looked for in all channels at once: 8 reductions a channel were counted, and 240 for one by one."""
    few, many = _reductions(20, noise), _reductions(160, noise)
    assert many - few < 20 * 140


@pytest.mark.parametrize("seed", range(20))
def test_an_empty_scene_accuses_no_board(board: Board, seed: int) -> None:
    """Outputs that stay within a step: rounding and a little noise are all that differs, and no tolerance is met."""
    rng = np.random.default_rng(seed)
    flat = board.engine.infer(board.inputs[0])["maps"]
    spread = float(np.ptp(flat - flat.mean((2, 3), keepdims=True)))
    spec = board.spec.replace(quantization=nl.Quantization(3 * spread, int(rng.integers(-40, 40))))
    stored = [spec.pack(a["maps"]).astype(np.int16) for a in board.answers]
    noisy = [np.clip(x + (rng.random(x.shape) < 0.3) * rng.choice([-1, 1], x.shape), -128, 127) for x in stored]
    faultless = board.recording(spec, [{"maps": x.astype(np.int8)} for x in noisy])
    report = nl.validate(faultless, board.engine)
    assert report.outputs["maps"].verdict in ("match", "ambiguous"), str(report)
    wrong = [{"maps": np.clip(x + 9, -128, 127).astype(np.int8)} for x in stored]
    assert nl.validate(board.recording(spec, wrong), board.engine).outputs["maps"].verdict != "match"
