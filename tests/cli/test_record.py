"""npu-layout record: simulated and own engines, images and videos, and engines that fail."""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import PRE, picture
from tests.support.command_line import ran, started

ENGINES = """
import cv2
import numpy as np
import npu_layout as nl

OUT = nl.TensorSpec((1, 19, 12, 12), "NHWC", "float16", name="maps")
PIXELS = nl.TensorSpec((1, 3, 48, 48), "NHWC", "uint8", name="image")

class Board:
    output_specs = [OUT]
    input_specs = [PIXELS]

    def __init__(self):
        self.inner = nl.OnnxRuntimeEngine("model.onnx")

    def infer(self, inputs):
        mean, std = np.array([120.0, 115, 100]), np.array([60.0, 58, 57])
        x = (PIXELS.unpack(inputs["image"]).transpose(0, 2, 3, 1) - mean) / std
        maps = self.inner.infer(x.transpose(0, 3, 1, 2).astype(np.float32))["maps"]
        return {"maps": OUT.pack(maps)}

class Failing(Board):
    count = 0
    def infer(self, inputs):
        self.count += 1
        if self.count > 2:
            raise RuntimeError("the driver is gone")
        return super().infer(inputs)

class Broken(Board):
    def infer(self, inputs):
        raise OSError("no board")

def absent():
    raise nl.NoDeviceError("no board on this machine")

def none():
    return None

number = int
"""


