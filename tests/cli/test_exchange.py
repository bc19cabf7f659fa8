"""npu-layout import and export: what another tool wrote, and for it."""

from __future__ import annotations

import json
import os
import re
import resource
from pathlib import Path

import cv2
import numpy as np
import pytest

import npu_layout as nl
from tests.cli.test_cli import ran
from tests.support.boards import PRE, Board, network


@pytest.fixture(scope="module")
def board() -> Board:
    return Board(frames=4)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, board: Board) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(network())
    board.recording().save("good")
    return tmp_path


@pytest.mark.parametrize("form", ["raw", "polygraphy", "onnx"])
@pytest.mark.parametrize("told", [True, False])
def test_there_and_back(here: Path, board: Board, capsys: pytest.CaptureFixture[str], form: str, told: bool) -> None:
    assert ran(capsys, "export", "good", "theirs", "--form", form)[:2] == (0, "theirs: 4 frames\n")
    status, out, err = ran(capsys, "import", "theirs", "again", *(["--form", form] if told else []))
    assert (status, out) == (0, "again: 4 frames\n"), err
    again = nl.Recording.load("again")
    (name,) = again.outputs
    read = again.specs[name].unpack(again.frames[2].outputs[name])
    np.testing.assert_allclose(read, board.spec.unpack(board.spec.pack(board.answers[2]["maps"])), rtol=1e-6)
    assert (again.meta.get("preprocess") == PRE) == (form == "raw")
    assert ran(capsys, "validate", "again", "model.onnx")[0] == 0


def test_export_for_a_model(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then the camera's frame, which the model does not take, is left out, and the names are its own."""
    assert ran(capsys, "export", "good", "theirs", "--form", "onnx", "--model", "model.onnx")[0] == 0
    status, _, err = ran(capsys, "import", "theirs", "again", "--model", "model.onnx")
    assert status == 0 and [*nl.Recording.load("again").frames[0].inputs] == ["image"], err


def test_specs_of_flat_buffers(here: Path, board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    """Dumps of flat bytes, and a file that says what they hold."""
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


@pytest.mark.parametrize(
    "arguments",
    [
        *(["export", "good", "new", "--form", form] for form in ("raw", "polygraphy", "onnx")),
        ["import", "theirs", "new"],
        ["record", "model.onnx", "frame.png", "--simulate", "NHWC", "--out", "new"],
        ["validate", "good", "model.onnx", "--html", "new"],
        ["repack", "raw.bin", "new", "--shape", "90x90", "--from", "NC", "--to", "CN", "--dtype", "uint8"],
        ["repack", "raw.bin", "new.npy", "--shape", "90x90", "--from", "NC", "--to", "CN", "--dtype", "uint8"],
    ],
    ids=" ".join,
)
def test_no_room(here: Path, board: Board, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """What was to be written is named, and nothing is left half written."""
    assert ran(capsys, "export", "good", "theirs", "--form", "raw")[0] == 0
    cv2.imwrite("frame.png", board.frames[0])
    Path("raw.bin").write_bytes(bytes(8100))
    before, limits = sorted(here.rglob("*")), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        status, _, err = ran(capsys, *arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert status == 2 and re.search(r"File too large: 'new[^']*'$|'new': File too large$", err.splitlines()[-1]), err
    assert sorted(here.rglob("*")) == before


def test_links_are_followed_and_pipes_written_to(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To put a file in their place would, for who is root, take away /dev/stdout."""
    Path("raw.bin").write_bytes(bytes(range(6)))
    how = ["--shape", "2x3", "--from", "NC", "--to", "CN", "--dtype", "uint8", "--force"]
    Path("there").write_bytes(b"old")
    Path("there").chmod(0o640)
    Path("link").symlink_to("there")
    assert ran(capsys, "repack", "raw.bin", "link", *how)[0] == 0
    assert Path("link").is_symlink() and Path("there").read_bytes() == bytes([0, 3, 1, 4, 2, 5])
    assert Path("there").stat().st_mode & 0o777 == 0o640
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert ran(capsys, "repack", "raw.bin", "pipe", *how)[0] == 0
        assert os.read(reader, 9) == bytes([0, 3, 1, 4, 2, 5]) and Path("pipe").is_fifo()
    finally:
        os.close(reader)
    status, _, err = ran(capsys, "validate", "good", "model.onnx", "--html", "/dev/full")
    assert status == 2 and "'/dev/full': No space left on device" in err
