"""validate compares, diagnoses and reports: a verdict for every output, and errors that name what is wrong."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from tests.support.boards import CHANNELS, SHAPE, Board, ending, spec_as


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


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_scale_that_clamps_is_a_match_and_said(board: Board, noise: float) -> None:
    """Also under noise; the verdict is by the figures. Its twin, whose scale covers the values, is silent."""
    q, rng = board.spec.quantization, np.random.default_rng(3)
    assert q is not None
    values = np.stack([a["maps"] for a in board.answers])
    edge = float(np.quantile(values, 1 - 0.0015))
    narrow = nl.Quantization(edge / (127 - int(q.zero_point)), q.zero_point)
    for quantization, clamps in ((narrow, True), (q, False)):
        spec = spec_as(board, quantization=quantization)
        spread = noise * values.std()
        outputs = [{"maps": spec.pack(y + rng.normal(0, spread, y.shape).astype(np.float32))} for y in values]
        output = nl.validate(board.recording(spec, outputs), board.engine).outputs["maps"]
        assert output.verdict == "match", str(output)
        assert (output.clamped is not None) == clamps == ("clamped: " in str(output)), str(output)
        if output.clamped is not None:
            wanted = values / quantization.scale + quantization.zero_point
            beyond = int((np.rint(wanted) > 127).sum() + (np.rint(wanted) < -128).sum())
            assert beyond * 0.9 <= output.clamped.values <= beyond, (output.clamped, beyond)
            farthest = max(float(wanted.max()) - 127, -128 - float(wanted.min()))
            assert output.clamped.steps == pytest.approx(farthest, rel=1e-3)


@pytest.mark.parametrize("noise", [0.0, 1.0, 5.0])
@pytest.mark.parametrize(
    ("operator", "constants", "quantization"),
    [
        ("Sigmoid", (), nl.Quantization(1 / 255, 0)),
        ("Sigmoid", (), nl.Quantization(1 / 256, 0)),
        ("Clip", (0.0, 0.5), nl.Quantization(0.5 / 255, 0)),
        ("Softmax", (), nl.Quantization(1 / 256, 0)),
        ("Tanh", (), nl.Quantization(1 / 128, 128)),
    ],
)
def test_a_range_that_ends_by_nature_is_not_called_clamped(
    operator: str, constants: tuple[float, ...], quantization: nl.Quantization, noise: float
) -> None:
    """Though the device returns the end often, and noise is cut there. noise: in steps."""
    board, rng = Board(), np.random.default_rng(4)
    engine = nl.OnnxRuntimeEngine(ending(operator, *constants), threads=1)
    spec = nl.TensorSpec(SHAPE, "NHWC", "uint8", quantization=quantization)
    outputs = []
    for x in board.inputs:
        y = engine.infer(x)["maps"]
        outputs.append({"maps": spec.pack(y + np.float32(noise * quantization.scale) * rng.standard_normal(y.shape))})
    output = nl.validate(board.recording(spec, outputs), engine).outputs["maps"]
    assert output.clamped is None and "clamped" not in str(output), str(output)


def test_a_named_cause_is_not_called_clamped(board: Board) -> None:
    q = board.spec.quantization
    assert q is not None
    narrow = spec_as(board, quantization=nl.Quantization(q.scale / 4, q.zero_point))
    output = board.verdict(board.recording(narrow))
    assert output.verdict == "quantization" and output.clamped is None


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
