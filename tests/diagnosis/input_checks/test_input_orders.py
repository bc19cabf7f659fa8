"""Inputs that were fed in each other's place are named; boards without that fault are not accused of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.input_orders import exchanges
from tests.support.two_inputs import SHAPE, embedding, matcher, pictures, recording, siamese

COUNT = 6
NAMES = ("left", "right")
EXCHANGED = {"left": "right", "right": "left"}


@pytest.fixture(scope="module")
def engine() -> nl.OnnxRuntimeEngine:
    return nl.OnnxRuntimeEngine(matcher(), threads=1)


def unlike() -> list[dict[str, np.ndarray]]:
    return [dict(zip(NAMES, pair)) for pair in zip(pictures(COUNT), pictures(COUNT, 100))]


def swapped(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"left": given["right"], "right": given["left"]}


@pytest.mark.parametrize("noise_db", [40, 15])
def test_two_inputs_exchanged(engine: nl.OnnxRuntimeEngine, noise_db: float) -> None:
    report = nl.validate(recording(engine, unlike(), swapped, noise_db), engine)
    assert not report and report.verdict == "input_order" and report.unchecked == "", str(report)
    for output in report.outputs.values():
        assert output.verdict == "input_order" and output.fix == EXCHANGED, str(report)
    assert list(report.inputs) == ["left", "right"]
    for found in report.inputs.values():
        assert (found.verdict, found.fix, found.frames) == ("input_order", None, tuple(range(COUNT)))
        assert found.spec.shape == SHAPE and not found
        says = "Inputs were exchanged: 'left' and 'right' were fed in each other's place. With that, device and model"
        assert found.why.startswith(says)
        assert "Fix: give each input to the accelerator by its name" in found.why
    written = json.loads(report.to_json())
    assert written["inputs"]["left"]["verdict"] == "input_order" and written["outputs"]["maps"]["fix"] == EXCHANGED
    assert "fix: rename inputs {'left': 'right', 'right': 'left'}" in str(report.outputs["maps"])


def test_the_fix_is_right(engine: nl.OnnxRuntimeEngine) -> None:
    wrong = recording(engine, unlike(), swapped)
    fix = nl.validate(wrong, engine).outputs["maps"].fix
    pairs = [({fix.get(k, k): x for k, x in f.inputs.items()}, f.outputs) for f in wrong.frames]
    assert nl.validate(nl.Recording(wrong.specs, pairs), engine)


def test_one_frame_suffices(engine: nl.OnnxRuntimeEngine) -> None:
    report = nl.validate(recording(engine, unlike()[:1], swapped, 20), engine)
    assert {f.verdict for f in report.findings} == {"input_order"}, str(report)


def test_the_page(engine: nl.OnnxRuntimeEngine, tmp_path: Path) -> None:
    nl.validate(recording(engine, unlike(), swapped), engine).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text().replace("&#x27;", "'").replace("&#39;", "'")
    assert "Verdict: input order" in page and "input left is not what was declared" in page
    assert "inputs = {names.get(name, name): value for name, value in inputs.items()}" in page
    assert "what the model and the device return" in page and "The model's answer:" in page


def test_stored_bytes_are_read_by_the_spec_of_their_place(engine: nl.OnnxRuntimeEngine) -> None:
    """Of other layouts and scales, as long as the bytes are as many."""
    specs = {
        "left": nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=nl.Quantization(0.02, 3)),
        "right": nl.TensorSpec(SHAPE, "NHWC", "uint8", quantization=nl.Quantization(0.025, 120)),
    }

    def stored(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: specs[name].pack(x) for name, x in given.items()}

    def fed(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        packed = stored(given)
        return {
            "left": specs["left"].unpack(packed["right"].view(np.int8)),
            "right": specs["right"].unpack(packed["left"].view(np.uint8)),
        }

    def as_declared(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: specs[name].unpack(x) for name, x in stored(given).items()}

    report = nl.validate(recording(engine, unlike(), fed, 30, specs, stored), engine)
    assert report.outputs["maps"].fix == EXCHANGED and report.inputs["left"].verdict == "input_order", str(report)
    assert report.inputs["right"].spec == specs["right"]
    report = nl.validate(recording(engine, unlike(), as_declared, 30, specs, stored), engine)
    assert report and not report.inputs, str(report)


def test_three_inputs() -> None:
    """In turn: an output that shows less of it does not say otherwise."""
    names = ("a", "b", "c")
    engine = nl.OnnxRuntimeEngine(matcher(names), threads=1)
    inputs = [dict(zip(names, x)) for x in zip(*(pictures(COUNT, 50 * k) for k in range(3)))]
    turned = recording(engine, inputs, lambda x: {"a": x["c"], "b": x["a"], "c": x["b"]})
    report = nl.validate(turned, engine)
    assert report.outputs["maps"].fix == {"a": "b", "b": "c", "c": "a"}, str(report)
    assert "'a' was fed in the place of 'b', 'b' in that of 'c', 'c' in that of 'a'" in report.outputs["maps"].why
    assert [f.verdict for f in report.inputs.values()] == ["input_order"] * 3
    pair = recording(engine, inputs, lambda x: {"a": x["a"], "b": x["c"], "c": x["b"]})
    report = nl.validate(pair, engine)
    assert report.outputs["maps"].fix == {"b": "c", "c": "b"} and report.outputs["first"].verdict == "match"
    assert [*report.inputs] == ["b", "c"]


def test_exchanged_and_read_in_another_scale(engine: nl.OnnxRuntimeEngine) -> None:
    wrong = recording(engine, unlike(), swapped)
    spec = wrong.specs["maps"]
    q = spec.quantization
    assert q is not None
    doubled = nl.TensorSpec.from_dict({**spec.to_dict(), "quantization": nl.Quantization(2 * q.scale, q.zero_point)})
    report = nl.validate(nl.Recording({**wrong.specs, "maps": doubled}, wrong.frames), engine)
    output = report.outputs["maps"]
    assert (output.verdict, output.also) == ("quantization", ("input_order",)), str(report)
    assert report.inputs["left"].verdict == "input_order"


def test_where_exchanged_outputs_are_the_same_it_is_ambiguous() -> None:
    """One convolution for both inputs: exchanged inputs are exchanged outputs."""
    engine = nl.OnnxRuntimeEngine(siamese(), threads=1)
    report = nl.validate(recording(engine, unlike(), swapped), engine)
    for output in report.outputs.values():
        assert output.verdict == "ambiguous" and "fed in each other's place" in output.why, str(report)
        assert "the values are those of the model's output" in output.why
    assert not report.inputs and not report
    assert nl.validate(recording(engine, unlike()), engine)


def near(x: np.ndarray, seed: int) -> np.ndarray:
    """Nearly the same picture, as the second eye sees it."""
    noise = np.random.default_rng(seed).normal(0, 0.02, x.shape)
    return (np.roll(x, 1, 3) + noise).astype(np.float32)


Second = Callable[[np.ndarray, int], np.ndarray]
FAULTLESS: dict[str, Second] = {
    "unlike": lambda x, i: pictures(1, 100 + i)[0],
    "nearly the same": near,
    "the same but for noise": lambda x, i: x + np.random.default_rng(i).normal(0, 0.01, x.shape).astype(np.float32),
    "the same": lambda x, i: x.copy(),
    "dim": lambda x, i: (0.05 * pictures(1, 100 + i)[0]).astype(np.float32),
    "constant": lambda x, i: np.full_like(x, 0.3),
    "black": lambda x, i: np.zeros_like(x),
    "mirrored": lambda x, i: np.ascontiguousarray(x[..., ::-1]),
}


@pytest.mark.parametrize("noise_db", [40, 20, 12, 8])
@pytest.mark.parametrize("what", FAULTLESS)
def test_no_board_without_the_fault_is_accused(engine: nl.OnnxRuntimeEngine, what: str, noise_db: float) -> None:
    inputs = [{"left": x, "right": FAULTLESS[what](x, i)} for i, x in enumerate(pictures(4))]
    report = nl.validate(recording(engine, inputs, noise_db=noise_db), engine)
    assert not report.inputs, str(report)
    allowed = {"match"} if noise_db > 10 else {"match", "mismatch"}  # below the tolerance
    assert {o.verdict for o in report.outputs.values()} <= allowed, str(report)


@pytest.mark.parametrize("what", ["nearly the same", "dim", "constant", "mirrored"])
def test_inputs_that_differ_are_recognised_in_each_others_place(engine: nl.OnnxRuntimeEngine, what: str) -> None:
    inputs = [{"left": x, "right": FAULTLESS[what](x, i)} for i, x in enumerate(pictures(4))]
    report = nl.validate(recording(engine, inputs, swapped, 40), engine)
    assert report.outputs["maps"].verdict == "input_order", str(report)
    assert report.inputs["left"].verdict == report.inputs["right"].verdict == "input_order"


def test_inputs_that_the_model_refuses_in_each_others_place() -> None:
    """Words are beyond the table of kinds: nothing is named, and nothing raised; of equal tables, it can be tried."""
    rng = np.random.default_rng(0)
    for kinds, verdict in ((2, "mismatch"), (50, "input_order")):
        engine = nl.OnnxRuntimeEngine(embedding(50, kinds), threads=1)
        inputs = [
            {"words": rng.integers(kinds - 1, 50, (1, 32)), "kinds": rng.integers(0, kinds, (1, 32))} for _ in "abc"
        ]
        turned = {"words": "kinds", "kinds": "words"}

        def fed(x: dict[str, np.ndarray], turned: Any = turned, kinds: int = kinds) -> dict[str, np.ndarray]:
            return {k: x[of] % kinds for k, of in turned.items()}

        report = nl.validate(recording(engine, inputs, fed), engine)
        assert report.outputs["tokens"].verdict == verdict, str(report)
        assert list(report.inputs) == (["words", "kinds"] if verdict == "input_order" else [])
        assert nl.validate(recording(engine, inputs), engine)


def test_another_models_outputs_are_no_exchange(engine: nl.OnnxRuntimeEngine) -> None:
    other = nl.OnnxRuntimeEngine(matcher(seed=1), threads=1)
    report = nl.validate(recording(other, unlike()), engine)
    assert not report and not report.inputs
    assert {o.verdict for o in report.outputs.values()} <= {"mismatch", "ambiguous"}, str(report)


def test_only_what_fits_is_exchanged() -> None:
    def places(**inputs: Any) -> list[dict[str, str]]:
        return [dict(e.places) for e in exchanges(inputs, list(inputs))]

    image, small = np.zeros((1, 3, 4, 4), np.float32), np.zeros((1, 3, 2, 2), np.float32)
    assert places(search=image, template=small) == places(image=image, frame=image) == places(image=image) == []
    assert places(words=np.zeros((1, 24), np.int64), image=image) == []  # as many bytes, but not as many values
    assert places(a=image, b=np.zeros((1, 4, 4, 3), np.float32)) == [{"a": "b", "b": "a"}]
    assert places(a=np.zeros(0), b=np.zeros(0)) == [] == places(a=np.array(["x"]), b=np.array(["y"]))
    three = places(a=image, b=image, c=image)
    assert len(three) == 5 and {"a": "b", "b": "c", "c": "a"} in three  # every permutation but one
    many = places(**{f"k{i}": small for i in range(24)})
    assert len(many) == 23 + 3 and len(places(**{f"k{i}": small for i in range(8)})) == 28 + 3


def test_each_is_given_the_others_bytes() -> None:
    a, b = np.arange(8, dtype=np.int8).reshape(2, 4), np.arange(248, 256, dtype=np.uint8)
    (one,) = exchanges({"a": a, "b": b}, ["a", "b"])
    assert one.inputs["a"].tolist() == [[-8, -7, -6, -5], [-4, -3, -2, -1]] and one.inputs["a"].dtype == np.int8
    assert one.inputs["b"].tolist() == list(range(8)) and one.inputs["b"].dtype == np.uint8
    assert one.text == "'a' and 'b' were fed in each other's place"


def test_progress_says_that_inputs_are_exchanged(
    engine: nl.OnnxRuntimeEngine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    nl.validate(recording(engine, unlike()[:1], swapped), engine, progress=True)
    err = capsys.readouterr().err
    assert "looking for causes: colours of input 'left': 0 of 4" in err
    assert "looking for causes: order of the inputs: 4 of 4" in err
