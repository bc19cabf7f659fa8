"""Boards whose runtime exchanges red and blue in its graph: declared so, not declared, and declared in vain."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.diagnosis.input_checks.runtime_colors import runtime_exchanges
from npu_layout.diagnosis.verdicts.verdict import Judgement
from tests.support.boards import PRE, SIDE, Board

SHAPE = (1, 3, SIDE, SIDE)
OTHER = {"RGB": "BGR", "BGR": "RGB"}
MEAN, STD = (np.float32(PRE[key]).reshape(1, 3, 1, 1) for key in ("mean", "std"))
SCALES = nl.Quantization([0.02, 0.021, 0.022], [-5, -4, -3], axis=1)
KINDS: dict[str, dict[str, Any]] = {
    "pixels": {"dtype": "uint8"},
    "signed pixels": {"dtype": "int8", "quantization": nl.Quantization(1.0, -128)},
    "floats": {"dtype": "float32"},
    "quantised": {"dtype": "int8", "quantization": SCALES},
}
PIXELS = ("pixels", "signed pixels")


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def image(kind: str, layout: str = "NHWC", channels: str | None = "BGR") -> nl.TensorSpec:
    return nl.TensorSpec(SHAPE, layout, **KINDS[kind], name="image", channels=channels)


def undeclared(spec: nl.TensorSpec) -> nl.TensorSpec:
    return nl.TensorSpec.from_dict({k: v for k, v in spec.to_dict().items() if k != "channels"})


def is_pixels(spec: nl.TensorSpec) -> bool:
    return (spec.dtype, spec.quantization) in [(KINDS[k]["dtype"], KINDS[k].get("quantization")) for k in PIXELS]


def written(spec: nl.TensorSpec, frame: np.ndarray, **how: Any) -> np.ndarray:
    """The buffer that a user's program gives to the board; a board that reads pixels normalises them itself."""
    plain = {"mean": 0, "std": 1} if is_pixels(spec) else {}
    return nl.Preprocessor(spec, **{**PRE, **how, **plain})(frame)[0].reshape(-1)


def recording(
    board: Board,
    spec: nl.TensorSpec,
    declared: nl.TensorSpec | None = None,
    converts: bool = True,
    frames: bool = True,
    noise: float = 0.0,
    buffer: Callable[..., np.ndarray] = written,
    **meta: Any,
) -> nl.Recording:
    """A board whose model reads RGB, fed with `spec`'s buffers; it converts by numpy's flip, or does not."""
    rng, runs = np.random.default_rng(0), []
    for frame in board.frames:
        flat = buffer(spec, frame)
        x = spec.unpack(flat).astype(np.float32)
        x = np.ascontiguousarray(x[:, ::-1]) if converts else x
        x = (x - MEAN) / STD if is_pixels(spec) else x
        maps = board.engine.infer(x)["maps"]
        maps = maps + rng.standard_normal(maps.shape).astype(np.float32) * np.float32(noise * maps.std())
        runs.append(({"image": flat, **({"frame": frame} if frames else {})}, {"maps": board.spec.pack(maps)}))
    specs = {"image": spec if declared is None else declared, "maps": board.spec}
    return nl.Recording(specs, runs, {"preprocess": {**PRE, **meta}})


@pytest.mark.parametrize("frames", [True, False])
@pytest.mark.parametrize(("kind", "layout"), [*itertools.product(KINDS, ["NHWC", "NCHW", "NCHW4c"])])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_correct_board_is_a_match(board: Board, kind: str, layout: str, frames: bool, noise: float) -> None:
    report = nl.validate(recording(board, image(kind, layout), frames=frames, noise=noise), board.engine)
    assert report and report.verdict == "match", str(report)
    assert [found.verdict for found in report.inputs.values()] == ["match"] * frames
    assert ("input: not checked, no camera frame recorded" in str(report)) != frames
    assert "channels=" not in report.outputs["maps"].why


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_model_is_no_exchange(board: Board, kind: str) -> None:
    report = nl.validate(recording(board, image(kind, channels="RGB"), converts=False), board.engine)
    assert report, str(report)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("kind", KINDS)
