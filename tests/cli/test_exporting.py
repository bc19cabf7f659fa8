"""npu-layout export: a recording in another tool's form, and a disk without room for it."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import cv2
import pytest

import npu_layout as nl
from tests.support.boards import Board
from tests.support.command_line import ran


def test_export_for_a_model(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The camera's frame, which is no input of the model, is left out, and the names are the model's."""
    assert ran(capsys, "export", "good", "theirs", "--form", "onnx", "--model", "model.onnx")[0] == 0
    status, _, err = ran(capsys, "import", "theirs", "again", "--model", "model.onnx")
    assert status == 0 and [*nl.Recording.load("again").frames[0].inputs] == ["image"], err


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
    assert status == 2 and re.search(r": (new\S*|.*'new'): File too large$", err.splitlines()[-1]), err
    assert sorted(here.rglob("*")) == before
