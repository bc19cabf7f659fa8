"""Causes of outputs: those exchanged with each other, what is shown while they are looked for, and what it costs."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.validation import examining
from npu_layout.validation.input_probes import plain_changes
from tests.support import two_inputs
from tests.support.boards import SHAPE, SIDE, Board, same
from tests.support.endings import ending, verdict


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


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


def test_an_exchanged_output_beside_one_that_nothing_explains() -> None:
    """Nobody knows that the other name has the same tensor, nor that the two are exchanged."""
    two, rng = Board(outputs=("a", "b")), np.random.default_rng(0)
    noise = [two.spec.pack(rng.normal(size=SHAPE)) for _ in two.answers]
    outputs = [{"a": two.spec.pack(x["b"]), "b": other} for x, other in zip(two.answers, noise)]
    report = nl.validate(two.recording(None, outputs), two.engine)
    a, b = report.outputs["a"], report.outputs["b"]
    assert b.verdict == "mismatch" and a.verdict == "output_order" and a.fix is None, str(report)
    assert "What 'b' contains instead is not known. Fix: record each output under its own name." in a.why
    assert "the same tensor" not in a.why


def test_an_exchanged_output_beside_one_of_which_too_little_is_known() -> None:
    """Two values of a frame prove no exchange: that the two names have one tensor is not known either."""
    two, rng = Board(outputs=("a", "b")), np.random.default_rng(0)
    noisy = [two.spec.pack(x["b"] + 0.8 * x["b"].std() * rng.normal(size=SHAPE)) for x in two.answers]
    outputs = [{"a": two.spec.pack(x["b"]), "b": other} for x, other in zip(two.answers, noisy)]
    report = nl.validate(two.recording(None, outputs), two.engine, min_snr_db={"b": -10.0}, min_cosine={"b": 0.0})
    a, b = report.outputs["a"], report.outputs["b"]
    assert b.verdict == "ambiguous" and a.verdict == "output_order" and a.fix is None, str(report)
    assert "What 'b' contains instead is not known." in a.why and "the same tensor" not in a.why, a.why


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


def test_progress_describes_what_is_tried(
    board: Board, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, or if it is asked for; quiet elsewhere, and the report is the same."""
    monkeypatch.setitem(sys.modules, "rich.console", None)
    wrong = board.recording(None, board.changed(lambda y: y[:, ::-1]))
    quiet = nl.validate(wrong, board.engine)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = nl.validate(wrong, board.engine)
    out, err = capsys.readouterr()
    lines = [line.strip() for line in re.split("[\\r\\n]", err)]
    assert out == "" and str(shown) == str(quiet)
    assert lines[1] == "comparing: 0 of 8" and lines[-2] == "looking for causes: pairs of causes of 'maps': 1 of 1"
    tried = [line.partition("looking for causes: ")[2].rpartition(": ")[0] for line in lines]
    of_inputs = ["colours", "mean and std", "layouts", "resizing", "what the device sees"]
    of_outputs = ["scales", "layouts", "activations", "orders of channels and rows", "geometry", "exchanges"]
    words = [f"{what} of 'maps'" for what in of_outputs]
    words += [f"{what} of the input" for what in of_inputs]
    words += [f"{what} of 'maps'" for what in ("inputs", "pairs of causes")]
    assert list(dict.fromkeys(filter(None, tried))) == words
    assert nl.validate(board.recording(), board.engine, progress=False) and capsys.readouterr() == ("", "")


def _beside_a_sound_one(board: Board, change: Any, noise: float = 0.0) -> nl.Recording:
    """A recording whose output `a` is as declared, and `b` as `change` stores the model's; with noise on `b`."""
    rng = np.random.default_rng(0)
    noisy = [x["b"] + noise * x["b"].std() * rng.normal(size=SHAPE) for x in board.answers]
    stored = [np.ascontiguousarray(change(board.spec, y.astype(np.float32))) for y in noisy]
    return board.recording(None, [{"a": board.spec.pack(x["a"]), "b": b} for x, b in zip(board.answers, stored)])


def _other_scale(spec: nl.TensorSpec, y: np.ndarray) -> np.ndarray:
    q = spec.quantization
    assert q is not None
    return spec.replace(quantization=nl.Quantization(2 * float(q.scale), 0)).pack(y)


CAUSES: dict[str, Any] = {
    "layout": lambda spec, y: spec.replace(layout="NHWC16c").pack(y),
    "quantization": _other_scale,
    "geometry": lambda spec, y: spec.pack(np.ascontiguousarray(y[..., ::-1])),
    "channel_order": lambda spec, y: spec.pack(np.ascontiguousarray(y[:, np.r_[1, 0, 2:19]])),
}


@pytest.fixture(scope="module")
def two() -> Board:
    return Board(outputs=("a", "b"))


def _runs(monkeypatch: pytest.MonkeyPatch, engine: Any, recording: nl.Recording) -> tuple[int, Any]:
    """How often the model runs beside once a frame, and the report."""
    runs: list[Any] = []
    infer = engine.infer
    with monkeypatch.context() as patched:
        patched.setattr(engine, "infer", lambda x: runs.append(x) or infer(x))
        report = nl.validate(recording, engine)
    return len(runs) - len(recording.frames), report