def test_one_cause_if_it_is_not_declared(board: Board, kind: str, noise: float) -> None:
    """By the model's colour: the outputs and the input have one cause and one fix, with which all is a match."""
    spec = image(kind)
    given = recording(board, spec, undeclared(spec), noise=noise)
    report = nl.validate(given, board.engine)
    output, made = report.outputs["maps"], report.inputs["image"]
    assert output.verdict == made.verdict == report.verdict == "preprocessing", str(report)
    assert output.fix == made.fix == {**PRE, "target": spec}
    words = "The buffer of input 'image' contains BGR, and the runtime exchanges red and blue in its graph: the model "
    for found in (output, made):
        assert found.why.startswith(f"{words}reads RGB, as declared."), found.why
        declare = "Fix: declare the input as TensorSpec(..., channels='BGR'), as in the fix."
        assert declare in found.why and (kind in PIXELS) == ("not in the Preprocessor that writes" in found.why)
        assert kind in PIXELS or found.why.endswith(declare)
    assert "With that, device and model agree to" in output.why and "instead of" not in str(report)
    how = dict(made.fix or {})
    fixed = nl.Recording({**given.specs, "image": how.pop("target")}, given.frames, {"preprocess": how})
    assert nl.validate(fixed, board.engine), str(nl.validate(fixed, board.engine))
    as_json = json.loads(report.to_json())
    assert as_json["inputs"]["image"]["fix"]["target"] == as_json["outputs"]["maps"]["fix"]["target"] == spec.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_one_cause_if_the_buffers_colour_is_declared(board: Board, kind: str) -> None:
    """color= is what the user writes, BGR: the input is as declared, and what to do about the outputs has its words."""
    spec = image(kind)
    buffers = {"color": "BGR", "mean": PRE["mean"][::-1], "std": PRE["std"][::-1]}
    given = recording(board, spec, undeclared(spec), **buffers)
    report = nl.validate(given, board.engine)
    output = report.outputs["maps"]
    assert output.verdict == "preprocessing" and report.inputs["image"], str(report)
    assert output.fix == PRE
    assert (
        "If it was trained on RGB, declare the input as TensorSpec(..., channels='BGR') with color='RGB'" in output.why
    )
    assert "make the input as declared" not in output.why
    fixed = nl.Recording({**given.specs, "image": spec}, given.frames, {"preprocess": output.fix})
    assert nl.validate(fixed, board.engine)


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_cameras_frames(board: Board, kind: str) -> None:
    spec = image(kind)
    report = nl.validate(recording(board, spec, undeclared(spec), frames=False), board.engine)
    output = report.outputs["maps"]
    assert output.verdict == "preprocessing" and output.fix["color"] == "BGR" and not report.inputs
    assert "TensorSpec(..., channels='BGR' or 'RGB')" in output.why
    assert str(report).endswith("input: not checked, no camera frame recorded")


@pytest.mark.parametrize("kind", KINDS)
def test_a_runtime_that_does_not_convert(board: Board, kind: str) -> None:
    report = nl.validate(recording(board, image(kind), converts=False), board.engine)
    output = report.outputs["maps"]
    assert output.verdict == "preprocessing" and output.fix["color"] == "BGR" and report.inputs["image"], str(report)
    assert "Or channels='BGR' of the input's TensorSpec is wrong: the runtime does not" in output.why


def test_the_wrong_order_in_a_buffer_that_states_it(board: Board) -> None:
    """The input is judged in the model's order, and the fix describes what is in the buffer."""
    for kind, color in itertools.product(KINDS, OTHER):
        spec = image(kind, channels=OTHER[color])

        def turned(of: nl.TensorSpec, frame: np.ndarray) -> np.ndarray:
            flipped = frame[..., ::-1].copy()  # RGB given as BGR
            return written(of, flipped, color=color)  # noqa: B023

        given = recording(board, spec, buffer=turned, color=color)
        found = recorded_inputs(given).reports["image"]
        assert found.verdict == "preprocessing" and found.fix is not None, str(found)
        assert found.fix["color"] == OTHER[color] and found.fix["target"].channels == color, str(found)
        how = dict(found.fix)
        again = nl.Recording({**given.specs, "image": how.pop("target")}, given.frames, {"preprocess": how})
        assert recorded_inputs(again).reports["image"], str(recorded_inputs(again).reports["image"])


