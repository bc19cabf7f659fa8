"""Any object that infers is read as an engine; one that contradicts its specs is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import checked_outputs, specs_of
from npu_layout.engines.protocol import by_name
from tests.support import detector

ONE = nl.TensorSpec((1, 3, 2, 2), "NCHW4c", "int8", name="one")
TWO = nl.TensorSpec((1, 2), "NC", name="two")


class Old:
    """As engines were: no input_specs, no close."""

    def __init__(self, specs: Any) -> None:
        self.output_specs = specs


def test_specs_come_as_lists_and_mappings() -> None:
    assert specs_of(Old([ONE, TWO]), "output_specs") == {"one": ONE, "two": TWO}
    assert specs_of(Old({"b": ONE, "a": TWO}), "output_specs") == {"b": ONE, "a": TWO}
    assert specs_of(Old(ONE), "output_specs") == {"one": ONE}
    assert specs_of(Old([ONE]), "input_specs") == {}
    for wrong, words in (
        ([ONE, ONE], "spec 1, .*one.* needs a name of its own"),
        ([ONE.replace(name="")], "spec 0, .* needs a name of its own"),
        ([3], "expected TensorSpecs, got 3"),
        (None, "expected an object with infer and output_specs"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=f"engine Old: .*{words}"):
            specs_of(Old(wrong), "output_specs")


def test_outputs_are_checked_before_they_are_read() -> None:
    engine, specs = Old([ONE, TWO]), {"one": ONE, "two": TWO}
    good = {"two": np.zeros((1, 2), np.float32), "one": bytes(16)}
    assert list(checked_outputs(engine, good, specs)) == ["one", "two"]
    assert checked_outputs(engine, (good["one"], good["two"]), specs)["two"].shape == (2,)
    assert checked_outputs(engine, good["two"], {"two": TWO})["two"].shape == (2,)
    for wrong, words in (
        ({"one": bytes(16)}, "returned the outputs one, expected one, two"),
        ({**good, "three": 1}, "returned the outputs two, one, three, expected one, two"),
        ([bytes(16)], "returned 1 output, expected one, two"),
        (None, "returned None, expected one, two; its runtime's log may say why"),
        ({**good, "one": bytes(15)}, "output one: .*15 bytes"),
        ({**good, "two": np.zeros(2, np.int16)}, "output two: "),
        ({**good, "two": None}, "output two: "),
    ):
        with pytest.raises(nl.NpuLayoutError, match=f"engine Old: {words}"):
            checked_outputs(engine, wrong, specs)


def test_inputs_are_given_by_name_or_alone() -> None:
    one, two = np.zeros(1), np.zeros(2)
    assert by_name("m", ["x"], one)["x"] is one and by_name("m", ["x"], {"x": one})["x"] is one
    assert by_name("m", ["x", "y"], {"y": two, "x": one}) == {"x": one, "y": two}
    for names, wrong, words in (
        (["x", "y"], one, r"m has 2 inputs: expected \{name: array\} for x, y"),
        (["x", "y"], {"x": one}, "m has the inputs x, y; got x$"),
        (["x"], {"x": one, "z": two}, "m has the inputs x; got x, z$"),
        (["x"], {}, "m has the inputs x; got none$"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            by_name("m", names, wrong)


def test_onnxruntime_and_the_simulation_are_engines() -> None:
    engine = nl.OnnxRuntimeEngine(detector.detector(), threads=1)
    npu = nl.SimulatedNpu(engine, list(detector.specs().values()))
    x = np.zeros((1, 3, 64, 64), np.float32)
    for one in (engine, npu):
        assert isinstance(one, nl.Engine) and one.owns_outputs is False
        first = one.infer(x)
        out = {name: np.empty_like(array) for name, array in first.items()}
        again = one.infer(x, out=out)
        assert all(again[name] is out[name] and np.array_equal(out[name], first[name]) for name in first)
        other = out["box"].reshape(2, -1)  # as many elements
        for wrong in (
            {},
            {**out, "boxes": out["box"]},
            {**out, "box": out["box"][..., :1]},
            {**out, "box": other},
            {**out, "box": out["box"].astype(np.float64)},
            3,
        ):
            with pytest.raises(nl.NpuLayoutError, match="out: "):
                one.infer(x, out=wrong)  # type: ignore[arg-type]
    with npu as same:
        assert same is npu
    npu.close()
    for one in (engine, npu):
        with pytest.raises(nl.NpuLayoutError, match="the engine is closed"):
            one.infer(x)


def test_recorders_take_the_engines_input_specs(tmp_path: Any) -> None:
    """A quantised NHWC input is described in the recording, without a word of the caller."""
    source = nl.TensorSpec((1, 3, 64, 64), "NHWC", "uint8", quantization=nl.Quantization(1 / 255), name="image")
    npu = nl.SimulatedNpu(detector.detector(), list(detector.specs().values()), [source])
    preprocess = nl.Preprocessor(source, color="RGB", mean=0, std=255)
    with nl.Recorder(npu, tmp_path / "r", preprocess=preprocess) as recorder:
        for i in range(4):
            frame = detector.squares(i)[0]
            recorder.infer(preprocess(frame)[0], frame=frame)
    recording = nl.Recording.load(tmp_path / "r")
    assert recording.specs["image"] == source
    assert nl.validate(recording, detector.detector(), head=detector.HEAD)
    other = source.replace(quantization=nl.Quantization(1 / 128))
    with nl.Recorder(npu, tmp_path / "s", input_specs=[other]) as recorder:
        recorder.infer(preprocess(detector.squares(0)[0])[0])
    assert nl.Recording.load(tmp_path / "s").specs["image"] == other


def test_what_is_no_engine_is_refused_with_what_to_give() -> None:
    for given, says in (
        ("m.onnx", r"give open_engine\('m.onnx'\)"),
        ([nl.SimulatedNpu] * 2, "give EnginePool"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            specs_of(given, "output_specs")
