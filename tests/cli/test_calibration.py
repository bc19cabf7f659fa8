"""npu-layout calibration: sets for toolchains, and bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.recordings import Frames
from tests.support.command_line import ran

MODEL, CLIP = "samples/models/pose.onnx", "samples/data/walk.mp4"


def test_frames_of_a_clip_for_a_toolchain(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ["--model", MODEL, "--mean", "128", "--std", "256", "--every", "3", "--limit", "2"]
    status, out, _ = ran(capsys, "calibration", CLIP, *how, "--for", "onnxruntime", "--out", "set")
    assert status == 0 and out.startswith("set: 2 frames for onnxruntime\n") and "quantize_static" in out
    board = nl.Preprocessor(nl.TensorSpec((1, 3, 368, 368)), color="RGB", mean=128, std=256)
    frames = list(Frames([CLIP], 4))
    for name, frame in (("00000.npz", frames[0]), ("00001.npz", frames[3])):
        with np.load(Path("set") / name) as file:
            assert file["image"].tobytes() == board(frame)[0].tobytes()
    assert sorted(path.name for path in Path("set").iterdir()) == ["00000.npz", "00001.npz", "how.txt"]


def test_bad_input(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = ["calibration", CLIP, "--model", MODEL, "--limit", "1"]
    for arguments, words in (
        ([*good[:1], "nowhere.mp4", *good[2:], "--for", "rknn", "--out", "set"], "nowhere.mp4"),
        ([*good, "--std", "0.2", "--for", "rknn", "--out", "set"], "std"),
        ([*good, "--for", "rknn", "--out", "images"], "images"),
        ([*good[:3], "no.onnx", "--for", "rknn", "--out", "set"], "no.onnx"),
        ([*good, "--color", "XYZ", "--for", "rknn", "--out", "set"], "--color"),
    ):
        status, _, err = ran(capsys, *arguments)
        assert status == 2 and words in err and "Traceback" not in err, err
        assert not Path("set").exists()
    with pytest.raises(SystemExit):
        ran(capsys, *good, "--for", "tensorrt", "--out", "set")
    assert "invalid choice: 'tensorrt'" in capsys.readouterr().err
