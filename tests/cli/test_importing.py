"""npu-layout import: what another tool wrote becomes a recording."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import PRE, Board
from tests.support.command_line import ran


@pytest.fixture(scope="module")
def board() -> Board:
    return Board(frames=4)


@pytest.mark.parametrize("form", ["raw", "polygraphy", "onnx"])
@pytest.mark.parametrize("named", [True, False])
def test_there_and_back(here: Path, board: Board, capsys: pytest.CaptureFixture[str], form: str, named: bool) -> None:
    assert ran(capsys, "export", "good", "theirs", "--form", form)[:2] == (0, "theirs: 4 frames\n")
    status, out, err = ran(capsys, "import", "theirs", "again", *(["--form", form] if named else []))
    assert (status, out) == (0, "again: 4 frames\n"), err
    again = nl.Recording.load("again")
    (name,) = again.outputs
    read = again.specs[name].unpack(again.frames[2].outputs[name])
    np.testing.assert_allclose(read, board.spec.unpack(board.spec.pack(board.answers[2]["maps"])), rtol=1e-6)
    assert (again.meta.get("preprocess") == PRE) == (form == "raw")
    assert ran(capsys, "validate", "again", "model.onnx")[0] == 0


def test_specs_of_flat_buffers(here: Path, board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    """Dumps of flat bytes, and a file that describes them."""
    Path("dumps").mkdir()
    for i, (x, answer) in enumerate(zip(board.inputs, board.answers)):
        np.save(f"dumps/image_{i}.npy", x)
        board.spec.pack(answer["maps"]).tofile(f"dumps/maps_{i}.bin")
    words = {"inputs": {"image": {"file": "image_*.npy"}}, "outputs": {"maps": {"file": "maps_*.bin", "shape": [4608]}}}
    words["outputs"]["maps"].update(dtype="int8", layout="N")
    Path("words.json").write_text(json.dumps(words))
    Path("specs.json").write_text(json.dumps({"maps": board.spec.to_dict()}))
    how = ["--description", "words.json", "--specs", "specs.json"]
    status, _, err = ran(capsys, "import", "dumps", "new", "--form", "raw", *how)
    assert status == 0, err
    assert str(nl.Recording.load("new").specs["maps"].layout) == "NCHW16c"
    assert ran(capsys, "validate", "new", "model.onnx")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["import", "nowhere", "new"],
        ["import", "good", "new"],
        ["import", "good", "new", "--form", "tar"],
        ["import", "theirs", "good"],
        ["import", "theirs", "new", "--runner", "trt"],
        ["import", "theirs", "new", "--specs", "nowhere.json"],
        ["export", "nowhere", "new", "--form", "raw"],
        ["export", "good", "new", "--form", "tar"],
        ["export", "good", "new", "--form", "rknn"],
        ["export", "good", "good", "--form", "raw"],
        ["export", "good", "new", "--form", "raw", "--model", "model.onnx"],
        ["export", "good", "new", "--form", "onnx", "--model", "nowhere.onnx"],
    ],
    ids=" ".join,
)
def test_bad_input(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert ran(capsys, "export", "good", "theirs", "--form", "raw")[0] == 0
    before = sorted(here.rglob("*"))
    status, out, err = ran(capsys, *arguments)
    _, *sentence = err.splitlines()
    assert status == 2 and out == "" and len(sentence) == 1 and "defect" not in err and "Error" not in err, err
    assert sorted(here.rglob("*")) == before
