"""npu-layout inspect: what a recording, a model or specs contain, as tables and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.boards import PRE
from tests.support.command_line import ran


def test_inspect(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ran(capsys, "inspect", "good")
    lines = [line.split() for line in out.splitlines()]
    assert status == 0 and lines[0][:2] == ["5", "frames"]
    assert ["input", "image", "1x3x48x48", "float32", "27648"] in lines and [
        "input",
        "frame",
        "60x90x3",
        "uint8",
        "16200",
    ] in lines
    maps = next(line for line in lines if line[0] == "maps")
    assert maps[1:5] == ["1x19x12x12", "NCHW", "NCHW16c", "int8"] and maps[7:] == [
        "1x2x12x12x16",
        "1872",
        "of",
        "4608",
        "4608",
    ]
    shown = json.loads(ran(capsys, "inspect", "good", "--json")[1])
    assert shown["frames"] == 5 and shown["specs"]["maps"]["padding"] == 1872 and shown["meta"]["preprocess"] == PRE
    assert [a["name"] for a in shown["arrays"]] == ["image", "frame", "maps"]
    assert "1x19x12x12" in ran(capsys, "inspect", "model.onnx")[1]
    assert json.loads(ran(capsys, "inspect", "model.onnx", "--json")[1])["tensors"][0] == {
        "kind": "input", "name": "image", "shape": [1, 3, 48, 48], "dtype": "float32",
    }  # fmt: skip
    by_file, by_text = (
        ran(capsys, "inspect", *how)[1] for how in (["spec.json"], ["--spec", Path("spec.json").read_text()])
    )
    assert by_file == by_text and "14812 of 135424" in by_file
    single = json.dumps(
        {
            "shape": [1, 5, 2, 2],
            "layout": "NHWC",
            "dtype": "int8",
            "quantization": {"scale": [0.5] * 5, "zero_point": 0, "axis": 1},
        }
    )
    assert "0.5..0.5 (5)" in ran(capsys, "inspect", "--spec", single)[1]


def test_inspect_shows_the_channels_of_a_buffer(capsys: pytest.CaptureFixture[str]) -> None:
    stated, plain = (
        {"shape": [1, 3, 2, 2], "layout": "NHWC", "dtype": "uint8", **more} for more in ({"channels": "BGR"}, {})
    )
    head, first, second, *_ = ran(capsys, "inspect", "--spec", json.dumps({"a": stated, "b": plain}))[1].splitlines()
    assert head.split()[-1] == "channels" and first.split()[-1] == "BGR" and second.split()[-1] == "12"
    assert "channels" not in ran(capsys, "inspect", "--spec", json.dumps({"b": plain}))[1]
    shown = json.loads(ran(capsys, "inspect", "--spec", json.dumps({"a": stated, "b": plain}), "--json")[1])
    assert shown["specs"]["a"]["channels"] == "BGR" and "channels" not in shown["specs"]["b"]
    status, _, err = ran(capsys, "inspect", "--spec", json.dumps({**stated, "channels": "GBR"}))
    assert status == 2 and "channels: expected 'BGR' or 'RGB'" in err