@pytest.mark.parametrize("verdict", list(CAUSES))
def test_a_cause_that_leaves_rounding_beside_an_output_as_declared(
    two: Board, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The input is as declared, then: only plain changes are made, and the report is that of having made all others."""
    recording = _beside_a_sound_one(two, CAUSES[verdict])
    more, report = _runs(monkeypatch, two.engine, recording)
    assert more == len(list(plain_changes(two.inputs[0]))) < 12 and [
        one.verdict for one in report.outputs.values()
    ] == ["match", verdict], str(report)
    monkeypatch.setattr(examining, "_are_settled", lambda *_: False)
    more, again = _runs(monkeypatch, two.engine, recording)
    assert more > 10 * len(recording.frames)
    for now, then in zip(report.outputs.values(), again.outputs.values()):
        assert (now.verdict, now.fix, now.why) == (then.verdict, then.fix, then.why)


def test_other_inputs_are_made_where_they_may_explain_more(two: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is left, or the output as declared is nearly the same in all frames; or there are several inputs."""
    assert _runs(monkeypatch, two.engine, _beside_a_sound_one(two, CAUSES["layout"], noise=0.05))[0] > 0
    at_rest = Board(outputs=("a", "b"))
    at_rest.frames = [(at_rest.frames[0] ^ (k & 1)).astype(np.uint8) for k in range(8)]
    at_rest.inputs = [at_rest.preprocessor(f)[0].reshape(1, 3, SIDE, SIDE).copy() for f in at_rest.frames]
    at_rest.answers = [at_rest.engine.infer(x) for x in at_rest.inputs]
    assert _runs(monkeypatch, at_rest.engine, _beside_a_sound_one(at_rest, CAUSES["layout"]))[0] > 0
    of_two = nl.OnnxRuntimeEngine(two_inputs.matcher(), threads=1)
    given = [dict(zip(("left", "right"), pair)) for pair in zip(two_inputs.pictures(6), two_inputs.pictures(6, 6))]
    recording = two_inputs.recording(of_two, given, noise_db=200)
    spec = recording.specs["maps"]
    other = spec.replace(layout="NCWH16c")
    turned = [(x, {**y, "maps": other.pack(spec.unpack(y["maps"]))}) for x, y in recording.frames]
    more, report = _runs(monkeypatch, of_two, nl.Recording(recording.specs, turned))
    assert [report.outputs[name].verdict for name in ("first", "maps")] == ["match", "layout"] and more > 0, str(report)


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


@pytest.mark.parametrize("db", [10, 14, 20])
def test_corners_of_boxes_are_no_shift(db: float) -> None:
    """Two places further, the right of a box is near its centre; noise of the size of its width hides no corners."""

    def boxes(frame: int) -> np.ndarray:
        rng = np.random.default_rng(frame)
        centres, sizes = rng.normal(32, 3, (2, 256)), rng.normal(10, 0.5, (2, 256))
        scores = rng.uniform(0, 0.05, (6, 256))
        return np.concatenate([centres, sizes, scores])[None].astype(np.float32)

    def corners(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        centre, half = y[:, :2], y[:, 2:4] / 2
        return np.concatenate([centre - half, centre + half, y[:, 4:]], 1)

    inputs = [boxes(frame) for frame in range(2)]
    output = verdict(ending((1, 10, 256)), inputs, corners, db)
    assert output.verdict == "activation" and "two corners" in output.why, str(output)
    shifted = verdict(ending((1, 64, 24)), _signal(), lambda x, y: np.roll(y, 1, 1), db)  # a real one along the rows
    assert shifted.verdict in ("geometry", "channel_order"), str(shifted)


def _signal() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=(1, 64, 24)).astype(np.float32) for _ in range(2)]


def test_the_figure_of_a_fix_is_found_again() -> None:
    """Tokens that differ from token to token alone: noise of 9 dB hides what varies along the other axis."""
    rng = np.random.default_rng(5)
    tokens, rest = rng.normal(size=(1, 1, 64)), 0.1 * rng.normal(size=(4, 1, 24, 64))
    inputs, model = [(tokens + x).astype(np.float32) for x in rest], ending((1, 24, 64))
    scaled = verdict(model, inputs, lambda x, y: y / 255, 9)
    assert scaled.verdict == "quantization" and scaled.why.endswith("The channels of this SNR are those along axis 1.")
    assert "agree to 9.5 dB" in scaled.why, scaled.why  # of samples of which half are far from the mean
    with_the_fix = verdict(model, inputs, lambda x, y: y, 9)
    assert with_the_fix.verdict == "mismatch" and "device and model agree to 0.3 dB" in with_the_fix.why
    assert with_the_fix.why.endswith("With channels along axis 1, they agree to 9.5 dB."), with_the_fix.why
    good = verdict(model, inputs, lambda x, y: y, 30)
    assert good.verdict == "match" and "axis" not in good.why, good.why
    unrelated = verdict(model, inputs, lambda x, y: rng.normal(size=y.shape), 30)
    assert unrelated.verdict == "mismatch" and "along axis" not in unrelated.why, unrelated.why
