"""npu-layout as a person starts it: every verb, every refusal, and what comes out of the pipe."""

from __future__ import annotations

import argparse
import io
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.cli import command as cli
from npu_layout.cli import completion, main
from tests.support.boards import PRE, Board, network, picture
from tests.support.paths import SAMPLES

COMMAND = [sys.executable, "-c", "import sys; from npu_layout.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module")
def board() -> Board:
    return Board(frames=5)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, board: Board) -> Path:
    """A folder to work in: a model, recordings that match and do not, images, buffers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "samples").symlink_to(SAMPLES)
    (tmp_path / "model.onnx").write_bytes(network())
    board.recording().save("good")
    nhwc = nl.TensorSpec(board.spec.shape, "NHWC", "int8", quantization=board.spec.quantization)
    nchw = nl.TensorSpec(nhwc.shape, "NCHW", "int8", quantization=nhwc.quantization)
    board.recording(nchw, board.packed(nhwc)).save("tree/wrong")
    board.recording().save("tree/right")
    board.recording().save("damaged")
    Path("damaged/frame-000002.npz").write_bytes(b"no archive")
    Path("images").mkdir()
    for i in range(4):
        cv2.imwrite(f"images/{i}.png", picture(i))
    heat = np.random.default_rng(0).standard_normal((1, 57, 46, 46)).astype(np.float32)
    np.save("heat.npy", heat)
    spec = nl.TensorSpec(heat.shape, "NCHW16c", "int8", quantization=nl.Quantization(0.03, 4))
    spec.pack(heat).tofile("heat.bin")
    Path("spec.json").write_text(json.dumps({"heat": spec.to_dict()}))
    return tmp_path


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main([*arguments])
    out, err = capsys.readouterr()
    return status, out, err


def started(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
        **more,
    )


def test_validate(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = ran(capsys, "validate", "good", "model.onnx", "--min-cosine", "maps:0.999", "--max-steps", "0.6")
    assert status == 0 and out.startswith("match: 1 outputs, 5 frames") and "min_cosine: asked 0.999" in out
    assert err == "npu-layout validate good model.onnx --min-cosine maps:0.999 --max-steps 0.6\n"
    assert main(shlex.split(err)[1:]) == 0  # it can be run again
    status, out, _ = ran(capsys, "validate", "good", "model.onnx", "--min-cosine", "0.9999999")
    assert status == 1 and "NOT held" in out
    status, out, _ = ran(capsys, "validate", "tree/wrong", "model.onnx")
    assert status == 1 and "maps: layout" in out and "fix: TensorSpec((1, 19, 12, 12), 'NHWC', 'int8'" in out


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_validate_many(here: Path, capsys: pytest.CaptureFixture[str], workers: list[str]) -> None:
    status, out, _ = ran(capsys, "validate", "good", "tree", "model.onnx", *workers)
    lines = out.splitlines()
    assert status == 1 and lines[0].split() == ["recording", "verdict", "outputs", "why"]
    assert re.match(r"tree/wrong +layout +maps +Layout NHWC", lines[1]) and lines[2:] == [
        "3 recordings: 2 match, 1 layout"
    ]
    status, out, _ = ran(capsys, "validate", "good", "damaged", "model.onnx", *workers)
    assert status == 2 and "error" in out and "frame-000002.npz" in out
    assert ran(capsys, "validate", "good", "tree/right", "model.onnx", *workers)[:2] == (0, "2 recordings: 2 match\n")


def test_for_machines(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["validate", "good", "tree", "damaged", "model.onnx", "--json", "--junit", "report.xml"]
    status, out, err = ran(capsys, *arguments)
    said = json.loads(out)
    assert status == 2 and said["command"] == err.strip() == shlex.join(["npu-layout", *arguments])
    assert {path: r.get("verdict") for path, r in said["recordings"].items()} == {
        "good": "match", "tree/right": "match", "tree/wrong": "layout", "damaged": None,
    }  # fmt: skip
    suite = ElementTree.parse("report.xml").getroot()
    assert suite.tag == "testsuite" and [suite.get(k) for k in ("tests", "failures", "errors")] == ["7", "1", "1"]
    failed = suite.find("testcase[@classname='tree/wrong'][@name='maps']/failure")
    assert failed is not None and str(failed.get("message")).startswith("layout: ") and "fix:" in str(failed.text)
    error = suite.find("testcase[@classname='damaged']/error")
    assert error is not None and "frame-000002" in str(error.text)
    value = suite.find("properties/property[@name='command']")
    assert value is not None and value.get("value") == said["command"]


def test_junit_holds_what_xml_cannot(tmp_path: Path) -> None:
    from npu_layout.reports.junit import write_junit

    write_junit(nl.Reports({"a\x00<&>\x1b": "b\ud800\x07 \u2265"}), tmp_path / "r.xml", "c\x00")
    case = ElementTree.parse(tmp_path / "r.xml").getroot().find("testcase")
    assert case is not None and case.get("classname") == "a\ufffd<&>\ufffd" and case[0].text == "b\ufffd\ufffd \u2265"


def test_nothing_compared_is_no_match(here: Path, board: Board, capsys: pytest.CaptureFixture[str]) -> None:
    nl.Recording({"maps": board.spec}, []).save("none")
    status, out, _ = ran(capsys, "validate", "none", "model.onnx", "--junit", "r.xml")
    assert status == 1 and "nothing was compared" in out
    assert ElementTree.parse("r.xml").getroot().get("errors") == "1"


def test_html(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = ran(capsys, "validate", "tree", "model.onnx", "--html", "page.html")
    assert status == 2 and "expected one recording, got 2" in err
    assert ran(capsys, "validate", "tree/wrong", "model.onnx", "--html", "page.html")[0] == 1
    assert "<html" in Path("page.html").read_text()


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
    said = json.loads(ran(capsys, "inspect", "good", "--json")[1])
    assert said["frames"] == 5 and said["specs"]["maps"]["padding"] == 1872 and said["meta"]["preprocess"] == PRE
    assert [a["name"] for a in said["arrays"]] == ["image", "frame", "maps"]
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


def test_identify(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ran(capsys, "identify", "heat.bin", "heat.npy", "--dtype", "int8")
    assert status == 0 and "TensorSpec((1, 57, 46, 46), 'NCHW16c', 'int8', quantization=Quantization(0.0" in out
    said = json.loads(ran(capsys, "identify", "heat.bin", "heat.npy", "--json")[1])
    assert said["spec"]["layout"] == "NCHW16c" and said["ranking"][0]["score"] > 20
    np.save("flat.npy", np.fromfile("heat.bin", np.int8))
    assert ran(capsys, "identify", "flat.npy", "heat.npy", "--axes", "NCHW")[0] == 0
    np.save("other.npy", np.random.default_rng(1).standard_normal((1, 57, 46, 46)))
    status, out, _ = ran(capsys, "identify", "heat.bin", "other.npy")
    assert status == 1 and "not identified" in out


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "int4", ">u2", "bool"])
@pytest.mark.parametrize("raw", [True, False])
def test_repack(here: Path, capsys: pytest.CaptureFixture[str], dtype: str, raw: bool) -> None:
    shape = (1, 21, 4, 6)
    source, target = (nl.TensorSpec(shape, layout, dtype) for layout in ("NCHW16c", "NHWC"))
    most = 2 if dtype == "bool" else 8
    buffer = source.pack(np.random.default_rng(0).integers(0, most, shape).astype(source.element.unpacked))
    if raw:
        buffer.tofile("in.bin")
    else:
        np.save("in.npy", buffer)
    names = ["in.bin", "out.bin"] if raw else ["in.npy", "out.npy"]
    how = ["--shape", "1x21x4x6", "--from", "NC1HWC2:16", "--to", "NHWC"]
    if raw or dtype in ("bfloat16", "int4"):
        how += ["--dtype", dtype]
    status, out, _ = ran(capsys, "repack", *names, *how)
    assert status == 0 and "NHWC of (1,21,4,6)" in out
    read = np.fromfile(names[1], target.stored) if raw else np.load(names[1])
    np.testing.assert_array_equal(target.unpack(read), source.unpack(buffer))
    assert raw or dtype == "int4" or read.shape == (1, 4, 6, 21)
    before = Path(names[1]).read_bytes()
    status, _, err = ran(capsys, "repack", *names, *how)
    assert status == 2 and "--force" in err and Path(names[1]).read_bytes() == before
    assert ran(capsys, "repack", *names, *how, "--force")[0] == 0
    assert not list(Path().glob(".*"))


ENGINES = """
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
    # a board of one's own, whose input is pixels; what lies behind the limit is not looked at
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


