"""npu-layout inspect: what a recording, a model or specs contain, as tables and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import PRE
from tests.support.command_line import COMMAND, ran
from tests.support.directions import outside_of_isolates


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


NAMES = ("a\ud800b", "\udcff", "caf\u00e9 \u65e5", "\u202eabc", "x\x1b[31mred\x07")


@pytest.mark.once
@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
@pytest.mark.parametrize("utf8", ["0", "1"])
def test_any_name_in_any_locale(here: Path, locale: str, utf8: str) -> None:
    """Python's stdout escapes halves of surrogate pairs in no locale, and in the C locale not even letters."""
    specs = {name: nl.TensorSpec((1, 2, 2, 2), "NCHW", "int8", name=name) for name in NAMES}
    run = ({"in\ud800": np.zeros((1, 3), np.float32)}, {name: np.arange(8, dtype=np.int8) for name in NAMES})
    nl.Recording(specs, [run], {"note": "\ud800\u202e"}).save("hostile")
    Path("hostile.json").write_text(json.dumps({name: spec.to_dict() for name, spec in specs.items()}))
    settings = {"LC_ALL": locale, "PYTHONUTF8": utf8, "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    for path in ("hostile", "hostile.json"):
        for more in ([], ["--json"]):
            done = subprocess.run(
                [*COMMAND, "inspect", path, *more], env={**os.environ, **settings}, capture_output=True, timeout=60
            )
            assert done.returncode == 0 and b"defect" not in done.stderr, done.stderr
            if more:
                given = json.loads(done.stdout)
                assert list(given["specs"]) == list(NAMES)
            else:
                assert rb"a\ud800b" in done.stdout and rb"x\x1b[31mred\x07" in done.stdout
                assert b"\x1b" not in done.stdout and b"abc" in done.stdout
                assert not outside_of_isolates(done.stdout.decode())


def test_columns_stay_aligned_beside_names_with_marks(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs = {name: nl.TensorSpec((1, 2, 2, 2), "NCHW", "int8") for name in ("\u202eab", "abcdef", "\u05d0\u05d1")}
    Path("specs.json").write_text(json.dumps({name: spec.to_dict() for name, spec in specs.items()}))
    status, out, _ = ran(capsys, "inspect", "specs.json")
    lines = ["".join(c for c in line if unicodedata.category(c) != "Cf") for line in out.splitlines()]
    assert status == 0 and len({line.index(word) for line, word in zip(lines, ["shape", *["1x2x2x2"] * 3])}) == 1


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


ENGINE = """
import npu_layout as nl

class Board:
    input_specs = [nl.TensorSpec((1, 3, 4, 4), "NHWC", "uint8", name="image")]
    output_specs = {"y": nl.TensorSpec((1, 17, 2, 2), "NCHW16c", "int8", name="y")}
    closed = False

    def infer(self, inputs):
        return {}

    def close(self):
        Board.closed = True
"""


def test_a_compiled_model_by_its_runtime(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("inspected_board.py").write_text(ENGINE)
    status, out, _ = ran(capsys, "inspect", "inspected_board:Board")
    assert status == 0 and [line.split()[:2] for line in out.splitlines() if "1x" in line] == [
        ["image", "1x3x4x4"],
        ["y", "1x17x2x2"],
    ]
    assert sys.modules["inspected_board"].Board.closed
    shown = json.loads(ran(capsys, "inspect", "inspected_board:Board", "--json")[1])
    assert shown["input_specs"]["image"]["dtype"] == "uint8" and shown["output_specs"]["y"]["padding"] == 15 * 4
    status, out, _ = ran(capsys, "inspect", "onnx:model.onnx", "--engine-option", "threads=1")
    assert status == 0 and "maps" in out
    status, _, err = ran(capsys, "inspect", "onnx:model.onnx", "--engine-option", "cores=1")
    assert status == 2 and "options {'cores': 1}" in err


def test_what_is_no_recording_and_no_model(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, says in (
        ("images", "images: expected a recording, got a folder without recording.json; npu-layout import makes"),
        ("images/0.png", "expected a recording, a model or TensorSpecs (.json), got a file .png"),
        ("heat.npy", "got a file .npy"),
        ("nowhere", "nowhere: no such file or folder"),
        ("", "PATH: expected the path of a recording, a model or TensorSpecs (.json), got ''"),
    ):
        status, out, err = ran(capsys, "inspect", path)
        assert status == 2 and says in err and not out, err