def test_the_layout_of_an_input_that_is_converted(board: Board) -> None:
    """NHWC bytes that the board reads as planes, and converts then."""
    given = recording(board, image("floats", "NHWC"))
    runs = []
    for frame in given.frames:
        misread = nl.TensorSpec(SHAPE, "NCHW").unpack(frame.inputs["image"])[:, ::-1]
        maps = board.engine.infer(np.ascontiguousarray(misread))["maps"]
        runs.append((frame.inputs, {"maps": board.spec.pack(maps)}))
    report = nl.validate(nl.Recording(given.specs, runs, given.meta), board.engine)
    output = report.outputs["maps"]
    assert output.verdict == "preprocessing" and str(output.fix["target"].layout) == "NHWC", str(output)
    assert output.fix["target"].channels == "BGR" and "bytes read as" in output.why


@pytest.mark.parametrize("done", [{"resize": "stretch"}, {"pad_value": 0}, {"mean": [0.0] * 3, "std": [255.0] * 3}])
def test_other_causes_beside_channels(board: Board, done: dict[str, Any]) -> None:
    """What else was done to an input whose channels are stated is found in the input, and has nothing of colours."""
    report = nl.validate(recording(board, image("floats"), buffer=lambda s, f: written(s, f, **done)), board.engine)
    assert report.outputs["maps"], str(report)
    made = report.inputs["image"]
    assert made.verdict == "preprocessing" and made.fix is not None and "target" not in made.fix, str(made)
    assert {k: made.fix[k] for k in done} == done and "channels=" not in made.why


def test_what_is_not_about_colours_stays() -> None:
    judgement = Judgement("preprocessing", {**PRE, "resize": "stretch"}, "It is so.", "Fix it.")
    others = {
        "a": judgement,
        "b": judgement._replace(fix={**PRE, "color": "BGR", "resize": "stretch"}),
        "c": judgement._replace(fix={**PRE, "color": "BGR", "target": nl.TensorSpec(SHAPE)}),
        "d": Judgement("match", None, "All is well."),
        "e": Judgement("layout", nl.TensorSpec(SHAPE), "Another."),
    }
    assert runtime_exchanges(others, {}, {"preprocess": PRE}) == (others, {})
    assert runtime_exchanges({"a": judgement}, {}, {}) == ({"a": judgement}, {})
    assert runtime_exchanges({"a": judgement}, {}, {"preprocess": {"color": "GRAY"}}) == ({"a": judgement}, {})


def test_an_input_that_is_wrong_otherwise_is_not_the_cause(board: Board) -> None:
    """The outputs are those of exchanged colours, and the input is of a stretched frame: both keep what they say."""
    spec = image("floats")
    made = recording(board, spec, undeclared(spec), buffer=lambda s, f: written(s, f, resize="stretch", color="BGR"))
    inputs = recorded_inputs(made).reports
    judgement = Judgement("preprocessing", {**PRE, "color": "BGR"}, "It is so.", agreement="Both agree.")
    judgements, after = runtime_exchanges({"maps": judgement}, inputs, made.meta)
    assert after == inputs and judgements["maps"].fix == judgement.fix and "channels=" in judgements["maps"].why
    stretched = replace(inputs["image"], fix={**PRE, "color": "BGR", "resize": "stretch"})
    assert runtime_exchanges({"maps": judgement}, {"image": stretched}, made.meta)[1] == {"image": stretched}


def test_the_page_shows_the_fix(board: Board, tmp_path: Path) -> None:
    spec = image("pixels")
    report = nl.validate(recording(board, spec, undeclared(spec)), board.engine)
    report.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.count("channels=&#x27;BGR&#x27;") >= 4 or page.count("channels='BGR'") >= 4
    assert "not checked" not in page
    report = nl.validate(recording(board, spec, frames=False), board.engine)
    report.to_html(tmp_path / "report.html")
    assert "input: not checked, no camera frame recorded" in (tmp_path / "report.html").read_text("utf-8")
    assert (
        json.loads(report.to_json())["unchecked"] == report.unchecked == "input: not checked, no camera frame recorded"
    )