BAD = (
    ["validate", "nowhere", "model.onnx"],
    ["validate", "images", "model.onnx"],
    ["validate", "model.onnx", "model.onnx"],
    ["validate", "damaged", "model.onnx"],
    ["validate", "good", "nowhere.onnx"],
    ["validate", "good", "heat.npy"],
    ["validate", "good", "good"],
    ["validate", "good", "samples/models/pose.onnx"],
    ["validate", "good", "model.onnx", "--workers", "0"],
    ["validate", "good", "model.onnx", "--min-cosine", "heat:0.9"],
    ["validate", "good", "model.onnx", "--min-cosine", "nan"],
    ["validate", "good", "model.onnx", "--min-cosine", "0.9", "--min-cosine", "maps:0.8"],
    ["validate", "good", "model.onnx", "--junit", "no/such/folder.xml"],
    ["inspect", "nowhere"],
    ["record", "model.onnx", "images", "--simulate", "NCHW", "--out", "model.onnx"],
    ["inspect", "images"],
    ["inspect", "damaged"],
    ["inspect", "heat.npy"],
    ["inspect", "--spec", "{"],
    ["inspect", "--spec", "{}"],
    ["inspect", "--spec", '{"shape": 3}'],
    ["inspect", "--spec", '{"a": {"shape": [1], "colour": 1}}'],
    ["inspect", "--spec", '{"a": 1}'],
    ["identify", "nowhere", "heat.npy"],
    ["identify", "heat.bin", "heat.bin"],
    ["identify", "heat.bin", "archive.npz"],
    ["identify", "heat.bin", "pickled.npy"],
    ["identify", "heat.bin", "heat.npy", "--axes", "NC"],
    ["identify", "heat.bin", "heat.npy", "--dtype", "int9"],
    ["identify", "heat.npy", "heat.npy", "--dtype", "int8"],
    ["identify", "spec.json", "heat.npy"],
    ["repack", "heat.bin", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHWC"],
    ["repack", "heat.bin", "out.bin", "--shape", "1x57x46x47", "--from", "NCHW16c", "--to", "NHWC", "--dtype", "int8"],
    ["repack", "heat.bin", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHC", "--dtype", "int8"],
    ["repack", "heat.bin", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHWC", "--dtype", "text"],
    ["repack", "heat.npy", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW", "--to", "NHWC", "--dtype", "int8"],
    ["repack", "nowhere", "out.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHWC", "--dtype", "int8"],
    ["repack", "heat.bin", "no/o.bin", "--shape", "1x57x46x46", "--from", "NCHW16c", "--to", "NHWC", "--dtype", "int8"],
    ["record", "model.onnx", "nowhere", "--simulate", "NHWC", "--out", "never"],
    ["record", "model.onnx", "good", "--simulate", "NHWC", "--out", "never"],
    ["record", "model.onnx", "spec.json", "--simulate", "NHWC", "--out", "never"],
    ["record", "model.onnx", "images", "torn.png", "--simulate", "NHWC", "--out", "never"],
    ["record", "nowhere.onnx", "images", "--simulate", "NHWC", "--out", "never"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "good"],
    ["record", "model.onnx", "images", "--simulate", "NHWC:float99", "--out", "never"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--limit", "0"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--color", "CMYK"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--std", "0"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--mean", "1,2"],
    ["record", "model.onnx", "images", "--simulate", "NHWC", "--out", "never", "--axes", "NHWC"],
)  # fmt: skip


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    np.savez("archive.npz", a=np.zeros(3))
    np.save("pickled.npy", np.array([{}], object), allow_pickle=True)
    Path("torn.png").write_bytes(Path("images/0.png").read_bytes()[:60])
    before = sorted(here.rglob("*"))
    status, out, err = ran(capsys, *arguments)
    command, *sentence = err.splitlines()
    assert status == 2 and out == "" and command == shlex.join(["npu-layout", *arguments])
    assert len(sentence) == 1 and sentence[0].startswith(f"npu-layout {arguments[0]}: ") and len(sentence[0]) > 40
    assert "defect" not in err and "Error" not in err, err
    assert sorted(here.rglob("*")) == before or arguments[:4] == ["record", "model.onnx", "images", "torn.png"]


USAGE = (
    [],
    ["nothing"],
    ["validate"],
    ["validate", "good"],
    ["validate", "good", "model.onnx", "--min-cosine", "much"],
    ["validate", "good", "model.onnx", "--workers", "many"],
    ["inspect"],
    ["inspect", "good", "--spec", "{}"],
    ["repack", "a", "b", "--shape", "1x-2", "--from", "NCHW", "--to", "NHWC"],
    ["repack", "a", "b", "--shape", "1x2x3x4", "--from", "NCHX16d", "--to", "NHWC"],
    ["repack", "a", "b", "--shape", "1x2x3x4", "--from", "NC1HWC2", "--to", "NHWC"],
    ["repack", "a", "b", "--shape", "1x2x3x4", "--from", "NC1HWC2:x", "--to", "NHWC"],
    ["record", "model.onnx", "images", "--out", "x"],
    ["record", "model.onnx", "images", "--out", "x", "--simulate", "NHWC", "--engine", "a:b"],
    ["record", "model.onnx", "images", "--out", "x", "--simulate", "NHWC", "--mean", "grey"],
    ["completion", "fish"],
)


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    err = capsys.readouterr().err
    assert end.value.code == 2 and err.startswith("usage: npu-layout") and ": error: " in err.splitlines()[-1]


def test_the_librarys_own_words_reach_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    for layout, says in (("NCHX16d", "block 16d has no axis"), ("NC1HWC2", "needs block="), ("K210", "64-byte rows")):
        with pytest.raises(SystemExit):
            main(["repack", "a", "b", "--shape", "1", "--from", layout, "--to", "N"])
        assert says in capsys.readouterr().err


def test_every_help_has_an_example_that_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran_verbs = set()
    for verb in cli.VERBS:
        with pytest.raises(SystemExit) as end:
            main([verb.name, "--help"])
        shown = capsys.readouterr().out
        assert end.value.code == 0 and verb.example in shown and verb.example.startswith(f"npu-layout {verb.name} ")
        arguments = shlex.split(verb.example.split(" > ")[0])[1:]
        assert cli.parser().parse_args(arguments).verb == verb.name
        if not verb.name.startswith("bench"):  # which take their time, and have their own tests
            assert ran(capsys, *arguments)[0] == 0, verb.name
            ran_verbs.add(verb.name)
    assert ran_verbs == {verb.name for verb in cli.VERBS} - {"bench", "bench-layouts"}
    repacked = np.load("heat_nhwc.npy")
    assert repacked.shape == (1, 46, 46, 57)


def test_the_readmes_commands_parse() -> None:
    page = (SAMPLES.parent / "docs" / "command_line.md").read_text()
    lines = re.findall(r"^(npu-layout .*?)(?: +#.*)?$", page, re.M)
    assert len(lines) > 6
    for line in lines:
        cli.parser().parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(capsys: pytest.CaptureFixture[str], tmp_path: Path, shell: str) -> None:
    script = ran(capsys, "completion", shell)[1]
    assert all(word in script for word in ("validate", "--min-cosine", "--workers"))
    if shell == "bash":
        (tmp_path / "recorded").mkdir()
        (tmp_path / "complete").write_text(script)
        ask = (
            "source ./complete; COMP_WORDS=(npu-layout {}); COMP_CWORD={}; COMP_LINE=npu-layout; "
            '_shtab_npu_layout; echo "${{COMPREPLY[@]}}"'
        )

        def completed(words: str, at: int) -> list[str]:
            command = ["bash", "--norc", "-c", ask.format(words, at)]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
            return done.stdout.split()

        assert completed("va", 1) == ["validate"]
        assert "--min-cosine" in completed("validate --min", 2)
        assert "recorded" in completed("validate rec", 2)


def test_completion_without_its_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    status, _, err = ran(capsys, "completion", "bash")
    assert status == 2 and "pip install 'npu-layout[cli]'" in err


def test_every_file_is_completed_as_one() -> None:
    metavars = {a.metavar for a in completion.actions(cli.parser()) if isinstance(a.metavar, str)}
    assert metavars >= completion.FILES


def test_interrupted(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("npu_layout.cli.validate.validate_many", interrupted)
    assert ran(capsys, "validate", "good", "model.onnx")[0] == 130


def test_a_defect_is_one_sentence(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: object, **__: object) -> None:
        raise TypeError("not\nso")

    monkeypatch.setattr("npu_layout.cli.validate.validate_many", defect)
    status, _, err = ran(capsys, "validate", "good", "model.onnx")
    assert status == 2 and re.search(r"TypeError: not so \(test_cli.py:\d+\); this is a defect", err.splitlines()[1])


def test_as_a_process(here: Path) -> None:
    assert started("validate", "good", "model.onnx").returncode == 0
    assert started("validate", "tree", "model.onnx").returncode == 1
    refused = started("validate", "nowhere", "model.onnx")
    assert refused.returncode == 2 and refused.stdout == "" and "Traceback" not in refused.stderr
    assert started("--version").stdout.startswith(f"npu_layout {nl.__version__}, kernels")


def test_a_reader_who_has_seen_enough(here: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen([*COMMAND, "inspect", "good"], stdout=write, stderr=subprocess.PIPE, text=True) as process:
        os.close(write)
        err = process.communicate(timeout=60)[1]
    assert process.returncode == 141 and err == "npu-layout inspect good\n"


@pytest.mark.alone
def test_ctrl_c(here: Path, board: Board) -> None:
    for i in range(40):
        board.recording().save(f"many/{i}")
    command = [*COMMAND, "validate", "many", "model.onnx", "--workers", "2"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored by what runs in the background
    ) as process:
        assert process.stderr is not None and process.stderr.readline().startswith("npu-layout validate")
        try:
            process.wait(timeout=1.5)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == "" and "Traceback" not in err, err


def on_a_terminal(*arguments: str) -> tuple[int, str]:
    """(status, everything that a terminal of 100 columns shows)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="100")
        os.environ.pop("NO_COLOR", None)
        os.execv(sys.executable, [*COMMAND, *arguments])
    shown = io.BytesIO()
    while True:
        try:
            block = os.read(terminal, 4096)
        except OSError:  # Linux's word for the end of a terminal
            break
        if not block:
            break
        shown.write(block)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.getvalue().decode()


@pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning")  # the child is replaced at once
def test_on_a_terminal(here: Path) -> None:
    status, shown = on_a_terminal("validate", "good", "model.onnx")
    assert status == 0 and "\u2503" in shown and re.search(r"\x1b\[1;32mmatch", shown), shown
    status, shown = on_a_terminal("validate", "tree", "model.onnx")
    assert status == 1 and re.search(r"\x1b\[1;31mlayout", shown) and "validating" in shown, shown


def test_plain_where_rich_is_missing(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    status, out, _ = ran(capsys, "inspect", "good")
    assert status == 0 and "\u2503" not in out and "maps" in out


def test_the_parser_knows_every_verb_of_the_table() -> None:
    (verbs,) = (a for a in cli.parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert list(verbs.choices) == [verb.name for verb in cli.VERBS]


def test_names_that_the_terminal_cannot_show(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree("good", "gut \u00fc \udcff")
    shown = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert main(["export", "gut \u00fc \udcff", "aus \u00fc", "--form", "raw"]) == 0
    shown.seek(0)
    assert shown.read() == "aus \\xfc: 5 frames\n"