def test_record(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ["--mean", "120,115,100", "--std", "60,58,57"]
    status, out, _ = ran(
        capsys, "record", "model.onnx", "images", "--simulate", "NC1HWC2:16:uint8", "--out", "new", *how
    )
    assert (status, out) == (0, "new: 4 frames\n")
    recording = nl.Recording.load("new")
    assert str(recording.specs["maps"].layout) == "NCHW16c" and recording.specs["maps"].dtype == "uint8"
    assert recording.meta["preprocess"] == PRE and recording.meta["model_sha256"]
    np.testing.assert_array_equal(recording.frames[3].inputs["frame"], picture(3))
    assert ran(capsys, "validate", "new", "model.onnx")[0] == 0
    # a board of one's own, whose input is pixels; what is behind the limit is not read
    Path("images/2.png").write_bytes(b"no image")
    Path("own_board.py").write_text(ENGINES)
    few = ["--limit", "3", "--without-frames", "--note", "by hand"]
    assert (
        ran(
            capsys,
            "record",
            "model.onnx",
            "images/0.png",
            "images",
            "--engine",
            "own_board:Board",
            "--out",
            "own",
            *how,
            *few,
        )[0]
        == 0
    )
    recording = nl.Recording.load("own")
    assert len(recording) == 3 and "frame" not in recording.frames[0].inputs and recording.meta["note"] == "by hand"
    assert recording.specs["image"].dtype == "uint8" and recording.frames[0].inputs["image"].dtype == np.uint8
    status, out, _ = ran(capsys, "validate", "own", "model.onnx")
    assert status == 0, out


def test_options_of_an_engine(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OnnxRuntimeEngine is a kind that needs no board: its options reach it, as values and not as texts."""
    Path("own_board.py").write_text(ENGINES)
    sys.modules.pop("own_board", None)
    record = ["record", "model.onnx", "images", "--mean", "120,115,100", "--std", "60,58,57"]
    chosen = ["--engine", "onnx:model.onnx", "--engine-option", "threads=1"]
    assert ran(capsys, *record, *chosen, "--out", "optional")[0] == 0
    assert len(nl.Recording.load("optional")) == 4
    for refused, says in (
        (["--engine", "onnx:model.onnx", "--engine-option", "threads=no"], "threads"),
        (["--engine", "onnx:model.onnx", "--engine-option", "cores=1"], "engine 'onnx': options {'cores': 1}"),
        (["--engine", "own_board:Board", "--engine-option", "cores=1"], "a factory accepts no options, got cores"),
        (["--simulate", "NHWC", "--engine-option", "threads=1"], "expected --engine KIND:MODEL beside it"),
        ([*chosen, "--engine-option", "threads=2"], "expected each name once, got threads, threads"),
    ):
        status, _, err = ran(capsys, *record, "--out", "never", *refused)
        assert status == 2 and says in err.splitlines()[-1] and not Path("never").exists(), err


@pytest.mark.parametrize("engine", [["--engine", "own_board:Board"], ["--simulate", "NHWC"]])
def test_record_refuses_units_of_0_to_1(here: Path, capsys: pytest.CaptureFixture[str], engine: list[str]) -> None:
    Path("own_board.py").write_text(ENGINES)
    how = ["--mean", ".485,.456,.406", "--std", ".229,.224,.225", "--out", "units"]
    status, _, err = ran(capsys, "record", "model.onnx", "images", *engine, *how)
    assert status == 2 and "give mean=[123.675, 116.28, 103.53]" in err and not Path("units").exists(), err


def test_a_video(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "record",
        "samples/models/pose.onnx",
        "samples/data/walk.mp4",
        "--limit",
        "2",
        "--mean",
        "128",
        "--std",
        "256",
    ]
    assert ran(capsys, *arguments, "--simulate", "NHWC", "--out", "clip")[0] == 0
    assert nl.Recording.load("clip").frames[1].inputs["frame"].shape == (480, 640, 3)


def test_an_engine_that_fails(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own_board.py").write_text(ENGINES)
    sys.modules.pop("own_board", None)
    for factory, says in (
        ("own_board:absent", "no board on this machine"),
        ("own_board:none", "not here"),
        ("own_board:number", "int has no infer"),
        ("own_board:nothing", "AttributeError"),
        ("no_such_module:x", "ModuleNotFoundError"),
        ("own_board", "expected package.module:factory"),
        ("own_board:Broken", "frame 0: OSError: no board"),
    ):
        status, _, err = ran(capsys, "record", "model.onnx", "images", "--engine", factory, "--out", "never")
        assert status == 2 and says in err.splitlines()[-1] and not Path("never").exists(), err
    status, _, err = ran(capsys, "record", "model.onnx", "images", "--engine", "own_board:Failing", "--out", "part")
    assert status == 2 and "frame 2: RuntimeError: the driver is gone; the 2 frames before it are in part" in err
    assert len(nl.Recording.load("part")) == 2
    Path("empty").mkdir()
    Path("link").symlink_to("empty")
    status, _, err = ran(capsys, "record", "model.onnx", "images", "--engine", "own_board:Broken", "--out", "link")
    assert status == 2 and "frame 0: OSError: no board" in err and not any(Path("empty").iterdir()), err


LEAVING = """
import sys
import npu_layout as nl

def factory():
    exit()

def well():
    sys.exit(0)

class Board:
    @property
    def output_specs(self):
        raise SystemExit(0)
    def infer(self, inputs):
        return {}

class Leaving:
    output_specs = [nl.TensorSpec((2,), "N", name="y")]
    def infer(self, inputs):
        sys.exit(0)
"""


@pytest.mark.parametrize(
    ("factory", "says"),
    [
        ("factory", "engine 'leaving_board:factory': called exit() instead of returning an engine"),
        ("well", "engine 'leaving_board:well': called exit(0) instead of returning an engine"),
        ("Board", "called exit(0)"),
        ("Leaving", "frame 0: SystemExit: 0"),
    ],
)
def test_an_engine_that_ends_the_program_ends_it_with_status_2(here: Path, factory: str, says: str) -> None:
    """In a process of its own, whose status a build server would read."""
    Path("leaving_board.py").write_text(LEAVING)
    engine = ["--engine", f"leaving_board:{factory}"]
    done = started("record", "model.onnx", "images", *engine, "--out", "never")
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith("npu-layout record: "), done.stderr
    assert done.stderr.endswith(f"{says}\n") and not done.stdout and not Path("never").exists()


def test_border_and_interpolation_are_used_and_recorded(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ["--mean", "120,115,100", "--std", "60,58,57", "--pad-value", "7", "--interpolation", "area"]
    assert ran(capsys, "record", "model.onnx", "images", "--simulate", "NHWC", "--out", "new", *how)[0] == 0
    recording = nl.Recording.load("new")
    assert recording.meta["preprocess"] == {**PRE, "pad_value": 7.0, "interpolation": "area"}
    wanted = nl.Preprocessor(nl.TensorSpec((1, 3, 48, 48)), **{**PRE, "pad_value": 7, "interpolation": "area"})
    np.testing.assert_array_equal(recording.frames[1].inputs["image"], wanted(picture(1))[0])
    status, out, _ = ran(capsys, "validate", "new", "model.onnx")
    assert status == 0 and "input image: match" in out, out


def test_small_frames_keep_their_size(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("small").mkdir()
    small = picture(1)[:20, :30]
    cv2.imwrite("small/1.png", small)
    how = ["--mean", "120,115,100", "--std", "60,58,57", "--no-scaleup"]
    assert ran(capsys, "record", "model.onnx", "small", "--simulate", "NHWC", "--out", "new", *how)[0] == 0
    recording = nl.Recording.load("new")
    assert recording.meta["preprocess"] == {**PRE, "scaleup": False}
    wanted, geometry = nl.Preprocessor(nl.TensorSpec((1, 3, 48, 48)), **PRE, scaleup=False)(small)
    assert geometry.resized_wh == (30, 20)
    np.testing.assert_array_equal(recording.frames[0].inputs["image"], wanted)
    status, out, _ = ran(capsys, "validate", "new", "model.onnx")
    assert status == 0 and "input image: match" in out, out


def test_the_model_and_the_frames_in_the_other_order(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("clip.mp4").write_bytes(b"no model")
    status, _, said = ran(capsys, "record", "clip.mp4", "model.onnx", "--simulate", "NHWC", "--out", "o")
    assert status == 2 and said.splitlines()[-1].endswith("; the model comes before the frames")
    status, _, said = ran(capsys, "record", "clip.mp4", "other.mp4", "--simulate", "NHWC", "--out", "o")
    assert status == 2 and "comes before" not in said
