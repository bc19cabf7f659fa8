"""Polygraphy's files and ours: Polygraphy itself writes and reads what is checked here."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import exchange
from tests.support.exchanged import HEAT, SNAPSHOT, equal, fingerprint, npy, recording, unpacked


def test_polygraphy_reads_what_is_exported(tmp_path: Path) -> None:
    from polygraphy.comparator import RunResults
    from polygraphy.json import load_json

    original = recording()
    exchange.save(original, tmp_path / "out", form="polygraphy")
    feeds, results = (
        load_json(str(tmp_path / "out" / "inputs.json")),
        RunResults.load(str(tmp_path / "out/outputs.json")),
    )
    assert list(results.keys()) == ["npu_layout"] and len(feeds) == len(results["npu_layout"]) == 3
    for (inputs, outputs), feed, result in zip(unpacked(original), feeds, results["npu_layout"]):
        equal({k: np.asarray(v) for k, v in inputs.items()}, feed)
        equal(outputs, dict(result.items()))
    again = exchange.load(tmp_path / "out")
    assert again.meta == {"source": {"form": "polygraphy"}} and len(again) == 3
    for (inputs, outputs), frame in zip(unpacked(original), again):
        equal({k: np.asarray(v) for k, v in inputs.items()}, frame.inputs)
        equal(outputs, frame.outputs)
    assert again.specs["heat"] == nl.TensorSpec((1, 17, 4, 5), name="heat")


def test_polygraphy_files_are_read(tmp_path: Path) -> None:
    from polygraphy.comparator import RunResults
    from polygraphy.json import save_json

    rng = np.random.default_rng(0)
    feeds = [{"x": rng.standard_normal((1, 3, 2, 2)).astype(np.float32)} for _ in range(3)]
    answers = [{"y": rng.integers(-9, 9, HEAT.size).astype(np.int8), "z": np.array(i)} for i in range(3)]
    results = RunResults()
    results.add(answers, runtime=0.1, runner_name="npu")
    results.save(str(tmp_path / "o.json"))
    save_json(feeds, str(tmp_path / "i.json"))
    for k in range(3):  # as newer versions do where the path has no extension
        single = RunResults()
        single.add(answers[k : k + 1], runner_name="npu")
        (tmp_path / "numbered" / "o").mkdir(parents=True, exist_ok=True)
        (tmp_path / "numbered" / "i").mkdir(exist_ok=True)
        single.save(str(tmp_path / "numbered" / "o" / f"{k:010d}.json"))
        save_json(feeds[k], str(tmp_path / "numbered" / "i" / f"{k:010d}.json"))
    before = fingerprint(tmp_path)
    heat = {"y": HEAT}
    for loaded in (
        exchange.load(tmp_path / "o.json", inputs=tmp_path / "i.json", specs=heat),
        exchange.load(tmp_path / "numbered", specs=heat),
        exchange.load(tmp_path / "numbered" / "o", form="polygraphy", inputs=tmp_path / "numbered" / "i", specs=heat),
    ):
        assert len(loaded) == 3 and loaded.specs["y"] is HEAT
        for frame, feed, answer in zip(loaded, feeds, answers):
            equal(frame.inputs, feed)
            equal(frame.outputs, answer)
    assert exchange.load(tmp_path / "o.json").frames[0].inputs == {}
    assert fingerprint(tmp_path) == before

    results.add(answers[:1], runner_name="onnxrt")
    results.save(str(tmp_path / "two.json"))
    assert len(exchange.load(tmp_path / "two.json", runner="onnxrt")) == 1
    for path, more, says in (
        ("two.json", {}, "expected one runner, and it has 'npu', 'onnxrt'; import one of them with runner="),
        ("two.json", {"runner": "trt"}, "no runner is called 'trt', and it has"),
        (
            "two.json",
            {"runner": "onnxrt", "inputs": tmp_path / "i.json"},
            "as many iterations of inputs as of outputs, 1, got 3",
        ),
        ("i.json", {}, "0 RunResults"),
        ("o.json", {"inputs": tmp_path / "o.json"}, "expected one of each"),
        ("o.json", {"inputs": tmp_path / "never.json"}, "never.json: expected a file or a folder"),
        (".", {"form": "polygraphy", "runner": "npu"}, "2 RunResults"),
        ("o.json", {"specs": {"q": HEAT}}, "no 'q'"),
        ("o.json", {"specs": {"z": HEAT}}, "output 'z'"),
    ):
        with pytest.raises(nl.RecordingError, match=says):
            exchange.load(tmp_path / path, **more)


def test_hostile_polygraphy_json(tmp_path: Path) -> None:
    def results(array: Any) -> dict[str, Any]:
        lazy = {"y": {"values": array, "polygraphy_class": "LazyArray"}}
        iteration = {"outputs": lazy, "runtime": None, "runner_name": "r", "polygraphy_class": "IterationResult"}
        return {"lst": [["r", [iteration]]], "polygraphy_class": "RunResults"}

    def encoded(content: bytes, kind: str = "ndarray") -> dict[str, str]:
        return {"array": base64.b64encode(content).decode(), "polygraphy_class": kind}

    good, pickled = npy(np.zeros((1, 2), np.float32)), tmp_path / "p.npy"
    np.save(pickled, np.array([{}]), allow_pickle=True)
    file = tmp_path / "o.json"
    file.write_text(json.dumps(results(encoded(good))))
    assert len(exchange.load(file)) == 1
    file.write_text(file.read_text().replace("LazyArray", "LazyNumpyArray"))  # its name in older versions
    assert len(exchange.load(file)) == 1
    huge = good.replace(b"(1, 2)", b"(1<<40")
    for content, says in (
        (json.dumps(results(encoded(pickled.read_bytes()))), "dtype object"),
        (json.dumps(results(encoded(good.replace(b"(1, 2), ", b"(9**9,),")))), "output 'y'"),
        (json.dumps(results(encoded(good.replace(b"(1, 2)", b"(1,99)")))), "8 bytes follow the header; .* takes 396"),
        (json.dumps(results(encoded(huge))), "output 'y'"),
        (json.dumps(results(encoded(good[:-1]))), "7 bytes follow"),
        (json.dumps(results(encoded(b"PK\3\4"))), "output 'y'"),
        (json.dumps(results(encoded(good, "Tensor"))), "pickled"),
        (json.dumps(results({"array": "@@", "polygraphy_class": "ndarray"})), "output 'y'"),
        (json.dumps(results(None)), "output 'y'"),
        (json.dumps(results([])), "output 'y'"),
        (json.dumps({"lst": [], "polygraphy_class": "RunResults"}), "expected one runner, and it has none$"),
        (json.dumps({"lst": [["r", []]], "polygraphy_class": "RunResults"}), "no frames"),
        (json.dumps({"lst": [["r", 3]], "polygraphy_class": "RunResults"}), "o.json"),
        (json.dumps({"polygraphy_class": "AccuracyResult"}), "AccuracyResult"),
        ("[" * 10**6, "not JSON"),
        ("{", "not JSON"),
        ("3", "expected RunResults"),
        ("", "not JSON"),
    ):
        file.write_text(content)
        with pytest.raises(nl.RecordingError, match=says) as refused:
            exchange.load(file, form="polygraphy")
        assert str(file) in str(refused.value)


def test_the_polygraphy_command_both_ways(tmp_path: Path) -> None:
    """Its run of a model comes in with the values that onnxruntime gives, and what goes out passes its comparison."""
    command = [
        sys.executable,
        "-c",
        "from polygraphy.tools import main; main()",
        "run",
        str(SNAPSHOT / "model.onnx"),
        "--onnxrt",
    ]
    saved = ["--iterations", "2", "--save-inputs", str(tmp_path / "i.json"), "--save-outputs", str(tmp_path / "o.json")]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    subprocess.run([*command, *saved], check=True, capture_output=True, env=environment)
    loaded = exchange.load(tmp_path / "o.json", inputs=tmp_path / "i.json")
    engine = nl.OnnxRuntimeEngine(SNAPSHOT / "model.onnx")
    assert len(loaded) == 2 and list(loaded.frames[0].inputs) == ["im age", "k"]
    for frame in loaded:
        equal(engine.infer(frame.inputs), frame.outputs)
    npu = nl.SimulatedNpu(
        SNAPSHOT / "model.onnx",
        outputs=[
            nl.TensorSpec((1, 4, 5, 6), "NHWC8c", "int16", quantization=nl.Quantization(1e-4), name="heat/out:0"),
            nl.TensorSpec((1, 1, 5, 6), "NCHW4c", "int64", name="arg"),
        ],
    )
    specs = npu.output_specs
    named = specs if isinstance(specs, dict) else {spec.name: spec for spec in specs}
    recorded = nl.Recording(named, [(frame.inputs, npu.infer(frame.inputs)) for frame in loaded])
    exchange.save(recorded, tmp_path / "out", form="polygraphy")
    files = ["--load-inputs", str(tmp_path / "out/inputs.json"), "--load-outputs", str(tmp_path / "out/outputs.json")]
    ran = subprocess.run([*command, *files, "--atol", "1e-3"], capture_output=True, text=True, env=environment)
    assert ran.returncode == 0 and "PASSED" in ran.stdout + ran.stderr, ran.stdout + ran.stderr


def test_numbered_files_are_paired_by_their_numbers(tmp_path: Path) -> None:
    """Outputs of iteration 2 are never beside the inputs of iteration 1, whatever is missing or not padded."""

    def array(k: int) -> dict[str, str]:
        return {"array": base64.b64encode(npy(np.full(2, k, np.float32))).decode(), "polygraphy_class": "ndarray"}

    def write(kind: str, names: dict[str, int]) -> None:
        for file in (tmp_path / kind).glob("*") if (tmp_path / kind).exists() else []:
            file.unlink()
        (tmp_path / kind).mkdir(exist_ok=True)
        for name, k in names.items():
            lazy = {"y": {"values": array(k), "polygraphy_class": "LazyArray"}}
            result = {"outputs": lazy, "runtime": None, "runner_name": "r", "polygraphy_class": "IterationResult"}
            results = {"lst": [["r", [result]]], "polygraphy_class": "RunResults"}
            (tmp_path / kind / f"{name}.json").write_text(json.dumps({"x": array(k)} if kind == "i" else results))

    write("i", {f"{k:010d}": k for k in range(11)})
    write("o", {str(k): k for k in range(11)})
    loaded = exchange.load(tmp_path, form="polygraphy")
    assert [(run.inputs["x"][0], run.outputs["y"][0]) for run in loaded] == [(k, k) for k in range(11)]
    for names, says in (
        (("0000000000", "0000000002", "0000000003"), "iteration 1 is missing, 0000000002.json is there"),
        (("0000000001", "0000000002"), "iteration 0 is missing"),
        (("0", "1", "0000000001"), "iteration 1 is there twice"),
        (("0000000000", "notes"), "expected files 0000000000.json and so on, one an iteration, got notes.json"),
    ):
        write("o", {name: k for k, name in enumerate(names)})
        with pytest.raises(nl.RecordingError, match=says):
            exchange.load(tmp_path, form="polygraphy")
