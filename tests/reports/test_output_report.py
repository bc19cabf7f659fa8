"""The report of one output: text and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout.comparison import Clamped
from npu_layout.reports.words import clamped
from tests.support.boards import Board
from tests.support.pages import read


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def identity(shape: tuple[int, ...], kind: int) -> nl.OnnxRuntimeEngine:
    """A model that returns its input."""
    x, y = (helper.make_tensor_value_info(name, kind, list(shape)) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return nl.OnnxRuntimeEngine(model.SerializeToString())


def test_what_is_clamped(board: Board, tmp_path: Path) -> None:
    report = nl.validate(board.recording(), board.engine)
    output = report.outputs["maps"]
    assert output.figures is not None
    values = output.figures.values
    for found, ends in ((Clamped(2, 3, 0.5, 6.25), "-128 or 127"), (Clamped(5, 0, 0.5, 6.25), "-128")):
        changed = replace(output, clamped=found)
        words = clamped(found, values, output.spec)
        assert f"clamped: 5 of {values} values" in words and f"stored as {ends}, an end of int8" in words
        assert "by up to 0.5 (6.2 steps)" in words and words in str(changed) and "clamped" not in str(output)
        assert json.loads(json.dumps(changed.to_dict()))["clamped"] == found._asdict()
        page = read(replace(report, outputs={"maps": changed}), tmp_path)
        assert words[1:] in page.text


@pytest.mark.parametrize("size", [3e307, 1e-310])
def test_figures_beyond_float64_are_written(size: float, tmp_path: Path) -> None:
    """The squares of such values are infinite or 0, and JSON has no infinity."""
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal((1, 3, 8, 8)) * size for _ in range(4)]
    spec = nl.TensorSpec((1, 3, 8, 8), dtype="float64", name="y")
    frames = [({"x": x}, {"y": spec.pack(-x)}) for x in xs]
    report = nl.validate(nl.Recording({"y": spec}, frames), identity((1, 3, 8, 8), TensorProto.DOUBLE))
    written = json.loads(report.to_json(tmp_path / "report.json"), parse_constant=lambda name: pytest.fail(name))
    assert not report and set(written["outputs"]["y"]["figures"]) == set(report.outputs["y"].figures._fields)
    report.to_html(tmp_path / "report.html")
    assert "Figures" in (tmp_path / "report.html").read_text("utf-8")


def test_values_that_no_scale_can_express(tmp_path: Path) -> None:
    """Denormal numbers of float32 are compared as others are."""
    rng = np.random.default_rng(0)
    xs = [(rng.standard_normal((1, 10)) * 1e-42).astype(np.float32) for _ in range(5)]
    spec = nl.TensorSpec((1, 10), "NC", name="y")
    frames = [({"x": x}, {"y": spec.pack(x)}) for x in xs]
    assert nl.validate(nl.Recording({"y": spec}, frames), identity((1, 10), TensorProto.FLOAT)).verdict == "match"
